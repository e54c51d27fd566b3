"""Readers by media type, and the OCR engine that those share which see pictures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from knowledge_mcp import registry
from knowledge_mcp.settings import Settings

if TYPE_CHECKING:
    from knowledge_mcp.ports import OcrEngine
    from knowledge_mcp.readers.passwords import Passwords

__all__ = ["build_ocr", "build_passwords", "build_readers"]


def build_ocr(settings: Settings) -> OcrEngine | None:
    """Name the OCR engine; nothing is started before its use."""
    name = next(iter(registry.OCR_ENGINES)) if settings.ocr_engine == "auto" else settings.ocr_engine
    engine: OcrEngine | None = registry.load(registry.OCR_ENGINES[name])(settings)
    return engine


def build_passwords(settings: Settings, ask: Callable[[str, str], str | None] | None = None) -> Passwords:
    """Make what opens protected files: by the file that is configured, else by asking a person."""
    from knowledge_mcp.readers.passwords import Passwords

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
