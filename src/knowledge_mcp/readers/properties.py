"""What a document says about itself in named properties, frontmatter or file properties alike: its id, its type."""

from __future__ import annotations

import re
from collections.abc import Mapping

from knowledge_mcp.model.document import DocumentType
from knowledge_mcp.readers.assembly import document_id, slug

__all__ = ["MAX_IDENTIFIER", "named_type", "proposed_id"]

MAX_IDENTIFIER = 200
"""Most characters of a document's id: every tool and address must be able to carry it."""

_IDENTIFIER = re.compile(rf"[A-Za-z0-9][A-Za-z0-9._:-]{{0,{MAX_IDENTIFIER - 1}}}")


def proposed_id(properties: Mapping[str, str], file_name: str) -> str:
    """Return the property `document_id` (a slug of it where it has blanks or the like), else the file name's slug."""
    named = properties.get("document_id", "").strip()
    if not named:
        return document_id(file_name)
    return named if _IDENTIFIER.fullmatch(named) else slug(named)[:MAX_IDENTIFIER].rstrip("-")


def named_type(properties: Mapping[str, str]) -> tuple[DocumentType | None, str | None]:
    """Read the property `document_type`; returns the type, and a warning where its value is none of ours."""
    named = properties.get("document_type", "").strip().lower()
    if not named:
        return None, None
    if named in set(DocumentType):
        return DocumentType(named), None
    known = ", ".join(sorted(DocumentType))
    return None, f"The property document_type is {named!r}, which is none of {known}; the text decides instead."
