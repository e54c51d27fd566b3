"""Work that outlives its call."""
