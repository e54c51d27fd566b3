"""The stream of lines, tables and headings to the blocks of a document, in reading order across pages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from knowledge_mcp.model.document import BlockKind
from knowledge_mcp.readers.pdf.candidates import Body
from knowledge_mcp.readers.pdf.extents import Extent
from knowledge_mcp.readers.pdf.flow import Geometry, Vocabulary
from knowledge_mcp.readers.pdf.headings import Heading
from knowledge_mcp.readers.pdf.layout import Line, PageLayout, Table
from knowledge_mcp.readers.pdf.openings import Opening, opening_of

__all__ = ["blocks_of"]

_PLAIN = Opening(BlockKind.PARAGRAPH, "")
_BULLETS = {"\u00b7": "•", "o": "◦"}


@dataclass(slots=True)
class _Open:
    """The block that is being filled."""

    opening: Opening
    text: str
    last: Line
    hang: float
    pages: list[int]
    extent: Extent
    breaks: list[int] = field(default_factory=list[int])
    depth: int = 0
    code: list[Line] = field(default_factory=list[Line])


def blocks_of(pages: Sequence[PageLayout], headings: Sequence[Heading], body: Body) -> Iterator[dict[str, Any]]:
    """Yield headings and blocks as keyword arguments of `DocumentBuilder.heading` and `.block`."""
    return _Stream(pages, headings, body).run()


class _Stream:
    def __init__(self, pages: Sequence[PageLayout], headings: Sequence[Heading], body: Body) -> None:
        self._pages = pages
        self._body = body
        self._geometry = Geometry(pages)
        self._words = Vocabulary(line for page in pages for line in page.lines)
        self._starts = {id(heading.lines[0]): heading for heading in headings}
        self._inside = {id(line) for heading in headings for line in heading.lines[1:]}
        self._open: _Open | None = None
        self._indents: list[float] = []
        self._footnotes: list[_Open] = []

    def run(self) -> Iterator[dict[str, Any]]:
        for page in self._pages:
            notes = self._footnote_lines(page)
            for element in page.elements:
                if isinstance(element, Table):
                    yield from self._close()
                    yield _table(element)
                elif id(element) in notes:
                    self._take_footnote(element)
                elif id(element) in self._starts:
                    yield from self._close()
                    yield from self._heading(self._starts[id(element)])
                elif id(element) not in self._inside:
                    yield from self._line(element)
        yield from self._close()

    # ---- headings

    def _heading(self, heading: Heading) -> Iterator[dict[str, Any]]:
        self._indents.clear()
        printed = heading.lines[0].text
        for line in heading.lines[1:]:
            printed = self._words.join(printed, line.text)
        rest = ""
        if heading.cut is not None:
            printed, rest = printed[: heading.cut], printed[heading.cut :].lstrip(" .:–—")
        yield {
            "heading": heading.title,
            "printed": printed.rstrip(" .:") if heading.cut is not None else printed,
            "level": heading.level,
            "number": heading.number,
            "informative": heading.informative,
            "source": heading.source.value,
            "confidence": heading.confidence,
            "pages": [heading.page],
            "boxes": Extent(heading.lines).packed(),
        }
        if rest:
            last = heading.lines[-1]
            self._open = _Open(_PLAIN, rest, last, last.x0, [last.page], Extent(heading.lines))

    # ---- running text

    def _line(self, line: Line) -> Iterator[dict[str, Any]]:
        opening = opening_of(line.text) if not line.rotated else None
        current = self._open
        if current is not None and self._belongs(current, line, opening):
            self._extend(current, line)
            return
        yield from self._close()
        if opening is None and line.code:
            opening = Opening(BlockKind.CODE, "")
        self._open = _Open(opening or _PLAIN, line.text, line, line.x0, [line.page], Extent([line]), code=[line])
        if opening is not None and opening.kind is BlockKind.LIST_ITEM:
            self._open.depth = self._depth(line.x0)
        elif opening is None:
            self._indents.clear()

    def _belongs(self, current: _Open, line: Line, opening: Opening | None) -> bool:
        kind = current.opening.kind
        if current.last.rotated or line.rotated:
            return False
        if kind is BlockKind.CODE:
            return line.code and (line.page != current.last.page or line.y0 - current.last.y0 < 3 * line.size)
        on = self._geometry.goes_on(current.last, line, current.text, kind, current.hang)
        if opening is None:
            return on
        if opening.sure:
            return opening.kind is BlockKind.CAPTION and on and not current.text.endswith(".")
        # "12. ...", "a) ..." and "- ..." may be the middle of a sentence: only where it does not begin a line of a list
        ended = current.text.endswith((".", ":", ";", ",", "or", "and")) or kind is not BlockKind.PARAGRAPH
        return on and not ended and abs(line.x0 - current.last.x0) < 3 and line.y0 > current.last.y0

    def _extend(self, current: _Open, line: Line) -> None:
        if current.opening.kind is BlockKind.CODE:
            joined = f"{current.text} {line.text}"
        else:
            joined = self._words.join(current.text, line.text)
        if line.page != current.last.page:
            current.pages.append(line.page)
            current.breaks.append(len(joined) - len(line.text))
        current.text = joined
        current.last = line
        current.extent.add(line)
        current.code.append(line)

    def _depth(self, left: float) -> int:
        while self._indents and left < self._indents[-1] - 5:
            self._indents.pop()
        if not self._indents or left > self._indents[-1] + 5:
            self._indents.append(left)
        return len(self._indents) - 1

    def _close(self) -> Iterator[dict[str, Any]]:
        current, self._open = self._open, None
        if current is not None:
            yield _printed(current)
        footnotes, self._footnotes = self._footnotes, []
        for footnote in footnotes:
            yield _printed(footnote)

    # ---- footnotes

    def _footnote_lines(self, page: PageLayout) -> set[int]:
        """Find the small print at the foot of a page: from its first numbered line down, nothing larger below it."""
        lines = [line for line in page.lines if not line.rotated]
        found: list[Line] = []
        for line in sorted(lines, key=lambda line: line.y0, reverse=True):
            if line.size > self._body.size - 1.4 or line.y0 < 0.5 * page.height or id(line) in self._starts:
                break
            found.append(line)
        while found and not _begins_footnote(found[-1]):
            found.pop()
        return {id(line) for line in found} if len(found) <= min(12, 0.4 * len(lines)) else set()

    def _take_footnote(self, line: Line) -> None:
        if self._footnotes and not _begins_footnote(line) and self._footnotes[-1].last.page == line.page:
            self._extend(self._footnotes[-1], line)
            return
        marker = line.text.split()[0] if _begins_footnote(line) else ""
        opening = Opening(BlockKind.FOOTNOTE, marker)
        self._footnotes.append(_Open(opening, line.text, line, line.x0, [line.page], Extent([line])))


def _begins_footnote(line: Line) -> bool:
    first = line.text.split(" ", 1)[0].rstrip(".)")
    return len(line.text) > len(first) + 1 and (first in {"*", "†", "‡", "**"} or (first.isdigit() and len(first) <= 3))


def _table(table: Table) -> dict[str, Any]:
    boxes = Extent(table.lines, whole=True).packed()
    return {"kind": BlockKind.TABLE.value, "text": table.markdown(), "pages": [table.page], "boxes": boxes}


def _printed(current: _Open) -> dict[str, Any]:
    opening = current.opening
    text, breaks = current.text, current.breaks
    marker = opening.marker
    if opening.kind is BlockKind.CODE:
        text, breaks = _code(current.code), []
    if opening.kind is BlockKind.LIST_ITEM and (marker in _BULLETS or "\uf000" <= marker <= "\uf0ff"):
        bullet = _BULLETS.get(marker, "•")
        text = bullet + text[len(marker) :]
        marker = bullet
    block: dict[str, Any] = {"kind": opening.kind.value, "text": text, "pages": current.pages}
    block["boxes"] = current.extent.packed()
    if marker:
        block["marker"] = marker
    if current.depth:
        block["depth"] = current.depth
    if breaks:
        block["breaks"] = breaks
    return block


def _code(lines: Sequence[Line]) -> str:
    """Print code line by line, indented as it stands on the page; pieces of one row are put side by side."""
    rows: list[Line] = []
    for line in lines:
        if rows and rows[-1].page == line.page and abs(rows[-1].y0 - line.y0) < 0.4 * line.size:
            rows[-1] = replace(rows[-1], text=f"{rows[-1].text} {line.text}", x1=line.x1)
        else:
            rows.append(line)
    left = min(line.x0 for line in rows)
    return "\n".join(" " * round((line.x0 - left) / max(0.6 * line.size, 1.0)) + line.text for line in rows)
