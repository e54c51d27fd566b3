"""Reader of the text formats that specifications are written in, besides Markdown."""
