"""Finds facts in text: force, definitions, requirements, references, clauses; no I/O."""
