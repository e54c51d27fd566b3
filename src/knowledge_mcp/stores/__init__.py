"""Storage of chunks and vectors: one adapter for each store."""
