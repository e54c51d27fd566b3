"""Recognised words and rules of scanned pages to lines and tables, as if the pages had a text layer."""
