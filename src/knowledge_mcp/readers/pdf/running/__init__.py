"""Running heads and feet, and printed page numbers: what stands on pages and is no text of them."""
