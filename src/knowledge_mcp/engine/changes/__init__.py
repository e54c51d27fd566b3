"""What changed between two editions: clauses aligned, and the changes inside each."""
