"""What every store refuses before it writes or searches, and the order in which it answers."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Protocol

from knowledge_mcp.model.chunk import Chunk, EmbeddedChunk, Vector
from knowledge_mcp.model.collection import CollectionInfo, DocumentRecord, EmbeddingSpace, WholeDocument
from knowledge_mcp.model.errors import (
    ConfigError,
    ConnectionFailedError,
    InternalError,
    InvalidInputError,
    NotFoundError,
    SpaceMismatchError,
)
from knowledge_mcp.model.query import ChunkKey
from knowledge_mcp.ports import Analyser
from knowledge_mcp.support.wording import how_many


def check_documents(documents: Iterable[WholeDocument], dimensions: int) -> None:
    """Make sure of the length of every vector, and of as many chunks as announced, each once.

    Raises:
        InvalidInputError: a vector has another length; names the chunk.
        InternalError: a document has not the chunks that its record announces.
    """
    size = 4 * dimensions
    for document in documents:
        for each in document.chunks:
            if len(each.vector) != size:
                raise InvalidInputError(f"Chunk {each.chunk.id}: vector of {len(each.vector)} bytes, not {size}.")
        there = len({each.chunk.id for each in document.chunks})
        if there != document.record.chunk_count or there != len(document.chunks):
            raise not_announced(document.record, there)


def check_query(vector: Vector | None, space: EmbeddingSpace) -> None:
    """Make sure that a query's vector, where there is one, has the components of the collection's space.

    Raises:
        InvalidInputError: it has more or fewer.
    """
    if vector is not None and len(vector) != 4 * space.dimensions:
        raise InvalidInputError(f"The query vector is not of {space.label}.")


def check_space(name: str, there: EmbeddingSpace, configured: EmbeddingSpace) -> None:
    """Make sure that a collection that exists is in the space that is asked for.

    Raises:
        SpaceMismatchError: it is in another one; names both.
    """
    if there.fingerprint != configured.fingerprint:
        raise SpaceMismatchError(f"Collection '{name}' belongs to {there.label}, not to {configured.label}.")


def not_announced(record: DocumentRecord, there: int, why: str = "") -> InternalError:
    """Say that a document has not the chunks that its record tells of."""
    return InternalError(
        f"Document '{record.id}' has {how_many(there, 'chunk')}, not the {record.chunk_count} announced.",
        details=why,
        suggestion="Ingest the document again.",
    )


def checked_renames(names: Mapping[str, str], present: Collection[str]) -> dict[str, str]:
    """Return the entries that change something, once all can be done together.

    Args:
        names: new names by present ones.
        present: the names of all collections.

    Raises:
        NotFoundError: a collection to be renamed is not there.
        InvalidInputError: two would get one name, or a name is taken by a collection that keeps it.
    """
    for old in names:
        if old not in present:
            raise no_collection(old)
    changed = {old: new for old, new in names.items() if old != new}
    after = [*changed.values(), *(name for name in present if name not in changed)]
    for new in changed.values():
        if after.count(new) > 1:
            raise InvalidInputError(
                f"There would be two collections named '{new}'.",
                suggestion="Choose another name, or drop that one first.",
            )
        if not new:
            raise InvalidInputError("A collection needs a name.")
    return changed


_NUMBER = re.compile(r"(?:^|-)(\d+)(?:-|$)")


def is_newer(label: str, other: str) -> bool:
    """Tell whether a version label such as `english-2-porter2` comes after another one.

    The first number between hyphens decides, 0 where there is none; then the text, so that of two labels exactly one
    comes after the other, and no two versions replace each other's work for ever.
    """
    return _order(label) > _order(other)


class IndexedPlace(Protocol):
    """A collection as a store found it, with the version of the analyser that has indexed it."""

    @property
    def info(self) -> CollectionInfo: ...

    @property
    def indexed_by(self) -> str: ...


def newer_index(place: IndexedPlace, analyser: Analyser) -> ConfigError | None:
    """Say that a newer version has indexed a collection, and that this one leaves its index alone; None where not."""
    if not is_newer(place.indexed_by, analyser.version):
        return None
    return ConfigError(
        f"A newer version of this program has indexed the words of collection '{place.info.name}' "
        f"({place.indexed_by}; this version knows {analyser.version}).",
        suggestion="Upgrade this server too. Until then it searches by meaning only and stores no documents there.",
    )


def check_index(place: IndexedPlace, analyser: Analyser) -> None:
    """Make sure that no newer version has indexed a collection.

    Raises:
        ConfigError: one has.
    """
    if (newer := newer_index(place, analyser)) is not None:
        raise newer


def described(place: IndexedPlace, analyser: Analyser) -> CollectionInfo:
    """Describe a collection, with what this version cannot use of it."""
    newer = newer_index(place, analyser)
    return place.info if newer is None else replace(place.info, degraded=newer.message)


def terms_of(
    text: str | None, place: IndexedPlace, analyser: Analyser, *, alone: bool
) -> tuple[dict[str, float] | None, str]:
    """Cut a question into terms with their weights.

    None for none, and where a newer version has indexed the collection, with the reason.

    Raises:
        ConfigError: one has, and no other leg may answer.
    """
    if text is None:
        return None, ""
    newer = newer_index(place, analyser)
    if newer is None:
        return analyser.query_terms(text), ""
    if alone:
        raise newer
    return None, newer.message


def no_collection(name: str) -> NotFoundError:
    """Say that there is no collection of a name."""
    return NotFoundError(f"There is no collection '{name}'.")


def replaced(name: str) -> InternalError:
    """Say that the collection of a name is not the one that something was prepared for."""
    return InternalError(f"Another collection has just become '{name}'.", suggestion="Ingest it again.")


def store_closed() -> ConnectionFailedError:
    """Say that a store was closed."""
    return ConnectionFailedError("The store is closed.", suggestion="Open it again.", recoverable=False)


def now() -> str:
    """Tell the time as `CollectionInfo.created_at` has it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _order(label: str) -> tuple[int, str]:
    found = _NUMBER.search(label)
    return int(found[1]) if found else 0, label


def in_order(chunks: Iterable[Chunk]) -> list[Chunk]:
    """Sort chunks by document and index, as every store gives them."""
    return sorted(chunks, key=lambda chunk: (chunk.document_id, chunk.index, chunk.id))


def by_value(chunks: Iterable[Chunk], key: ChunkKey, values: Sequence[str]) -> list[Chunk]:
    """List for each id or content, in the order asked, the chunks that have it; one asked twice is answered twice."""
    name = "content_hash" if key == "content" else "id"
    having: dict[str, list[Chunk]] = {}
    for chunk in in_order(chunks):
        having.setdefault(getattr(chunk, name), []).append(chunk)
    return [chunk for value in values for chunk in having.get(value, ())]


def as_kept(chunks: Iterable[EmbeddedChunk]) -> list[EmbeddedChunk]:
    """Sort one document's chunks as they are kept."""
    return sorted(chunks, key=lambda each: (each.chunk.index, each.chunk.id))
