"""What a setting is; the settings of stores, embeddings, ranking and the REST service."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, cast

from pydantic import BaseModel, BeforeValidator, Field, SecretStr

from knowledge_mcp.model.collection import ProviderName, StoreName


@dataclass(frozen=True, slots=True)
class Variable:
    """One setting.

    Attributes:
        name: environment variable.
        text: what it does, one or two sentences.
        group: heading in the documentation.
        surface: the specification that names it: `standards`, `planning`, `repositories`, `rag`, or `all` for ours.
        config: dotted key in a `--config` file in addition to its own name, empty for none.
        example: written after the commented name in `.env.example` if there is no default.
        older: other variable names with the same meaning; the first name takes precedence.
        low: smallest value allowed, None for no range.
        high: largest value allowed, None for no range.
        key: variable of the secret that is sent to this address, or to which this one adds; empty for none.
        widens: whether it widens who has access, or what may be reached.
        field: attribute of `Settings`; this and the following are known once `Settings` is declared.
        default: in written form; empty if unset has a special meaning (described in `text`).
        secret: never shown, never logged.
    """

    name: str
    text: str
    group: str
    surface: str = "all"
    config: str = ""
    example: str = ""
    older: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None
    key: str = ""
    widens: bool = False
    field: str = ""
    default: str = ""
    secret: bool = False


def _split(value: object) -> object:
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    return value


def _lower(value: object) -> object:
    return value.strip().lower() if isinstance(value, str) else value


def _level(value: object) -> object:
    if not isinstance(value, str):
        return value
    name = value.strip().upper()
    return {"WARN": "WARNING", "CRITICAL": "ERROR"}.get(name, name)


Words = Annotated[tuple[str, ...], BeforeValidator(_split)]
LogLevel = Annotated[Literal["DEBUG", "INFO", "WARNING", "ERROR"], BeforeValidator(_level)]
LogFormat = Annotated[Literal["text", "json"], BeforeValidator(_lower)]
_Provider = Annotated[ProviderName, BeforeValidator(_lower)]
_Store = Annotated[StoreName, BeforeValidator(_lower)]
Variant = Annotated[Literal["int8", "fp32"], BeforeValidator(_lower)]
OcrEngineName = Annotated[Literal["auto", "tesseract"], BeforeValidator(_lower)]
FusionName = Annotated[Literal["ranks", "scores"], BeforeValidator(_lower)]
RerankerName = Annotated[Literal["none", "local", "api"], BeforeValidator(_lower)]
ImageSkip = Annotated[Literal["sample", "strict"], BeforeValidator(_lower)]
Quantization = Annotated[Literal["none", "scalar", "binary"], BeforeValidator(_lower)]
Switch = Annotated[Literal["auto", "on", "off"], BeforeValidator(_lower)]


def setting(
    name: str,
    default: Any,
    text: str,
    *,
    group: str,
    surface: str = "all",
    config: str = "",
    example: str = "",
    older: tuple[str, ...] = (),
    ge: float | None = None,
    le: float | None = None,
    key: str = "",
    widens: bool = False,
) -> Any:
    """Declare one field of `Settings` with the facts of `Variable`."""
    about = Variable(name, text, group, surface, config, example, older, ge, le, key, widens)
    return Field(default, ge=ge, le=le, description=text, json_schema_extra={"variable": cast("Any", about)})


def platform_folder(kind: Literal["data", "cache"]) -> Path:
    """Return this product's folder of a kind; it may not exist yet."""
    import platformdirs

    found = platformdirs.user_data_path if kind == "data" else platformdirs.user_cache_path
    return found("knowledge-mcp", appauthor=False)


_embed = partial(setting, group="Embeddings")


