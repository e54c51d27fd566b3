"""Read one file as an ingest would, without storing anything."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from knowledge_mcp import registry
from knowledge_mcp.model.document import Document
from knowledge_mcp.model.source import SourceItem
from knowledge_mcp.ports import Reader
from knowledge_mcp.sources.files import FileSource
from knowledge_mcp.wiring import build_readers


def read_document(path: Path) -> Document:
    """Read a file with the default reader of its format, without text recognition."""
    (item,) = [each for each in FileSource(path).items() if isinstance(each, SourceItem)]
    target = registry.READERS[item.media_type]
    reader = cast("Reader", build_readers(None, {item.media_type: target})[item.media_type])
    try:
        return reader.read(item)
    finally:
        reader.close()
