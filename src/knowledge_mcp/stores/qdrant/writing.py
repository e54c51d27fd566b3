"""Publishes and deletes documents, many in each request.

A publish first writes the new points, marked as moving, then texts and structures, and then the records, each on the
condition that its generation is still the old one: this is the commit. The replaced points are deleted last. A writer
that was overtaken by another starts again.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from qdrant_client import models

from knowledge_mcp.model.collection import DocumentRecord, DocumentStructure, WholeDocument
from knowledge_mcp.model.errors import InternalError, KnowledgeError
from knowledge_mcp.ports import Analyser
from knowledge_mcp.stores.qdrant.connection import MOST_BYTES, MOST_POINTS, QdrantConnection
from knowledge_mcp.stores.qdrant.layout import META, MOVING, VISIBLE, QdrantCollection, update_description
from knowledge_mcp.stores.qdrant.points import all_of, any_of, chunk_payload, chunk_point, equals, requests_of, weighted
from knowledge_mcp.stores.qdrant.reading import (
    PARTS,
    DocumentHead,
    PartKind,
    head_id,
    heads_of,
    part_ids,
    place_and_head,
    place_and_heads,
)
from knowledge_mcp.stores.shared.payload import record_to_json, structure_to_json
from knowledge_mcp.stores.shared.rules import check_documents
from knowledge_mcp.support.batches import batches, grouped
from knowledge_mcp.support.events import log_event

MOST_DOCUMENTS = 200
"""Maximum number of documents per batch, whose records are read in one look-up."""
TEXT_PART = 200_000
"""Characters in one part of a canonical text or structure."""
RACES = 5
"""How often a publish starts again after another writer of the same document was faster."""
OTHER_WRITER = "Run again, and let one program at a time write the same documents."
_logger = logging.getLogger(__name__)

Parts = Mapping[PartKind, Sequence[str]]
"""Canonical text and structure, split into parts that fit into one point."""


@dataclass(frozen=True, slots=True)
class Swap:
    """The replacement of one document's visible generation by a new one.

    Attributes:
        old: its head, read before the points of the old generation were marked as moving; None if there was none.
        fresh: the head that names the new generation.
        parts: of text and structure, as many as `fresh` says.
        left: generations of which an interrupted publish has left points.
    """

    old: DocumentHead | None
    fresh: DocumentHead
    parts: Parts
    left: tuple[str, ...] = ()


def parts_of(text: str, structure: DocumentStructure) -> Parts:
    """Split the text and structure of a document into parts."""
    return {"text": _pieces(text), "structure": _pieces(structure_to_json(structure))}


def _pieces(text: str) -> list[str]:
    return [text[start : start + TEXT_PART] for start in range(0, len(text), TEXT_PART)]


def _swap_of(
    place: QdrantCollection,
    old: DocumentHead | None,
    record: DocumentRecord,
    parts: Parts,
    *,
    generation: str,
    payloads: Sequence[Mapping[str, Any]],
    left: Iterable[str],
) -> Swap:
    """Create the swap of one document; `payloads` are those of its new points."""
    words = sum(len(each["words"].encode()) for each in payloads)
    kept = sum(len(piece.encode()) for pieces in parts.values() for piece in pieces)
    fresh = DocumentHead(
        record.id, generation, len(parts["text"]), record.chunk_count, record.token_count,
        sum(each["length"] for each in payloads), kept + 3 * words + len(payloads) * (4 * place.space.dimensions + 500),
        record_to_json(record, "".join(parts["text"]), "".join(parts["structure"])), len(parts["structure"]),
    )  # fmt: skip
    return Swap(old, fresh, parts, tuple(sorted(left)))


def discarded_error(document_id: str) -> InternalError:
    """Return the error for a publish whose chunks were removed by another writer."""
    return InternalError(
        f"Chunks of document '{document_id}' were discarded by another writer while they were published.",
        suggestion=OTHER_WRITER,
    )


@dataclass(frozen=True, slots=True)
class _PendingDocument:
    """A document that is ready to be written.

    Attributes:
        document: with its chunks.
        payloads: of its chunks' points, without the fields that each attempt to publish adds.
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
        """Estimated size of its record, text and structure in a request."""
        return 2000 + sum(len(piece) for pieces in self.parts.values() for piece in pieces)


def publish(place: QdrantCollection, analyser: Analyser, documents: Sequence[WholeDocument]) -> Iterator[list[str]]:
    """Publish documents in batches whose points, records and parts fit into one request each.

    Yields:
        The ids of documents, as soon as they are visible.

    Raises:
        InvalidInputError: a vector has a wrong length; nothing was written.
        InternalError: a document's number of chunks differs from its record, and nothing was written; or another writer
            was faster `RACES` times, and documents not yielded are not visible in this version.
    """
    check_documents(documents, place.space.dimensions)
    coming = (_coming(each, analyser) for each in documents)
    for batch in grouped(
        coming,
        (MOST_DOCUMENTS, MOST_POINTS, MOST_BYTES),
        lambda each: (1, len(each.payloads), each.size),
        lambda each: each.record.id,
    ):
        waiting = batch
        for _ in range(RACES):
            done = _published(place, waiting)
            if done:
                yield [each.record.id for each in waiting if each.record.id in done]
            waiting = [each for each in waiting if each.record.id not in done]
            if not waiting:
                break
        else:
            raise discarded_error(waiting[0].record.id)


