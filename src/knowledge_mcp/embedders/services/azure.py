"""The embedder that asks a deployment of Azure OpenAI."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from knowledge_mcp.embedders.cache import CachedEmbedder
from knowledge_mcp.embedders.services.embedder import RemoteEmbedder
from knowledge_mcp.embedders.services.options import ServiceOptions, embedder_of
from knowledge_mcp.embedders.services.service import MODELS, Service, choose_model, http_client, openai_library
from knowledge_mcp.model.errors import ConfigError
from knowledge_mcp.support.distribution import Secret
from knowledge_mcp.support.retry import RetryPolicy

if TYPE_CHECKING:
    from openai import OpenAI

__all__ = ["AzureOptions", "from_options"]


class AzureOptions(ServiceOptions, Protocol):
    """Name the settings that this embedder needs."""

    @property
    def azure_openai_endpoint(self) -> str | None: ...
    @property
    def azure_openai_key(self) -> Secret | None: ...
    @property
    def azure_openai_embedding_deployment(self) -> str | None: ...
    @property
    def azure_openai_api_version(self) -> str: ...


def from_options(options: AzureOptions, *, retries: RetryPolicy | None = None) -> CachedEmbedder | RemoteEmbedder:
    """Build the embedder from the settings; loads nothing and asks nobody.

    The space names the model behind the deployment: EMBEDDING_MODEL, or the deployment's own name where that is a
    model's. An answer that names another known model is a ConfigError, so that two models never meet in one collection.

    Raises:
        ConfigError: a setting is missing, the model is not known, or the dimensions do not fit it.
    """
    endpoint, key, deployment = _wanted(options)
    model = choose_model(
        options.embedding_model or _model_of(deployment), options.embedding_dimensions, options.embedding_price
    )

    def connect() -> OpenAI:
        openai_library()
        from openai import AzureOpenAI

        try:
            return AzureOpenAI(
                azure_endpoint=endpoint,
                azure_deployment=deployment,
                api_key=key.get_secret_value(),
                api_version=options.azure_openai_api_version,
                max_retries=0,
                http_client=http_client(),
            )
        except Exception as exc:  # an address of a wrong form is told by whichever part meets it first
            raise ConfigError(
                "Azure OpenAI's client cannot be made from these settings.",
                details=type(exc).__name__,
                suggestion="Check AZURE_OPENAI_ENDPOINT.",
            ) from exc

    service = Service(
        name="Azure OpenAI",
        provider="azure",
        model=model,
        asks_for=deployment,
        connect=connect,
        key=key,
        key_setting="AZURE_OPENAI_KEY",
        model_setting="AZURE_OPENAI_EMBEDDING_DEPLOYMENT",
        address_setting="AZURE_OPENAI_ENDPOINT",
        billing="https://portal.azure.com (the resource's quotas and its subscription's cost)",
    )
    return embedder_of(service, options, retries)


def _wanted(options: AzureOptions) -> tuple[str, Secret, str]:
    endpoint, key = options.azure_openai_endpoint, options.azure_openai_key
    deployment = options.azure_openai_embedding_deployment
    if not endpoint or key is None or not key.get_secret_value() or not deployment:
        missing = {
            "AZURE_OPENAI_ENDPOINT": endpoint,
            "AZURE_OPENAI_KEY": key.get_secret_value() if key is not None else "",
            "AZURE_OPENAI_EMBEDDING_DEPLOYMENT": deployment,
        }
        names = ", ".join(name for name, value in missing.items() if not value)
        raise ConfigError(
            f"The embedding provider 'azure' needs {names}, which is not set.",
            suggestion=f"Set {names}, or EMBEDDING_PROVIDER=local to embed on this machine.",
        )
    return endpoint.rstrip("/"), key, deployment


def _model_of(deployment: str) -> str:
    if deployment not in MODELS:
        raise ConfigError(
            f"Which model stands behind the deployment '{deployment}' is not known.",
            details=f"Known models: {', '.join(MODELS)}.",
            suggestion="Set EMBEDDING_MODEL to the model that was deployed under this name.",
        )
    return deployment
