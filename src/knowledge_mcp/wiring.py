"""The composition root: settings in, a knowledge base out; nothing is decided anywhere else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from knowledge_mcp import registry
from knowledge_mcp.model.errors import ConfigError, KnowledgeError
from knowledge_mcp.settings import Settings, choose_embedding, choose_store, missing_adapters, network_environment

if TYPE_CHECKING:
    from knowledge_mcp.engine.base import Base
    from knowledge_mcp.ports import Knowledge, OcrEngine, Reader, Source, Store

__all__ = ["Start", "build_base", "build_knowledge", "build_source", "build_store", "try_start"]


COLLECTIONS = {"planning": "application_docs", "repositories": "repositories"}
"""The first is fixed by its specification; the second is never made: each repository has one of its own beside it."""


@dataclass(frozen=True, slots=True)
class Start:
    """Tell what trying to start came to.

    Attributes:
        problems: everything that keeps the server from starting; empty when all is well.
        backend: the store that answers and is to be used from now on.
        degraded: why it is not the one that is configured, empty when it is.
    """

    problems: tuple[KnowledgeError, ...] = ()
    backend: str = ""
    degraded: str = ""


def build_store(settings: Settings, backend: str) -> Store:
    """Make one kind of store as the settings describe it; nothing is connected before its use."""
    store: Store = registry.load(registry.STORES[backend])(settings, registry.load(registry.ANALYSER)())
    return store


def build_base(settings: Settings, *, surface: str = "standards", start: Start | None = None) -> Base:
    """Open the store and name the embedder that the settings select.

    Args:
        settings: what was read.
        surface: whose embedding provider is meant.
        start: what was decided when the process started; without it, this is the start, and a configured Qdrant that
            does not answer is replaced by ChromaDB here (clarification 5).

    Raises:
        ConfigError: the settings select an adapter that this build has not.
        ConnectionFailedError: Qdrant is configured, and neither it nor its fallback answers.
    """
    from knowledge_mcp.engine.base import Base

    problems = missing_adapters(settings, surface, embedders=registry.EMBEDDERS, stores=registry.STORES)
    if problems:
        raise ConfigError(problems[0], details="\n".join(problems))
    if surface == "planning":  # its specification names the model, whatever other surfaces use
        settings = settings.model_copy(update={"embedding_model": None, "embedding_dimensions": None})
    provider = choose_embedding(settings, surface).provider
    embedder = registry.load(registry.EMBEDDERS[provider])(settings)
    wanted = settings.embedding_dimensions
    if wanted is not None and wanted != embedder.space.dimensions:
        raise ConfigError(
            f"EMBEDDING_DIMENSIONS is {wanted}, but {embedder.space.label} has {embedder.space.dimensions}.",
            suggestion="Unset EMBEDDING_DIMENSIONS, or choose a model with as many.",
        )
    store, degraded = _open_store(settings) if start is None else (build_store(settings, start.backend), start.degraded)
    return Base(
        store=store,
        collection=COLLECTIONS.get(surface, settings.collection),
        embedder=embedder,
        analyser=registry.load(registry.ANALYSER)(),
        fuse=registry.load(registry.FUSIONS["rrf"]),
        hybrid=settings.hybrid_search,
        slice=64 if provider == "local" else settings.embedding_batch_size * settings.embedding_concurrency,
        degraded=degraded,
    )


def _open_store(settings: Settings) -> tuple[Store, str]:
    backend = choose_store(settings).backend
    if backend != "qdrant":
        return build_store(settings, backend), ""
    from knowledge_mcp.engine.opening import Candidate, open_first

    server = ("CHROMADB_HOST", "CHROMADB_PORT") if settings.chromadb_host is not None else ("CHROMADB_PATH",)
    return open_first(
        [
            Candidate("qdrant", lambda: build_store(settings, "qdrant"), ("QDRANT_URL", "QDRANT_API_KEY")),
            Candidate("chromadb", lambda: build_store(settings, "chromadb"), server),
        ]
    )


def build_knowledge(
    settings: Settings,
    *,
    surface: str = "standards",
    start: Start | None = None,
    roots: Sequence[Path] | None = None,
) -> Knowledge:
    """Put a knowledge base together for one surface; `start` and errors as in `build_base`.

    Args:
        settings: what was read.
        surface: whose collection and way of reading is meant.
        start: as in `build_base`.
        roots: folders that tools given a path may read; None for all, where the caller is this machine's own user.
    """
    base = build_base(settings, surface=surface, start=start)
    if surface == "planning":
        return _filing_desk(settings, base, roots)
    if surface == "repositories":
        return _repository_desk(settings, base)
    from knowledge_mcp.engine.local import LocalKnowledge
    from knowledge_mcp.engine.plan import Pipeline

    chunker = registry.load(registry.CHUNKERS["standards"])(
        size_min=settings.chunk_size_min, size_max=settings.chunk_size_max, overlap=settings.chunk_overlap
    )
    classify = registry.load(registry.CLASSIFIERS["standards"])()
    ocr = _ocr(settings)
    pipeline = Pipeline(_readers(ocr, registry.READERS), chunker, classify, ocr)
    return LocalKnowledge(base, pipeline, health_threshold_ms=settings.health_latency_threshold_ms)


def _filing_desk(settings: Settings, base: Base, roots: Sequence[Path] | None) -> Knowledge:
    """Put the planning surface's knowledge base together: pictures and scans, judged before they are read."""
    from knowledge_mcp.engine.filing import FilingDesk
    from knowledge_mcp.engine.plan import Pipeline
    from knowledge_mcp.model.ocr import ScanOptions

    ocr = _ocr(settings)
    judged = registry.load(registry.JUDGING_READER)
    readers = {
        media_type: judged(
            reader,
            threshold=settings.image_ratio_threshold,
            strict=settings.image_skip == "strict",
            options=ScanOptions(enabled=settings.enable_ocr),
        )
        for media_type, reader in _readers(ocr, registry.SEEING_READERS).items()
    }
    chunker = registry.load(registry.CHUNKERS["planning"])()
    classify = registry.load(registry.CLASSIFIERS["planning"])()
    return FilingDesk(
        base,
        Pipeline(readers, chunker, classify, ocr),
        folder=settings.data_folder,
        roots=roots,
        health_threshold_ms=settings.health_latency_threshold_ms,
    )


