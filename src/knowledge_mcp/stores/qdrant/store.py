"""The store on Qdrant (one server, its cloud or a cluster): hybrid search on named dense and sparse vectors.

`layout` describes how collections are stored, `writing` how a publish becomes visible in one step, `search` how both
legs are queried in one round trip. It connects on first use.
"""

from __future__ import annotations

import contextlib
import logging
import math
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import replace
from typing import Self, TypeVar

from qdrant_client import QdrantClient

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
from knowledge_mcp.model.errors import InternalError, InvalidInputError, KnowledgeError, NotFoundError
from knowledge_mcp.model.ingest import Finding
from knowledge_mcp.model.query import ChunkKey, Filter, LegResults
from knowledge_mcp.ports import Analyser
from knowledge_mcp.stores.qdrant import layout, reading, verify, writing
from knowledge_mcp.stores.qdrant.connection import QdrantConfig, QdrantConnection
from knowledge_mcp.stores.qdrant.layout import QdrantCollection
from knowledge_mcp.stores.qdrant.reading import KnownTotals
from knowledge_mcp.stores.qdrant.search import MovedError, QdrantQuery, TermWeights, index_again, search
from knowledge_mcp.stores.shared.filters import absent_in, check_filter, chunk_ids_in
from knowledge_mcp.stores.shared.rules import (
    check_index,
    check_query,
    check_space,
    described,
    is_newer,
    no_collection,
    terms_of,
)
from knowledge_mcp.support.events import log_event

T = TypeVar("T")

_SWAPS = 5

_logger = logging.getLogger(__name__)


class QdrantStore:
    """Stores collections in Qdrant.

    Args:
        config: which server, and how collections are created there.
        analyser: produces the terms of the lexical leg. A collection indexed by an older version is re-indexed at its
            first use; the index of a newer version is left alone.
        connect: creates the client instead of `config`; for the client's local mode.
    """

    def __init__(
        self, config: QdrantConfig, analyser: Analyser, *, connect: Callable[[], QdrantClient] | None = None
    ) -> None:
        self.analyser = analyser
        self.connection = QdrantConnection(config, connect)
        self._known: dict[str, tuple[float, QdrantCollection, int]] = {}
        self.totals = KnownTotals()
        self._lock = threading.Lock()
        self._indexing = threading.Lock()
        self._weights = TermWeights(config.drift, self.totals)

    @property
    def identity(self) -> StoreIdentity:
        return StoreIdentity("qdrant", self.connection.location)

    def close(self) -> None:
        self.connection.close()

    # collections

    def create_collection(self, name: str, space: EmbeddingSpace) -> CollectionInfo:
        known = self.look(name)
        if known is None:
            layout.create(self.connection, name, space, self.analyser.version)
            known = self.look(name)
        if known is None:
            raise NotFoundError(f"Collection '{name}' was dropped by another process just after it was made.")
        check_space(name, known.space, space)
        check_index(known, self.analyser)
        return known.info

    def collections(self) -> list[CollectionInfo]:
        return [described(each, self.analyser) for each in layout.all_places(self.connection)]

    def drop_collection(self, name: str) -> bool:
        place = self.look(name)
        if place is None:
            return False
        layout.drop(place)
        self.forget(name)
        return True

    def open(self, name: str) -> QdrantHandle:
        return QdrantHandle(self, name)

    def rename_collections(self, names: Mapping[str, str]) -> None:
        layout.rename(self.connection, names)

    # for its handles

    def look(self, name: str) -> QdrantCollection | None:
        return layout.look(self.connection, name)

    def fresh(self, name: str) -> QdrantCollection:
        """Return the current description of a collection; re-index it first if its analyser is older."""
        place = self.look(name)
        if place is None:
            raise no_collection(name)
        if is_newer(self.analyser.version, place.analyser):
            with self._indexing:
                place = self.look(name)
                if place is not None and is_newer(self.analyser.version, place.analyser):
                    index_again(place, self.analyser)
            return self.fresh(name)
        return place

    def described_lately(self, name: str, known: QdrantCollection | None) -> tuple[QdrantCollection, int, bool]:
        """Return a collection's description, its approximate number of points, and whether it was cached."""
        with self._lock:
            since, place, points = self._known.get(name, (-math.inf, known, 0))
        kept = self.connection.config.known_seconds
        if place is not None and time.monotonic() - since < kept and known in {None, place}:
            return place, points, True
        place = known or self.fresh(name)
        points = self.connection.count(place.home, None, exact=False)
        with self._lock:
            self._known[name] = (time.monotonic(), place, points)
        return place, points, known is not None

    def forget(self, name: str) -> None:
        with self._lock:
            self._known.pop(name, None)

    def written(self, place: QdrantCollection, documents: int = 1) -> None:
        """Update weights after a write. A failure does not undo the write; the next writer tries again."""
        try:
            self._weights.after_write(place, documents)
        except KnowledgeError as exc:
            log_event(_logger, logging.WARNING, "bm25_not_weighed", collection=place.name, reason=exc.message)

    def statistics(self, place: QdrantCollection) -> StoreStatistics:
        """Return the counts of a collection with an up-to-date description."""
        counted = self.totals.of(place)
        return StoreStatistics(counted.documents, counted.chunks, counted.tokens, counted.size)


