"""PDF files made on the spot, for the tests of the PDF reader."""

from __future__ import annotations

import functools
import hashlib
import io
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from knowledge_mcp.model.document import Document
from knowledge_mcp.model.source import SourceItem
from knowledge_mcp.readers.pdf.reader import PdfReader
from tests.readers.in_process import InProcessSandbox

WIDTH, HEIGHT = 595.0, 842.0
LEFT = 72.0
SENTENCE = "The recorder shall keep every sample that it takes until an operator has read it."


class Sheet:
    """Write a PDF line by line, from the top of each page."""

    def __init__(self, **metadata: str) -> None:
        from reportlab.pdfgen import canvas

        self._buffer = io.BytesIO()
        self.canvas: Any = canvas.Canvas(self._buffer, pagesize=(WIDTH, HEIGHT), invariant=1)
        self.canvas.setTitle(metadata.get("title", "untitled"))
        self.canvas.setAuthor(metadata.get("author", "anonymous"))
        self.y = 90.0
        self.page_number = 1
        self.furniture: Callable[[Sheet], None] = lambda sheet: None

    def at(self, x: float, y: float, text: str, size: float = 10, font: str = "Helvetica") -> None:
        """Print text with its baseline `y` points below the top edge."""
        self.canvas.setFont(font, size)
        self.canvas.drawString(x, HEIGHT - y, text)

    def line(self, text: str, *, size: float = 10, font: str = "Helvetica", x: float = LEFT, step: float = 13) -> None:
        """Print the next line."""
        self.at(x, self.y, text, size, font)
        self.y += step

    def heading(self, text: str, size: float = 13, bookmark: int | None = None) -> None:
        """Print a bold heading with space around it, and bookmark it at a depth from 0."""
        self.y += 10
        if bookmark is not None:
            key = f"b{self.page_number}-{self.y}"
            self.canvas.bookmarkHorizontal(key, 0, HEIGHT - self.y + size)
            self.canvas.addOutlineEntry(text, key, level=bookmark)
        self.line(text, size=size, font="Helvetica-Bold", step=20)

    def paragraph(self, *lines: str, x: float = LEFT, font: str = "Helvetica") -> None:
        """Print lines and a gap."""
        for text in lines:
            self.line(text, x=x, font=font)
        self.y += 8

    def grid(self, rows: Sequence[Sequence[str]], widths: Sequence[float]) -> None:
        """Print a ruled table."""
        top = self.y - 10
        for row in rows:
            x = LEFT
            for cell, width in zip(row, widths, strict=True):
                self.at(x + 4, self.y + 3, cell)
                x += width
            self.y += 18
        edges = [LEFT + sum(widths[:count]) for count in range(len(widths) + 1)]
        heights = [HEIGHT - (top + 18 * count) for count in range(len(rows) + 1)]
        self.canvas.grid(edges, heights)
        self.y += 16

    def picture(self) -> None:
        """Fill the page with a grey picture."""
        from PIL import Image
        from reportlab.lib.utils import ImageReader

        self.canvas.drawImage(ImageReader(Image.new("L", (60, 80), 128)), 0, 0, WIDTH, HEIGHT)

    def next_page(self) -> None:
        """Finish the page."""
        self.furniture(self)
        self.canvas.showPage()
        self.page_number += 1
        self.y = 90.0

    def done(self) -> bytes:
        """Finish the last page and return the file."""
        self.furniture(self)
        self.canvas.showPage()
        self.canvas.save()
        return self._buffer.getvalue()


def sheet(**metadata: str) -> Sheet:
    """Begin a file."""
    return Sheet(**metadata)


def _running_lines(pages: Sheet) -> None:
    pages.at(LEFT, 40, "KM 100:2026  Sample recorders", 9)
    pages.at(470, 810, f"Page {pages.page_number} of 6", 9)


