"""Finds the headings of a PDF."""
