"""The default store: one SQLite file, shared by many threads and processes, without a server.

The file is the only source of truth. What searches need in memory (sign bits, lengths, filter fields) is loaded at the
first search, and updated when this or another process writes. `tables` describes the schema, `search` has the legs.
Modules that need NumPy are imported on first use, since listing collections does not need it.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Generator, Hashable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, Self, TypeVar, cast

from knowledge_mcp.model.chunk import Chunk, Vector
from knowledge_mcp.model.collection import (
    CollectionInfo,
    DocumentParts,
    DocumentRecord,
    EmbeddingSpace,
    StoreIdentity,
    StoreStatistics,
    WholeDocument,
)
from knowledge_mcp.model.ingest import Finding
from knowledge_mcp.model.query import ChunkKey, Filter, LegResults
from knowledge_mcp.ports import Analyser
from knowledge_mcp.stores.shared.filters import check_filter
from knowledge_mcp.stores.shared.index_memory import IndexMemory
from knowledge_mcp.stores.shared.payload import space_to_json
from knowledge_mcp.stores.shared.rules import (
    check_documents,
    check_index,
    check_query,
    check_space,
    described,
    in_stored_order,
    is_newer,
    now,
    replaced,
    terms_of,
)
from knowledge_mcp.stores.sqlite import reading
from knowledge_mcp.stores.sqlite.connection import Database
from knowledge_mcp.stores.sqlite.tables import FileIdentity, Place, Session, every_place, find_place, place_of

if TYPE_CHECKING:
    from knowledge_mcp.stores.sqlite.view import SqliteView
    from knowledge_mcp.stores.sqlite.writing import PreparedChunks

T = TypeVar("T")


@dataclass(slots=True)
class _Snapshot:
    """An open transaction, with its view once something was searched."""

    connection: Session
    place: Place
    view: SqliteView | None = None


class SqliteStore:
    """Stores collections in one SQLite file.

    Args:
        path: the file; it is created with its folder if it does not exist.
        analyser: produces the terms of the lexical leg. A collection indexed by an older version is re-indexed at its
            first use; the index of a newer version is left alone.
        patience: seconds to wait for other writers.
        memory: shared budget of the process's stores for search indexes; None for a separate one.

    Raises:
        ConnectionFailedError, InternalError, ConfigError: see `connection.Database`.
    """

    def __init__(
        self, path: Path, analyser: Analyser, *, patience: float = 120.0, memory: IndexMemory | None = None
    ) -> None:
        self.analyser = analyser
        self.database = Database(path, patience=patience)
        self._views: dict[int, SqliteView] = {}
        self._views_of: FileIdentity | None = None
        self._views_lock = threading.Lock()
        self._loading: dict[int, threading.Lock] = {}
        self._workers: ThreadPoolExecutor | None = None
        self._memory = memory or IndexMemory()

    @property
    def identity(self) -> StoreIdentity:
        return StoreIdentity("sqlite", str(self.database.path))

    def close(self) -> None:
        with self._views_lock:
            workers, self._workers = self._workers, None
            self._views.clear()
        self._memory.forget(self)
        if workers is not None:
            workers.shutdown(wait=True)
        self.database.close()

    # collections

    def create_collection(self, name: str, space: EmbeddingSpace) -> CollectionInfo:
        with self.database.reading() as connection:
            known = find_place(connection, name)
        if known is None:
            with self.database.writing() as connection:
                connection.run(
                    "INSERT INTO collections (name, space, created_at, analyser) VALUES (?, ?, ?, ?)"
                    " ON CONFLICT (name) DO NOTHING",
                    (name, space_to_json(space), now(), self.analyser.version),
                )
                known = place_of(connection, name)
        check_space(name, known.space, space)
        check_index(known, self.analyser)
        return known.info

    def collections(self) -> list[CollectionInfo]:
        with self.database.reading() as connection:
            return [described(each, self.analyser) for each in every_place(connection)]

    def drop_collection(self, name: str) -> bool:
        from knowledge_mcp.stores.sqlite.writing import drop

        with self.database.writing() as connection:
            found = connection.rows("SELECT id FROM collections WHERE name = ?", (name,))
            if not found:
                return False
            drop(connection, int(found[0][0]))
        with self._views_lock:
            self._views.pop(int(found[0][0]), None)
        self._memory.forget(self, int(found[0][0]))
        return True

    def open(self, name: str) -> SqliteHandle:
        return SqliteHandle(self, name)

    def rename_collections(self, names: Mapping[str, str]) -> None:
        from knowledge_mcp.stores.sqlite.writing import rename

        with self.database.writing() as connection:
            rename(connection, names)

    # for its handles

    def has_view(self, place: Place) -> bool:
        """Return whether a view of the collection is in memory, and its index is not older than this analyser."""
        return place.id in self._views and not is_newer(self.analyser.version, place.indexed_by)

    def drop_index(self, key: Hashable) -> None:
        """Drop the view of a collection from memory; the next search loads it again."""
        with self._views_lock:
            self._views.pop(cast("int", key), None)

    def pool(self) -> ThreadPoolExecutor:
        """Return the thread pool for the legs of a search, created on first use."""
        with self._views_lock:
            if self._workers is None:
                self._workers = ThreadPoolExecutor(2, thread_name_prefix="dense-leg")
            return self._workers

    def view_in(self, connection: Session, place: Place, *, behind: bool = False) -> SqliteView | None:
        """Return the view of a snapshot's state.

        Args:
            connection: a session in the snapshot.
            place: the collection.
            behind: build a view even if the cached one is already newer than the snapshot, which means a full load.

        Returns:
            The view, or None if the cached view is newer than the snapshot and `behind` is False.
        """
        from knowledge_mcp.stores.sqlite.view import next_view, state_of

        with self._views_lock:
            if connection.file != self._views_of:  # another file has replaced the store
                self._views.clear()
                self._views_of = connection.file
                self._memory.forget(self)
            loading = self._loading.setdefault(place.id, threading.Lock())
        with loading:  # one lock per collection: others can be searched meanwhile
            last, state = self._views.get(place.id), state_of(connection, place.id)
            is_behind = last is not None and last.version > state.version
            if is_behind and not behind:
                return None
            with self.database.decoding():
                view = next_view(connection, place.id, place.space.dimensions, last, state)
            with self._views_lock:
                kept = not is_behind and connection.file == self._views_of
                if kept:
                    self._views[place.id] = view
        if kept:
            self._memory.used(self, place.id, view.bytes)
        return view

    @contextlib.contextmanager
    def reading(self, name: str, *, indexed: bool = False) -> Generator[tuple[Session, Place]]:
        """Open a read transaction; with `indexed`, first re-index if the index is older than this analyser."""
        with self.database.reading() as connection:
            place = place_of(connection, name)
            if not indexed or not is_newer(self.analyser.version, place.indexed_by):
                yield connection, place
                return
        with self.writing(name):
            pass
        with self.reading(name, indexed=True) as found:
            yield found

    @contextlib.contextmanager
    def writing(self, name: str, *, indexes: bool = True) -> Generator[tuple[Session, Place]]:
        """Open the write transaction; with `indexes`, first re-index if the analyser version is different.

        Raises:
            ConfigError: a newer version has indexed the collection, and `indexes` is set.
        """
        with self.database.writing() as connection:
            place = place_of(connection, name)
            if indexes:
                check_index(place, self.analyser)
            if indexes and place.indexed_by != self.analyser.version:
                from knowledge_mcp.stores.sqlite.verify import rebuild_index

                rebuild_index(connection, place.id, self.analyser)
            yield connection, place


class SqliteHandle:
    """A handle on one collection of a `SqliteStore`; a snapshot is a read transaction.

    Args:
        store: the store that holds the collection.
        name: name of the collection.
    """

    def __init__(self, store: SqliteStore, name: str) -> None:
        self._store = store
        self._name = name
        self._snapshot: _Snapshot | None = None

    @contextlib.contextmanager
    def snapshot(self) -> Generator[Self]:
        while True:
            with self._store.reading(self._name) as (connection, place):
                snapshot = _Snapshot(connection, place)
                if self._store.has_view(place):
                    snapshot.view = self._store.view_in(connection, place)
                    if snapshot.view is None:
                        continue
                self._snapshot = snapshot
                try:
                    yield self
                finally:
                    self._snapshot = None
                return

    def info(self, *, counted: bool = False) -> CollectionInfo | None:
        if self._snapshot is not None:
            return self._described(self._snapshot.connection, self._snapshot.place, counted)
        with self._store.database.reading() as connection:
            found = find_place(connection, self._name)
            return None if found is None else self._described(connection, found, counted)

    def _described(self, connection: Session, place: Place, counted: bool) -> CollectionInfo:
        """Return the collection's information; its state is unique to file, collection and version."""
        statistics = StoreStatistics(*place.counts, self._store.database.storage_bytes) if counted else None
        state = f"{connection.file} {place.id} {place.version}"
        return replace(described(place, self._store.analyser), state=state, statistics=statistics)

    def publish(self, documents: Sequence[WholeDocument], on_published: Callable[[str], object]) -> None:
        from knowledge_mcp.stores.sqlite.writing import prepare, publish

        indexes = any(each.chunks for each in documents)
        with self._store.reading(self._name) as (_, prepared_in):
            check_documents(documents, prepared_in.space.dimensions)
            if indexes:
                check_index(prepared_in, self._store.analyser)
        prepared: list[tuple[WholeDocument, PreparedChunks]] = []
        for each in documents:
            chunks = in_stored_order(each.chunks)
            vectors = [one.vector for one in chunks]
            prepared.append((each, prepare([one.chunk for one in chunks], vectors, self._store.analyser)))
        with self._store.writing(self._name, indexes=indexes) as (connection, place):
            if place.id != prepared_in.id:
                raise replaced(self._name)
            publish(connection, place.id, prepared)
        for each in documents:
            on_published(each.record.id)

    def delete(self, document_id: str) -> int:
        from knowledge_mcp.stores.sqlite.writing import delete_document

        with self._store.writing(self._name, indexes=False) as (connection, place):
            return delete_document(connection, place.id, document_id)

    def vectors(self, embedding_keys: Sequence[str]) -> dict[str, Vector]:
        return self._read(lambda it, place: reading.known_vectors(it, place.id, place.space.dimensions, embedding_keys))

    def documents(self, document_ids: Sequence[str] | None = None, *, limit: int | None = None) -> list[DocumentRecord]:
        return self._read(lambda it, place: reading.records(it, place.id, document_ids, limit))

    def parts(self, document_id: str) -> DocumentParts | None:
        return self._read(lambda it, place: reading.parts(it, place.id, document_id))

    def chunks(self, key: ChunkKey, values: Sequence[str]) -> list[Chunk]:
        return self._read(lambda it, place: reading.chunks(it, place.id, key, values), indexed=key == "term")

    def search(self, *, vector: Vector | None, text: str | None, filter: Filter | None, limit: int) -> LegResults:
        from knowledge_mcp.stores.sqlite.search import legs

        check_filter(filter)
        with self._searching() as (connection, place, view):
            check_query(vector, place.space)
            terms, newer = terms_of(text, place, self._store.analyser, alone=vector is None)
            with self._store.database.decoding():
                found = legs(connection, view, self._store.pool, vector=vector, terms=terms, filter=filter, limit=limit)
            return replace(found, lexical_error=newer or found.lexical_error)

    def defined_terms(self) -> dict[str, str]:
        return self._read(lambda it, place: reading.defined_terms(it, place.id), indexed=True)

    def verify(self, *, repair: bool = False) -> list[Finding]:
        from knowledge_mcp.stores.sqlite.verify import verify

        analyser = self._store.analyser
        if not repair:
            return self._read(lambda it, place: verify(it, place, analyser, repair=False), indexed=True)
        with self._store.writing(self._name) as (connection, place):
            return verify(connection, place, analyser, repair=True)

    def unchecked_documents(self) -> int:
        """Count the documents that were stored before check sums existed."""
        from knowledge_mcp.stores.sqlite.verify import unchecked_documents

        return self._read(lambda connection, place: unchecked_documents(connection, place.id))

    @contextlib.contextmanager
    def _searching(self) -> Generator[tuple[Session, Place, SqliteView]]:
        """Open a snapshot with its view."""
        snapshot = self._indexed_snapshot()
        if snapshot is not None:
            with self._store.database.mapped():
                snapshot.view = snapshot.view or self._store.view_in(snapshot.connection, snapshot.place, behind=True)
                assert snapshot.view is not None
                yield snapshot.connection, snapshot.place, snapshot.view
            return
        while True:
            with self._store.reading(self._name, indexed=True) as (connection, place):
                view = self._store.view_in(connection, place)
                if view is not None:
                    yield connection, place, view
                    return

    def _indexed_snapshot(self) -> _Snapshot | None:
        """Return the snapshot held by this handle, unless an older analyser indexed what it sees."""
        found = self._snapshot
        return None if found is None or is_newer(self._store.analyser.version, found.place.indexed_by) else found

    def _read(self, read: Callable[[Session, Place], T], *, indexed: bool = False) -> T:
        snapshot = self._indexed_snapshot() if indexed else self._snapshot
        if snapshot is not None:
            with self._store.database.mapped(), self._store.database.decoding():
                if indexed:
                    check_index(snapshot.place, self._store.analyser)
                return read(snapshot.connection, snapshot.place)
        with self._store.reading(self._name, indexed=indexed) as (connection, place), self._store.database.decoding():
            if indexed:
                check_index(place, self._store.analyser)
            return read(connection, place)


class SqliteOptions(Protocol):
    """The settings that this store needs."""

    @property
    def store_file(self) -> Path: ...


def from_options(options: SqliteOptions, analyser: Analyser, memory: IndexMemory | None = None) -> SqliteStore:
    """Open the store that the settings specify."""
    return SqliteStore(options.store_file, analyser, memory=memory)
