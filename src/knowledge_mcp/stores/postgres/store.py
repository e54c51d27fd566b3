"""PostgreSQL with pgvector: one transactional store for many machines, on a server that a company already runs.

All data is in the tables of one schema (`tables`). Only sizes and document frequencies are cached in memory between
calls. `writing` replaces documents, `search` has the legs.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Self, TypeVar

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
from knowledge_mcp.model.errors import KnowledgeError, NotFoundError, sound
from knowledge_mcp.model.ingest import Finding
from knowledge_mcp.model.query import ChunkKey, Filter, LegResults
from knowledge_mcp.ports import Analyser
from knowledge_mcp.stores.postgres import verify, writing
from knowledge_mcp.stores.postgres.connection import PostgresDatabase
from knowledge_mcp.stores.postgres.search import Known, Search, condition, known_vectors
from knowledge_mcp.stores.postgres.tables import (
    SCHEMA,
    PostgresPlace,
    PostgresSession,
    every_place,
    find_place,
    lock_place,
    place_of,
)
from knowledge_mcp.stores.postgres.writing import IndexedDocument
from knowledge_mcp.stores.shared.filters import absent_in, check_filter
from knowledge_mcp.stores.shared.payload import chunk_from_json, parts_from, record_from_json, space_to_json
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
from knowledge_mcp.support.batches import grouped
from knowledge_mcp.support.events import log_event

T = TypeVar("T")
Reading = Callable[[PostgresSession, PostgresPlace], T]
_logger = logging.getLogger(__name__)

_DOCUMENTS_AT_ONCE, _CHUNKS_AT_ONCE = 64, 2_000
"""Limits for one publish transaction: a server has room for 64 locks per connection, and none should last long."""


class PostgresStore:
    """Stores collections in one PostgreSQL database; connects on first use.

    Args:
        url: connection string, as libpq accepts it.
        analyser: produces the terms of the lexical leg. A collection indexed by an older version is re-indexed at its
            first use; the index of a newer version is left alone.
        patience: seconds to wait for other writers.

    Raises:
        ConfigError: the connection string is invalid, or the client is not installed.
    """

    def __init__(self, url: str, analyser: Analyser, *, patience: float = 120.0) -> None:
        self.analyser = analyser
        self.database = PostgresDatabase(url, patience=patience)
        self.known: Known = {}
        self.sizes: dict[int, tuple[str, int]] = {}
        self.indexed: set[int] = set()

    @property
    def identity(self) -> StoreIdentity:
        return StoreIdentity("postgres", self.database.location)

    def close(self) -> None:
        self.database.close()

    def create_collection(self, name: str, space: EmbeddingSpace) -> CollectionInfo:
        def create(session: PostgresSession) -> PostgresPlace:
            session.run(
                f"INSERT INTO {SCHEMA}.collections (name, space, created_at, analyser) VALUES (%s, %s, %s, %s)"
                " ON CONFLICT (name) DO NOTHING",
                (name, space_to_json(space), now(), self.analyser.version),
            )
            return place_of(session, name)

        known = self.database.read(lambda session: find_place(session, name))
        if known is None:
            known = self.database.write(create, lambda _: None)
        check_space(name, known.space, space)
        check_index(known, self.analyser)
        return known.info

    def collections(self) -> list[CollectionInfo]:
        return [described(each, self.analyser) for each in self.database.read(every_place)]

    def drop_collection(self, name: str) -> bool:
        dropped: list[PostgresPlace] = []

        def work(session: PostgresSession) -> bool:
            try:
                dropped[:] = [lock_place(session, name, alone=True)]
            except NotFoundError:
                return False
            writing.drop(session, dropped[0])
            return True

        def gone(session: PostgresSession) -> bool | None:
            there = {each.id for each in every_place(session)}
            return True if dropped and dropped[0].id not in there else None

        return self.database.write(work, gone)

    def open(self, name: str) -> PostgresHandle:
        return PostgresHandle(self, name)

    def rename_collections(self, names: Mapping[str, str]) -> None:
        renamed: dict[int, str] = {}

        def work(session: PostgresSession) -> None:
            renamed.update(writing.rename(session, names))

        def done(session: PostgresSession) -> bool | None:
            there = {each.id: each.info.name for each in every_place(session)}
            return True if all(there.get(each) == name for each, name in renamed.items()) else None

        self.database.write(work, done)


class PostgresHandle:
    """A handle on one collection of a `PostgresStore`; a snapshot is a read transaction.

    Args:
        store: the store that holds the collection.
        name: name of the collection.
    """

    def __init__(self, store: PostgresStore, name: str) -> None:
        self._store = store
        self._database = store.database
        self._name = name
        self._snapshot: tuple[PostgresSession, PostgresPlace] | None = None

    @contextlib.contextmanager
    def snapshot(self) -> Generator[Self]:
        with self._database.snapshot() as session:
            self._snapshot = session, place_of(session, self._name)
            try:
                yield self
            finally:
                self._snapshot = None

    def info(self, *, counted: bool = False) -> CollectionInfo | None:
        def describe(session: PostgresSession, place: PostgresPlace) -> CollectionInfo:
            statistics = self._statistics(session, place) if counted else None
            return replace(described(place, self._store.analyser), state=place.state, statistics=statistics)

        try:
            return self._read(describe)
        except NotFoundError:
            return None

    def publish(self, documents: Sequence[WholeDocument], on_published: Callable[[str], object]) -> None:
        place = self._read(lambda _, place: place)
        check_documents(documents, place.space.dimensions)
        if any(each.chunks for each in documents):
            check_index(place, self._store.analyser)
        for group in grouped(
            documents,
            (_DOCUMENTS_AT_ONCE, _CHUNKS_AT_ONCE),
            lambda each: (1, len(each.chunks)),
            lambda each: each.record.id,
        ):
            self._publish([(each, self._indexed(each)) for each in group], place, on_published)

    def _indexed(self, document: WholeDocument) -> IndexedDocument:
        return writing.prepare([each.chunk for each in in_stored_order(document.chunks)], self._store.analyser)

    def _publish(
        self,
        group: Sequence[tuple[WholeDocument, IndexedDocument]],
        prepared_in: PostgresPlace,
        on_published: Callable[[str], object],
    ) -> None:
        ids = [document.record.id for document, _ in group]
        tried: set[int] = set()
        indexes = any(document.chunks for document, _ in group)

        def work(session: PostgresSession) -> PostgresPlace:
            place = self._locked(session, indexes=indexes)
            if place.id != prepared_in.id:
                raise replaced(self._name)
            tried.update(writing.publish(session, self._database.extension, place, group))
            return place

        def written(session: PostgresSession) -> PostgresPlace | None:
            return prepared_in if tried & writing.generations(session, prepared_in.id, ids) else None

        place = self._database.write(work, written)
        for each in ids:
            on_published(each)
        added = sum(len(document.chunks) for document, _ in group)
        if place.chunks + added >= writing.INDEX_FROM_CHUNKS and place.id not in self._store.indexed:
            self._index(place)

    def _index(self, place: PostgresPlace) -> None:
        names = writing.index_names(place)
        select = "SELECT count(*) FROM pg_indexes WHERE schemaname = %s AND indexname = ANY(%s)"
        try:
            if self._database.read(lambda it: it.rows(select, (SCHEMA, names)))[0][0] < len(names):
                self._database.write(
                    lambda it: writing.index_chunks(it, self._database.extension, place), lambda _: None
                )
            self._store.indexed.add(place.id)
        except KnowledgeError as exc:  # documents are stored and all vectors are compared; the next publish tries again
            log_event(_logger, logging.WARNING, "index_not_made", reason=exc.message)

    def delete(self, document_id: str) -> int:
        removed: dict[int, int] = {}

        def work(session: PostgresSession) -> int:
            place = self._locked(session, indexes=False)
            writing.lock_documents(session, place.id, [document_id])
            seen = writing.generations(session, place.id, [document_id])
            gone = writing.remove(session, place.id, [document_id])
            removed.update(dict.fromkeys(seen, int(gone[1])))
            if gone.any():
                writing.count(session, place.id, -gone)
            return int(gone[1])

        def done(session: PostgresSession) -> int | None:
            place = place_of(session, self._name)
            left = writing.generations(session, place.id, [document_id])
            return next((chunks for generation, chunks in removed.items() if generation not in left), None)

        return self._database.write(work, done)

    def vectors(self, embedding_keys: Sequence[str]) -> dict[str, Vector]:
        return self._read(lambda session, place: known_vectors(session, place.id, embedding_keys))

    def documents(self, document_ids: Sequence[str] | None = None, *, limit: int | None = None) -> list[DocumentRecord]:
        among, ids = ("", ()) if document_ids is None else (" AND document_id = ANY(%s)", (list(document_ids),))
        select = f"SELECT record, document_id FROM {SCHEMA}.documents WHERE collection = %s{among}"
        found = self._rows(f"{select} ORDER BY document_id LIMIT %s", *ids, limit)
        return sound(found, lambda row: record_from_json(row[0], row[1]))

    def parts(self, document_id: str) -> DocumentParts | None:
        found = self._rows(
            f"SELECT record, document_id, text, structure FROM {SCHEMA}.documents"
            " WHERE collection = %s AND document_id = %s",
            document_id,
        )
        return parts_from(*found[0]) if found else None

    def chunks(self, key: ChunkKey, values: Sequence[str]) -> list[Chunk]:
        given = list(dict.fromkeys(values))
        if key == "term":
            chosen = (
                f"SELECT DISTINCT term_key AS value, key FROM {SCHEMA}.definitions"
                " WHERE collection = %s AND term_key = ANY(%s)"
            )
        else:
            column = {"id": "chunk_id", "document": "document_id", "content": "content_hash"}[key]
            chosen = f"SELECT {column} AS value, key FROM {SCHEMA}.chunks WHERE collection = %s AND {column} = ANY(%s)"
        found = self._rows(
            f"SELECT value, payload FROM ({chosen}) chosen JOIN {SCHEMA}.chunks USING (key)"
            f" JOIN {SCHEMA}.payloads USING (key) ORDER BY document_id, position, chunk_id",
            given,
            indexed=key == "term",
        )
        by_value: dict[str, list[Any]] = {}
        for value, payload in found:
            by_value.setdefault(value, []).append(payload)
        return sound([each for value in values for each in by_value.get(value, ())], chunk_from_json)

    def search(self, *, vector: Vector | None, text: str | None, filter: Filter | None, limit: int) -> LegResults:
        check_filter(filter)

        def work(session: PostgresSession, place: PostgresPlace) -> LegResults:
            check_query(vector, place.space)
            terms, newer = terms_of(text, place, self._store.analyser, alone=vector is None)
            asked = (*condition(filter), max(0, limit), self._store.known, absent_in(filter))
            found = Search(session, self._database.extension, place, *asked).legs(vector, terms)
            return replace(found, lexical_error=newer or found.lexical_error)

        return self._read(work, indexed=True, by_newer=True)

    def defined_terms(self) -> dict[str, str]:
        """Map keys to terms as printed: terms take precedence over aliases, earlier documents over later ones."""
        found = self._rows(
            f"SELECT DISTINCT ON (term_key) term_key, term FROM {SCHEMA}.definitions WHERE collection = %s"
            " ORDER BY term_key, alias, document_id, position, place, key",
            indexed=True,
        )
        return dict(found)

    def verify(self, *, repair: bool = False) -> list[Finding]:
        def work(session: PostgresSession, place: PostgresPlace) -> list[Finding]:
            return verify.verify(session, place, self._store.analyser, repair=repair)

        if not repair:
            return self._read(work, indexed=True)
        return self._database.write(lambda session: work(session, self._locked(session, alone=True)), lambda _: None)

    def _rows(self, statement: str, *values: object, indexed: bool = False) -> list[Any]:
        """Read rows of this collection, whose id is the first value of the statement."""
        return self._read(lambda session, place: session.rows(statement, (place.id, *values)), indexed=indexed)

    def _read(self, read: Reading[T], *, indexed: bool = False, by_newer: bool = False) -> T:
        """Read in this handle's snapshot, or in a new one.

        Args:
            read: reads from a session.
            indexed: the data depends on the analyser; a collection indexed by an older version is re-indexed first.
            by_newer: an index of a newer version is acceptable too.
        """
        own = self._store.analyser.version

        def checked(session: PostgresSession, place: PostgresPlace) -> T:
            if indexed and not by_newer:
                check_index(place, self._store.analyser)
            return read(session, place)

        if self._snapshot is not None and not (indexed and is_newer(own, self._snapshot[1].indexed_by)):
            with self._database.mapped():
                return checked(*self._snapshot)

        def work(session: PostgresSession) -> tuple[T] | None:
            place = place_of(session, self._name)
            return None if indexed and is_newer(own, place.indexed_by) else (checked(session, place),)

        while (found := self._database.read(work)) is None:
            self._database.write(self._locked, lambda _: None)
        return found[0]

    def _locked(self, session: PostgresSession, *, indexes: bool = True, alone: bool = False) -> PostgresPlace:
        """Lock the collection for a write transaction; with `indexes`, first re-index it if its analyser is older.

        Raises:
            ConfigError: a newer version has indexed the collection, and `indexes` is set.
        """
        # checked before locking: two holders of a shared lock could not upgrade it to an exclusive one
        version = self._store.analyser.version
        is_other = indexes and place_of(session, self._name).indexed_by != version
        place = lock_place(session, self._name, alone=alone or is_other)
        if not indexes or place.indexed_by == version:
            return place
        check_index(place, self._store.analyser)
        verify.rebuild_index(session, place, self._store.analyser)
        return lock_place(session, self._name, alone=True)

    def _statistics(self, session: PostgresSession, place: PostgresPlace) -> StoreStatistics:
        """Count a collection. The server computes the size from its files, so it is cached for each state."""
        state, size = self._store.sizes.get(place.id, ("", 0))
        if state != place.state:
            ((size,),) = session.rows(
                "SELECT sum(pg_total_relation_size(c.oid))::bigint FROM pg_class c JOIN pg_namespace n"
                " ON n.oid = c.relnamespace WHERE n.nspname = %s AND c.relkind = 'r'",
                (SCHEMA,),
            )
            self._store.sizes[place.id] = (place.state, int(size))
        return StoreStatistics(place.documents, place.chunks, place.tokens, storage_bytes=int(size))
