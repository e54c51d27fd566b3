"""What a file says of itself where its readers do not see it: claims, which a citation marks as such."""

from __future__ import annotations

import re
from pathlib import PurePath

from knowledge_mcp.language.titles import plain_name
from knowledge_mcp.model.collection import CLAIMED, DESIGNATION_KEYS
from knowledge_mcp.model.document import Document
from knowledge_mcp.model.source import SourceItem

_MARKS = re.compile(r"[\W_]+")
_BEGINNING = 20_000
"""Characters, about ten printed pages, in which a document prints its own title and designation."""
_COVER = 2_000
"""Characters of a cover or first page, where the words of a title may stand in another order."""


def claims_of(document: Document, item: SourceItem) -> tuple[tuple[str, str], ...]:
    """Name what only the file's front matter or properties say, as a pair of the document's metadata.

    A title or a designation that is printed at the beginning of the text is no claim: it can be checked there. Nor is
    what whoever ingests has said of the document.

    Args:
        document: as it was read, with its own id, title, type and metadata.
        item: what whoever ingests says of it.

    Returns:
        Nothing, or the pair `("claimed", "title, document_type, …")`.
    """
    metadata = dict(document.metadata)
    told = dict(item.labels)
    beginning = _plain(document.text[:_BEGINNING])
    found: list[str] = []
    if item.title is None and document.title not in {item.name, PurePath(item.name).stem, plain_name(item.name)}:
        title = document.title.removesuffix(" …")
        is_printed = _plain(title) in beginning or _words(title) <= _words(document.text[:_COVER])
        found += [] if is_printed else ["title"]
    if item.document_type is None and document.document_type is not None:
        found.append("document_type")
    if item.document_id is None and metadata.get("document_id"):
        found.append("document_id")
    for name in DESIGNATION_KEYS:
        if metadata.get(name) and name not in told and _plain(metadata[name]) not in beginning:
            found.append(name)
    return ((CLAIMED, ", ".join(found)),) if found else ()


def _words(text: str) -> set[str]:
    return set(_MARKS.split(text.casefold())) - {""}


def _plain(text: str) -> str:
    """Keep letters and digits, for print may set blanks and marks otherwise."""
    return _MARKS.sub("", text.casefold())
