"""The composition root: builds everything from the settings; nothing is decided elsewhere."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from knowledge_mcp import registry
from knowledge_mcp.model.errors import ConfigError, KnowledgeError
from knowledge_mcp.settings import Settings, choose_embedding, choose_store, network_environment
from knowledge_mcp.support.workers import MadeOnce

if TYPE_CHECKING:
    from knowledge_mcp.engine.core.base import Base
    from knowledge_mcp.engine.ingest.plan import Pipeline
    from knowledge_mcp.engine.repositories.service import RepositoryService
    from knowledge_mcp.engine.tracing.decisions import Reviews
    from knowledge_mcp.model.call import Call
    from knowledge_mcp.model.collection import DocumentRecord
    from knowledge_mcp.model.document import Box
    from knowledge_mcp.model.ingest import SourceSpec
    from knowledge_mcp.ports import Analyser, Knowledge, OcrEngine, Reranker, SharedLibrary, Store, SyncedSource
    from knowledge_mcp.ranking.linking import EvidenceFinder, Linker
    from knowledge_mcp.readers.shared.passwords import Passwords
    from knowledge_mcp.sources.synced.folders import OtherSources
    from knowledge_mcp.sources.synced.registered import SourceList
    from knowledge_mcp.stores.shared.index_memory import IndexMemory

COLLECTIONS = {"planning": "application_docs", "rag": "default", "repositories": "repositories"}
"""The first two are fixed by their specifications; the third is never created: each repository has its own."""

RERANKED = frozenset({"standards", "rag"})
"""Surfaces that search synonyms and may rerank hits; the specifications of the others define what their scores are."""


_PAGE_DPI = 110
"""As for the console's pages: an assistant can read 10-point type, and the picture has about 200 KB."""


@dataclass(frozen=True, slots=True)
class Start:
    """The result of trying to start.

    Attributes:
        problems: everything that keeps the server from starting; empty if there is nothing.
        backend: the store that responds and is used from now on.
        degraded: why it is not the configured one, empty if it is.
    """

    problems: tuple[KnowledgeError, ...] = ()
    backend: str = ""
    degraded: str = ""


def build_store(settings: Settings, backend: str) -> Store:
    """Create one type of store from the settings; nothing is connected before its first use."""
    memory = _index_memory(settings.index_memory_mb)
    store: Store = registry.load(registry.STORES[backend])(settings, _analyser(), memory)
    return store


def build_base(settings: Settings, *, surface: str = "standards", start: Start | None = None) -> Base:
    """Open the store and create the embedder that the settings select.

    Args:
        settings: the settings.
        surface: the surface whose embedding provider to use.
        start: the result of `try_start`; without it, a configured Qdrant that does not respond is replaced by ChromaDB
            here (clarification 5); not for `rag`, whose documents would be lost to the other replicas.

    Raises:
        ConfigError: the settings name dimensions that the model does not have.
        ConnectionFailedError: Qdrant is configured, and neither it nor its fallback responds.
    """
    from knowledge_mcp.engine.core.base import Base
    from knowledge_mcp.lexical.analyser import EnglishAnalyser
    from knowledge_mcp.lexical.synonyms import from_options as synonyms_of
    from knowledge_mcp.ranking.fusion import fuse

    if surface == "planning":  # its specification names the model, whatever other surfaces use
        settings = settings.model_copy(update={"embedding_model": None, "embedding_dimensions": None})
    provider = choose_embedding(settings, surface).provider
    embedder = registry.load(registry.EMBEDDERS[provider])(settings)
    dimensions = settings.embedding_dimensions
    if dimensions is not None and dimensions != embedder.space.dimensions:
        raise ConfigError(
            f"EMBEDDING_DIMENSIONS is {dimensions}, but {embedder.space.label} has {embedder.space.dimensions}.",
            suggestion="Unset EMBEDDING_DIMENSIONS, or choose a model with that many dimensions.",
        )
    if start is None:
        store, degraded = _open_store(settings, falls_back=surface != "rag")
    else:
        store, degraded = build_store(settings, start.backend), start.degraded
    reranks = surface in RERANKED
    return Base(
        store=store,
        collection=COLLECTIONS.get(surface, settings.collection),
        embedder=embedder,
        analyser=_analyser(),
        fuse=fuse,
        blends=settings.hybrid_fusion == "scores",
        hybrid=settings.hybrid_search,
        slice=64 if provider == "local" else settings.embedding_batch_size * settings.embedding_concurrency,
        reranker=_reranker(settings) if reranks else None,
        rerank_top=settings.reranker_top,
        rerank_seconds=settings.reranker_budget_ms / 1000,
        synonyms=synonyms_of(settings.synonym_lists, EnglishAnalyser()) if reranks and settings.synonym_lists else None,
        degraded=degraded,
    )


