"""OpenDocument texts, and what they share with spreadsheets."""
