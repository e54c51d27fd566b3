"""Markdown documents: bytes to `Document`. The parser is loaded when a file is read."""

from knowledge_mcp.readers.markdown.reader import MarkdownReader

__all__ = ["MarkdownReader"]
