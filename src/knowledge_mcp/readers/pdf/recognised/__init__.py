"""Turns recognised words and rules of scanned pages into lines and tables, as if the pages had a text layer."""
