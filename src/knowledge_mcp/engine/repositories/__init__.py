"""Git repositories: index, search, read."""
