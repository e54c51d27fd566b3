"""Built ONNX files: give the one of a variant, checked by its hash, and build it once where it is missing."""

from __future__ import annotations

import importlib.metadata
import tempfile
from dataclasses import replace
from pathlib import Path

from knowledge_mcp.embedders.local.model_config import (
    BuiltFile,
    ModelManifest,
    Variant,
    cache_errors,
    cache_lock,
    sha256_of,
)
from knowledge_mcp.embedders.local.model_folders import ModelFiles, given_onnx, hash_of_weights
from knowledge_mcp.embedders.local.model_sources import Progress
from knowledge_mcp.model.errors import ConfigError

__all__ = ["BUILDER_VERSION", "onnx_file"]

BUILDER_VERSION = 1
"""Counts changes of what is built. Raise it together with the variant's name in the space if vectors change."""


def onnx_file(files: ModelFiles, variant: Variant, progress: Progress) -> Path:
    """Give the ONNX file of a variant; build it where it is missing, damaged or of another builder.

    Raises:
        ConfigError: it cannot be built of what is here.
    """
    ready = _ready(files, variant)
    if ready is not None:
        return ready
    target = files.folders[-1]
    with cache_lock(target.parent, lambda: progress("wait for another process", 0, None)):
        ready = _ready(files, variant)
        if ready is not None:
            return ready
        with cache_errors(target):
            target.mkdir(parents=True, exist_ok=True)
            return _build(files, variant, target, progress)


def _ready(files: ModelFiles, variant: Variant) -> Path | None:
    for folder in files.folders:
        manifest = ModelManifest.read(folder)
        built = manifest.built.get(variant) if manifest is not None else None
        if manifest is None or built is None or built.builder < BUILDER_VERSION:
            continue
        path = folder / Path(built.file).name
        same_model = manifest.weights_sha256 == files.weights_sha256
        if same_model and path.is_file() and path.stat().st_size == built.size and sha256_of(path) == built.sha256:
            return path
    onnx = given_onnx(files)
    if onnx is None:
        return None
    from knowledge_mcp.embedders.local.onnx_build import is_quantized

    return onnx if is_quantized(onnx) == (variant == "int8") else None


def _build(files: ModelFiles, variant: Variant, target: Path, progress: Progress) -> Path:
    if files.weights is None or (variant == "fp32" and given_onnx(files) is not None):
        raise ConfigError(
            f"{files.tokenizer.parent} holds no {variant} variant of {files.name} and nothing to build it of.",
            suggestion="Set EMBEDDING_VARIANT to the one that is there, or run `knowledge models fetch`.",
        )
    if hash_of_weights(files.weights) != files.weights_sha256:
        raise ConfigError(
            f"{files.weights} is damaged: its bytes are not those of {files.name}.",
            suggestion="Run `knowledge models fetch` to get the model anew.",
        )
    from knowledge_mcp.embedders.local import onnx_build

    with tempfile.TemporaryDirectory(dir=target, prefix=".incoming-") as scratch:
        exact, small = Path(scratch, "fp32.onnx"), Path(scratch, "int8.onnx")
        steps = 2 if variant == "int8" else 1
        progress("build", 0, steps)
        if given_onnx(files) is not None:
            exact = files.weights
        elif files.config.bert is None:
            raise ConfigError(f"{files.weights} is not a BERT, and only BERT weights can be built into ONNX.")
        else:
            onnx_build.save_bert(files.weights, files.config.bert, files.config.pooling, exact)
        progress("build", 1, steps)
        if variant == "int8":
            onnx_build.quantize(exact, small)
            progress("build", 2, steps)
        return _keep(small if variant == "int8" else exact, files, variant, target)


def _keep(fresh: Path, files: ModelFiles, variant: Variant, target: Path) -> Path:
    """Move a fresh file to its place and enter it in the manifest."""
    place = target / f"model-{variant}.onnx"
    built = BuiltFile(
        file=place.name,
        sha256=sha256_of(fresh),
        size=fresh.stat().st_size,
        builder=BUILDER_VERSION,
        onnx=importlib.metadata.version("onnx"),
        onnxruntime=importlib.metadata.version("onnxruntime"),
    )
    fresh.replace(place)
    old = ModelManifest.read(target) or ModelManifest(
        files.name, files.weights_sha256, files.config, source=str(files.weights)
    )
    replace(old, built={**old.built, variant: built}).write(target)
    return place
