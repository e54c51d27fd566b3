"""What a survey of a document's pages shows before reading, and the verdict whether to read them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import PurePath

from knowledge_mcp.model.document import Document, Page

DOUBTFUL = 60.0
"""Words below this confidence count as doubtful."""
LOW_CONFIDENCE = 70.0
"""Pages below this mean confidence are logged and reported (B-NFR-001)."""


NOT_READ = "of its print was not read"


def is_unsure(note: str) -> bool:
    """Return whether a page's note says that words or digits are doubtful, or that some of it was not read."""
    return "doubtful" in note or NOT_READ in note


@dataclass(frozen=True, slots=True)
class OcrWord:
    """One recognised word.

    Attributes:
        text: as read, without whitespace.
        confidence: 0..100.
        box: (left, top, right, bottom) in pixels of the upright page.
        line: number of its line on the page, in reading order.
        block: number of its block (column, caption, box) on the page, in reading order.
        paragraph: number of its paragraph on the page, in reading order.
        stroke: average stroke width in pixels; 0 if not measured.
    """

    text: str
    confidence: float
    box: tuple[int, int, int, int]
    line: int
    block: int = 0
    paragraph: int = 0
    stroke: float = 0.0


@dataclass(frozen=True, slots=True)
class OcrPage:
    """All words of one page image.

    Attributes:
        words: in reading order.
        text: the words line by line, with a blank line between blocks.
        confidence: mean confidence 0..100 of everything read, including strokes that were left out; 0 without words.
        rotation: degrees clockwise by which the image was turned upright: 0, 90, 180 or 270.
        skew: degrees clockwise by which it was turned after that to straighten it.
        width, height: pixels of the upright page.
        unread: share 0..1 of its ink that is in no word: stamps, handwriting, pictures, illegible words.
        rules: left, top, right, bottom of the ends of each horizontal or vertical rule, in pixels of the upright page.
    """

    words: tuple[OcrWord, ...]
    text: str
    confidence: float
    rotation: int
    skew: float = 0.0
    width: int = 0
    height: int = 0
    unread: float = 0.0
    rules: tuple[tuple[int, int, int, int], ...] = ()

    @property
    def doubtful(self) -> float:
        """Return the share 0..1 of words below `DOUBTFUL`; 0 without words."""
        return sum(word.confidence < DOUBTFUL for word in self.words) / max(len(self.words), 1)


@dataclass(frozen=True, slots=True)
class ScanOptions:
    """How a reader treats pages without text of their own.

    Attributes:
        enabled: False leaves such pages unread, each with a note.
        force: read every page by OCR, even if it has a text layer (`force_ocr`).
        language: Tesseract's names, joined by `+` (`ocr_language`).
        dpi: dots per inch at which pages are rendered.
    """

    enabled: bool = True
    force: bool = False
    language: str = "eng"
    dpi: int = 300


@dataclass(frozen=True, slots=True)
class RecognisedPage(Page):
    """A page that was read by OCR (`method` is `ocr`), with the engine's confidence.

    Attributes:
        confidence: mean confidence of its words 0..100; 0 if no word was found.
        doubtful: share 0..1 of words below `DOUBTFUL`.
        rotation: degrees clockwise by which it was turned upright.
    """

    confidence: float = 0.0
    doubtful: float = 0.0
    rotation: int = 0


_DRAWING = 250
"""Minimum curved and slanting paths of a drawing: tables and frames have none, charts some dozens."""
_TEXT = 200
"""Minimum characters of a page's own text below a picture that covers it."""
_LEAST_TEXT = 10
_COVERED = 0.5
_SAMPLE = 3
_PLATE = 60.0
_RENDERING = re.compile(
    r"\b(?:bird'?s? ?s? ?eye|perspectives?|cgis?|3 ?d ?visual\w*|artist'?s? ?s? ?impressions?|photo ?montages?|"
    r"street ?scenes?|render(?:s|ing|ings|ed)?)\b"
)


@dataclass(frozen=True, slots=True)
class PageEvidence:
    """What one page shows before it is read.

    Attributes:
        number: physical page from 1.
        image_ratio: area of pictures divided by the area of the page, 0..1 (B-FR-005).
        images: number of pictures.
        paths: number of vector paths.
        slanted: number of curved or slanting paths; only drawings have many.
        characters: of its text layer, without whitespace.
    """

    number: int
    image_ratio: float = 0.0
    images: int = 0
    paths: int = 0
    slanted: int = 0
    characters: int = 0

    @property
    def is_drawing(self) -> bool:
        """Return whether it is a vector drawing."""
        return self.slanted >= _DRAWING

    @property
    def is_scan(self) -> bool:
        """Return whether pictures cover it and it has no text layer, or only a stamp."""
        return self.image_ratio > _COVERED and self.characters < _TEXT


@dataclass(frozen=True, slots=True)
class Survey:
    """What all pages of a document show; with `is_image_file` the file itself is a picture, and is always read."""

    pages: tuple[PageEvidence, ...]
    is_image_file: bool = False

    @property
    def image_ratio(self) -> float:
        """Return the average of the pages' image ratios (B-FR-005); 0 without pages."""
        return sum(page.image_ratio for page in self.pages) / max(len(self.pages), 1)


