"""Settings in, a store and an embedder out: what every surface stands on, and the trial start of a server."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from knowledge_mcp import registry
from knowledge_mcp.model.errors import ConfigError, KnowledgeError
from knowledge_mcp.settings import Settings, blends_scores, choose_embedding, choose_store, missing_adapters

if TYPE_CHECKING:
    from knowledge_mcp.engine.core.base import Base
    from knowledge_mcp.ports import Analyser, OcrEngine, Reranker, Store, Synonyms
    from knowledge_mcp.readers.shared.passwords import Passwords
    from knowledge_mcp.stores.shared.index_memory import IndexMemory

__all__ = [
    "COLLECTIONS",
    "Start",
    "build_base",
    "build_ocr",
    "build_passwords",
    "build_readers",
    "build_store",
    "try_start",
]

COLLECTIONS = {"planning": "application_docs", "rag": "default", "repositories": "repositories"}
"""The first two are fixed by their specifications; the third is never made: each repository has one of its own."""

RERANKED = frozenset({"standards", "rag"})
"""Surfaces whose questions may be put in other words and whose hits a reranker may order anew; the others'
specifications say what their scores are."""


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
    memory = _index_memory(settings.index_memory_mb)
    store: Store = registry.load(registry.STORES[backend])(settings, registry.load(registry.ANALYSER)(), memory)
    return store


def build_base(settings: Settings, *, surface: str = "standards", start: Start | None = None) -> Base:
    """Open the store and name the embedder that the settings select.

    Args:
        settings: what was read.
        surface: whose embedding provider is meant.
        start: what was decided when the process started; without it, this is the start, and a configured Qdrant that
            does not answer is replaced by ChromaDB here (clarification 5); not for `rag`, whose documents would be
            lost to the other replicas.

    Raises:
        ConfigError: the settings select an adapter that this build has not.
        ConnectionFailedError: Qdrant is configured, and neither it nor its fallback answers.
    """
    from knowledge_mcp.engine.core.base import Base

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
    if start is None:
        store, degraded = _open_store(settings, falls_back=surface != "rag")
    else:
        store, degraded = build_store(settings, start.backend), start.degraded
    analyser = registry.load(registry.ANALYSER)()
    return Base(
        store=store,
        collection=COLLECTIONS.get(surface, settings.collection),
        embedder=embedder,
        analyser=analyser,
        fuse=registry.load(registry.FUSIONS["rrf"]),
        blends=blends_scores(settings, surface),
        hybrid=settings.hybrid_search,
        slice=64 if provider == "local" else settings.embedding_batch_size * settings.embedding_concurrency,
        reranker=_reranker(settings) if surface in RERANKED else None,
        rerank_top=settings.reranker_top,
        rerank_seconds=settings.reranker_budget_ms / 1000,
        synonyms=_synonyms(settings, analyser) if surface in RERANKED else None,
        degraded=degraded,
    )


@functools.cache
def _index_memory(megabytes: int) -> IndexMemory:
    """Make the budget that all stores of this process share."""
    from knowledge_mcp.stores.shared.index_memory import IndexMemory

    return IndexMemory(megabytes << 20)


def _reranker(settings: Settings) -> Reranker | None:
    if settings.reranker == "none":
        return None
    reranker: Reranker = registry.load(registry.RERANKERS[settings.reranker])(settings)
    return reranker


def _synonyms(settings: Settings, analyser: Analyser) -> Synonyms | None:
    if not settings.synonym_lists:
        return None
    synonyms: Synonyms = registry.load(registry.SYNONYMS)(settings.synonym_lists, analyser)
    return synonyms


def _open_store(settings: Settings, *, falls_back: bool) -> tuple[Store, str]:
    """Open the store that is configured; what a service accepts must not go into a folder of one replica instead."""
    backend = choose_store(settings).backend
    if backend != "qdrant" or not falls_back:
        return build_store(settings, backend), ""
    from knowledge_mcp.engine.core.opening import StoreCandidate, open_first

    server = ("CHROMADB_HOST", "CHROMADB_PORT") if settings.chromadb_host is not None else ("CHROMADB_PATH",)
    return open_first(
        [
            StoreCandidate("qdrant", lambda: build_store(settings, "qdrant"), ("QDRANT_URL", "QDRANT_API_KEY")),
            StoreCandidate("chromadb", lambda: build_store(settings, "chromadb"), server),
        ]
    )


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


def build_ocr(settings: Settings) -> OcrEngine | None:
    """Name the OCR engine; nothing is started before its use."""
    name = next(iter(registry.OCR_ENGINES)) if settings.ocr_engine == "auto" else settings.ocr_engine
    engine: OcrEngine | None = registry.load(registry.OCR_ENGINES[name])(settings)
    return engine


def build_passwords(settings: Settings, ask: Callable[[str, str], str | None] | None = None) -> Passwords:
    """Make what opens protected files: by the file that is configured, else by asking a person."""
    from knowledge_mcp.readers.shared.passwords import Passwords

    return Passwords(settings.document_passwords_file, ask)


def build_readers(
    ocr: OcrEngine | None, targets: Mapping[str, str], passwords: Passwords | None = None
) -> dict[str, Any]:
    """Make one reader for each media type; those of one class that need nothing of their own are one object.

    Those that see pictures share the OCR engine, those of files that can be protected the passwords (as
    `build_passwords` makes them); those that go by Markdown are handed the reader of Markdown.
    """
    made: dict[str, Any] = {}
    readers: dict[str, Any] = {}
    for media_type, target in targets.items():
        if media_type in registry.SEEING_READERS:
            opening = {"passwords": passwords} if media_type in registry.PROTECTED_MEDIA_TYPES else {}
            readers[media_type] = registry.load(target)(ocr=ocr, **opening)
            continue
        if target not in made:
            given: dict[str, Any] = {}
            if media_type in registry.CONVERTING_READERS:
                given["markdown"] = registry.load(registry.READERS["text/markdown"])()
            made[target] = registry.load(target)(**given)
        readers[media_type] = made[target]
    return readers
