"""One SQLite file for many threads and processes: connections, transactions, patience, and errors in our own terms."""

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
    file_identity,
    has_log,
    prepare_schema,
)
from knowledge_mcp.support.files import make_private_folder, touch_private

_BUSY_MILLISECONDS = 5_000
"""SQLite waits so long by itself; after that a transaction is begun again here, until patience is over."""
_CACHE_KIBIBYTES = 16_384
"""Of one connection: 2,000 pages, the vectors of 10,000 passages of 384 components."""
_WAL_LIMIT = 64 * 1024 * 1024
"""To which the log is cut once it was copied into the file: a large ingest leaves no second file of its size."""
_LOG_INDEX_BYTES = 32_768
"""The first part of the index of a write-ahead log (`-shm`), without which no transaction begins."""
_IDLE_CONNECTIONS = 8
"""Connections that wait for their next transaction: more questions are rarely answered at once."""
_PAUSE_SECONDS = 0.02
"""Between two tries to begin a transaction that SQLite has refused."""
_UNWRITABLE = (apsw.ReadOnlyError, apsw.CantOpenError, apsw.FullError, apsw.IOError, apsw.PermissionsError)
_BUSY = (apsw.BusyError, apsw.LockedError, apsw.ProtocolError)


class Database:
    """Hand out transactions on one file.

    Reading transactions see one snapshot and never wait for writers; writing ones wait for each other, across
    processes, until `patience` is over. A connection serves one transaction at a time and is then kept for the next.

    Args:
        path: the file; made with its folder where there is none.
        patience: seconds to wait for another writer before a TimedOutError.

    Raises:
        ConnectionFailedError: the file cannot be opened, read or written.
        InternalError: the file is damaged, or is no SQLite file.
        ConfigError: the file is something else's, or of a newer version of this program.
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
                f"The folder '{path.parent}' cannot be made: {exc.strerror}.",
                suggestion="Choose a folder that can be written with DATA_PATH.",
            ) from exc
        with self.mapped():
            self._give_back(self._connect())

    @property
    def storage_bytes(self) -> int:
        """Count the bytes of the file and of its write-ahead log."""
        total = 0
        for name in (self.path, self.path.with_name(f"{self.path.name}-wal")):
            with contextlib.suppress(OSError):
                total += name.stat().st_size
        return total

    @contextlib.contextmanager
    def reading(self) -> Generator[Session]:
        """Open one snapshot; nothing may be written through it."""
        with self.mapped(), self._transaction("BEGIN") as connection:
            yield connection

    @contextlib.contextmanager
    def writing(self) -> Generator[Session]:
        """Open the one writing transaction; it is committed at the end and rolled back by any exception."""
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
        """Say what fails inside in our own terms, as every transaction does."""
        try:
            yield
        except KnowledgeError:
            raise
        except (apsw.Error, MemoryError, UnicodeError, json.JSONDecodeError) as exc:
            raise as_knowledge_error(exc, self.path) from exc

    @contextlib.contextmanager
    def decoding(self) -> Generator[None]:
        """Take whatever fails while rows are read and understood for damage: what was written can be read."""
        try:
            yield
        except UNREADABLE as exc:
            raise _damaged(self.path, f"{type(exc).__name__}: {exc}") from exc

    def close(self) -> None:
        """Close every idle connection; those in use close when their transaction ends."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    @contextlib.contextmanager
    def _alone(self) -> Generator[None]:
        """Queue this process's own writers here, where they wake at once, not at the file's lock, which is polled."""
        if not self._writer.acquire(timeout=self._patience):
            raise self._too_busy()
        try:
            yield
        finally:
            self._writer.release()

    def _begin(self, connection: Session, statement: str) -> None:
        def begin() -> None:
            connection.run(statement)
            check_version(connection, self.path)  # a deferred transaction starts at its first read

        try:
            self._patiently(connection, begin)
        except ConfigError:
            connection.roll_back()
            raise

    def _patiently(self, connection: Session, work: Callable[[], None]) -> None:
        """Work as soon as the file is free; a try that was in vain is rolled back."""
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
        """Tell which file is there now: what was moved away or deleted must not be answered from any longer."""
        there = file_identity(str(self.path))
        if there is None:
            raise ConnectionFailedError(
                f"The store '{self.path.name}' was removed while it was in use.",
                suggestion="Put it back, or ingest the documents again: the new store is taken up without a restart.",
            )
        return there

    def _give_back(self, connection: Session) -> None:
        with self._lock:
            if not self._closed and len(self._idle) < _IDLE_CONNECTIONS:
                self._idle.append(connection)
                return
        connection.close()

    def _connect(self, *, writing: bool = False) -> Session:
        try:
            touch_private(self.path)
        except OSError as exc:
            raise ConnectionFailedError(
                f"'{self.path}' cannot be made: {exc.strerror}.",
                suggestion="Choose a folder that can be written with DATA_PATH.",
            ) from exc
        connection = Session(str(self.path))
        try:
            connection.wait_for_locks(_BUSY_MILLISECONDS)
            self._patiently(connection, lambda: self._set_up(connection))
            return connection
        except _UNWRITABLE:
            connection.close()
            if writing or has_log(str(self.path)) or not self.path.stat().st_size:
                raise
            return self._frozen()
        except BaseException:
            connection.close()
            raise

    def _frozen(self) -> Session:
        """Open a closed file that cannot be written, on a read-only or a full disk, to read it as it is."""
        connection = Session(str(self.path), frozen=True)
        try:
            connection.run(f"PRAGMA cache_size = -{_CACHE_KIBIBYTES}")
            prepare_schema(connection, self.path)
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
        prepare_schema(connection, self.path)


