"""Pages for measuring text recognition: made-up prose, set by reportlab, rendered, and spoiled as scanners do."""

from __future__ import annotations

import contextlib
import hashlib
import io
import math
import random
from collections.abc import Iterator, Sequence
from typing import Any

from knowledge_mcp.model.document import Document
from knowledge_mcp.model.source import SourceItem
from knowledge_mcp.ocr.tesseract import TesseractEngine
from knowledge_mcp.readers.pdf.reader import PdfReader

OPENINGS = "the old quiet northern stone timber narrow upper second broken painted heavy empty distant".split()
NAMES = (
    "bridge miller harbour ferry keeper warden gravel orchard ledger valley lantern quarry basin carrier barge cellar "
    "garden tower meadow sluice anchor market weaver summer signal copper garret paddock kettle saddle"
).split()
DEEDS = "watched repaired measured crossed carried reported counted followed opened flooded rented described".split()
ENDINGS = (
    "before noon",
    "in the spring",
    "without delay",
    "for eleven years",
    "at low water",
    "by order of the council",
)


def sentences(seed: int) -> Iterator[str]:
    """Make up sentences without end, the same for the same seed."""
    chance = random.Random(seed)
    while True:
        subject = f"{chance.choice(OPENINGS)} {chance.choice(NAMES)}"
        deed = f"{chance.choice(DEEDS)} the {chance.choice(OPENINGS[1:])} {chance.choice(NAMES)}"
        number = f", {chance.randint(2, 97)} in all," if chance.random() < 0.2 else ""
        text = f"{subject} {deed}{number} {chance.choice(ENDINGS)}."
        yield text[0].upper() + text[1:]


def wrapped(seed: int, width: int, rows: int) -> list[str]:
    """Break made-up prose into rows of at most `width` letters."""
    rows_made: list[str] = [""]
    for word in (word for sentence in sentences(seed) for word in sentence.split()):
        if len(rows_made[-1]) + len(word) + 1 > width:
            if len(rows_made) == rows:
                return rows_made
            rows_made.append("")
        rows_made[-1] = f"{rows_made[-1]} {word}".strip()
    return rows_made


def printed(
    seed: int, *, columns: int = 1, font: str = "Times-Roman", size: float = 11, most: int = 44
) -> tuple[Any, str]:
    """Set one A4 page of at most so many rows and render it; returns the grey image and its text in reading order."""
    import pypdfium2
    from reportlab.pdfgen import canvas

    buffer = io.BytesIO()
    sheet: Any = canvas.Canvas(buffer, pagesize=(595, 842))
    width = 78 if columns == 1 else 36
    texts: list[str] = []
    for column in range(columns):
        rows = wrapped(100 * seed + column, width, most)
        texts.extend(rows)
        sheet.setFont(font, size)
        for row, text in enumerate(rows):
            sheet.drawString(72 + 240 * column, 770 - 15.5 * row, text)
    sheet.save()
    document: Any = pypdfium2.PdfDocument(buffer.getvalue())
    image = document[0].render(scale=300 / 72, grayscale=True).to_pil().convert("L")
    document.close()
    return image, " ".join(texts)


def noisy(image: Any, seed: int) -> Any:
    """Spoil a page as a worn scanner does: soft edges, grey ground, grain, specks."""
    import numpy as np
    from PIL import Image, ImageFilter

    chance = np.random.default_rng(seed)
    shades = np.asarray(image.filter(ImageFilter.GaussianBlur(1.0)), dtype=np.float32)
    shades = shades * 0.82 + 24 + chance.normal(0, 26, shades.shape).astype(np.float32)
    shades[chance.random(shades.shape) < 0.0008] = 20
    return Image.fromarray(np.clip(shades, 0, 255).astype(np.uint8))


def skewed(image: Any, degrees: float) -> Any:
    """Lay a page askew, turned against the clock."""
    return image.rotate(degrees, 3, expand=True, fillcolor=255)


def page_set() -> Iterator[tuple[str, str, Any, str]]:
    """Yield thirty full pages and four with little on them: kind, what was done to it, image, text."""
    fonts = ["Times-Roman", "Helvetica", "Times-Roman", "Helvetica"]
    for seed in range(8):
        image, text = printed(seed, font=fonts[seed % 4], size=10 if seed % 4 == 1 else 11)
        yield "clean", fonts[seed % 4], image, text
    for seed in range(8, 14):
        image, text = printed(seed, font=fonts[seed % 4])
        yield "noisy", "blur, grain, specks", noisy(image, seed), text
    for seed in range(14, 19):
        image, text = printed(seed, columns=2, size=10)
        yield "two columns", "noisy" if seed > 16 else "clean", noisy(image, seed) if seed > 16 else image, text
    for seed, turn in zip(range(19, 24), (0, 90, 180, 270, 180), strict=True):
        image, text = printed(seed)
        yield "turned", f"{turn} degrees", image.rotate(turn, expand=True), text
    for seed, degrees in zip(range(24, 30), (0.7, -1.5, 3.0, -5.0, 8.0, -12.0), strict=True):
        image, text = printed(seed)
        yield "skewed", f"{degrees} degrees", skewed(image, degrees), text
    for seed, rows in zip(range(30, 34), (2, 3, 4, 6), strict=True):
        image, text = printed(seed, columns=2, size=10, most=rows)
        yield "short columns", f"{rows} rows", image, text


