"""Decides which pages of a PDF need text recognition, and what of each page counts after it.

A page needs it if it shows something but has no text, if its text is a stamp, a watermark or a header over a scan, or
if its text is not what is printed, because the file maps its glyphs to wrong characters or to none.
"""

from __future__ import annotations

import contextlib
import ctypes
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from knowledge_mcp.language.multilingual.recognition import language_of
from knowledge_mcp.readers.pdf.geometry import SAME, Matrix, matrix_of, placed, raw, reopened, times
from knowledge_mcp.readers.pdf.recognised.layout import load_recognised
from knowledge_mcp.readers.shared.layout import Line, PageLayout, letters_of

_DEPTH = 8
_MOST_OBJECTS = 200_000
_GRID = 1200.0
_UPRIGHT = 0.02
_EXAMINED = 4000


@dataclass(slots=True)
class PageGraphics:
    """What is on one page in addition to its text.

    Attributes:
        number: physical page from 1.
        image_ratio: area of pictures divided by the area of the page, 0..1.
        images: number of pictures.
        paths: number of vector paths, including ruling lines and frames of tables.
        slanted: number of examined paths (the first 4,000) with curves or lines that are not vertical or horizontal.
    """

    number: int
    image_ratio: float = 0.0
    images: int = 0
    paths: int = 0
    slanted: int = 0
    quads: list[Sequence[tuple[float, float]]] = field(default_factory=list[Sequence[tuple[float, float]]])


def marks_of(path: str, numbers: Iterable[int]) -> Iterator[PageGraphics]:
    """Yield the graphics of pages."""
    for document, some in reopened(path, numbers):
        for number in some:
            with contextlib.closing(document[number - 1]) as page:
                yield graphics_of(page, number)


def graphics_of(page: Any, number: int) -> PageGraphics:
    """Count what is on an open page in addition to its text."""
    pdfium = raw()
    marks = PageGraphics(number)
    count = pdfium.FPDFPage_CountObjects(page)
    found = (pdfium.FPDFPage_GetObject(page, index) for index in range(min(count, _MOST_OBJECTS)))
    _walk(found, SAME, marks, 0)
    if marks.quads:
        marks.image_ratio = _covered(page.get_bbox(), marks.quads)
    return marks


def _walk(objects: Iterable[Any], outer: Matrix, marks: PageGraphics, depth: int) -> None:
    pdfium = raw()
    for one in objects:
        kind = pdfium.FPDFPageObj_GetType(one)
        if kind == pdfium.FPDF_PAGEOBJ_IMAGE:
            marks.images += 1
            within = times(matrix_of(one), outer)
            marks.quads.append([placed(within, x, y) for x, y in ((0, 0), (1, 0), (1, 1), (0, 1))])
        elif kind == pdfium.FPDF_PAGEOBJ_PATH:
            marks.paths += 1
            if marks.paths <= _EXAMINED and _is_slanted(one):
                marks.slanted += 1
        elif kind == pdfium.FPDF_PAGEOBJ_FORM and depth < _DEPTH:
            count = pdfium.FPDFFormObj_CountObjects(one)
            inside = (pdfium.FPDFFormObj_GetObject(one, index) for index in range(min(count, _MOST_OBJECTS)))
            _walk(inside, times(matrix_of(one), outer), marks, depth + 1)


def _is_slanted(path: Any) -> bool:
    """Return whether a path has a curve, or a line neither vertical nor horizontal: rules, frames and cells do not."""
    pdfium = raw()
    x, y = ctypes.c_float(), ctypes.c_float()
    before: tuple[float, float] | None = None
    for index in range(min(pdfium.FPDFPath_CountSegments(path), 12)):
        segment = pdfium.FPDFPath_GetPathSegment(path, index)
        kind = pdfium.FPDFPathSegment_GetType(segment)
        if kind == pdfium.FPDF_SEGMENT_BEZIERTO:
            return True
        pdfium.FPDFPathSegment_GetPoint(segment, x, y)
        here = (x.value, y.value)
        if kind == pdfium.FPDF_SEGMENT_LINETO and before is not None:
            across, along = abs(here[0] - before[0]), abs(here[1] - before[1])
            if min(across, along) > max(0.5, _UPRIGHT * max(across, along)):
                return True
        before = here
    return False


# ---- geometry -------------------------------------------------------------------------------------------------------


def _covered(box: tuple[float, float, float, float], quads: Sequence[Sequence[tuple[float, float]]]) -> float:
    """Return the share of a box that the quadrilaterals cover, by painting them on a raster."""
    from PIL import Image, ImageDraw

    left, bottom, right, top = box
    across, along = max(right - left, 1e-6), max(top - bottom, 1e-6)
    scale = _GRID / max(across, along)
    size = (max(round(across * scale), 1), max(round(along * scale), 1))
    grid = Image.new("L", size)
    paint = ImageDraw.Draw(grid)
    for quad in quads:
        corners = [_clipped((x - left) * size[0] / across, (y - bottom) * size[1] / along) for x, y in quad]
        paint.polygon(corners, fill=1)
    return grid.histogram()[1] / (size[0] * size[1])


def _clipped(x: float, y: float) -> tuple[float, float]:
    """Limit a corner to coordinates that the painter can handle."""
    return min(max(x, -1e6), 1e6), min(max(y, -1e6), 1e6)


NO_TEXT, STAMP, GARBLED, FORCED = "no text layer", "a stamp over a scan", "unreadable text layer", "asked for"

