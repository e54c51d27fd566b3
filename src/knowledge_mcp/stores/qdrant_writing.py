"""Staging, publishing what is staged, and deleting; `qdrant_swap` tells the steps of a publish."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

from qdrant_client import models

from knowledge_mcp.model.chunk import EmbeddedChunk
from knowledge_mcp.model.collection import DocumentRecord
from knowledge_mcp.model.errors import InternalError, NotFoundError
from knowledge_mcp.model.structure import DocumentStructure
from knowledge_mcp.ports import Analyser
from knowledge_mcp.stores.qdrant_connection import Connection
from knowledge_mcp.stores.qdrant_heads import PARTS, Head, Judge, head_id, place_and_head
from knowledge_mcp.stores.qdrant_layout import BM25, MOVING, STAGED, VISIBLE, Place
from knowledge_mcp.stores.qdrant_points import any_of, batches, equals, live, staged_point
from knowledge_mcp.stores.qdrant_swap import (
    OTHER_WRITER,
    RACES,
    changed,
    discarded,
    parts_of,
    sparse_of,
    swap,
    swap_of,
    unsettle,
    with_mean,
)

__all__ = ["delete_document", "discard_staged", "publish", "settle", "stage"]


def stage(
    connection: Connection,
    place: Place,
    analyser: Analyser,
    document_id: str,
    generation: str,
    chunks: Sequence[EmbeddedChunk],
) -> None:
    """Write the points of a coming generation."""
    _, head = place_and_head(connection, place, document_id)
    if not chunks:
        return
    kept = models.Filter(must=[equals("document_id", document_id), equals("name", generation), equals("state", STAGED)])
    begun = next(iter(connection.scroll(place.home, kept, ["generation"], most=1)), None)
    unique = (begun.payload or {})["generation"] if begun else _unique(head, generation)
    operations: list[models.UpdateOperation] = []
    if begun is None:  # what a publish of the same generation has left that was killed before its commit
        left = live(equals("document_id", document_id), equals("generation", unique))
        operations.append(models.DeleteOperation(delete=models.FilterSelector(filter=left)))
    points = (staged_point(each, analyser, place.home, document_id, generation, unique) for each in chunks)
    for batch in batches(points):
        operations.append(models.UpsertOperation(upsert=models.PointsList(points=batch)))
        connection.write(place.home, operations)
        operations = []


def publish(
    connection: Connection,
    place: Place,
    record: DocumentRecord,
    text: str,
    structure: DocumentStructure,
    generation: str,
) -> None:
    """Make a staged generation the visible one."""
    parts = parts_of(text, structure)
    for _ in range(RACES):
        place, head = place_and_head(connection, place, record.id)
        unique, staged = _staged(connection, place, record, generation, head)
        payloads = [each.payload or {} for each in staged]
        place = with_mean(connection, place, payloads)
        connection.write(place.home, [unsettle([record.id], unique)])
        _arm(connection, place, record.id, unique, staged)
        new = swap_of(place, head, record, parts, generation=unique, name=generation, payloads=payloads)
        if swap(connection, place, [new]):
            return
    raise discarded(record.id)


def discard_staged(connection: Connection, place: Place, document_id: str | None) -> int:
    """Drop staged points, and those that a killed publish or delete has left; settle what is visible."""
    mine = [] if document_id is None else [equals("document_id", document_id)]
    unsettled = models.Filter(must=[*mine, any_of("state", [STAGED, MOVING])])  # not `must_not`: an index finds these
    found = list(connection.scroll(place.home, unsettled, ["document_id", "chunk_id", "generation", "state"]))
    staged = [each for each in found if (each.payload or {})["state"] == STAGED]
    _delete(connection, place.home, staged)
    moving = [each for each in found if (each.payload or {})["state"] == MOVING]
    if not moving:
        return len(staged)
    current = Judge(connection, place).keep(moving)
    known = {each.id for each in current}
    left = [each for each in moving if each.id not in known]
    _delete(connection, place.home, left)
    if left and document_id is not None:
        _drop_parts_left(connection, place, document_id, {(each.payload or {})["generation"] for each in left})
    settle(connection, place.home, current)
    return len(staged)


def _drop_parts_left(connection: Connection, place: Place, document_id: str, generations: Iterable[str]) -> None:
    """Drop parts of texts and structures of generations whose points are gone.

    A publish under way may have been taken for a killed one. It counts its points after its commit and begins again
    where they are gone, but would not miss its parts: so points go first, and parts of no other generation.
    """
    kept = models.Filter(
        must=[
            any_of("kind", PARTS),
            equals("document_id", document_id),
            any_of("generation", sorted(generations)),
        ]
    )
    gone = models.DeleteOperation(delete=models.FilterSelector(filter=kept))
    connection.write(place.records, [gone])


def settle(connection: Connection, name: str, points: Sequence[models.Record]) -> None:
    """Say of points that no publish is under way."""
    ids = [each.id for each in points]
    for start in range(0, len(ids), 1000):
        payload: dict[str, Any] = {"state": VISIBLE, "next": None}
        change = models.SetPayload(payload=payload, points=ids[start : start + 1000])
        connection.write_present(name, [models.SetPayloadOperation(set_payload=change)])


def delete_document(connection: Connection, place: Place, document_id: str) -> int:
    """Remove a document: first its record, then all that it named."""
    place, head = place_and_head(connection, place, document_id)
    every = models.Filter(must=[equals("document_id", document_id)])
    visible = 0
    if head is not None:
        visible = connection.count(
            place.home, models.Filter(must=[*_must(every), equals("generation", head.generation)])
        )
        connection.write(place.home, [unsettle([document_id], "deleted")])
        gone = models.DeleteOperation(delete=models.PointIdsList(points=[head_id(document_id)]))
        connection.write(place.records, [gone, changed(f"-{head.document_id}/{head.generation}")], strong=True)
    everything = models.DeleteOperation(delete=models.FilterSelector(filter=every))
    connection.write(place.home, [everything])
    parts = models.Filter(must=[*_must(every), any_of("kind", PARTS)])
    connection.write(place.records, [models.DeleteOperation(delete=models.FilterSelector(filter=parts))])
    return visible


# the steps of a publish


def _staged(
    connection: Connection, place: Place, record: DocumentRecord, generation: str, head: Head | None
) -> tuple[str, list[models.Record]]:
    """Return the points to publish: staged ones, or those that an attempt before this one has armed already."""
    kept = models.Filter(
        must=[equals("document_id", record.id), equals("name", generation)],
        must_not=[equals("generation", head.generation)] if head else None,
    )
    found = list(connection.scroll(place.home, kept, ["generation", "words", "length", "state"]))
    begun = {(each.payload or {})["generation"] for each in found if (each.payload or {})["state"] == STAGED}
    unique = min(begun, default=_unique(head, generation))
    staged = [each for each in found if (each.payload or {})["generation"] == unique]
    if len(staged) != record.chunk_count:
        raise InternalError(
            f"Document '{record.id}' has {len(staged)} staged chunks, not the {record.chunk_count} announced.",
            suggestion=OTHER_WRITER,
        )
    return unique, staged


def _arm(
    connection: Connection, place: Place, document_id: str, generation: str, staged: Sequence[models.Record]
) -> None:
    """Give the new points their sparse vectors, and let searches find them."""
    if not staged:
        return
    if place.lexical == "sparse":
        for start in range(0, len(staged), 256):
            points = [
                models.PointVectors(id=each.id, vector={BM25: sparse_of(each.payload or {}, place)})
                for each in staged[start : start + 256]
            ]
            update = models.UpdateVectors(points=points)
            try:
                connection.write(place.home, [models.UpdateVectorsOperation(update_vectors=update)])
            except NotFoundError as exc:
                raise discarded(document_id, exc.details) from exc
    kept = models.Filter(must=[equals("document_id", document_id), equals("generation", generation)])
    change = models.SetPayload(payload={"state": MOVING, "weights": place.weights}, filter=kept)
    connection.write(place.home, [models.SetPayloadOperation(set_payload=change)])


# small things


def _unique(head: Head | None, generation: str) -> str:
    """Name a coming generation unlike any before it, the same for all that stage it in parts."""
    before = head.generation if head else ""
    return f"{generation[:80]}#{hashlib.sha256(f'{before}/{generation}'.encode()).hexdigest()[:16]}"


def _delete(connection: Connection, name: str, points: Sequence[models.Record]) -> None:
    ids = [each.id for each in points]
    for start in range(0, len(ids), 1000):
        selected = models.PointIdsList(points=ids[start : start + 1000])
        connection.write(name, [models.DeleteOperation(delete=selected)])


def _must(kept: models.Filter) -> list[models.Condition]:
    return kept.must if isinstance(kept.must, list) else []
