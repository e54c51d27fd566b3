"""Every setting, declared once: its variable, type, range, default, group, and meaning.

The documentation (`docs/settings.md`, `.env.example`), `knowledge config show` and the checks are generated from this.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, cast

from pydantic import BaseModel, ConfigDict, SecretStr

from knowledge_mcp.settings.access import AccessSettings, signing_on_problems
from knowledge_mcp.settings.groups import (
    LOCAL_RERANKER,
    EmbeddingSettings,
    ImageSkip,
    LogFormat,
    LogLevel,
    OcrEngineName,
    RagSettings,
    RankingSettings,
    StoreSettings,
    Variable,
    Words,
    setting,
)

_chunk = partial(setting, group="Chunks", surface="standards")
_read = partial(setting, group="Reading documents")
_serve = partial(setting, group="Serving")
_log = partial(setting, group="Logging and health", surface="standards")
_repo = partial(setting, group="Repositories surface", surface="repositories")


class _OtherSettings(BaseModel, defer_build=True):
    chunk_size_min: int = _chunk("CHUNK_SIZE_MIN", 200, "Minimum tokens of a chunk, if the text allows.", ge=50, le=500)
    chunk_size_max: int = _chunk(
        "CHUNK_SIZE_MAX", 800, "Maximum tokens of a chunk; limited further by the input size of the embedding model.",
        ge=200, le=2000,
    )  # fmt: skip
    chunk_overlap: int = _chunk(
        "CHUNK_OVERLAP", 100, "Tokens shared by neighbouring chunks; must be smaller than CHUNK_SIZE_MIN.", ge=0, le=500
    )

    prune: bool = _read(
        "PRUNE", False, "Whether ingesting a folder removes documents whose files were deleted from it, like `--prune`."
    )
    source_logins: SecretStr | None = _read(
        "SOURCE_LOGINS", None,
        "Comma-separated logins for WebDAV sources, each as `host=user:password` or `host=token`; write a comma in "
        "a password as `%2C` and a percent sign as `%25`. A login is sent only to its host, which may have a "
        "private address.",
        widens=True, example="dav.example.com=reader:your-password",
    )  # fmt: skip
    enable_ocr: bool = _read(
        "ENABLE_OCR", True, "Whether to read scanned pages by OCR; needs Tesseract.", surface="planning"
    )
    ocr_engine: OcrEngineName = _read(
        "OCR_ENGINE",
        "auto",
        "OCR engine for scanned pages: the name of a registered engine, or `auto` for the first one.",
    )
    ocr_language: str = _read(
        "OCR_LANGUAGE", "eng",
        "Languages of scanned pages, as Tesseract codes joined by `+`; the language data must be installed.",
        example="eng+deu",
    )  # fmt: skip
    image_ratio_threshold: float = _read(
        "IMAGE_RATIO_THRESHOLD", 0.7, "A document is image-based if images cover more than this share of its pages "
                                      "on average.",
        surface="planning", ge=0, le=1,
    )  # fmt: skip
    image_skip: ImageSkip = _read(
        "IMAGE_SKIP", "sample",
        "`strict` skips every image-based document; `sample` reads it when a sample of its pages reads well.",
        surface="planning",
    )  # fmt: skip
    document_passwords_file: Path | None = _read(
        "DOCUMENT_PASSWORDS_FILE", None,
        "File with one password per line, tried on protected PDFs. In a terminal, `knowledge-ingest` asks for "
        "missing passwords; otherwise such a file is reported as unreadable.",
        example="/etc/knowledge-mcp/passwords",
    )  # fmt: skip
    allowed_roots: Words | None = _read(
        "ALLOWED_ROOTS", None,
        "Comma-separated folders from which tools may read files by path. Unset: none for a network server; the "
        "working directory and the home directory for stdio. The console draws PDF pages only of files in these "
        "folders; if unset, of all files, but only without keys and on this machine.",
        widens=True, example="~/documents,/srv/standards",
    )  # fmt: skip

    port: int = _serve(
        "DOCUMENT_STORE_PORT", 3002, "Port of the HTTP and SSE transports.", surface="planning", ge=1, le=65535
    )
    mcp_api_key: SecretStr | None = _serve(
        "MCP_API_KEY", None, "Bearer token that HTTP clients must send. Without one the server listens on "
                             "127.0.0.1 only.",
        surface="planning", example="a-long-random-text",
    )  # fmt: skip
    mcp_api_keys_file: Path | None = _serve(
        "MCP_API_KEYS_FILE", None,
        "File with one `name: token` per line (or a JSON object), for several clients; reloaded when it changes.",
        key="MCP_API_KEY", example="/etc/knowledge-mcp/tokens",
    )  # fmt: skip
    allowed_hosts: Words = _serve(
        "MCP_ALLOWED_HOSTS", (), "Comma-separated Host names (`kb.example.com`, `kb.example.com:8443`) accepted in "
                                 "addition to the loopback names.",
        widens=True, example="kb.example.com",
    )  # fmt: skip
    allowed_origins: Words = _serve(
        "MCP_ALLOWED_ORIGINS", (), "Comma-separated browser origins (`https://app.example.com`) that are accepted.",
        widens=True, example="https://app.example.com",
    )  # fmt: skip
    trusted_proxies: Words = _serve(
        "MCP_TRUSTED_PROXIES", (), "Comma-separated addresses or networks (`10.0.0.5`, `10.128.0.0/14`) of reverse "
                                   "proxies: their `X-Forwarded-For` header is trusted, and their connections are "
                                   "exempt from limits by address.",
        widens=True, example="10.0.0.5",
    )  # fmt: skip
    max_body_bytes: int = _serve(
        "MCP_MAX_BODY_BYTES", 4194304, "Maximum size of an HTTP request body, in bytes.", ge=1024, le=1073741824
    )

    log_level: LogLevel = _log(
        "LOG_LEVEL", "INFO",
        "`DEBUG`, `INFO`, `WARNING` or `ERROR`. Unset: `INFO` for servers; `WARNING` for other commands, which "
        "print to the same terminal (`INFO` with `--verbose`).",
        config="logging.level",
    )  # fmt: skip
    log_format: LogFormat = _log("LOG_FORMAT", "text", "`text` or `json`; logs go to stderr.", config="logging.format")
    health_latency_threshold_ms: int = _log(
        "HEALTH_LATENCY_THRESHOLD_MS", 500, "A health check that takes longer than this counts as degraded, in "
                                            "milliseconds.",
        ge=1, le=600000,
    )  # fmt: skip

    github_pat: SecretStr | None = _repo(
        "GITHUB_PAT", None, "Token for private repositories on github.com.", example="ghp_your-token"
    )
    git_tokens: SecretStr | None = _repo(
        "GIT_TOKENS", None, "Comma-separated tokens for hosts other than GitHub, each as `host=token`.",
        surface="all", example="gitlab.example.com=your-token",
    )  # fmt: skip
    repo_clone_path: Path = _repo(
        "REPO_CLONE_PATH", Path("./data/repos"), "Folder for cloned repositories.", config="ingestion.repoClonePath"
    )
    chunk_max_tokens: int = _repo(
        "CHUNK_MAX_TOKENS", 500, "Maximum tokens of a chunk of code.", config="ingestion.chunkMaxTokens", ge=50, le=8000
    )
    chunk_overlap_tokens: int = _repo(
        "CHUNK_OVERLAP_TOKENS", 50, "Tokens shared by neighbouring chunks of code.",
        config="ingestion.chunkOverlapTokens", ge=0, le=4000,
    )  # fmt: skip

    default_extensions: Words | None = _repo(
        "DEFAULT_EXTENSIONS", None,
        "Comma-separated extensions of repository files to index; replaces the built-in list.",
        config="ingestion.defaultExtensions", example=".py,.ts,.md",
    )  # fmt: skip
    default_excludes: Words = _repo(
        "DEFAULT_EXCLUDES", (), "Comma-separated patterns to exclude in addition to the built-in ones, in "
                                ".gitignore syntax.",
        config="ingestion.defaultExcludes", example="vendor/**,*.snap",
    )  # fmt: skip
    search_default_limit: int = _repo(
        "SEARCH_DEFAULT_LIMIT", 10, "Default number of results of a code search.",
        config="search.defaultLimit", ge=1, le=50,
    )  # fmt: skip
    search_max_limit: int = _repo(
        "SEARCH_MAX_LIMIT",
        50,
        "Maximum number of results of a code search.",
        config="search.maxLimit",
        ge=1,
        le=50,
    )
    search_default_threshold: float = _repo(
        "SEARCH_DEFAULT_THRESHOLD", 0.7,
        "Default minimum similarity of results of a code search.",
        config="search.defaultThreshold", ge=0, le=1,
    )  # fmt: skip
    search_snippet_max_length: int = _repo(
        "SEARCH_SNIPPET_MAX_LENGTH", 500, "Maximum characters of a code snippet.",
        config="search.snippetMaxLength", ge=50, le=100000,
    )  # fmt: skip


class Settings(
    _OtherSettings,
    AccessSettings,
    RagSettings,
    RankingSettings,
    EmbeddingSettings,
    StoreSettings,
    defer_build=False,  # its parts are never built: only the whole is read
):
    """All settings, read once and frozen; paths are absolute, secrets masked in every text form."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    @property
    def synonym_lists(self) -> tuple[str, ...]:
        """List the names and paths of synonyms, without `none`."""
        return tuple(each for each in self.synonyms if each.lower() != "none")

    @property
    def reranker_folder(self) -> Path:
        """Return the folder of the local reranker: the configured one, otherwise that of the one fetched by name."""
        return self.reranker_model_path or self.models_folder / LOCAL_RERANKER


