"""Creates the embedders for OpenAI, for compatible servers at OPENAI_BASE_URL, and for Azure OpenAI."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from knowledge_mcp.embedders.cache import CachedEmbedder, with_cache
from knowledge_mcp.embedders.services.embedder import QUERY_SECONDS, RemoteEmbedder
from knowledge_mcp.embedders.services.service import DEFAULT_MODEL, MODELS, Service, choose_model, http_client
from knowledge_mcp.model.errors import ConfigError
from knowledge_mcp.support.distribution import Secret
from knowledge_mcp.support.retry import RetryPolicy, doubling_pauses

if TYPE_CHECKING:
    from openai import OpenAI

ADDRESS = "https://api.openai.com/v1"


class ServiceOptions(Protocol):
    """The settings that all remote embedders need."""

    embedding_model: str | None
    embedding_dimensions: int | None
    embedding_batch_size: int
    embedding_concurrency: int
    embedding_max_retries: int
    embedding_timeout_ms: int
    embedding_price: float | None
    embedding_cache: bool

    @property
    def data_folder(self) -> Path: ...


class OpenAIOptions(ServiceOptions, Protocol):
    """The settings that OpenAI's embedder needs."""

    openai_base_url: str | None

    @property
    def openai_api_key(self) -> Secret | None: ...


class AzureOptions(ServiceOptions, Protocol):
    """The settings that Azure OpenAI's embedder needs."""

    azure_openai_endpoint: str | None
    azure_openai_embedding_deployment: str | None
    azure_openai_api_version: str

    @property
    def azure_openai_key(self) -> Secret | None: ...


def from_openai_options(
    options: OpenAIOptions, *, retries: RetryPolicy | None = None
) -> CachedEmbedder | RemoteEmbedder:
    """Create the embedder for OpenAI from the settings; loads nothing and makes no request.

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

    def make() -> OpenAI:
        from openai import OpenAI

        return OpenAI(api_key=key.get_secret_value(), base_url=address, max_retries=0, http_client=http_client())

    service = Service(
        name="OpenAI",
        provider="openai",
        model=model,
        asks_for=model.name,
        connect=partial(_make_client, make, "OpenAI", "OPENAI_BASE_URL"),
        key=key,
        key_setting="OPENAI_API_KEY",
        model_setting="EMBEDDING_MODEL",
        address_setting="OPENAI_BASE_URL",
        billing="https://platform.openai.com/settings/organization/billing",
    )
    return _embedder_of(service, options, retries)


def from_azure_options(options: AzureOptions, *, retries: RetryPolicy | None = None) -> CachedEmbedder | RemoteEmbedder:
    """Create the embedder for a deployment of Azure OpenAI from the settings; loads nothing and makes no request.

    The embedding space names the model behind the deployment: EMBEDDING_MODEL, or the deployment's name if that is a
    known model. An answer that names another known model raises ConfigError, so that vectors of two models never mix in
    one collection.

    Raises:
        ConfigError: a setting is missing, the model is not known, or the dimensions do not fit it.
    """
    endpoint, key = options.azure_openai_endpoint, options.azure_openai_key
    deployment = options.azure_openai_embedding_deployment
    if not endpoint or key is None or not key.get_secret_value() or not deployment:
        needed = {
            "AZURE_OPENAI_ENDPOINT": endpoint,
            "AZURE_OPENAI_KEY": key.get_secret_value() if key is not None else "",
            "AZURE_OPENAI_EMBEDDING_DEPLOYMENT": deployment,
        }
        names = ", ".join(name for name, value in needed.items() if not value)
        raise ConfigError(
            f"The embedding provider 'azure' needs {names}, which is not set.",
            suggestion=f"Set {names}, or EMBEDDING_PROVIDER=local to embed on this machine.",
        )
    if not options.embedding_model and deployment not in MODELS:
        raise ConfigError(
            f"The model of the deployment '{deployment}' is unknown.",
            details=f"Known models: {', '.join(MODELS)}.",
            suggestion="Set EMBEDDING_MODEL to the model that was deployed under this name.",
        )

    def make() -> OpenAI:
        from openai import AzureOpenAI

        return AzureOpenAI(
            azure_endpoint=endpoint.rstrip("/"),
            azure_deployment=deployment,
            api_key=key.get_secret_value(),
            api_version=options.azure_openai_api_version,
            max_retries=0,
            http_client=http_client(),
        )

    service = Service(
        name="Azure OpenAI",
        provider="azure",
        model=choose_model(
            options.embedding_model or deployment, options.embedding_dimensions, options.embedding_price
        ),
        asks_for=deployment,
        connect=partial(_make_client, make, "Azure OpenAI", "AZURE_OPENAI_ENDPOINT"),
        key=key,
        key_setting="AZURE_OPENAI_KEY",
        model_setting="AZURE_OPENAI_EMBEDDING_DEPLOYMENT",
        address_setting="AZURE_OPENAI_ENDPOINT",
        billing="https://portal.azure.com (the resource's quotas and its subscription's cost)",
    )
    return _embedder_of(service, options, retries)


def _make_client(make: Callable[[], OpenAI], provider: str, setting: str) -> OpenAI:
    """Create the library's client; makes no request."""
    try:
        return make()
    except Exception as exc:  # a malformed address is reported by whichever part meets it first
        raise ConfigError(
            f"{provider}'s client cannot be created from these settings.",
            details=type(exc).__name__,
            suggestion=f"Check {setting}.",
        ) from exc


def _embedder_of(
    service: Service, options: ServiceOptions, retries: RetryPolicy | None
) -> CachedEmbedder | RemoteEmbedder:
    """Create the embedder of a service, with the cache in front if it is enabled."""
    seconds = options.embedding_timeout_ms / 1000
    embedder = RemoteEmbedder(
        service,
        batch_size=options.embedding_batch_size,
        concurrency=options.embedding_concurrency,
        retries=retries,
        pauses=doubling_pauses(options.embedding_max_retries),
        query_seconds=min(QUERY_SECONDS, seconds),
        batch_seconds=seconds,
    )
    return with_cache(embedder, options.data_folder) if options.embedding_cache else embedder
