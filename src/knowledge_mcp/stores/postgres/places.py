"""A collection in one transaction of the PostgreSQL store."""

from __future__ import annotations

from dataclasses import dataclass

from knowledge_mcp.model.collection import CollectionInfo, EmbeddingSpace
from knowledge_mcp.model.errors import NotFoundError
from knowledge_mcp.stores.postgres.schema import SCHEMA, check_version
from knowledge_mcp.stores.postgres.session import PostgresSession, Row
from knowledge_mcp.stores.shared.payload import space_from_json

_SELECT = (
    "SELECT id, name, space, created_at, analyser, state::text, documents, chunks, tokens, words,"
    f" (SELECT version FROM {SCHEMA}.meta) FROM {SCHEMA}.collections"
)
_SWAPS = 3
"""A name that is given to another collection while its row is waited for is looked up again, so many times."""


@dataclass(frozen=True, slots=True)
class PostgresPlace:
    """A collection as one transaction sees it.

    Attributes:
        state: another one after each change.
        documents, chunks, tokens, words: how many it has; words are terms of its lexical leg.
    """

    id: int
    info: CollectionInfo
    analyser: str
    state: str
    documents: int
    chunks: int
    tokens: int
    words: int

    @property
    def space(self) -> EmbeddingSpace:
        """Name the space of its vectors."""
        return self.info.space


def every_place(session: PostgresSession, location: str) -> list[PostgresPlace]:
    """List all collections by name."""
    return [_place(row, location) for row in session.rows(f"{_SELECT} ORDER BY name")]


def find_place(session: PostgresSession, name: str, location: str, lock: str = "") -> PostgresPlace | None:
    """Find a collection, None where there is none of that name."""
    found = session.rows(f"{_SELECT} WHERE name = %s {lock}", (name,))
    if found:
        return _place(found[0], location)
    check_version(int(session.rows(f"SELECT version FROM {SCHEMA}.meta")[0][0]), location)
    return None


def place_of(session: PostgresSession, name: str, location: str) -> PostgresPlace:
    """Find a collection.

    Raises:
        NotFoundError: there is none of that name.
    """
    found = find_place(session, name, location)
    if found is None:
        raise NotFoundError(f"There is no collection '{name}'.")
    return found


def lock_place(session: PostgresSession, name: str, location: str, *, alone: bool = False) -> PostgresPlace:
    """Find a collection and keep it under its name, with its index, until the transaction ends.

    Args:
        alone: keep all other writers out too.

    Raises:
        NotFoundError: there is none of that name.
    """
    for _ in range(_SWAPS):
        found = find_place(session, name, location, "FOR UPDATE" if alone else "FOR KEY SHARE")
        if found is not None:
            return found
    raise NotFoundError(f"There is no collection '{name}'.")


def _place(row: Row, location: str) -> PostgresPlace:
    identity, name, space, created_at, analyser, state, documents, chunks, tokens, words, version = row
    check_version(int(version), location)
    info = CollectionInfo(name=name, space=space_from_json(space), created_at=created_at)
    return PostgresPlace(identity, info, analyser, state, documents, chunks, tokens, words)
