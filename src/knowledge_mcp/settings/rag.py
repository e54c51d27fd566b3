"""Settings of the RAG surface, its REST service, and what it fetches."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, SecretStr

from knowledge_mcp.settings.variables import Words, setting

__all__ = ["RagSettings"]

_RAG = "RAG surface"
_LOG = "Logging and health"


class RagSettings(BaseModel):
    """Where the REST service is, who may use it, and what it may fetch."""

    rag_api_url: str | None = setting(
        "RAG_API_URL", None,
        "Address of the RAG REST service, for whoever calls it: the surfaces `rag` and `convert`, and `--remote`. "
        "Unset, the surface `rag` works in its own process.",
        key="RAG_API_KEY", group=_RAG, surface="rag", example="https://rag.example.com",
    )  # fmt: skip
    rag_api_key: SecretStr | None = setting(
        "RAG_API_KEY", None,
        "Bearer token of the RAG REST service: what callers send, and what `rag-api` asks for (with all rights).",
        group=_RAG, surface="rag", example="your-key",
    )  # fmt: skip
    rag_api_keys_file: Path | None = setting(
        "RAG_API_KEYS_FILE", None,
        "JSON file with several named keys and their rights by collection; read again when it changes.",
        key="RAG_API_KEY", group=_RAG, surface="rag", example="/etc/knowledge-mcp/keys.json",
    )  # fmt: skip
    rag_api_host: str | None = setting(
        "RAG_API_HOST", None,
        "Address that `rag-api` listens on. Unset: 0.0.0.0 where a key is configured, else 127.0.0.1.",
        widens=True, group=_RAG, surface="rag", example="0.0.0.0",
    )  # fmt: skip
    rag_api_port: int = setting(
        "RAG_API_PORT", 8000, "Port that `rag-api` listens on.", group=_RAG, surface="rag", ge=1, le=65535
    )
    rag_max_upload_bytes: int = setting(
        "RAG_MAX_UPLOAD_BYTES", 104857600, "Largest document, or text, that the REST service accepts, in bytes.",
        group=_RAG, surface="rag", ge=1024, le=2147483648,
    )  # fmt: skip
    rag_fetch_max_bytes: int = setting(
        "RAG_FETCH_MAX_BYTES", 52428800, "Most bytes that one address may give, as sent and as unpacked.",
        group=_RAG, surface="rag", ge=1024, le=2147483648,
    )  # fmt: skip
    rag_fetch_timeout: float = setting(
        "RAG_FETCH_TIMEOUT", 60.0,
        "Seconds for one whole fetch: name, connection, robots.txt, redirects and body. Proxies are not used, for the "
        "address that was checked must be the one that is connected to.",
        group=_RAG, surface="rag", ge=0.1, le=3600,
    )  # fmt: skip
    rag_fetch_allowed_hosts: Words = setting(
        "RAG_FETCH_ALLOWED_HOSTS", (),
        "Comma-separated host names (`wiki.example.com`, `*.example.com`) whose private addresses may be fetched, and "
        "repositories cloned from, all the same: an intranet. Hosts in GIT_TOKENS need not be listed. Link-local and "
        "metadata addresses stay refused.",
        widens=True, group=_RAG, surface="rag", example="wiki.example.com",
    )  # fmt: skip

    otel_endpoint: str | None = setting(
        "OTEL_EXPORTER_OTLP_ENDPOINT", None,
        "Base address that `rag-api` sends OpenTelemetry traces to (`/v1/traces` is added).",
        group=_LOG, surface="rag", example="http://otel-collector:4318",
    )  # fmt: skip
    otel_traces_endpoint: str | None = setting(
        "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", None, "Exact address for traces; wins over the base address.",
        group=_LOG, surface="rag", example="http://otel-collector:4318/v1/traces",
    )  # fmt: skip
