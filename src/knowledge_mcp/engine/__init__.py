"""USE CASES: the chain of an ingest and of a question, in terms of ports and values only."""
