"""Checks that all stores make before they write or search, and the order of their results."""

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
    """Check the length of every vector, and that each document has as many distinct chunks as its record announces.

    Raises:
        InvalidInputError: a vector has another length; names the chunk.
        InternalError: the number of chunks differs from the record.
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
    """Check that a query vector, if there is one, has the dimensions of the collection's space.

    Raises:
        InvalidInputError: it has other dimensions.
    """
    if vector is not None and len(vector) != 4 * space.dimensions:
        raise InvalidInputError(f"The query vector is not of {space.label}.")


def check_space(name: str, there: EmbeddingSpace, configured: EmbeddingSpace) -> None:
    """Check that an existing collection is in the configured embedding space.

    Raises:
        SpaceMismatchError: it is in another space; names both.
    """
    if there.fingerprint != configured.fingerprint:
        raise SpaceMismatchError(f"Collection '{name}' belongs to {there.label}, not to {configured.label}.")


def not_announced(record: DocumentRecord, there: int, why: str = "") -> InternalError:
    """Return the error for a document whose number of chunks differs from its record."""
    return InternalError(
        f"Document '{record.id}' has {how_many(there, 'chunk')}, but its record states {record.chunk_count}.",
        details=why,
        suggestion="Ingest the document again.",
    )


def checked_renames(names: Mapping[str, str], present: Collection[str]) -> dict[str, str]:
    """Return the renames that change something, after checking that they can all be done together.

    Args:
        names: new names by current names.
        present: names of all collections.

    Raises:
        NotFoundError: a collection to rename does not exist.
        InvalidInputError: a new name is empty, used twice, or taken by a collection that keeps its name.
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
    """Return whether a version label such as `english-2-porter2` is newer than another.

    The first number between hyphens decides (0 if there is none), then the text. This is a total order: of two
    different labels exactly one is newer, so two versions never keep replacing each other's index.
    """
    return label != other and _order(label) > _order(other)


class IndexedPlace(Protocol):
    """A collection as the store found it, with the version of the analyser that indexed it."""

    @property
    def info(self) -> CollectionInfo: ...

    @property
    def indexed_by(self) -> str: ...


def newer_index(place: IndexedPlace, analyser: Analyser) -> ConfigError | None:
    """Return an error if a newer version has indexed a collection, since this version must leave that index alone."""
    if not is_newer(place.indexed_by, analyser.version):
        return None
    return ConfigError(
        f"A newer version of this program has indexed the words of collection '{place.info.name}' "
        f"({place.indexed_by}; this version knows {analyser.version}).",
        suggestion="Upgrade this server too. Until then it searches by meaning only and stores no documents there.",
    )


def check_index(place: IndexedPlace, analyser: Analyser) -> None:
    """Check that no newer version has indexed a collection.

    Raises:
        ConfigError: a newer version has.
    """
    if (newer := newer_index(place, analyser)) is not None:
        raise newer


def described(place: IndexedPlace, analyser: Analyser) -> CollectionInfo:
    """Return the information about a collection, including what this version cannot use of it (`degraded`)."""
    newer = newer_index(place, analyser)
    return place.info if newer is None else replace(place.info, degraded=newer.message)


def terms_of(text: str | None, place: IndexedPlace, analyser: Analyser, *, alone: bool) -> tuple[list[str] | None, str]:
    """Analyse a question into terms.

    Returns:
        The terms and an empty reason. The terms are None if there is no question, or if a newer version has indexed the
        collection; in that case the reason says so.

    Raises:
        ConfigError: a newer version has indexed the collection, and there is no other leg to answer.
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
    """Return the error for a collection that does not exist."""
    return NotFoundError(f"There is no collection '{name}'.")


def replaced(name: str) -> InternalError:
    """Return the error for a collection that was replaced while something was being prepared for it."""
    return InternalError(f"Another collection has just become '{name}'.", suggestion="Ingest it again.")


def store_closed() -> ConnectionFailedError:
    """Return the error for using a store after it was closed."""
    return ConnectionFailedError("The store is closed.", suggestion="Open it again.", recoverable=False)


def now() -> str:
    """Return the current time in the format of `CollectionInfo.created_at`."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _order(label: str) -> tuple[int, str]:
    found = _NUMBER.search(label)
    return int(found[1]) if found else 0, label


def in_order(chunks: Iterable[Chunk]) -> list[Chunk]:
    """Sort chunks by document and index, the order in which all stores return them."""
    return sorted(chunks, key=lambda chunk: (chunk.document_id, chunk.index, chunk.id))


def by_value(chunks: Iterable[Chunk], key: ChunkKey, values: Sequence[str]) -> list[Chunk]:
    """List the chunks for each id or content hash, in the order requested, repeats included."""
    name = "content_hash" if key == "content" else "id"
    having: dict[str, list[Chunk]] = {}
    for chunk in in_order(chunks):
        having.setdefault(getattr(chunk, name), []).append(chunk)
    return [chunk for value in values for chunk in having.get(value, ())]


def in_stored_order(chunks: Iterable[EmbeddedChunk]) -> list[EmbeddedChunk]:
    """Sort the chunks of one document in the order in which they are stored."""
    return sorted(chunks, key=lambda each: (each.chunk.index, each.chunk.id))
