"""The file format of the SQLite store: a typed connection, the tables, and a collection's row.

Only `Session` calls apsw. The tables have a version, and older versions are migrated to the current one:

| table | one row for each |
|---|---|
| `collections` | collection, with its counters and the number of its last change |
| `generations` | set of chunks of a document; all that this version writes are visible |
| `chunks`, `vectors` | chunk of a generation |
| `documents`, `texts` | visible document: its record, its canonical text |
| `structures` | visible document with sections or pages; since version 2 |
| `blocks` | visible generation: the in-memory data of its chunks, slot by slot |
| `graves` | deleted block, so that processes that hold it in memory notice |
| `segments`, `postings` | part of the inverted index; term in such a part: slots and counts |
| `definitions` | defined term or alias of a visible chunk |

A *slot* is a chunk's number in the memory and in the postings of its collection; the slots of a block are consecutive.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import apsw

from knowledge_mcp.model.collection import CollectionInfo, EmbeddingSpace
from knowledge_mcp.model.errors import ConfigError
from knowledge_mcp.stores.shared.payload import UNREADABLE, space_from_json
from knowledge_mcp.stores.shared.rules import no_collection

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Row = tuple[Any, ...]
FileIdentity = tuple[int, int]
"""Device and inode. While a connection is open, no other file can have the same pair."""


def file_identity(path: str) -> FileIdentity | None:
    """Return the identity of the file at a path, or None if there is none, or only an empty one."""
    try:
        status = os.stat(path)  # noqa: PTH116 - asked before each transaction
    except OSError:
        return None
    return (status.st_dev, status.st_ino) if status.st_size else None


def empty_store() -> bytes:
    """Return the bytes of a file without tables, as SQLite writes them."""
    connection: Any = apsw.Connection(":memory:")
    try:
        connection.execute(f"PRAGMA page_size = {PAGE_BYTES}; PRAGMA application_id = 0").fetchall()
        return bytes(connection.serialize("main"))
    finally:
        connection.close()


def has_log(path: str) -> bool:
    """Return whether the write-ahead log has content, which may not be in the main file yet."""
    try:
        return os.stat(f"{path}-wal").st_size > 0  # noqa: PTH116 - asked before each transaction
    except OSError:
        return False


def _state_of(path: str) -> tuple[int, int]:
    status = os.stat(path)  # noqa: PTH116 - asked before each transaction
    return status.st_size, status.st_mtime_ns


class Session:
    """Runs statements on one connection, from one thread at a time. Raises apsw's errors.

    Args:
        path: the file; it is created if it does not exist.
        frozen: open it as immutable, without locks or a log; nobody may be writing to it.

    Attributes:
        file: identity of the opened file, different from that of any other file at the same path.
        state: size and modification time when it was opened frozen, else None.
    """

    def __init__(self, path: Path, *, frozen: bool = False) -> None:
        self.path = path
        self._name = str(path)
        self.state = _state_of(self._name) if frozen else None
        if frozen:
            address = f"file:{quote(self._name)}?immutable=1"
            self._connection: Any = apsw.Connection(address, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
        else:
            self._connection = apsw.Connection(self._name)
        self.file = file_identity(self._name)

    @property
    def is_stale(self) -> bool:
        """Whether somebody has written to the file, or is writing, since it was opened frozen."""
        return self.state is not None and (self.state != _state_of(self._name) or has_log(self._name))

    def copy_to(self, target: Session, on_progress: Callable[[int, int], object], pages: int = 256) -> None:
        """Overwrite another file with the current state of this one, in one transaction.

        Args:
            target: a session on the other file.
            on_progress: called with the number of pages done and the total, after each step.
            pages: pages per step; -1 for all.
        """
        with target._connection.backup("main", self._connection, "main") as copying:
            while not copying.done:
                copying.step(pages)
                on_progress(copying.page_count - copying.remaining, copying.page_count)

    def run(self, statements: str, bindings: Iterable[Any] = ()) -> None:
        """Run statements and ignore their rows."""
        self._connection.execute(statements, tuple(bindings)).fetchall()

    def rows(self, statement: str, bindings: Iterable[Any] = ()) -> list[Row]:
        """Run a statement and return its rows."""
        return self._connection.execute(statement, tuple(bindings)).fetchall()

    def stream(self, statement: str, bindings: Iterable[Any] = ()) -> Iterator[Row]:
        """Run a statement and yield its rows."""
        return self._connection.execute(statement, tuple(bindings))

    def insert(self, statement: str, bindings: Iterable[Any]) -> int:
        """Insert one row and return its id."""
        self._connection.execute(statement, tuple(bindings))
        return self._connection.last_insert_rowid()

    def delete(self, statement: str, bindings: Iterable[Any]) -> int:
        """Delete rows and return their number."""
        self._connection.execute(statement, tuple(bindings))
        return self._connection.changes()

    def many(self, statement: str, bindings: Iterable[Row]) -> None:
        """Run a statement once for each row of bindings."""
        self._connection.executemany(statement, bindings)

    def by_keys(self, select: str, keys: NDArray[np.int64]) -> list[Row]:
        """Run `SELECT … FROM carray(?) …` on integers; returns a row for each, in their order."""
        if not len(keys):
            return []
        array: Any = getattr(apsw, "carray")  # noqa: B009 - its stub is untyped
        return self.rows(select, (array(keys.tobytes(), flags=apsw.SQLITE_CARRAY_INT64),))

    def wait_for_locks(self, milliseconds: int) -> None:
        """Set how long SQLite itself waits for a lock before it reports that it is busy."""
        self._connection.set_busy_timeout(milliseconds)

    def roll_back(self) -> None:
        """Roll back the open transaction, if there is one."""
        if self._connection.in_transaction:
            with contextlib.suppress(apsw.Error):
                self._connection.execute("ROLLBACK")

    def close(self) -> None:
        """Close the connection, even if statements are still open."""
        with contextlib.suppress(apsw.Error):
            self._connection.close(True)


SCHEMA_VERSION = 2
PAGE_BYTES = 8192
"""A page holds five vectors of 384 components; SQLite's default of 4096 would hold two and waste a quarter."""

