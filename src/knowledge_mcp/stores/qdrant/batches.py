"""Whole documents written to Qdrant many at once: the requests grow with the batches, not with the documents.

The steps are those of `qdrant_swap`, for all documents of a batch in each request; new points are armed as they are
written, so that nothing is staged. One round trip reads the records and one commits them, each on its own condition.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from qdrant_client import models

from knowledge_mcp.model.collection import DocumentRecord, WholeDocument
from knowledge_mcp.ports import Analyser
from knowledge_mcp.stores.qdrant.connection import MOST_BYTES, MOST_POINTS, QdrantConnection
from knowledge_mcp.stores.qdrant.layout import MOVING, STAGED, QdrantCollection
from knowledge_mcp.stores.qdrant.points import any_of, batches, chunk_payload, chunk_point
from knowledge_mcp.stores.qdrant.reading import place_and_heads
from knowledge_mcp.stores.qdrant.writing import (
    RACES,
    Parts,
    discarded,
    parts_of,
    sparse_of,
    swap,
    swap_of,
    unsettle,
    with_mean,
)
from knowledge_mcp.stores.shared.rules import check_announced, check_vectors

__all__ = ["publish_whole"]

MOST_DOCUMENTS = 200
"""Records of one look-up."""


@dataclass(frozen=True, slots=True)
class _Coming:
    """A document ready to be written.

    Attributes:
        document: with its chunks.
        payloads: what the points of its chunks say, but for what each attempt to publish it adds.
        parts: of text and structure.
    """

    document: WholeDocument
    payloads: list[dict[str, Any]]
    parts: Parts

    @property
    def record(self) -> DocumentRecord:
        return self.document.record

    @property
    def size(self) -> int:
        """Estimate what its record, text and structure take in a request."""
        return 2000 + sum(len(piece) for pieces in self.parts.values() for piece in pieces)


def publish_whole(
    connection: QdrantConnection, place: QdrantCollection, analyser: Analyser, documents: Sequence[WholeDocument]
) -> Iterator[list[str]]:
    """Write documents in batches; yields the ids of those that have become visible, as soon as they are.

    Raises:
        InvalidInputError: a vector is of another length; nothing was written.
        InternalError: a document has not the chunks announced, and nothing was written; or another writer was faster
            again and again, and what was not yielded is not visible as it was to be.
    """
    check_vectors((chunk for each in documents for chunk in each.chunks), place.space.dimensions)
    for each in documents:
        check_announced(each)
    for batch in _batches(_coming(each, analyser) for each in documents):
        waiting = batch
        for _ in range(RACES):
            done = _published(connection, place, waiting)
            if done:
                yield [each.record.id for each in waiting if each.record.id in done]
            waiting = [each for each in waiting if each.record.id not in done]
            if not waiting:
                break
        else:
            raise discarded(waiting[0].record.id)


def _coming(document: WholeDocument, analyser: Analyser) -> _Coming:
    payloads = [chunk_payload(each, analyser) for each in document.chunks]
    return _Coming(document, payloads, parts_of(document.text, document.structure))


def _batches(documents: Iterator[_Coming]) -> Iterator[list[_Coming]]:
    """Put documents together whose points, records and parts fit into one request each, each document once."""
    batch: dict[str, _Coming] = {}
    points = size = 0
    for each in documents:
        points, size = points + len(each.payloads), size + each.size
        full = len(batch) >= MOST_DOCUMENTS or points > MOST_POINTS or size > MOST_BYTES
        if batch and (full or each.record.id in batch):
            yield list(batch.values())
            batch, points, size = {}, len(each.payloads), each.size
        batch[each.record.id] = each
    if batch:
        yield list(batch.values())


def _published(connection: QdrantConnection, place: QdrantCollection, coming: Sequence[_Coming]) -> set[str]:
    """Try to publish documents under a generation of their own; returns the ids of those that are visible."""
    ids = [each.record.id for each in coming]
    place, heads = place_and_heads(connection, place, ids)
    place = with_mean(connection, place, [payload for each in coming for payload in each.payloads])
    unsettled = models.Filter(must=[any_of("document_id", ids), any_of("state", [STAGED, MOVING])])
    found = list(connection.scroll(place.home, unsettled, ["document_id", "generation", "state"]))
    generation = secrets.token_hex(16)
    _write_points(connection, place, coming, generation, [each for each in found if _says(each, "state") == STAGED])
    old = {each.document_id: each for each in heads}
    left: dict[str, set[str]] = {}
    for each in found:
        if _says(each, "state") == MOVING:  # of the others no parts were written
            left.setdefault(_says(each, "document_id"), set()).add(_says(each, "generation"))
    swaps = [
        swap_of(
            place, old.get(each.record.id), each.record, each.parts, generation=generation, name=generation,
            payloads=each.payloads, left=left.get(each.record.id, ()),
        )
        for each in coming
    ]  # fmt: skip
    return {each.fresh.document_id for each in swap(connection, place, swaps)}


def _write_points(
    connection: QdrantConnection,
    place: QdrantCollection,
    coming: Sequence[_Coming],
    generation: str,
    staged: Sequence[models.Record],
) -> None:
    """Write the new points, armed; what is staged goes, and what is visible is unsettled before."""
    operations: list[models.UpdateOperation] = [unsettle([each.record.id for each in coming], generation)]
    if staged:
        gone = models.PointIdsList(points=[each.id for each in staged])
        operations.append(models.DeleteOperation(delete=gone))
    for batch in batches(_points(place, coming, generation)):
        operations.append(models.UpsertOperation(upsert=models.PointsList(points=batch)))
        connection.write(place.home, operations)
        operations = []
    connection.write(place.home, operations)


def _points(place: QdrantCollection, coming: Sequence[_Coming], generation: str) -> Iterator[models.PointStruct]:
    sparse = place.lexical == "sparse"
    told = {"home": place.home, "name": generation, "generation": generation, "state": MOVING, "weights": place.weights}
    for each in coming:
        mine = {**told, "document_id": each.record.id}
        for chunk, payload in zip(each.document.chunks, each.payloads, strict=True):
            yield chunk_point(chunk, payload | mine, sparse_of(payload, place) if sparse else None)


def _says(point: models.Record, field: str) -> str:
    return (point.payload or {})[field]