@functools.cache
def _analyser() -> Analyser:
    """Create the analyser of all stores and searches; it is shared, so that an analysed question is cached for all."""
    from knowledge_mcp.lexical.analyser import MultilingualAnalyser

    return MultilingualAnalyser()


@functools.cache
def _index_memory(megabytes: int) -> IndexMemory:
    """Create the memory budget that all stores of this process share."""
    from knowledge_mcp.stores.shared.index_memory import IndexMemory

    return IndexMemory(megabytes << 20)


def _reranker(settings: Settings) -> Reranker | None:
    if settings.reranker == "none":
        return None
    reranker: Reranker = registry.load(registry.RERANKERS[settings.reranker])(settings)
    return reranker


def _open_store(settings: Settings, *, falls_back: bool) -> tuple[Store, str]:
    """Open the configured store; what a service accepts must not be stored in one replica's folder instead."""
    backend = choose_store(settings).backend
    if backend != "qdrant" or not falls_back:
        return build_store(settings, backend), ""
    from knowledge_mcp.engine.core.opening import StoreCandidate, open_first

    server = ("CHROMADB_HOST", "CHROMADB_PORT") if settings.chromadb_host is not None else ("CHROMADB_PATH",)
    return open_first(
        [
            StoreCandidate("qdrant", lambda: build_store(settings, "qdrant"), ("QDRANT_URL", "QDRANT_API_KEY")),
            StoreCandidate("chromadb", lambda: build_store(settings, "chromadb"), server),
        ],
        settings.collection,
    )


def try_start(settings: Settings, *, surfaces: Sequence[str] = ("standards",)) -> Start:
    """Try what a server needs before it starts: the adapters, the store's connection, each collection's space.

    All problems are reported, not only the first (A-REQ-REL-003).
    """
    start: Start | None = None
    problems: dict[str, KnowledgeError] = {}
    for surface in surfaces:
        try:
            base = build_base(settings, surface=surface, start=start)
        except KnowledgeError as exc:
            problems.setdefault(exc.message, exc)
            continue
        if start is None:
            start = Start(backend=base.store.identity.backend, degraded=base.degraded)
            base.warn_of_size(anywhere=True)
        try:
            base.check_space()
        except KnowledgeError as exc:
            problems.setdefault(exc.message, exc)
        base.store.close()
    found = start or Start()
    return Start(tuple(problems.values()), found.backend, found.degraded)


def build_ocr(settings: Settings) -> OcrEngine | None:
    """Create the OCR engine; nothing is started before its first use."""
    name = next(iter(registry.OCR_ENGINES)) if settings.ocr_engine == "auto" else settings.ocr_engine
    engine: OcrEngine | None = registry.load(registry.OCR_ENGINES[name])(settings)
    return engine


def build_passwords(settings: Settings, ask: Callable[[str, str], str | None] | None = None) -> Passwords:
    """Create the source of passwords for protected files: the configured file, otherwise asking a person."""
    from knowledge_mcp.readers.shared.passwords import Passwords

    return Passwords(settings.document_passwords_file, ask)


def build_readers(
    ocr: OcrEngine | None,
    targets: Mapping[str, str],
    passwords: Passwords | None = None,
    *,
    ocr_language: str = "eng",
    main_text: bool = False,
) -> dict[str, Any]:
    """Create one reader for each media type; readers of one class without parameters share one object.

    Readers of pictures share the OCR engine, readers of files that may be protected share the passwords (from
    `build_passwords`); readers that build on Markdown get the reader of Markdown. With `main_text`, web pages of
    folders are read without menus, headers and footers.
    """
    from knowledge_mcp.model.extraction import ScanOptions

    made: dict[str, Any] = {}
    readers: dict[str, Any] = {}
    for media_type, target in targets.items():
        if media_type in registry.SEEING_READERS:
            opening = {"passwords": passwords} if media_type in registry.PROTECTED_MEDIA_TYPES else {}
            readers[media_type] = registry.load(target)(ocr=ocr, options=ScanOptions(language=ocr_language), **opening)
            continue
        if target not in made:
            arguments: dict[str, Any] = {}
            if media_type in registry.CONVERTING_READERS:
                arguments["markdown"] = registry.load(registry.READERS["text/markdown"])()
            if media_type in registry.WEB_READERS and main_text:
                arguments["main_text"] = True
            made[target] = registry.load(target)(**arguments)
        readers[media_type] = made[target]
    return readers


