"""Reads records, texts, chunks and vectors from Qdrant; a read that was overtaken by a publish is repeated."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, NamedTuple, TypeVar

from qdrant_client import models

from knowledge_mcp.model.chunk import Chunk, Vector
from knowledge_mcp.model.collection import DocumentParts, DocumentRecord
from knowledge_mcp.model.errors import InternalError, InvalidInputError, sound
from knowledge_mcp.model.query import ChunkKey
from knowledge_mcp.ports import Analyser
from knowledge_mcp.stores.qdrant.connection import PAGE
from knowledge_mcp.stores.qdrant.layout import DENSE, META, VISIBLE, QdrantCollection, place_of, point_id
from knowledge_mcp.stores.qdrant.points import all_of, any_of, equals, to_bytes
from knowledge_mcp.stores.shared.payload import chunk_from_json, parts_from, record_from_json
from knowledge_mcp.stores.shared.ranking import printed_terms
from knowledge_mcp.stores.shared.rules import by_value, in_order, no_collection
from knowledge_mcp.support.batches import batches

MARKS = ("home", "chunk_id", "document_id", "generation", "state")
"""Payload fields by which a reader decides whether a chunk's point is visible."""
PartKind = Literal["text", "structure"]
PARTS: tuple[PartKind, ...] = ("text", "structure")
"""What is stored in parts next to a record; also the payload field of a part's point that holds it."""
READS = 8
"""How often a read that was overtaken by a publish is repeated before its last result is used."""

Point = TypeVar("Point", models.Record, models.ScoredPoint)


@dataclass(frozen=True, slots=True)
class DocumentHead:
    """The stored head of a document: its record, its visible generation, and totals.

    Attributes:
        document_id: id of the document.
        generation: the visible generation; unique among those of the document.
        parts: number of parts of the canonical text.
        chunks, tokens, length, size: totals over its chunks; length in terms, size in bytes of everything stored.
        record: as JSON; empty if it was not read.
        shapes: number of parts of the structure; 0 if there is none.
    """

    document_id: str
    generation: str
    parts: int
    chunks: int
    tokens: int
    length: int
    size: int
    record: str = ""
    shapes: int = 0


_FIELDS = [each.name for each in fields(DocumentHead)]
_NUMBERS = ["kind", *(each for each in _FIELDS if each != "record")]
_DOCUMENTS = equals("kind", "document")
_EVERY = all_of(_DOCUMENTS)


def head_id(document_id: str) -> str:
    """Return the id of the point of a document's record."""
    return point_id("document", document_id)


def part_ids(head: DocumentHead, kind: PartKind) -> list[str]:
    """List the point ids of the parts of a canonical text or structure."""
    count = head.parts if kind == "text" else head.shapes
    return [point_id(kind, head.document_id, head.generation, str(part)) for part in range(count)]


def _head(payload: Mapping[str, Any]) -> DocumentHead:
    return DocumentHead(**{name: payload[name] for name in _FIELDS if name in payload})


def heads(
    place: QdrantCollection,
    *,
    whole: bool = False,
    most: int | None = None,
    generations: Iterable[str] | None = None,
) -> Iterator[DocumentHead]:
    """Yield the heads of all documents, at most `most`, or those of some generations; `whole` includes the records."""
    some = [] if generations is None else [any_of("generation", generations)]
    kept = all_of(_DOCUMENTS, *some)
    for point in place.connection.scroll(place.records, kept, ["kind", *_FIELDS] if whole else _NUMBERS, most=most):
        yield _head(point.payload or {})


def place_and_head(place: QdrantCollection, document_id: str) -> tuple[QdrantCollection, DocumentHead | None]:
    """Read the current description of a collection and the head of a document, in one round trip."""
    now, found = place_and_heads(place, [document_id])
    return now, found[0] if found else None


def heads_of(place: QdrantCollection, document_ids: Sequence[str]) -> list[DocumentHead]:
    """Read the current heads of some documents, in one round trip; missing ones are left out."""
    return place_and_heads(place, document_ids)[1]


def place_and_heads(
    place: QdrantCollection, document_ids: Sequence[str]
) -> tuple[QdrantCollection, list[DocumentHead]]:
    """Read the current description of a collection and the heads of some documents, in one round trip.

    Raises:
        NotFoundError: the collection does not exist any more.
    """
    names = [head_id(each) for each in document_ids]
    found = {str(each.id): each.payload or {} for each in place.connection.retrieve(place.records, [META, *names])}
    now = place_of(place.connection, place.name, found[META]) if META in found else None
    if now is None:
        raise no_collection(place.name)
    return now, [_head(found[name]) for name in names if name in found]


