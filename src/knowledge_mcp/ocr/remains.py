"""Print that is left on a page after its words and rules are painted over, arranged as lines of text for OCR.

Tesseract finds text by its lines: a single digit in a cell is not a line, and is silently skipped. Placed in a line,
with a word of the page between each two pieces, it is read.
"""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from knowledge_mcp.model.extraction import OcrWord
from knowledge_mcp.ocr.rules import Box, groups_of

if TYPE_CHECKING:
    from PIL.Image import Image

_REDUCED = 3
"""Factor by which a page is reduced before pieces are looked for: digits of 8 points keep 7 pixels."""
_DARK = 150
"""Maximum brightness of ink, of 255, on a flattened (white) page."""
_APART, _BELOW = 0.2, 0.1
"""Half of the maximum gap inside a piece, across and along, as shares of the height of words: spaces are wider, and so
is what is between a "g" and the "h" below it, while dots are nearer to their "i".
"""
_HEIGHTS, _WIDEST = (0.4, 2.2), 40.0
"""Minimum and maximum height and maximum width of a piece, in heights of the page's words: no specks, no pictures."""
_SHARES = 0.08, 0.8
"""Minimum and maximum share of ink in a piece's box."""
_CLEAR = 5
"""Minimum distance in pixels of a piece from a rule: remains of a rule look like "1"."""
_MOST = 600
"""A page with more pieces than this is a drawing or grain."""
_ACROSS = 2200
"""Width of the sheet in pixels."""
_GAP, _STEP = 0.6, 2.6
"""Gap between two pieces of a line (a wide space), and line height, in heights of the page's words."""


@dataclass(frozen=True, slots=True)
class LeftPiece:
    """Print on the page, in pixels, and its position on the sheet."""

    box: Box
    left: int
    line: int


def pieces_of(
    flat: Image, rules: Sequence[Box], height: int, between: int, doubtful: Sequence[Box] = ()
) -> list[LeftPiece]:
    """Find print as high as words on a flattened page, from the top, and place each piece on a sheet.

    Args:
        flat: the page, dark on white, without rules and words.
        rules: where rules were: what touches one is part of it.
        height: of the page's words, in pixels.
        between: width of the word between two pieces.
        doubtful: boxes of words that are read again; what is in one is one piece: "4.2.1" has wide gaps.
    """
    np: Any = importlib.import_module("numpy")
    near, below = (max(round(share * height / _REDUCED), 1) for share in (_APART, _BELOW))
    ink = np.asarray(flat.reduce(_REDUCED)) < _DARK
    joined = _spread(_spread(ink, near).T, below).T
    found: list[Box] = []
    ruled = _ruled(rules)
    for group in groups_of(joined, _MOST * height):
        left, right = min(start for _, start, _ in group) + near, max(end for *_, end in group) - near
        top, bottom = group[0][0] + below, group[-1][0] + 1 - below
        share = float(ink[top:bottom, left:right].mean()) if bottom > top and right > left else 0.0
        box = (_REDUCED * left, _REDUCED * top, _REDUCED * right, _REDUCED * bottom)
        if _SHARES[0] < share < _SHARES[1] and _is_print(box, height) and not _touches(box, ruled):
            found.append(box)
    return _set(_united(found, doubtful), height, between) if len(found) <= _MOST else []


def _spread(ink: Any, reach: int) -> Any:
    """Mark what is up to `reach` pixels left or right of ink."""
    wide = ink.copy()
    for step in range(1, reach + 1):
        wide[:, step:] |= ink[:, :-step]
        wide[:, :-step] |= ink[:, step:]
    return wide


def _united(boxes: Sequence[Box], words: Sequence[Box]) -> list[Box]:
    """Unite the boxes whose centres are in the box of one word."""
    homes: dict[Box | int, list[Box]] = {}
    for box in boxes:
        across, along = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
        own = (at for at, word in enumerate(words) if word[0] <= across <= word[2] and word[1] <= along <= word[3])
        homes.setdefault(next(own, box), []).append(box)
    edges = (tuple(zip(*home, strict=True)) for home in homes.values())
    return [(min(left), min(top), max(right), max(bottom)) for left, top, right, bottom in edges]


def _is_print(box: Box, height: int) -> bool:
    high, wide = box[3] - box[1], box[2] - box[0]
    return _HEIGHTS[0] * height < high < _HEIGHTS[1] * height and wide < _WIDEST * height


