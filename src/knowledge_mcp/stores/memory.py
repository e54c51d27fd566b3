"""The in-memory store: simple and exact, gone when the process ends. All other stores are tested against it."""

from __future__ import annotations

import contextlib
import functools
import itertools
import threading
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

from knowledge_mcp.model.chunk import Chunk, EmbeddedChunk, Vector
from knowledge_mcp.model.collection import (
    CollectionInfo,
    DocumentParts,
    DocumentRecord,
    DocumentStructure,
    EmbeddingSpace,
    StoreIdentity,
    StoreStatistics,
    WholeDocument,
)
from knowledge_mcp.model.errors import DamagedError, leave_out, sound
from knowledge_mcp.model.ingest import Finding
from knowledge_mcp.model.query import ChunkKey, Filter, LegResults
from knowledge_mcp.ports import Analyser
from knowledge_mcp.stores.shared.filters import check_filter
from knowledge_mcp.stores.shared.payload import check_sum, checked_chunk
from knowledge_mcp.stores.shared.ranking import printed_terms, search_all
from knowledge_mcp.stores.shared.rules import (
    check_documents,
    check_query,
    check_space,
    checked_renames,
    in_stored_order,
    no_collection,
    now,
    store_closed,
)
from knowledge_mcp.support.wording import how_many

_numbers = itertools.count(1)
_changes = itertools.count(1)


@dataclass
class _Document:
    record: DocumentRecord
    text: str
    chunks: list[EmbeddedChunk]
    structure: DocumentStructure
    check_sum: str


@dataclass
class _Collection:
    info: CollectionInfo
    documents: dict[str, _Document] = field(default_factory=dict[str, _Document])
    change: int = field(default_factory=lambda: next(_changes))

    def visible(self) -> list[EmbeddedChunk]:
        return [each for name in sorted(self.documents) for each in self.documents[name].chunks]

    def statistics(self) -> StoreStatistics:
        documents = self.documents.values()
        return StoreStatistics(
            documents=len(documents),
            chunks=sum(len(each.chunks) for each in documents),
            tokens=sum(each.record.token_count for each in documents),
            storage_bytes=sum(
                len(each.text) + sum(len(one.chunk.content) + len(one.vector) for one in each.chunks)
                for each in documents
            ),
        )


class MemoryStore:
    """Keep all collections in this process and search them exhaustively.

    Args:
        analyser: produces the terms of the lexical leg.
    """

    def __init__(self, analyser: Analyser) -> None:
        self.analyser = analyser
        self._number = next(_numbers)
        self._collections: dict[str, _Collection] = {}
        self.lock = threading.RLock()
        self._closed = False

    @property
    def identity(self) -> StoreIdentity:
        return StoreIdentity("memory", f"this process, store {self._number}")

    def close(self) -> None:
        self._closed = True

    def create_collection(self, name: str, space: EmbeddingSpace) -> CollectionInfo:
        with self.lock:
            self._check_open()
            known = self._collections.get(name)
            if known is None:
                info = CollectionInfo(name, space, now())
                known = self._collections[name] = _Collection(info)
            check_space(name, known.info.space, space)
            return known.info

    def collections(self) -> list[CollectionInfo]:
        with self.lock:
            self._check_open()
            return [self._collections[name].info for name in sorted(self._collections)]

    def drop_collection(self, name: str) -> bool:
        with self.lock:
            self._check_open()
            return self._collections.pop(name, None) is not None

    def rename_collections(self, names: Mapping[str, str]) -> None:
        with self.lock:
            self._check_open()
            changed = checked_renames(names, self._collections)
            renamed = {changed.get(name, name): each for name, each in self._collections.items()}
            for name, each in renamed.items():
                each.info = replace(each.info, name=name)
            self._collections = renamed

    def get(self, name: str) -> _Collection:
        """Return the stored data of a collection.

        Raises:
            NotFoundError: there is no such collection.
        """
        self._check_open()
        found = self._collections.get(name)
        if found is None:
            raise no_collection(name)
        return found

    def _check_open(self) -> None:
        if self._closed:
            raise store_closed()

    def open(self, name: str) -> MemoryHandle:
        return MemoryHandle(self, name)


