"""Short documents to be mutated: a few pages, paragraphs or lines of long ones, so that a case takes little time."""

from __future__ import annotations

import io
import random
import zipfile
from functools import lru_cache
from pathlib import Path
from typing import Any

_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_PAGES = (1, 2, 4)
_PARTS = (20, 60, 150)
_LINES = (20, 100, 400)


def excerpt(path: Path, kind: str, dice: random.Random) -> bytes:
    """Take some pages of a PDF, some parts of a Word document's body, or some lines of a text.

    What cannot be taken apart is returned whole.
    """
    if kind == "pdf":
        return _pages(path, dice.random(), dice.choice(_PAGES))
    if kind == "docx":
        return _body(path, dice.random(), dice.choice(_PARTS))
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines(keepends=True)
    count = dice.choice(_LINES)
    start = int(dice.random() * max(len(lines) - count, 1))
    return "".join(lines[start : start + count]).encode() or b"\n"


def _pages(path: Path, place: float, count: int) -> bytes:
    import pypdfium2

    whole: Any = pypdfium2.PdfDocument(path)
    try:
        start = int(place * max(len(whole) - count + 1, 1))
        part: Any = pypdfium2.PdfDocument.new()
        try:
            part.import_pages(whole, list(range(start, min(start + count, len(whole)))))
            buffer = io.BytesIO()
            part.save(buffer)
        finally:
            part.close()
    except pypdfium2.PdfiumError:
        return path.read_bytes()
    finally:
        whole.close()
    return buffer.getvalue()


@lru_cache(maxsize=8)
def _parts(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as package:
        return {name: package.read(name) for name in package.namelist()}


def _body(path: Path, place: float, count: int) -> bytes:
    from lxml import etree

    parts = dict(_parts(path))
    root = etree.fromstring(parts["word/document.xml"])
    body = root.find(f"{_WORD}body")
    if body is None:
        return path.read_bytes()
    children = list(body)
    start = int(place * max(len(children) - count, 1))
    for position, child in enumerate(children):
        if not start <= position < start + count:
            body.remove(child)
    parts["word/document.xml"] = etree.tostring(root, xml_declaration=True, encoding="UTF-8", standalone=True)
    return packed(parts)


def packed(parts: dict[str, bytes]) -> bytes:
    """Make a zip file of parts."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as package:
        for name, part in parts.items():
            package.writestr(name, part)
    return buffer.getvalue()
