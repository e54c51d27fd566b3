"""Text to lexical terms: one analyser for every store."""
