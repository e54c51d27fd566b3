"""Reading image files."""
