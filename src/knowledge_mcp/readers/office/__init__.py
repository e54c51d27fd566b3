"""Office files."""
