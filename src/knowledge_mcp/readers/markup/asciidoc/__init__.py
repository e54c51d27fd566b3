"""AsciiDoc: a walk over the lines of a file, the words in them, and tables."""