def pdf_of(images: Sequence[Any], dpi: int = 300) -> bytes:
    """Put images into a PDF, a page each at so many dots per inch, as a scanner does."""
    from reportlab.lib.utils import ImageReader
    from reportlab.pdfgen import canvas

    buffer = io.BytesIO()
    sheet: Any = canvas.Canvas(buffer, pageCompression=0)
    for image in images:
        size = (image.width * 72 / dpi, image.height * 72 / dpi)
        sheet.setPageSize(size)
        sheet.drawImage(ImageReader(image), 0, 0, *size)
        sheet.showPage()
    sheet.save()
    return buffer.getvalue()


STAMP = "RECEIVED 14 MARCH 2026 PLANNING OFFICE"


def scan_of(data: bytes, dpi: int = 300, degrees: float = 0.3) -> bytes:
    """Print a PDF and scan it: grain, soft edges, and each page a little askew, to the one side and the other."""
    import numpy as np
    import pypdfium2
    from PIL import Image, ImageFilter

    chance = np.random.default_rng(1)
    images: list[Any] = []
    document: Any = pypdfium2.PdfDocument(data)  # its annotations are partial
    for number, page in enumerate(document):
        sheet = page.render(scale=dpi / 72).to_pil()
        sheet = sheet.convert("L").rotate(degrees * (-1) ** number, Image.Resampling.BICUBIC, fillcolor=255)
        shades = np.asarray(sheet.filter(ImageFilter.GaussianBlur(0.6)), dtype=np.float32)
        shades = shades * 0.9 + 16 + chance.normal(0, 12, shades.shape).astype(np.float32)
        images.append(Image.fromarray(np.clip(shades, 0, 255).astype(np.uint8)))
    return pdf_of(images, dpi)


def read_scan(data: bytes, name: str) -> Document:
    """Read a PDF file with text recognition."""
    digest = hashlib.sha256(data).hexdigest()
    item = SourceItem(f"memory:{name}", name, "application/pdf", len(data), digest, lambda: io.BytesIO(data))
    with contextlib.closing(PdfReader(ocr=TesseractEngine())) as reader:
        return reader.read(item)


def mixed_set() -> tuple[bytes, list[tuple[str, str, str]]]:
    """Make a PDF of pages with text, scans, stamped scans, a drawing and nothing: kind, method to be expected, text."""
    from reportlab.lib.utils import ImageReader
    from reportlab.pdfgen import canvas

    buffer = io.BytesIO()
    sheet: Any = canvas.Canvas(buffer, pageCompression=0)
    reported: list[tuple[str, str, str]] = []

    def add(kind: str, method: str, text: str) -> None:
        reported.append((kind, method, text))
        sheet.showPage()

    for seed, turn in zip(range(40, 44), (0, 90, 180, 270), strict=True):
        sheet.setPageSize((595, 842))
        rows = wrapped(100 * seed + 50, 78, 44)
        for row, text in enumerate(rows):
            sheet.drawString(60, 780 - 15.5 * row, text)
        add("text", "text_layer", " ".join(rows))
        image, text = printed(seed)
        image = noisy(image, seed) if turn else image
        for name, degrees in (("scan", turn), ("stamped scan", 0)):
            page = image.rotate(degrees, expand=True)
            size = (page.width * 0.24, page.height * 0.24)
            sheet.setPageSize(size)
            sheet.drawImage(ImageReader(page), 0, 0, *size)
            if name == "stamped scan":
                sheet.drawString(300, 815, STAMP)
            add(f"{name}, {degrees} degrees", "ocr", text)
    sheet.setPageSize((842, 595))
    for number in range(600):
        x, y = 60 + 11 * (number % 60), 120 + 40 * (number // 60)
        sheet.line(x, y, x + 30 * math.cos(number), y + 30 * math.sin(number))
    sheet.drawString(500, 60, "Ground floor plan of the ferry house")
    add("drawing", "text_layer", "Ground floor plan of the ferry house")
    add("nothing", "blank", "")
    sheet.save()
    return buffer.getvalue(), reported
