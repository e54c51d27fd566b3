"""Texts in two columns without rules: glossaries, and the symbols below formulas."""
