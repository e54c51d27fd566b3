"""What a store keeps beside chunks: collections, their embedding space, and the record of each document."""

from __future__ import annotations

import functools
import hashlib
import json
from dataclasses import asdict, dataclass
from enum import StrEnum

__all__ = ["CollectionInfo", "DocumentRecord", "DocumentStatus", "EmbeddingSpace", "EmbeddingUsage", "StoreStatistics"]


@dataclass(frozen=True, slots=True)
class EmbeddingSpace:
    """Identify the space that vectors live in; vectors of two spaces are never compared.

    Attributes:
        provider: `local`, `openai` or `azure`.
        model: model name as its provider spells it.
        dimensions: components per vector.
        variant: numeric variant of the weights, e.g. `int8`, `fp32`; empty for remote providers.
        pooling: `mean`, `cls`, `last` or empty where the provider does it.
        query_prefix, document_prefix: text put before what is embedded.
        weights: SHA-256 hex of the weights file, empty for remote providers.
    """

    provider: str
    model: str
    dimensions: int
    variant: str = ""
    pooling: str = ""
    query_prefix: str = ""
    document_prefix: str = ""
    weights: str = ""

    @property
    def fingerprint(self) -> str:
        """Hash all attributes: 64 hex digits, equal exactly when the spaces are."""
        return _fingerprint(self)

    @property
    def label(self) -> str:
        """Name the space for people, e.g. `local/all-MiniLM-L6-v2 (int8, 384)`."""
        inner = f"{self.variant}, {self.dimensions}" if self.variant else str(self.dimensions)
        return f"{self.provider}/{self.model} ({inner})"


@functools.lru_cache(maxsize=64)
def _fingerprint(space: EmbeddingSpace) -> str:
    """Hash a space; every search asks for those of the same few."""
    return hashlib.sha256(json.dumps(asdict(space), sort_keys=True).encode()).hexdigest()


class DocumentStatus(StrEnum):
    """How much of a document is searchable."""

    READY = "ready"
    PARTIAL = "partial"


@dataclass(frozen=True, slots=True)
class DocumentRecord:
    """Keep what is known of one ingested document.

    Attributes:
        id, title, document_type: as on its chunks.
        source_path: the source's uri.
        sha256: of the source bytes. With `pipeline` it decides whether a re-ingest has anything to do.
        pipeline: release of the program, a colon, and the fingerprint of reader, chunker and their settings.
        size: source bytes. pages: physical pages, 0 where the format has none.
        chunk_count, token_count: totals over its chunks.
        embedding_model: label of the embedding space.
        created_at, updated_at: ISO 8601 UTC, first and last ingest.
        status: `partial` when text is known to be lost; warnings say which.
        metadata: flat pairs from the document (edition, author …).
        warnings: one sentence each.
    """

    id: str
    title: str
    document_type: str
    source_path: str
    sha256: str
    pipeline: str
    size: int
    pages: int
    chunk_count: int
    token_count: int
    embedding_model: str
    created_at: str
    updated_at: str
    media_type: str = ""
    status: DocumentStatus = DocumentStatus.READY
    metadata: tuple[tuple[str, str], ...] = ()
    warnings: tuple[str, ...] = ()

    def label(self, name: str) -> str:
        """Return one value of its metadata, empty where it has none of that name."""
        return next((value for key, value in self.metadata if key == name), "")


@dataclass(frozen=True, slots=True)
class CollectionInfo:
    """Describe one collection.

    Attributes:
        name: under which it is found.
        space: that it belongs to from creation on.
        created_at: ISO 8601 UTC.
        degraded: what of it this version cannot use and why, one sentence; empty where it can use everything.
    """

    name: str
    space: EmbeddingSpace
    created_at: str
    degraded: str = ""


@dataclass(frozen=True, slots=True)
class StoreStatistics:
    """Count what one collection holds; `storage_bytes` is of the whole store."""

    documents: int
    chunks: int
    tokens: int
    storage_bytes: int


@dataclass(frozen=True, slots=True)
class EmbeddingUsage:
    """Count what an embedder asked of its service: requests, tokens billed, texts answered from the cache instead."""

    requests: int = 0
    tokens: int = 0
    cached: int = 0
