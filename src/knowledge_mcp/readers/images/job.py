"""The reading job in the sandbox's child process: image files to grey page images, recognised words to blocks.

Pillow is imported inside functions. Only the formats named here are tried, and only pictures of a reasonable size: a
few hundred bytes can ask for gigabytes.
"""

from __future__ import annotations

import contextlib
import math
import warnings
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from knowledge_mcp.readers.pdf.job import compose
from knowledge_mcp.readers.pdf.recognised.layout import load_recognised
from knowledge_mcp.readers.pdf.rendering import MOST_PIXELS, as_png, is_blank
from knowledge_mcp.readers.shared.layout import PageLayout
from knowledge_mcp.support.sandbox_worker import Refusal

if TYPE_CHECKING:
    from PIL.Image import Image

_FORMATS = ("PNG", "JPEG", "TIFF", "BMP")
_SIGNATURES = (b"\x89PNG", b"\xff\xd8\xff", b"II*\x00", b"MM\x00*", b"II+\x00", b"MM\x00+", b"BM")
_MOST_SOURCE_PIXELS = 150_000_000
_MOST_FRAMES = 5000
_LONGEST_SHEET, _LONG_SIDE = 34.0, 11.7
_LEAST_DPI, _MOST_DPI = 90.0, 1300.0
_MOST_ENLARGED = 3.0


def check(path: str) -> Iterator[dict[str, Any]]:
    """Open the file and yield its number of pages.

    Raises:
        Refusal: it is not an image of a known format, damaged, or too large.
    """
    with _opened(path) as image:
        yield {"pages": _frames(image)}


def render(path: str, *, pages: Sequence[int], dpi: int = 300) -> Iterator[dict[str, Any] | bytes]:
    """Yield each page's `page` number with `dpi` and `blank`, or `failed` with the reason; if neither, then its PNG.

    The picture is turned according to its EXIF data, converted to grey on white, and scaled to `dpi`.

    Raises:
        Refusal: as in `check`; or the only page is damaged.
    """
    with _opened(path) as image:
        count = _frames(image)
        for number in pages:
            try:
                image.seek(number - 1)
                grey, resolution = _prepared(image, dpi)
            except (OSError, ValueError, EOFError, SyntaxError, ArithmeticError) as error:
                if count == 1:
                    raise _damaged(error) from error
                yield {"page": number, "failed": f"The page's image is damaged: {error}."}
                continue
            blank = is_blank(grey)
            yield {"page": number, "dpi": resolution, "blank": blank}
            if not blank:
                yield as_png(grey, resolution)


def read(path: str, *, scans: str = "", recognised: str = "", unread: Sequence[int] = ()) -> Iterator[dict[str, Any]]:
    """Yield `scans` with all pages if `scans` is given, else the messages of `readers.pdf.job.compose`.

    Raises:
        Refusal: as in `check`; or there is no text on any page.
    """
    with _opened(path) as image:
        count = _frames(image)
    yield {"progress": [0, count]}
    if scans:
        yield {"scans": [[number, "an image"] for number in range(1, count + 1)]}
        return
    found = load_recognised(recognised) if recognised else {}
    empty = [PageLayout(number, 595.0, 842.0) for number in range(1, count + 1)]
    pages = [found[page.number].layout if page.number in found else page for page in empty]
    described: dict[str, Any] = {"facts": {}, "labels": [str(page.number) for page in pages]}
    yield from compose("", pages, described, taken=found.keys(), unread=unread)


def _opened(path: str) -> Image:
    from PIL import Image, UnidentifiedImageError

    Image.MAX_IMAGE_PIXELS = None  # the size is checked here, for every page of a file
    warnings.simplefilter("ignore")  # odd metadata does not matter, and nobody reads what a child prints
    try:
        image = Image.open(path, formats=_FORMATS)
    except UnidentifiedImageError as error:
        raise _unknown(path, error) from error
    except (OSError, ValueError, SyntaxError) as error:
        raise _damaged(error) from error
    with contextlib.ExitStack() as stack:
        stack.callback(image.close)
        _check_size(image)
        stack.pop_all()
    return image


