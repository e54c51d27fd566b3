"""The settings of how text becomes vectors."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, SecretStr

from knowledge_mcp.settings.folders import platform_folder
from knowledge_mcp.settings.variables import Provider, Variant, setting

__all__ = ["EmbeddingSettings"]

_EMBED = "Embeddings"


class EmbeddingSettings(BaseModel):
    """Say which provider and model embed, and how much at once."""

    embedding_provider: Provider | None = setting(
        "EMBEDDING_PROVIDER", None,
        "`local` (ONNX on this machine, no key), `openai` or `azure`. Unset: `openai` if OPENAI_API_KEY is set, "
        "else `local`; a collection never changes its provider.",
        group=_EMBED, config="embedding.provider", example="local",
    )  # fmt: skip
    embedding_model: str | None = setting(
        "EMBEDDING_MODEL", None,
        "Model name. Unset: `all-MiniLM-L6-v2` for `local`, `text-embedding-3-small` for `openai`.",
        group=_EMBED, surface="standards", config="embedding.model", example="all-MiniLM-L6-v2",
    )  # fmt: skip
    embedding_dimensions: int | None = setting(
        "EMBEDDING_DIMENSIONS", None, "Components per vector. Unset: the model's own (384 local, 1536 openai).",
        group=_EMBED, surface="standards", example="384", ge=256, le=3072,
    )  # fmt: skip
    embedding_batch_size: int = setting(
        "EMBEDDING_BATCH_SIZE", 100, "Texts per request to a remote embedding provider.",
        group=_EMBED, config="embedding.batchSize", ge=1, le=2048,
    )  # fmt: skip
    embedding_variant: Variant = setting(
        "EMBEDDING_VARIANT", "int8", "Weights of the local model: `int8` (fast) or `fp32` (exact).", group=_EMBED
    )
    embedding_model_path: Path | None = setting(
        "EMBEDDING_MODEL_PATH", None, "Folder that already holds the local model; nothing is downloaded then.",
        group=_EMBED, example="/opt/models/all-MiniLM-L6-v2",
    )  # fmt: skip
    models_path: Path | None = setting(
        "MODELS_PATH", None, "Where downloaded models are kept. Unset: the user's cache folder for knowledge-mcp.",
        group=_EMBED, example="~/.cache/knowledge-mcp/models",
    )  # fmt: skip
    embedding_threads: int | None = setting(
        "EMBEDDING_THREADS", None, "Threads of the local model. Unset: as many as this process has cores.",
        group=_EMBED, example="2", ge=1, le=256,
    )  # fmt: skip
    openai_api_key: SecretStr | None = setting(
        "OPENAI_API_KEY", None,
        "OpenAI API key (`sk-...`). Set and without EMBEDDING_PROVIDER it selects `openai`.",
        group=_EMBED, surface="standards", example="sk-your-key",
    )  # fmt: skip
    openai_base_url: str | None = setting(
        "OPENAI_BASE_URL", None, "Address of a service that speaks OpenAI's interface. Unset: OpenAI's own.",
        key="OPENAI_API_KEY", group=_EMBED, example="https://api.openai.com/v1",
    )  # fmt: skip
    embedding_concurrency: int = setting(
        "EMBEDDING_CONCURRENCY", 4, "Requests to a remote embedding provider at the same time.",
        group=_EMBED, ge=1, le=64,
    )  # fmt: skip
    embedding_max_retries: int = setting(
        "EMBEDDING_MAX_RETRIES", 3,
        "Retries of a request to a remote embedding provider whose failure may pass, after 1, 2, 4 ... seconds.",
        group=_EMBED, config="embedding.maxRetries", ge=0, le=10,
    )  # fmt: skip
    embedding_timeout_ms: int = setting(
        "EMBEDDING_TIMEOUT_MS", 60000,
        "Milliseconds that one request to a remote embedding provider may take; a question waits 10,000 at the most.",
        group=_EMBED, config="embedding.timeoutMs", ge=100, le=600000,
    )  # fmt: skip
    embedding_price: float | None = setting(
        "EMBEDDING_PRICE", None, "USD per million tokens. Unset: OpenAI's list price where the model is known.",
        group=_EMBED, example="0.02", ge=0, le=1000,
    )  # fmt: skip
    embedding_cache: bool = setting(
        "EMBEDDING_CACHE", True, "Whether vectors once paid for are kept in DATA_PATH, so that none is paid twice.",
        group=_EMBED,
    )  # fmt: skip
    azure_openai_endpoint: str | None = setting(
        "AZURE_OPENAI_ENDPOINT", None, "Azure OpenAI endpoint; selects `azure` for the rag surface.",
        key="AZURE_OPENAI_KEY", group=_EMBED, surface="rag", example="https://name.openai.azure.com",
    )  # fmt: skip
    azure_openai_key: SecretStr | None = setting(
        "AZURE_OPENAI_KEY", None, "Azure OpenAI key.", group=_EMBED, surface="rag", example="your-key"
    )
    azure_openai_embedding_deployment: str | None = setting(
        "AZURE_OPENAI_EMBEDDING_DEPLOYMENT", None, "Name of the Azure embedding deployment.",
        group=_EMBED, surface="rag", example="text-embedding-3-small",
    )  # fmt: skip
    azure_openai_api_version: str = setting(
        "AZURE_OPENAI_API_VERSION", "2024-10-21", "Version of Azure's interface.", group=_EMBED, surface="all"
    )

    @property
    def models_folder(self) -> Path:
        """Resolve the folder of downloaded models."""
        return self.models_path or platform_folder("cache") / "models"
