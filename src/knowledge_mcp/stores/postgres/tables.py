"""The tables of the PostgreSQL store: typed statements, the schema, and a collection's row.

Only `PostgresSession` calls psycopg. The schema has a version, and older versions are migrated to the current one:

| table | one row for each |
|---|---|
| `meta` | version of the tables |
| `collections` | collection, with its counters; `state` changes with each change |
| `documents` | document: record, canonical text, structure; `generation` changes with each publish |
| `chunks`, `payloads` | chunk: what is searched and filtered, and the passage itself |
| `postings` | up to 200 postings of a term in a block: chunk, count and length of the chunk |
| `definitions` | defined term or alias of a chunk |

A *block* is what one publish has written together. Texts are stored as bytes, because they may contain characters that
PostgreSQL's text type does not allow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from types import MappingProxyType
from typing import Any

import numpy as np
import psycopg
from psycopg.adapt import Dumper
from psycopg.pq import Format

from knowledge_mcp.model.chunk import Vector
from knowledge_mcp.model.collection import CollectionInfo, EmbeddingSpace
from knowledge_mcp.model.errors import ConfigError
from knowledge_mcp.stores.shared.payload import space_from_json
from knowledge_mcp.stores.shared.rules import no_collection

Row = tuple[Any, ...]
Connection = psycopg.Connection[Row]


class PostgresVector:
    """A vector, to be bound as pgvector's type."""

    def __init__(self, vector: Vector) -> None:
        self.vector = vector


class PostgresSession:
    """Runs statements in one transaction, from one thread at a time. Raises psycopg's errors.

    Args:
        connection: to the database.
        location: the database, for messages.
    """

    def __init__(self, connection: Connection, location: str) -> None:
        self.location = location
        self._connection = connection
        self._cursor = connection.cursor(binary=True)
        self._set: dict[str, str] = {}

    @property
    def server_version(self) -> int:
        """Version of the server, such as 150004."""
        return self._connection.info.server_version

    def rows(self, statement: str, values: Sequence[object] = ()) -> list[Row]:
        """Run a statement and return its rows; vectors are returned in pgvector's binary format."""
        return self._cursor.execute(statement.encode(), values).fetchall()

    def run(self, statement: str, values: Sequence[object] = ()) -> int:
        """Run a statement and return the number of affected rows; without values there may be several statements."""
        cursor = self._cursor if values else self._connection.cursor()
        return cursor.execute(statement.encode(), values or None).rowcount

    def set(self, name: str, value: str) -> None:
        """Set a configuration parameter until the transaction ends."""
        if self._set.get(name) != value:
            self.run(f"SET LOCAL {name} = {value}")
            self._set[name] = value

    def copy(self, table: str, columns: str, types: Sequence[str | int], rows: Iterable[Row]) -> None:
        """Write many rows with COPY."""
        with self._cursor.copy(f"COPY {table} ({columns}) FROM STDIN (FORMAT BINARY)".encode()) as copying:
            copying.set_types(types)
            for row in rows:
                copying.write_row(row)


def register_vectors(oid: int) -> Callable[[Connection], None]:
    """Return a function that registers pgvector's type with a connection; its `oid` differs between databases."""

    class VectorDumper(Dumper):
        format = Format.BINARY

        def dump(self, obj: PostgresVector) -> bytes:
            numbers = np.frombuffer(obj.vector, "<f4")
            return len(numbers).to_bytes(2, "big") + b"\0\0" + numbers.astype(">f4").tobytes()

    VectorDumper.oid = oid
    return lambda connection: connection.adapters.register_dumper(PostgresVector, VectorDumper)


SCHEMA = "knowledge_mcp"
SCHEMA_VERSION = 2
NO_WORKERS = ("max_parallel_maintenance_workers", "0")
"""Setting for creating an index: parallel workers need shared memory that containers lack."""
_SERVER, _EXTENSION = 15, (0, 7)
"""Minimum versions. pgvector before 0.7 had no `halfvec`, whose index takes half the memory."""


