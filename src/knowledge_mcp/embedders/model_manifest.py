"""The manifest beside a model's files: what they are, by SHA-256, and what was built of them.

With a manifest a folder explains itself: a copy of the folder with only the tokenizer, the manifest and one built file
is a whole model, for machines without a network.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, cast

from knowledge_mcp.embedders.model_config import ModelConfig, config_from_json, config_to_json
from knowledge_mcp.model.errors import ConfigError

__all__ = ["MANIFEST", "BuiltFile", "FileMark", "Manifest", "Variant", "cache_errors", "cache_lock", "sha256_of"]

Variant = Literal["int8", "fp32"]
"""Numeric variants of a model's weights."""

MANIFEST = "knowledge-model.json"
FORMAT = 1
READ_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class FileMark:
    """Tell a file's SHA-256 in hex and its size in bytes."""

    sha256: str
    size: int


@dataclass(frozen=True, slots=True)
class BuiltFile:
    """Describe one built ONNX file: its name in the folder, its bytes, and what built it."""

    file: str
    sha256: str
    size: int
    builder: int
    onnx: str
    onnxruntime: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """Describe a model's folder.

    Attributes:
        name: the model's.
        weights_sha256: of the weights that everything was built of, whether or not they lie here.
        config: how to use the model.
        source: where the files came from, for people.
        files: the files as they were fetched, by name; empty for a folder that holds built files only.
        built: what was built, by variant.
    """

    name: str
    weights_sha256: str
    config: ModelConfig
    source: str = ""
    files: Mapping[str, FileMark] = field(default_factory=dict[str, FileMark])
    built: Mapping[str, BuiltFile] = field(default_factory=dict[str, BuiltFile])

    def write(self, directory: Path) -> None:
        """Write the manifest into a folder, in one step."""
        value = {
            "format": FORMAT,
            "name": self.name,
            "weights_sha256": self.weights_sha256,
            "source": self.source,
            "config": config_to_json(self.config),
            "files": {name: asdict(mark) for name, mark in sorted(self.files.items())},
            "built": {variant: asdict(built) for variant, built in sorted(self.built.items())},
        }
        scratch = directory / f".{MANIFEST}.{os.getpid()}"
        scratch.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")
        scratch.replace(directory / MANIFEST)

    @staticmethod
    def read(directory: Path) -> Manifest | None:
        """Read a folder's manifest, None where there is none.

        Raises:
            ConfigError: it is damaged or of another version.
        """
        path = directory / MANIFEST
        try:
            value = cast(dict[str, Any], json.loads(path.read_text(encoding="utf-8")))
            if value["format"] != FORMAT:
                raise ValueError(f"format {value['format']!r} is not {FORMAT}")
            return Manifest(
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


def sha256_of(path: Path, on_bytes: Callable[[int], None] | None = None) -> str:
    """Hash a file; `on_bytes` is told now and then how many bytes are done."""
    digest = hashlib.sha256()
    done = 0
    with path.open("rb") as file:
        while block := file.read(READ_BYTES):
            digest.update(block)
            done += len(block)
            if on_bytes is not None:
                on_bytes(done)
    return digest.hexdigest()


@contextmanager
def cache_errors(cache: Path) -> Generator[None]:
    """Turn an OSError about the model cache into a ConfigError that names the folder."""
    try:
        yield
    except OSError as exc:
        raise ConfigError(
            f"The model cache {cache} cannot be used: {exc.strerror or exc}.",
            details=str(exc),
            suggestion="Make room and allow writing there, or set MODELS_PATH to another folder.",
        ) from exc


@contextmanager
def cache_lock(cache: Path, on_wait: Callable[[], None]) -> Generator[None]:
    """Hold the cache's lock, so that of two processes one downloads and builds and the other one finds it done.

    Args:
        cache: the folder; it is made where it is missing.
        on_wait: called once before waiting for another process.
    """
    import fcntl

    with cache_errors(cache):
        cache.mkdir(parents=True, exist_ok=True)
        handle = (cache / ".lock").open("a")
    with handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            on_wait()
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
