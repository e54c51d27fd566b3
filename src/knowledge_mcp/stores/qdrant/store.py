"""The store on Qdrant: one server, its cloud or a cluster; hybrid search on named dense and sparse vectors.

`qdrant_layout` tells how collections lie there, `qdrant_writing` how a publish becomes visible in one step,
`qdrant_search` how both legs are asked in one round trip. Nothing is imported or connected before the first use.
"""

from __future__ import annotations

import contextlib
import logging
import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, TypeVar

from knowledge_mcp.model.chunk import Chunk, Vector
from knowledge_mcp.model.collection import (
    CollectionInfo,
    DocumentRecord,
    DocumentStructure,
    EmbeddingSpace,
    StoreStatistics,
    WholeDocument,
)
from knowledge_mcp.model.errors import (
    ConfigError,
    InternalError,
    InvalidInputError,
    KnowledgeError,
    NotFoundError,
    SpaceMismatchError,
)
from knowledge_mcp.model.ingest import Finding
from knowledge_mcp.model.query import Filter, LegResults
from knowledge_mcp.ports import Analyser
from knowledge_mcp.stores.qdrant.connection import (
    QdrantConfig,
    QdrantConnection,
    QdrantOptions,
    config_of,
    need_library,
)
from knowledge_mcp.stores.shared.filters import check_filter
from knowledge_mcp.stores.shared.rules import SnapshotValues, check_query, is_newer, newer_index
from knowledge_mcp.support.events import log_event

if TYPE_CHECKING:
    from qdrant_client import QdrantClient

    from knowledge_mcp.stores.qdrant.layout import QdrantCollection
    from knowledge_mcp.stores.qdrant.search import TermWeights

__all__ = ["QdrantStore", "from_options"]

T = TypeVar("T")

_SWAPS = 5

_logger = logging.getLogger(__name__)


