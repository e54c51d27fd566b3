"""`knowledge planning`."""
