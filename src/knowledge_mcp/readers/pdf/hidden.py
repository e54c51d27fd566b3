"""Finds text of a PDF page that its readers cannot see among the page's objects, and removes it from the page.

Text drawn without ink is hidden, except the words below the picture of a scanned page. So is text off the page and
outside its clip path. Text that is white, transparent or in a layer that is switched off is hidden if the rendered page
shows nothing at its place. In doubt, text stays.
"""

from __future__ import annotations

import contextlib
import ctypes
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from knowledge_mcp.model.document import HiddenReason
from knowledge_mcp.readers.pdf.flow.pictured import MOST_PICTURES, Picture
from knowledge_mcp.readers.pdf.geometry import (
    SAME,
    Matrix,
    PrintedPart,
    box_around,
    from_page,
    matrix_of,
    placed,
    raw,
    times,
)
from knowledge_mcp.readers.pdf.lines import Box, size_of
from knowledge_mcp.readers.pdf.scans import COVERED, graphics_of
from knowledge_mcp.readers.shared.layout import letters_of

if TYPE_CHECKING:
    from liteparse.types import ParsedPage, TextItem

_DEPTH = 8
_MOST_OBJECTS = 200_000
_MOST_SEGMENTS = 200
_PALE = 200
"""Minimum of red, green and blue from which ink may have the colour of paper: the rendered page then decides."""
_FAINT = 128
"""Opacity, out of 255, below which the rendered page decides."""
_SMALL = 1.5
"""Font size in points below which nobody can read a letter; the smallest print of real documents has four."""
_WITHOUT_INK = (3, 7)
"""Text rendering modes without ink: invisible, and only added to the clip path."""
_LEFT_TO_THE_PARSER = frozenset({HiddenReason.OFF_PAGE, HiddenReason.CLIPPED})
_DOUBTFUL = frozenset({HiddenReason.COLOUR, HiddenReason.TRANSPARENT, HiddenReason.NOT_DISPLAYED})


@dataclass(frozen=True, slots=True)
class HiddenText:
    """One run of hidden text.

    Attributes:
        reason: why it is hidden.
        text: its words.
        box: its place on the page, from the top left, in points.
        handle: the PDFium object, valid while the page is open.
        in_form: whether it is part of a form XObject of the page.
    """

    reason: HiddenReason
    text: str
    box: Box
    handle: Any
    in_form: bool


def hidden_text(page: Any, parsed: ParsedPage) -> tuple[list[HiddenText], bool, list[Picture]]:
    """List the hidden text of an open PDFium page; `parsed` is the same page as the parser returns it.

    Returns:
        The list, whether the page's words are below the picture of a scanned page (such words are not in the list), and
        the page's pictures.
    """
    is_layer = False
    search = _Search(page)
    suspects = [each for each in search.texts() if each.reason is not None]
    if any(each.reason is HiddenReason.INVISIBLE for each in suspects) and (
        graphics_of(page, parsed.page_num).image_ratio > COVERED
    ):  # words recognised earlier, below the picture of the page
        suspects, is_layer = [each for each in suspects if each.reason is not HiddenReason.INVISIBLE], True
    found = _judged(page, suspects) if suspects else []
    pictures = [Picture(_on_paper(page, box)) for box in search.pictures]
    return [each for each in found if _is_hidden(each, parsed)], is_layer, pictures


def _is_hidden(found: HiddenText, parsed: ParsedPage) -> bool:
    """Exclude text that only seems hidden: small fonts, and text that the parser finds on the page and in its clip."""
    inside = [item for item in parsed.text_items if _is_within(item, found.box)]
    if found.reason is HiddenReason.TOO_SMALL:  # a font may use another scale
        return any(size_of(item) < _SMALL for item in inside)
    return found.reason not in _LEFT_TO_THE_PARSER or not any(_are_words_of(item, found) for item in inside)


def is_parsed(found: HiddenText, parsed: ParsedPage) -> bool:
    """Return whether the parser may have read hidden text as text of the page; it omits some by itself."""
    if found.reason is HiddenReason.INVISIBLE:
        return any(_are_words_of(item, found) for item in parsed.text_items if _is_within(item, found.box))
    return found.reason not in _LEFT_TO_THE_PARSER


def take_out(page: Any, hidden: Sequence[HiddenText]) -> None:
    """Remove hidden text from an open PDFium page, except in its forms, which PDFium does not write again."""
    for each in hidden:
        if not each.in_form:
            raw().FPDFPage_RemoveObject(page.raw, each.handle)
    raw().FPDFPage_GenerateContent(page.raw)


