"""Headers, footers and printed page numbers: what is on pages but is not part of the text."""