def build_library(
    settings: Settings, *, start: Start | None = None, roots: Sequence[Path] | None = ()
) -> SharedLibrary:
    """Build the library in this process; errors as for `build_base`.

    The collection that `knowledge-ingest` fills is shown and searched too.

    Args:
        settings: what was read.
        start: as for `build_base`.
        roots: folders below which the originals of documents may be opened; None for all.
    """
    from knowledge_mcp.engine.ingest.plan import Pipeline
    from knowledge_mcp.engine.library.service import LibraryService
    from knowledge_mcp.language.document_types import DocumentClassifier
    from knowledge_mcp.sources.web.fetcher import from_options as web_fetcher

    reserved = {COLLECTIONS["planning"], settings.collection}
    base = build_base(settings, surface="rag", start=start)
    ocr = build_ocr(settings)
    readers = build_readers(ocr, registry.READERS, build_passwords(settings), ocr_language=settings.ocr_language)
    linker, finder = (
        functools.cache(functools.partial(build, settings)) for build in (build_linker, build_evidence_finder)
    )

    def run_review(library: LibraryService, request: Mapping[str, Any], line: Call) -> Mapping[str, Any]:
        return registry.load(registry.LIBRARY_REVIEW)(library, request, line, linker, finder)

    pipeline = Pipeline(
        readers,
        registry.load(registry.CHUNKERS["rag"])(),
        DocumentClassifier(),
        ocr,
    )
    return LibraryService(
        base,
        pipeline,
        web_fetcher(settings),
        folder=settings.data_folder,
        is_reserved=lambda name: name in reserved or is_inner(settings, name),
        shelf=settings.collection,
        roots=roots,
        drawer=readers["application/pdf"],
        holds_against=run_review,
        health_threshold_ms=settings.health_latency_threshold_ms,
    )


def build_conversion(settings: Settings, roots: Sequence[Path] | None) -> Any:
    """Build the conversion service: it stores nothing, and needs neither store nor embedder."""
    from knowledge_mcp.engine.convert.conversion import ConversionService
    from knowledge_mcp.remote.client import from_options as remote_library

    ocr = build_ocr(settings)
    readers = build_readers(ocr, registry.READERS, build_passwords(settings), ocr_language=settings.ocr_language)
    return ConversionService(readers, roots=roots, library=lambda: remote_library(settings), ocr=ocr)


def build_service(
    settings: Settings, *, surface: str, start: Start | None = None, roots: Sequence[Path] | None = None
) -> Any:
    """Build what answers a surface's tools if it is not a knowledge base in this process.

    This is the library (in this process, or at RAG_API_URL if set) for `rag`, the conversion service for `convert`, and
    the engine at RAG_API_URL for every other surface. Arguments and errors as for `build_knowledge`; also ConfigError
    if RAG_API_URL is needed and not set.
    """
    if surface == "convert":
        return build_conversion(settings, roots)
    if surface == "rag" and settings.rag_api_url is None:
        return build_library(settings, start=start)
    from knowledge_mcp.remote import client, knowledge

    if surface == "rag":
        return client.from_options(settings)
    # services with more than a knowledge base run their tools remotely
    if surface != "standards":
        return knowledge.tools_from_options(settings, surface)
    found = knowledge.from_options(settings, surface)
    found.reviews = _reviews(settings, found)
    return found


def _reviews(settings: Settings, knowledge: Knowledge) -> Reviews:
    """Store a knowledge base's reviews and people's decisions in DATA_PATH; a folder for each knowledge base."""
    from knowledge_mcp.engine.jobs.jobs import Jobs, explain
    from knowledge_mcp.engine.jobs.journal import FolderJournal
    from knowledge_mcp.engine.tracing.decisions import Decisions, Reviews

    def work(request: Mapping[str, Any], line: Call) -> Mapping[str, Any]:
        return registry.load(registry.REVIEWS)(knowledge, request, line)

    owner = hashlib.sha256(f"{settings.rag_api_url or ''}\0{settings.collection}".encode()).hexdigest()[:16]
    jobs = Jobs(FolderJournal(settings.data_folder / "jobs" / f"reviews-{owner}"), work, explain=explain)
    folder, collection = settings.data_folder, settings.collection
    return Reviews(
        jobs, lambda what, one, other: Decisions.about(folder, what, f"{collection}/{one}", f"{collection}/{other}")
    )


