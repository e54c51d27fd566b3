"""Read one file as an ingest would, without storing anything."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from knowledge_mcp import registry
from knowledge_mcp.model.document import Document
from knowledge_mcp.model.source import SourceItem
from knowledge_mcp.ports import Reader
from knowledge_mcp.sources.files import FileSource

__all__ = ["read_document"]


def read_document(path: Path) -> Document:
    """Read a PDF, DOCX or Markdown file with its default reader."""
    (item,) = [each for each in FileSource(path).items() if isinstance(each, SourceItem)]
    reader = cast("Reader", registry.load(registry.READERS[item.media_type])())
    try:
        return reader.read(item)
    finally:
        reader.close()
