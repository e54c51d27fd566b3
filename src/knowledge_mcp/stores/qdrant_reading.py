"""Records, texts, chunks and vectors, read from Qdrant; a read that meets a publish looks again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from qdrant_client import models

from knowledge_mcp.model.chunk import Chunk, Vector
from knowledge_mcp.model.collection import DocumentRecord, StoreStatistics
from knowledge_mcp.model.damage import sound
from knowledge_mcp.model.errors import InternalError
from knowledge_mcp.model.structure import DocumentStructure
from knowledge_mcp.ports import Analyser
from knowledge_mcp.stores.payload import checked_part, chunk_from_json, structure_from_json
from knowledge_mcp.stores.qdrant_connection import Connection
from knowledge_mcp.stores.qdrant_heads import (
    MARKS,
    READS,
    Head,
    PartKind,
    heads,
    heads_of,
    part_ids,
    place_and_head,
    read_again,
)
from knowledge_mcp.stores.qdrant_layout import DENSE, Place
from knowledge_mcp.stores.qdrant_points import any_of, equals, live, to_bytes

__all__ = [
    "chunks_by_id",
    "defined_terms",
    "definitions",
    "document_chunks",
    "document_structure",
    "document_text",
    "known_vectors",
    "owners_of_content",
    "record",
    "records",
    "statistics",
]

_ASKED = 200
"""Keys of one look-up."""
_VECTORS = 250
"""Points read at once with their vectors: some more than keys, since a publish under way holds some twice."""


def record(connection: Connection, place: Place, document_id: str) -> DocumentRecord | None:
    """Read a document's record."""
    _, head = place_and_head(connection, place, document_id)
    return next(iter(sound([] if head is None else [head], _announced)), None)


def records(
    connection: Connection, place: Place, document_ids: Sequence[str] | None = None, limit: int | None = None
) -> list[DocumentRecord]:
    """Read records by id: all of them, any few, or those of some documents."""
    if document_ids is None:
        found = heads(connection, place, whole=True, most=limit)
    else:
        found = (head for some in _some(document_ids) for head in heads_of(connection, place, some))
    return sorted(sound(found, _announced), key=lambda each: each.id)[:limit]


def document_text(connection: Connection, place: Place, document_id: str) -> str | None:
    """Read a canonical text."""
    return _parts(connection, place, document_id, "text")


def document_structure(connection: Connection, place: Place, document_id: str) -> DocumentStructure | None:
    """Read sections and pages, empty where none were published."""
    found = _parts(connection, place, document_id, "structure")
    return None if found is None else structure_from_json(found)


def _parts(connection: Connection, place: Place, document_id: str, kind: PartKind) -> str | None:
    """Read the parts that the record names."""
    for _ in range(READS):
        _, head = place_and_head(connection, place, document_id)
        if head is None:
            return None
        ids = part_ids(head, kind)
        found: dict[str, str] = {}
        for start in range(0, len(ids), 16):
            points = connection.retrieve(place.records, ids[start : start + 16], [kind])
            found |= {str(each.id): (each.payload or {})[kind] for each in points}
        if len(found) == len(ids):
            read = "".join(str(found[each]) for each in ids)
            return checked_part(head.record, document_id, "canonical text" if kind == "text" else kind, read)
    raise InternalError(f"Parts of the {kind} of '{document_id}' are missing.", suggestion="Ingest the document again.")


def document_chunks(connection: Connection, place: Place, document_id: str) -> list[Chunk]:
    """Read the chunks of the generation that the record names."""
    found: list[models.Record] = []
    for _ in range(READS):
        _, head = place_and_head(connection, place, document_id)
        if head is None:
            return []
        kept = models.Filter(must=[equals("document_id", document_id), equals("generation", head.generation)])
        found = list(connection.scroll(place.home, kept, ["chunk"]))
        if len(found) == head.chunks:
            break
    return sorted(_chunks(found), key=lambda each: (each.index, each.id))