class QdrantStore:
    """Keep collections in Qdrant.

    Args:
        config: which server, and how collections are made there.
        analyser: gives the terms of the lexical leg; a collection indexed by an older version is indexed again at its
            first use, the index of a newer one is left as it is.
        connect: builds the client instead of `config`; for the client's local mode.
    """

    def __init__(
        self, config: QdrantConfig, analyser: Analyser, *, connect: Callable[[], QdrantClient] | None = None
    ) -> None:
        self._analyser = analyser
        self._connection = QdrantConnection(config, connect)
        self._known: dict[str, tuple[float, QdrantCollection, int]] = {}
        self._totals: dict[str, tuple[str, int, StoreStatistics, int]] = {}
        self._lock = threading.Lock()
        self._indexing = threading.Lock()
        self._weights: TermWeights | None = None
        self._held: SnapshotValues[QdrantCollection] = SnapshotValues()

    @property
    def backend(self) -> str:
        return "qdrant"

    @property
    def location(self) -> str:
        return self._connection.location

    def ping(self) -> None:
        need_library()
        self._connection.ping()

    def close(self) -> None:
        self._connection.close()

    def lexical_capability(self, collection: str) -> Literal["sparse", "full-text"]:
        """Tell how the lexical leg of a collection works: by sparse vectors, or by the full-text fallback."""
        return "sparse" if self._fresh(collection).lexical == "sparse" else "full-text"

    # collections

    def create_collection(self, name: str, space: EmbeddingSpace) -> CollectionInfo:
        known = self._look(name)
        if known is None:
            from knowledge_mcp.stores.qdrant.layout import create

            create(self._connection, name, space, self._analyser.version)
            known = self._look(name)
        if known is None:
            raise NotFoundError(f"Collection '{name}' was dropped by another process just after it was made.")
        if known.space.fingerprint != space.fingerprint:
            raise SpaceMismatchError(f"Collection '{name}' belongs to {known.space.label}, not to {space.label}.")
        self._check_index(known)
        return known.info

    def collection(self, name: str) -> CollectionInfo | None:
        known = self._held.get(name) or self._look(name)
        return None if known is None else self._described(known)

    def collections(self) -> list[CollectionInfo]:
        need_library()
        from knowledge_mcp.stores.qdrant.layout import all_places

        return [self._described(each) for each in all_places(self._connection)]

    def drop_collection(self, name: str) -> bool:
        place = self._look(name)
        if place is None:
            return False
        from knowledge_mcp.stores.qdrant.layout import drop

        drop(self._connection, place)
        self._forget(name)
        return True

    def rename_collections(self, names: Mapping[str, str]) -> None:
        need_library()
        from knowledge_mcp.stores.qdrant.layout import rename

        rename(self._connection, names)

    # writing

    def publish(
        self, collection: str, documents: Sequence[WholeDocument], on_published: Callable[[str], object]
    ) -> None:
        place = self._fresh(collection)
        if any(each.chunks for each in documents):
            self._check_index(place)
        from knowledge_mcp.stores.qdrant.writing import publish

        for published in publish(self._connection, place, self._analyser, documents):
            self._written(place, len(published))
            for document_id in published:
                on_published(document_id)

    def delete_document(self, collection: str, document_id: str) -> int:
        place = self._fresh(collection)
        from knowledge_mcp.stores.qdrant.writing import delete_document

        removed = delete_document(self._connection, place, document_id)
        self._written(place)
        return removed

    def vectors(self, collection: str, embedding_keys: Sequence[str]) -> dict[str, Vector]:
        need_library()
        from knowledge_mcp.stores.qdrant.reading import known_vectors

        return self._read(collection, lambda place: known_vectors(self._connection, place, embedding_keys))

    def owners_of_content(self, collection: str, content_hashes: Sequence[str]) -> dict[str, tuple[str, ...]]:
        need_library()
        from knowledge_mcp.stores.qdrant.reading import owners_of_content

        return self._read(collection, lambda place: owners_of_content(self._connection, place, content_hashes))

    # reading

    def snapshot(self, collection: str) -> contextlib.AbstractContextManager[None]:
        return self._held.holding(collection, self._held.get(collection) or self._fresh(collection))

    def document(self, collection: str, document_id: str) -> DocumentRecord | None:
        need_library()
        from knowledge_mcp.stores.qdrant.reading import record

        return self._read(collection, lambda place: record(self._connection, place, document_id))

    def documents(
        self, collection: str, document_ids: Sequence[str] | None = None, *, limit: int | None = None
    ) -> list[DocumentRecord]:
        need_library()
        from knowledge_mcp.stores.qdrant.reading import records

        return self._read(collection, lambda place: records(self._connection, place, document_ids, limit))

    def document_text(self, collection: str, document_id: str) -> str | None:
        need_library()
        from knowledge_mcp.stores.qdrant.reading import document_text

        return self._read(collection, lambda place: document_text(self._connection, place, document_id))

    def document_structure(self, collection: str, document_id: str) -> DocumentStructure | None:
        need_library()
        from knowledge_mcp.stores.qdrant.reading import document_structure

        return self._read(collection, lambda place: document_structure(self._connection, place, document_id))

    def document_chunks(self, collection: str, document_id: str) -> list[Chunk]:
        need_library()
        from knowledge_mcp.stores.qdrant.reading import document_chunks

        return self._read(collection, lambda place: document_chunks(self._connection, place, document_id))

    def chunks(self, collection: str, chunk_ids: Sequence[str]) -> list[Chunk]:
        need_library()
        from knowledge_mcp.stores.qdrant.reading import chunks_by_id

        return self._read(collection, lambda place: chunks_by_id(self._connection, place, chunk_ids))

    def state(self, collection: str) -> str:
        return self._read(collection, lambda place: f"{place.home} {place.changed}")

    def statistics(self, collection: str) -> StoreStatistics:
        return self._read(collection, self._sums)[0]

    # searching

    def search(
        self, collection: str, *, vector: Vector | None, text: str | None, filter: Filter | None, limit: int
    ) -> LegResults:
        check_filter(filter)
        need_library()
        from knowledge_mcp.stores.qdrant.search import MovedError

        terms = None if text is None else self._analyser.query_terms(text)
        for _ in range(_SWAPS):
            place, points, kept = self._place(collection)
            if kept and place.lexical != "sparse":  # the fallback asks by Qdrant's own name
                self._forget(collection)
                place, points, kept = self._place(collection)
            try:
                return self._legs(place, points, vector=vector, terms=terms, filter=filter, limit=limit)
            except MovedError:
                self._forget(collection)
            except (NotFoundError, InvalidInputError):
                self._forget(collection)  # what was kept in mind may be of a collection that is gone
                if not kept:
                    raise
        raise InternalError(f"Collection '{collection}' changes its name all the time.", suggestion="Search again.")

    def cosines(self, collection: str, vector: Vector, chunk_ids: Sequence[str]) -> dict[str, float]:
        need_library()
        from knowledge_mcp.stores.qdrant.search import cosines

        return self._read(collection, lambda place: cosines(self._connection, place, vector, chunk_ids))

    def definitions(self, collection: str, term_key: str) -> list[Chunk]:
        need_library()
        from knowledge_mcp.stores.qdrant.reading import definitions

        return self._read(collection, lambda place: definitions(self._connection, self._check_index(place), term_key))

    def defined_terms(self, collection: str) -> dict[str, str]:
        need_library()
        from knowledge_mcp.stores.qdrant.reading import defined_terms

        return self._read(collection, lambda place: defined_terms(self._connection, place, self._analyser))

    def verify(self, collection: str, *, repair: bool = False) -> list[Finding]:
        place = self._fresh(collection)
        from knowledge_mcp.stores.qdrant.verify import verify

        return verify(self._connection, place, repair=repair)

    # inside

    def _look(self, name: str) -> QdrantCollection | None:
        need_library()
        from knowledge_mcp.stores.qdrant.layout import look

        return look(self._connection, name)

    def _fresh(self, name: str) -> QdrantCollection:
        """Read a collection's description, and index it with this store's analyser if an older one did."""
        place = self._look(name)
        if place is None:
            raise NotFoundError(f"There is no collection '{name}'.")
        if is_newer(self._analyser.version, place.analyser):
            from knowledge_mcp.stores.qdrant.search import index_again

            with self._indexing:
                place = self._look(name)
                if place is not None and is_newer(self._analyser.version, place.analyser):
                    index_again(self._connection, place, self._analyser)
            return self._fresh(name)
        return place

    def _newer(self, place: QdrantCollection) -> ConfigError | None:
        """Say that a newer version has indexed a collection, None where it has not."""
        latest = place.coming if is_newer(place.coming, place.analyser) else place.analyser
        newer = is_newer(latest, self._analyser.version)
        return newer_index(place.name, latest, self._analyser.version) if newer else None

    def _check_index(self, place: QdrantCollection) -> QdrantCollection:
        if (newer := self._newer(place)) is not None:
            raise newer
        return place

    def _described(self, place: QdrantCollection) -> CollectionInfo:
        newer = self._newer(place)
        return place.info if newer is None else replace(place.info, degraded=newer.message)

    def _read(self, name: str, read: Callable[[QdrantCollection], T]) -> T:
        """Read something of a collection; one that was dropped amid a snapshot is looked up again."""
        held = self._held.get(name)
        if held is not None:
            try:
                return read(held)
            except NotFoundError:
                self._held.drop(name)
        return read(self._fresh(name))

    def _place(self, name: str) -> tuple[QdrantCollection, int, bool]:
        """Return a collection's description, about how many points it has, and whether this was kept in mind."""
        held = self._held.get(name)
        with self._lock:
            since, place, points = self._known.get(name, (-math.inf, held, 0))
        kept = self._connection.config.known_seconds
        if place is not None and time.monotonic() - since < kept and held in {None, place}:
            return place, points, True
        place = held or self._fresh(name)
        points = self._connection.count(place.home, None, exact=False)
        with self._lock:
            self._known[name] = (time.monotonic(), place, points)
        return place, points, held is not None

    def _forget(self, name: str) -> None:
        self._held.drop(name)
        with self._lock:
            self._known.pop(name, None)

    def _legs(
        self,
        place: QdrantCollection,
        points: int,
        *,
        vector: Vector | None,
        terms: Sequence[str] | None,
        filter: Filter | None,
        limit: int,
    ) -> LegResults:
        from knowledge_mcp.stores.qdrant.search import Corpus, QdrantQuery, search

        check_query(vector, place.space)
        newer = None if terms is None else self._newer(place)
        if newer is not None and vector is None:
            raise newer

        def corpus() -> Corpus:
            counted, length = self._sums(self._fresh(place.name))
            return Corpus(counted.chunks, length / counted.chunks if length else 1.0)

        exact = points <= self._connection.config.exact_up_to
        asked = QdrantQuery(vector, terms if newer is None else None, filter, limit, exact)
        found = search(self._connection, place, asked, corpus)
        return found if newer is None else replace(found, lexical_error=newer.message)

    def _written(self, place: QdrantCollection, documents: int = 1) -> None:
        """Look after the weights; a failure does not undo what was written, and the next writer looks again."""
        from knowledge_mcp.stores.qdrant.search import TermWeights

        with self._lock:
            if self._weights is None:
                self._weights = TermWeights(self._connection.config.drift)
            weights = self._weights
        try:
            weights.after_write(self._connection, place, documents)
        except KnowledgeError as exc:
            log_event(_logger, logging.WARNING, "bm25_not_weighed", collection=place.name, reason=exc.message)

    def _sums(self, place: QdrantCollection) -> tuple[StoreStatistics, int]:
        """Count a collection as it was just described, and its chunks' terms; summed up only after each change."""
        from qdrant_client import models

        from knowledge_mcp.stores.qdrant.points import equals
        from knowledge_mcp.stores.qdrant.reading import heads, statistics

        documents = self._connection.count(place.records, models.Filter(must=[equals("kind", "document")]))
        with self._lock:
            known = self._totals.get(place.home)
        if known is not None and known[:2] == (place.changed, documents):
            return known[2], known[3]
        found = list(heads(self._connection, place))
        counted, length = statistics(found), sum(each.length for each in found)
        with self._lock:
            self._totals[place.home] = (place.changed, documents, counted, length)
        return counted, length


def from_options(options: QdrantOptions, analyser: Analyser, _: object = None) -> QdrantStore:
    """Make the store that the settings name; it connects at its first use, and the server holds the indexes.

    Raises:
        ConfigError: there is no address.
    """
    return QdrantStore(config_of(options), analyser)
