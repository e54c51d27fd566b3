"""The composition root: settings in, a knowledge base out; nothing is decided anywhere else."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from knowledge_mcp import registry
from knowledge_mcp.model.errors import ConfigError, KnowledgeError
from knowledge_mcp.settings import Settings, choose_embedding, choose_store, missing_adapters

if TYPE_CHECKING:
    from knowledge_mcp.engine.base import Base
    from knowledge_mcp.ports import Knowledge, Source

__all__ = ["build_base", "build_knowledge", "build_source", "startup_problems"]


def build_base(settings: Settings, *, surface: str = "standards") -> Base:
    """Open the store and name the embedder that the settings select; nothing is loaded or connected before its use.

    Raises:
        ConfigError: the settings select an adapter that this build has not.
    """
    from knowledge_mcp.engine.base import Base

    problems = missing_adapters(settings, surface, embedders=registry.EMBEDDERS, stores=registry.STORES)
    if problems:
        raise ConfigError(problems[0], details="\n".join(problems))
    embedder = registry.load(registry.EMBEDDERS[choose_embedding(settings, surface).provider])(settings)
    wanted = settings.embedding_dimensions
    if wanted is not None and wanted != embedder.space.dimensions:
        raise ConfigError(
            f"EMBEDDING_DIMENSIONS is {wanted}, but {embedder.space.label} has {embedder.space.dimensions}.",
            suggestion="Unset EMBEDDING_DIMENSIONS, or choose a model with as many.",
        )
    analyser = registry.load(registry.ANALYSER)()
    return Base(
        store=registry.load(registry.STORES[choose_store(settings).backend])(settings, analyser),
        collection=settings.collection,
        embedder=embedder,
        analyser=analyser,
        fuse=registry.load(registry.FUSIONS["rrf"]),
        hybrid=settings.hybrid_search,
    )


def build_knowledge(settings: Settings, *, surface: str = "standards") -> Knowledge:
    """Put a knowledge base together for one surface."""
    from knowledge_mcp.engine.local import LocalKnowledge
    from knowledge_mcp.engine.plan import Pipeline

    pipeline = Pipeline(
        readers={media_type: registry.load(target)() for media_type, target in registry.READERS.items()},
        chunker=registry.load(registry.CHUNKERS["standards"])(
            size_min=settings.chunk_size_min, size_max=settings.chunk_size_max, overlap=settings.chunk_overlap
        ),
        classify=registry.load(registry.CLASSIFIER)(),
    )
    base = build_base(settings, surface=surface)
    return LocalKnowledge(base, pipeline, health_threshold_ms=settings.health_latency_threshold_ms)


def build_source(
    path: Path, *, recursive: bool = True, patterns: Sequence[str] = ("*.pdf", "*.docx", "*.md")
) -> Source:
    """Find the files to ingest below a path, or the one file that it names."""
    source: Source = registry.load(registry.SOURCES["files"])(path, recursive=recursive, patterns=tuple(patterns))
    return source


def startup_problems(settings: Settings, *, surface: str = "standards") -> list[KnowledgeError]:
    """Try what a server needs before it starts: the adapters, the store's connection, the collection's space.

    Returns every problem, not only the first (A-REQ-REL-003); empty when all is well.
    """
    try:
        base = build_base(settings, surface=surface)
    except KnowledgeError as exc:
        return [exc]
    problems: list[KnowledgeError] = []
    for step in (base.store.ping, base.check_space):
        try:
            step()
        except KnowledgeError as exc:
            problems.append(exc)
    base.store.close()
    return problems
