"""The file of the cache: vectors by embedding space and text hash, in SQLite, for many processes at once.

Nothing here raises: what cannot be read counts as missing, what cannot be written is not stored, and each kind of
problem is logged once.
"""

from __future__ import annotations

import hashlib
import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar, cast

import apsw

from knowledge_mcp.model.chunk import Vector
from knowledge_mcp.support.batches import batches
from knowledge_mcp.support.events import log_event
from knowledge_mcp.support.files import make_private_folder, touch_private

logger = logging.getLogger(__name__)

T = TypeVar("T")

APPLICATION = 0x6B6D6563
"""`kmec` in the file's header; any other SQLite file is left alone."""
VERSION = 1
BUSY_MILLISECONDS = 2_000
PAUSE_SECONDS = 0.01
"""Pause between attempts if SQLite reports busy at once; creating the file takes another process about as long."""
WAL_LIMIT = 16 * 1024 * 1024
KEYS_OF_A_STATEMENT = 500
USE_RECORDED_AFTER = 3_600
"""Seconds during which a use is not recorded again, so that reads rarely write."""
SWEPT_TO = 0.9
ROWS_OF_A_SWEEP = 256
MOST_PASSING = 4_096

SCHEMA = """
CREATE TABLE vectors (
    id INTEGER PRIMARY KEY,
    space TEXT NOT NULL,
    text BLOB NOT NULL,
    vector BLOB NOT NULL,
    checksum BLOB NOT NULL,
    used INTEGER NOT NULL,
    UNIQUE (space, text)
) STRICT;
CREATE INDEX vectors_by_use ON vectors (used, id);
"""


class _Connection(Protocol):
    """The part of apsw's connection that is used here; apsw's own types are partly unknown."""

    def __enter__(self) -> object: ...
    def __exit__(self, *_: object) -> bool | None: ...
    def execute(self, statements: str, bindings: Sequence[object] = ...) -> Iterable[tuple[Any, ...]]: ...
    def executemany(self, statements: str, sequenceofbindings: Iterable[Sequence[object]]) -> object: ...
    def pragma(self, name: str, value: int | str | None = None) -> Any: ...
    def changes(self) -> int: ...
    def set_busy_timeout(self, milliseconds: int) -> None: ...
    def close(self) -> None: ...


