"""Staging, publishing what is staged, and deleting; `qdrant_swap` tells the steps of a publish."""

from __future__ import annotations

import hashlib
import logging
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from qdrant_client import models

from knowledge_mcp.model.chunk import EmbeddedChunk
from knowledge_mcp.model.collection import DocumentRecord, DocumentStructure
from knowledge_mcp.model.errors import InternalError, KnowledgeError, NotFoundError
from knowledge_mcp.ports import Analyser
from knowledge_mcp.stores.qdrant.connection import QdrantConnection
from knowledge_mcp.stores.qdrant.layout import BM25, LIVE, META, MOVING, STAGED, VISIBLE, QdrantCollection
from knowledge_mcp.stores.qdrant.points import any_of, batches, equals, live, staged_point, weighted
from knowledge_mcp.stores.qdrant.reading import (
    PARTS,
    DocumentHead,
    Judge,
    PartKind,
    head_id,
    heads_of,
    part_ids,
    place_and_head,
)
from knowledge_mcp.stores.shared.payload import record_to_json, structure_to_json
from knowledge_mcp.support.events import log_event

__all__ = [
    "OTHER_WRITER",
    "RACES",
    "Parts",
    "Swap",
    "changed",
    "delete_document",
    "discard_staged",
    "discarded",
    "parts_of",
    "publish",
    "settle",
    "sparse_of",
    "stage",
    "swap",
    "swap_of",
    "unsettle",
    "with_mean",
]

TEXT_PART = 200_000
"""Code points of one part of a canonical text, or of sections and pages."""
RACES = 5
"""How often a publish begins again because another one of the same document was faster."""
OTHER_WRITER = "Run again, and let one program at a time write the same documents."
_logger = logging.getLogger(__name__)

Parts = Mapping[PartKind, Sequence[str]]
"""Canonical text, and sections and pages, cut into what one point holds."""


@dataclass(frozen=True, slots=True)
class Swap:
    """One document whose new generation is to take the place of what there is.

    Attributes:
        old: its record as it was read before the points of the old generation were unsettled; None where it had none.
        fresh: the record that names the new generation.
        parts: of text and structure, as many as `fresh` says.
        left: generations of which an earlier publish that was not finished has left something.
    """

    old: DocumentHead | None
    fresh: DocumentHead
    parts: Parts
    left: tuple[str, ...] = ()


def parts_of(text: str, structure: DocumentStructure) -> Parts:
    """Cut what is kept beside the record of a document."""
    return {"text": _pieces(text), "structure": _pieces(structure_to_json(structure))}


def _pieces(text: str) -> list[str]:
    return [text[start : start + TEXT_PART] for start in range(0, len(text), TEXT_PART)]


def swap_of(
    place: QdrantCollection,
    old: DocumentHead | None,
    record: DocumentRecord,
    parts: Parts,
    *,
    generation: str,
    name: str,
    payloads: Sequence[Mapping[str, Any]],
    left: Iterable[str] = (),
) -> Swap:
    """Describe the swap of one document; `payloads` are those of its new points."""
    words = sum(len(each["words"].encode()) for each in payloads)
    kept = sum(len(piece.encode()) for pieces in parts.values() for piece in pieces)
    fresh = DocumentHead(
        record.id, generation, name, len(parts["text"]), record.chunk_count, record.token_count,
        sum(each["length"] for each in payloads), kept + 3 * words + len(payloads) * (4 * place.space.dimensions + 500),
        record_to_json(record, "".join(parts["text"]), "".join(parts["structure"])), len(parts["structure"]),
    )  # fmt: skip
    return Swap(old, fresh, parts, tuple(sorted(left)))


def discarded(document_id: str, details: str = "") -> InternalError:
    """Say that another writer has discarded what was being published."""
    return InternalError(
        f"Chunks of document '{document_id}' were discarded by another writer while they were published.",
        details=details,
        suggestion=OTHER_WRITER,
    )


# before the commit


def with_mean(
    connection: QdrantConnection, place: QdrantCollection, payloads: Sequence[Mapping[str, Any]]
) -> QdrantCollection:
    """Fix the mean length at the first publish into a collection."""
    if place.mean is not None or not payloads:
        return place
    total = sum(each["length"] for each in payloads)
    change = models.SetPayload(payload={"mean": total / len(payloads) if total else 1.0}, points=[META])
    connection.write(place.records, [models.SetPayloadOperation(set_payload=change)], strong=True)
    return place_and_head(connection, place, "")[0]


