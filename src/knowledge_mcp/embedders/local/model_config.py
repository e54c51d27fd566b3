"""How to use a sentence-embedding model, according to its own files: pooling, window, prefixes, shape.

Reads the layout of sentence-transformers: `modules.json`, `1_Pooling/config.json`, `sentence_bert_config.json`,
`config_sentence_transformers.json` and the transformer's `config.json`.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, cast, get_args

from knowledge_mcp.model.errors import ConfigError
from knowledge_mcp.support.events import log_event
from knowledge_mcp.support.files import read_whole_text, write_atomically
from knowledge_mcp.support.system.locking import lock, try_lock

logger = logging.getLogger(__name__)

Pooling = Literal["mean", "cls", "last"]
"""How the vectors of a text's tokens are combined into one."""

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


@dataclass(frozen=True, slots=True)
class BertShape:
    """The shape of a BERT encoder, whose weights are built into an ONNX graph.

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
    """How to compute a text's vector with a model; the vector is always normalised.

    Attributes:
        dimensions: components of the vector.
        pooling: how the tokens' vectors are combined.
        max_seq_length: maximum number of tokens read of a text, including special tokens and prefix.
        query_prefix, document_prefix: put before the text to embed; may be empty.
        bert: the encoder's shape if it is a BERT, else None.
    """

    dimensions: int
    pooling: Pooling
    max_seq_length: int
    query_prefix: str = ""
    document_prefix: str = ""
    bert: BertShape | None = None


def config_from_json(value: Json) -> ModelConfig:
    """Parse the result of `dataclasses.asdict` of a configuration.

    Raises:
        ConfigError: it has another form.
    """
    try:
        bert = BertShape(**value["bert"]) if value["bert"] is not None else None
        plain: Json = {**value, "bert": bert}
        config = ModelConfig(**plain)
    except (KeyError, TypeError) as exc:
        raise ConfigError("The model's manifest was written by another version.", details=str(exc)) from exc
    if config.pooling not in get_args(Pooling):
        raise ConfigError(f"The model's manifest has the unknown pooling {config.pooling!r}.")
    return config


def read_config(directory: Path, name: str = "") -> ModelConfig:
    """Read the configuration of the model in a directory; `name` is its name on the hub, if it came from there.

    Raises:
        ConfigError: a file is missing or malformed, or requires something that is not supported; names the file.
    """
    transformer = _load(directory / "config.json", required=True)
    sentence = _load(directory / "sentence_bert_config.json")
    _check_modules(directory)
    if sentence.get("do_lower_case"):
        raise ConfigError(f"The model in {directory} needs lower-cased texts, which is not supported.")
    query_prefix, document_prefix = _prefixes(directory)
    if not query_prefix and not document_prefix and _FAMILY.search(name or directory.name):
        query_prefix, document_prefix = "query: ", "passage: "
    return ModelConfig(
        dimensions=_positive(transformer, "hidden_size", directory),
        pooling=_pooling(directory),
        max_seq_length=_window(transformer, sentence),
        query_prefix=query_prefix,
        document_prefix=document_prefix,
        bert=_bert(transformer, directory) if transformer.get("model_type") == "bert" else None,
    )


_FAMILY = re.compile(r"(?:^|[/-])e5-(?:small|base|large)(?:-v2)?\Z")
"""E5 and multilingual E5, whose prefixes are only documented on their model cards."""


def _load(path: Path, *, required: bool = False) -> Json:
    try:
        value: object = json.loads(read_whole_text(path))
    except FileNotFoundError as exc:
        if not required:
            return {}
        raise ConfigError(
            f"{path} is missing, so {path.parent} does not contain an embedding model.",
            suggestion="Point EMBEDDING_MODEL_PATH at a directory in the layout of sentence-transformers.",
        ) from exc
    except (OSError, ValueError) as exc:
        raise ConfigError(f"{path} cannot be read as JSON.", details=str(exc)) from exc
    if not isinstance(value, dict):
        raise ConfigError(f"{path} does not contain a JSON object.")
    return cast(Json, value)


def _positive(source: Json, key: str, directory: Path) -> int:
    value = source.get(key)
    if not isinstance(value, int) or value <= 0:
        raise ConfigError(f"config.json in {directory} does not give a positive {key}.", details=f"{key}={value!r}")
    return value


def _check_modules(directory: Path) -> None:
    path = directory / "modules.json"
    try:
        modules: list[Json] = json.loads(read_whole_text(path))
        kinds = [str(module["type"]).rpartition(".")[2] for module in modules]
    except FileNotFoundError:
        return
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
    mode = settings.get("pooling_mode")
    if not chosen and isinstance(mode, str) and mode in POOLING_NAMES:
        return POOLING_NAMES[mode]
    if len(chosen) != 1 or chosen[0] not in POOLING_FLAGS:
        requested = ", ".join(chosen) or str(mode)
        raise ConfigError(
            f"{path} asks for the pooling {requested}; mean, cls and last token are supported, one at a time."
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
    by_name = {str(name): str(text) for name, text in cast(Json, prompts).items()}
    default = by_name.get(str(settings.get("default_prompt_name")), "")
    document = next((by_name[name] for name in ("document", "passage", "corpus") if name in by_name), default)
    return by_name.get("query", default), document


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


Variant = Literal["int8", "fp32"]
"""Numeric variants of a model's weights."""

