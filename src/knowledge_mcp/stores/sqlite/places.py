"""A collection in one snapshot of the SQLite store."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from knowledge_mcp.model.collection import CollectionInfo, EmbeddingSpace
from knowledge_mcp.model.errors import InternalError, NotFoundError
from knowledge_mcp.stores.shared.payload import space_from_json

if TYPE_CHECKING:
    from knowledge_mcp.stores.sqlite.session import Row, Session

_SELECT = "SELECT id, name, space, created_at, analyser, version, documents, chunks, tokens FROM collections"


@dataclass(frozen=True, slots=True)
class Place:
    """A collection in one snapshot; each change of its documents has a version of its own.

    Attributes:
        counts: of documents, chunks and tokens.
    """

    id: int
    info: CollectionInfo
    analyser: str
    version: int
    counts: tuple[int, int, int]

    @property
    def space(self) -> EmbeddingSpace:
        """Name the space of its vectors."""
        return self.info.space

    def check_same(self, other: Place, name: str) -> None:
        """Make sure that a name still is the collection that something was prepared in.

        Raises:
            InternalError: it is another one.
        """
        if self.id != other.id:
            raise InternalError(f"Another collection has just become '{name}'.", suggestion="Ingest it again.")


def every_place(connection: Session) -> list[Place]:
    """List all collections by name."""
    return [_place(row) for row in connection.rows(f"{_SELECT} ORDER BY name")]


def find_place(connection: Session, name: str) -> Place | None:
    """Find a collection, None where there is none of that name."""
    found = connection.rows(f"{_SELECT} WHERE name = ?", (name,))
    return _place(found[0]) if found else None


def place_of(connection: Session, name: str) -> Place:
    """Find a collection.

    Raises:
        NotFoundError: there is none of that name.
    """
    found = find_place(connection, name)
    if found is None:
        raise NotFoundError(f"There is no collection '{name}'.")
    return found


def _place(row: Row) -> Place:
    number, name, space, created_at, analyser, version, *counts = row
    info = CollectionInfo(name=name, space=space_from_json(space), created_at=created_at)
    return Place(number, info, analyser, version, cast("tuple[int, int, int]", tuple(counts)))
