"""Markdown documents: bytes to `Document`."""