class EmbeddingSettings(BaseModel, defer_build=True):
    """Which provider and model embed, and how much at once."""

    embedding_provider: _Provider | None = _embed(
        "EMBEDDING_PROVIDER", None,
        "`local` (ONNX on this machine, no key), `openai` or `azure`. Unset: `openai` if OPENAI_API_KEY is set, "
        "else `local`; a collection keeps the provider it was created with.",
        config="embedding.provider", example="local",
    )  # fmt: skip
    embedding_model: str | None = _embed(
        "EMBEDDING_MODEL", None,
        "Model name. Unset: `all-MiniLM-L6-v2` for `local` (English), `text-embedding-3-small` for `openai`. "
        "`multilingual-e5-small` is a `local` model for about a hundred languages.",
        surface="standards", config="embedding.model", example="all-MiniLM-L6-v2",
    )  # fmt: skip
    embedding_dimensions: int | None = _embed(
        "EMBEDDING_DIMENSIONS", None, "Components per vector. Unset: the model's own (384 local, 1536 openai).",
        surface="standards", example="384", ge=256, le=3072,
    )  # fmt: skip
    embedding_batch_size: int = _embed(
        "EMBEDDING_BATCH_SIZE", 100, "Texts per request to a remote embedding provider.",
        config="embedding.batchSize", ge=1, le=2048,
    )  # fmt: skip
    embedding_variant: Variant = _embed(
        "EMBEDDING_VARIANT", "int8", "Weights of the local model: `int8` (fast) or `fp32` (exact)."
    )
    embedding_model_path: Path | None = _embed(
        "EMBEDDING_MODEL_PATH", None, "Folder that already contains the local model; nothing is downloaded then.",
        example="/opt/models/all-MiniLM-L6-v2",
    )  # fmt: skip
    models_path: Path | None = _embed(
        "MODELS_PATH", None, "Folder for downloaded models. Unset: the user's cache folder for knowledge-mcp.",
        example="~/.cache/knowledge-mcp/models",
    )  # fmt: skip
    embedding_threads: int | None = _embed(
        "EMBEDDING_THREADS", None, "Threads for the local model. Unset: the number of cores available to the process.",
        example="2", ge=1, le=256,
    )  # fmt: skip
    openai_api_key: SecretStr | None = _embed(
        "OPENAI_API_KEY", None, "OpenAI API key (`sk-...`). If set, and EMBEDDING_PROVIDER is not, it selects "
                                "`openai`.",
        surface="standards", example="sk-your-key",
    )  # fmt: skip
    openai_base_url: str | None = _embed(
        "OPENAI_BASE_URL", None, "Address of an OpenAI-compatible service. Unset: OpenAI's own.",
        key="OPENAI_API_KEY", example="https://api.openai.com/v1",
    )  # fmt: skip
    embedding_concurrency: int = _embed(
        "EMBEDDING_CONCURRENCY", 4, "Maximum concurrent requests to a remote embedding provider.", ge=1, le=64
    )
    embedding_max_retries: int = _embed(
        "EMBEDDING_MAX_RETRIES", 3,
        "Retries of a request to a remote embedding provider after a temporary failure, with delays of 1, 2, 4 ... "
        "seconds.",
        config="embedding.maxRetries", ge=0, le=10,
    )  # fmt: skip
    embedding_timeout_ms: int = _embed(
        "EMBEDDING_TIMEOUT_MS", 60000,
        "Timeout of a request to a remote embedding provider, in milliseconds; at most 10,000 for a search.",
        config="embedding.timeoutMs", ge=100, le=600000,
    )  # fmt: skip
    embedding_price: float | None = _embed(
        "EMBEDDING_PRICE", None, "USD per million tokens. Unset: OpenAI's list price, if the model is known.",
        example="0.02", ge=0, le=1000,
    )  # fmt: skip
    embedding_cache: bool = _embed(
        "EMBEDDING_CACHE",
        True,
        "Whether to cache vectors in DATA_PATH, so that nothing is charged twice and an interrupted ingest can "
        "continue.",
    )
    azure_openai_endpoint: str | None = _embed(
        "AZURE_OPENAI_ENDPOINT", None, "Azure OpenAI endpoint; selects `azure` for the rag surface.",
        surface="rag", key="AZURE_OPENAI_KEY", example="https://name.openai.azure.com",
    )  # fmt: skip
    azure_openai_key: SecretStr | None = _embed(
        "AZURE_OPENAI_KEY", None, "Azure OpenAI key.", surface="rag", example="your-key"
    )
    azure_openai_embedding_deployment: str | None = _embed(
        "AZURE_OPENAI_EMBEDDING_DEPLOYMENT", None, "Name of the Azure embedding deployment.",
        surface="rag", example="text-embedding-3-small",
    )  # fmt: skip
    azure_openai_api_version: str = _embed("AZURE_OPENAI_API_VERSION", "2024-10-21", "Version of the Azure OpenAI API.")

    @property
    def models_folder(self) -> Path:
        """Return the folder of downloaded models."""
        return self.models_path or platform_folder("cache") / "models"