Migration = Callable[[Session], None]

_STRUCTURES = "CREATE TABLE structures (generation INTEGER PRIMARY KEY, structure TEXT NOT NULL)"


def _add_structures(connection: Session) -> None:
    """Add the table for sections and pages; documents get theirs when they are ingested the next time."""
    connection.run(_STRUCTURES)


MIGRATIONS: Mapping[int, Migration] = MappingProxyType({1: _add_structures})
"""For each older version the step to the next one; all steps run in the transaction that sets the new version."""

_TABLES = f"""
CREATE TABLE schema_version (version INTEGER NOT NULL);
CREATE TABLE collections (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE,
    space TEXT NOT NULL,
    created_at TEXT NOT NULL,
    analyser TEXT NOT NULL,
    version INTEGER NOT NULL DEFAULT 0,
    epoch INTEGER NOT NULL DEFAULT 0,
    next_slot INTEGER NOT NULL DEFAULT 0,
    documents INTEGER NOT NULL DEFAULT 0,
    chunks INTEGER NOT NULL DEFAULT 0,
    tokens INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE generations (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    collection INTEGER NOT NULL,
    document_id TEXT NOT NULL,
    name TEXT NOT NULL,
    visible INTEGER NOT NULL
);
CREATE UNIQUE INDEX generations_visible ON generations (collection, document_id) WHERE visible = 1;
CREATE UNIQUE INDEX generations_staged ON generations (collection, document_id, name) WHERE visible = 0;
CREATE TABLE chunks (
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    generation INTEGER NOT NULL,
    position INTEGER NOT NULL,
    chunk_id TEXT NOT NULL,
    content_hash TEXT NOT NULL,
    embedding_key TEXT NOT NULL,
    payload TEXT NOT NULL
);
CREATE UNIQUE INDEX chunks_by_id ON chunks (chunk_id, generation);
CREATE INDEX chunks_by_place ON chunks (generation, position);
CREATE INDEX chunks_by_content ON chunks (substr(content_hash, 1, 16));
CREATE INDEX chunks_by_embedding ON chunks (substr(embedding_key, 1, 16));
CREATE TABLE vectors (key INTEGER PRIMARY KEY, vector BLOB NOT NULL);
CREATE TABLE documents (
    generation INTEGER PRIMARY KEY,
    collection INTEGER NOT NULL,
    document_id TEXT NOT NULL,
    chunks INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    record TEXT NOT NULL
);
CREATE UNIQUE INDEX documents_by_id ON documents (collection, document_id);
CREATE TABLE texts (generation INTEGER PRIMARY KEY, text TEXT NOT NULL);
{_STRUCTURES};
CREATE TABLE blocks (
    generation INTEGER PRIMARY KEY,
    collection INTEGER NOT NULL,
    first_slot INTEGER NOT NULL,
    size INTEGER NOT NULL,
    document_id TEXT NOT NULL,
    keys BLOB NOT NULL,
    bits BLOB NOT NULL,
    lengths BLOB NOT NULL,
    fields TEXT NOT NULL
);
CREATE UNIQUE INDEX blocks_by_slot ON blocks (collection, first_slot);
CREATE TABLE graves (
    collection INTEGER NOT NULL,
    version INTEGER NOT NULL,
    first_slot INTEGER NOT NULL,
    size INTEGER NOT NULL,
    PRIMARY KEY (collection, version, first_slot)
) WITHOUT ROWID;
CREATE TABLE segments (id INTEGER PRIMARY KEY AUTOINCREMENT, collection INTEGER NOT NULL, level INTEGER NOT NULL);
CREATE INDEX segments_by_level ON segments (collection, level);
CREATE TABLE postings (
    segment INTEGER NOT NULL,
    term TEXT NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (segment, term)
) WITHOUT ROWID;
CREATE TABLE definitions (
    collection INTEGER NOT NULL,
    term_key TEXT NOT NULL,
    alias INTEGER NOT NULL,
    document_id TEXT NOT NULL,
    position INTEGER NOT NULL,
    place INTEGER NOT NULL,
    term TEXT NOT NULL,
    key INTEGER NOT NULL,
    generation INTEGER NOT NULL
);
CREATE INDEX definitions_by_term ON definitions (collection, term_key, alias, document_id, position, place);
CREATE INDEX definitions_by_generation ON definitions (generation);
"""


