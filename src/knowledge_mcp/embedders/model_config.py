"""What a sentence-embedding model's own files say about how to use it: pooling, window, prefixes, shape.

Reads the layout that sentence-transformers writes: `modules.json`, `1_Pooling/config.json`,
`sentence_bert_config.json`, `config_sentence_transformers.json` and the transformer's `config.json`.
"""

from __future__ import annotations

import json
import logging
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, cast, get_args

from knowledge_mcp.model.errors import ConfigError
from knowledge_mcp.support.events import log_event

__all__ = ["BertShape", "ModelConfig", "Pooling", "config_from_json", "config_to_json", "read_config"]

Pooling = Literal["mean", "cls", "last"]
"""How the vectors of a text's tokens become one."""

Json = dict[str, Any]

ACTIVATIONS = ("gelu", "gelu_new", "gelu_pytorch_tanh", "relu")
POOLING_FLAGS: dict[str, Pooling] = {
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_cls_token": "cls",
    "pooling_mode_lasttoken": "last",
}
POOLING_NAMES: dict[str, Pooling] = {"mean": "mean", "cls": "cls", "lasttoken": "last", "last": "last"}
KNOWN_MODULES = {"Transformer", "Pooling", "Normalize"}
DEFAULT_WINDOW = 512

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class BertShape:
    """Describe a BERT encoder; weights of these sizes are built into a graph.

    Attributes:
        layers, heads, hidden: of the encoder; `hidden` is a multiple of `heads`.
        positions: rows of the position table.
        layer_norm_eps: added to the variance in each layer normalisation.
        activation: one of `gelu`, `gelu_new`, `gelu_pytorch_tanh`, `relu`.
    """

    layers: int
    heads: int
    hidden: int
    positions: int
    layer_norm_eps: float
    activation: str


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """Say how to get a text's vector out of a model; the vector is always brought to unit norm.

    Attributes:
        dimensions: components of the vector.
        pooling: how the tokens' vectors become one.
        max_seq_length: tokens read of one text, special tokens and prefix included.
        query_prefix, document_prefix: text put before what is embedded, may be empty.
        bert: the encoder's shape where it is a BERT, None otherwise.
    """

    dimensions: int
    pooling: Pooling
    max_seq_length: int
    query_prefix: str = ""
    document_prefix: str = ""
    bert: BertShape | None = None


def config_to_json(config: ModelConfig) -> Json:
    """Turn a configuration into plain JSON values; `config_from_json` reads it back."""
    return asdict(config)


def config_from_json(value: Json) -> ModelConfig:
    """Read what `config_to_json` wrote.

    Raises:
        ConfigError: it is not that.
    """
    try:
        bert = BertShape(**value["bert"]) if value["bert"] is not None else None
        plain: Json = {**value, "bert": bert}
        config = ModelConfig(**plain)
    except (KeyError, TypeError) as exc:
        raise ConfigError("The model's manifest was written by another version.", details=str(exc)) from exc
    if config.pooling not in get_args(Pooling):
        raise ConfigError(f"The model's manifest names the unknown pooling {config.pooling!r}.")
    return config


def read_config(directory: Path) -> ModelConfig:
    """Read the configuration of the model in a directory.

    Raises:
        ConfigError: a file is missing or malformed, or asks for something that is not supported; names the file.
    """
    transformer = _load(directory / "config.json", required=True)
    sentence = _load(directory / "sentence_bert_config.json")
    _check_modules(directory)
    if sentence.get("do_lower_case"):
        raise ConfigError(f"The model in {directory} wants its texts lower-cased first, which is not supported.")
    query_prefix, document_prefix = _prefixes(directory)
    return ModelConfig(
        dimensions=_positive(transformer, "hidden_size", directory),
        pooling=_pooling(directory),
        max_seq_length=_window(transformer, sentence),
        query_prefix=query_prefix,
        document_prefix=document_prefix,
        bert=_bert(transformer, directory) if transformer.get("model_type") == "bert" else None,
    )


