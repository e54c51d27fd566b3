"""The source files of a folder."""
