"""Reader of text formats for specifications other than Markdown: reStructuredText and AsciiDoc."""
