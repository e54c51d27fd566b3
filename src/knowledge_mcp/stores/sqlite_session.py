"""One SQLite connection with types of its own: the only place that knows how apsw's calls look."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import apsw

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["FileIdentity", "Row", "Session", "file_identity"]

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


class Session:
    """Run statements on one connection; one thread at a time. Raises apsw's errors.

    Attributes:
        file: identity of the file that was opened, which another one of the same path does not share.
    """

    def __init__(self, path: str) -> None:
        self._connection: Any = apsw.Connection(path)
        self.file = file_identity(path)

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
