"""Staging, publishing and deleting: several requests, of which one, the document's record, makes the change true.

```text
publish   unsettle   the old generation's points say `moving`: from here on readers ask the record
          arm        the new generation's points get their sparse vector and say `moving`: searchable, not visible
          commit     the record names the new generation (only if it still names the one that was unsettled)
          sweep      the old generation goes, the new one says `visible`: readers need not ask any more
```

A kill anywhere leaves the old or the new generation whole; what is left over is swept by the next publish of the
document, by `discard_staged`, or by `verify` with repair.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping, Sequence
from typing import Any

from qdrant_client import models

from knowledge_mcp.model.chunk import EmbeddedChunk
from knowledge_mcp.model.collection import DocumentRecord
from knowledge_mcp.model.errors import InternalError, KnowledgeError, NotFoundError
from knowledge_mcp.model.structure import DocumentStructure
from knowledge_mcp.ports import Analyser
from knowledge_mcp.stores.payload import record_to_json, structure_to_json
from knowledge_mcp.stores.qdrant_connection import Connection
from knowledge_mcp.stores.qdrant_heads import PARTS, Head, Judge, head_id, part_ids, place_and_head
from knowledge_mcp.stores.qdrant_layout import BM25, LIVE, META, MOVING, STAGED, VISIBLE, Place
from knowledge_mcp.stores.qdrant_points import any_of, batches, equals, live, staged_point, weighted
from knowledge_mcp.support.events import log_event

__all__ = ["delete_document", "discard_staged", "publish", "settle", "stage"]

TEXT_PART = 200_000
"""Code points of one part of a canonical text, or of sections and pages."""
_RACES = 5
"""How often a publish begins again because another one of the same document was faster."""
_OTHER_WRITER = "Run again, and let one program at a time write the same documents."
_logger = logging.getLogger(__name__)


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
    parts = {"text": _pieces(text), "structure": _pieces(structure_to_json(structure))}
    for _ in range(_RACES):
        place, head = place_and_head(connection, place, record.id)
        unique, staged = _staged(connection, place, record, generation, head)
        place = _with_mean(connection, place, staged)
        _unsettle(connection, place, record.id, unique)
        _arm(connection, place, record.id, unique, staged)
        totals = [each.payload or {} for each in staged]
        fresh = Head(
            record.id, unique, generation, len(parts["text"]), record.chunk_count, record.token_count,
            sum(each["length"] for each in totals), _size(place, totals, parts), record_to_json(record),
            len(parts["structure"]),
        )  # fmt: skip
        _write_parts(connection, place, fresh, parts)
        if _counted(connection, place, fresh):
            committed = _commit(connection, place, head, fresh)
            if committed and _counted(connection, place, fresh):
                _sweep(connection, place, head, fresh)
                return
            if head is not None:  # another publish has taken its place, before or after this one did
                _drop_parts(connection, place, head)
            if committed:
                break
        _drop_parts(connection, place, fresh)
    raise InternalError(
        f"Chunks of document '{record.id}' were discarded by another writer while they were published.",
        suggestion=_OTHER_WRITER,
    )


def discard_staged(connection: Connection, place: Place, document_id: str | None) -> int:
    """Drop staged points, and those that a killed publish or delete has left; settle what is visible."""
    mine = [] if document_id is None else [equals("document_id", document_id)]
    unsettled = models.Filter(must=[*mine, any_of("state", [STAGED, MOVING])])  # not `must_not`: an index finds these
    found = list(connection.scroll(place.home, unsettled, ["document_id", "chunk_id", "generation", "state"]))
    staged = [each for each in found if (each.payload or {})["state"] == STAGED]
    _delete(connection, place.home, staged)
    if found and document_id is not None:
        _drop_parts_left(connection, place, document_id)
    moving = [each for each in found if (each.payload or {})["state"] == MOVING]
    if not moving:
        return len(staged)
    current = Judge(connection, place).keep(moving)
    known = {each.id for each in current}
    _delete(connection, place.home, [each for each in moving if each.id not in known])
    settle(connection, place.home, current)
    return len(staged)


def _drop_parts_left(connection: Connection, place: Place, document_id: str) -> None:
    """Drop parts of texts and structures that a killed publish of the document has left."""
    _, head = place_and_head(connection, place, document_id)
    kept = models.Filter(
        must=[any_of("kind", PARTS), equals("document_id", document_id)],
        must_not=[equals("generation", head.generation)] if head else None,
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
        _unsettle(connection, place, document_id, "deleted")
        gone = models.DeleteOperation(delete=models.PointIdsList(points=[head_id(document_id)]))
        connection.write(place.records, [gone, _changed(f"-{head.document_id}/{head.generation}")], strong=True)
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
            suggestion=_OTHER_WRITER,
        )
    return unique, staged


def _with_mean(connection: Connection, place: Place, staged: Sequence[models.Record]) -> Place:
    """Fix the mean length at the first publish of a collection."""
    if place.mean is not None or not staged:
        return place
    total = sum((each.payload or {})["length"] for each in staged)
    change = models.SetPayload(payload={"mean": total / len(staged) if total else 1.0}, points=[META])
    connection.write(place.records, [models.SetPayloadOperation(set_payload=change)], strong=True)
    return place_and_head(connection, place, "")[0]


def _unsettle(connection: Connection, place: Place, document_id: str, coming: str) -> None:
    """Make readers ask the record, and mark what `coming` takes the place of: only this is swept in the end.

    The mark also keeps a slower publish from settling these points after all.
    """
    kept = models.Filter(
        must=[equals("document_id", document_id), any_of("state", LIVE)], must_not=[equals("generation", coming)]
    )
    change = models.SetPayload(payload={"state": MOVING, "next": coming}, filter=kept)
    connection.write(place.home, [models.SetPayloadOperation(set_payload=change)])


def _arm(
    connection: Connection, place: Place, document_id: str, generation: str, staged: Sequence[models.Record]
) -> None:
    """Give the new points their sparse vectors, and let searches find them."""
    if not staged:
        return
    if place.lexical == "sparse":
        for start in range(0, len(staged), 256):
            points = [
                models.PointVectors(id=each.id, vector={BM25: _weights(each.payload or {}, place)})
                for each in staged[start : start + 256]
            ]
            update = models.UpdateVectors(points=points)
            try:
                connection.write(place.home, [models.UpdateVectorsOperation(update_vectors=update)])
            except NotFoundError as exc:
                raise InternalError(
                    f"Chunks of document '{document_id}' were discarded by another writer while they were published.",
                    details=exc.details,
                    suggestion=_OTHER_WRITER,
                ) from exc
    kept = models.Filter(must=[equals("document_id", document_id), equals("generation", generation)])
    change = models.SetPayload(payload={"state": MOVING, "weights": place.weights}, filter=kept)
    connection.write(place.home, [models.SetPayloadOperation(set_payload=change)])


def _weights(payload: Mapping[str, Any], place: Place) -> models.SparseVector:
    return weighted(payload["words"].split(), place.mean or 1.0)


def _pieces(text: str) -> list[str]:
    return [text[start : start + TEXT_PART] for start in range(0, len(text), TEXT_PART)]


def _write_parts(connection: Connection, place: Place, head: Head, parts: Mapping[str, Sequence[str]]) -> None:
    """Write what is not chunks and does not fit into the record, under the generation that the record will name."""
    points = [
        models.PointStruct(
            id=each,
            payload={"kind": kind, "document_id": head.document_id, "generation": head.generation, kind: piece},
            vector={},
        )
        for kind in PARTS
        for each, piece in zip(part_ids(head, kind), parts[kind], strict=True)
    ]
    for batch in batches(points):
        upsert = models.UpsertOperation(upsert=models.PointsList(points=batch))
        connection.write(place.records, [upsert])


def _counted(connection: Connection, place: Place, fresh: Head) -> bool:
    """Tell whether all new points are there: nobody has swept them away."""
    kept = live(equals("document_id", fresh.document_id), equals("generation", fresh.generation))
    return connection.count(place.home, kept) == fresh.chunks


def _drop_parts(connection: Connection, place: Place, head: Head) -> None:
    ids: list[models.ExtendedPointId] = [each for kind in PARTS for each in part_ids(head, kind)]
    if ids:
        gone = models.DeleteOperation(delete=models.PointIdsList(points=ids))
        connection.write(place.records, [gone])


def _commit(connection: Connection, place: Place, old: Head | None, fresh: Head) -> bool:
    """Let the record name the new generation, if it still names the old one; tell whether it does."""
    payload = {
        "kind": "document", "document_id": fresh.document_id, "generation": fresh.generation, "name": fresh.name,
        "parts": fresh.parts, "chunks": fresh.chunks, "tokens": fresh.tokens, "length": fresh.length,
        "size": fresh.size, "record": fresh.record, "shapes": fresh.shapes,
    }  # fmt: skip
    point = models.PointStruct(id=head_id(fresh.document_id), payload=payload, vector={})
    still = equals("generation", old.generation if old else fresh.generation)
    points = models.PointsList(points=[point], update_filter=models.Filter(must=[still]))
    connection.write(place.records, [models.UpsertOperation(upsert=points)], strong=True)
    _, now = place_and_head(connection, place, fresh.document_id)
    return now is not None and now.generation == fresh.generation


def _sweep(connection: Connection, place: Place, old: Head | None, fresh: Head) -> None:
    """Remove what the published generation took the place of; if this fails, whoever writes next does it."""
    mine = equals("document_id", fresh.document_id)
    overtaken = models.Filter(must=[mine, any_of("state", LIVE), equals("next", fresh.generation)])
    unclaimed = models.Filter(
        must=[
            mine,
            equals("generation", fresh.generation),
            models.IsEmptyCondition(is_empty=models.PayloadField(key="next")),
        ]
    )
    settled = models.SetPayload(payload={"state": VISIBLE}, filter=unclaimed)
    try:
        connection.write(
            place.home,
            [
                models.DeleteOperation(delete=models.FilterSelector(filter=overtaken)),
                models.SetPayloadOperation(set_payload=settled),
            ],
        )
        connection.write(place.records, [_changed(f"{fresh.document_id}/{fresh.generation}")])
        if old is not None:
            _drop_parts(connection, place, old)
    except KnowledgeError as exc:
        log_event(_logger, logging.WARNING, "publish_not_swept", document_id=fresh.document_id, reason=exc.message)


def _changed(token: str) -> models.SetPayloadOperation:
    """Tell whoever keeps totals of the collection that they are out of date."""
    return models.SetPayloadOperation(set_payload=models.SetPayload(payload={"changed": token}, points=[META]))


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


def _size(place: Place, totals: Sequence[Mapping[str, Any]], parts: Mapping[str, Sequence[str]]) -> int:
    words = sum(len(each["words"].encode()) for each in totals)
    kept = sum(len(piece.encode()) for pieces in parts.values() for piece in pieces)
    return kept + 3 * words + len(totals) * (4 * place.space.dimensions + 500)