def leave_out(parsed: ParsedPage, hidden: Sequence[HiddenText]) -> None:
    """Remove the words that are hidden in forms from a parsed page."""
    within = [each for each in hidden if each.in_form]
    parsed.text_items = [
        item
        for item in parsed.text_items
        if not any(_is_within(item, each.box) and _are_words_of(item, each) for each in within)
    ]


def _are_words_of(item: TextItem, hidden: HiddenText) -> bool:
    return letters_of(item.text) in letters_of(hidden.text)


def _is_within(item: TextItem, box: Box) -> bool:
    """Return whether an item is in a box, whose edges may be those of its ink."""
    x, y = item.x + item.width / 2, item.y + item.height / 2
    return box[0] - 1 <= x <= box[2] + 1 and box[1] - item.height / 2 <= y <= box[3] + item.height / 2


# ---- objects of a page ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _TextObject:
    """A text object: its box in page space, why it may be hidden, and its ink if that is the reason."""

    handle: Any
    box: Box
    reason: HiddenReason | None
    ink: tuple[int, ...] | None
    in_form: bool

    @property
    def needs_a_look(self) -> bool:
        """Return whether only the rendered page shows if it is hidden."""
        return self.reason in _DOUBTFUL


class _Search:
    """Walk through the objects of a page. There may be one per letter, so the buffers passed to PDFium are reused.

    Args:
        page: the PDFium page.
    """

    def __init__(self, page: Any) -> None:
        self._pdfium = raw()
        self._page = page
        self._paper = _paper(page)
        self._edges = [ctypes.c_float() for _ in range(4)]
        self._inks = [ctypes.c_uint() for _ in range(4)]
        self.pictures: list[Box] = []
        self._clips: dict[tuple[int, float, float], Box | None] = {}

    def texts(self) -> Iterator[_TextObject]:
        """Yield the text objects of the page, including nested ones; afterwards `pictures` has its pictures."""
        get, handle = self._pdfium.FPDFPage_GetObject, self._page.raw
        count = min(self._pdfium.FPDFPage_CountObjects(handle), _MOST_OBJECTS)
        return self._walk((get(handle, index) for index in range(count)), SAME, 0)

    def _walk(self, objects: Iterator[Any], outer: Matrix, depth: int) -> Iterator[_TextObject]:
        pdfium = self._pdfium
        text, nested, kind_of = pdfium.FPDF_PAGEOBJ_TEXT, pdfium.FPDF_PAGEOBJ_FORM, pdfium.FPDFPageObj_GetType
        picture = pdfium.FPDF_PAGEOBJ_IMAGE
        for one in objects:
            kind = kind_of(one)
            if kind == text:
                box = self._box(one, outer)
                reason = self._why(one, outer, box)
                ink = tuple(each.value for each in self._inks[:3]) if reason is HiddenReason.COLOUR else None
                yield _TextObject(one, box, reason, ink, depth > 0)
            elif kind == picture and len(self.pictures) <= MOST_PICTURES:
                self.pictures.append(self._box(one, outer))
            elif kind == nested and depth < _DEPTH:
                count = min(pdfium.FPDFFormObj_CountObjects(one), _MOST_OBJECTS)
                inside = (pdfium.FPDFFormObj_GetObject(one, index) for index in range(count))
                yield from self._walk(inside, times(matrix_of(one), outer), depth + 1)

    def _why(self, one: Any, outer: Matrix, box: Box) -> HiddenReason | None:
        pdfium = self._pdfium
        if pdfium.FPDFTextObj_GetTextRenderMode(one) in _WITHOUT_INK:
            return HiddenReason.INVISIBLE
        if _are_disjoint(box, self._paper):
            return HiddenReason.OFF_PAGE
        if (box[2] - box[0] < _SMALL or box[3] - box[1] < _SMALL) and self._size(one, outer) < _SMALL:
            return HiddenReason.TOO_SMALL
        red, green, blue, alpha = self._inks
        if pdfium.FPDFPageObj_GetFillColor(one, red, green, blue, alpha):
            if alpha.value < _FAINT:
                return HiddenReason.TRANSPARENT
            if red.value >= _PALE and green.value >= _PALE and blue.value >= _PALE:
                return HiddenReason.COLOUR
        if (marks := pdfium.FPDFPageObj_CountMarks(one)) and self._in_layer(one, marks):
            return HiddenReason.NOT_DISPLAYED
        clip = pdfium.FPDFPageObj_GetClipPath(one)
        if clip and (paths := pdfium.FPDFClipPath_CountPaths(clip)) > 0 and self._is_clipped(clip, paths, outer, box):
            return HiddenReason.CLIPPED
        return None

    def _box(self, one: Any, outer: Matrix) -> Box:
        left, bottom, right, top = self._edges
        if not self._pdfium.FPDFPageObj_GetBounds(one, left, bottom, right, top):
            return (0.0, 0.0, 0.0, 0.0)
        box = (left.value, bottom.value, right.value, top.value)
        return box if outer is SAME else box_around([placed(outer, x, y) for x in box[::2] for y in box[1::2]])

    def _size(self, one: Any, outer: Matrix) -> float:
        """Return the printed font size in points; fonts that are drawn by the file itself may use another scale."""
        size = self._edges[0]
        self._pdfium.FPDFTextObj_GetFontSize(one, size)
        a, b, c, d, _, _ = times(matrix_of(one), outer)
        return abs(size.value) * math.sqrt(abs(a * d - b * c))

    def _in_layer(self, one: Any, marks: int) -> bool:
        """Return whether an object belongs to a layer that can be switched off (optional content)."""
        pdfium = self._pdfium
        name, size = (ctypes.c_ushort * 4)(), ctypes.c_ulong()
        for index in range(marks):
            mark = pdfium.FPDFPageObj_GetMark(one, index)
            known = pdfium.FPDFPageObjMark_GetName(mark, name, ctypes.sizeof(name), size)
            if known and bytes(name)[:6] == b"O\0C\0\0\0":
                return True
        return False

    def _is_clipped(self, clip: Any, paths: int, outer: Matrix, box: Box) -> bool:
        """Return whether a clip path hides an object completely; the bounding box of the clip path is used."""
        return any(
            around is not None and _are_disjoint(box, around)
            for around in (self._clip(clip, path, outer) for path in range(paths))
        )

    def _clip(self, clip: Any, path: int, outer: Matrix) -> Box | None:
        """Measure one path of a clip; clips with equally many corners that begin at the same place count as one."""
        pdfium = self._pdfium
        x, y = self._edges[:2]
        count = min(pdfium.FPDFClipPath_CountPathSegments(clip, path), _MOST_SEGMENTS)
        if count <= 0:
            return None
        pdfium.FPDFPathSegment_GetPoint(pdfium.FPDFClipPath_GetPathSegment(clip, path, 0), x, y)
        known = (count, *placed(outer, x.value, y.value))
        if known not in self._clips:
            segments = (pdfium.FPDFClipPath_GetPathSegment(clip, path, index) for index in range(count))
            points = [
                placed(outer, x.value, y.value)
                for segment in segments
                if pdfium.FPDFPathSegment_GetPoint(segment, x, y)
            ]
            self._clips[known] = box_around(points) if points else None
        return self._clips[known]


