"""Git repositories: indexed, searched, read."""
