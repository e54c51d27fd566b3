"""Sources that are registered and kept in sync: folders, https pages, sitemaps, git repositories, WebDAV."""
