"""Named collections of single documents."""
