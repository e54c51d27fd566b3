"""Copy, compare, move and re-embed collections."""