LOCAL_RERANKER = "ms-marco-MiniLM-L12-v2"
_rank = partial(setting, group="Reranking")


class RankingSettings(BaseModel, defer_build=True):
    """How the legs are combined into one ranking, and which reranker processes the best hits, for how long."""

    hybrid_fusion: FusionName = _rank(
        "HYBRID_FUSION", "scores",
        "How hybrid searches without a weight rank results, on every surface: `scores` blends scores, which finds "
        "more; `ranks` fuses ranks (RRF, k = 60, weights 70 to 30), the default of the standards specification. A "
        "search with a weight always fuses ranks.",
    )  # fmt: skip
    synonyms: Words = _rank(
        "SYNONYMS", (),
        "Comma-separated synonym lists: if documents use other words than a question, searches also look for its "
        "synonyms. `finance` is built in; your own files use the Solr and Elasticsearch format (`a, b` or `a => b, "
        "c` per line); empty or `none` uses no list. Applies to the surfaces standards and rag.",
        example="finance,/etc/knowledge-mcp/synonyms.txt",
    )  # fmt: skip
    reranker: RerankerName = _rank(
        "RERANKER", "none",
        "`none`; `local` for a cross-encoder on this machine (`knowledge models fetch ms-marco-MiniLM-L12-v2` "
        "downloads one); `api` for a service at RERANKER_URL. It reorders the best hits of the surfaces standards "
        "and rag; if it fails or is too slow, the order is kept, and the answer says so.",
        example="local",
    )  # fmt: skip
    reranker_model_path: Path | None = _rank(
        "RERANKER_MODEL_PATH", None,
        "Folder with `model.onnx` and `tokenizer.json` of a cross-encoder of your own.",
        example="/opt/models/ms-marco-MiniLM-L6-v2",
    )  # fmt: skip
    reranker_url: str | None = _rank(
        "RERANKER_URL", None,
        "Full address of a service that accepts `{query, documents, top_n, model}` and returns "
        "`{results: [{index, relevance_score}]}`.",
        key="RERANKER_API_KEY", example="https://rerank.example.com/v1/rerank",
    )  # fmt: skip
    reranker_api_key: SecretStr | None = _rank(
        "RERANKER_API_KEY", None, "Bearer token for RERANKER_URL.", example="your-key"
    )
    reranker_model: str | None = _rank(
        "RERANKER_MODEL", None, "Model name in requests to RERANKER_URL.", example="rerank-v3.5"
    )
    reranker_top: int = _rank("RERANKER_TOP", 20, "Number of hits to rerank.", ge=2, le=100)
    reranker_budget_ms: int = _rank(
        "RERANKER_BUDGET_MS", 1500, "Time limit of the reranker, in milliseconds.", ge=10, le=60000
    )


_store = partial(setting, group="Storage of chunks and vectors")


