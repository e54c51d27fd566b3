"""Page images and scanned PDFs made on the spot, with text of our own."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from typing import Any

from PIL import Image, ImageDraw, ImageFont

LETTER = (
    "The bridge over the mill stream was closed",
    "for repair in the autumn, and the carters",
    "went round by the upper ford until spring.",
    "Each morning the keeper wrote down how high",
    "the water stood, and whether the planks held.",
    "Nobody crossed without his word, not even",
    "the miller, whose flour waited on the far bank.",
)
"""Seven lines that stand on most of the pages."""

PAPER, INK = 255, 0


def drawn(lines: Sequence[str], *, size: int = 42, width: int = 1240, margin: int = 90) -> Image.Image:
    """Print lines on a white page, as at 300 dots per inch with ten-point type."""
    face = ImageFont.load_default(size)
    step = round(size * 1.45)
    page = Image.new("L", (width, 2 * margin + step * len(lines)), PAPER)
    pen = ImageDraw.Draw(page)
    for row, line in enumerate(lines):
        pen.text((margin, margin + row * step), line, fill=INK, font=face)
    return page


def columns(left: Sequence[str], right: Sequence[str], *, size: int = 42) -> Image.Image:
    """Print two columns side by side."""
    one, other = drawn(left, size=size, width=1100), drawn(right, size=size, width=1100)
    page = Image.new("L", (2200, max(one.height, other.height)), PAPER)
    page.paste(one, (0, 0))
    page.paste(other, (1100, 0))
    return page


TITLE_BLOCK = ("MILL HOUSE PROJECT", "GROUND FLOOR PLAN", "SCALE 1:100 AT A3", "DRAWING NO 4471-02")


def sheet_of_lines() -> Image.Image:
    """Draw a plan: lines every which way, circles, and a title block in the corner."""
    page = Image.new("L", (1600, 1100), PAPER)
    pen = ImageDraw.Draw(page)
    for number in range(60):
        turn, reach = number * 0.7, 60 + 5 * number
        x, y = 200 + 13 * number, 250 + (number * 37) % 500
        pen.line((x, y, x + reach * math.cos(turn), y + reach * math.sin(turn)), fill=INK, width=3)
        if number % 5 == 0:
            pen.ellipse((x - 60, y - 60, x + 60, y + 60), outline=INK, width=3)
    pen.rectangle((1050, 640, 1560, 1060), outline=INK, width=4)
    for row, text in enumerate(TITLE_BLOCK):
        pen.text((1080, 670 + 100 * row), text, fill=INK, font=ImageFont.load_default(36))
        pen.line((1050, 740 + 100 * row, 1560, 740 + 100 * row), fill=INK, width=2)
    return page


def noisy(page: Image.Image, strength: float = 60.0) -> Image.Image:
    """Add what a bad scanner adds: grain, a grey ground, a soft edge."""
    import numpy as np
    from PIL import ImageFilter

    shades = np.asarray(page.filter(ImageFilter.GaussianBlur(0.8)), dtype=np.float32)
    grain = np.random.default_rng(7).normal(0.0, strength / 2, shades.shape)
    return Image.fromarray(np.clip(shades * 0.85 + 18 + grain, 0, 255).astype(np.uint8))


def tilted(page: Image.Image, degrees: float) -> Image.Image:
    """Lay a page askew, turned clockwise by so many degrees."""
    return page.rotate(-degrees, Image.Resampling.BICUBIC, expand=True, fillcolor=PAPER)


def png(page: Image.Image, dpi: float = 300) -> bytes:
    """Encode a page."""
    printed = io.BytesIO()
    page.save(printed, "PNG", dpi=(dpi, dpi))
    return printed.getvalue()


def scan(*pages: Image.Image | str | tuple[Image.Image, str]) -> bytes:
    """Make a PDF: an image fills its page, a text is set as a text layer, a pair is an image with a stamp over it."""
    from reportlab.lib.utils import ImageReader as Picture
    from reportlab.pdfgen import canvas

    buffer = io.BytesIO()
    sheet: Any = canvas.Canvas(buffer, invariant=1)
    for page in pages:
        picture, text = page if isinstance(page, tuple) else (page, "")
        if isinstance(picture, str):
            sheet.setPageSize((595, 842))
            for row, line in enumerate(picture.splitlines()):
                sheet.drawString(72, 760 - 14 * row, line)
        else:
            across, along = picture.width * 0.24, picture.height * 0.24
            sheet.setPageSize((across, along))
            sheet.drawImage(Picture(picture), 0, 0, across, along)
            if text:
                sheet.drawString(20, along - 14, text)
        sheet.showPage()
    sheet.save()
    return buffer.getvalue()


def error_rate(read: str, truth: str) -> float:
    """Count the characters to be changed, put in or left out over those of the truth, blanks run together."""
    one, other = " ".join(read.split()), " ".join(truth.split())
    row = list(range(len(other) + 1))
    for place, letter in enumerate(one, 1):
        before, row[0] = row[0], place
        for column, expected in enumerate(other, 1):
            before, row[column] = row[column], min(row[column] + 1, row[column - 1] + 1, before + (letter != expected))
    return row[-1] / max(len(other), 1)
