"""The steps in which new generations become visible: several requests, of which one, the records', makes it true.

```text
unsettle   the old generations' points say `moving`: from here on readers ask the records
arm        the new generations' points have their sparse vectors and say `moving`: searchable, not visible
commit     each record names its new generation (only if it still names the one that was unsettled)
sweep      the old generations go, the new ones say `visible`: readers need not ask any more
```

Each step is for any number of documents at once, and each document is committed for itself. A kill anywhere leaves the
old or the new generation of a document whole; what is left over is swept by the next publish of the document, by
`discard_staged`, or by `verify` with repair.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from qdrant_client import models

from knowledge_mcp.model.collection import DocumentRecord
from knowledge_mcp.model.errors import InternalError, KnowledgeError
from knowledge_mcp.model.structure import DocumentStructure
from knowledge_mcp.stores.payload import record_to_json, structure_to_json
from knowledge_mcp.stores.qdrant_connection import Connection
from knowledge_mcp.stores.qdrant_heads import PARTS, Head, PartKind, head_id, heads_of, part_ids, place_and_head
from knowledge_mcp.stores.qdrant_layout import LIVE, META, MOVING, VISIBLE, Place
from knowledge_mcp.stores.qdrant_points import any_of, batches, equals, live, weighted
from knowledge_mcp.support.events import log_event

__all__ = [
    "OTHER_WRITER",
    "RACES",
    "Parts",
    "Swap",
    "changed",
    "discarded",
    "parts_of",
    "sparse_of",
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

    old: Head | None
    fresh: Head
    parts: Parts
    left: tuple[str, ...] = ()


def parts_of(text: str, structure: DocumentStructure) -> Parts:
    """Cut what is kept beside the record of a document."""
    return {"text": _pieces(text), "structure": _pieces(structure_to_json(structure))}


def _pieces(text: str) -> list[str]:
    return [text[start : start + TEXT_PART] for start in range(0, len(text), TEXT_PART)]


def swap_of(
    place: Place,
    old: Head | None,
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
    fresh = Head(
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


def with_mean(connection: Connection, place: Place, payloads: Sequence[Mapping[str, Any]]) -> Place:
    """Fix the mean length at the first publish into a collection."""
    if place.mean is not None or not payloads:
        return place
    total = sum(each["length"] for each in payloads)
    change = models.SetPayload(payload={"mean": total / len(payloads) if total else 1.0}, points=[META])
    connection.write(place.records, [models.SetPayloadOperation(set_payload=change)], strong=True)
    return place_and_head(connection, place, "")[0]


def sparse_of(payload: Mapping[str, Any], place: Place) -> models.SparseVector:
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


def swap(connection: Connection, place: Place, swaps: Sequence[Swap]) -> list[Swap]:
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


def _write_parts(connection: Connection, place: Place, swaps: Sequence[Swap]) -> None:
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


def _whole(connection: Connection, place: Place, swaps: Sequence[Swap]) -> list[Swap]:
    """Keep those of which all new points are there: nobody has swept them away."""
    if not swaps or _counted(connection, place, swaps) == sum(each.fresh.chunks for each in swaps):
        return list(swaps)
    return [each for each in swaps if _counted(connection, place, [each]) == each.fresh.chunks]


def _counted(connection: Connection, place: Place, swaps: Sequence[Swap]) -> int:
    kept = live(any_of("document_id", _ids(swaps)), any_of("generation", _generations(swaps)))
    return connection.count(place.home, kept)


def _ids(swaps: Sequence[Swap]) -> list[str]:
    return [each.fresh.document_id for each in swaps]


def _generations(swaps: Sequence[Swap]) -> list[str]:
    return sorted({each.fresh.generation for each in swaps})


def _commit(connection: Connection, place: Place, swaps: Sequence[Swap]) -> list[Swap]:
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


def _head_point(fresh: Head) -> models.PointStruct:
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


def _sweep(connection: Connection, place: Place, done: Sequence[Swap], gone: Sequence[Head]) -> None:
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


def _without_parts(gone: Sequence[Head], behind: Sequence[Swap]) -> list[models.UpdateOperation]:
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