def build_linker(settings: Settings) -> Linker:
    """Create the proposer of links between two sets of texts, with the embedding model of the standards."""
    from knowledge_mcp.ranking.linking import Linker

    return Linker(*_terms_and_vectors(settings))


def build_evidence_finder(settings: Settings) -> EvidenceFinder:
    """Create the search for evidence for demands, with the embedding model of the standards."""
    from knowledge_mcp.ranking.linking import EvidenceFinder

    return EvidenceFinder(*_terms_and_vectors(settings))


def _terms_and_vectors(settings: Settings) -> tuple[Callable[[str], list[str]], Callable[[Sequence[str]], Any]]:
    from knowledge_mcp.lexical.analyser import EnglishAnalyser
    from knowledge_mcp.ranking.linking import embed_as_matrix

    provider = choose_embedding(settings, "standards").provider
    embedder = registry.load(registry.EMBEDDERS[provider])(settings)
    return EnglishAnalyser().document_terms, embed_as_matrix(embedder.embed_documents)


def build_local(
    settings: Settings, *, surface: str, start: Start | None = None, roots: Sequence[Path] | None = None
) -> Any:
    """Build what answers a surface's tools in this process: the repository service, or a knowledge base.

    Arguments and errors as for `build_knowledge`.
    """
    if surface == "repositories":
        return build_repositories(settings, start=start)
    return build_knowledge(settings, surface=surface, start=start, roots=roots)


def build_knowledge(
    settings: Settings,
    *,
    surface: str = "standards",
    start: Start | None = None,
    roots: Sequence[Path] | None = None,
    ask_password: Callable[[str, str], str | None] | None = None,
) -> Knowledge:
    """Build a knowledge base for one surface; `start` and errors as for `build_base`.

    Args:
        settings: what was read.
        surface: determines the collection and the readers.
        start: as for `build_base`.
        roots: folders that tools with a path may read; None for all, if the caller is the local user.
        ask_password: called with a protected file's name and the reason; returns a password, or None to skip the file.
    """
    base = build_base(settings, surface=surface, start=start)
    if surface == "planning":
        return _build_planning(settings, base, roots, build_passwords(settings, ask_password))
    from knowledge_mcp.engine.knowledge import LocalKnowledge
    from knowledge_mcp.engine.repositories.manifest import PREFIX

    pipeline = MadeOnce(lambda: _standards_pipeline(settings, build_passwords(settings, ask_password)))

    def draw(record: DocumentRecord, page: int, boxes: Sequence[Box], words: str) -> bytes:
        from knowledge_mcp.engine.library.originals import Originals

        reader: Any = pipeline().readers["application/pdf"]
        original = Originals(settings.data_folder / "originals", roots).find(record)
        return reader.draw(original, page, boxes, words, _PAGE_DPI)[2]

    found = LocalKnowledge(
        base,
        pipeline,
        health_threshold_ms=settings.health_latency_threshold_ms,
        sources=lambda: list_sources(settings).all(),
        repositories=PREFIX,
        is_inner=functools.partial(is_inner, settings),
        draw=draw,
    )
    found.reviews = _reviews(settings, found)
    return found


def _standards_pipeline(settings: Settings, passwords: Passwords) -> Pipeline:
    from knowledge_mcp.engine.ingest.plan import Pipeline
    from knowledge_mcp.language.document_types import DocumentClassifier

    chunker = registry.load(registry.CHUNKERS["standards"])(
        size_min=settings.chunk_size_min, size_max=settings.chunk_size_max, overlap=settings.chunk_overlap
    )
    ocr = build_ocr(settings)
    readers = build_readers(ocr, registry.READERS, passwords, ocr_language=settings.ocr_language, main_text=True)
    return Pipeline(readers, chunker, DocumentClassifier(), ocr)


def is_inner(settings: Settings, name: str) -> bool:
    """Return whether a collection has no searchable documents: journals, registers, code, old copies."""
    from knowledge_mcp.engine.jobs.store_journal import ENDED_COLLECTION, JOBS_COLLECTION
    from knowledge_mcp.engine.repositories.manifest import PREFIX

    inner = {COLLECTIONS["repositories"], JOBS_COLLECTION, ENDED_COLLECTION, "document_registry"}
    stem, dot, _ = name.partition(".")
    is_copy = bool(dot) and stem in {COLLECTIONS["planning"], settings.collection}
    return is_copy or stem in inner or name.startswith(PREFIX)