def as_knowledge_error(error: Exception, path: Path) -> KnowledgeError:
    """Say a failure of SQLite in our own terms, whatever its class; the original's text goes into the details.

    The file is told by its name alone, for clients of a server read it too.
    """
    details = f"{type(error).__name__}: {error}"
    if isinstance(error, UnicodeEncodeError):
        return InvalidInputError("A text holds half of a surrogate pair, which cannot be stored.", details=details)
    if isinstance(error, _BUSY):
        return TimedOutError(f"'{path.name}' is held by another process.", details=details)
    if isinstance(error, (apsw.FullError, apsw.TooBigError)) or (isinstance(error, apsw.IOError) and _is_full(path)):
        return ConnectionFailedError(
            f"There is no room left to write to '{path.name}'; what was stored before is whole.",
            details=details,
            suggestion="Free space on the disk, then run again.",
        )
    if isinstance(error, (apsw.ReadOnlyError, apsw.PermissionsError, apsw.CantOpenError, apsw.AuthError)):
        return ConnectionFailedError(
            f"'{path.name}' cannot be opened for writing.",
            details=details,
            suggestion="Check the permissions of the file and its folder and the room on its disk, or set DATA_PATH.",
        )
    if isinstance(error, (apsw.IOError, apsw.NoLFSError)):
        return ConnectionFailedError(
            f"'{path.name}' could not be read or written.",
            details=details,
            suggestion="Check the disk (`knowledge doctor` reads the whole file), then try again.",
        )
    # what SQLite hands out unharmed may be damaged inside: its checks end at the form of its pages
    if isinstance(
        error, (apsw.CorruptError, apsw.NotADBError, apsw.FormatError, UnicodeDecodeError, json.JSONDecodeError)
    ):
        return _damaged(path, details)
    return InternalError(f"'{path.name}' could not be used.", details=details)


def _is_full(path: Path) -> bool:
    """Tell whether the disk has no room for the index of a write-ahead log; SQLite has no error of its own for it."""
    try:
        return shutil.disk_usage(path.parent).free < _LOG_INDEX_BYTES
    except OSError:
        return False


def _damaged(path: Path, details: str) -> InternalError:
    return InternalError(
        f"'{path.name}' is damaged or is not a store of this program.",
        details=details,
        suggestion="Restore a backup with `knowledge restore`, or move the file away and ingest the documents again.",
    )
