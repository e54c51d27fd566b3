"""Data files (CSV, JSON, XML), and documents in XML."""
