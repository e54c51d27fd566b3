"""One desk for each surface: its way of reading and cutting documents, over the store and embedder of the settings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from knowledge_mcp import registry
from knowledge_mcp.settings import Settings, network_environment
from knowledge_mcp.wiring.base import COLLECTIONS, Start, build_base, build_ocr, build_passwords, build_readers

if TYPE_CHECKING:
    from knowledge_mcp.engine.core.base import Base
    from knowledge_mcp.engine.repositories.desk import RepositoryDesk
    from knowledge_mcp.ports import Knowledge, Reader, SharedLibrary, Source
    from knowledge_mcp.readers.shared.passwords import Passwords

__all__ = [
    "build_conversion",
    "build_desk",
    "build_knowledge",
    "build_library",
    "build_local",
    "build_repositories",
    "build_source",
]


def build_library(settings: Settings, *, start: Start | None = None) -> SharedLibrary:
    """Put the library together in this process; errors as `build_base`."""
    from knowledge_mcp.engine.ingest.plan import Pipeline
    from knowledge_mcp.engine.jobs.store_journal import ENDED_COLLECTION, JOBS_COLLECTION
    from knowledge_mcp.engine.library.desk import LibraryDesk
    from knowledge_mcp.engine.repositories.manifest import PREFIX

    others = {*COLLECTIONS.values(), settings.collection, JOBS_COLLECTION, ENDED_COLLECTION, "document_registry"}
    reserved = frozenset(others) - {COLLECTIONS["rag"]}
    base = build_base(settings, surface="rag", start=start)
    ocr = build_ocr(settings)
    pipeline = Pipeline(
        build_readers(ocr, {**registry.READERS, **registry.DOCUMENT_READERS}, build_passwords(settings)),
        registry.load(registry.CHUNKERS["rag"])(),
        registry.load(registry.CLASSIFIERS["standards"])(),
        ocr,
    )
    return LibraryDesk(
        base,
        pipeline,
        registry.load(registry.FETCHERS["web"])(settings),
        folder=settings.data_folder,
        is_reserved=lambda name: name.partition(".")[0] in reserved or name in reserved or name.startswith(PREFIX),
        health_threshold_ms=settings.health_latency_threshold_ms,
    )


def build_conversion(settings: Settings, roots: Sequence[Path] | None) -> Any:
    """Put the desk of conversions together: it keeps nothing, and needs neither store nor embedder."""
    from knowledge_mcp.engine.convert.conversion import ConversionDesk

    ocr = build_ocr(settings)
    readers = build_readers(ocr, {**registry.READERS, **registry.DOCUMENT_READERS}, build_passwords(settings))
    return ConversionDesk(
        readers, roots=roots, library=lambda: registry.load(registry.REMOTES["library"])(settings), ocr=ocr
    )


def build_desk(
    settings: Settings, *, surface: str, start: Start | None = None, roots: Sequence[Path] | None = None
) -> Any:
    """Put together what answers a surface's tools where that is no knowledge base of this process.

    That is the library (of this process, or of the service at RAG_API_URL where that is set) for `rag`, the desk of
    conversions for `convert`, and the engine behind RAG_API_URL for every other surface. Arguments and errors are as
    in `build_knowledge`; ConfigError too where RAG_API_URL is needed and not set.
    """
    if surface == "convert":
        return build_conversion(settings, roots)
    if surface != "rag":  # desks that are more than a knowledge base run their tools whole where they are
        kind = "knowledge" if surface == "standards" else "tools"
        return registry.load(registry.REMOTES[kind])(settings, surface)
    if settings.rag_api_url is not None:
        return registry.load(registry.REMOTES["library"])(settings)
    return build_library(settings, start=start)


def build_local(
    settings: Settings, *, surface: str, start: Start | None = None, roots: Sequence[Path] | None = None
) -> Any:
    """Put together what answers a surface's tools in this process: the desk of repositories, else a knowledge base.

    Arguments and errors are as in `build_knowledge`.
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
    """Put a knowledge base together for one surface; `start` and errors as in `build_base`.

    Args:
        settings: what was read.
        surface: whose collection and way of reading is meant.
        start: as in `build_base`.
        roots: folders that tools given a path may read; None for all, where the caller is this machine's own user.
        ask_password: is given a protected file's name and why it is asked; returns a password, or None to leave it out.
    """
    base = build_base(settings, surface=surface, start=start)
    if surface == "planning":
        return _filing_desk(settings, base, roots, build_passwords(settings, ask_password))
    from knowledge_mcp.engine.ingest.plan import Pipeline
    from knowledge_mcp.engine.knowledge import LocalKnowledge

    chunker = registry.load(registry.CHUNKERS["standards"])(
        size_min=settings.chunk_size_min, size_max=settings.chunk_size_max, overlap=settings.chunk_overlap
    )
    classify = registry.load(registry.CLASSIFIERS["standards"])()
    ocr = build_ocr(settings)
    readers = build_readers(ocr, registry.READERS, build_passwords(settings, ask_password))
    pipeline = Pipeline(readers, chunker, classify, ocr)
    return LocalKnowledge(base, pipeline, health_threshold_ms=settings.health_latency_threshold_ms)


def _filing_desk(settings: Settings, base: Base, roots: Sequence[Path] | None, passwords: Passwords) -> Knowledge:
    """Put the planning surface's knowledge base together: pictures and scans, judged before they are read."""
    from knowledge_mcp.engine.ingest.plan import Pipeline
    from knowledge_mcp.engine.planning.desk import FilingDesk
    from knowledge_mcp.model.extraction import ScanOptions

    ocr = build_ocr(settings)
    judged = registry.load(registry.JUDGING_READER)
    readers = {
        media_type: judged(
            reader,
            threshold=settings.image_ratio_threshold,
            strict=settings.image_skip == "strict",
            options=ScanOptions(enabled=settings.enable_ocr),
        )
        for media_type, reader in build_readers(ocr, registry.SEEING_READERS, passwords).items()
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


def build_repositories(settings: Settings, *, start: Start | None = None) -> RepositoryDesk:
    """Put the desk of repositories together: one collection for each; `start` and errors as in `build_base`."""
    from knowledge_mcp import __version__
    from knowledge_mcp.engine.ingest.plan import Pipeline
    from knowledge_mcp.engine.repositories.desk import RepositoryDesk
    from knowledge_mcp.engine.repositories.values import RepositoryParts, SearchLimits, source_code

    base = build_base(settings, surface="repositories", start=start)
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


def build_source(
    path: Path, *, recursive: bool = True, patterns: Sequence[str] = ("*.pdf", "*.docx", "*.md")
) -> Source:
    """Find the files to ingest below a path, or the one file that it names."""
    source: Source = registry.load(registry.SOURCES["files"])(path, recursive=recursive, patterns=tuple(patterns))
    return source
