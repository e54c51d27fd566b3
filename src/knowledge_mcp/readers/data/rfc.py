"""In the child: documents of the IETF in their XML (RFC 7749 and 7991) to headings, paragraphs, lists, code, tables.

Sections have the numbers that their readers see: "1.2" in the middle, "A.1" at the back.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from knowledge_mcp.model.document import BlockKind, ReferenceKind
from knowledge_mcp.readers.shared.pieces import (
    Piece,
    at_lines,
    facts,
    heading,
    piece,
    rich_piece,
    table_piece,
    with_anchors,
)
from knowledge_mcp.readers.shared.richtext import RichText, raised_or_lowered

if TYPE_CHECKING:
    from lxml.etree import _Element as Element  # pyright: ignore[reportPrivateUsage] - lxml's only name for it

_LISTS = frozenset({"list", "ul", "ol", "dl"})
_CODE = frozenset({"artwork", "sourcecode"})
_TABLES = frozenset({"table", "texttable"})
_BLOCKS = _LISTS | _CODE | _TABLES | {"t", "figure", "aside", "blockquote", "note"}
_SILENT = frozenset({"name", "iref", "cref", "seriesInfo"})
"""What is said elsewhere, or seen by nobody."""


def is_rfc(root: Element) -> bool:
    """Tell whether an XML file is such a document: it has a front and a middle."""
    return root.tag == "rfc" and root.find("front") is not None and root.find("middle") is not None


def rfc_pieces(root: Element) -> Iterator[Piece]:
    """Write the whole document."""
    writer = _Writer(root)
    front = root.find("front")
    assert front is not None
    title = _words(front.find("title"))
    authors = [each.get("fullname") or _words(each.find("organization")) for each in front.iterfind("author")]
    date = front.find("date")
    day = [date.get(part) or "" for part in ("day", "month", "year")] if date is not None else []
    known = {
        "designation": f"RFC {root.get('number')}" if root.get("number") else root.get("docName") or "",
        "author": ", ".join(filter(None, authors)),
        "date": " ".join(filter(None, day)),
    }
    yield facts(title=title, metadata={name: value for name, value in known.items() if value})
    line = front.sourceline or 1
    yield at_lines(heading(title or "Untitled", 1), line, line)
    for part in front.iterfind("abstract"):
        yield writer.headed(part, "Abstract", 2)
        yield from writer.inside(part)
    for part in front.iterfind("note"):
        yield writer.headed(part, _title(part) or "Note", 2)
        yield from writer.inside(part)
    for name in ("middle", "back"):
        part = root.find(name)
        if part is not None:
            yield from writer.sections(part, "", 2, is_back=name == "back")


class _Writer:
    """Write elements as pieces; `root` is looked through for what references lead to."""

    def __init__(self, root: Element) -> None:
        self._shown: dict[str, str] = {}
        for part in root.iterfind("middle"):
            self._shown |= dict(_numbered(part, "", is_back=False))
        for part in root.iterfind("back"):
            self._shown |= dict(_numbered(part, "", is_back=True))

    def headed(self, element: Element, title: str, level: int) -> Piece:
        """Write the heading of an element, with the names that lead to it."""
        line = element.sourceline or 1
        names = [name for name in (element.get("anchor"),) if name]
        return with_anchors(at_lines(heading(title, level), line, line), names)

    def sections(self, parent: Element, above: str, level: int, *, is_back: bool) -> Iterator[Piece]:
        """Write the sections and lists of references right below an element."""
        count = 0
        for each in parent.iterchildren("section", "references"):
            number = ""
            if each.tag == "section" and each.get("numbered") != "false":
                count += 1
                number = _number(above, count, is_back=is_back)
            title = _title(each) or ("References" if each.tag == "references" else "")
            label = f"Appendix {number}." if is_back and not above and number else number
            yield self.headed(each, f"{label} {title}".strip() or "Untitled", level)
            if each.tag == "references":
                yield from self._references(each)
            else:
                yield from self.inside(each)
            yield from self.sections(each, number, level + 1, is_back=is_back)

    def _references(self, parent: Element) -> Iterator[Piece]:
        for each in parent.iterfind("reference"):
            series = [f"{info.get('name')} {info.get('value')}" for info in each.iter("seriesInfo")]
            named = [_words(each.find("front/title")), *series, each.get("target") or ""]
            text = f"[{each.get('anchor')}] {', '.join(filter(None, named))}"
            line = each.sourceline or 1
            yield at_lines(piece(BlockKind.PARAGRAPH, text), line, line)

    def inside(self, parent: Element, marker: str = "", depth: int = 0) -> Iterator[Piece]:
        """Write what stands in an element, but for its sections; words between blocks are paragraphs."""
        line = parent.sourceline or 1
        rich = RichText()
        kind = BlockKind.LIST_ITEM if marker or depth else BlockKind.PARAGRAPH
        first = marker

        def flush() -> Iterator[Piece]:
            nonlocal rich, first
            if not rich.is_blank:
                text = RichText(f"{first} ") if first else RichText()
                shift = len(text)
                text.add(rich.text)
                for mark in rich.marks:
                    text.marks.append(type(mark)(mark.start + shift, mark.end + shift, mark.kind, mark.target))
                yield at_lines(rich_piece(kind, text, marker=first, depth=depth), line, line)
                first = ""
            rich = RichText()

        rich.add(parent.text or "")
        for each in parent:
            if isinstance(each.tag, str) and each.tag in _BLOCKS:
                yield from flush()
                yield from self._block(each, depth, first)
                first = ""
            elif isinstance(each.tag, str) and each.tag not in {"section", "references"}:
                self._inline(rich, each)
            rich.add(each.tail or "")
        yield from flush()

    def _block(self, element: Element, depth: int, marker: str) -> Iterator[Piece]:
        tag, line = str(element.tag), element.sourceline or 1
        if tag in _CODE:
            text = "".join(map(str, element.itertext())).strip("\n").rstrip()
            if text:
                yield at_lines(piece(BlockKind.CODE, text), line, line + text.count("\n"))
        elif tag in _TABLES:
            rows = _rows(element)
            if rows:
                yield at_lines(table_piece(rows), line, line)
        elif tag in _LISTS:
            yield from self._list(element, depth)
        else:
            yield from self.inside(element, marker, depth)

    def _list(self, element: Element, depth: int) -> Iterator[Piece]:
        is_counted = element.tag == "ol" or element.get("style", "").startswith(("numbers", "letters", "format"))
        count = 0
        term = ""
        for each in element.iterchildren("t", "li", "dt", "dd"):
            if each.tag == "dt":
                term = _words(each)
                continue
            count += 1
            hanging = term or each.get("hangText") or ""
            term = ""
            marker = f"{hanging.rstrip(':')}:" if hanging else f"{count}." if is_counted else "•"
            yield from self.inside(each, marker, depth + 1)

    def _inline(self, rich: RichText, element: Element) -> None:
        """Add what an element within a line says, with the place that it leads to."""
        tag, start = str(element.tag), len(rich)
        if tag in _SILENT:
            return
        if tag in {"sup", "sub"}:
            rich.add(raised_or_lowered(_words(element), tag))
        elif tag == "br":
            rich.add(" ")
        elif tag == "xref":
            rich.add(self._led_to(element))
            target = element.get("target") or ""
            if target in self._shown:
                rich.mark(start, None, f"#{target}")
        elif tag == "eref":
            rich.add(_words(element) or element.get("target") or "")
            rich.mark(start, ReferenceKind.LINK, element.get("target") or "")
        else:
            rich.add(element.text or "")
            for each in element:
                if isinstance(each.tag, str):
                    self._inline(rich, each)
                rich.add(each.tail or "")

    def _led_to(self, element: Element) -> str:
        """Say what a reference says: its own words, the section that it leads to, or the document."""
        words, target = _words(element), element.get("target") or ""
        if words:
            return words
        cited = self._shown.get(target, f"[{target}]")
        section = element.get("section") or ""
        if not section:
            return cited
        return section if element.get("sectionFormat") == "bare" else f"Section {section} of {cited}"


def _number(above: str, count: int, *, is_back: bool) -> str:
    if above:
        return f"{above}.{count}"
    return chr(ord("A") + (count - 1) % 26) if is_back else str(count)


def _numbered(parent: Element, above: str, *, is_back: bool) -> Iterator[tuple[str, str]]:
    """Yield the names of sections with what a reference to them says."""
    count = 0
    for each in parent.iterchildren("section"):
        number = ""
        if each.get("numbered") != "false":
            count += 1
            number = _number(above, count, is_back=is_back)
        name = each.get("anchor")
        if name:
            word = "Appendix" if is_back else "Section"
            yield name, f"{word} {number}" if number else _title(each)
        yield from _numbered(each, number, is_back=is_back)


def _title(element: Element) -> str:
    return _words(element.find("name")) or " ".join((element.get("title") or "").split())


def _words(element: Element | None) -> str:
    return " ".join("".join(map(str, element.itertext())).split()) if element is not None else ""


def _rows(element: Element) -> Sequence[Sequence[str]]:
    """List the rows of a table: of either version of the format."""
    heads = [_words(each) for each in element.iterfind("ttcol")]
    if heads:
        cells = [_words(each) for each in element.iterfind("c")]
        return [heads, *(cells[at : at + len(heads)] for at in range(0, len(cells), len(heads)))]
    return [[_words(cell) for cell in row.iterchildren("td", "th")] for row in element.iter("tr")]