def _format(default: object) -> str:
    if default is None or default == ():
        return ""
    if isinstance(default, tuple):
        return ",".join(str(each) for each in cast("tuple[object, ...]", default))
    if isinstance(default, bool):
        return str(default).lower()
    if isinstance(default, Path):
        return f"./{default}" if not default.is_absolute() else str(default)
    return str(default)


def variables() -> tuple[Variable, ...]:
    """List every setting in the order of its declaration."""
    found: list[Variable] = []
    for field, info in Settings.model_fields.items():
        declared: Variable = cast("dict[str, Any]", info.json_schema_extra)["variable"]
        secret = "SecretStr" in str(info.annotation)
        found.append(replace(declared, field=field, default=_format(info.default), secret=secret))
    return tuple(found)


LOCAL_MODEL = "all-MiniLM-L6-v2"
OPENAI_MODEL = "text-embedding-3-small"
LOCAL_DIMENSIONS = 384


@dataclass(frozen=True, slots=True)
class EmbeddingChoice:
    """The embedding provider and model in use, and why; `dimensions` is None for the model's own."""

    provider: Literal["local", "openai", "azure"]
    model: str
    dimensions: int | None
    reason: str


@dataclass(frozen=True, slots=True)
class StoreChoice:
    """The store in use, and why."""

    backend: Literal["sqlite", "postgres", "qdrant", "chromadb"]
    reason: str


