"""The settings of where chunks and vectors are kept."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, SecretStr

from knowledge_mcp.settings.folders import platform_folder
from knowledge_mcp.settings.variables import Quantization, StoreName, Switch, setting

__all__ = ["StoreSettings"]

_STORE = "Where chunks and vectors are kept"


class StoreSettings(BaseModel):
    """Say which store is used and how it is reached."""

    data_path: Path | None = setting(
        "DATA_PATH", None, "Folder of the embedded store. Unset: the user's data folder for knowledge-mcp.",
        group=_STORE, example="~/knowledge",
    )  # fmt: skip
    vector_store: StoreName | None = setting(
        "VECTOR_STORE", None,
        "Backend: `sqlite`, `qdrant` or `chromadb`. Unset: `qdrant` if QDRANT_URL is set, else `chromadb` if "
        "CHROMADB_HOST is set, else `sqlite` (one file in DATA_PATH, needs no server).",
        group=_STORE, surface="standards", example="sqlite",
    )  # fmt: skip
    collection: str = setting(
        "QDRANT_COLLECTION", "se_knowledge_base", "Collection that is searched and filled, in whichever store.",
        group=_STORE, surface="standards", older=("COLLECTION",),
    )  # fmt: skip
    qdrant_url: str | None = setting(
        "QDRANT_URL", None, "Address of a Qdrant server or cluster; setting it selects Qdrant.",
        key="QDRANT_API_KEY", group=_STORE, surface="standards", example="https://cluster.example.com:6333",
    )  # fmt: skip
    qdrant_api_key: SecretStr | None = setting(
        "QDRANT_API_KEY", None, "API key of the Qdrant cluster.", group=_STORE, surface="standards", example="your-key"
    )
    qdrant_grpc: Switch = setting(
        "QDRANT_GRPC", "auto", "Whether to talk gRPC to Qdrant: `auto` tries its port once and else takes REST.",
        group=_STORE,
    )  # fmt: skip
    qdrant_grpc_port: int = setting(
        "QDRANT_GRPC_PORT", 6334, "Port of Qdrant's gRPC interface.", group=_STORE, ge=1, le=65535
    )
    qdrant_shards: int | None = setting(
        "QDRANT_SHARDS", None, "Shards of a collection that is made anew. Unset: the server's default.",
        group=_STORE, example="6", ge=1, le=10000,
    )  # fmt: skip
    qdrant_replication_factor: int | None = setting(
        "QDRANT_REPLICATION_FACTOR", None, "Copies of each shard of a collection that is made anew.",
        group=_STORE, example="2", ge=1, le=100,
    )  # fmt: skip
    qdrant_write_consistency: int | None = setting(
        "QDRANT_WRITE_CONSISTENCY", None, "Copies that must confirm a write to a collection that is made anew.",
        group=_STORE, example="2", ge=1, le=100,
    )  # fmt: skip
    qdrant_on_disk: bool = setting(
        "QDRANT_ON_DISK", False, "Whether vectors of a collection that is made anew are kept on disk, not in memory.",
        group=_STORE,
    )  # fmt: skip
    qdrant_quantization: Quantization = setting(
        "QDRANT_QUANTIZATION", "none",
        "Smaller copies of the vectors, held in memory: `scalar` (a quarter) or `binary` (a 32nd; for 1,000 components "
        "and more); results are rescored with the full vectors.",
        group=_STORE,
    )  # fmt: skip
    hybrid_search: bool = setting(
        "QDRANT_HYBRID_SEARCH", True, "Whether searches join meaning and words; `false` searches by meaning only.",
        group=_STORE, surface="standards",
    )  # fmt: skip
    chromadb_path: Path = setting(
        "CHROMADB_PATH", Path("./collections/chromadb"), "Folder of an embedded ChromaDB.",
        group=_STORE, surface="standards", older=("CHROMA_PERSIST_DIR",),
    )  # fmt: skip
    chromadb_host: str | None = setting(
        "CHROMADB_HOST", None, "Host of a ChromaDB server; setting it selects ChromaDB unless QDRANT_URL is set.",
        key="CHROMADB_TOKEN", group=_STORE, surface="repositories", config="chromadb.host", example="localhost",
    )  # fmt: skip
    chromadb_port: int = setting(
        "CHROMADB_PORT", 8000, "Port of that ChromaDB server.",
        key="CHROMADB_TOKEN", group=_STORE, surface="repositories", config="chromadb.port", ge=1, le=65535,
    )  # fmt: skip
    chromadb_ssl: bool = setting(
        "CHROMADB_SSL", False, "Whether that server is reached by https.", key="CHROMADB_TOKEN", group=_STORE
    )
    chromadb_token: SecretStr | None = setting(
        "CHROMADB_TOKEN", None, "Token sent to that server.", group=_STORE, example="your-token"
    )
    index_memory_mb: int = setting(
        "INDEX_MEMORY_MB", 1024,
        "Megabytes that the indexes of all collections may take together in one process (`sqlite`, `chromadb`); "
        "the one searched least recently goes first and is read again when it is needed.",
        group=_STORE, ge=16,
    )  # fmt: skip

    @property
    def data_folder(self) -> Path:
        """Resolve the folder of the embedded store."""
        return self.data_path or platform_folder("data")

    @property
    def store_file(self) -> Path:
        """Name the embedded store's file; it may not exist yet."""
        return self.data_folder / "knowledge.sqlite"
