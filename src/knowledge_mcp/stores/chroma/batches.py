"""Whole documents written to ChromaDB in a few calls for many: each still becomes visible as a whole, or not at all.

The order is that of `chroma_writing`, for all documents of a group at once: what holds their generations and the exact
vectors, the chunks, then in one call everything else with the records. What was visible before goes last. Whoever
discards a generation that is being written takes its holder first, and then looks what is visible: so a generation
whose holder is still there after its record is written is whole, and any other one is written again.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from knowledge_mcp.model.collection import WholeDocument
from knowledge_mcp.ports import Analyser
from knowledge_mcp.stores.chroma.client import ChromaRow, FoundEntry
from knowledge_mcp.stores.chroma.layout import chunk_row, index_of
from knowledge_mcp.stores.chroma.places import ChromaCollection
from knowledge_mcp.stores.chroma.writing import (
    SMALL_CALL,
    commit_rows,
    discard_staged,
    generation_rows,
    holders_of,
    is_abandoned,
    sweep,
    vector_rows,
    writing_row,
)
from knowledge_mcp.stores.shared.rules import check_announced, check_vectors, not_announced

__all__ = ["publish_whole"]

_TRIES = 5


@dataclass(frozen=True, slots=True)
class _Entries:
    """Hold a document and its entries: its generation's holder, exact vectors, chunks, the rest, the record."""

    document: WholeDocument
    holder: ChromaRow
    vectors: list[ChromaRow]
    chunks: list[ChromaRow]
    rows: list[ChromaRow]
    commit: ChromaRow

    @property
    def id(self) -> str:
        """Name the document."""
        return self.document.record.id

    @property
    def size(self) -> int:
        """Estimate the bytes of the call that makes it visible."""
        return sum(each.size for each in (*self.rows, self.commit))


def publish_whole(
    place: ChromaCollection,
    documents: Sequence[WholeDocument],
    analyser: Analyser,
    on_published: Callable[[str], object],
) -> None:
    """Write documents in as few calls as hold them; `on_published` is told of each when it is visible.

    Raises:
        InvalidInputError: a vector is of another length; nothing was written.
        InternalError: a document has not the chunks announced, and nothing was written; or other writers discarded it
            each time that it was written.
    """
    check_vectors((chunk for each in documents for chunk in each.chunks), place.info.space.dimensions)
    for each in documents:
        check_announced(each)
    killed = {str(each.metadata["document_id"]) for each in holders_of(place, None) if is_abandoned(each)}
    if killed:  # some of their documents may be visible, and so nobody writes them again
        sweep(place, sorted(killed))
    for group in _groups(_entries(each, analyser) for each in documents):
        discard_staged(place, [each.id for each in group], spare=_is_under_way)
        left = _written(place, group, on_published)
        for _ in range(_TRIES - 1):
            if not left:
                break
            left = _written(place, [_entries(each.document, analyser) for each in left], on_published)
        if left:
            raise not_announced(left[0].document.record, 0, "other writers discard it again and again")


def _is_under_way(holder: FoundEntry) -> bool:
    """Tell whether another writer may just be writing a whole document; what is staged is nobody's by now."""
    return "since" in holder.metadata and not is_abandoned(holder)


def _written(
    place: ChromaCollection, group: Sequence[_Entries], on_published: Callable[[str], object]
) -> list[_Entries]:
    """Write a group and tell of it; returns those that another writer discarded meanwhile."""
    place.documents.put([*(each.holder for each in group), *(row for each in group for row in each.vectors)])
    place.chunks.put([row for each in group for row in each.chunks])
    held = _held(place, group)
    if held:
        commit_rows(place, [row for each in held for row in each.rows], [each.commit for each in held])
        held = _held(place, held)
    for each in held:
        on_published(each.id)
    sweep(place, [each.id for each in group], finished=[each.holder.id for each in group])
    return [each for each in group if each not in held]


def _held(place: ChromaCollection, group: Sequence[_Entries]) -> list[_Entries]:
    """Choose the documents whose generations nobody has discarded."""
    there = {each.id for each in place.documents.rows(ids=[each.holder.id for each in group])}
    return [each for each in group if each.holder.id in there]


def _entries(document: WholeDocument, analyser: Analyser) -> _Entries:
    token, document_id = secrets.token_hex(8), document.record.id
    chunks = sorted(document.chunks, key=lambda each: (each.chunk.index, each.chunk.id))
    vectors = vector_rows(token, document_id, chunks)
    index = index_of(
        [(each.chunk, each.embedding_key) for each in chunks], sorted(each.id for each in vectors), analyser
    )
    rows, commit = generation_rows(token, document.record, document.text, document.structure, index)
    return _Entries(
        document=document,
        holder=writing_row(document_id, secrets.token_hex(16), token),
        vectors=vectors,
        chunks=[chunk_row(each, token) for each in chunks],
        rows=rows,
        commit=commit,
    )


def _groups(documents: Iterator[_Entries]) -> Iterator[list[_Entries]]:
    """Put documents together that one small call makes visible; one that is larger, or named again, begins another."""
    group: list[_Entries] = []
    size = 0
    for each in documents:
        if group and (size + each.size > SMALL_CALL or any(one.id == each.id for one in group)):
            yield group
            group, size = [], 0
        group.append(each)
        size += each.size
    if group:
        yield group
