"""Numbers in sentences: their values, their units, and what they limit."""