def _cut_postings(session: PostgresSession) -> None:
    """Migrate from version 1: split postings to fit a covering index, and drop the old partial indexes."""
    session.set(*NO_WORKERS)
    session.run(f"ALTER TABLE {SCHEMA}.postings DROP CONSTRAINT postings_pkey")
    older = "SELECT indexname FROM pg_indexes WHERE schemaname = %s AND indexname ~ '^(terms|longs)_[0-9]+$'"
    for (name,) in session.rows(older, (SCHEMA,)):
        session.run(f"DROP INDEX {SCHEMA}.{name}")
    session.run(
        f"WITH long AS (DELETE FROM {SCHEMA}.postings WHERE octet_length(data) > 1800 RETURNING *)"
        f" INSERT INTO {SCHEMA}.postings SELECT collection, term, block, substr(data, start, 1800)"
        " FROM long, generate_series(1, octet_length(data), 1800) start"
    )
    # the column is rewritten, because an index also covers rows deleted just now, and renamed, so that an older process
    # cannot read it
    session.run(
        f"ALTER TABLE {SCHEMA}.postings ALTER data TYPE bytea USING substr(data, 1), ALTER data SET STORAGE EXTERNAL;"
        f"ALTER TABLE {SCHEMA}.postings RENAME data TO entries;"
        f"CREATE INDEX postings_by_term ON {SCHEMA}.postings (collection, term, block) INCLUDE (entries);"
        f"ANALYZE {SCHEMA}.postings"
    )


MIGRATIONS: Mapping[int, Callable[[PostgresSession], None]] = MappingProxyType({1: _cut_postings})
"""For each older version the step to the next one; all steps run in the transaction that sets the new version."""


@dataclass(frozen=True, slots=True)
class Extension:
    """The installed pgvector extension.

    Attributes:
        schema: its schema, quoted for use in statements.
        version: such as (0, 8, 1).
        oid: of its type `vector`.
    """

    schema: str
    version: tuple[int, ...]
    oid: int