MANIFEST = "knowledge-model.json"
FORMAT = 1


@dataclass(frozen=True, slots=True)
class FileMark:
    """A file's SHA-256 in hex and its size in bytes."""

    sha256: str
    size: int


@dataclass(frozen=True, slots=True)
class BuiltFile:
    """A built ONNX file: its name in the folder, its hash and size, and the versions that built it."""

    file: str
    sha256: str
    size: int
    builder: int
    onnx: str
    onnxruntime: str


@dataclass(frozen=True, slots=True)
class ModelManifest:
    """The manifest of a model's folder.

    Attributes:
        name: of the model.
        weights_sha256: hash of the weights from which everything was built, even if they are not in the folder.
        config: how to use the model.
        source: where the files came from, for people.
        files: the files as they were fetched, by name; empty for a folder with built files only.
        built: built files, by variant.
    """

    name: str
    weights_sha256: str
    config: ModelConfig
    source: str = ""
    files: Mapping[str, FileMark] = field(default_factory=dict[str, FileMark])
    built: Mapping[str, BuiltFile] = field(default_factory=dict[str, BuiltFile])

    def write(self, directory: Path) -> None:
        """Write the manifest into a folder, atomically."""
        value = {"format": FORMAT, **asdict(self)}
        write_atomically(directory / MANIFEST, f"{json.dumps(value, indent=1)}\n".encode())

    @staticmethod
    def read(directory: Path) -> ModelManifest | None:
        """Read a folder's manifest, or return None if there is none.

        Raises:
            ConfigError: it is damaged, or of another version.
        """
        path = directory / MANIFEST
        try:
            value = cast(dict[str, Any], json.loads(read_whole_text(path)))
            if value["format"] != FORMAT:
                raise ValueError(f"format {value['format']!r} is not {FORMAT}")
            return ModelManifest(
                name=str(value["name"]),
                weights_sha256=str(value["weights_sha256"]),
                config=config_from_json(value["config"]),
                source=str(value["source"]),
                files={name: FileMark(**mark) for name, mark in value["files"].items()},
                built={variant: BuiltFile(**built) for variant, built in value["built"].items()},
            )
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as exc:
            raise ConfigError(
                f"{path} is not a manifest of this version.",
                details=str(exc),
                suggestion="Delete the folder and run `knowledge models fetch`.",
            ) from exc


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def cache_errors(cache: Path) -> Generator[None]:
    """Convert an OSError about the model cache into a ConfigError that names the folder."""
    try:
        yield
    except OSError as exc:
        raise ConfigError(
            f"The model cache {cache} cannot be used: {exc.strerror or exc}.",
            details=str(exc),
            suggestion="Free space and allow writing there, or set MODELS_PATH to another folder.",
        ) from exc


@contextmanager
def cache_lock(cache: Path, on_wait: Callable[[], None]) -> Generator[None]:
    """Hold the cache's lock, so that only one of several processes downloads and builds.

    Args:
        cache: the folder; it is created if it does not exist.
        on_wait: called once before waiting for another process.
    """
    with cache_errors(cache):
        cache.mkdir(parents=True, exist_ok=True)
        handle = (cache / ".lock").open("a")
    with handle:
        if not try_lock(handle.fileno()):
            on_wait()
            lock(handle.fileno())
        yield