def chunks_by_id(connection: Connection, place: Place, chunk_ids: Sequence[str]) -> list[Chunk]:
    """Read visible chunks in the order asked."""
    found = _by_keys(connection, place, "chunk_id", chunk_ids, ["chunk"])
    known = {each.id: each for each in _chunks(found)}
    return [known[chunk_id] for chunk_id in chunk_ids if chunk_id in known]


def known_vectors(connection: Connection, place: Place, keys: Sequence[str]) -> dict[str, Vector]:
    """Read vectors by their keys, staged ones too."""
    known: dict[str, Vector] = {}
    for some in _some(keys):
        missing: Sequence[str] = some
        while missing:  # page by page what was not read yet: any number of chunks may share one key
            kept = models.Filter(must=[any_of("embedding_key", missing)])
            page = list(connection.scroll(place.home, kept, ["embedding_key"], vectors=[DENSE], most=_VECTORS))
            for point in page:
                known[(point.payload or {})["embedding_key"]] = to_bytes(point.vector)
            missing = [key for key in some if key not in known] if len(page) == _VECTORS else []
    return known


def owners_of_content(connection: Connection, place: Place, hashes: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Read which documents hold content."""
    owners: dict[str, set[str]] = {}
    for point in _by_keys(connection, place, "content_hash", hashes, ["content_hash"]):
        payload = point.payload or {}
        owners.setdefault(payload["content_hash"], set()).add(payload["document_id"])
    return {content_hash: tuple(sorted(found)) for content_hash, found in owners.items()}


def definitions(connection: Connection, place: Place, term_key: str) -> list[Chunk]:
    """Read the visible chunks that define a term."""
    found = _by_keys(connection, place, "terms", [term_key], ["chunk"])
    return sorted(_chunks(found), key=lambda each: (each.document_id, each.index, each.id))


def defined_terms(connection: Connection, place: Place, analyser: Analyser) -> dict[str, str]:
    """Read every defined term; the first chunk that has it says how it is printed, aliases come last."""
    kept = live()
    kept.must_not = [models.IsEmptyCondition(is_empty=models.PayloadField(key="terms"))]
    found = read_again(connection, place, lambda: list(connection.scroll(place.home, kept, [*MARKS, "chunk"])))
    chunks = sorted(_chunks(found), key=lambda each: (each.document_id, each.index, each.id))
    every = [one for chunk in chunks for one in chunk.definitions]
    terms: dict[str, str] = {}
    for name in (*(one.term for one in every), *(alias for one in every for alias in one.aliases)):
        terms.setdefault(analyser.term_key(name), name)
    return terms


def statistics(found: Iterable[Head]) -> StoreStatistics:
    """Sum up the records of a collection."""
    kept = list(found)
    return StoreStatistics(
        documents=len(kept),
        chunks=sum(each.chunks for each in kept),
        tokens=sum(each.tokens for each in kept),
        storage_bytes=sum(each.size for each in kept),
    )


def _by_keys(
    connection: Connection, place: Place, field: str, keys: Sequence[str], payload: Sequence[str]
) -> Iterator[models.Record]:
    for some in _some(keys):
        kept = live(any_of(field, some))

        def read(kept: models.Filter = kept) -> list[models.Record]:
            return list(connection.scroll(place.home, kept, [*MARKS, *payload]))

        yield from read_again(connection, place, read)


def _some(keys: Sequence[str]) -> Iterator[list[str]]:
    wanted = list(dict.fromkeys(keys))
    for start in range(0, len(wanted), _ASKED):
        yield wanted[start : start + _ASKED]


def _chunks(points: Iterable[models.Record]) -> list[Chunk]:
    return sound(points, lambda each: chunk_from_json((each.payload or {}).get("chunk", "")))


def _announced(head: Head) -> DocumentRecord:
    return head.announced
