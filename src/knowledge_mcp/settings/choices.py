"""What the settings select together (embedding provider, model, store) and why; and where they contradict."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from typing import Literal

from knowledge_mcp.settings.fields import Settings
from knowledge_mcp.settings.groups import LOCAL_RERANKER

__all__ = [
    "LOCAL_MODEL",
    "OPENAI_MODEL",
    "EmbeddingChoice",
    "StoreChoice",
    "blends_scores",
    "choose_embedding",
    "choose_store",
    "contradictions",
]

LOCAL_MODEL = "all-MiniLM-L6-v2"
OPENAI_MODEL = "text-embedding-3-small"
LOCAL_DIMENSIONS = 384


@dataclass(frozen=True, slots=True)
class EmbeddingChoice:
    """Name the embedding provider and model in force, and why; `dimensions` is None for the model's own."""

    provider: Literal["local", "openai", "azure"]
    model: str
    dimensions: int | None
    reason: str


@dataclass(frozen=True, slots=True)
class StoreChoice:
    """Name the store in force, and why."""

    backend: Literal["sqlite", "qdrant", "chromadb"]
    reason: str


def choose_embedding(settings: Settings, surface: str = "standards") -> EmbeddingChoice:
    """Select the embedding provider for a surface in one order, without any fallback."""
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
    """Select the store: as named, else by whose address is set, else the embedded one."""
    if settings.vector_store is not None:
        return StoreChoice(settings.vector_store, f"VECTOR_STORE={settings.vector_store}")
    if settings.qdrant_url is not None:
        return StoreChoice("qdrant", "QDRANT_URL is set")
    if settings.chromadb_host is not None:
        return StoreChoice("chromadb", "CHROMADB_HOST is set")
    return StoreChoice("sqlite", "nothing else is configured")


def blends_scores(settings: Settings, surface: str = "standards") -> bool:
    """Tell whether a surface's hybrid searches that name no weight blend scores, or fuse ranks."""
    return settings.hybrid_fusion == "scores" or (settings.hybrid_fusion == "auto" and surface != "standards")


def contradictions(settings: Settings, surface: str = "standards") -> list[str]:
    """List values that are right alone and wrong together, and keys and addresses of the wrong form."""
    return [*_chunk_problems(settings), *_address_problems(settings), *_embedding_problems(settings, surface)]


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
    addresses = {
        "QDRANT_URL": settings.qdrant_url,
        "RAG_API_URL": settings.rag_api_url,
        "RERANKER_URL": settings.reranker_url,
        "AZURE_OPENAI_ENDPOINT": settings.azure_openai_endpoint,
    }
    problems.extend(
        f"{name} must start with https:// or http://."
        for name, value in addresses.items()
        if value is not None and not value.startswith(("https://", "http://"))
    )
    if settings.reranker == "api" and settings.reranker_url is None:
        problems.append("RERANKER=api needs RERANKER_URL, which is not set.")
    problems.extend(
        f"MCP_ALLOWED_HOSTS holds '{host}': a host name with or without a port is meant, no scheme and no path."
        for host in settings.allowed_hosts
        if "/" in host
    )
    problems.extend(
        f"MCP_ALLOWED_ORIGINS holds '{origin}': an origin such as https://app.example.com is meant."
        for origin in settings.allowed_origins
        if not origin.startswith(("https://", "http://")) or origin.count("/") > 2
    )
    problems.extend(
        f"MCP_TRUSTED_PROXIES holds '{proxy}': an address or a network such as 10.128.0.0/14 is meant."
        for proxy in settings.trusted_proxies
        if not _is_network(proxy)
    )
    token = settings.mcp_api_key.get_secret_value() if settings.mcp_api_key is not None else "-"
    if not token.isascii() or not token.isprintable() or " " in token:
        problems.append("MCP_API_KEY may hold only visible ASCII characters: it is sent in an HTTP header.")
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
            f"EMBEDDING_MODEL={choice.model} is a model of OpenAI, but the embedding provider is 'local' "
            f"({choice.reason}). Unset EMBEDDING_MODEL, or choose a local model."
        )
    elif choice.provider == "local" and choice.model.rpartition("/")[2].lower() == LOCAL_RERANKER.lower():
        problems.append(f"EMBEDDING_MODEL={choice.model} is a reranker: it has no vectors. RERANKER=local uses it.")
    elif choice.model == LOCAL_MODEL and choice.dimensions not in {None, LOCAL_DIMENSIONS}:
        problems.append(
            f"EMBEDDING_DIMENSIONS={choice.dimensions} does not fit {LOCAL_MODEL}, whose vectors have "
            f"{LOCAL_DIMENSIONS} components. Unset EMBEDDING_DIMENSIONS."
        )
    return problems


def _looks_like_a_key(key: str) -> bool:
    return key.startswith("sk-") and len(key) > len("sk-") and key.isascii() and key.isprintable() and " " not in key
