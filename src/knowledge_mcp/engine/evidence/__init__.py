"""Reading, outlines, references and quotes."""
