"""What changed inside clauses beyond the words of paired sentences."""
