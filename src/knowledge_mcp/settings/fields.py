"""Every setting, declared once: its variable, type, range, default, whose it is, and what it does.

The documentation (`docs/settings.md`, `.env.example`), `knowledge config show` and the checks are all made from this.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from pydantic import BaseModel, ConfigDict, SecretStr

from knowledge_mcp.settings.groups import LOCAL_RERANKER, EmbeddingSettings, RagSettings, RankingSettings, StoreSettings
from knowledge_mcp.settings.variables import ImageSkip, LogFormat, LogLevel, OcrEngineName, Variable, Words, setting

__all__ = ["Settings", "Variable", "variables"]

_CHUNK = "Chunks"
_READ = "Reading documents"
_SERVE = "Serving"
_LOG = "Logging and health"
_REPO = "Repositories surface"


class _OtherSettings(BaseModel):
    chunk_size_min: int = setting(
        "CHUNK_SIZE_MIN", 200, "Fewest tokens of a chunk, where the text allows.",
        group=_CHUNK, surface="standards", ge=50, le=500,
    )  # fmt: skip
    chunk_size_max: int = setting(
        "CHUNK_SIZE_MAX", 800, "Most tokens of a chunk; what the embedding model reads caps it further.",
        group=_CHUNK, surface="standards", ge=200, le=2000,
    )  # fmt: skip
    chunk_overlap: int = setting(
        "CHUNK_OVERLAP", 100, "Tokens that neighbouring chunks share; smaller than CHUNK_SIZE_MIN.",
        group=_CHUNK, surface="standards", ge=0, le=500,
    )  # fmt: skip

    enable_ocr: bool = setting(
        "ENABLE_OCR", True, "Read scanned pages by OCR where Tesseract is installed.",
        group=_READ, surface="planning",
    )  # fmt: skip
    ocr_engine: OcrEngineName = setting(
        "OCR_ENGINE",
        "auto",
        "What reads scanned pages: an engine of the registry by name, or `auto` for its first.",
        group=_READ,
    )
    image_ratio_threshold: float = setting(
        "IMAGE_RATIO_THRESHOLD", 0.7, "Mean share of images on the pages above which a document is image-based.",
        group=_READ, surface="planning", ge=0, le=1,
    )  # fmt: skip
    image_skip: ImageSkip = setting(
        "IMAGE_SKIP", "sample",
        "`strict` skips every image-based document; `sample` reads it when a sample of its pages reads well.",
        group=_READ, surface="planning",
    )  # fmt: skip
    document_passwords_file: Path | None = setting(
        "DOCUMENT_PASSWORDS_FILE", None,
        "File with one password a line, tried on protected PDFs. At a terminal `knowledge-ingest` asks for what is "
        "missing; all else reports such a file as unreadable.",
        group=_READ, example="/etc/knowledge-mcp/passwords",
    )  # fmt: skip
    allowed_roots: Words | None = setting(
        "ALLOWED_ROOTS", None,
        "Comma-separated folders that tools given a path may read. Unset: none for a network server, the working "
        "directory and the home directory for stdio.",
        widens=True, group=_READ, example="~/documents,/srv/standards",
    )  # fmt: skip

    port: int = setting(
        "DOCUMENT_STORE_PORT", 3002, "Port of the HTTP and SSE transports.",
        group=_SERVE, surface="planning", ge=1, le=65535,
    )  # fmt: skip
    mcp_api_key: SecretStr | None = setting(
        "MCP_API_KEY", None,
        "Bearer token that HTTP clients must send. Without one the server binds 127.0.0.1 only.",
        group=_SERVE, surface="planning", example="a-long-random-text",
    )  # fmt: skip
    mcp_api_keys_file: Path | None = setting(
        "MCP_API_KEYS_FILE", None,
        "File with one `name: token` a line (or a JSON object), for several clients; read again when it changes.",
        key="MCP_API_KEY", group=_SERVE, example="/etc/knowledge-mcp/tokens",
    )  # fmt: skip
    allowed_hosts: Words = setting(
        "MCP_ALLOWED_HOSTS", (), "Comma-separated Host names (`kb.example.com`, `kb.example.com:8443`) accepted beside "
        "the loopback ones.",
        widens=True, group=_SERVE, example="kb.example.com",
    )  # fmt: skip
    allowed_origins: Words = setting(
        "MCP_ALLOWED_ORIGINS", (), "Comma-separated browser origins (`https://app.example.com`) that are accepted.",
        widens=True, group=_SERVE, example="https://app.example.com",
    )  # fmt: skip
    trusted_proxies: Words = setting(
        "MCP_TRUSTED_PROXIES", (), "Comma-separated addresses or networks (`10.0.0.5`, `10.128.0.0/14`) of reverse "
        "proxies: their `X-Forwarded-For` is believed, and no limit by address applies to their connections.",
        widens=True, group=_SERVE, example="10.0.0.5",
    )  # fmt: skip
    max_body_bytes: int = setting(
        "MCP_MAX_BODY_BYTES", 4194304, "Largest HTTP request that is read, in bytes.",
        group=_SERVE, ge=1024, le=1073741824,
    )  # fmt: skip

    log_level: LogLevel = setting(
        "LOG_LEVEL", "INFO",
        "`DEBUG`, `INFO`, `WARNING` or `ERROR`. Unset, the server logs from `INFO`; the other commands, whose "
        "answer stands on the same terminal, are quiet below `WARNING` (below `INFO` with `--verbose`).",
        group=_LOG, surface="standards", config="logging.level",
    )  # fmt: skip
    log_format: LogFormat = setting(
        "LOG_FORMAT", "text", "`text` or `json`; logs go to stderr.",
        group=_LOG, surface="standards", config="logging.format",
    )  # fmt: skip
    health_latency_threshold_ms: int = setting(
        "HEALTH_LATENCY_THRESHOLD_MS", 500, "Milliseconds from which a check that is up counts as degraded.",
        group=_LOG, surface="standards", ge=1, le=600000,
    )  # fmt: skip

    github_pat: SecretStr | None = setting(
        "GITHUB_PAT", None, "Token for private repositories on github.com.",
        group=_REPO, surface="repositories", example="ghp_your-token",
    )  # fmt: skip
    git_tokens: SecretStr | None = setting(
        "GIT_TOKENS", None, "Tokens for other hosts than GitHub, comma-separated, each as `host=token`.",
        group=_REPO, example="gitlab.example.com=your-token",
    )  # fmt: skip
    repo_clone_path: Path = setting(
        "REPO_CLONE_PATH", Path("./data/repos"), "Folder of cloned repositories.",
        group=_REPO, surface="repositories", config="ingestion.repoClonePath",
    )  # fmt: skip
    chunk_max_tokens: int = setting(
        "CHUNK_MAX_TOKENS", 500, "Most tokens of a chunk of code.",
        group=_REPO, surface="repositories", config="ingestion.chunkMaxTokens", ge=50, le=8000,
    )  # fmt: skip
    chunk_overlap_tokens: int = setting(
        "CHUNK_OVERLAP_TOKENS", 50, "Tokens that neighbouring chunks of code share.",
        group=_REPO, surface="repositories", config="ingestion.chunkOverlapTokens", ge=0, le=4000,
    )  # fmt: skip

    default_extensions: Words | None = setting(
        "DEFAULT_EXTENSIONS", None,
        "Comma-separated extensions of the files of a repository that are indexed, instead of the built-in list.",
        group=_REPO, surface="repositories", config="ingestion.defaultExtensions", example=".py,.ts,.md",
    )  # fmt: skip
    default_excludes: Words = setting(
        "DEFAULT_EXCLUDES", (),
        "Comma-separated patterns to leave out beside the built-in ones, as in a .gitignore.",
        group=_REPO, surface="repositories", config="ingestion.defaultExcludes", example="vendor/**,*.snap",
    )  # fmt: skip
    search_default_limit: int = setting(
        "SEARCH_DEFAULT_LIMIT", 10, "Results of a code search that names no limit.",
        group=_REPO, surface="repositories", config="search.defaultLimit", ge=1, le=50,
    )  # fmt: skip
    search_max_limit: int = setting(
        "SEARCH_MAX_LIMIT", 50, "Most results that a code search may ask for.",
        group=_REPO, surface="repositories", config="search.maxLimit", ge=1, le=50,
    )  # fmt: skip
    search_default_threshold: float = setting(
        "SEARCH_DEFAULT_THRESHOLD", 0.7,
        "Similarity below which results of a code search are left out, unless it names its own.",
        group=_REPO, surface="repositories", config="search.defaultThreshold", ge=0, le=1,
    )  # fmt: skip
    search_snippet_max_length: int = setting(
        "SEARCH_SNIPPET_MAX_LENGTH", 500, "Characters of a code snippet.",
        group=_REPO, surface="repositories", config="search.snippetMaxLength", ge=50, le=100000,
    )  # fmt: skip


class Settings(_OtherSettings, RagSettings, RankingSettings, EmbeddingSettings, StoreSettings):
    """Hold every setting, read once and frozen; paths are absolute, secrets masked in every text form."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    @property
    def synonym_lists(self) -> tuple[str, ...]:
        """List the names and paths of synonyms, without `none`."""
        return tuple(each for each in self.synonyms if each.lower() != "none")

    @property
    def reranker_folder(self) -> Path:
        """Resolve the folder of the local reranker: the user's own, else that of the one fetched by name."""
        return self.reranker_model_path or self.models_folder / LOCAL_RERANKER


def _written(default: object) -> str:
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
        found.append(replace(declared, field=field, default=_written(info.default), secret=secret))
    return tuple(found)
