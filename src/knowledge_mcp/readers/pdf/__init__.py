"""PDF files to documents: what a page shows, in reading order, under the clauses it stands in."""

from knowledge_mcp.readers.pdf.reader import PdfReader

__all__ = ["PdfReader"]
