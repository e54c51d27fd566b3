"""What a look at a document's pages shows before they are read, and the verdict whether reading them is worth it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import PurePath

from knowledge_mcp.model.document import Document, Page

DOUBTFUL = 60.0
"""Words below this confidence are counted as doubtful."""
LOW_CONFIDENCE = 70.0
"""Pages below this mean confidence are logged and reported (B-NFR-001)."""


NOT_READ = "of its print was not read"


def is_unsure(note: str) -> bool:
    """Tell whether the note of a page says that words or digits are doubtful, or that not all of it was read."""
    return "doubtful" in note or NOT_READ in note


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
        stroke: how wide its strokes are on average, in pixels; 0 where that was not measured.
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
        text: the words, line by line, a blank line between blocks.
        confidence: mean confidence 0..100 of all that was read, strokes that were left out among it; 0 without words.
        rotation: degrees clockwise by which the image was turned to stand upright: 0, 90, 180 or 270.
        skew: degrees clockwise by which it was turned beyond that to lie straight.
        width, height: pixels of the upright page.
        unread: share 0..1 of its print that is in no word: stamps, writing, pictures, words too poor to read.
        rules: left, top, right, bottom of the ends of each level or upright rule, in pixels of the upright page.
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


_DRAWING = 250
"""Curved and slanting paths from which on a page is a drawing: tables and frames have none, charts some dozens."""
_TEXT = 200
"""Characters from which on a page over which a picture lies has a text of its own."""
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
        image_ratio: area of pictures over area of the page, 0..1 (B-FR-005).
        images: pictures on it.
        paths: vector paths on it.
        slanted: those of them that are curved or slanting, as only drawings have many.
        characters: of its text layer, blanks not counted.
    """

    number: int
    image_ratio: float = 0.0
    images: int = 0
    paths: int = 0
    slanted: int = 0
    characters: int = 0

    @property
    def is_drawing(self) -> bool:
        """Tell whether it is a vector drawing."""
        return self.slanted >= _DRAWING

    @property
    def is_scan(self) -> bool:
        """Tell whether pictures cover it and its text layer is none, or no more than a stamp."""
        return self.image_ratio > _COVERED and self.characters < _TEXT


@dataclass(frozen=True, slots=True)
class Survey:
    """What all pages of a document show; `is_image_file` where the file is itself a picture, and always to be read."""

    pages: tuple[PageEvidence, ...]
    is_image_file: bool = False

    @property
    def image_ratio(self) -> float:
        """Average the pages' image ratios (B-FR-005); 0 without pages."""
        return sum(page.image_ratio for page in self.pages) / max(len(self.pages), 1)


@dataclass(frozen=True, slots=True)
class PageVerdict:
    """What became of one page, or is to become of it.

    Attributes:
        number, image_ratio, paths: as in `PageEvidence`.
        method: `text_layer`, `ocr`, `blank` or `none`; `skipped` where the document is.
        confidence: of its recognition 0..100, None where there was none.
        drawing: whether it is a drawing: vector strokes, or a picture with few legible words.
        reason: why it is empty, doubtful or skipped, else empty.
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
        skipped: it is not to be ingested; `reason` is then `image_based`.
        reason: `image_based`, or what let a document over the threshold pass: `sample_reads`, `text_layer`, `forced`,
            `image_file`; else empty.
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
        """Count the pages."""
        return len(self.pages)


def is_rendering(file_name: str) -> bool:
    """Tell whether a file's name is that of an architectural rendering (B-FR-005), which has no text worth reading."""
    plain = re.sub(r"[\s_.\-]+", " ", PurePath(file_name).stem).replace("\u2019", "'").lower()
    return _RENDERING.search(plain) is not None


def pages_to_sample(survey: Survey) -> tuple[int, ...]:
    """Choose scanned pages spread over the document, by which to judge it: first, last, and between."""
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
        file_name: decides about renderings.
        threshold: average image ratio above which a document is image-based (`IMAGE_RATIO_THRESHOLD`).
        strict: True skips every image-based document, as the specification says; False reads one whose scanned pages
            read with a confidence of 70 or more in a sample, or have a text layer (`IMAGE_SKIP`).
        force_ocr: the caller wants it read whatever it looks like.
        sampled: what OCR thought of the pages of `pages_to_sample`; without it nothing scanned is known to read well.
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
    """Say what lets an image-based document pass, empty where nothing does."""
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
    """Bring a verdict up to date with what reading gave: methods, confidences, reasons, drawings."""
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
    """Sum up how a document's text was got: `text_layer`, `ocr`, or `mixed` (B-FR-005)."""
    methods = {page.method for page in document.pages if page.method in {"text_layer", "ocr"}}
    return "mixed" if len(methods) > 1 else next(iter(methods), "text_layer")
