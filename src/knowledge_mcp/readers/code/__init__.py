"""Reading source code."""
