"""Settings and helpers for the tests of the paid embedders, which run against the stand-in on loopback."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import SecretStr

from knowledge_mcp.embedders.cache import CachedEmbedder
from knowledge_mcp.embedders.services.embedder import RemoteEmbedder
from knowledge_mcp.embedders.services.providers import from_azure_options, from_openai_options
from knowledge_mcp.embedders.services.service import Service, choose_model, http_client
from knowledge_mcp.support.retry import RetryPolicy
from tests.servers.openai_server import OpenAIServer

if TYPE_CHECKING:
    from openai import OpenAI

NOWHERE = Path("/nonexistent")


@dataclass
class Options:
    """The settings that the paid embedders read."""

    openai_api_key: SecretStr | None = None
    openai_base_url: str | None = None
    embedding_model: str | None = None
    embedding_dimensions: int | None = None
    embedding_batch_size: int = 100
    embedding_concurrency: int = 4
    embedding_max_retries: int = 3
    embedding_timeout_ms: int = 60000
    embedding_price: float | None = None
    embedding_cache: bool = False
    data_folder: Path = NOWHERE
    azure_openai_endpoint: str | None = None
    azure_openai_key: SecretStr | None = None
    azure_openai_embedding_deployment: str | None = "text-embedding-3-small"
    azure_openai_api_version: str = "2024-10-21"


@dataclass
class Pauses:
    """Retries that write their pauses down in place of waiting."""

    taken: list[float] = field(default_factory=list[float])

    @property
    def policy(self) -> RetryPolicy:
        return RetryPolicy(sleep=self.taken.append)


def options_for(server: OpenAIServer) -> Options:
    return Options(
        openai_api_key=SecretStr(server.key),
        openai_base_url=server.url,
        azure_openai_endpoint=server.endpoint,
        azure_openai_key=SecretStr(server.key),
    )


def openai_embedder(
    server: OpenAIServer, pauses: Pauses | None = None, **changes: Any
) -> CachedEmbedder | RemoteEmbedder:
    return from_openai_options(_changed(server, changes), retries=(pauses or Pauses()).policy)


def azure_embedder(
    server: OpenAIServer, pauses: Pauses | None = None, **changes: Any
) -> CachedEmbedder | RemoteEmbedder:
    return from_azure_options(_changed(server, changes), retries=(pauses or Pauses()).policy)


def openai_service(server: OpenAIServer) -> Service:
    """Describe the stand-in as a service, for embedders with other limits of time than the specified ones."""

    def connect() -> OpenAI:
        from openai import OpenAI

        return OpenAI(api_key=server.key, base_url=server.url, max_retries=0, http_client=http_client())

    return Service(
        name="OpenAI",
        provider="openai",
        model=choose_model("text-embedding-3-small", None),
        asks_for="text-embedding-3-small",
        connect=connect,
        key=SecretStr(server.key),
        key_setting="OPENAI_API_KEY",
        model_setting="EMBEDDING_MODEL",
        address_setting="OPENAI_BASE_URL",
        billing="nowhere",
    )


def _changed(server: OpenAIServer, changes: dict[str, Any]) -> Options:
    options = options_for(server)
    for name, value in changes.items():
        assert hasattr(options, name), name
        setattr(options, name, value)
    return options
