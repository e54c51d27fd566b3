"""The composition root: settings in, a knowledge base out; nothing is decided anywhere else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from knowledge_mcp import registry
from knowledge_mcp.model.errors import ConfigError, KnowledgeError
from knowledge_mcp.settings import Settings, choose_embedding, choose_store, missing_adapters

if TYPE_CHECKING:
    from knowledge_mcp.engine.base import Base
    from knowledge_mcp.ports import Knowledge, Source, Store

__all__ = ["Start", "build_base", "build_knowledge", "build_source", "build_store", "try_start"]


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
        collection=settings.collection,
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


def build_knowledge(settings: Settings, *, surface: str = "standards", start: Start | None = None) -> Knowledge:
    """Put a knowledge base together for one surface; `start` and errors as in `build_base`."""
    from knowledge_mcp.engine.local import LocalKnowledge
    from knowledge_mcp.engine.plan import Pipeline

    pipeline = Pipeline(
        readers={media_type: registry.load(target)() for media_type, target in registry.READERS.items()},
        chunker=registry.load(registry.CHUNKERS["standards"])(
            size_min=settings.chunk_size_min, size_max=settings.chunk_size_max, overlap=settings.chunk_overlap
        ),
        classify=registry.load(registry.CLASSIFIER)(),
    )
    base = build_base(settings, surface=surface, start=start)
    return LocalKnowledge(base, pipeline, health_threshold_ms=settings.health_latency_threshold_ms)


def build_source(
    path: Path, *, recursive: bool = True, patterns: Sequence[str] = ("*.pdf", "*.docx", "*.md")
) -> Source:
    """Find the files to ingest below a path, or the one file that it names."""
    source: Source = registry.load(registry.SOURCES["files"])(path, recursive=recursive, patterns=tuple(patterns))
    return source


def try_start(settings: Settings, *, surface: str = "standards") -> Start:
    """Try what a server needs before it starts: the adapters, the store's connection, the collection's space.

    Every problem is told, not only the first (A-REQ-REL-003).
    """
    try:
        base = build_base(settings, surface=surface)
    except KnowledgeError as exc:
        return Start(problems=(exc,))
    problems: list[KnowledgeError] = []
    for step in (base.store.ping, base.check_space):
        try:
            step()
        except KnowledgeError as exc:
            problems.append(exc)
            break
    base.store.close()
    return Start(tuple(problems), base.store.backend, base.degraded)