class VisibilityCheck:
    """Decides, during one read, which points belong to the visible generation of their document.

    Attributes:
        missed: whether a publish has overtaken the last `keep`, so that visible points of a document may be missing.
    """

    def __init__(self, place: QdrantCollection) -> None:
        self._place = place
        self._known: dict[str, str | None] = {}
        self.missed = False

    def keep(self, points: Sequence[Point]) -> list[Point]:
        """Return the visible points, in order."""
        generations: dict[str, set[str]] = {}
        doubtful: set[str] = set()
        for point in points:
            payload = point.payload or {}
            seen = generations.setdefault(payload["document_id"], set())
            seen.add(payload["generation"])
            if payload["state"] != VISIBLE or len(seen) > 1:
                doubtful.add(payload["document_id"])
        self.missed = False
        if not doubtful:
            return list(points)
        now = self._generations(doubtful)
        self.missed = any(
            generation is not None
            and generation not in generations[document_id]
            and self._known.get(document_id, "") != generation
            for document_id, generation in now.items()
        )
        self._known.update(now)
        return [point for point in points if _is_of(point.payload or {}, now)]

    def _generations(self, document_ids: Iterable[str]) -> dict[str, str | None]:
        by_head = {head_id(document_id): document_id for document_id in document_ids}
        found = self._place.connection.retrieve(self._place.records, list(by_head), ["generation"])
        by_id = {str(each.id): (each.payload or {})["generation"] for each in found}
        return {document_id: by_id.get(point) for point, document_id in by_head.items()}


def _is_of(payload: Mapping[str, Any], now: Mapping[str, str | None]) -> bool:
    document_id = payload["document_id"]
    return document_id not in now or now[document_id] == payload["generation"]


def read_again(place: QdrantCollection, read: Callable[[], list[models.Record]]) -> list[models.Record]:
    """Read points until no publish has overtaken the read, and return the visible ones."""
    judge = VisibilityCheck(place)
    kept: list[models.Record] = []
    for _ in range(READS):
        kept = judge.keep(read())
        if not judge.missed:
            break
    return kept


_ASKED = 200
"""Keys per look-up."""
_MOST_KNOWN = 64
"""Number of sets of absent documents for which totals are cached."""
_VECTORS = 250
"""Points per read with vectors: some more than keys, because a publish in progress holds some twice."""


def records(
    place: QdrantCollection,
    document_ids: Sequence[str] | None = None,
    limit: int | None = None,
) -> list[DocumentRecord]:
    """Read records, sorted by id: all, any `limit` of them, or those of some documents."""
    if document_ids is None:
        found = heads(place, whole=True, most=limit)
    else:
        found = (head for some in batches(dict.fromkeys(document_ids), _ASKED) for head in heads_of(place, some))
    announced = sound(found, lambda head: record_from_json(head.record, head.document_id))
    return sorted(announced, key=lambda each: each.id)[:limit]


def parts(place: QdrantCollection, document_id: str) -> DocumentParts | None:
    """Read the canonical text and the structure of a document; the structure is empty if none was published.

    Raises:
        InternalError: parts are missing although the document was not replaced.
    """
    lost: list[PartKind] = []
    for _ in range(READS):
        _, head = place_and_head(place, document_id)
        if head is None:
            return None
        ids = {kind: part_ids(head, kind) for kind in PARTS}
        every = [each for kind in PARTS for each in ids[kind]]
        found: dict[str, str] = {}
        for some in batches(every, 16):
            for point in place.connection.retrieve(place.records, some, list(PARTS)):
                found |= {str(point.id): str(text) for text in (point.payload or {}).values()}
        if len(found) == len(every):
            text, structure = ("".join(found[each] for each in ids[kind]) for kind in PARTS)
            return parts_from(head.record, document_id, text, structure)
        lost = [kind for kind in PARTS if any(each not in found for each in ids[kind])]
    raise InternalError(
        f"Parts of the {' and '.join(lost)} of '{document_id}' are missing.",
        suggestion="Ingest the document again.",
    )


def chunks(place: QdrantCollection, key: ChunkKey, values: Sequence[str]) -> list[Chunk]:
    """Read visible chunks by id, document, defined term or content hash."""
    if key in {"id", "content"}:
        field = "chunk_id" if key == "id" else "content_hash"
        return by_value(_chunks(_by_keys(place, field, values)), key, values)
    read = _document_chunks if key == "document" else _definitions
    return [chunk for value in values for chunk in read(place, value)]


def _document_chunks(place: QdrantCollection, document_id: str) -> list[Chunk]:
    """Read the chunks of the visible generation."""
    found: list[models.Record] = []
    for _ in range(READS):
        _, head = place_and_head(place, document_id)
        if head is None:
            return []
        kept = all_of(equals("document_id", document_id), equals("generation", head.generation))
        found = list(place.connection.scroll(place.home, kept, ["chunk"]))
        if len(found) == head.chunks:
            break
    return in_order(_chunks(found))


def known_vectors(place: QdrantCollection, keys: Sequence[str]) -> dict[str, Vector]:
    """Look up vectors by embedding key."""
    known: dict[str, Vector] = {}
    for some in batches(dict.fromkeys(keys), _ASKED):
        missing: Sequence[str] = some
        while missing:  # read only what is missing: any number of chunks may share a key
            kept = all_of(any_of("embedding_key", missing))
            page = list(place.connection.scroll(place.home, kept, ["embedding_key"], vectors=[DENSE], most=_VECTORS))
            for point in page:
                known[(point.payload or {})["embedding_key"]] = to_bytes(point.vector)
            missing = [key for key in some if key not in known] if len(page) == _VECTORS else []
    return known


