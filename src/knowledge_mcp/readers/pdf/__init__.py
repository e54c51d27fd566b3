"""PDF files to documents: what a page shows, in reading order, under the clauses it stands in."""
