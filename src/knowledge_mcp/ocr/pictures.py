"""What a page's picture shows in addition to its words, and cleaned pictures for OCR; runs in a sandboxed child.

Each function is a job: it opens the picture at a path and yields one value. Pillow and NumPy are imported in the
functions.
"""

from __future__ import annotations

import importlib
import io
import statistics
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from knowledge_mcp.ocr.bullets import print_in
from knowledge_mcp.ocr.remains import pieces_of, sheet_of
from knowledge_mcp.ocr.rules import Box, flattened, ink_of, mark_runs, print_of, rules_of

if TYPE_CHECKING:
    from PIL.Image import Image

_SMALL = 900
_REACH = 15.0
_WHITE = 255


def look(path: str) -> Iterator[dict[str, float]]:
    """Yield an image's share of ink (0..1), its share of specks, and the angle in degrees that straightens it.

    Specks are pixels that differ from those around them. The angle is clockwise, within 15 degrees of the nearest
    quarter turn; 0 if it cannot be determined.
    """
    import numpy as np
    from PIL import ImageChops, ImageFilter

    with _open(path) as image:
        small = image.copy()
        alone = ImageChops.difference(image, image.filter(ImageFilter.MedianFilter(3))).histogram()
    small.thumbnail((_SMALL, _SMALL))
    shades = np.asarray(small, dtype=np.float32)
    paper = float(np.median(shades))
    ink = np.clip(np.abs(shades - paper) - 48, 0, None) > 0
    share = float(ink.mean())
    yield {"ink": share, "specks": sum(alone[48:]) / sum(alone), "skew": _skew(ink) if 0.0005 < share < 0.6 else 0.0}


def _skew(ink: Any) -> float:
    """Find the angle at which rows (or columns) of ink are separated most sharply, first coarse, then fine."""
    np: Any = importlib.import_module("numpy")  # values here have no useful types
    ys, xs = np.nonzero(ink)
    if len(xs) > 60_000:
        step = len(xs) // 60_000 + 1
        xs, ys = xs[::step], ys[::step]
    size = 3 * max(ink.shape)

    def sharpness(angle: float) -> float:
        slope = np.tan(np.radians(angle))
        rows = np.bincount(np.round(ys - xs * slope).astype(np.int64) + size, minlength=3 * size)
        columns = np.bincount(np.round(xs + ys * slope).astype(np.int64) + size, minlength=3 * size)
        return float(max((np.diff(rows) ** 2).sum(), (np.diff(columns) ** 2).sum()))

    coarse = max(np.arange(-_REACH, _REACH + 0.5, 0.5), key=sharpness)
    best = float(max(np.arange(coarse - 0.5, coarse + 0.55, 0.1), key=sharpness))
    # lines fall to the right by `best` degrees; a page without lines is about equally sharp at every angle
    return -best if sharpness(best) > 1.15 * sharpness(0.0) else 0.0


_REDUCED = 3
"""Factor by which a page is reduced before looking for unread print: letters of 8 points keep 10 pixels."""
_INKED = 64
"""Minimum difference of ink from paper, of 255: what is fainter is shading or shows through."""
_PRINT = 0.08, 0.7
"""Share of ink in a letter-high square that is print: more than a stroke of dirt, less than a black area."""
_RUN = 3
"""Minimum squares side by side of a word instead of a speck, and minimum strokes in a line of a rule."""


def measure(
    path: str, *, boxes: Sequence[Sequence[int]], before: Sequence[Sequence[int]], height: float
) -> Iterator[dict[str, Any]]:
    """Yield measurements of a page with the boxes of its words, boxes before its lines, and the height of its words.

    `rules` has the ends of each rule, `print` the result of `print_of` for each word, `before` that of `print_in` for
    each box before a line, `unread` the share 0..1 of print that is in no word's box.
    """
    with _open(path) as image:
        yield {
            "rules": rules_of(image, boxes),
            "print": print_of(image, boxes),
            "before": list(print_in(image, before, height)),
            "unread": _unread(image, boxes),
        }


