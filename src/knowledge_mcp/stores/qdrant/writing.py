"""How documents are published and deleted: many in each request, which grow with the batches.

A publish writes the new points first, marked as on their way, then texts and structures, and then the records, each on
its own condition: this is the commit. What it took the place of goes last, and who is overtaken begins again.
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
from knowledge_mcp.stores.qdrant.layout import META, MOVING, VISIBLE, QdrantCollection, tell
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
"""Records of one look-up."""
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


def _swap_of(
    place: QdrantCollection,
    old: DocumentHead | None,
    record: DocumentRecord,
    parts: Parts,
    *,
    generation: str,
    payloads: Sequence[Mapping[str, Any]],
    left: Iterable[str] = (),
) -> Swap:
    """Describe the swap of one document; `payloads` are those of its new points."""
    words = sum(len(each["words"].encode()) for each in payloads)
    kept = sum(len(piece.encode()) for pieces in parts.values() for piece in pieces)
    fresh = DocumentHead(
        record.id, generation, len(parts["text"]), record.chunk_count, record.token_count,
        sum(each["length"] for each in payloads), kept + 3 * words + len(payloads) * (4 * place.space.dimensions + 500),
        record_to_json(record, "".join(parts["text"]), "".join(parts["structure"])), len(parts["structure"]),
    )  # fmt: skip
    return Swap(old, fresh, parts, tuple(sorted(left)))


def discarded_error(document_id: str) -> InternalError:
    """Say that another writer has discarded what was being published."""
    return InternalError(
        f"Chunks of document '{document_id}' were discarded by another writer while they were published.",
        suggestion=OTHER_WRITER,
    )


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


def publish(
    connection: QdrantConnection, place: QdrantCollection, analyser: Analyser, documents: Sequence[WholeDocument]
) -> Iterator[list[str]]:
    """Write documents together whose points, records and parts fit into one request each, each document once.

    Yields the ids of those that have become visible, as soon as they are.

    Raises:
        InvalidInputError: a vector is of another length; nothing was written.
        InternalError: a document has not the chunks announced, and nothing was written; or another writer was faster
            again and again, and what was not yielded is not visible as it was to be.
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
            done = _published(connection, place, waiting)
            if done:
                yield [each.record.id for each in waiting if each.record.id in done]
            waiting = [each for each in waiting if each.record.id not in done]
            if not waiting:
                break
        else:
            raise discarded_error(waiting[0].record.id)


def _coming(document: WholeDocument, analyser: Analyser) -> _Coming:
    payloads = [chunk_payload(each, analyser) for each in document.chunks]
    return _Coming(document, payloads, parts_of(document.text, document.structure))


def _published(connection: QdrantConnection, place: QdrantCollection, coming: Sequence[_Coming]) -> set[str]:
    """Try to publish documents under a generation of their own; returns the ids of those that are visible."""
    ids = [each.record.id for each in coming]
    place, heads = place_and_heads(connection, place, ids)
    place = with_mean(connection, place, [payload for each in coming for payload in each.payloads])
    unsettled = all_of(any_of("document_id", ids), equals("state", MOVING))
    found = [each.payload or {} for each in connection.scroll(place.home, unsettled, ["document_id", "generation"])]
    generation = secrets.token_hex(16)
    _write_points(connection, place, coming, generation)
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
    return {each.fresh.document_id for each in swap(connection, place, swaps)}


def _write_points(
    connection: QdrantConnection, place: QdrantCollection, coming: Sequence[_Coming], generation: str
) -> None:
    """Write the new points; what is visible is unsettled before."""
    operations: list[models.UpdateOperation] = [unsettle([each.record.id for each in coming], generation)]
    for batch in requests_of(_points(place, coming, generation)):
        operations.append(models.UpsertOperation(upsert=models.PointsList(points=batch)))
        connection.write(place.home, operations)
        operations = []
    connection.write(place.home, operations)


