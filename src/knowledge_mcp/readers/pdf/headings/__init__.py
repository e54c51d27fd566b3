"""Headings of a PDF."""