def _are_disjoint(one: Box, other: Box) -> bool:
    return one[2] <= other[0] or one[0] >= other[2] or one[3] <= other[1] or one[1] >= other[3]


def _paper(page: Any) -> Box:
    """Return the visible part of a page, in page space, regardless of its rotation."""
    crop, media = page.get_cropbox(), page.get_mediabox()
    return max(crop[0], media[0]), max(crop[1], media[1]), min(crop[2], media[2]), min(crop[3], media[3])


# ---- the rendered page ----------------------------------------------------------------------------------------------


def _judged(page: Any, suspects: Sequence[_TextObject]) -> list[HiddenText]:
    """Look at the rendered page where necessary, and read the words that are hidden."""
    boxes = [_on_paper(page, each.box) for each in suspects]
    doubtful = [box for each, box in zip(suspects, boxes, strict=True) if each.needs_a_look]
    picture = PrintedPart(page, doubtful) if doubtful else None
    found: list[HiddenText] = []
    with contextlib.closing(page.get_textpage()) as text:
        for each, box in zip(suspects, boxes, strict=True):
            if each.reason is None or (picture is not None and each.needs_a_look and picture.shows(box, each.ink)):
                continue
            words = _words(each.handle, text)
            if words.strip():
                found.append(HiddenText(each.reason, words, box, each.handle, each.in_form))
    return found


def _on_paper(page: Any, box: Box) -> Box:
    """Convert a box in page space to points from the top left of the page as shown."""
    size = page.get_size()
    corners = [from_page(page, size, x, y) for x in box[::2] for y in box[1::2]]
    return box_around(corners)


def _words(one: Any, text: Any) -> str:
    pdfium = raw()
    length = pdfium.FPDFTextObj_GetText(one, text, None, 0)
    buffer = (ctypes.c_ushort * max(length, 1))()
    written = pdfium.FPDFTextObj_GetText(one, text, buffer, length)
    return bytes(buffer)[: max(written - 1, 0) * 2].decode("utf-16-le", errors="ignore").rstrip("\0")