def sparse_of(payload: Mapping[str, Any], place: QdrantCollection) -> models.SparseVector:
    """Weigh the words of a point as the collection does at present."""
    return weighted(payload["words"].split(), place.mean or 1.0)


def unsettle(document_ids: Sequence[str], coming: str) -> models.UpdateOperation:
    """Make readers ask the records, and mark what `coming` takes the place of: only this is swept in the end.

    The mark also keeps a slower publish from settling these points after all.
    """
    kept = models.Filter(
        must=[any_of("document_id", document_ids), any_of("state", LIVE)], must_not=[equals("generation", coming)]
    )
    return models.SetPayloadOperation(
        set_payload=models.SetPayload(payload={"state": MOVING, "next": coming}, filter=kept)
    )


# the commit, and what is about it


def swap(connection: QdrantConnection, place: QdrantCollection, swaps: Sequence[Swap]) -> list[Swap]:
    """Make new generations visible whose points are armed; returns those that are, whole.

    The others were overtaken by another writer: to publish them after all is to begin again.
    """
    _write_parts(connection, place, swaps)
    armed = _whole(connection, place, swaps)
    named = _commit(connection, place, armed)
    done = _whole(connection, place, named)
    kept = set(_ids(named))
    gone = [each.old for each in armed if each.old is not None]  # their records name other generations, in any case
    gone += [each.fresh for each in swaps if each.fresh.document_id not in kept]
    _sweep(connection, place, done, gone)
    return done


def _write_parts(connection: QdrantConnection, place: QdrantCollection, swaps: Sequence[Swap]) -> None:
    """Write what is not chunks and does not fit into a record, under the generation that the record will name."""
    points = (
        models.PointStruct(
            id=each,
            payload={"kind": kind, "document_id": fresh.document_id, "generation": fresh.generation, kind: piece},
            vector={},
        )
        for fresh, parts in ((each.fresh, each.parts) for each in swaps)
        for kind in PARTS
        for each, piece in zip(part_ids(fresh, kind), parts[kind], strict=True)
    )
    for batch in batches(points):
        upsert = models.UpsertOperation(upsert=models.PointsList(points=batch))
        connection.write(place.records, [upsert])


def _whole(connection: QdrantConnection, place: QdrantCollection, swaps: Sequence[Swap]) -> list[Swap]:
    """Keep those of which all new points are there: nobody has swept them away."""
    if not swaps or _counted(connection, place, swaps) == sum(each.fresh.chunks for each in swaps):
        return list(swaps)
    return [each for each in swaps if _counted(connection, place, [each]) == each.fresh.chunks]


def _counted(connection: QdrantConnection, place: QdrantCollection, swaps: Sequence[Swap]) -> int:
    kept = live(any_of("document_id", _ids(swaps)), any_of("generation", _generations(swaps)))
    return connection.count(place.home, kept)


def _ids(swaps: Sequence[Swap]) -> list[str]:
    return [each.fresh.document_id for each in swaps]


def _generations(swaps: Sequence[Swap]) -> list[str]:
    return sorted({each.fresh.generation for each in swaps})


def _commit(connection: QdrantConnection, place: QdrantCollection, swaps: Sequence[Swap]) -> list[Swap]:
    """Let each record name its new generation, if it still names the old one; returns those that do."""
    if not swaps:
        return []
    by_old: dict[str, list[models.PointStruct]] = {}
    for each in swaps:
        still = each.old.generation if each.old else each.fresh.generation
        by_old.setdefault(still, []).append(_head_point(each.fresh))
    operations: list[models.UpdateOperation] = [
        models.UpsertOperation(
            upsert=models.PointsList(points=points, update_filter=models.Filter(must=[equals("generation", still)]))
        )
        for still, points in by_old.items()
    ]
    token = "/".join([swaps[0].fresh.document_id, *_generations(swaps)])
    connection.write(place.records, [*operations, changed(token)], strong=True)
    now = {each.document_id: each.generation for each in heads_of(connection, place, _ids(swaps))}
    return [each for each in swaps if now.get(each.fresh.document_id) == each.fresh.generation]


def _head_point(fresh: DocumentHead) -> models.PointStruct:
    payload = {
        "kind": "document", "document_id": fresh.document_id, "generation": fresh.generation, "name": fresh.name,
        "parts": fresh.parts, "chunks": fresh.chunks, "tokens": fresh.tokens, "length": fresh.length,
        "size": fresh.size, "record": fresh.record, "shapes": fresh.shapes,
    }  # fmt: skip
    return models.PointStruct(id=head_id(fresh.document_id), payload=payload, vector={})


