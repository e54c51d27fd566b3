"""The embedder that asks OpenAI, or a server that speaks its language at OPENAI_BASE_URL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from knowledge_mcp.embedders.cache import CachedEmbedder
from knowledge_mcp.embedders.services.embedder import RemoteEmbedder
from knowledge_mcp.embedders.services.options import ServiceOptions, embedder_of
from knowledge_mcp.embedders.services.service import DEFAULT_MODEL, Service, choose_model, http_client, openai_library
from knowledge_mcp.model.errors import ConfigError
from knowledge_mcp.support.distribution import Secret
from knowledge_mcp.support.retry import RetryPolicy

if TYPE_CHECKING:
    from openai import OpenAI

__all__ = ["OpenAIOptions", "from_options"]

ADDRESS = "https://api.openai.com/v1"


class OpenAIOptions(ServiceOptions, Protocol):
    """Name the settings that this embedder needs."""

    @property
    def openai_api_key(self) -> Secret | None: ...
    @property
    def openai_base_url(self) -> str | None: ...


def from_options(options: OpenAIOptions, *, retries: RetryPolicy | None = None) -> CachedEmbedder | RemoteEmbedder:
    """Build the embedder from the settings; loads nothing and asks nobody.

    Raises:
        ConfigError: the key is missing, or the dimensions do not fit the model.
    """
    key = options.openai_api_key
    if key is None or not key.get_secret_value():
        raise ConfigError(
            "OPENAI_API_KEY is not set; the embedding provider 'openai' needs it.",
            suggestion="Set OPENAI_API_KEY, or EMBEDDING_PROVIDER=local to embed on this machine.",
        )
    model = choose_model(
        options.embedding_model or DEFAULT_MODEL, options.embedding_dimensions, options.embedding_price
    )
    address = options.openai_base_url or ADDRESS

    def connect() -> OpenAI:
        openai_library()
        from openai import OpenAI

        try:
            return OpenAI(api_key=key.get_secret_value(), base_url=address, max_retries=0, http_client=http_client())
        except Exception as exc:  # an address of a wrong form is told by whichever part meets it first
            raise ConfigError(
                "OpenAI's client cannot be made from these settings.",
                details=type(exc).__name__,
                suggestion="Check OPENAI_BASE_URL.",
            ) from exc

    service = Service(
        name="OpenAI",
        provider="openai",
        model=model,
        asks_for=model.name,
        connect=connect,
        key=key,
        key_setting="OPENAI_API_KEY",
        model_setting="EMBEDDING_MODEL",
        address_setting="OPENAI_BASE_URL",
        billing="https://platform.openai.com/settings/organization/billing",
    )
    return embedder_of(service, options, retries)
