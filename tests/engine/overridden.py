"""A store in memory of which a test overrides single methods, with the collection's name as their first argument."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Self

from knowledge_mcp.model.chunk import Chunk, Vector
from knowledge_mcp.model.collection import CollectionInfo, DocumentParts, DocumentRecord, WholeDocument
from knowledge_mcp.model.ingest import Finding
from knowledge_mcp.model.query import ChunkKey, Filter, LegResults
from knowledge_mcp.stores.memory import MemoryHandle, MemoryStore


class OverriddenStore(MemoryStore):
    """Let every handle call the methods of its store."""

    def open(self, name: str) -> MemoryHandle:
        return _Handle(self, name)

    def _plain(self, collection: str) -> MemoryHandle:
        return super().open(collection)

    def enter(self, collection: str) -> None:
        """Begin a snapshot."""
        self.get(collection)

    def leave(self, collection: str) -> None:
        """End one."""

    def info(self, collection: str, *, counted: bool = False) -> CollectionInfo | None:
        return self._plain(collection).info(counted=counted)

    def publish(
        self, collection: str, documents: Sequence[WholeDocument], on_published: Callable[[str], object]
    ) -> None:
        self._plain(collection).publish(documents, on_published)

    def delete(self, collection: str, document_id: str) -> int:
        return self._plain(collection).delete(document_id)

    def vectors(self, collection: str, embedding_keys: Sequence[str]) -> dict[str, Vector]:
        return self._plain(collection).vectors(embedding_keys)

    def documents(
        self, collection: str, document_ids: Sequence[str] | None = None, *, limit: int | None = None
    ) -> list[DocumentRecord]:
        return self._plain(collection).documents(document_ids, limit=limit)

    def parts(self, collection: str, document_id: str) -> DocumentParts | None:
        return self._plain(collection).parts(document_id)

    def chunks(self, collection: str, key: ChunkKey, values: Sequence[str]) -> list[Chunk]:
        return self._plain(collection).chunks(key, values)

    def search(
        self, collection: str, *, vector: Vector | None, text: str | None, filter: Filter | None, limit: int
    ) -> LegResults:
        return self._plain(collection).search(vector=vector, text=text, filter=filter, limit=limit)

    def verify(self, collection: str, *, repair: bool = False) -> list[Finding]:
        return self._plain(collection).verify(repair=repair)


class _Handle(MemoryHandle):
    def __init__(self, store: OverriddenStore, name: str) -> None:
        super().__init__(store, name)
        self._methods = store

    @contextmanager
    def snapshot(self) -> Generator[Self]:
        self._methods.enter(self._name)
        try:
            yield self
        finally:
            self._methods.leave(self._name)

    def info(self, *, counted: bool = False) -> CollectionInfo | None:
        return self._methods.info(self._name, counted=counted)

    def publish(self, documents: Sequence[WholeDocument], on_published: Callable[[str], object]) -> None:
        self._methods.publish(self._name, documents, on_published)

    def delete(self, document_id: str) -> int:
        return self._methods.delete(self._name, document_id)

    def vectors(self, embedding_keys: Sequence[str]) -> dict[str, Vector]:
        return self._methods.vectors(self._name, embedding_keys)

    def documents(self, document_ids: Sequence[str] | None = None, *, limit: int | None = None) -> list[DocumentRecord]:
        return self._methods.documents(self._name, document_ids, limit=limit)

    def parts(self, document_id: str) -> DocumentParts | None:
        return self._methods.parts(self._name, document_id)

    def chunks(self, key: ChunkKey, values: Sequence[str]) -> list[Chunk]:
        return self._methods.chunks(self._name, key, values)

    def search(self, *, vector: Vector | None, text: str | None, filter: Filter | None, limit: int) -> LegResults:
        return self._methods.search(self._name, vector=vector, text=text, filter=filter, limit=limit)

    def verify(self, *, repair: bool = False) -> list[Finding]:
        return self._methods.verify(self._name, repair=repair)
