"""Data files and plain text."""
