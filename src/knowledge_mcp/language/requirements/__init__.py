"""Requirements that no word of force marks, and what kind of requirement a sentence states."""