def standard(*, bookmarks: bool) -> bytes:
    """Make a small standard of six pages: clauses to the third level, an informative annex, running lines."""
    pages = sheet(title="Sample recorders - Requirements", author="A. Writer")
    pages.furniture = _running_lines

    def heading(text: str, level: int) -> None:
        pages.heading(text, 15 - 1.5 * level, level - 1 if bookmarks else None)

    heading("1 Scope", 1)
    pages.paragraph("This document sets requirements for recorders that take samples unattended.", SENTENCE)
    heading("2 Terms and definitions", 1)
    pages.paragraph("For the purposes of this document the following terms apply.")
    pages.next_page()
    heading("3 Requirements", 1)
    heading("3.1 General", 2)
    pages.paragraph(SENTENCE, "It should do so at any temperature.")
    heading("3.2 Storage", 2)
    heading("3.2.1 Capacity", 3)
    pages.paragraph("The store shall hold the samples of thirty days.")
    heading("3.2.2 Retention", 3)
    pages.paragraph("Samples shall be kept until they have been read, and then for as long as the")
    pages.next_page()
    pages.paragraph("operator wishes, but no longer than a year.")
    heading("4 Marking", 1)
    heading("4.1 General", 2)
    pages.paragraph("The recorder shall bear its serial number.")
    pages.next_page()
    heading("5 Documents", 1)
    heading("5.1 General", 2)
    pages.paragraph("A manual shall come with the recorder.")
    pages.next_page()
    heading("6 Tests", 1)
    heading("6.1 General", 2)
    pages.paragraph("Each recorder shall be tested for storage, marking and documents before it is delivered.")
    pages.next_page()
    heading("Annex A (informative) Examples of use", 1)
    heading("A.1 Rain gauges", 2)
    pages.paragraph("A rain gauge takes one sample a minute.")
    return pages.done()


def picture_page() -> bytes:
    """Make one page that is a picture."""
    pages = sheet()
    pages.picture()
    return pages.done()


def changed(data: bytes, change: Callable[[Any], None], **save: Any) -> bytes:
    """Open a PDF with pikepdf, change it, save it."""
    import pikepdf

    out = io.BytesIO()
    with pikepdf.open(io.BytesIO(data)) as document:
        change(document)
        document.save(out, **save)
    return out.getvalue()


def bomb(times: int) -> bytes:
    """Make a small file whose one page holds `times` strings when it is unpacked."""
    content = zlib.compress(b"BT /F1 9 Tf 10 10 Td (aaaaaaaaaaaaaaaaaaaa bbbbbbbbbb) Tj ET\n" * times, 9)
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 4 0 R/Resources"
        b"<</Font<</F1<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>>>>>",
        b"<</Length %d/Filter/FlateDecode>>stream\n" % len(content) + content + b"\nendstream",
    ]
    out, places = b"%PDF-1.4\n", list[int]()
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n" % number + body + b"\nendobj\n"
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    return out + b"xref\n0 5\n0000000000 65535 f \n%btrailer<</Size 5/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % (
        table,
        len(out),
    )


def item_of(data: bytes, name: str = "sample.pdf", folder: Path | None = None) -> SourceItem:
    """Make a source item of bytes; with a folder they are a file there."""
    digest = hashlib.sha256(data).hexdigest()
    if folder is None:
        opener = functools.partial(io.BytesIO, data)
        return SourceItem(f"memory:{name}", name, "application/pdf", len(data), digest, opener)
    path = folder / name
    path.write_bytes(data)
    return SourceItem(str(path), name, "application/pdf", len(data), digest, functools.partial(path.open, "rb"), path)


def read_pdf(file: Sheet | bytes) -> Document:
    """Read a file in this process."""
    return PdfReader(sandbox=InProcessSandbox()).read(item_of(file.done() if isinstance(file, Sheet) else file))


def without_pages() -> bytes:
    """Write a PDF whose pages were deleted."""

    def empty(document: Any) -> None:
        del document.pages[:]

    return changed(standard(bookmarks=False), empty)
