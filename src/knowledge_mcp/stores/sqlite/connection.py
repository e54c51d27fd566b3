"""Access to one SQLite file from many threads and processes: connections, transactions, retries and error mapping."""

from __future__ import annotations

import contextlib
import json
import shutil
import threading
import time
from collections.abc import Callable, Generator
from pathlib import Path

import apsw

from knowledge_mcp.model.errors import (
    ConfigError,
    ConnectionFailedError,
    InternalError,
    InvalidInputError,
    KnowledgeError,
    TimedOutError,
)
from knowledge_mcp.stores.shared.payload import UNREADABLE
from knowledge_mcp.stores.shared.rules import store_closed
from knowledge_mcp.stores.sqlite.tables import (
    PAGE_BYTES,
    FileIdentity,
    Session,
    check_version,
    empty_store,
    file_identity,
    has_log,
    prepare_schema,
)
from knowledge_mcp.support.files import create_atomically, make_private_folder

_BUSY_MILLISECONDS = 5_000
"""How long SQLite itself waits for a lock. After that, the transaction is retried here until `patience` runs out."""
_CACHE_KIBIBYTES = 16_384
"""Page cache per connection: 2,000 pages, enough for the vectors of 10,000 passages of 384 components."""
_WAL_LIMIT = 64 * 1024 * 1024
"""The write-ahead log is truncated to this size after a checkpoint, so that a large ingest does not leave a second file
of its size.
"""
_LOG_INDEX_BYTES = 32_768
"""Size of the first part of the write-ahead log's index (`-shm`), which every transaction needs."""
_IDLE_CONNECTIONS = 8
"""Number of idle connections to keep: more questions are rarely answered at the same time."""
_PAUSE_SECONDS = 0.02
"""Pause between attempts to begin a transaction when the file is locked."""
_UNWRITABLE = (apsw.ReadOnlyError, apsw.CantOpenError, apsw.FullError, apsw.IOError, apsw.PermissionsError)
_BUSY = (apsw.BusyError, apsw.LockedError, apsw.ProtocolError)