_NO_TEXT = 10
"""Number of characters below which a page has no text (B-FR-005)."""
_STAMP = 400
"""Number of letters below which the text of a page covered by a picture may be a stamp."""
COVERED = 0.5
"""Share of a page above which pictures make it a scanned page."""
_ADDS = 1.3
_NO_SCRIPT = re.compile("[\x00-\x08\x0e-\x1f\x80-\x9f\ue000-\uf8ff\ufffd]")
_LATIN_WORDS = re.compile(r"(?<![\w/.-])[A-Za-z]{3,}(?![\w/.-])")
_TOKENS = re.compile(r"[^\W_]{3,}")
_PLAIN = re.compile(r"(?<![^\s(\"“'])[^\W\d_]{3,}(?![^\s.,;:!?)\"”'-])")
_VOWELS = "aeiouyAEIOUY"
_FEW_VOWELS = 0.24
_ENOUGH = 120
_MANY_UNKNOWN = 0.15
_SURE = 60.0


def pages_to_recognise(path: str, pages: Sequence[PageLayout], *, force: bool) -> dict[int, str]:
    """Return the pages that need text recognition, by number, each with the reason.

    For pages with text, only their characters are examined; the file is opened for the others.
    """
    if force:
        return {page.number: FORCED for page in pages}
    texts = {page.number: _text(page) for page in pages}
    found = {number: GARBLED for number, text in texts.items() if is_garbled(text)}
    few = [number for number, text in texts.items() if number not in found and _is_short(text)]
    doubtful = {number for number, text in texts.items() if number not in found and _is_doubtful(text)}
    for marks in marks_of(path, sorted({*few, *doubtful})):
        if len("".join(texts[marks.number].split())) < _NO_TEXT:
            if marks.images or marks.paths:
                found[marks.number] = NO_TEXT
        elif marks.image_ratio > COVERED:
            found[marks.number] = GARBLED if marks.number in doubtful else STAMP
    return dict(sorted(found.items()))


_WORDY = 0.5
"""Minimum share of a text's characters in plain words: 0.67 and more on 1,000 pages of prose."""


def _is_doubtful(text: str) -> bool:
    """Return whether a text layer over a picture may be noise: half of it is not words, or words of no language."""
    signs = len(text) - text.count(" ") - text.count("\n")
    if signs <= 4 * _ENOUGH:
        return False
    return sum(map(len, _PLAIN.findall(text))) < _WORDY * signs or not language_of(text)


def _is_short(text: str) -> bool:
    return len(text) < 4 * _STAMP and len(letters_of(text)) < _STAMP


def is_garbled(text: str) -> bool:
    """Return whether a text layer differs from what is printed: characters of no script, or Latin words without vowels.

    On 1,685 pages of standards, guides and reports the vowels (including y) were at least 0.30 of the letters in words
    of three letters or more, on schematics 0.23; a font whose codes are taken as characters gives about 0.15.
    """
    unknown = 0 if text.isascii() else len(_NO_SCRIPT.findall(text))
    if unknown >= _NO_TEXT and unknown > _MANY_UNKNOWN * len("".join(text.split())):
        return True
    if sum(map(text.count, _VOWELS)) >= _FEW_VOWELS * len(text):
        return False  # as in nearly all prose, and faster than searching for words
    letters = "".join(_LATIN_WORDS.findall(text))
    return len(letters) >= _ENOUGH and sum(map(letters.count, _VOWELS)) < _FEW_VOWELS * len(letters)


def take_recognised(pages: Sequence[PageLayout], path: str) -> set[int]:
    """Replace the lines of pages by recognised ones where these say more; return the pages where they do.

    Lines of a text layer that recognition did not see (such as a stamp on a dark background) are kept.
    """
    recognised = load_recognised(path)
    taken: set[int] = set()
    for page in pages:
        found = recognised.get(page.number)
        if found is None or not _says_more(page, found.layout, found.reason, found.confidence):
            continue
        kept = [] if found.reason == GARBLED else list(_unseen(page, found.layout))
        above = [line for line in kept if line.y0 < page.height / 2]
        page.elements = [*above, *found.layout.elements, *(line for line in kept if line not in above)]
        page.width, page.height = found.layout.width, found.layout.height
        taken.add(page.number)
    return taken


def without_copies(pages: Sequence[PageLayout], taken: Collection[int]) -> list[PageLayout]:
    """Omit recognised pages that repeat an earlier one: their lines are not headers only because they occur twice.

    A page is a copy if six in ten of its lines, and at least eight, are also on one earlier page.
    """
    originals: list[PageLayout] = []
    holders: defaultdict[str, set[int]] = defaultdict(set)
    for page in pages:
        keys = {letters_of(line.text) for line in page.all_lines}
        shared = Counter(number for key in keys for number in holders[key])
        alike = max(shared.values(), default=0)
        if page.number in taken and alike >= max(8, 0.6 * len(keys)):
            continue
        originals.append(page)
        for key in keys if page.number in taken else ():
            holders[key].add(page.number)
    return originals


def _says_more(page: PageLayout, found: PageLayout, reason: str, confidence: float) -> bool:
    own, read = len(letters_of(_text(page))), len(letters_of(_text(found)))
    if reason == NO_TEXT or not own:
        return True
    if reason == FORCED:
        return read > 0
    if reason == GARBLED:
        return confidence >= _SURE and read > 0.3 * own and not _agree(page, found)
    return read > _ADDS * own


def _agree(page: PageLayout, found: PageLayout) -> bool:
    """Return whether many of the recognised words are also in the text layer, which is then what is printed."""
    words = set(_TOKENS.findall(_text(found)))
    return len(words & set(_TOKENS.findall(_text(page)))) > 0.2 * len(words)


def _unseen(page: PageLayout, found: PageLayout) -> Collection[Line]:
    seen = letters_of(_text(found))
    return [line for line in page.all_lines if not line.rotated and letters_of(line.text) not in seen]


def _text(page: PageLayout) -> str:
    return "\n".join(line.text for line in page.all_lines)
