"""Where bytes come from: files, the web, git repositories."""
