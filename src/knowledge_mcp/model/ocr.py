"""What an OCR engine sees on a page image."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["OcrPage", "OcrWord"]


@dataclass(frozen=True, slots=True)
class OcrWord:
    """One recognised word: text, confidence 0..100, box (left, top, right, bottom) in pixels, and its line number."""

    text: str
    confidence: float
    box: tuple[int, int, int, int]
    line: int


@dataclass(frozen=True, slots=True)
class OcrPage:
    """All words of one page image in reading order, the mean confidence 0..100 and the rotation that was undone."""

    words: tuple[OcrWord, ...]
    text: str
    confidence: float
    rotation: int
