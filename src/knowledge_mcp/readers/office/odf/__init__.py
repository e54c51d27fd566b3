"""OpenDocument texts, and what they have in common with spreadsheets."""