class Database:
    """Provides transactions on one SQLite file.

    Read transactions see one snapshot and never wait for writers. Write transactions wait for each other, also across
    processes, for at most `patience` seconds. A connection serves one transaction at a time and is then reused.

    Args:
        path: the file; it is created with its folder if it does not exist.
        patience: seconds to wait for another writer before raising TimedOutError.

    Raises:
        ConnectionFailedError: the file cannot be opened, read or written.
        InternalError: the file is damaged, or is not a SQLite file.
        ConfigError: the file belongs to another program, or to a newer version of this one.
    """

    def __init__(self, path: Path, *, patience: float = 120.0) -> None:
        self.path = path
        self._patience = patience
        self._idle: list[Session] = []
        self._lock = threading.Lock()
        self._writer = threading.Lock()
        self._closed = False
        try:
            make_private_folder(path.parent)
        except OSError as exc:
            raise ConnectionFailedError(
                f"The folder '{path.parent}' cannot be created: {exc.strerror}.",
                suggestion="Set DATA_PATH to a folder that can be written.",
            ) from exc
        with self.mapped():
            self._give_back(self._connect())

    @property
    def storage_bytes(self) -> int:
        """Total size in bytes of the file and its write-ahead log."""
        total = 0
        for name in (self.path, self.path.with_name(f"{self.path.name}-wal")):
            with contextlib.suppress(OSError):
                total += name.stat().st_size
        return total

    @contextlib.contextmanager
    def reading(self) -> Generator[Session]:
        """Open a read transaction: one snapshot, without writes."""
        with self.mapped(), self._transaction("BEGIN") as connection:
            yield connection

    @contextlib.contextmanager
    def writing(self) -> Generator[Session]:
        """Open the write transaction. It commits at the end, and any exception rolls it back."""
        with self.mapped(), self._alone(), self._transaction("BEGIN IMMEDIATE", writing=True) as connection:
            yield connection
            connection.run("COMMIT")

    @contextlib.contextmanager
    def _transaction(self, begin: str, *, writing: bool = False) -> Generator[Session]:
        connection = self._take(writing=writing)
        try:
            self._begin(connection, begin)
            try:
                yield connection
            finally:
                connection.roll_back()
        finally:
            self._give_back(connection)

    @contextlib.contextmanager
    def mapped(self) -> Generator[None]:
        """Convert exceptions of SQLite and of decoding into `KnowledgeError`s, as every transaction does."""
        try:
            yield
        except KnowledgeError:
            raise
        except (apsw.Error, MemoryError, UnicodeError, json.JSONDecodeError) as exc:
            raise as_knowledge_error(exc, self.path) from exc

    @contextlib.contextmanager
    def decoding(self) -> Generator[None]:
        """Report any failure to decode rows as damage, since everything that was written can be decoded."""
        try:
            yield
        except UnicodeEncodeError as exc:  # of what was asked for, not of a row
            raise as_knowledge_error(exc, self.path) from exc
        except UNREADABLE as exc:
            raise _damaged(self.path, f"{type(exc).__name__}: {exc}") from exc

    def close(self) -> None:
        """Close all idle connections. Those in use are closed when their transaction ends."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    @contextlib.contextmanager
    def _alone(self) -> Generator[None]:
        """Let the writers of this process wait for a lock here, where they wake at once; SQLite polls the file lock."""
        if not self._writer.acquire(timeout=self._patience):
            raise self._too_busy()
        try:
            yield
        finally:
            self._writer.release()

    def _begin(self, connection: Session, statement: str) -> None:
        def begin() -> None:
            connection.run(statement)
            check_version(connection)  # a deferred transaction starts at its first read

        try:
            self._patiently(connection, begin)
        except ConfigError:
            connection.roll_back()
            raise

    def _patiently(self, connection: Session, work: Callable[[], None]) -> None:
        """Retry `work` until the file is free or patience runs out; each failed attempt is rolled back."""
        deadline = time.monotonic() + self._patience
        while True:
            try:
                work()
                return
            except _BUSY as exc:
                connection.roll_back()
                if time.monotonic() > deadline:
                    raise self._too_busy() from exc
                time.sleep(_PAUSE_SECONDS)

    def _too_busy(self) -> TimedOutError:
        return TimedOutError(
            f"Another process has been writing to '{self.path.name}' for more than {self._patience:.0f} seconds.",
            suggestion="Wait until the other ingest is done, then try again.",
        )

    def _take(self, *, writing: bool = False) -> Session:
        with self._lock:
            if self._closed:
                raise store_closed()
            there = self._file_there()
            while self._idle:
                connection = self._idle.pop()
                if connection.file == there and not connection.is_stale and not (writing and connection.state):
                    return connection
                connection.close()
        return self._connect(writing=writing)

    def _file_there(self) -> FileIdentity:
        """Return the identity of the file at the path now, so that a moved or deleted file is not read any longer."""
        there = file_identity(str(self.path))
        if there is None:
            raise ConnectionFailedError(
                f"The store '{self.path.name}' was removed or emptied while it was in use.",
                suggestion="Put it back, or ingest the documents again: the new store is used without a restart.",
            )
        return there

    def _give_back(self, connection: Session) -> None:
        with self._lock:
            if not self._closed and len(self._idle) < _IDLE_CONNECTIONS:
                self._idle.append(connection)
                return
        connection.close()

    def _connect(self, *, writing: bool = False) -> Session:
        self._create()
        connection = Session(self.path)
        try:
            connection.wait_for_locks(_BUSY_MILLISECONDS)
            self._patiently(connection, lambda: self._set_up(connection))
            return connection
        except _UNWRITABLE:
            connection.close()
            if writing or has_log(str(self.path)):
                raise
            return self._frozen()
        except BaseException:
            connection.close()
            raise

    def _create(self) -> None:
        """Create a missing file. It is never empty, so an empty one has lost its content."""
        try:
            if not self.path.exists():
                if has_log(str(self.path)):
                    raise _lost(
                        f"There is a log '{self.path.name}-wal', but not its store '{self.path.name}'.",
                        f"put '{self.path.name}' back, or remove '{self.path.name}-wal'",
                    )
                create_atomically(self.path, empty_store())
            if not self.path.stat().st_size:
                raise _lost(f"'{self.path.name}' is empty (0 bytes): its content was lost.", "remove it")
        except OSError as exc:
            raise ConnectionFailedError(
                f"'{self.path}' cannot be created: {exc.strerror}.",
                suggestion="Set DATA_PATH to a folder that can be written, or free space on its disk.",
            ) from exc

    def _frozen(self) -> Session:
        """Open a file that cannot be written (read-only or full disk, no log) as immutable, for reading."""
        connection = Session(self.path, frozen=True)
        try:
            connection.run(f"PRAGMA cache_size = -{_CACHE_KIBIBYTES}")
            prepare_schema(connection)
            return connection
        except BaseException:
            connection.close()
            raise

    def _set_up(self, connection: Session) -> None:
        connection.run(f"PRAGMA page_size = {PAGE_BYTES}")
        connection.run("PRAGMA journal_mode = WAL")
        connection.run("PRAGMA synchronous = NORMAL")
        connection.run(f"PRAGMA cache_size = -{_CACHE_KIBIBYTES}")
        connection.run(f"PRAGMA journal_size_limit = {_WAL_LIMIT}")
        prepare_schema(connection)


def as_knowledge_error(error: Exception, path: Path) -> KnowledgeError:
    """Convert a SQLite or decoding error into a `KnowledgeError`; the original text goes into its details.

    The message has only the file's name, not its path, because clients of a server see it.
    """
    details = f"{type(error).__name__}: {error}"
    if isinstance(error, UnicodeEncodeError):
        return InvalidInputError("A text contains half of a surrogate pair, which cannot be stored.", details=details)
    if isinstance(error, _BUSY):
        return TimedOutError(f"'{path.name}' is used by another process.", details=details)
    if isinstance(error, (apsw.FullError, apsw.TooBigError)) or (isinstance(error, apsw.IOError) and _is_full(path)):
        return ConnectionFailedError(
            f"There is no space left to write to '{path.name}'; what was stored before is complete.",
            details=details,
            suggestion="Free space on the disk, then run again.",
        )
    if isinstance(error, (apsw.ReadOnlyError, apsw.PermissionsError, apsw.CantOpenError, apsw.AuthError)):
        return ConnectionFailedError(
            f"'{path.name}' cannot be opened for writing.",
            details=details,
            suggestion="Check the permissions of the file and its folder and the free disk space, or set DATA_PATH.",
        )
    if isinstance(error, (apsw.IOError, apsw.NoLFSError)):
        return ConnectionFailedError(
            f"'{path.name}' could not be read or written.",
            details=details,
            suggestion="Check the disk (`knowledge doctor` reads the whole file), then try again.",
        )
    # rows that SQLite returns without an error may still be damaged: it only checks the structure of its pages
    if isinstance(
        error, (apsw.CorruptError, apsw.NotADBError, apsw.FormatError, UnicodeDecodeError, json.JSONDecodeError)
    ):
        return _damaged(path, details)
    return InternalError(f"'{path.name}' could not be used.", details=details)


def _is_full(path: Path) -> bool:
    """Return whether the disk is too full for the index of a write-ahead log; SQLite has no error code for this."""
    try:
        return shutil.disk_usage(path.parent).free < _LOG_INDEX_BYTES
    except OSError:
        return False


def _lost(message: str, remedy: str) -> InternalError:
    return InternalError(
        message,
        suggestion=f"Restore a backup with `knowledge restore --force`; or {remedy} and ingest the documents again.",
    )


def _damaged(path: Path, details: str) -> InternalError:
    return InternalError(
        f"'{path.name}' is damaged or is not a store of this program.",
        details=details,
        suggestion="Restore a backup with `knowledge restore`, or move the file away and ingest the documents again.",
    )
