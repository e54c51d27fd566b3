"""Bytes to documents: one reader for each format."""
