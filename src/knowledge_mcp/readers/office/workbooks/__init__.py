"""Workbooks: spreadsheets of Excel, old and new, and OpenDocument."""
