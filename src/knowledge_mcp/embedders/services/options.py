"""What OpenAI's and Azure's embedders read of the settings alike, and what they are both made of."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from knowledge_mcp.embedders.cache import CachedEmbedder, cached
from knowledge_mcp.embedders.services.embedder import QUERY_SECONDS, RemoteEmbedder
from knowledge_mcp.embedders.services.service import Service
from knowledge_mcp.support.retry import RetryPolicy, doubling

__all__ = ["ServiceOptions", "embedder_of"]


class ServiceOptions(Protocol):
    """Name the settings that every remote embedder needs."""

    @property
    def embedding_model(self) -> str | None: ...
    @property
    def embedding_dimensions(self) -> int | None: ...
    @property
    def embedding_batch_size(self) -> int: ...
    @property
    def embedding_concurrency(self) -> int: ...
    @property
    def embedding_max_retries(self) -> int: ...
    @property
    def embedding_timeout_ms(self) -> int: ...
    @property
    def embedding_price(self) -> float | None: ...
    @property
    def embedding_cache(self) -> bool: ...
    @property
    def data_folder(self) -> Path: ...


def embedder_of(
    service: Service, options: ServiceOptions, retries: RetryPolicy | None
) -> CachedEmbedder | RemoteEmbedder:
    """Put an embedder in front of a service, and the cache in front of that where it is switched on."""
    seconds = options.embedding_timeout_ms / 1000
    embedder = RemoteEmbedder(
        service,
        batch_size=options.embedding_batch_size,
        concurrency=options.embedding_concurrency,
        retries=retries,
        pauses=doubling(options.embedding_max_retries),
        query_seconds=min(QUERY_SECONDS, seconds),
        batch_seconds=seconds,
    )
    return cached(embedder, options.data_folder) if options.embedding_cache else embedder