def prepare_schema(session: PostgresSession) -> Extension:
    """Create the tables if there are none, migrate older ones, and reject those of other programs.

    Raises:
        ConfigError: server or extension are too old or missing, or the schema belongs to another program or a newer
            version.
    """
    extension = _extension(session)
    if _version(session) != SCHEMA_VERSION:
        # one process creates or migrates the tables; others wait and then find them
        session.run("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (SCHEMA,))
        version = _version(session)
        if version is None:
            if not session.rows("SELECT 1 FROM pg_namespace WHERE nspname = %s", (SCHEMA,)):
                session.run(f"CREATE SCHEMA {SCHEMA}")
            tables = files("knowledge_mcp.stores.postgres").joinpath("schema.sql").read_text("utf-8")
            session.run(tables.replace("EXTENSION", extension.schema))
            session.run(f"INSERT INTO {SCHEMA}.meta VALUES (%s)", (SCHEMA_VERSION,))
        elif version < SCHEMA_VERSION:
            while version < SCHEMA_VERSION:
                MIGRATIONS[version](session)
                version += 1
            session.run(f"UPDATE {SCHEMA}.meta SET version = %s", (SCHEMA_VERSION,))
    return extension


def check_version(session: PostgresSession, version: int) -> None:
    """Reject the tables of a newer version, which another process may have created at any time.

    Raises:
        ConfigError: the version is newer than this program.
    """
    if version > SCHEMA_VERSION:
        raise ConfigError(
            f"The store in {session.location} was written by a newer version of this program.",
            details=f"store version {version}, known up to {SCHEMA_VERSION}",
            suggestion="Upgrade this server too, or set another database in DATABASE_URL.",
        )


def _extension(session: PostgresSession) -> Extension:
    location = session.location
    if session.server_version < _SERVER * 10_000:
        raise ConfigError(
            f"The server of {location} is PostgreSQL {session.server_version // 10_000}; {_SERVER} or newer is needed.",
            suggestion="Upgrade the server, or set another one in DATABASE_URL.",
        )
    ((encoding,),) = session.rows(
        "SELECT pg_encoding_to_char(encoding) FROM pg_database WHERE datname = current_database()"
    )
    if encoding != "UTF8":
        raise ConfigError(
            f"The database {location} has the encoding {encoding}, which cannot store every document.",
            suggestion="Make a database with `CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0`.",
        )
    found = session.rows(
        "SELECT quote_ident(n.nspname), e.extversion, t.oid FROM pg_extension e JOIN pg_namespace n ON"
        " n.oid = e.extnamespace JOIN pg_type t ON t.typnamespace = n.oid AND t.typname = 'vector'"
        " WHERE e.extname = 'vector'"
    )
    if not found:
        raise ConfigError(
            f"The database {location} lacks the extension pgvector.",
            suggestion="Have an administrator execute `CREATE EXTENSION vector` in it (pgvector 0.7 or newer).",
        )
    schema, label, oid = found[0]
    version = tuple(int(part) for part in str(label).split(".") if part.isdecimal())
    if version < _EXTENSION:
        raise ConfigError(
            f"The database {location} has pgvector {label}; 0.7 or newer is needed.",
            suggestion="Ask whoever runs the server to upgrade it and execute `ALTER EXTENSION vector UPDATE`.",
        )
    return Extension(str(schema), version, int(oid))


def _version(session: PostgresSession) -> int | None:
    found = session.rows("SELECT tablename FROM pg_tables WHERE schemaname = %s", (SCHEMA,))
    tables = {str(row[0]) for row in found}
    if not tables:
        return None
    if not {"meta", "collections"} <= tables:
        raise ConfigError(
            f"The schema '{SCHEMA}' in {session.location} contains tables of another program.",
            suggestion="Set another database in DATABASE_URL.",
        )
    found = session.rows(f"SELECT version FROM {SCHEMA}.meta")
    version = int(found[0][0]) if len(found) == 1 else 0
    check_version(session, version)
    if version < SCHEMA_VERSION and version not in MIGRATIONS:
        raise ConfigError(
            f"The store in {session.location} has version {version}, which cannot be upgraded to {SCHEMA_VERSION}.",
            suggestion="Set another database in DATABASE_URL and ingest the documents again.",
        )
    return version


_SELECT = (
    "SELECT id, name, space, created_at, analyser, state::text, documents, chunks, tokens, words,"
    f" (SELECT version FROM {SCHEMA}.meta) FROM {SCHEMA}.collections"
)
_SWAPS = 3
"""How often a name is looked up again if it was given to another collection while waiting for its row."""


@dataclass(frozen=True, slots=True)
class PostgresPlace:
    """A collection as one transaction sees it.

    Attributes:
        indexed_by: version of the analyser that indexed it.
        state: changes with each change of the collection.
        documents, chunks, tokens, words: counters; words are terms of the lexical leg.
    """

    id: int
    info: CollectionInfo
    indexed_by: str
    state: str
    documents: int
    chunks: int
    tokens: int
    words: int

    @property
    def space(self) -> EmbeddingSpace:
        """The embedding space of the collection."""
        return self.info.space


def every_place(session: PostgresSession) -> list[PostgresPlace]:
    """List all collections by name."""
    return [_place(session, row) for row in session.rows(f"{_SELECT} ORDER BY name")]


def find_place(session: PostgresSession, name: str, lock: str = "") -> PostgresPlace | None:
    """Return a collection, or None if it does not exist."""
    found = session.rows(f"{_SELECT} WHERE name = %s {lock}", (name,))
    if found:
        return _place(session, found[0])
    check_version(session, int(session.rows(f"SELECT version FROM {SCHEMA}.meta")[0][0]))
    return None


def place_of(session: PostgresSession, name: str) -> PostgresPlace:
    """Return a collection.

    Raises:
        NotFoundError: it does not exist.
    """
    found = find_place(session, name)
    if found is None:
        raise no_collection(name)
    return found


def lock_place(session: PostgresSession, name: str, *, alone: bool) -> PostgresPlace:
    """Return a collection, and lock its name and its index until the transaction ends.

    Args:
        session: the transaction.
        name: name of the collection.
        alone: take an exclusive lock, which also blocks other writers.

    Raises:
        NotFoundError: it does not exist.
    """
    for _ in range(_SWAPS):
        found = find_place(session, name, "FOR UPDATE" if alone else "FOR KEY SHARE")
        if found is not None:
            return found
    raise no_collection(name)


def _place(session: PostgresSession, row: Row) -> PostgresPlace:
    identity, name, space, created_at, analyser, state, documents, chunks, tokens, words, version = row
    check_version(session, int(version))
    info = CollectionInfo(name=name, space=space_from_json(space), created_at=created_at)
    return PostgresPlace(identity, info, analyser, state, documents, chunks, tokens, words)
