"""Checks records against points, weights, texts and indexes, and repairs the remains of interrupted calls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from qdrant_client import models

from knowledge_mcp.model.ingest import Finding
from knowledge_mcp.stores.qdrant.connection import QdrantConnection
from knowledge_mcp.stores.qdrant.layout import (
    BM25,
    DENSE,
    INDEXES,
    RECORD_INDEXES,
    VISIBLE,
    QdrantCollection,
    schema_of,
)
from knowledge_mcp.stores.qdrant.points import all_of, any_of
from knowledge_mcp.stores.qdrant.reading import PARTS, DocumentHead, heads, part_ids
from knowledge_mcp.stores.qdrant.search import outdated_weights, weigh
from knowledge_mcp.stores.qdrant.writing import settle
from knowledge_mcp.stores.shared.checking import INGEST, miscounted, repairable
from knowledge_mcp.support.batches import batches
from knowledge_mcp.support.wording import how_many

_BATCH = 1000


@dataclass
class _StoredPoints:
    """What the points of a collection say, by document."""

    current: Counter[str] = field(default_factory=Counter[str])
    left: dict[str, list[models.Record]] = field(default_factory=dict[str, list[models.Record]])
    unsettled: dict[str, list[models.Record]] = field(default_factory=dict[str, list[models.Record]])


def verify(place: QdrantCollection, *, repair: bool) -> list[Finding]:
    """Check one collection; with `repair`, remove leftovers and rebuild what is derived."""
    known = {each.document_id: each for each in heads(place)}
    seen = _look(place, known)
    findings = list(_indexes(place, repair=repair))
    findings += _leftovers(place, seen, repair=repair)
    for document_id in sorted(known):
        findings += _document(known[document_id], seen)
    findings += _vectors(place)
    findings += _parts(place, known, repair=repair)
    findings += _weights(place, repair=repair)
    return findings


def _look(place: QdrantCollection, known: Mapping[str, DocumentHead]) -> _StoredPoints:
    seen = _StoredPoints()
    for point in place.connection.scroll(place.home, None, ["document_id", "generation", "state"]):
        payload: Mapping[str, Any] = point.payload or {}
        document_id = payload["document_id"]
        head = known.get(document_id)
        if head is None or head.generation != payload["generation"]:
            seen.left.setdefault(document_id, []).append(point)
        else:
            seen.current[document_id] += 1
            if payload["state"] != VISIBLE:
                seen.unsettled.setdefault(document_id, []).append(point)
    return seen


def _leftovers(place: QdrantCollection, seen: _StoredPoints, *, repair: bool) -> Iterator[Finding]:
    for document_id, points in sorted(seen.left.items()):
        if repair:
            _delete(place.connection, place.home, [each.id for each in points])
        left = how_many(len(points), "chunk is", "chunks are")
        message = f"{left} left over from a publish or delete that was not finished."
        yield repairable(message, document_id, repaired=repair)
    for document_id, points in sorted(seen.unsettled.items()):
        if repair:
            settle(place.connection, place.home, points)
        message = (
            f"{how_many(len(points), 'chunk waits', 'chunks wait')} for the end of a publish that was not finished."
        )
        yield repairable(message, document_id, repaired=repair)


def _document(head: DocumentHead, seen: _StoredPoints) -> Iterator[Finding]:
    found = seen.current[head.document_id]
    if found != head.chunks:
        yield miscounted(head.chunks, found, head.document_id)


def _vectors(place: QdrantCollection) -> Iterator[Finding]:
    kept = models.Filter(must_not=[models.HasVectorCondition(has_vector=DENSE)])
    without = Counter(
        (each.payload or {})["document_id"] for each in place.connection.scroll(place.home, kept, ["document_id"])
    )
    for document_id, count in sorted(without.items()):
        yield Finding(f"{how_many(count, 'chunk has', 'chunks have')} no vector.", document_id, suggestion=INGEST)


def _parts(place: QdrantCollection, known: Mapping[str, DocumentHead], *, repair: bool) -> Iterator[Finding]:
    expected = {
        each: (head.document_id, kind) for head in known.values() for kind in PARTS for each in part_ids(head, kind)
    }
    kept = all_of(any_of("kind", PARTS))
    present = [each.id for each in place.connection.scroll(place.records, kept, ["kind"])]
    missing = Counter(expected[each] for each in expected.keys() - {str(each) for each in present})
    for document_id, kind in sorted(missing):
        message = "The canonical text is missing." if kind == "text" else "The sections and pages are missing."
        yield Finding(message, document_id, suggestion=INGEST)
    left = [each for each in present if str(each) not in expected]
    if left:
        if repair:
            _delete(place.connection, place.records, left)
        message = f"{how_many(len(left), 'part')} of texts or structures without a document."
        yield repairable(message, repaired=repair)


def _weights(place: QdrantCollection, *, repair: bool) -> Iterator[Finding]:
    unweighted = models.Filter(must_not=[models.HasVectorCondition(has_vector=BM25)])
    without = models.Filter(should=[outdated_weights(place), unweighted])
    wrong = place.connection.count(place.home, without)
    if not wrong:
        return
    if repair:
        operation = models.SetPayload(payload={"weights": None}, filter=without)
        place.connection.write(place.home, [models.SetPayloadOperation(set_payload=operation)])
        weigh(place)
    yield repairable(
        f"{how_many(wrong, 'chunk has', 'chunks have')} no BM25 weights, or outdated weights.", repaired=repair
    )


def _indexes(place: QdrantCollection, *, repair: bool) -> Iterator[Finding]:
    for name, indexes in ((place.home, INDEXES), (place.records, RECORD_INDEXES)):
        present = place.connection.info(name).payload_schema
        for key in sorted(indexes.keys() - present.keys()):
            if repair:
                place.connection.index(name, key, schema_of(indexes[key], on_disk=place.connection.config.on_disk))
            message = f"Qdrant's collection '{name}' has no index of '{key}'; filters on it are slow or refused."
            yield repairable(message, repaired=repair)


def _delete(connection: QdrantConnection, name: str, ids: list[models.ExtendedPointId]) -> None:
    for some in batches(ids, _BATCH):
        connection.write(name, [models.DeleteOperation(delete=models.PointIdsList(points=some))])
