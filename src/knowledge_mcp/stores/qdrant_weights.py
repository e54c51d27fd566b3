"""BM25 weights in sparse vectors: Qdrant keeps the inverse document frequencies, but not the mean length.

A weight is made with the mean length of its time, which the collection remembers. When the true mean has moved away
from it by more than the drift that is allowed, all weights are made anew: seldom, since the mean of many chunks moves
slowly, and only after one write in sixteen per document is the true mean looked at.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Sequence
from typing import Any

from qdrant_client import models

from knowledge_mcp.ports import Analyser
from knowledge_mcp.stores.bm25 import term_counts
from knowledge_mcp.stores.payload import chunk_from_json
from knowledge_mcp.stores.qdrant_connection import Connection
from knowledge_mcp.stores.qdrant_heads import heads, place_and_head
from knowledge_mcp.stores.qdrant_layout import BM25, META, Place
from knowledge_mcp.stores.qdrant_points import any_of, defined, equals, live, weighted
from knowledge_mcp.support.events import log_event

__all__ = ["Weights", "index_anew", "unweighed", "weigh"]

_OFTEN = 16
_BATCH = 256
_logger = logging.getLogger(__name__)


class Weights:
    """Watch over the mean length of collections that this process writes to."""

    def __init__(self, drift: float) -> None:
        self._drift = drift
        self._writes: dict[str, int] = {}
        self._documents: dict[str, int] = {}
        self._lock = threading.Lock()

    def after_write(self, connection: Connection, place: Place, documents: int = 1) -> None:
        """Weigh all anew if the mean has drifted, `documents` having been written; looks only now and then."""
        name = place.home
        with self._lock:
            self._writes[name] = self._writes.get(name, 0) + documents
            if self._writes[name] * _OFTEN < self._documents.get(name, 0):
                return
            self._writes[name] = 0
        place, _ = place_and_head(connection, place, "")
        if place.lexical != "sparse":
            return
        found = list(heads(connection, place))
        with self._lock:
            self._documents[name] = len(found)
        chunks = sum(each.chunks for each in found)
        length = sum(each.length for each in found)
        mean = length / chunks if length else 1.0
        if place.mean is None or not chunks:
            return
        if abs(mean / place.mean - 1.0) > self._drift:
            change = models.SetPayload(payload={"mean": mean}, points=[META])
            connection.write(place.records, [models.SetPayloadOperation(set_payload=change)], strong=True)
            place, _ = place_and_head(connection, place, "")
            log_event(
                _logger, logging.INFO, "bm25_weighed_anew", collection=place.name, chunks=weigh(connection, place)
            )


def unweighed(place: Place) -> models.Filter:
    """Keep searchable points whose weights are of another mean or analyser than the collection says."""
    return models.Filter(must=live().must, must_not=[equals("weights", place.weights)])


def weigh(connection: Connection, place: Place) -> int:
    """Give all searchable points the weights of the collection's mean; returns how many had others."""
    if place.lexical != "sparse" or place.mean is None:
        return 0
    done = 0
    points = connection.scroll(place.home, unweighed(place), ["words"])
    for batch in _batches(points):
        vectors = [
            models.PointVectors(id=each.id, vector={BM25: weighted((each.payload or {})["words"].split(), place.mean)})
            for each in batch
        ]
        ids = [each.id for each in batch]
        told = models.SetPayload(payload={"weights": place.weights}, points=ids)
        connection.write_present(
            place.home,
            [
                models.UpdateVectorsOperation(update_vectors=models.UpdateVectors(points=vectors)),
                models.SetPayloadOperation(set_payload=told),
            ],
        )
        done += len(batch)
    return done


def index_anew(connection: Connection, place: Place, analyser: Analyser) -> None:
    """Make words, terms and weights again with a newer analyser than the collection's.

    The collection names the new analyser at the end only, so that a killed run begins again; that it is coming is
    written first, so that an older version stores nothing more by its own.
    """
    coming = models.SetPayload(payload={"coming": analyser.version}, points=[META])
    connection.write(place.records, [models.SetPayloadOperation(set_payload=coming)], strong=True)
    for batch in _batches(connection.scroll(place.home, None, ["chunk"])):
        operations: list[models.UpdateOperation] = []
        for each in batch:
            chunk = chunk_from_json((each.payload or {})["chunk"])
            words = analyser.document_terms(chunk.embedding_text)
            payload: dict[str, Any] = {
                "words": " ".join(words),
                "length": sum(term_counts(words).values()),
                "terms": defined([(one.term, one.aliases) for one in chunk.definitions], analyser) or None,
            }
            change = models.SetPayload(payload=payload, points=[each.id])
            operations.append(models.SetPayloadOperation(set_payload=change))
        connection.write_present(place.home, operations)
    _lengths_anew(connection, place)
    changes: dict[str, Any] = {"analyser": analyser.version}
    found = list(heads(connection, place))
    chunks, length = sum(each.chunks for each in found), sum(each.length for each in found)
    if chunks:
        changes["mean"] = length / chunks if length else 1.0
    told = models.SetPayload(payload=changes, points=[META])
    connection.write(place.records, [models.SetPayloadOperation(set_payload=told)], strong=True)
    fresh, _ = place_and_head(connection, place, "")
    count = weigh(connection, fresh)
    log_event(_logger, logging.INFO, "indexed_anew", collection=place.name, analyser=analyser.version, chunks=count)


def _lengths_anew(connection: Connection, place: Place) -> None:
    """Sum the lengths of each document's chunks again."""
    from knowledge_mcp.stores.qdrant_heads import head_id

    for head in heads(connection, place):
        kept = live(equals("document_id", head.document_id), any_of("generation", [head.generation]))
        points = connection.scroll(place.home, kept, ["length"])
        total = sum((each.payload or {})["length"] for each in points)
        change = models.SetPayload(payload={"length": total}, points=[head_id(head.document_id)])
        connection.write(place.records, [models.SetPayloadOperation(set_payload=change)])


def _batches(points: Iterator[models.Record]) -> Iterator[Sequence[models.Record]]:
    batch: list[models.Record] = []
    for point in points:
        batch.append(point)
        if len(batch) == _BATCH:
            yield batch
            batch = []
    if batch:
        yield batch