class StoreSettings(BaseModel, defer_build=True):
    """Which store is used and how to reach it."""

    data_path: Path | None = _store(
        "DATA_PATH", None, "Folder of the embedded store. Unset: the user's data folder for knowledge-mcp.",
        example="~/knowledge",
    )  # fmt: skip
    vector_store: _Store | None = _store(
        "VECTOR_STORE", None,
        "Backend: `sqlite`, `postgres`, `qdrant` or `chromadb`. Unset: `qdrant` if QDRANT_URL is set, else "
        "`chromadb` if CHROMADB_HOST is set, else `sqlite` (one file in DATA_PATH, needs no server).",
        surface="standards", example="sqlite",
    )  # fmt: skip
    collection: str = _store(
        "QDRANT_COLLECTION", "se_knowledge_base", "Collection to search and to ingest into, in any store.",
        surface="standards", older=("COLLECTION",),
    )  # fmt: skip
    database_url: SecretStr | None = _store(
        "DATABASE_URL", None,
        "Connection string (libpq) of a PostgreSQL database with pgvector; used only if VECTOR_STORE is `postgres`.",
        example="postgresql://user:password@db.example.com:5432/knowledge?sslmode=verify-full",
    )  # fmt: skip
    qdrant_url: str | None = _store(
        "QDRANT_URL", None, "Address of a Qdrant server or cluster; setting it selects Qdrant.",
        surface="standards", key="QDRANT_API_KEY", example="https://cluster.example.com:6333",
    )  # fmt: skip
    qdrant_api_key: SecretStr | None = _store(
        "QDRANT_API_KEY", None, "API key of the Qdrant cluster.", surface="standards", example="your-key"
    )
    qdrant_grpc: Switch = _store(
        "QDRANT_GRPC", "auto", "Whether to use gRPC with Qdrant: `auto` tries its port once and otherwise uses REST."
    )
    qdrant_grpc_port: int = _store("QDRANT_GRPC_PORT", 6334, "Port of Qdrant's gRPC interface.", ge=1, le=65535)
    qdrant_shards: int | None = _store(
        "QDRANT_SHARDS", None, "Shards of a new collection. Unset: the server's default.", example="6", ge=1, le=10000
    )
    qdrant_replication_factor: int | None = _store(
        "QDRANT_REPLICATION_FACTOR", None, "Copies of each shard of a new collection.", example="2", ge=1, le=100
    )
    qdrant_write_consistency: int | None = _store(
        "QDRANT_WRITE_CONSISTENCY", None, "Copies that must confirm a write to a new collection.",
        example="2", ge=1, le=100,
    )  # fmt: skip
    qdrant_on_disk: bool = _store(
        "QDRANT_ON_DISK", False, "Whether a new collection keeps its vectors on disk instead of in memory."
    )
    qdrant_quantization: Quantization = _store(
        "QDRANT_QUANTIZATION", "none",
        "Smaller copies of the vectors, held in memory: `scalar` (a quarter) or `binary` (a 32nd; for 1,000 components "
        "and more); results are rescored with the full vectors.",
    )  # fmt: skip
    hybrid_search: bool = _store(
        "QDRANT_HYBRID_SEARCH", True, "Whether searches combine meaning and words; `false` searches by meaning only.",
        surface="standards",
    )  # fmt: skip
    chromadb_path: Path = _store(
        "CHROMADB_PATH", Path("./collections/chromadb"), "Folder of an embedded ChromaDB.",
        surface="standards", older=("CHROMA_PERSIST_DIR",),
    )  # fmt: skip
    chromadb_host: str | None = _store(
        "CHROMADB_HOST", None, "Host of a ChromaDB server; setting it selects ChromaDB unless QDRANT_URL is set.",
        surface="repositories", key="CHROMADB_TOKEN", config="chromadb.host", example="localhost",
    )  # fmt: skip
    chromadb_port: int = _store(
        "CHROMADB_PORT", 8000, "Port of the ChromaDB server.",
        surface="repositories", key="CHROMADB_TOKEN", config="chromadb.port", ge=1, le=65535,
    )  # fmt: skip
    chromadb_ssl: bool = _store(
        "CHROMADB_SSL", False, "Whether to use https for the ChromaDB server.", key="CHROMADB_TOKEN"
    )
    chromadb_token: SecretStr | None = _store(
        "CHROMADB_TOKEN", None, "Token for the ChromaDB server.", example="your-token"
    )
    index_memory_mb: int = _store(
        "INDEX_MEMORY_MB", 1024,
        "Memory limit for the indexes of all collections in one process, in megabytes (`sqlite`, `chromadb`); the "
        "least recently searched index is dropped first and reloaded when needed.",
        ge=16,
    )  # fmt: skip

    @property
    def data_folder(self) -> Path:
        """Return the folder of the embedded store."""
        return self.data_path or platform_folder("data")

    @property
    def store_file(self) -> Path:
        """Return the embedded store's file; it may not exist yet."""
        return self.data_folder / "knowledge.sqlite"


