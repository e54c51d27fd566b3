"""What an OCR engine sees on a page image, how a reader is told to use it, and what it tells of a page it read so."""

from __future__ import annotations

from dataclasses import dataclass

from knowledge_mcp.model.document import Page

__all__ = ["DOUBTFUL", "LOW_CONFIDENCE", "OcrPage", "OcrWord", "RecognisedPage", "ScanOptions"]

DOUBTFUL = 60.0
"""Words below this confidence are counted as doubtful."""
LOW_CONFIDENCE = 70.0
"""Pages below this mean confidence are logged and reported (B-NFR-001)."""


@dataclass(frozen=True, slots=True)
class OcrWord:
    """One recognised word.

    Attributes:
        text: as read, without blanks.
        confidence: 0..100.
        box: (left, top, right, bottom) in pixels of the upright page.
        line: number of its line on the page, in reading order.
        block: number of its block (column, caption, box) on the page, in reading order.
        paragraph: number of its paragraph on the page, in reading order.
    """

    text: str
    confidence: float
    box: tuple[int, int, int, int]
    line: int
    block: int = 0
    paragraph: int = 0


@dataclass(frozen=True, slots=True)
class OcrPage:
    """All words of one page image.

    Attributes:
        words: in reading order.
        text: the words, line by line, a blank line between blocks.
        confidence: mean of the words' confidence 0..100; 0 where there is no word.
        rotation: degrees clockwise by which the image was turned to stand upright: 0, 90, 180 or 270.
        skew: degrees clockwise by which it was turned beyond that to lie straight.
        width, height: pixels of the upright page.
    """

    words: tuple[OcrWord, ...]
    text: str
    confidence: float
    rotation: int
    skew: float = 0.0
    width: int = 0
    height: int = 0

    @property
    def doubtful(self) -> float:
        """Tell the share 0..1 of words below `DOUBTFUL`; 0 where there is no word."""
        return sum(word.confidence < DOUBTFUL for word in self.words) / max(len(self.words), 1)


@dataclass(frozen=True, slots=True)
class ScanOptions:
    """Choose how a reader treats pages without a text of their own.

    Attributes:
        enabled: False leaves such pages unread, each with a note.
        force: read every page by OCR, whatever text layer it has (`force_ocr`).
        language: Tesseract's names, joined by `+` (`ocr_language`).
        dpi: dots per inch at which pages are rendered.
    """

    enabled: bool = True
    force: bool = False
    language: str = "eng"
    dpi: int = 300


@dataclass(frozen=True, slots=True)
class RecognisedPage(Page):
    """A page that was read by OCR (`method` is `ocr`), with what the engine thought of it.

    Attributes:
        confidence: mean confidence of its words 0..100; 0 where no word was found.
        doubtful: share 0..1 of words below `DOUBTFUL`.
        rotation: degrees clockwise by which it was turned upright.
    """

    confidence: float = 0.0
    doubtful: float = 0.0
    rotation: int = 0
