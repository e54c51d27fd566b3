"""`knowledge compare`, `trace` and similar: how documents relate to each other."""
