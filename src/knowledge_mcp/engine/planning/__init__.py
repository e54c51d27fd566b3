"""Documents of planning applications."""
