"""Backup and restore of a SQLite store: copy it while it is in use, check the copy, and replace a store with it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import apsw

from knowledge_mcp.model.errors import InternalError
from knowledge_mcp.stores.shared.payload import space_from_json
from knowledge_mcp.stores.sqlite.connection import Database, as_knowledge_error
from knowledge_mcp.stores.sqlite.tables import PAGE_BYTES, Session, prepare_schema, tables_in
from knowledge_mcp.stores.sqlite.verify import damaged_parts, damaged_vectors

_PATIENCE_MILLISECONDS = 60_000
"""A restore waits this long for an ingest to end its transaction, which takes seconds."""
_AHEAD = 1_000_000
"""Far more changes than can be made to a store while it is being overwritten."""


def copy_store(store: Path, copy: Path, on_progress: Callable[[int, int], object]) -> None:
    """Copy a store in one consistent state, while others read and write it.

    Args:
        store: the store's file.
        copy: the target file; it is overwritten.
        on_progress: called with the number of pages done and the total.

    Raises:
        KnowledgeError: the store cannot be read, or the copy cannot be written.
    """
    database = Database(store)
    try:
        with database.reading() as connection:
            target = Session(copy)
            try:
                connection.copy_to(target, on_progress)
                target.run("PRAGMA journal_mode = DELETE")
            except apsw.FullError as exc:  # the disk of the copy: nothing is written to the store
                raise as_knowledge_error(exc, copy) from exc
            finally:
                target.close()
    finally:
        database.close()


def check_copy(copy: Path) -> dict[str, int]:
    """Check that a copy is a complete, undamaged store.

    Returns:
        The number of `documents` and `chunks`.

    Raises:
        ConfigError: it is not a store of this program, or was written by a newer version.
        InternalError: something in it is damaged; names it.
    """
    documents = chunks = 0
    try:
        connection = Session(copy)
        try:
            prepare_schema(connection)
            wrong = [str(row[0]) for row in connection.rows("PRAGMA integrity_check(3)") if row[0] != "ok"]
            for collection, space in connection.rows("SELECT id, space FROM collections"):
                dimensions = space_from_json(space).dimensions
                wrong += [each.message for each in damaged_parts(connection, collection)]
                wrong += [each.message for each in damaged_vectors(connection, collection, dimensions)]
            counted = "SELECT coalesce(sum(documents), 0), coalesce(sum(chunks), 0) FROM collections"
            documents, chunks = connection.rows(counted)[0]
        finally:
            connection.close()
    except (apsw.CorruptError, apsw.NotADBError) as exc:
        wrong = [f"{type(exc).__name__}: {exc}"]
    except apsw.Error as exc:
        raise as_knowledge_error(exc, copy) from exc
    if wrong:
        raise InternalError(
            "The store is damaged; a copy of it would not be a backup.",
            details=" ".join(wrong[:5]),
            suggestion="Run `knowledge doctor`, ingest what it lists again with --force, then try again.",
        )
    return {"documents": int(documents), "chunks": int(chunks)}


def put_in_place(copy: Path, store: Path) -> None:
    """Replace a store with a checked copy, atomically for everyone who uses it.

    A store that can be opened is overwritten in one transaction, so that its readers can finish what they began.
    Otherwise the file is replaced.

    Raises:
        KnowledgeError: it failed; the store is unchanged.
        OSError: the file cannot be replaced.
    """
    if store.exists() and _is_usable(store):
        _overwrite(copy, store)
        return
    for end in ("-wal", "-shm"):  # an old write-ahead log must not be applied to the new file
        store.with_name(f"{store.name}{end}").unlink(missing_ok=True)
    os.replace(copy, store)  # noqa: PTH105 - one step, whatever is there


def _is_usable(store: Path) -> bool:
    try:
        connection = Session(store)
        try:
            connection.wait_for_locks(_PATIENCE_MILLISECONDS)
            tables_in(connection)
            sound = connection.rows("PRAGMA integrity_check(1)") == [("ok",)]
            return sound and connection.rows("PRAGMA page_size") == [(PAGE_BYTES,)] and bool(_numbers(connection))
        finally:
            connection.close()
    except apsw.Error:
        return False


def _overwrite(copy: Path, store: Path) -> None:
    """Overwrite a store with a copy; versions and epochs are raised, so that all views in memory become stale."""
    try:
        live, fresh = Session(store), Session(copy)
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
    """Return the largest version and the largest epoch of all collections."""
    return connection.rows("SELECT coalesce(max(version), 0), coalesce(max(epoch), 0) FROM collections")[0]