class MemoryHandle:
    """A handle on one collection of a `MemoryStore`.

    Args:
        store: the store that holds the collection.
        name: name of the collection.
    """

    def __init__(self, store: MemoryStore, name: str) -> None:
        self._store = store
        self._name = name

    @contextlib.contextmanager
    def snapshot(self) -> Generator[Self]:
        self._store.get(self._name)
        yield self

    def info(self, *, counted: bool = False) -> CollectionInfo | None:
        with self._store.lock:
            if self._name not in {each.name for each in self._store.collections()}:
                return None
            found = self._store.get(self._name)
            return replace(found.info, state=str(found.change), statistics=found.statistics() if counted else None)

    def publish(self, documents: Sequence[WholeDocument], on_published: Callable[[str], object]) -> None:
        with self._store.lock:
            target = self._store.get(self._name)
            check_documents(documents, target.info.space.dimensions)
        for each in documents:
            chunks = in_stored_order(each.chunks)
            with self._store.lock:
                target.documents[each.record.id] = _Document(
                    each.record, each.text, chunks, each.structure, check_sum(each.text)
                )
                target.change = next(_changes)
            on_published(each.record.id)

    def delete(self, document_id: str) -> int:
        with self._store.lock:
            target = self._store.get(self._name)
            gone = target.documents.pop(document_id, None)
            target.change = next(_changes)
            return len(gone.chunks) if gone else 0

    def vectors(self, embedding_keys: Sequence[str]) -> dict[str, Vector]:
        with self._store.lock:
            target = self._store.get(self._name)
            known = {each.embedding_key: each.vector for each in target.visible()}
            return {key: known[key] for key in embedding_keys if key in known}

    def documents(self, document_ids: Sequence[str] | None = None, *, limit: int | None = None) -> list[DocumentRecord]:
        with self._store.lock:
            documents = self._store.get(self._name).documents
            requested = documents.keys() if document_ids is None else documents.keys() & set(document_ids)
            return [documents[document_id].record for document_id in sorted(requested)[:limit]]

    def parts(self, document_id: str) -> DocumentParts | None:
        with self._store.lock:
            found = self._store.get(self._name).documents.get(document_id)
            if found is None:
                return None
            structure = found.structure
            return DocumentParts(functools.partial(_text, replace(found)), lambda: structure)

    def chunks(self, key: ChunkKey, values: Sequence[str]) -> list[Chunk]:
        with self._store.lock:
            holding: dict[str, list[Chunk]] = {}
            for each in self._store.get(self._name).visible():
                for value in self._values(key, each.chunk):
                    holding.setdefault(value, []).append(each.chunk)
            return sound([chunk for value in values for chunk in holding.get(value, ())], checked_chunk)

    def _values(self, key: ChunkKey, chunk: Chunk) -> Collection[str]:
        if key == "term":
            names = [name for one in chunk.definitions for name in (one.term, *one.aliases)]
            return {self._store.analyser.term_key(name) for name in names}
        return ({"id": chunk.id, "document": chunk.document_id, "content": chunk.content_hash}[key],)

    def search(self, *, vector: Vector | None, text: str | None, filter: Filter | None, limit: int) -> LegResults:
        with self._store.lock:
            target = self._store.get(self._name)
            check_filter(filter)
            check_query(vector, target.info.space)
            terms = None if text is None else self._store.analyser.query_terms(text)
            return search_all(target.visible(), self._store.analyser, vector, terms, filter, limit)

    def defined_terms(self) -> dict[str, str]:
        with self._store.lock:
            definitions = [one for each in self._store.get(self._name).visible() for one in each.chunk.definitions]
            return printed_terms([(one.term, one.aliases) for one in definitions], self._store.analyser)

    def verify(self, *, repair: bool = False) -> list[Finding]:
        del repair  # nothing can be repaired here: there is no index next to the chunks
        with self._store.lock:
            return [
                Finding(
                    f"The record states {how_many(each.record.chunk_count, 'chunk')}, it has {len(each.chunks)}.",
                    document_id,
                )
                for document_id, each in sorted(self._store.get(self._name).documents.items())
                if each.record.chunk_count != len(each.chunks)
            ]


def _text(document: _Document) -> str | None:
    """Return the canonical text if it still matches its check sum; otherwise report the damage and return None."""
    if check_sum(document.text) != document.check_sum:
        leave_out(DamagedError.of("canonical text", document.record.id, why="It differs from what was stored."))
        return None
    return document.text


def from_options(_: object, analyser: Analyser, __: object = None) -> MemoryStore:
    """Create an empty store. It has no settings, and no index that would count towards the memory limit."""
    return MemoryStore(analyser)