def _ruled(rules: Sequence[Box]) -> Any:
    """Return the edges of all rules, one row each, and whether they are horizontal."""
    np: Any = importlib.import_module("numpy")
    across, along = (np.array([rule[side::2] for rule in rules]).reshape(-1, 2) for side in (0, 1))
    left, top, right, bottom = across.min(axis=1), along.min(axis=1), across.max(axis=1), along.max(axis=1)
    return left, top, right, bottom, right - left > bottom - top


def _touches(box: Box, ruled: Any) -> bool:
    """Return whether a piece is what remains of a rule: it touches one, and is no word with an underline."""
    left, top, right, bottom, is_flat = ruled
    touched = (
        (box[0] < right + _CLEAR) & (box[2] > left - _CLEAR) & (box[1] < bottom + _CLEAR) & (box[3] > top - _CLEAR)
    )
    is_word = box[2] - box[0] > box[3] - box[1]
    underlines = is_flat & (top > (box[1] + box[3]) / 2)
    return bool((touched & ~underlines).any() if is_word else touched.any())


def _set(boxes: Sequence[Box], height: int, between: int) -> list[LeftPiece]:
    """Arrange boxes in lines, with room for a word before each."""
    pieces: list[LeftPiece] = []
    gap = round(_GAP * height)
    x, line = height, 0
    for box in sorted(boxes, key=lambda box: (round((box[1] + box[3]) / 2 / height), box[0])):
        wide = box[2] - box[0]
        if x + between + wide > _ACROSS and x > height:
            x, line = height, line + 1
        x += between + gap
        pieces.append(LeftPiece(box, x, line))
        x += wide + gap
    return pieces


def sheet_of(flat: Image, word: Image, pieces: Sequence[LeftPiece], height: int) -> Image:
    """Draw pieces of a flattened page in lines on a white sheet, aligned at the bottom and with a word before each."""
    from PIL import Image as Pillow

    gap = round(_GAP * height)
    width = max(piece.left + piece.box[2] - piece.box[0] for piece in pieces) + gap + word.width + height
    sheet = Pillow.new("L", (width, round((pieces[-1].line + 2) * _STEP * height)), 255)
    for piece, after in itertools.zip_longest(pieces, pieces[1:]):
        left, top, right, bottom = piece.box
        foot = _foot(piece, height)
        sheet.paste(flat.crop((left - 2, top - 2, right + 2, bottom + 2)), (piece.left - 2, foot - (bottom - top) - 2))
        sheet.paste(word, (piece.left - gap - word.width, foot - word.height))
        if after is None or after.line != piece.line:
            sheet.paste(word, (piece.left + right - left + gap, foot - word.height))
    return sheet


def _foot(piece: LeftPiece, height: int) -> int:
    return round((piece.line + 1) * _STEP * height)


def words_of_pieces(words: Sequence[OcrWord], pieces: Sequence[LeftPiece], height: int) -> tuple[OcrWord, ...]:
    """Convert what was read on the sheet to words of the page; pieces that were not read give none."""
    found: list[OcrWord] = []
    room = _GAP * height / 2
    for number, piece in enumerate(pieces):
        wide, foot = piece.box[2] - piece.box[0], _foot(piece, height)
        own = [
            word
            for word in words
            if piece.left - room < (word.box[0] + word.box[2]) / 2 < piece.left + wide + room
            and abs(foot - height / 2 - (word.box[1] + word.box[3]) / 2) < height
        ]
        _, top, _, bottom = piece.box
        for word in sorted(own, key=lambda word: word.box[0]):
            left, right = (piece.box[0] + edge - piece.left for edge in word.box[::2])
            if any(map(str.isalnum, word.text)):
                found.append(OcrWord(word.text, word.confidence, (left, top, right, bottom), number))
    return tuple(_in_lines(found, height))


def _in_lines(words: Sequence[OcrWord], height: int) -> list[OcrWord]:
    """Give words that are close together in a row the same line number."""
    numbered: list[OcrWord] = list(words[:1])
    for before, word in itertools.pairwise(words):
        level = abs(before.box[3] + before.box[1] - word.box[3] - word.box[1]) < height
        near = level and 0 <= word.box[0] - before.box[2] < _STEP * height
        numbered.append(replace(word, line=numbered[-1].line if near else word.line))
    return numbered
