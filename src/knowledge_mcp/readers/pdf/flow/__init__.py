"""Text flow on a page: running text, and everything next to it."""
