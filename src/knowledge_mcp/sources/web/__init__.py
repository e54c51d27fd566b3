"""Documents of the web."""