def _build_planning(settings: Settings, base: Base, roots: Sequence[Path] | None, passwords: Passwords) -> Knowledge:
    """Build the planning surface's knowledge base: pictures and scans are judged before they are read."""
    from knowledge_mcp.engine.ingest.plan import Pipeline
    from knowledge_mcp.engine.planning.service import PlanningService
    from knowledge_mcp.language.document_types import PlanningClassifier
    from knowledge_mcp.model.extraction import ScanOptions
    from knowledge_mcp.readers.scans.judging import CountingReader, PlanningReader

    ocr, language = build_ocr(settings), settings.ocr_language
    seeing = build_readers(ocr, registry.READERS, passwords, ocr_language=language, main_text=True)
    readers: dict[str, Any] = {
        media_type: PlanningReader(
            reader,
            threshold=settings.image_ratio_threshold,
            strict=settings.image_skip == "strict",
            options=ScanOptions(enabled=settings.enable_ocr, language=language),
        )
        if media_type in registry.SEEING_READERS
        else CountingReader(reader)
        for media_type, reader in seeing.items()
    }
    chunker = registry.load(registry.CHUNKERS["planning"])()
    classify = PlanningClassifier()
    return PlanningService(
        base,
        Pipeline(readers, chunker, classify, ocr),
        folder=settings.data_folder,
        roots=roots,
        health_threshold_ms=settings.health_latency_threshold_ms,
    )


def build_repositories(settings: Settings, *, start: Start | None = None) -> RepositoryService:
    """Build the repository service: one collection for each; `start` and errors as for `build_base`."""
    from knowledge_mcp import __version__
    from knowledge_mcp.engine.ingest.plan import Pipeline
    from knowledge_mcp.engine.repositories.service import RepositoryService
    from knowledge_mcp.engine.repositories.values import RepositoryParts, SearchLimits, source_code
    from knowledge_mcp.ranking.fusion import code_similarity
    from knowledge_mcp.readers.code.reader import CodeReader
    from knowledge_mcp.sources.git import source as git
    from knowledge_mcp.sources.git.url import permalink
    from knowledge_mcp.sources.scan.files import (
        DEFAULT_EXCLUDES,
        DEFAULT_EXTENSIONS,
        SOURCE_MEDIA_TYPES,
        RepositoryScan,
    )

    base = build_base(settings, surface="repositories", start=start)
    readers = dict.fromkeys(SOURCE_MEDIA_TYPES, CodeReader())
    chunker = registry.load(registry.CHUNKERS["repositories"])(settings.chunk_max_tokens, settings.chunk_overlap_tokens)
    parts = RepositoryParts(
        copies=git.from_options(settings, environment=network_environment()),
        scan=RepositoryScan,
        permalink=permalink,
        similarity=code_similarity,
        extensions=DEFAULT_EXTENSIONS,
        excludes=DEFAULT_EXCLUDES,
    )
    limits = SearchLimits(
        default_limit=settings.search_default_limit,
        max_limit=settings.search_max_limit,
        threshold=settings.search_default_threshold,
        snippet=settings.search_snippet_max_length,
        extensions=settings.default_extensions,
        excludes=settings.default_excludes,
    )
    return RepositoryService(
        base,
        Pipeline(readers, chunker, source_code),
        parts,
        folder=settings.data_folder,
        limits=limits,
        version=__version__,
        health_threshold_ms=settings.health_latency_threshold_ms,
    )


def list_sources(settings: Settings) -> SourceList:
    """Return the list of the collection's registered sources; nothing is read yet."""
    from knowledge_mcp.sources.synced.registered import SourceList

    return SourceList(settings.data_folder / "sources", settings.collection)


def other_sources(settings: Settings, name: str) -> OtherSources:
    """Return the other registered sources, for a sync of one; none of them is accessed yet."""
    from knowledge_mcp.sources.synced.folders import OtherSources

    listed = list_sources(settings).all()
    return OtherSources([build_synced(settings, each.spec) for each in listed if each.spec.name != name])


def build_synced(settings: Settings, spec: SourceSpec) -> SyncedSource:
    """Create a registered source, for one sync."""
    make = registry.load(registry.SYNCED_SOURCES[spec.kind.value])
    source: SyncedSource = make(spec, settings, list_sources(settings), network_environment())
    return source
