"""One transaction's connection with types of its own: the only place that knows how psycopg's calls look."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import psycopg
from psycopg.adapt import Dumper
from psycopg.pq import Format

from knowledge_mcp.model.chunk import Vector

Row = tuple[Any, ...]
Connection = psycopg.Connection[Row]


class PostgresVector:
    """Bind a vector as pgvector's own type."""

    def __init__(self, vector: Vector) -> None:
        self.vector = vector


class PostgresSession:
    """Run statements in one transaction; one thread at a time. Raises psycopg's errors."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._cursor = connection.cursor(binary=True)

    @property
    def server_version(self) -> int:
        """Name the server's version, such as 150004."""
        return self._connection.info.server_version

    def rows(self, statement: str, values: Sequence[object] = ()) -> list[Row]:
        """Run a statement and list its rows; vectors come as `reading.floats` takes them."""
        return self._cursor.execute(statement.encode(), values).fetchall()

    def run(self, statement: str, values: Sequence[object] = ()) -> int:
        """Run a statement and tell how many rows it has met; without values it may be several."""
        cursor = self._cursor if values else self._connection.cursor()
        return cursor.execute(statement.encode(), values or None).rowcount

    def copy(self, table: str, columns: str, types: Sequence[str | int], rows: Iterable[Row]) -> None:
        """Write many rows."""
        with self._cursor.copy(f"COPY {table} ({columns}) FROM STDIN (FORMAT BINARY)".encode()) as copying:
            copying.set_types(types)
            for row in rows:
                copying.write_row(row)


def taught(oid: int) -> Callable[[Connection], None]:
    """Teach connections to write pgvector's type, whose number is the database's own."""

    class VectorDumper(Dumper):
        format = Format.BINARY

        def dump(self, obj: PostgresVector) -> bytes:
            numbers = np.frombuffer(obj.vector, "<f4")
            return len(numbers).to_bytes(2, "big") + b"\0\0" + numbers.astype(">f4").tobytes()

    VectorDumper.oid = oid
    return lambda connection: connection.adapters.register_dumper(PostgresVector, VectorDumper)
