"""A collection in one snapshot of the SQLite store."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from knowledge_mcp.model.collection import EmbeddingSpace
from knowledge_mcp.model.errors import InternalError, NotFoundError
from knowledge_mcp.stores.payload import space_from_json

if TYPE_CHECKING:
    from knowledge_mcp.stores.sqlite_session import Session

__all__ = ["Place", "place_of"]


@dataclass(frozen=True, slots=True)
class Place:
    """A collection in one snapshot."""

    id: int
    space: EmbeddingSpace
    analyser: str

    def check_same(self, other: Place, name: str) -> None:
        """Make sure that a name still is the collection that something was prepared in.

        Raises:
            InternalError: it is another one.
        """
        if self.id != other.id:
            raise InternalError(f"Another collection has just become '{name}'.", suggestion="Ingest it again.")


def place_of(connection: Session, name: str) -> Place:
    """Find a collection.

    Raises:
        NotFoundError: there is none of that name.
    """
    found = connection.rows("SELECT id, space, analyser FROM collections WHERE name = ?", (name,))
    if not found:
        raise NotFoundError(f"There is no collection '{name}'.")
    return Place(id=found[0][0], space=space_from_json(found[0][1]), analyser=found[0][2])
