"""One SQLite connection with types of its own: the only place that knows how apsw's calls look."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import apsw

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Row = tuple[Any, ...]
FileIdentity = tuple[int, int]
"""Device and inode; while a connection is open, no other file can have them."""


def file_identity(path: str) -> FileIdentity | None:
    """Tell which file is at a path now, None where there is none."""
    try:
        status = os.stat(path)  # noqa: PTH116 - asked before each transaction
    except OSError:
        return None
    return status.st_dev, status.st_ino


def has_log(path: str) -> bool:
    """Tell whether the write-ahead log holds anything, which may not be in the file."""
    try:
        return os.stat(f"{path}-wal").st_size > 0  # noqa: PTH116 - asked before each transaction
    except OSError:
        return False


def _state_of(path: str) -> tuple[int, int]:
    status = os.stat(path)  # noqa: PTH116 - asked before each transaction
    return status.st_size, status.st_mtime_ns


class Session:
    """Run statements on one connection; one thread at a time. Raises apsw's errors.

    Args:
        path: the file; made where there is none.
        frozen: read it without a lock or a log, as nobody is writing to it.

    Attributes:
        file: identity of the file that was opened, which another one of the same path does not share.
        state: its size and its last change when it was opened frozen, else None.
    """

    def __init__(self, path: str, *, frozen: bool = False) -> None:
        self.state = _state_of(path) if frozen else None
        if frozen:
            address = f"file:{quote(path)}?immutable=1"
            self._connection: Any = apsw.Connection(address, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
        else:
            self._connection = apsw.Connection(path)
        self._path = path
        self.file = file_identity(path)

    @property
    def is_stale(self) -> bool:
        """Tell whether somebody writes to the file, or has written, since it was opened frozen."""
        return self.state is not None and (self.state != _state_of(self._path) or has_log(self._path))

    def copy_to(self, target: Session, on_progress: Callable[[int, int], object], pages: int = 256) -> None:
        """Overwrite another file with this one as it is now, in one transaction.

        Args:
            target: the other one.
            on_progress: is told pages done and pages in all, after each step.
            pages: of one step; -1 for all.
        """
        with target._connection.backup("main", self._connection, "main") as copying:
            while not copying.done:
                copying.step(pages)
                on_progress(copying.page_count - copying.remaining, copying.page_count)

    def run(self, statements: str, bindings: Iterable[Any] = ()) -> None:
        """Run statements whose rows nobody wants."""
        self._connection.execute(statements, tuple(bindings)).fetchall()

    def rows(self, statement: str, bindings: Iterable[Any] = ()) -> list[Row]:
        """Run a statement and list its rows."""
        return self._connection.execute(statement, tuple(bindings)).fetchall()

    def stream(self, statement: str, bindings: Iterable[Any] = ()) -> Iterator[Row]:
        """Run a statement and yield its rows as they come."""
        return self._connection.execute(statement, tuple(bindings))

    def insert(self, statement: str, bindings: Iterable[Any]) -> int:
        """Insert one row and return its id."""
        self._connection.execute(statement, tuple(bindings))
        return self._connection.last_insert_rowid()

    def delete(self, statement: str, bindings: Iterable[Any]) -> int:
        """Delete rows and return how many went."""
        self._connection.execute(statement, tuple(bindings))
        return self._connection.changes()

    def many(self, statement: str, bindings: Iterable[Row]) -> None:
        """Run a statement once for each row of bindings."""
        self._connection.executemany(statement, bindings)

    def by_keys(self, select: str, keys: NDArray[np.int64]) -> list[Row]:
        """Run `SELECT … FROM carray(?) …` over whole numbers, one row for each in their order."""
        if not len(keys):
            return []
        array: Any = getattr(apsw, "carray")  # noqa: B009 - its stub is untyped
        return self.rows(select, (array(keys.tobytes(), flags=apsw.SQLITE_CARRAY_INT64),))

    def wait_for_locks(self, milliseconds: int) -> None:
        """Let SQLite itself wait so long for a lock before it reports that it is busy."""
        self._connection.set_busy_timeout(milliseconds)

    def roll_back(self) -> None:
        """End a transaction that is still open; does nothing where there is none."""
        if self._connection.in_transaction:
            with contextlib.suppress(apsw.Error):
                self._connection.execute("ROLLBACK")

    def close(self) -> None:
        """Close the connection, whatever is still open on it."""
        with contextlib.suppress(apsw.Error):
            self._connection.close(True)