def changed(token: str) -> models.SetPayloadOperation:
    """Tell whoever keeps totals or records of the collection that they are out of date."""
    value = f"{token} {secrets.token_hex(8)}"  # the same generation may come again after it has gone
    return models.SetPayloadOperation(set_payload=models.SetPayload(payload={"changed": value}, points=[META]))


# after it


def _sweep(
    connection: QdrantConnection, place: QdrantCollection, done: Sequence[Swap], gone: Sequence[DocumentHead]
) -> None:
    """Remove what the published generations took the place of; if this fails, whoever writes next does it.

    Parts go first: as long as a document's points are not settled, whoever writes next knows that there is more.

    Args:
        gone: what no record names any more, of these documents and of those that were not published.
    """
    try:
        connection.write(place.records, _without_parts(gone, [each for each in done if each.left]))
        connection.write(place.home, _settled(done) if done else [])
    except KnowledgeError as exc:
        log_event(_logger, logging.WARNING, "publish_not_swept", document_id=", ".join(_ids(done)), reason=exc.message)


def _without_parts(gone: Sequence[DocumentHead], behind: Sequence[Swap]) -> list[models.UpdateOperation]:
    """Remove parts of some generations, and what killed publishes of some documents have left."""
    operations: list[models.UpdateOperation] = []
    ids: list[models.ExtendedPointId] = [each for head in gone for kind in PARTS for each in part_ids(head, kind)]
    if ids:
        operations.append(models.DeleteOperation(delete=models.PointIdsList(points=ids)))
    if behind:
        left = sorted({generation for each in behind for generation in each.left})
        kept = models.Filter(
            must=[any_of("kind", PARTS), any_of("document_id", _ids(behind)), any_of("generation", left)]
        )
        operations.append(models.DeleteOperation(delete=models.FilterSelector(filter=kept)))
    return operations


def _settled(done: Sequence[Swap]) -> list[models.UpdateOperation]:
    """Remove the points that these generations took the place of; of theirs, no publish is under way any more."""
    mine, coming = any_of("document_id", _ids(done)), _generations(done)
    overtaken = models.Filter(must=[mine, any_of("state", LIVE), any_of("next", coming)])
    unclaimed = models.Filter(
        must=[
            mine,
            any_of("generation", coming),
            models.IsEmptyCondition(is_empty=models.PayloadField(key="next")),
        ]
    )
    settled = models.SetPayload(payload={"state": VISIBLE}, filter=unclaimed)
    return [
        models.DeleteOperation(delete=models.FilterSelector(filter=overtaken)),
        models.SetPayloadOperation(set_payload=settled),
    ]


def stage(
    connection: QdrantConnection,
    place: QdrantCollection,
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
    connection: QdrantConnection,
    place: QdrantCollection,
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


def discard_staged(connection: QdrantConnection, place: QdrantCollection, document_id: str | None) -> int:
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


def _drop_parts_left(
    connection: QdrantConnection, place: QdrantCollection, document_id: str, generations: Iterable[str]
) -> None:
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


def settle(connection: QdrantConnection, name: str, points: Sequence[models.Record]) -> None:
    """Say of points that no publish is under way."""
    ids = [each.id for each in points]
    for start in range(0, len(ids), 1000):
        payload: dict[str, Any] = {"state": VISIBLE, "next": None}
        change = models.SetPayload(payload=payload, points=ids[start : start + 1000])
        connection.write_present(name, [models.SetPayloadOperation(set_payload=change)])


def delete_document(connection: QdrantConnection, place: QdrantCollection, document_id: str) -> int:
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
    connection: QdrantConnection,
    place: QdrantCollection,
    record: DocumentRecord,
    generation: str,
    head: DocumentHead | None,
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
    connection: QdrantConnection,
    place: QdrantCollection,
    document_id: str,
    generation: str,
    staged: Sequence[models.Record],
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


def _unique(head: DocumentHead | None, generation: str) -> str:
    """Name a coming generation unlike any before it, the same for all that stage it in parts."""
    before = head.generation if head else ""
    return f"{generation[:80]}#{hashlib.sha256(f'{before}/{generation}'.encode()).hexdigest()[:16]}"


def _delete(connection: QdrantConnection, name: str, points: Sequence[models.Record]) -> None:
    ids = [each.id for each in points]
    for start in range(0, len(ids), 1000):
        selected = models.PointIdsList(points=ids[start : start + 1000])
        connection.write(name, [models.DeleteOperation(delete=selected)])


def _must(kept: models.Filter) -> list[models.Condition]:
    return kept.must if isinstance(kept.must, list) else []
