"""Turns PDF files into documents: what a page shows, in reading order, below its clauses."""
