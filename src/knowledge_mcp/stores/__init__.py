"""Chunks and vectors kept, found and removed: one adapter for each store."""
