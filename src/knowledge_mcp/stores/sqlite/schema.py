"""The tables of the SQLite store, their version, and the way from an older version to this one.

| table | one row for each |
|---|---|
| `collections` | collection, with its counters and the number of its last change |
| `generations` | set of chunks of a document; one that is not visible was left by an older version |
| `chunks`, `vectors` | chunk of a generation |
| `documents`, `texts` | visible document: its record, its canonical text |
| `structures` | visible document that has sections or pages: these; since version 2 |
| `blocks` | visible generation: what searches hold in memory of its chunks, slot by slot |
| `graves` | block that has gone, for those who have it in memory |
| `segments`, `postings` | part of the inverted index; term in such a part: slots and counts |
| `definitions` | defined term or alias of a visible chunk |

A *slot* is a chunk's number in the memory and in the postings of its collection; a block has consecutive ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

from knowledge_mcp.model.errors import ConfigError
from knowledge_mcp.stores.sqlite.session import Session

SCHEMA_VERSION = 2
PAGE_BYTES = 8192
"""Holds five vectors of 384 components, where SQLite's own 4096 would hold two and waste a quarter."""

Migration = Callable[[Session], None]

_STRUCTURES = "CREATE TABLE structures (generation INTEGER PRIMARY KEY, structure TEXT NOT NULL)"


def _add_structures(connection: Session) -> None:
    """Make room for sections and pages; documents get theirs when they are read the next time."""
    connection.run(_STRUCTURES)


MIGRATIONS: Mapping[int, Migration] = MappingProxyType({1: _add_structures})
"""From each older version the step to the next one, run inside the transaction that ends with the new version."""

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


def prepare_schema(connection: Session, path: Path) -> None:
    """Make the tables in an empty file, bring older ones to this version, and refuse what is not ours.

    Raises:
        ConfigError: the file holds other tables, or those of a newer version.
    """
    if _version(connection, path) == SCHEMA_VERSION:
        return
    connection.run("BEGIN IMMEDIATE")
    version = _version(connection, path)
    if version is None:
        connection.run(_TABLES)
        connection.run("INSERT INTO schema_version VALUES (?)", (SCHEMA_VERSION,))
    else:
        while version < SCHEMA_VERSION:
            MIGRATIONS[version](connection)
            version += 1
        connection.run("UPDATE schema_version SET version = ?", (SCHEMA_VERSION,))
    connection.run("COMMIT")


def check_version(connection: Session, path: Path) -> int:
    """Return the version of a store's tables; a transaction asks first, as another process may have changed them.

    Raises:
        ConfigError: it is a newer one.
    """
    found = connection.rows("SELECT version FROM schema_version")
    version = int(found[0][0]) if found else 0
    if version > SCHEMA_VERSION:
        raise ConfigError(
            f"'{path}' was written by a newer version of this program.",
            details=f"store version {version}, known up to {SCHEMA_VERSION}",
            suggestion="Upgrade knowledge-mcp, or set DATA_PATH to another folder.",
        )
    return version


def _version(connection: Session, path: Path) -> int | None:
    tables = {str(row[0]) for row in connection.rows("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    if not tables:
        return None
    if not {"schema_version", "collections", "generations"} <= tables:
        raise ConfigError(
            f"'{path}' is a SQLite file of another program.",
            suggestion="Set DATA_PATH to another folder.",
        )
    version = check_version(connection, path)
    if version < SCHEMA_VERSION and version not in MIGRATIONS:
        raise ConfigError(
            f"'{path}' has store version {version}, which cannot be upgraded to {SCHEMA_VERSION}.",
            suggestion="Set DATA_PATH to another folder and ingest the documents again.",
        )
    return version
