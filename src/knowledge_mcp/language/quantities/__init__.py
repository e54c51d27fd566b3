"""Numbers in sentences: what they come to, their units, and what they limit."""
