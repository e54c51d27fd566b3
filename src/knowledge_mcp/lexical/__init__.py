"""Text to lexical terms: one analyser for all stores."""