def _points(place: QdrantCollection, coming: Sequence[_Coming], generation: str) -> Iterator[models.PointStruct]:
    told = {"home": place.home, "generation": generation, "state": MOVING, "weights": place.weights}
    for each in coming:
        mine = {**told, "document_id": each.record.id}
        for chunk, payload in zip(each.document.chunks, each.payloads, strict=True):
            yield chunk_point(chunk, payload | mine, weighted(payload["words"].split(), place.mean or 1.0))


# before the commit


def with_mean(
    connection: QdrantConnection, place: QdrantCollection, payloads: Sequence[Mapping[str, Any]]
) -> QdrantCollection:
    """Fix the mean length at the first publish into a collection."""
    if place.mean is not None or not payloads:
        return place
    total = sum(each["length"] for each in payloads)
    tell(connection, place.home, {"mean": total / len(payloads) if total else 1.0})
    return place_and_head(connection, place, "")[0]


def unsettle(document_ids: Sequence[str], coming: str) -> models.UpdateOperation:
    """Make readers ask the records, and mark what `coming` takes the place of: only this is swept in the end.

    The mark also keeps a slower publish from settling these points after all.
    """
    kept = models.Filter(must=[any_of("document_id", document_ids)], must_not=[equals("generation", coming)])
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
    for batch in requests_of(points):
        upsert = models.UpsertOperation(upsert=models.PointsList(points=batch))
        connection.write(place.records, [upsert])


def _whole(connection: QdrantConnection, place: QdrantCollection, swaps: Sequence[Swap]) -> list[Swap]:
    """Keep those of which all new points are there: nobody has swept them away."""
    if not swaps or _counted(connection, place, swaps) == sum(each.fresh.chunks for each in swaps):
        return list(swaps)
    return [each for each in swaps if _counted(connection, place, [each]) == each.fresh.chunks]


def _counted(connection: QdrantConnection, place: QdrantCollection, swaps: Sequence[Swap]) -> int:
    kept = all_of(any_of("document_id", _ids(swaps)), any_of("generation", _generations(swaps)))
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
            upsert=models.PointsList(points=points, update_filter=all_of(equals("generation", still)))
        )
        for still, points in by_old.items()
    ]
    token = "/".join([swaps[0].fresh.document_id, *_generations(swaps)])
    connection.write(place.records, [*operations, changed(token)], in_turn=True)
    now = {each.document_id: each.generation for each in heads_of(connection, place, _ids(swaps))}
    return [each for each in swaps if now.get(each.fresh.document_id) == each.fresh.generation]


def _head_point(fresh: DocumentHead) -> models.PointStruct:
    return models.PointStruct(id=head_id(fresh.document_id), payload={"kind": "document", **asdict(fresh)}, vector={})


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
        kept = all_of(any_of("kind", PARTS), any_of("document_id", _ids(behind)), any_of("generation", left))
        operations.append(models.DeleteOperation(delete=models.FilterSelector(filter=kept)))
    return operations


def _settled(done: Sequence[Swap]) -> list[models.UpdateOperation]:
    """Remove the points that these generations took the place of; of theirs, no publish is under way any more."""
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
    """Say of points that no publish is under way."""
    for some in batches([each.id for each in points], 1000):
        change = models.SetPayload(payload={"state": VISIBLE, "next": None}, points=some)
        connection.write_present(name, [models.SetPayloadOperation(set_payload=change)])


def delete_document(connection: QdrantConnection, place: QdrantCollection, document_id: str) -> int:
    """Remove a document: first its record, then all that it named."""
    place, head = place_and_head(connection, place, document_id)
    mine = equals("document_id", document_id)
    visible = 0
    if head is not None:
        visible = connection.count(place.home, all_of(mine, equals("generation", head.generation)))
        connection.write(place.home, [unsettle([document_id], "deleted")])
        gone = models.DeleteOperation(delete=models.PointIdsList(points=[head_id(document_id)]))
        connection.write(place.records, [gone, changed(f"-{head.document_id}/{head.generation}")], in_turn=True)
    chunks, parts = all_of(mine), all_of(mine, any_of("kind", PARTS))
    connection.write(place.home, [models.DeleteOperation(delete=models.FilterSelector(filter=chunks))])
    connection.write(place.records, [models.DeleteOperation(delete=models.FilterSelector(filter=parts))])
    return visible
