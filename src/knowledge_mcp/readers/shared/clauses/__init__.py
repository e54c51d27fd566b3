"""Find clauses that are not headings in the file."""