_rag = partial(setting, group="RAG surface", surface="rag")
_log = partial(setting, group="Logging and health", surface="rag")


class RagSettings(BaseModel, defer_build=True):
    """The address of the REST service, who may use it, and what it may fetch."""

    rag_api_url: str | None = _rag(
        "RAG_API_URL", None,
        "Address of the RAG REST service, used by the surfaces `rag` and `convert` and by `--remote`. Unset: the "
        "surface `rag` works in its own process.",
        key="RAG_API_KEY", example="https://rag.example.com",
    )  # fmt: skip
    rag_api_key: SecretStr | None = _rag(
        "RAG_API_KEY", None,
        "Bearer token of the RAG REST service: clients send it, and `rag-api` requires it (with all rights).",
        example="your-key",
    )  # fmt: skip
    rag_api_keys_file: Path | None = _rag(
        "RAG_API_KEYS_FILE", None,
        "JSON file with several named keys and their rights per collection; reloaded when it changes.",
        key="RAG_API_KEY", example="/etc/knowledge-mcp/keys.json",
    )  # fmt: skip
    rag_api_host: str | None = _rag(
        "RAG_API_HOST", None,
        "Address that `rag-api` listens on. Unset: 0.0.0.0 if a key is configured, otherwise 127.0.0.1.",
        widens=True, example="0.0.0.0",
    )  # fmt: skip
    rag_api_port: int = _rag("RAG_API_PORT", 8000, "Port that `rag-api` listens on.", ge=1, le=65535)
    rag_max_upload_bytes: int = _rag(
        "RAG_MAX_UPLOAD_BYTES", 104857600, "Maximum size of a document or text that the REST service accepts, in "
                                           "bytes.",
        ge=1024, le=2147483648,
    )  # fmt: skip
    rag_fetch_max_bytes: int = _rag(
        "RAG_FETCH_MAX_BYTES", 52428800, "Maximum bytes to read from one address, both compressed and decompressed.",
        ge=1024, le=2147483648,
    )  # fmt: skip
    rag_fetch_timeout: float = _rag(
        "RAG_FETCH_TIMEOUT", 60.0,
        "Timeout of one whole fetch in seconds: name resolution, connection, robots.txt, redirects and body. "
        "Proxies are not used, because the address that was checked must be the one that is connected to.",
        ge=0.1, le=3600,
    )  # fmt: skip
    rag_fetch_allowed_hosts: Words = _rag(
        "RAG_FETCH_ALLOWED_HOSTS", (),
        "Comma-separated host names (`wiki.example.com`, `*.example.com`) that may be fetched and cloned from even "
        "at private addresses, e.g. in an intranet. Hosts in GIT_TOKENS need not be listed. Link-local and "
        "metadata addresses are always refused.",
        widens=True, example="wiki.example.com",
    )  # fmt: skip

    otel_endpoint: str | None = _log(
        "OTEL_EXPORTER_OTLP_ENDPOINT", None,
        "Base address that `rag-api` sends OpenTelemetry traces to (`/v1/traces` is added).",
        example="http://otel-collector:4318",
    )  # fmt: skip
    otel_traces_endpoint: str | None = _log(
        "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", None, "Exact address for traces; takes precedence over the base address.",
        example="http://otel-collector:4318/v1/traces",
    )  # fmt: skip