def prepare_schema(connection: Session) -> None:
    """Create the tables in an empty file, migrate older ones, and reject files of other programs.

    Raises:
        ConfigError: the file has other tables, or those of a newer version.
    """
    if _version(connection) == SCHEMA_VERSION:
        return
    connection.run("BEGIN IMMEDIATE")
    version = _version(connection)
    if version is None:
        connection.run(_TABLES)
        connection.run("INSERT INTO schema_version VALUES (?)", (SCHEMA_VERSION,))
    else:
        while version < SCHEMA_VERSION:
            MIGRATIONS[version](connection)
            version += 1
        connection.run("UPDATE schema_version SET version = ?", (SCHEMA_VERSION,))
    connection.run("COMMIT")


def check_version(connection: Session) -> int:
    """Return the schema version. Each transaction checks it first, as another process may have migrated the file.

    Raises:
        ConfigError: the version is newer than this program.
    """
    found = connection.rows("SELECT version FROM schema_version")
    with _decoding():
        version = int(found[0][0]) if found else 0
    if version > SCHEMA_VERSION:
        raise ConfigError(
            f"'{connection.path}' was written by a newer version of this program.",
            details=f"store version {version}, known up to {SCHEMA_VERSION}",
            suggestion="Upgrade knowledge-mcp, or set DATA_PATH to another folder.",
        )
    return version


def tables_in(connection: Session) -> set[str]:
    """Return the names of all tables.

    Raises:
        apsw.CorruptError: there are views or triggers, which this program never writes. In a file from somebody else
            a view in place of a table can have endless rows, and a trigger can change what is written.
    """
    found = connection.rows("SELECT type, name FROM sqlite_schema WHERE type != 'index'")
    for kind, name in found:
        if kind != "table":
            raise apsw.CorruptError(f"it has a {kind}, '{name}'")
    return {str(name) for _, name in found}


def _version(connection: Session) -> int | None:
    tables = tables_in(connection)
    if not tables:
        return None
    if not {"schema_version", "collections", "generations"} <= tables:
        raise ConfigError(
            f"'{connection.path}' is a SQLite file of another program.",
            suggestion="Set DATA_PATH to another folder.",
        )
    version = check_version(connection)
    if version < SCHEMA_VERSION and version not in MIGRATIONS:
        raise ConfigError(
            f"'{connection.path}' has store version {version}, which cannot be upgraded to {SCHEMA_VERSION}.",
            suggestion="Set DATA_PATH to another folder and ingest the documents again.",
        )
    return version


_SELECT = "SELECT id, name, space, created_at, analyser, version, documents, chunks, tokens FROM collections"


@dataclass(frozen=True, slots=True)
class Place:
    """A collection in one snapshot; every change of its documents increments its version.

    Attributes:
        indexed_by: version of the analyser that indexed it.
        counts: numbers of documents, chunks and tokens.
    """

    id: int
    info: CollectionInfo
    indexed_by: str
    version: int
    counts: tuple[int, int, int]

    @property
    def space(self) -> EmbeddingSpace:
        """The embedding space of the collection."""
        return self.info.space


def every_place(connection: Session) -> list[Place]:
    """List all collections by name."""
    return [_place(row) for row in connection.rows(f"{_SELECT} ORDER BY name")]


def find_place(connection: Session, name: str) -> Place | None:
    """Return a collection, or None if it does not exist."""
    found = connection.rows(f"{_SELECT} WHERE name = ?", (name,))
    return _place(found[0]) if found else None


def place_of(connection: Session, name: str) -> Place:
    """Return a collection.

    Raises:
        NotFoundError: it does not exist.
    """
    found = find_place(connection, name)
    if found is None:
        raise no_collection(name)
    return found


def _place(row: Row) -> Place:
    number, name, space, created_at, analyser, version, *counts = row
    with _decoding():
        info = CollectionInfo(name=str(name), space=space_from_json(space), created_at=created_at)
        documents, chunks, tokens = map(int, counts)
    return Place(number, info, analyser, version, (documents, chunks, tokens))


@contextlib.contextmanager
def _decoding() -> Generator[None]:
    """Report a row that cannot be decoded as damage, as SQLite does for a page."""
    try:
        yield
    except UNREADABLE as exc:
        raise apsw.CorruptError(f"a row cannot be decoded: {type(exc).__name__}: {exc}") from exc
