"""What flows on a page: running text, and what stands beside it."""