def choose_embedding(settings: Settings, surface: str = "standards") -> EmbeddingChoice:
    """Select the embedding provider for a surface, in a fixed order and without fallback."""
    if surface == "planning":
        return EmbeddingChoice("local", LOCAL_MODEL, None, "the planning surface always embeds with this model")
    if settings.embedding_provider is not None:
        provider, reason = settings.embedding_provider, f"EMBEDDING_PROVIDER={settings.embedding_provider}"
    elif surface == "rag" and settings.azure_openai_endpoint is not None:
        provider, reason = "azure", "AZURE_OPENAI_ENDPOINT is set"
    elif settings.openai_api_key is not None:
        provider, reason = "openai", "OPENAI_API_KEY is set"
    else:
        provider, reason = "local", "nothing else is configured"
    model = (
        settings.embedding_model
        or {
            "local": LOCAL_MODEL,
            "openai": OPENAI_MODEL,
            "azure": settings.azure_openai_embedding_deployment or OPENAI_MODEL,
        }[provider]
    )
    return EmbeddingChoice(provider, model, settings.embedding_dimensions, reason)


def choose_store(settings: Settings) -> StoreChoice:
    """Select the store: the configured one, otherwise the one whose address is set, otherwise the embedded one."""
    if settings.vector_store is not None:
        return StoreChoice(settings.vector_store, f"VECTOR_STORE={settings.vector_store}")
    if settings.qdrant_url is not None:
        return StoreChoice("qdrant", "QDRANT_URL is set")
    if settings.chromadb_host is not None:
        return StoreChoice("chromadb", "CHROMADB_HOST is set")
    return StoreChoice("sqlite", "nothing else is configured")


def contradictions(settings: Settings, surface: str = "standards") -> list[str]:
    """List values that are valid alone but contradict each other, and keys and addresses of invalid form."""
    return [
        *_chunk_problems(settings),
        *_address_problems(settings),
        *signing_on_problems(settings),
        *_embedding_problems(settings, surface),
    ]


def _chunk_problems(settings: Settings) -> list[str]:
    problems: list[str] = []
    if settings.chunk_overlap >= settings.chunk_size_min:
        problems.append(
            f"CHUNK_OVERLAP ({settings.chunk_overlap}) must be smaller than CHUNK_SIZE_MIN ({settings.chunk_size_min})."
        )
    if settings.chunk_size_min > settings.chunk_size_max:
        problems.append(
            f"CHUNK_SIZE_MIN ({settings.chunk_size_min}) must not be larger than "
            f"CHUNK_SIZE_MAX ({settings.chunk_size_max})."
        )
    if settings.chunk_overlap_tokens >= settings.chunk_max_tokens:
        problems.append(
            f"CHUNK_OVERLAP_TOKENS ({settings.chunk_overlap_tokens}) must be smaller than "
            f"CHUNK_MAX_TOKENS ({settings.chunk_max_tokens})."
        )
    return problems


