"""`knowledge compare`, `trace` and their like: how documents stand to each other."""
