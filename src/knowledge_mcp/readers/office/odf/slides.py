"""Child process: OpenDocument presentations (.odp): slides are pages, with their titles, texts, tables and notes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from knowledge_mcp.model.document import HiddenReason
from knowledge_mcp.readers.office.odf.looks import length_of
from knowledge_mcp.readers.office.odf.package import DRAW, STYLE, OdfPackage, opened_package
from knowledge_mcp.readers.office.odf.text import OdfWalk
from knowledge_mcp.readers.shared.containers import Element
from knowledge_mcp.readers.shared.pieces import Piece, heading, messages, page_piece
from knowledge_mcp.support.wording import list_first

_SHOWN = "{urn:oasis:names:tc:opendocument:xmlns:presentation:1.0}"
_AROUND = frozenset({"date-time", "footer", "header", "page-number"})


def odp(path: str, *, check: bool) -> Iterator[dict[str, Any]]:
    """Yield the messages of an OpenDocument presentation.

    Raises:
        Refusal: it is not an OpenDocument presentation, or is locked, damaged, empty or too large.
    """
    with opened_package(path, "presentation", "an OpenDocument presentation") as package:
        body = package.body("presentation")
        slides = [*body.iterchildren(f"{DRAW}page")]
        if check:
            yield {"pages": len(slides)}
        else:
            yield from messages(_pieces(package, body, slides))


def _pieces(package: OdfPackage, body: Element, slides: Sequence[Element]) -> Iterator[Piece]:
    walk = OdfWalk(package)
    styles = {
        style.get(f"{STYLE}name", "")
        for root in package.roots
        for style in root.iter(f"{STYLE}style")
        for part in style.iterchildren(f"{STYLE}drawing-page-properties")
        if part.get(f"{_SHOWN}visibility") == "hidden"
    }
    hidden: list[str] = []
    for number, slide in enumerate(slides, 1):
        yield page_piece(number)
        if slide.get(f"{DRAW}style-name") in styles:
            hidden.append(str(number))
            walk.words.hidden[HiddenReason.NOT_DISPLAYED] += length_of(slide)
        else:
            yield from _slide(walk, slide, number)
    is_are = "Slide {} is" if len(hidden) == 1 else "Slides {} are"
    warning = f"{is_are.format(list_first(hidden, 20))} hidden in the presentation, and omitted."
    yield from walk.facts(body, [warning] if hidden else [])


def _slide(walk: OdfWalk, slide: Element, number: int) -> Iterator[Piece]:
    """Write a slide: its title, or its number if it has none, its content, and its notes."""
    title = ""
    for frame in [*slide.iterchildren(f"{DRAW}frame")]:
        kind = frame.get(f"{_SHOWN}class", "")
        if kind == "title" and not title:
            parts = (each.get("text", "") for each in walk.blocks(frame))
            title = " ".join(" ".join(parts).split())
        if kind in _AROUND or (kind == "title" and title):
            frame.clear(keep_tail=True)
    content = [*walk.blocks(slide)]
    notes = [each for part in slide.iterchildren(f"{_SHOWN}notes") for each in walk.blocks(part)]
    if title or content or notes:
        yield heading(title or f"Slide {number}", 1, plain=not title)
    yield from content
    if any(each.get("text", "").strip() for each in notes):
        yield heading("Notes:", 3, plain=True)
        yield from notes