def _address_problems(settings: Settings) -> list[str]:
    problems: list[str] = []
    if settings.vector_store == "qdrant" and settings.qdrant_url is None:
        problems.append("VECTOR_STORE=qdrant needs QDRANT_URL, which is not set.")
    if settings.vector_store == "postgres" and settings.database_url is None:
        problems.append("VECTOR_STORE=postgres needs DATABASE_URL, which is not set.")
    addresses = {
        "QDRANT_URL": settings.qdrant_url,
        "RAG_API_URL": settings.rag_api_url,
        "RERANKER_URL": settings.reranker_url,
        "AZURE_OPENAI_ENDPOINT": settings.azure_openai_endpoint,
        "OPENAI_BASE_URL": settings.openai_base_url,
    }
    problems.extend(
        f"{name} must start with https:// or http://."
        for name, value in addresses.items()
        if value is not None and not value.startswith(("https://", "http://"))
    )
    if settings.reranker == "api" and settings.reranker_url is None:
        problems.append("RERANKER=api needs RERANKER_URL, which is not set.")
    problems.extend(
        f"MCP_ALLOWED_HOSTS contains '{host}': use a host name with or without a port, but without scheme and path."
        for host in settings.allowed_hosts
        if "/" in host
    )
    problems.extend(
        f"MCP_ALLOWED_ORIGINS contains '{origin}': use an origin such as https://app.example.com."
        for origin in settings.allowed_origins
        if not origin.startswith(("https://", "http://")) or origin.count("/") > 2
    )
    problems.extend(
        f"MCP_TRUSTED_PROXIES contains '{proxy}': use an address or a network such as 10.128.0.0/14."
        for proxy in settings.trusted_proxies
        if not _is_network(proxy)
    )
    token = settings.mcp_api_key.get_secret_value() if settings.mcp_api_key is not None else "-"
    if not token.isascii() or not token.isprintable() or " " in token:
        problems.append("MCP_API_KEY may contain only visible ASCII characters, because it is sent in an HTTP header.")
    return problems


def _is_network(text: str) -> bool:
    try:
        ipaddress.ip_network(text, strict=False)
    except ValueError:
        return False
    return True


def _embedding_problems(settings: Settings, surface: str) -> list[str]:
    problems: list[str] = []
    choice = choose_embedding(settings, surface)
    key = settings.openai_api_key
    if choice.provider == "openai" and key is None:
        problems.append("OPENAI_API_KEY is not set; the embedding provider 'openai' needs it.")
    if choice.provider == "openai" and key is not None and not _looks_like_a_key(key.get_secret_value()):
        problems.append("OPENAI_API_KEY does not look like an OpenAI key: it must start with 'sk-'.")
    if choice.provider == "azure":
        needed = {
            "AZURE_OPENAI_ENDPOINT": settings.azure_openai_endpoint,
            "AZURE_OPENAI_KEY": settings.azure_openai_key,
            "AZURE_OPENAI_EMBEDDING_DEPLOYMENT": settings.azure_openai_embedding_deployment,
        }
        problems.extend(
            f"{name} is not set; the embedding provider 'azure' needs it."
            for name, value in needed.items()
            if not value
        )
    if choice.provider == "local" and choice.model.startswith("text-embedding-"):
        problems.append(
            f"EMBEDDING_MODEL={choice.model} is an OpenAI model, but the embedding provider is 'local' "
            f"({choice.reason}). Unset EMBEDDING_MODEL, or choose a local model."
        )
    elif choice.provider == "local" and choice.model.rpartition("/")[2].lower() == LOCAL_RERANKER.lower():
        problems.append(
            f"EMBEDDING_MODEL={choice.model} is a reranker, which makes no vectors. Use it with RERANKER=local."
        )
    elif choice.model == LOCAL_MODEL and choice.dimensions not in {None, LOCAL_DIMENSIONS}:
        problems.append(
            f"EMBEDDING_DIMENSIONS={choice.dimensions} does not fit {LOCAL_MODEL}, whose vectors have "
            f"{LOCAL_DIMENSIONS} components. Unset EMBEDDING_DIMENSIONS."
        )
    return problems


def _looks_like_a_key(key: str) -> bool:
    return key.startswith("sk-") and len(key) > len("sk-") and key.isascii() and key.isprintable() and " " not in key
