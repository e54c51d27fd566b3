"""`knowledge`."""