def _coming(document: WholeDocument, analyser: Analyser) -> _PendingDocument:
    payloads = [chunk_payload(each, analyser) for each in document.chunks]
    return _PendingDocument(document, payloads, parts_of(document.text, document.structure))


def _published(place: QdrantCollection, coming: Sequence[_PendingDocument]) -> set[str]:
    """Try to publish documents under one new generation; return the ids of those that became visible."""
    ids = [each.record.id for each in coming]
    place, heads = place_and_heads(place, ids)
    place = with_mean(place, [payload for each in coming for payload in each.payloads])
    unsettled = all_of(any_of("document_id", ids), equals("state", MOVING))
    found = [
        each.payload or {} for each in place.connection.scroll(place.home, unsettled, ["document_id", "generation"])
    ]
    generation = secrets.token_hex(16)
    _write_points(place, coming, generation)
    old = {each.document_id: each for each in heads}
    left: dict[str, set[str]] = {}
    for each in found:
        left.setdefault(each["document_id"], set()).add(each["generation"])
    swaps = [
        _swap_of(
            place, old.get(each.record.id), each.record, each.parts, generation=generation, payloads=each.payloads,
            left=left.get(each.record.id, ()),
        )
        for each in coming
    ]  # fmt: skip
    return {each.fresh.document_id for each in swap(place, swaps)}


def _write_points(place: QdrantCollection, coming: Sequence[_PendingDocument], generation: str) -> None:
    """Write the new points, after marking the visible ones as moving."""
    operations: list[models.UpdateOperation] = [unsettle([each.record.id for each in coming], generation)]
    for batch in requests_of(_points(place, coming, generation)):
        operations.append(models.UpsertOperation(upsert=models.PointsList(points=batch)))
        place.connection.write(place.home, operations)
        operations = []
    place.connection.write(place.home, operations)


def _points(
    place: QdrantCollection, coming: Sequence[_PendingDocument], generation: str
) -> Iterator[models.PointStruct]:
    common = {"home": place.home, "generation": generation, "state": MOVING, "weights": place.weights}
    for each in coming:
        mine = {**common, "document_id": each.record.id}
        for chunk, payload in zip(each.document.chunks, each.payloads, strict=True):
            yield chunk_point(chunk, payload | mine, weighted(payload["words"].split(), place.mean or 1.0))


# before the commit


def with_mean(place: QdrantCollection, payloads: Sequence[Mapping[str, Any]]) -> QdrantCollection:
    """Set the mean length at the first publish into a collection."""
    if place.mean is not None or not payloads:
        return place
    total = sum(each["length"] for each in payloads)
    update_description(place.connection, place.home, {"mean": total / len(payloads) if total else 1.0})
    return place_and_head(place, "")[0]


def unsettle(document_ids: Sequence[str], coming: str) -> models.UpdateOperation:
    """Mark the points that `coming` replaces as moving, so that readers check the records; only these are swept later.

    The mark also stops a slower publish from settling these points.
    """
    kept = models.Filter(must=[any_of("document_id", document_ids)], must_not=[equals("generation", coming)])
    return models.SetPayloadOperation(
        set_payload=models.SetPayload(payload={"state": MOVING, "next": coming}, filter=kept)
    )


# the commit


def swap(place: QdrantCollection, swaps: Sequence[Swap]) -> list[Swap]:
    """Make new generations visible whose points were written; return those that are visible and complete.

    The others were overtaken by another writer; publishing them means starting again.
    """
    _write_parts(place, swaps)
    armed = _whole(place, swaps)
    named = _commit(place, armed)
    done = _whole(place, named)
    kept = set(_ids(named))
    gone = [each.old for each in armed if each.old is not None]  # in any case their records name other generations now
    gone += [each.fresh for each in swaps if each.fresh.document_id not in kept]
    _sweep(place, done, gone)
    return done


def _write_parts(place: QdrantCollection, swaps: Sequence[Swap]) -> None:
    """Write texts and structures, under the generation that the record will name."""
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
    for batch in requests_of(points):
        upsert = models.UpsertOperation(upsert=models.PointsList(points=batch))
        place.connection.write(place.records, [upsert])


def _whole(place: QdrantCollection, swaps: Sequence[Swap]) -> list[Swap]:
    """Keep the swaps whose new points are all present, so were not swept by another writer."""
    if not swaps or _counted(place, swaps) == sum(each.fresh.chunks for each in swaps):
        return list(swaps)
    return [each for each in swaps if _counted(place, [each]) == each.fresh.chunks]


def _counted(place: QdrantCollection, swaps: Sequence[Swap]) -> int:
    kept = all_of(any_of("document_id", _ids(swaps)), any_of("generation", _generations(swaps)))
    return place.connection.count(place.home, kept)


def _ids(swaps: Sequence[Swap]) -> list[str]:
    return [each.fresh.document_id for each in swaps]


