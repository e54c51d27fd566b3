"""Source items made of text, for the tests of code."""

from __future__ import annotations

import hashlib
import io
from functools import partial

from knowledge_mcp.model.document import Document
from knowledge_mcp.model.source import SourceItem
from knowledge_mcp.readers.code.reader import CodeReader
from knowledge_mcp.sources.scan.files import media_type_of


def item_of(name: str, content: str | bytes) -> SourceItem:
    """Wrap a file's content as the scan would."""
    data = content.encode() if isinstance(content, str) else content
    digest = hashlib.sha256(data).hexdigest()
    return SourceItem(f"repo:{name}", name, media_type_of(name), len(data), digest, partial(io.BytesIO, data))


def read_text(reader: CodeReader, name: str, content: str | bytes) -> Document:
    """Read a file's content."""
    return reader.read(item_of(name, content))


def outline_of(document: Document) -> list[str]:
    """Write each symbol as `kind path`, the kind as its opening block tells it."""
    kinds = {
        section.index: next(
            (b.marker for b in document.blocks if b.span.start <= section.heading.start < b.span.end), ""
        )
        for section in document.sections
    }
    paths = (".".join(one.title for one in document.ancestors(section.index)) for section in document.sections)
    return [f"{kinds[section.index]} {path}" for section, path in zip(document.sections, paths, strict=True)]
