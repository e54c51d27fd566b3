"""The desk of the library, and the desk of conversions, which hands what it converts to a library elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from knowledge_mcp import registry
from knowledge_mcp.settings import Settings
from knowledge_mcp.wiring.base import COLLECTIONS, Start, build_base
from knowledge_mcp.wiring.readers import build_ocr, build_passwords, build_readers

if TYPE_CHECKING:
    from knowledge_mcp.ports import SharedLibrary

__all__ = ["build_conversion", "build_library"]


def build_library(settings: Settings, *, start: Start | None = None) -> SharedLibrary:
    """Put the library together in this process; errors as `build_base`."""
    from knowledge_mcp.engine.library import LibraryDesk
    from knowledge_mcp.engine.plan import Pipeline
    from knowledge_mcp.engine.repository_manifest import PREFIX
    from knowledge_mcp.engine.store_journal import ENDED_COLLECTION, JOBS_COLLECTION

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
    from knowledge_mcp.engine.conversion import ConversionDesk

    ocr = build_ocr(settings)
    readers = build_readers(ocr, {**registry.READERS, **registry.DOCUMENT_READERS}, build_passwords(settings))
    return ConversionDesk(
        readers, roots=roots, library=lambda: registry.load(registry.REMOTES["library"])(settings), ocr=ocr
    )
