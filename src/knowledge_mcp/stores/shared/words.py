"""What every store keeps of the words of chunks: the terms of the lexical leg, and what is defined."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from knowledge_mcp.model.chunk import Chunk
from knowledge_mcp.ports import Analyser
from knowledge_mcp.stores.shared.ranking import term_counts


class DefinedName(NamedTuple):
    """One name that a chunk defines.

    Attributes:
        term_key: by which it is looked up.
        alias: 0 for the term itself, 1 for another name of it.
        document_id, position, place: of the chunk and of the definition in it, by which names are sorted.
        term: as printed.
    """

    term_key: str
    alias: int
    document_id: str
    position: int
    place: int
    term: str


def counted_terms(chunk: Chunk, analyser: Analyser) -> dict[str, int]:
    """Count the terms of a chunk; its length is the sum of these counts."""
    return term_counts(analyser.document_terms(chunk.embedding_text))


def defined_names(chunk: Chunk, analyser: Analyser) -> list[DefinedName]:
    """List the terms that a chunk defines, and their aliases."""
    return [
        DefinedName(analyser.term_key(term), int(number > 0), chunk.document_id, chunk.index, place, term)
        for place, each in enumerate(chunk.definitions)
        for number, term in enumerate((each.term, *each.aliases))
    ]


def printed_terms(definitions: Iterable[tuple[str, Sequence[str]]], analyser: Analyser) -> dict[str, str]:
    """Map keys to terms as printed: a term before an alias, an earlier definition before a later one."""
    found = list(definitions)
    terms: dict[str, str] = {}
    for name in (*(term for term, _ in found), *(alias for _, aliases in found for alias in aliases)):
        terms.setdefault(analyser.term_key(name), name)
    return terms