class CacheFile:
    """Stores the vectors of one embedding space in a file that other spaces share. Thread-safe.

    Args:
        path: the file; it is created with its folder on first use.
        space: fingerprint of the space.
        dimensions: components of its vectors.
        most_bytes: limit for the file; above it, the least recently used vectors are evicted.
        clock: returns seconds since the epoch.
    """

    def __init__(
        self, path: Path, space: str, dimensions: int, *, most_bytes: int, clock: Callable[[], float] = time.time
    ) -> None:
        self._path = path
        self._space = space
        self._size = 4 * dimensions
        self._most_bytes = most_bytes
        self._clock = clock
        self._lock = threading.Lock()
        self._connection: _Connection | None = None
        self._usable = True
        self._logged: set[str] = set()

    def get(self, keys: Sequence[bytes]) -> dict[bytes, Vector]:
        """Return the stored, undamaged vectors by key (SHA-256 of the text)."""
        return self._run_guarded("read", lambda connection: self._get(connection, keys), {})

    def put(self, vectors: Mapping[bytes, Vector], *, passing: bool = False) -> None:
        """Store vectors by key; those of a wrong length are left out.

        Args:
            vectors: by SHA-256 of the text.
            passing: they are evicted first, and only the latest few thousand are kept, until they are used again.
        """
        rows = [(key, vector) for key, vector in vectors.items() if len(vector) == self._size]
        if rows:
            used = 0 if passing else int(self._clock())
            self._run_guarded("write", lambda connection: self._put(connection, rows, used), None)

    def close(self) -> None:
        """Close the file; later calls find and store nothing."""
        with self._lock:
            self._usable = False
            connection, self._connection = self._connection, None
            if connection is not None:
                connection.close()

    def _get(self, connection: _Connection, keys: Sequence[bytes]) -> dict[bytes, Vector]:
        found: dict[bytes, Vector] = {}
        stale: list[int] = []
        damaged: list[int] = []
        now = int(self._clock())
        for some in batches(keys, KEYS_OF_A_STATEMENT):
            marks = ",".join("?" * len(some))
            statement = f"SELECT id, text, vector, checksum, used FROM vectors WHERE space = ? AND text IN ({marks})"
            for row, key, vector, checksum, used in connection.execute(statement, (self._space, *some)):
                if len(vector) != self._size or checksum != self._checksum(key, vector):
                    damaged.append(row)
                    continue
                found[key] = vector
                if not now - USE_RECORDED_AFTER <= used <= now:
                    stale.append(row)
        if damaged:
            self._log("damaged", f"{len(damaged)} vectors are damaged and are asked for again")
        if stale:
            self._note_use(connection, stale, now)
        return found

    def _note_use(self, connection: _Connection, rows: Sequence[int], now: int) -> None:
        """Record that rows were used; skipped if another process holds the write lock, or the file is not writable."""
        try:
            with connection:
                connection.executemany("UPDATE vectors SET used = ? WHERE id = ?", [(now, row) for row in rows])
        except (apsw.BusyError, apsw.LockedError, apsw.ReadOnlyError, apsw.FullError):
            return

    def _put(self, connection: _Connection, rows: Sequence[tuple[bytes, Vector]], used: int) -> None:
        with connection:
            connection.executemany(
                "INSERT OR REPLACE INTO vectors (space, text, vector, checksum, used) VALUES (?, ?, ?, ?, ?)",
                [(self._space, key, vector, self._checksum(key, vector), used) for key, vector in rows],
            )
            if not used:
                connection.execute(
                    "DELETE FROM vectors WHERE id IN "
                    "(SELECT id FROM vectors WHERE used = 0 ORDER BY id DESC LIMIT -1 OFFSET ?)",
                    (MOST_PASSING,),
                )
            self._sweep(connection)

    def _sweep(self, connection: _Connection) -> None:
        """Evict the least recently used vectors, down to nine tenths of the limit; SQLite reuses their pages."""
        if self._size_in_use(connection) <= self._most_bytes:
            return
        while self._size_in_use(connection) > SWEPT_TO * self._most_bytes:
            connection.execute(
                "DELETE FROM vectors WHERE id IN (SELECT id FROM vectors ORDER BY used, id LIMIT ?)", (ROWS_OF_A_SWEEP,)
            )
            if not connection.changes():
                return

    def _size_in_use(self, connection: _Connection) -> int:
        pages, free, size = (int(connection.pragma(name)) for name in ("page_count", "freelist_count", "page_size"))
        return (pages - free) * size

    def _checksum(self, key: bytes, vector: Vector) -> bytes:
        """Return a check sum over vector, space and text, so that neither bit flips nor swapped rows go unnoticed."""
        return hashlib.blake2b(self._space.encode() + key + vector, digest_size=16).digest()

    def _run_guarded(self, doing: str, work: Callable[[_Connection], T], otherwise: T) -> T:
        with self._lock:
            if not self._usable:
                return otherwise
            try:
                if self._connection is None:
                    self._connection = self._open()
                return work(self._connection)
            except (apsw.BusyError, apsw.LockedError, apsw.ProtocolError) as exc:
                self._log("busy", f"another process holds it: {exc}")
            except (apsw.Error, OSError, ValueError, TypeError) as exc:
                self._usable = False
                self._log("unusable", f"{type(exc).__name__}: {exc}", doing)
                self._drop_connection()
        return otherwise

    def _open(self) -> _Connection:
        make_private_folder(self._path.parent)
        touch_private(self._path)
        connection = cast("_Connection", apsw.Connection(str(self._path)))
        try:
            connection.set_busy_timeout(BUSY_MILLISECONDS)
            self._check_owner(connection)
            self._into_wal(connection)
            connection.pragma("synchronous", "normal")
            connection.pragma("journal_size_limit", WAL_LIMIT)
            connection.execute("BEGIN IMMEDIATE")
            try:
                if connection.pragma("user_version") == 0:
                    connection.execute(SCHEMA)
                    connection.pragma("application_id", APPLICATION)
                    connection.pragma("user_version", VERSION)
                connection.execute("COMMIT")
            except BaseException:
                connection.execute("ROLLBACK")
                raise
        except BaseException:
            connection.close()
            raise
        return connection

    def _into_wal(self, connection: _Connection) -> None:
        """Switch to write-ahead logging. SQLite does not wait for a lock here, so this retries."""
        until = time.monotonic() + BUSY_MILLISECONDS / 1000
        while True:
            try:
                connection.pragma("journal_mode", "wal")
            except apsw.BusyError:
                if time.monotonic() > until:
                    raise
                time.sleep(PAUSE_SECONDS)
            else:
                return

    def _check_owner(self, connection: _Connection) -> None:
        with connection:  # one transaction for all three, as another process may be creating the file
            version, owner = connection.pragma("user_version"), connection.pragma("application_id")
            empty = not connection.pragma("schema_version")
        if (version, owner) != (VERSION, APPLICATION) and not (empty and not version and not owner):
            raise ValueError(f"the file is something else's, or of another version ({version})")

    def _drop_connection(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            try:
                connection.close()
            except apsw.Error as exc:
                logger.debug("closing the damaged embedding cache: %s", exc)

    def _log(self, what: str, reason: str, doing: str = "") -> None:
        """Log each kind of problem once."""
        if what in self._logged:
            return
        self._logged.add(what)
        log_event(
            logger, logging.WARNING, "embedding_cache_bypassed",
            path=str(self._path), trouble=what, reason=reason, doing=doing,
        )  # fmt: skip
