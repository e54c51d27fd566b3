"""Requirements that no word of force marks, and the kinds of requirements."""
