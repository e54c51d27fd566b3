"""Chunks of source code."""
