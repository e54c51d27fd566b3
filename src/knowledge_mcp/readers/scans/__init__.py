"""Pages read by text recognition."""