def _frames(image: Image) -> int:
    try:
        count = int(getattr(image, "n_frames", 1))
    except (OSError, ValueError, SyntaxError) as error:
        raise _damaged(error) from error
    if image.format == "MPO":
        return 1  # a camera's file: the other pictures are previews of the first
    if count > _MOST_FRAMES:
        raise Refusal("too_large", f"The file has {count} pages, more than {_MOST_FRAMES}.")
    return count


def _unknown(path: str, error: Exception) -> Refusal:
    with open(path, "rb") as stream:  # noqa: PTH123 - the child is given a string
        known = stream.read(4).startswith(_SIGNATURES)
    if known:
        return _damaged(error)
    return Refusal(
        "mislabelled",
        "The file has the name or type of an image, but cannot be read as one.",
        details=f"{error}"[:300],
        suggestion="Save it as PNG, JPEG, TIFF or BMP.",
    )


def _damaged(error: Exception) -> Refusal:
    return Refusal("corrupted", "The image is damaged or incomplete.", details=f"{type(error).__name__}: {error}"[:300])


def _check_size(image: Image) -> None:
    if image.width * image.height > _MOST_SOURCE_PIXELS:
        raise Refusal(
            "too_large",
            f"The image has {image.width} x {image.height} pixels, more than can be read.",
            suggestion="Scale it down, or split it.",
        )


# ---- one page -------------------------------------------------------------------------------------------------------


def _prepared(image: Image, dpi: int) -> tuple[Image, float]:
    """Return the page upright, in grey, at `dpi` as far as its resolution is known, and its resulting resolution."""
    from PIL import Image as Pillow
    from PIL import ImageOps

    _check_size(image)
    grey = ImageOps.exif_transpose(_grey(image))
    stated = _resolution(image)
    scale = min(dpi / stated, _MOST_ENLARGED, math.sqrt(MOST_PIXELS / (grey.width * grey.height)))
    if not 0.8 < scale < 1.25:
        size = (max(round(grey.width * scale), 1), max(round(grey.height * scale), 1))
        grey = grey.resize(size, Pillow.Resampling.LANCZOS)
        stated *= scale
    return grey, round(stated, 2)


def _grey(image: Image) -> Image:
    from PIL import Image as Pillow

    if image.mode in {"I;16", "I;16B", "I;16L", "I", "F"}:
        return _stretched(image.convert("F"))
    if "A" in image.getbands() or "transparency" in image.info:
        full = image.convert("RGBA")
        paper = Pillow.new("RGBA", full.size, "white")
        paper.alpha_composite(full)
        paper.info = dict(image.info)
        grey = paper.convert("L")
    else:
        grey = image.convert("L")
    grey.info.update({key: image.info[key] for key in ("exif", "dpi") if key in image.info})
    return grey


def _stretched(image: Image) -> Image:
    """Scale the shades of a picture with more than eight bits to eight bits."""
    extremes: Any = image.getextrema()
    lowest, highest = float(extremes[0]), float(extremes[1])
    scale = 255.0 / max(highest - lowest, 1.0)
    return image.point(lambda shade: shade * scale - lowest * scale).convert("L")


def _resolution(image: Image) -> float:
    """Return the dots per inch that the file states if they give a plausible sheet, else those of an A4 page."""
    longest = max(image.width, image.height)
    try:
        stated = float(image.info["dpi"][0])
    except (KeyError, IndexError, TypeError, ValueError, ZeroDivisionError):
        stated = 0.0
    if _LEAST_DPI <= stated <= _MOST_DPI and longest / stated <= _LONGEST_SHEET:
        return stated
    return min(max(longest / _LONG_SIDE, _LEAST_DPI), _MOST_DPI)
