"""Every setting, declared once: its variable, type, range, default, whose it is, and what it does.

The documentation (`docs/settings.md`, `.env.example`), `knowledge config show` and the checks are all made from this.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr

__all__ = ["Settings", "Variable", "variables"]


@dataclass(frozen=True, slots=True)
class Variable:
    """Describe one setting.

    Attributes:
        name: environment variable.
        field: attribute of `Settings`.
        default: as one would write it; empty where unset means something of its own (then `text` says what).
        surface: whose specification names it: `standards`, `planning`, `repositories`, `rag`, or `all` for ours.
        text: what it does, one or two sentences.
        secret: never shown, never logged.
        config: dotted key in a `--config` file beside its own name, empty for none.
        group: heading in the documentation.
        example: written after the commented name in `.env.example` where there is no default.
        used: whether a surface of this build reads it.
        older: other variable names that mean the same; the first name wins.
        low: smallest value allowed, None for no range.
        high: largest value allowed, None for no range.
    """

    name: str
    field: str
    default: str
    surface: str
    text: str
    secret: bool
    config: str
    group: str
    example: str
    used: bool
    older: tuple[str, ...]
    low: float | None
    high: float | None


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
Provider = Annotated[Literal["local", "openai", "azure"], BeforeValidator(_lower)]
StoreName = Annotated[Literal["sqlite", "qdrant", "chromadb"], BeforeValidator(_lower)]
Variant = Annotated[Literal["int8", "fp32"], BeforeValidator(_lower)]
OcrEngineName = Annotated[Literal["auto", "tesseract"], BeforeValidator(_lower)]
ImageSkip = Annotated[Literal["sample", "strict"], BeforeValidator(_lower)]


def _setting(
    name: str,
    default: Any,
    text: str,
    *,
    group: str,
    surface: str = "all",
    config: str = "",
    example: str = "",
    used: bool = True,
    older: tuple[str, ...] = (),
    ge: float | None = None,
    le: float | None = None,
) -> Any:
    about = {
        "name": name,
        "surface": surface,
        "group": group,
        "config": config,
        "example": example,
        "used": used,
        "older": older,
        "low": ge,
        "high": le,
    }
    return Field(default, ge=ge, le=le, description=text, json_schema_extra={"variable": cast("Any", about)})


_STORE = "Where chunks and vectors are kept"
_EMBED = "Embeddings"
_CHUNK = "Chunks"
_READ = "Reading documents"
_SERVE = "Serving"
_LOG = "Logging and health"
_REPO = "Repositories surface"
_RAG = "RAG surface"


class Settings(BaseModel):
    """Hold every setting, read once and frozen; paths are absolute, secrets masked in every text form."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    data_path: Path | None = _setting(
        "DATA_PATH", None, "Folder of the embedded store. Unset: the user's data folder for knowledge-mcp.",
        group=_STORE, example="~/knowledge",
    )  # fmt: skip
    vector_store: StoreName | None = _setting(
        "VECTOR_STORE", None,
        "Backend: `sqlite`, `qdrant` or `chromadb`. Unset: `qdrant` if QDRANT_URL is set, else `chromadb` if "
        "CHROMADB_HOST is set, else `sqlite` (one file in DATA_PATH, needs no server).",
        group=_STORE, surface="standards", example="sqlite",
    )  # fmt: skip
    collection: str = _setting(
        "QDRANT_COLLECTION", "se_knowledge_base", "Collection that is searched and filled, in whichever store.",
        group=_STORE, surface="standards", older=("COLLECTION",),
    )  # fmt: skip
    qdrant_url: str | None = _setting(
        "QDRANT_URL", None, "Address of a Qdrant server or cluster; setting it selects Qdrant.",
        group=_STORE, surface="standards", example="https://cluster.example.com:6333",
    )  # fmt: skip
    qdrant_api_key: SecretStr | None = _setting(
        "QDRANT_API_KEY", None, "API key of the Qdrant cluster.", group=_STORE, surface="standards", example="your-key"
    )
    hybrid_search: bool = _setting(
        "QDRANT_HYBRID_SEARCH", True, "Whether searches join meaning and words; `false` searches by meaning only.",
        group=_STORE, surface="standards",
    )  # fmt: skip
    chromadb_path: Path = _setting(
        "CHROMADB_PATH", Path("./collections/chromadb"), "Folder of an embedded ChromaDB.",
        group=_STORE, surface="standards", older=("CHROMA_PERSIST_DIR",),
    )  # fmt: skip
    chromadb_host: str | None = _setting(
        "CHROMADB_HOST", None, "Host of a ChromaDB server; setting it selects ChromaDB unless QDRANT_URL is set.",
        group=_STORE, surface="repositories", config="chromadb.host", example="localhost",
    )  # fmt: skip
    chromadb_port: int = _setting(
        "CHROMADB_PORT", 8000, "Port of that ChromaDB server.",
        group=_STORE, surface="repositories", config="chromadb.port", ge=1, le=65535,
    )  # fmt: skip

    embedding_provider: Provider | None = _setting(
        "EMBEDDING_PROVIDER", None,
        "`local` (ONNX on this machine, no key), `openai` or `azure`. Unset: `openai` if OPENAI_API_KEY is set, "
        "else `local`; a collection never changes its provider.",
        group=_EMBED, config="embedding.provider", example="local",
    )  # fmt: skip
    embedding_model: str | None = _setting(
        "EMBEDDING_MODEL", None,
        "Model name. Unset: `all-MiniLM-L6-v2` for `local`, `text-embedding-3-small` for `openai`.",
        group=_EMBED, surface="standards", config="embedding.model", example="all-MiniLM-L6-v2",
    )  # fmt: skip
    embedding_dimensions: int | None = _setting(
        "EMBEDDING_DIMENSIONS", None, "Components per vector. Unset: the model's own (384 local, 1536 openai).",
        group=_EMBED, surface="standards", example="384", ge=256, le=3072,
    )  # fmt: skip
    embedding_batch_size: int = _setting(
        "EMBEDDING_BATCH_SIZE", 100, "Texts per request to a remote embedding provider.",
        group=_EMBED, used=False, config="embedding.batchSize", ge=1, le=2048,
    )  # fmt: skip
    embedding_variant: Variant = _setting(
        "EMBEDDING_VARIANT", "int8", "Weights of the local model: `int8` (fast) or `fp32` (exact).", group=_EMBED
    )
    embedding_model_path: Path | None = _setting(
        "EMBEDDING_MODEL_PATH", None, "Folder that already holds the local model; nothing is downloaded then.",
        group=_EMBED, example="/opt/models/all-MiniLM-L6-v2",
    )  # fmt: skip
    models_path: Path | None = _setting(
        "MODELS_PATH", None, "Where downloaded models are kept. Unset: the user's cache folder for knowledge-mcp.",
        group=_EMBED, example="~/.cache/knowledge-mcp/models",
    )  # fmt: skip
    embedding_threads: int | None = _setting(
        "EMBEDDING_THREADS", None, "Threads of the local model. Unset: as many as this process has cores.",
        group=_EMBED, example="2", ge=1, le=256,
    )  # fmt: skip
    openai_api_key: SecretStr | None = _setting(
        "OPENAI_API_KEY", None,
        "OpenAI API key (`sk-...`). Set and without EMBEDDING_PROVIDER it selects `openai`.",
        group=_EMBED, surface="standards", example="sk-your-key",
    )  # fmt: skip

    chunk_size_min: int = _setting(
        "CHUNK_SIZE_MIN", 200, "Fewest tokens of a chunk, where the text allows.",
        group=_CHUNK, surface="standards", ge=50, le=500,
    )  # fmt: skip
    chunk_size_max: int = _setting(
        "CHUNK_SIZE_MAX", 800, "Most tokens of a chunk; what the embedding model reads caps it further.",
        group=_CHUNK, surface="standards", ge=200, le=2000,
    )  # fmt: skip
    chunk_overlap: int = _setting(
        "CHUNK_OVERLAP", 100, "Tokens that neighbouring chunks share; smaller than CHUNK_SIZE_MIN.",
        group=_CHUNK, surface="standards", ge=0, le=500,
    )  # fmt: skip

    enable_ocr: bool = _setting(
        "ENABLE_OCR", True, "Read scanned pages by OCR where Tesseract is installed.",
        group=_READ, surface="planning", used=False,
    )  # fmt: skip
    ocr_engine: OcrEngineName = _setting(
        "OCR_ENGINE", "auto", "`tesseract`, or `auto` to take whichever is installed.", group=_READ, used=False
    )
    image_ratio_threshold: float = _setting(
        "IMAGE_RATIO_THRESHOLD", 0.7, "Mean share of images on the pages above which a document is image-based.",
        group=_READ, surface="planning", ge=0, le=1, used=False,
    )  # fmt: skip
    image_skip: ImageSkip = _setting(
        "IMAGE_SKIP", "sample",
        "`strict` skips every image-based document; `sample` reads it when a sample of its pages reads well.",
        group=_READ, surface="planning", used=False,
    )  # fmt: skip
    allowed_roots: Words | None = _setting(
        "ALLOWED_ROOTS", None,
        "Comma-separated folders that tools given a path may read. Unset: none for a network server, the working "
        "directory and the home directory for stdio.",
        group=_READ, used=False, example="~/documents,/srv/standards",
    )  # fmt: skip

    port: int = _setting(
        "DOCUMENT_STORE_PORT", 3002, "Port of the HTTP and SSE transports.",
        group=_SERVE, surface="planning", ge=1, le=65535,
    )  # fmt: skip
    mcp_api_key: SecretStr | None = _setting(
        "MCP_API_KEY", None,
        "Bearer token that HTTP clients must send. Without one the server binds 127.0.0.1 only.",
        group=_SERVE, surface="planning", example="a-long-random-text",
    )  # fmt: skip
    mcp_api_keys_file: Path | None = _setting(
        "MCP_API_KEYS_FILE", None, "File with one `name: token` a line (or a JSON object), for several clients.",
        group=_SERVE, example="/etc/knowledge-mcp/tokens",
    )  # fmt: skip
    allowed_hosts: Words = _setting(
        "MCP_ALLOWED_HOSTS", (), "Comma-separated Host names (`kb.example.com`, `kb.example.com:8443`) accepted beside "
        "the loopback ones.",
        group=_SERVE, example="kb.example.com",
    )  # fmt: skip
    allowed_origins: Words = _setting(
        "MCP_ALLOWED_ORIGINS", (), "Comma-separated browser origins (`https://app.example.com`) that are accepted.",
        group=_SERVE, example="https://app.example.com",
    )  # fmt: skip
    max_body_bytes: int = _setting(
        "MCP_MAX_BODY_BYTES", 4194304, "Largest HTTP request that is read, in bytes.",
        group=_SERVE, ge=1024, le=1073741824,
    )  # fmt: skip

    log_level: LogLevel = _setting(
        "LOG_LEVEL", "INFO",
        "`DEBUG`, `INFO`, `WARNING` or `ERROR`. Unset, the server logs from `INFO`; the other commands, whose "
        "answer stands on the same terminal, are quiet below `WARNING` (below `INFO` with `--verbose`).",
        group=_LOG, surface="standards", config="logging.level",
    )  # fmt: skip
    log_format: LogFormat = _setting(
        "LOG_FORMAT", "text", "`text` or `json`; logs go to stderr.",
        group=_LOG, surface="standards", config="logging.format",
    )  # fmt: skip
    health_latency_threshold_ms: int = _setting(
        "HEALTH_LATENCY_THRESHOLD_MS", 500, "Milliseconds from which a check that is up counts as degraded.",
        group=_LOG, surface="standards", ge=1, le=600000,
    )  # fmt: skip

    github_pat: SecretStr | None = _setting(
        "GITHUB_PAT", None, "GitHub token for private repositories.",
        group=_REPO, surface="repositories", example="ghp_your-token", used=False,
    )  # fmt: skip
    repo_clone_path: Path = _setting(
        "REPO_CLONE_PATH", Path("./data/repos"), "Folder of cloned repositories.",
        group=_REPO, surface="repositories", config="ingestion.repoClonePath", used=False,
    )  # fmt: skip
    chunk_max_tokens: int = _setting(
        "CHUNK_MAX_TOKENS", 500, "Most tokens of a chunk of code.",
        group=_REPO, surface="repositories", config="ingestion.chunkMaxTokens", ge=50, le=8000, used=False,
    )  # fmt: skip
    chunk_overlap_tokens: int = _setting(
        "CHUNK_OVERLAP_TOKENS", 50, "Tokens that neighbouring chunks of code share.",
        group=_REPO, surface="repositories", config="ingestion.chunkOverlapTokens", ge=0, le=4000, used=False,
    )  # fmt: skip

    rag_api_url: str | None = _setting(
        "RAG_API_URL", None, "Address of the RAG REST service.",
        group=_RAG, surface="rag", example="https://rag.example.com", used=False,
    )  # fmt: skip
    rag_api_key: SecretStr | None = _setting(
        "RAG_API_KEY", None, "Bearer token of the RAG REST service.",
        group=_RAG, surface="rag", example="your-key", used=False,
    )  # fmt: skip
    azure_openai_endpoint: str | None = _setting(
        "AZURE_OPENAI_ENDPOINT", None, "Azure OpenAI endpoint; selects `azure` for the rag surface.",
        group=_RAG, surface="rag", example="https://name.openai.azure.com", used=False,
    )  # fmt: skip
    azure_openai_key: SecretStr | None = _setting(
        "AZURE_OPENAI_KEY", None, "Azure OpenAI key.", group=_RAG, surface="rag", example="your-key", used=False
    )
    azure_openai_embedding_deployment: str | None = _setting(
        "AZURE_OPENAI_EMBEDDING_DEPLOYMENT", None, "Name of the Azure embedding deployment.",
        group=_RAG, surface="rag", example="text-embedding-3-small", used=False,
    )  # fmt: skip

    @property
    def data_folder(self) -> Path:
        """Resolve the folder of the embedded store."""
        return self.data_path or _platform_folder("data")

    @property
    def store_file(self) -> Path:
        """Name the embedded store's file; it may not exist yet."""
        return self.data_folder / "knowledge.sqlite"

    @property
    def models_folder(self) -> Path:
        """Resolve the folder of downloaded models."""
        return self.models_path or _platform_folder("cache") / "models"


def _platform_folder(kind: Literal["data", "cache"]) -> Path:
    import platformdirs

    found = platformdirs.user_data_path if kind == "data" else platformdirs.user_cache_path
    return found("knowledge-mcp", appauthor=False)


def _written(default: object) -> str:
    if default is None or default == ():
        return ""
    if isinstance(default, bool):
        return str(default).lower()
    if isinstance(default, Path):
        return f"./{default}" if not default.is_absolute() else str(default)
    return str(default)


def variables() -> tuple[Variable, ...]:
    """List every setting in the order of its declaration."""
    found: list[Variable] = []
    for field, info in Settings.model_fields.items():
        extra = cast("dict[str, Any]", info.json_schema_extra)
        about: dict[str, Any] = extra["variable"]
        found.append(
            Variable(
                field=field,
                default=_written(info.default),
                text=info.description or "",
                secret="SecretStr" in str(info.annotation),
                **about,
            )
        )
    return tuple(found)
