"""Git repositories."""