class QdrantHandle:
    """A handle on one collection of a `QdrantStore`; a snapshot keeps the collection that the name refers to.

    Args:
        store: the store that holds the collection.
        name: name of the collection.
    """

    def __init__(self, store: QdrantStore, name: str) -> None:
        self._store = store
        self._name = name
        self._snapshot: QdrantCollection | None = None

    @contextlib.contextmanager
    def snapshot(self) -> Generator[Self]:
        self._snapshot = self._store.fresh(self._name)
        try:
            yield self
        finally:
            self._snapshot = None

    def info(self, *, counted: bool = False) -> CollectionInfo | None:
        known = self._snapshot or self._store.look(self._name)
        if known is None:
            return None
        statistics = self._read(self._store.statistics) if counted else None
        return replace(
            described(known, self._store.analyser), state=f"{known.home} {known.changed}", statistics=statistics
        )

    def publish(self, documents: Sequence[WholeDocument], on_published: Callable[[str], object]) -> None:
        place = self._store.fresh(self._name)
        if any(each.chunks for each in documents):
            check_index(place, self._store.analyser)
        for published in writing.publish(place, self._store.analyser, documents):
            self._store.written(place, len(published))
            for document_id in published:
                on_published(document_id)

    def delete(self, document_id: str) -> int:
        place = self._store.fresh(self._name)
        removed = writing.delete_document(place, document_id)
        self._store.written(place)
        return removed

    def vectors(self, embedding_keys: Sequence[str]) -> dict[str, Vector]:
        return self._read(lambda place: reading.known_vectors(place, embedding_keys))

    def documents(self, document_ids: Sequence[str] | None = None, *, limit: int | None = None) -> list[DocumentRecord]:
        return self._read(lambda place: reading.records(place, document_ids, limit))

    def parts(self, document_id: str) -> DocumentParts | None:
        return self._read(lambda place: reading.parts(place, document_id))

    def chunks(self, key: ChunkKey, values: Sequence[str]) -> list[Chunk]:
        def read(place: QdrantCollection) -> list[Chunk]:
            if key == "term":
                check_index(place, self._store.analyser)
            return reading.chunks(place, key, values)

        return self._read(read)

    def search(self, *, vector: Vector | None, text: str | None, filter: Filter | None, limit: int) -> LegResults:
        check_filter(filter)
        for _ in range(_SWAPS):
            place, points, kept = self._store.described_lately(self._name, self._snapshot)
            try:
                return self._legs(place, points, vector=vector, text=text, filter=filter, limit=limit)
            except MovedError:
                self._forget()
            except (NotFoundError, InvalidInputError):
                self._forget()  # the cached description may be of a collection that is gone
                if not kept:
                    raise
        raise InternalError(f"Collection '{self._name}' keeps changing its name.", suggestion="Search again.")

    def defined_terms(self) -> dict[str, str]:
        return self._read(lambda place: reading.defined_terms(place, self._store.analyser))

    def verify(self, *, repair: bool = False) -> list[Finding]:
        place = self._store.fresh(self._name)
        return verify.verify(place, repair=repair)

    def _read(self, read: Callable[[QdrantCollection], T]) -> T:
        """Read from the collection; one that was dropped during a snapshot is looked up again."""
        place = self._snapshot
        if place is not None:
            try:
                return read(place)
            except NotFoundError:
                self._snapshot = None
        return read(self._store.fresh(self._name))

    def _forget(self) -> None:
        self._snapshot = None
        self._store.forget(self._name)

    def _legs(
        self,
        place: QdrantCollection,
        points: int,
        *,
        vector: Vector | None,
        text: str | None,
        filter: Filter | None,
        limit: int,
    ) -> LegResults:
        check_query(vector, place.space)
        analyser = self._store.analyser
        terms, newer = terms_of(text, place, analyser, alone=vector is None)
        exact = points <= self._store.connection.config.exact_up_to or chunk_ids_in(filter)[1] is not None
        mean = None
        if terms and (absent := absent_in(filter)):  # see `search`: what the user may not see must not affect weights
            now = self._snapshot or self._store.fresh(self._name)
            mean = self._store.totals.without(now, absent).mean
        found = search(place, QdrantQuery(vector, terms, filter, limit, exact, mean))
        return replace(found, lexical_error=newer or found.lexical_error)
