"""Opens the Qdrant store from the settings; importing this module does not need the client library."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol

from knowledge_mcp.model.errors import ConfigError, needing
from knowledge_mcp.ports import Analyser
from knowledge_mcp.support.distribution import Secret

if TYPE_CHECKING:
    from knowledge_mcp.stores.qdrant.store import QdrantStore


class QdrantOptions(Protocol):
    """The settings that this store needs."""

    qdrant_url: str | None

    @property
    def qdrant_api_key(self) -> Secret | None: ...

    qdrant_grpc: Literal["auto", "on", "off"]
    qdrant_grpc_port: int
    qdrant_shards: int | None
    qdrant_replication_factor: int | None
    qdrant_write_consistency: int | None
    qdrant_on_disk: bool
    qdrant_quantization: Literal["none", "scalar", "binary"]


def from_options(options: QdrantOptions, analyser: Analyser, _: object = None) -> QdrantStore:
    """Create the store that the settings specify; it connects on first use. The server holds the indexes.

    Raises:
        ConfigError: the address is missing, or the client is not installed.
    """
    if not options.qdrant_url:
        raise ConfigError("VECTOR_STORE is qdrant, but QDRANT_URL is not set.", suggestion="Set QDRANT_URL.")
    with needing("qdrant", "The Qdrant client is not installed."):
        from knowledge_mcp.stores.qdrant.connection import QdrantConfig
        from knowledge_mcp.stores.qdrant.store import QdrantStore
    key = options.qdrant_api_key
    config = QdrantConfig(
        url=options.qdrant_url,
        api_key=key.get_secret_value() or None if key else None,
        grpc=options.qdrant_grpc,
        grpc_port=options.qdrant_grpc_port,
        shards=options.qdrant_shards,
        replication_factor=options.qdrant_replication_factor,
        write_consistency=options.qdrant_write_consistency,
        on_disk=options.qdrant_on_disk,
        quantization=options.qdrant_quantization,
    )
    return QdrantStore(config, analyser)
