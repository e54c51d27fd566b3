"""`knowledge eval`."""
