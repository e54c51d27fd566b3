"""Collections copied, compared, moved and re-embedded."""
