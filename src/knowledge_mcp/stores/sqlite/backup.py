"""Copies of a SQLite store: made while it is used, checked, and put in its place."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import apsw

from knowledge_mcp.model.errors import InternalError
from knowledge_mcp.stores.sqlite.connection import Database, as_knowledge_error
from knowledge_mcp.stores.sqlite.tables import PAGE_BYTES, Session, prepare_schema
from knowledge_mcp.stores.sqlite.verify import damaged_parts

_PATIENCE_MILLISECONDS = 60_000
"""A restore waits for an ingest to end its transaction, which takes seconds."""
_AHEAD = 1_000_000
"""Changes that may be made to a store while it is overwritten, by far."""


def copy_store(store: Path, copy: Path, on_progress: Callable[[int, int], object]) -> None:
    """Copy a store as it is at one moment, while others read and write it.

    Args:
        store: its file.
        copy: file that is overwritten.
        on_progress: is told pages done and pages in all.

    Raises:
        KnowledgeError: the store cannot be read, or the copy not be written.
    """
    database = Database(store)
    try:
        with database.reading() as connection:
            target = Session(str(copy))
            try:
                connection.copy_to(target, on_progress)
                target.run("PRAGMA journal_mode = DELETE")
            finally:
                target.close()
    finally:
        database.close()


def check_copy(copy: Path) -> dict[str, int]:
    """Make sure that a copy is a whole store whose evidence is what was stored; returns counts.

    Raises:
        ConfigError: it is no store of this program, or of a newer version.
        InternalError: something in it is damaged; names it.
    """
    try:
        connection = Session(str(copy))
        try:
            prepare_schema(connection, copy)
            wrong = [str(row[0]) for row in connection.rows("PRAGMA integrity_check(3)") if row[0] != "ok"]
            for (collection,) in connection.rows("SELECT id FROM collections"):
                wrong += [each.message for each in damaged_parts(connection, collection)]
            counts = connection.rows("SELECT coalesce(sum(documents), 0), coalesce(sum(chunks), 0) FROM collections")
        finally:
            connection.close()
    except apsw.Error as exc:
        raise as_knowledge_error(exc, copy) from exc
    if wrong:
        raise InternalError(
            "The store is damaged; a copy of it would not be a backup.",
            details=" ".join(wrong[:5]),
            suggestion="Run `knowledge doctor`, ingest again with --force what it names, then try again.",
        )
    return {"documents": int(counts[0][0]), "chunks": int(counts[0][1])}


def put_in_place(copy: Path, store: Path) -> None:
    """Put a checked copy in the place of a store, in one step for whoever uses it.

    A store that can be opened is overwritten in one transaction, so that those who read it finish what they began. One
    that cannot, or none, is replaced as a file.

    Raises:
        KnowledgeError: it cannot be done; the store is as it was.
        OSError: the file cannot be replaced.
    """
    if store.exists() and _is_usable(store):
        _overwrite(copy, store)
        return
    for end in ("-wal", "-shm"):  # the log of what cannot be opened must not be read into what takes its place
        store.with_name(f"{store.name}{end}").unlink(missing_ok=True)
    os.replace(copy, store)  # noqa: PTH105 - one step, whatever is there


def _is_usable(store: Path) -> bool:
    try:
        connection = Session(str(store))
        try:
            connection.wait_for_locks(_PATIENCE_MILLISECONDS)
            sound = connection.rows("PRAGMA integrity_check(1)") == [("ok",)]
            return sound and connection.rows("PRAGMA page_size") == [(PAGE_BYTES,)] and bool(_numbers(connection))
        finally:
            connection.close()
    except apsw.Error:
        return False


def _overwrite(copy: Path, store: Path) -> None:
    """Write a copy into a store; what searches hold in memory of the old one is out of date after it."""
    try:
        live, fresh = Session(str(store)), Session(str(copy))
        try:
            live.wait_for_locks(_PATIENCE_MILLISECONDS)
            version, epoch = (max(a, b) + _AHEAD for a, b in zip(_numbers(live), _numbers(fresh), strict=True))
            fresh.run("UPDATE collections SET version = version + ?, epoch = epoch + ?", (version, epoch))
            fresh.copy_to(live, lambda _done, _total: None, pages=-1)
        finally:
            fresh.close()
            live.close()
    except apsw.Error as exc:
        raise as_knowledge_error(exc, store) from exc


def _numbers(connection: Session) -> tuple[int, int]:
    """Return the greatest numbers of a change and of an epoch."""
    return connection.rows("SELECT coalesce(max(version), 0), coalesce(max(epoch), 0) FROM collections")[0]