def _repository_desk(settings: Settings, base: Base) -> Knowledge:
    """Put the repositories surface's knowledge base together: one collection for each repository."""
    from knowledge_mcp import __version__
    from knowledge_mcp.engine.plan import Pipeline
    from knowledge_mcp.engine.repositories import RepositoryDesk
    from knowledge_mcp.engine.repository_values import RepositoryParts, SearchLimits, source_code

    reader: Reader = registry.load(registry.CODE_READER)()
    media_types: tuple[str, ...] = registry.load(registry.CODE_MEDIA_TYPES)
    readers = dict.fromkeys(media_types, reader)
    chunker = registry.load(registry.CHUNKERS["repositories"])(settings.chunk_max_tokens, settings.chunk_overlap_tokens)
    parts = RepositoryParts(
        copies=registry.load(registry.SOURCES["git"])(settings, environment=network_environment()),
        scan=registry.load(registry.SOURCES["scan"]),
        permalink=registry.load(registry.PERMALINK),
        similarity=registry.load(registry.CALIBRATIONS["code"]),
        extensions=registry.load(registry.SCAN_DEFAULTS[0]),
        excludes=registry.load(registry.SCAN_DEFAULTS[1]),
    )
    limits = SearchLimits(
        default_limit=settings.search_default_limit,
        max_limit=settings.search_max_limit,
        threshold=settings.search_default_threshold,
        snippet=settings.search_snippet_max_length,
        extensions=settings.default_extensions,
        excludes=settings.default_excludes,
    )
    return RepositoryDesk(
        base,
        Pipeline(readers, chunker, source_code),
        parts,
        folder=settings.data_folder,
        limits=limits,
        version=__version__,
        health_threshold_ms=settings.health_latency_threshold_ms,
    )


def _ocr(settings: Settings) -> OcrEngine | None:
    engine: OcrEngine | None = registry.load(registry.OCR_ENGINES["tesseract"])(settings)
    return engine


def _readers(ocr: OcrEngine | None, targets: Mapping[str, str]) -> dict[str, Any]:
    """Make one reader per media type; those that see pictures share one OCR engine."""
    return {
        media_type: registry.load(target)(ocr=ocr) if media_type in registry.SEEING_READERS else registry.load(target)()
        for media_type, target in targets.items()
    }


def build_source(
    path: Path, *, recursive: bool = True, patterns: Sequence[str] = ("*.pdf", "*.docx", "*.md")
) -> Source:
    """Find the files to ingest below a path, or the one file that it names."""
    source: Source = registry.load(registry.SOURCES["files"])(path, recursive=recursive, patterns=tuple(patterns))
    return source


def try_start(settings: Settings, *, surfaces: Sequence[str] = ("standards",)) -> Start:
    """Try what a server needs before it starts: the adapters, the store's connection, each collection's space.

    Every problem is told, not only the first (A-REQ-REL-003).
    """
    start: Start | None = None
    problems: dict[str, KnowledgeError] = {}
    for surface in surfaces:
        try:
            base = build_base(settings, surface=surface, start=start)
        except KnowledgeError as exc:
            problems.setdefault(exc.message, exc)
            continue
        start = start or Start(backend=base.store.backend, degraded=base.degraded)
        try:
            base.store.ping()
            base.check_space()
        except KnowledgeError as exc:
            problems.setdefault(exc.message, exc)
        base.store.close()
    found = start or Start()
    return Start(tuple(problems.values()), found.backend, found.degraded)
