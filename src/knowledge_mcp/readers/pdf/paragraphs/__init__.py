"""Lines to paragraphs, list items, notes and headings, in reading order across pages."""
