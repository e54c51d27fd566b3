"""Tests of the use cases on real readers, chunker, analyser and fusion; store in memory, embedder a fast fake."""