@dataclass(frozen=True, slots=True)
class PageVerdict:
    """The result for one page, planned or done.

    Attributes:
        number, image_ratio, paths: as in `PageEvidence`.
        method: `text_layer`, `ocr`, `blank` or `none`; `skipped` if the document is skipped.
        confidence: of its recognition 0..100, None if there was none.
        drawing: whether it is a drawing: vector paths, or a picture with few legible words.
        reason: why it is empty, doubtful or skipped, otherwise empty.
    """

    number: int
    image_ratio: float
    paths: int
    method: str
    confidence: float | None = None
    drawing: bool = False
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ExtractionVerdict:
    """Whether a document is read, how its scanned pages are treated, and why.

    Attributes:
        skipped: do not ingest it; `reason` is then `image_based`.
        reason: `image_based`, or why a document above the threshold passed: `sample_reads`, `text_layer`, `forced`,
            `image_file`; otherwise empty.
        recognise: whether its scanned pages are read by OCR; False for a rendering.
        rendering: its name is that of an architectural rendering.
        image_ratio: average over the pages, 0..1.
        contains_drawings: whether any page is a drawing.
        pages: one verdict each.
    """

    skipped: bool
    reason: str
    recognise: bool
    rendering: bool
    image_ratio: float
    contains_drawings: bool
    pages: tuple[PageVerdict, ...] = field(default=())

    @property
    def total_pages(self) -> int:
        """Return the number of pages."""
        return len(self.pages)


def is_rendering(file_name: str) -> bool:
    """Return whether a file is named as an architectural rendering (B-FR-005), which has no text worth reading."""
    plain = re.sub(r"[\s_.\-]+", " ", PurePath(file_name).stem).replace("\u2019", "'").lower()
    return _RENDERING.search(plain) is not None


def pages_to_sample(survey: Survey) -> tuple[int, ...]:
    """Choose the scanned pages used to judge the document, spread over it: first, last, and some between."""
    scans = [page.number for page in survey.pages if page.is_scan]
    if len(scans) <= _SAMPLE:
        return tuple(scans)
    return tuple(scans[round(place * (len(scans) - 1) / (_SAMPLE - 1))] for place in range(_SAMPLE))


def judge(
    survey: Survey,
    file_name: str,
    *,
    threshold: float = 0.7,
    strict: bool = False,
    force_ocr: bool = False,
    sampled: Mapping[int, RecognisedPage] | None = None,
) -> ExtractionVerdict:
    """Decide whether a document is read.

    Args:
        survey: what its pages show.
        file_name: used to recognise renderings.
        threshold: average image ratio above which a document is image-based (`IMAGE_RATIO_THRESHOLD`).
        strict: True skips every image-based document, as the specification says; False reads a document whose scanned
            pages have a confidence of 70 or more in a sample, or a text layer (`IMAGE_SKIP`).
        force_ocr: read it in any case.
        sampled: OCR results for the pages of `pages_to_sample`; without them, no scanned page counts as legible.
    """
    rendering = is_rendering(file_name)
    ratio = survey.image_ratio
    over = ratio > threshold
    reason, skipped = "", False
    if force_ocr:
        reason = "forced" if over or rendering else ""
    elif rendering:
        skipped = all(page.characters < _LEAST_TEXT for page in survey.pages)
    elif over and survey.is_image_file:
        reason = "image_file"
    elif over:
        reason = "" if strict else _passes(survey, sampled or {})
        skipped = not reason
    pages = tuple(_page_verdict(page, (sampled or {}).get(page.number), skipped) for page in survey.pages)
    return ExtractionVerdict(
        skipped=skipped,
        reason="image_based" if skipped else reason,
        recognise=force_ocr or not rendering,
        rendering=rendering,
        image_ratio=round(ratio, 3),
        contains_drawings=any(page.drawing for page in pages),
        pages=pages,
    )


def _passes(survey: Survey, sampled: Mapping[int, RecognisedPage]) -> str:
    """Return why an image-based document passes, empty if it does not."""
    scans = [page for page in survey.pages if page.is_scan]
    if len(scans) * 2 <= len(survey.pages):
        return "text_layer"
    read = [page for page in sampled.values() if page.confidence > 0]
    if not read or sum(page.confidence for page in read) / len(sampled) < LOW_CONFIDENCE:
        return ""
    return "sample_reads"


def _page_verdict(page: PageEvidence, sampled: RecognisedPage | None, skipped: bool) -> PageVerdict:
    plate = sampled is not None and sampled.confidence < _PLATE
    if skipped:
        method, reason = "skipped", "image_based"
    elif page.characters >= _LEAST_TEXT and not page.is_scan:
        method, reason = "text_layer", ""
    else:
        method, reason = ("ocr", "") if page.images or page.paths else ("blank", "nothing on it")
    confidence = sampled.confidence if sampled is not None else None
    return PageVerdict(page.number, page.image_ratio, page.paths, method, confidence, page.is_drawing or plate, reason)


def after_reading(verdict: ExtractionVerdict, document: Document) -> ExtractionVerdict:
    """Update a verdict with the results of reading: methods, confidences, reasons, drawings."""
    read = {page.number: page for page in document.pages}
    pages: list[PageVerdict] = []
    for before in verdict.pages:
        page = read.get(before.number)
        if page is None:
            pages.append(before)
            continue
        confidence = page.confidence if isinstance(page, RecognisedPage) else None
        plate = confidence is not None and confidence < _PLATE
        pages.append(
            replace(
                before, method=page.method, confidence=confidence, drawing=before.drawing or plate, reason=page.note
            )
        )
    return replace(verdict, pages=tuple(pages), contains_drawings=any(page.drawing for page in pages))


def extraction_method(document: Document) -> str:
    """Summarise how a document's text was read: `text_layer`, `ocr`, or `mixed` (B-FR-005)."""
    methods = {page.method for page in document.pages if page.method in {"text_layer", "ocr"}}
    return "mixed" if len(methods) > 1 else next(iter(methods), "text_layer")
