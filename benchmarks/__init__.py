"""Measurements of speed, memory and quality: scripts that print tables; nothing here is asserted in timed tests."""
