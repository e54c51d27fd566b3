"""What runs in the sandbox's child: a page image looked at and turned, with Pillow and numpy."""

from __future__ import annotations

import importlib
import io
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from PIL.Image import Image

__all__ = ["look", "turned"]

_SMALL = 900
_REACH = 15.0
_BLACK, _WHITE = 0, 255


def look(path: str) -> Iterator[dict[str, float]]:
    """Yield how much of an image is ink (0..1) and by how many degrees clockwise it must be turned to lie straight.

    The angle lies within 15 degrees either way of the nearest quarter turn; 0 where nothing tells one.
    """
    import numpy as np

    with _opened(path) as image:
        small = image.copy()
    small.thumbnail((_SMALL, _SMALL))
    shades = np.asarray(small, dtype=np.float32)
    paper = float(np.median(shades))
    ink = np.clip(np.abs(shades - paper) - 48, 0, None) > 0
    share = float(ink.mean())
    yield {"ink": share, "skew": _skew(ink) if 0.0005 < share < 0.6 else 0.0}


def _skew(ink: Any) -> float:
    """Find the angle at which rows (or columns) of ink are the most sharply parted, coarse first, then fine."""
    np: Any = importlib.import_module("numpy")  # what is counted here has no types worth the reading
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
    # lines fall to the right by `best` degrees; a page without lines is about as sharp at every angle
    return -best if sharpness(best) > 1.15 * sharpness(0.0) else 0.0


def turned(path: str, *, degrees: float) -> Iterator[bytes]:
    """Yield the image, turned clockwise by `degrees` on white paper that holds all of it, as PNG."""
    from PIL import Image

    with _opened(path) as image:
        dpi = image.info.get("dpi", (300, 300))
        quarter = degrees / 90
        if quarter == int(quarter):
            done = _quarter_turned(image, int(quarter) % 4)
        else:
            done = image.rotate(-degrees, Image.Resampling.BICUBIC, expand=True, fillcolor=_WHITE)
    printed = io.BytesIO()
    done.save(printed, "PNG", compress_level=1, dpi=dpi)
    yield printed.getvalue()


def _quarter_turned(image: Image, turns: int) -> Image:
    from PIL.Image import Transpose

    # Pillow turns against the clock
    ways = {1: Transpose.ROTATE_270, 2: Transpose.ROTATE_180, 3: Transpose.ROTATE_90}
    return image.transpose(ways[turns]) if turns else image.copy()


def _opened(path: str) -> Image:
    from PIL import Image

    Image.MAX_IMAGE_PIXELS = None  # the caller has checked the header's size
    image = Image.open(path, formats=["PNG"])
    return image if image.mode == "L" else image.convert("L")
