"""Word documents: bytes to `Document`. The modules beside `reader` need lxml and are loaded when a file is read."""

from knowledge_mcp.readers.docx.reader import DocxReader

__all__ = ["DocxReader"]
