"""Records of documents as Qdrant holds them: which generation of a document's chunks is the visible one.

A document's record is one point, so that writing it is the one step in which a publish becomes true. Whatever reads
chunks compares their generation with it, unless all of them are settled: then no publish was under way at that moment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from qdrant_client import models

from knowledge_mcp.model.collection import DocumentRecord
from knowledge_mcp.model.errors import NotFoundError
from knowledge_mcp.stores.payload import record_from_json
from knowledge_mcp.stores.qdrant_connection import Connection
from knowledge_mcp.stores.qdrant_layout import META, VISIBLE, Place, place_of, point_id
from knowledge_mcp.stores.qdrant_points import equals

__all__ = [
    "MARKS",
    "PARTS",
    "Head",
    "Judge",
    "PartKind",
    "head_id",
    "heads",
    "heads_of",
    "part_ids",
    "place_and_head",
    "place_and_heads",
    "read_again",
]

MARKS = ("home", "chunk_id", "document_id", "generation", "state")
"""Fields of a chunk's point by which a reader tells whether it is visible."""
PartKind = Literal["text", "structure"]
PARTS: tuple[PartKind, ...] = ("text", "structure")
"""What is kept in parts beside a record, and the field of a part's point that holds it."""
READS = 8
"""How often a reader that met a publish looks again before it takes what there is."""

Point = TypeVar("Point", models.Record, models.ScoredPoint)


@dataclass(frozen=True, slots=True)
class Head:
    """A document's record and what it names.

    Attributes:
        document_id: whose it is.
        generation: the visible one, unlike any other of this document.
        name: what the caller of `publish` called it.
        parts: of the canonical text. shapes: parts of sections and pages, 0 where there are none.
        chunks, tokens, length, size: totals over its chunks; length in terms, size in bytes of all that is kept.
        record: as JSON, empty where it was not read.
    """

    document_id: str
    generation: str
    name: str
    parts: int
    chunks: int
    tokens: int
    length: int
    size: int
    record: str = ""
    shapes: int = 0

    @property
    def announced(self) -> DocumentRecord:
        return record_from_json(self.record, self.document_id)


_NUMBERS = ["kind", "document_id", "generation", "name", "parts", "chunks", "tokens", "length", "size", "shapes"]


def head_id(document_id: str) -> str:
    """Return the id of a document's record."""
    return point_id("document", document_id)


def part_ids(head: Head, kind: PartKind) -> list[str]:
    """List the ids of the parts of a canonical text, or of sections and pages."""
    count = head.parts if kind == "text" else head.shapes
    return [point_id(kind, head.document_id, head.generation, str(part)) for part in range(count)]


def _head(payload: Mapping[str, Any]) -> Head:
    return Head(
        document_id=payload["document_id"],
        generation=payload["generation"],
        name=payload["name"],
        parts=payload["parts"],
        chunks=payload["chunks"],
        tokens=payload["tokens"],
        length=payload["length"],
        size=payload["size"],
        record=payload.get("record", ""),
        shapes=payload.get("shapes", 0),
    )


def heads(connection: Connection, place: Place, *, whole: bool = False, most: int | None = None) -> Iterator[Head]:
    """Yield all records, or at most so many; with `whole` the documents' own ones come along."""
    kept = models.Filter(must=[equals("kind", "document")])
    for point in connection.scroll(place.records, kept, [*_NUMBERS, "record"] if whole else _NUMBERS, most=most):
        yield _head(point.payload or {})


def place_and_head(connection: Connection, place: Place, document_id: str) -> tuple[Place, Head | None]:
    """Read a collection's description and a document's record as they are now, in one round trip."""
    now, found = place_and_heads(connection, place, [document_id])
    return now, found[0] if found else None


def heads_of(connection: Connection, place: Place, document_ids: Sequence[str]) -> list[Head]:
    """Read the records of some documents as they are now, in one round trip; those that are not there are left out."""
    return place_and_heads(connection, place, document_ids)[1]


def place_and_heads(connection: Connection, place: Place, document_ids: Sequence[str]) -> tuple[Place, list[Head]]:
    """Read a collection's description and the records of some documents as they are now, in one round trip."""
    names = [head_id(each) for each in document_ids]
    found = {str(each.id): each.payload or {} for each in connection.retrieve(place.records, [META, *names])}
    now = place_of(place.name, found[META]) if META in found else None
    if now is None:
        raise NotFoundError(f"There is no collection '{place.name}'.")
    return now, [_head(found[name]) for name in names if name in found]


class Judge:
    """Tell visible points from those of a generation that is not the record's, for one read.

    Attributes:
        missed: whether the last `keep` found a document whose publish overtook the read.
    """

    def __init__(self, connection: Connection, place: Place) -> None:
        self._connection = connection
        self._place = place
        self._known: dict[str, str | None] = {}
        self.missed = False

    def keep(self, points: Sequence[Point]) -> list[Point]:
        """Return the visible ones, in order."""
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
        wanted = {head_id(document_id): document_id for document_id in document_ids}
        found = self._connection.retrieve(self._place.records, list(wanted), ["generation"])
        by_id = {str(each.id): (each.payload or {})["generation"] for each in found}
        return {document_id: by_id.get(point) for point, document_id in wanted.items()}


def _is_of(payload: Mapping[str, Any], now: Mapping[str, str | None]) -> bool:
    document_id = payload["document_id"]
    return document_id not in now or now[document_id] == payload["generation"]


def read_again(connection: Connection, place: Place, read: Callable[[], list[models.Record]]) -> list[models.Record]:
    """Read points until no publish has overtaken the read, and return the visible ones."""
    judge = Judge(connection, place)
    kept: list[models.Record] = []
    for _ in range(READS):
        kept = judge.keep(read())
        if not judge.missed:
            break
    return kept
