"""Passages of indexed repositories that may name a document or a requirement."""

from __future__ import annotations

from contextlib import suppress

from knowledge_mcp.model.chunk import Chunk
from knowledge_mcp.model.errors import NotFoundError
from knowledge_mcp.ports import Store

_MOST = 1_000
"""Passages of one repository for one name, as far as a search reaches."""


def code_passages(store: Store, prefix: str, text: str) -> list[tuple[Chunk, str]]:
    """List the passages of repositories that share words with a text, best first, each with its place as a citation.

    Args:
        store: with one collection for each repository.
        prefix: what the names of these collections begin with; a dot in one marks what is no repository's.
        text: words to look for.
    """
    found: list[tuple[Chunk, str]] = []
    for info in store.collections():
        if not info.name.startswith(prefix) or "." in info.name:
            continue
        with suppress(NotFoundError):  # it has just gone
            opened = store.open(info.name)
            legs = opened.search(vector=None, text=text, filter=None, limit=_MOST)
            chunks = opened.chunks("id", [hit.chunk_id for hit in legs.lexical or ()])
            found += [(chunk, _place(chunk)) for chunk in chunks]
    return found


def stands_in(identifier: str, text: str) -> int | None:
    """Tell where an identifier stands in a text, whatever its case and not as a part of a longer one; None for nowhere.

    `REQ-12` stands in "see REQ-12." but neither in `REQ-120` nor in `X-REQ-12`.
    """
    folded, folded_identifier = text.casefold(), identifier.casefold()
    if len(folded) != len(text):
        folded = text.lower()
    at = folded.find(folded_identifier)
    while at >= 0:
        before, after = folded[at - 1 : at], folded[at + len(folded_identifier) : at + len(folded_identifier) + 2]
        begins = not before or not (before.isalnum() or before in "-.")
        ends = not after or not (after[0].isalnum() or (after[0] in "-." and after[1:].isalnum()))
        if begins and ends:
            return at
        at = folded.find(folded_identifier, at + 1)
    return None


def _place(chunk: Chunk) -> str:
    lines = f", lines {chunk.lines[0]} to {chunk.lines[1]}" if chunk.lines is not None else ""
    return f"{chunk.document_id}{lines}"
