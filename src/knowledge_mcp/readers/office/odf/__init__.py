"""OpenDocument texts and presentations, and what they have in common with spreadsheets."""
