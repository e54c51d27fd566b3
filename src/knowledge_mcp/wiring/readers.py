"""Readers by media type, and the OCR engine that those share which see pictures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from knowledge_mcp import registry
from knowledge_mcp.settings import Settings

if TYPE_CHECKING:
    from knowledge_mcp.ports import OcrEngine

__all__ = ["build_ocr", "build_readers"]


def build_ocr(settings: Settings) -> OcrEngine | None:
    """Name the OCR engine; nothing is started before its use."""
    name = next(iter(registry.OCR_ENGINES)) if settings.ocr_engine == "auto" else settings.ocr_engine
    engine: OcrEngine | None = registry.load(registry.OCR_ENGINES[name])(settings)
    return engine


def build_readers(ocr: OcrEngine | None, targets: Mapping[str, str]) -> dict[str, Any]:
    """Make one reader for each media type; those of one class that need nothing of their own are one object.

    Those that see pictures share the OCR engine; those that go by Markdown are handed the reader of Markdown.
    """
    made: dict[str, Any] = {}
    readers: dict[str, Any] = {}
    for media_type, target in targets.items():
        if media_type in registry.SEEING_READERS:
            readers[media_type] = registry.load(target)(ocr=ocr)
            continue
        if target not in made:
            given: dict[str, Any] = {}
            if media_type in registry.CONVERTING_READERS:
                given["markdown"] = registry.load(registry.READERS["text/markdown"])()
            made[target] = registry.load(target)(**given)
        readers[media_type] = made[target]
    return readers