def _unread(image: Image, boxes: Sequence[Sequence[int]]) -> float:
    """Return the share 0..1 of a page's print that is in no word's box: stamps, handwriting, pictures, lost words.

    Rules are not print. Print is counted in squares as high as the words, also on shaded ground.
    """
    ink = ink_of(image.reduce(_REDUCED), _INKED)
    size = max(round(statistics.median(bottom - top for _, top, _, bottom in boxes) / _REDUCED) if boxes else 10, 6)
    ink &= ~(_strokes(ink, _RUN * size) | _strokes(ink.T, _RUN * size).T)
    squares = _squares(ink, size)
    for left, top, right, bottom in ([edge // _REDUCED for edge in box] for box in boxes):
        ink[max(top - size // 3, 0) : bottom + size // 3, max(left - size // 3, 0) : right + size // 3] = False
    remaining, printed = int(_squares(ink, size).sum()), int(squares.sum())
    return min(remaining / printed, 1.0) if printed else 0.0


def _strokes(ink: Any, length: int) -> Any:
    """Mark runs of ink along rows of a given length, with the pixels above and below them."""
    marked = mark_runs(ink, length, 0.95)  # a scanner leaves gaps in rules
    marked[1:] |= marked[:-1].copy()
    marked[:-1] |= marked[1:].copy()
    return marked


def _squares(ink: Any, size: int) -> Any:
    """Mark the squares that contain print, if several are side by side."""
    np: Any = importlib.import_module("numpy")
    rows, columns = ink.shape[0] // size, ink.shape[1] // size
    shares = ink[: rows * size, : columns * size].reshape(rows, size, columns, size).mean(axis=(1, 3))
    full = np.pad((shares > _PRINT[0]) & (shares < _PRINT[1]), ((0, 0), (_RUN - 1, _RUN - 1)))
    runs = full[:, :-2] & full[:, 1:-1] & full[:, 2:]
    return runs[:, :-2] | runs[:, 1:-1] | runs[:, 2:]


def gather(
    path: str, *, rules: Sequence[Box], read: Sequence[Box], doubtful: Sequence[Box], between: Box, height: int
) -> Iterator[list[tuple[Any, ...]] | bytes]:
    """Yield the remaining pieces of print (see `remains.LeftPiece`), and a sheet of them as PNG if there are any.

    Args:
        rules: their ends.
        read: boxes of words that were read.
        doubtful: boxes of words that are to be read again.
        between: the word to place between two pieces.
        height: of the page's words.
    """
    from PIL import ImageDraw

    with _open(path) as image:
        flat = flattened(image, rules)
        dpi = image.info.get("dpi", (300, 300))
    left, top, right, bottom = between
    word = flat.crop((left, top, right, bottom))
    paint = ImageDraw.Draw(flat)
    for box in read:
        paint.rectangle(tuple(box), fill=255)
    pieces = pieces_of(flat, rules, height, word.width, doubtful)
    yield [(piece.box, piece.left, piece.line) for piece in pieces]
    if pieces:
        yield _printed(sheet_of(flat, word, pieces, height), dpi)


def flatten(path: str, *, rules: Sequence[Box]) -> Iterator[bytes]:
    """Yield the image as PNG with dark print on white paper everywhere, without rules.

    Shaded areas are lightened, and dark areas with light print inverted: Tesseract takes both for pictures, and rules
    that touch letters for letters.
    """
    with _open(path) as image:
        dpi = image.info.get("dpi", (300, 300))
        flat = flattened(image, rules)
    yield _printed(flat, dpi)


def clean(path: str) -> Iterator[bytes]:
    """Yield the image as PNG, filtered by the median of 3 × 3 pixels: removes specks and grain."""
    from PIL import ImageFilter

    with _open(path) as image:
        yield _printed(image.filter(ImageFilter.MedianFilter(3)), image.info.get("dpi", (300, 300)))


def turn(path: str, *, degrees: float) -> Iterator[bytes]:
    """Yield the image as PNG, turned clockwise by `degrees` on white paper that fits all of it."""
    from PIL import Image

    with _open(path) as image:
        dpi = image.info.get("dpi", (300, 300))
        quarter = degrees / 90
        if quarter == int(quarter):
            result = _turn_quarters(image, int(quarter) % 4)
        else:
            result = image.rotate(-degrees, Image.Resampling.BICUBIC, expand=True, fillcolor=_WHITE)
    yield _printed(result, dpi)


def _printed(image: Image, dpi: tuple[float, float]) -> bytes:
    printed = io.BytesIO()
    image.save(printed, "PNG", compress_level=1, dpi=dpi)
    return printed.getvalue()


def _turn_quarters(image: Image, turns: int) -> Image:
    from PIL.Image import Transpose

    # Pillow turns counter-clockwise
    ways = {1: Transpose.ROTATE_270, 2: Transpose.ROTATE_180, 3: Transpose.ROTATE_90}
    return image.transpose(ways[turns]) if turns else image.copy()


def _open(path: str) -> Image:
    from PIL import Image

    Image.MAX_IMAGE_PIXELS = None  # the caller has checked the header's size
    image = Image.open(path, formats=["PNG"])
    return image if image.mode == "L" else image.convert("L")