def _generations(swaps: Sequence[Swap]) -> list[str]:
    return sorted({each.fresh.generation for each in swaps})


def _commit(place: QdrantCollection, swaps: Sequence[Swap]) -> list[Swap]:
    """Let each record name its new generation if it still names the old one; return the swaps that succeeded."""
    if not swaps:
        return []
    by_old: dict[str, list[models.PointStruct]] = {}
    for each in swaps:
        still = each.old.generation if each.old else each.fresh.generation
        by_old.setdefault(still, []).append(_head_point(each.fresh))
    operations: list[models.UpdateOperation] = [
        models.UpsertOperation(
            upsert=models.PointsList(points=points, update_filter=all_of(equals("generation", still)))
        )
        for still, points in by_old.items()
    ]
    token = "/".join([swaps[0].fresh.document_id, *_generations(swaps)])
    place.connection.write(place.records, [*operations, changed(token)], in_turn=True)
    now = {each.document_id: each.generation for each in heads_of(place, _ids(swaps))}
    return [each for each in swaps if now.get(each.fresh.document_id) == each.fresh.generation]


def _head_point(fresh: DocumentHead) -> models.PointStruct:
    return models.PointStruct(id=head_id(fresh.document_id), payload={"kind": "document", **asdict(fresh)}, vector={})


def changed(token: str) -> models.SetPayloadOperation:
    """Change the collection's `changed` mark, so that cached totals and records become stale."""
    value = f"{token} {secrets.token_hex(8)}"  # the same generation may come again after a delete
    return models.SetPayloadOperation(set_payload=models.SetPayload(payload={"changed": value}, points=[META]))


# after the commit


def _sweep(place: QdrantCollection, done: Sequence[Swap], gone: Sequence[DocumentHead]) -> None:
    """Delete what the published generations have replaced; if this fails, the next writer does it.

    Parts are deleted first: as long as a document's points are not settled, the next writer knows that something is
    left.

    Args:
        place: the collection.
        done: the swaps that succeeded.
        gone: heads that no record names any more, of these documents and of those that were not published.
    """
    try:
        place.connection.write(place.records, _without_parts(gone, [each for each in done if each.left]))
        place.connection.write(place.home, _settled(done) if done else [])
    except KnowledgeError as exc:
        log_event(_logger, logging.WARNING, "publish_not_swept", document_id=", ".join(_ids(done)), reason=exc.message)


def _without_parts(gone: Sequence[DocumentHead], behind: Sequence[Swap]) -> list[models.UpdateOperation]:
    """Return the deletions of the parts of some generations, and of the remains of interrupted publishes."""
    operations: list[models.UpdateOperation] = []
    ids: list[models.ExtendedPointId] = [each for head in gone for kind in PARTS for each in part_ids(head, kind)]
    if ids:
        operations.append(models.DeleteOperation(delete=models.PointIdsList(points=ids)))
    if behind:
        left = sorted({generation for each in behind for generation in each.left})
        kept = all_of(any_of("kind", PARTS), any_of("document_id", _ids(behind)), any_of("generation", left))
        operations.append(models.DeleteOperation(delete=models.FilterSelector(filter=kept)))
    return operations


def _settled(done: Sequence[Swap]) -> list[models.UpdateOperation]:
    """Return the deletion of the replaced points, and the settling of new points that no other publish claims."""
    mine, coming = any_of("document_id", _ids(done)), _generations(done)
    overtaken = all_of(mine, any_of("next", coming))
    unclaimed = all_of(
        mine, any_of("generation", coming), models.IsEmptyCondition(is_empty=models.PayloadField(key="next"))
    )
    settled = models.SetPayload(payload={"state": VISIBLE}, filter=unclaimed)
    return [
        models.DeleteOperation(delete=models.FilterSelector(filter=overtaken)),
        models.SetPayloadOperation(set_payload=settled),
    ]


def settle(connection: QdrantConnection, name: str, points: Sequence[models.Record]) -> None:
    """Mark points as settled: no publish is in progress."""
    for some in batches([each.id for each in points], 1000):
        change = models.SetPayload(payload={"state": VISIBLE, "next": None}, points=some)
        connection.write_present(name, [models.SetPayloadOperation(set_payload=change)])


def delete_document(place: QdrantCollection, document_id: str) -> int:
    """Delete a document: first its record, then everything that it named; return the number of visible chunks."""
    place, head = place_and_head(place, document_id)
    mine = equals("document_id", document_id)
    visible = 0
    if head is not None:
        visible = place.connection.count(place.home, all_of(mine, equals("generation", head.generation)))
        place.connection.write(place.home, [unsettle([document_id], "deleted")])
        gone = models.DeleteOperation(delete=models.PointIdsList(points=[head_id(document_id)]))
        place.connection.write(place.records, [gone, changed(f"-{head.document_id}/{head.generation}")], in_turn=True)
    chunks, parts = all_of(mine), all_of(mine, any_of("kind", PARTS))
    place.connection.write(place.home, [models.DeleteOperation(delete=models.FilterSelector(filter=chunks))])
    place.connection.write(place.records, [models.DeleteOperation(delete=models.FilterSelector(filter=parts))])
    return visible