def _definitions(place: QdrantCollection, term_key: str) -> list[Chunk]:
    """Read the visible chunks that define a term."""
    found = _by_keys(place, "terms", [term_key])
    return in_order(_chunks(found))


def defined_terms(place: QdrantCollection, analyser: Analyser) -> dict[str, str]:
    """Map keys to defined terms as printed; the first chunk decides, and terms take precedence over aliases."""
    kept = models.Filter(must_not=[models.IsEmptyCondition(is_empty=models.PayloadField(key="terms"))])
    found = read_again(place, lambda: list(place.connection.scroll(place.home, kept, [*MARKS, "chunk"])))
    every = [one for chunk in in_order(_chunks(found)) for one in chunk.definitions]
    return printed_terms([(one.term, one.aliases) for one in every], analyser)


class RecordTotals(NamedTuple):
    """Totals over the records of a collection, as in `DocumentHead`; length in terms, size in bytes."""

    documents: int = 0
    chunks: int = 0
    tokens: int = 0
    length: int = 0
    size: int = 0

    @property
    def mean(self) -> float | None:
        """Mean number of terms per chunk, or None if there are no chunks."""
        return (self.length / self.chunks or 1.0) if self.chunks > 0 else None


def totals(found: Iterable[DocumentHead]) -> RecordTotals:
    """Compute the totals of some records."""
    return _added((1, each.chunks, each.tokens, each.length, each.size) for each in found)


def _added(rows: Iterable[Sequence[int]]) -> RecordTotals:
    return RecordTotals(*(sum(column) for column in zip(*rows, strict=True)))


class KnownTotals:
    """Caches the totals of collections, so that only records published since need to be read.

    A generation belongs to one publish, and the server counts the records of each generation in one request. A
    generation with the same number of records as before has the same records. An exact count of all records verifies
    the result.
    """

    def __init__(self) -> None:
        self._known: dict[str, tuple[tuple[str, str], dict[str, RecordTotals], RecordTotals]] = {}
        self._without: dict[tuple[str, tuple[str, str], frozenset[str]], RecordTotals] = {}
        self._lock = threading.Lock()

    def of(self, place: QdrantCollection) -> RecordTotals:
        """Return the totals of a collection with an up-to-date description."""
        state = (place.analyser, place.changed)
        with self._lock:
            known = self._known.get(place.home)
        if known is not None and known[0] == state:
            return known[2]
        sums = known[1] if known is not None and known[0][0] == place.analyser else {}  # lengths depend on the analyser
        sums = _summed_again(place, sums) if sums else {}
        if not sums or sum(each.documents for each in sums.values()) != place.connection.count(place.records, _EVERY):
            sums = _by_generation(heads(place))
        summed = _added(sums.values())
        with self._lock:
            self._known[place.home] = (state, sums, summed)
        return summed

    def without(self, place: QdrantCollection, absent: frozenset[str]) -> RecordTotals:
        """Return the totals of a collection without some documents."""
        key = (place.home, (place.analyser, place.changed), absent)
        with self._lock:
            known = self._without.get(key)
        if known is None:
            ids = batches(map(head_id, sorted(absent)), PAGE)
            found = (each for some in ids for each in place.connection.retrieve(place.records, some, _NUMBERS))
            gone = totals(_head(each.payload or {}) for each in found)
            known = RecordTotals(*(there - away for there, away in zip(self.of(place), gone, strict=True)))
            with self._lock:
                if len(self._without) >= _MOST_KNOWN:
                    self._without.clear()
                self._without[key] = known
        return known


def _summed_again(place: QdrantCollection, sums: Mapping[str, RecordTotals]) -> dict[str, RecordTotals]:
    """Update totals by generation; empty if the server cannot count by generation."""
    try:
        counts = place.connection.facet(place.records, "generation", _EVERY, len(sums))
    except InvalidInputError:  # the index is missing, which `verify` reports
        return {}
    same = {each: sums[each] for each, count in counts.items() if each in sums and sums[each].documents == count}
    others = counts.keys() - same.keys()
    return same | (_by_generation(heads(place, generations=others)) if others else {})


def _by_generation(found: Iterable[DocumentHead]) -> dict[str, RecordTotals]:
    grouped: dict[str, list[DocumentHead]] = {}
    for head in found:
        grouped.setdefault(head.generation, []).append(head)
    return {each: totals(some) for each, some in grouped.items()}


def _by_keys(place: QdrantCollection, field: str, keys: Sequence[str]) -> Iterator[models.Record]:
    for some in batches(dict.fromkeys(keys), _ASKED):
        kept = all_of(any_of(field, some))

        def read(kept: models.Filter = kept) -> list[models.Record]:
            return list(place.connection.scroll(place.home, kept, [*MARKS, "chunk"]))

        yield from read_again(place, read)


def _chunks(points: Iterable[models.Record]) -> list[Chunk]:
    return sound(points, lambda each: chunk_from_json((each.payload or {}).get("chunk", "")))
