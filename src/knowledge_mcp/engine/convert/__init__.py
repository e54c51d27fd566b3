"""Documents as Markdown."""