def _load(path: Path, *, required: bool = False) -> Json:
    try:
        value: object = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as exc:
        if not required:
            return {}
        raise ConfigError(
            f"{path} is missing, so {path.parent} does not hold an embedding model.",
            suggestion="Point EMBEDDING_MODEL_PATH at a directory in the layout of sentence-transformers.",
        ) from exc
    except (OSError, ValueError) as exc:
        raise ConfigError(f"{path} cannot be read as JSON.", details=str(exc)) from exc
    if not isinstance(value, dict):
        raise ConfigError(f"{path} does not hold a JSON object.")
    return cast(Json, value)


def _positive(source: Json, key: str, directory: Path) -> int:
    value = source.get(key)
    if not isinstance(value, int) or value <= 0:
        raise ConfigError(f"config.json in {directory} does not give a positive {key}.", details=f"{key}={value!r}")
    return value


def _check_modules(directory: Path) -> None:
    path = directory / "modules.json"
    if not path.is_file():
        return
    try:
        modules: object = json.loads(path.read_text(encoding="utf-8"))
        kinds = [str(module["type"]).rpartition(".")[2] for module in cast(list[Json], modules)]
    except (OSError, ValueError, TypeError, KeyError) as exc:
        raise ConfigError(f"{path} cannot be read.", details=str(exc)) from exc
    unknown = [kind for kind in kinds if kind not in KNOWN_MODULES]
    if unknown:
        raise ConfigError(
            f"The model in {directory} has the module {unknown[0]}, which is not supported.",
            suggestion="Use a model of transformer, pooling and normalisation only.",
        )


def _pooling(directory: Path) -> Pooling:
    path = directory / "1_Pooling" / "config.json"
    settings = _load(path)
    if not settings:
        log_event(logger, logging.WARNING, "pooling_assumed", directory=str(directory), pooling="mean")
        return "mean"
    if settings.get("include_prompt") is False:
        raise ConfigError(f"{path} leaves the prefix out of the pooling, which is not supported.")
    chosen = [key for key, value in settings.items() if key.startswith("pooling_mode_") and value is True]
    named = settings.get("pooling_mode")
    if not chosen and isinstance(named, str) and named in POOLING_NAMES:
        return POOLING_NAMES[named]
    if len(chosen) != 1 or chosen[0] not in POOLING_FLAGS:
        wanted = ", ".join(chosen) or str(named)
        raise ConfigError(
            f"{path} asks for the pooling {wanted}; mean, cls and last token are supported, one at a time."
        )
    return POOLING_FLAGS[chosen[0]]


def _window(transformer: Json, sentence: Json) -> int:
    positions = transformer.get("max_position_embeddings")
    bounds = [value for value in (sentence.get("max_seq_length"), positions) if isinstance(value, int) and value > 2]
    return min(bounds) if bounds else DEFAULT_WINDOW


def _prefixes(directory: Path) -> tuple[str, str]:
    """Read the prefixes of queries and documents: the prompts of those names, else the default prompt."""
    settings = _load(directory / "config_sentence_transformers.json")
    prompts: object = settings.get("prompts") or {}
    if not isinstance(prompts, dict):
        raise ConfigError(f"config_sentence_transformers.json in {directory} has prompts of an unknown form.")
    named = {str(name): str(text) for name, text in cast(Json, prompts).items()}
    default = named.get(str(settings.get("default_prompt_name")), "")
    document = next((named[name] for name in ("document", "passage", "corpus") if name in named), default)
    return named.get("query", default), document


def _bert(transformer: Json, directory: Path) -> BertShape:
    shape = BertShape(
        layers=_positive(transformer, "num_hidden_layers", directory),
        heads=_positive(transformer, "num_attention_heads", directory),
        hidden=_positive(transformer, "hidden_size", directory),
        positions=_positive(transformer, "max_position_embeddings", directory),
        layer_norm_eps=float(transformer.get("layer_norm_eps", 1e-12)),
        activation=str(transformer.get("hidden_act", "gelu")),
    )
    unsupported: list[str] = []
    if shape.activation not in ACTIVATIONS:
        unsupported.append(f"hidden_act={shape.activation}")
    if transformer.get("position_embedding_type", "absolute") != "absolute":
        unsupported.append(f"position_embedding_type={transformer['position_embedding_type']}")
    if shape.hidden % shape.heads:
        unsupported.append(f"hidden_size={shape.hidden} with num_attention_heads={shape.heads}")
    if unsupported:
        raise ConfigError(f"The BERT in {directory} has {', '.join(unsupported)}, which is not supported.")
    return shape
