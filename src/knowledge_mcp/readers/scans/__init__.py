"""Reading pages by text recognition."""
