"""A document as Markdown: headings by level, lists by depth, tables, code, and a marker where each page begins.

Read again by the Markdown reader, it has the same sections, with their titles, levels and numbers, the same pages for
each passage, and every word. If a page breaks inside a paragraph or a table, its marker is between two lines of it.
Text of an earlier page that was read after a paragraph that continues on the next page (a footnote) comes before that
paragraph.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from knowledge_mcp.language.clauses import SectionLevels, following_numbers
from knowledge_mcp.language.openings import MOST_MARKS, NumberedTitle, split_clause_number
from knowledge_mcp.language.sentences import BAR
from knowledge_mcp.model.document import Block, BlockKind, Document, Section
from knowledge_mcp.support.checkpoints import check_each

PAGE_BREAK = "\x01"
"""Marks a page break in a text; the canonical text has no control characters."""

_INLINE = re.compile(
    r"\\(?=[!-/:-@\[-`{-~]|\s*(?:[\n\x01]|\Z))"
    r"|`"
    r"|(?<!\s)\*|\*(?!\s)"
    r"|(?<![^\W_])_|_(?![^\W_])"
    r"|~(?=~)|(?<=~)~"
    r"|<(?=[A-Za-z/!?])"
    r"|&(?=#?\w+;)"
)
_LINKING = re.compile(r"\][ \n]?[(\[:]|\[\^")
_OPENING = re.compile(
    r"(?P<digits>\d{1,9})(?P<stop>[.)])(?=\s|\Z)"
    r"|(?P<mark>\#{1,6}(?=\s|\Z)|>|[-+*](?=\s|\Z)|[:~](?=\s)|[-=+*_|:~][-=+*_|:~ \t]*\Z|\{(?=:)"
    r"|---(?=\s(?:abstract|middle|back)\s*\Z))"
)
_CLOSING_MARKS = re.compile(r"(?:(?<=\s)|\A)#+\Z")
_RULE = re.compile(r"(?=[ \t|:]*-)[ \t|:-]*+")


def escape(text: str) -> str:
    """Escape emphasis, code, HTML, entities, links and footnotes."""
    text = _INLINE.sub(r"\\\g<0>", text)
    return text.replace("[", r"\[") if _LINKING.search(text) else text


def _escape_start(line: str) -> str:
    """Escape what would start a list, a heading, a quotation or a definition, or be an attribute of the line above.

    Also what would turn that into a heading.
    """
    match = _OPENING.match(line)
    if match is None:
        return line
    if match["digits"]:
        return f"{match['digits']}\\{line[match.start('stop') :]}"
    return f"\\{line}"


def prose_lines(text: str, markers: Sequence[Sequence[str]] = ()) -> list[str]:
    """Write a paragraph as source lines; its line ends become hard breaks.

    Args:
        text: the paragraph, with `PAGE_BREAK` at page breaks.
        markers: for each page break, the lines to insert.
    """
    result: list[str] = []
    waiting = iter(markers)
    lines = [line.strip() for line in escape(text).split("\n")]
    lines = [line for line in lines if line]
    for position, line in enumerate(lines):
        last = len(result)
        for number, part in enumerate(line.split(PAGE_BREAK)):
            if number:
                result.extend(next(waiting))
            if part.strip():
                result.append(_escape_start(part.strip()))
                last = len(result) - 1
        if position < len(lines) - 1 and last < len(result):
            result[last] += "  "
    return result


def heading_line(words: str, level: int, attributes: Mapping[str, str]) -> str:
    """Write a heading with at most six marks; attributes follow as `{: name="value"}`."""
    line = escape(" ".join(words.split()))
    line = _CLOSING_MARKS.sub(lambda match: "\\#" * len(match.group()), line)
    if line.endswith("}"):
        line = f"{line[:-1]}\\}}"
    attribute_list = " ".join(f'{name}="{value}"' for name, value in attributes.items())
    return f"{'#' * min(level, 6)} {line}" + (f" {{: {attribute_list}}}" if attribute_list else "")


def fence(text: str) -> list[str]:
    """Write code between fences that are longer than any run of their character in it."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    mark = "`" * max(3, longest + 1)
    return [mark, *text.split("\n"), mark]


def table_lines(text: str) -> list[str] | None:
    """Write a table whose text has rows `| a | b |`, with a rule as the second one; None if it is not such a table.

    Cells are escaped and rows padded to the longest; the result has one line for each line of the text.
    """
    lines = text.split("\n")
    if len(lines) < 2 or not all(line.startswith("|") for line in lines) or not _RULE.fullmatch(lines[1]):
        return None
    rows = [_cells(line) for line in lines]
    columns = max(len(row) for row in rows)
    written = [_row([*row, *[""] * (columns - len(row))]) for row in rows]
    written[1] = "|" + " --- |" * columns
    return written


def _cells(line: str) -> list[str]:
    cells = BAR.split(line.strip())[1:]
    if cells and not cells[-1].strip():
        cells.pop()
    return [cell.strip().replace("\\|", "|") for cell in cells]


def _row(cells: Sequence[str]) -> str:
    escaped = (escape(cell).replace("|", "\\|") for cell in cells)
    return "|" + "".join(f" {cell} |" if cell else " |" for cell in escaped)


_DEEPEST = 20
_ORDERED = re.compile(r"\d{1,9}[.)]")
_FOOTNOTE = re.compile(r"\[\^(?P<label>[^\s\[\]^]{1,40})\]\s+(?P<text>.*)", re.DOTALL)
_PLAIN_NUMBER = re.compile(r"\d{1,3}(?:\.\d{1,3})*|[A-Z](?:\.\d{1,3})+")
_SEPARATORS = " .):,;"
_NUMBERED = re.compile(
    r"\d|[A-Z](?:[.)]|\.\w)|[IVXLC]+[.)]|§"
    r"|(?:annex|appendix|attachment|chapter|section|clause|part|article|schedule)\b",
    re.IGNORECASE,
)


def page_marker(number: int) -> str:
    """Write the line that starts a page."""
    return f"<!-- page {number} -->"


def as_markdown(document: Document, *, pages: tuple[int, int] | None = None) -> str:
    """Write a document as Markdown.

    Args:
        document: as read.
        pages: first and last page to write, None for all; a paragraph partly on one of them is written whole.

    Returns:
        Markdown that ends with a line feed; empty if nothing is on these pages.
    """
    blocks = [
        block
        for block in _in_order_of_pages(document.blocks)
        if pages is None or any(pages[0] <= page <= pages[1] for page in block.pages)
    ]
    writer = _Writer(document, pages, blocks)
    for block in check_each(blocks):
        writer.block(block)
    return writer.text()


def _in_order_of_pages(blocks: Sequence[Block]) -> list[Block]:
    """Move text before what continues on later pages than its own, as long as no heading is between."""
    ordered: list[Block] = []
    for block in check_each(blocks):
        place = len(ordered)
        if block.pages and block.kind is not BlockKind.HEADING:
            while place and _runs_past(ordered[place - 1], block):
                place -= 1
        ordered.insert(place, block)
    return ordered


def _runs_past(above: Block, block: Block) -> bool:
    return above.kind is not BlockKind.HEADING and bool(above.pages) and above.pages[-1] > block.pages[0]


@dataclass(frozen=True, slots=True)
class _Item:
    """An open list item: the indentation of its content, and the marker of its list (a bullet, `.` or `)`)."""

    width: int
    sign: str


class _Writer:
    """Write blocks one after another."""

    def __init__(self, document: Document, pages: tuple[int, int] | None, blocks: Sequence[Block]) -> None:
        self._document = document
        self._runs = {page.number: page.own_runs for page in document.pages}
        numbers = self._runs.keys() | {page for block in document.blocks for page in block.pages}
        first, last = pages or (1, max(numbers, default=0))
        self._pages = [number for number in sorted(numbers) if first <= number <= last]
        self._begun = 0
        self._parts: list[str] = []
        self._tight = False
        self._items: list[_Item] = []
        self._levels = SectionLevels()
        sections = [each for each in map(self._opens, blocks) if each is not None]
        numbers = following_numbers([each.number for each in sections])
        self._following = dict(zip((each.heading for each in sections), numbers, strict=True))
        """The next number of a heading after each heading."""

    def text(self) -> str:
        """Return all that was written, followed by the remaining empty pages."""
        if not self._parts:
            return ""
        rest = [f"\n\n{marker}" for marker in self._markers(self._pages[-1] if self._pages else 0)]
        return "".join([*self._parts, *rest]) + "\n"

    def block(self, block: Block) -> None:
        """Write one block, preceded by the marker of its page."""
        if block.pages:
            for marker in self._markers(block.pages[0]):
                self._put([marker])
        words = block.span.of(self._document.text)
        if block.kind is not BlockKind.LIST_ITEM:
            self._items.clear()
        if (section := self._opens(block)) is not None:
            self._heading(section, words)
        elif block.kind is BlockKind.CODE:
            self._whole(block, words, fence)
        elif block.kind is BlockKind.TABLE and self._table(block, words):
            pass
        elif block.kind is BlockKind.LIST_ITEM:
            self._list_item(block, words)
        elif block.kind is BlockKind.QUOTE:
            self._whole(block, words, lambda text: [f"> {line}" for line in prose_lines(text)])
        elif block.kind is BlockKind.FOOTNOTE and (note := _FOOTNOTE.fullmatch(words)) and note["text"]:
            head = f"[^{note['label']}]: "
            self._put(_indent(head, 4, self._prose(block, note["text"], len(words) - len(note["text"]))))
        else:
            self._put(self._prose(block, words, 0))
        for marker in self._markers(block.pages[-1] if block.pages else 0):
            self._put([marker])

    def _opens(self, block: Block) -> Section | None:
        """Return the section whose heading a block is."""
        section = None if block.section is None else self._document.sections[block.section]
        is_heading = block.kind is BlockKind.HEADING and section is not None and section.heading == block.span
        return section if is_heading else None

    # ---- pages

    def _markers(self, until: int) -> list[str]:
        """Start all pages up to one that have not started."""
        markers: list[str] = []
        while self._begun < len(self._pages) and self._pages[self._begun] <= until:
            markers.append(page_marker(self._pages[self._begun]))
            self._begun += 1
        return markers

    def _breaks(self, block: Block) -> list[tuple[int, int]]:
        """List the offsets in a block's text where pages begin, with the pages; evenly spread if unknown."""
        length = len(block.span)
        breaks: list[tuple[int, int]] = []
        for position, number in enumerate(block.pages[1:], start=1):
            offsets = (run.start - block.span.start for run in self._runs.get(number, ()))
            offset = next((each for each in offsets if 0 < each < length), length * position // len(block.pages))
            breaks.append((max(offset, breaks[-1][0] if breaks else 1), number))
        return breaks

    def _prose(self, block: Block, words: str, skipped: int) -> list[str]:
        """Write a paragraph, with markers at page breaks; the first `skipped` characters are left out."""
        markers: list[list[str]] = []
        pieces: list[str] = []
        begin = 0
        for offset, number in self._breaks(block):
            gap = _gap(words, max(offset - skipped, begin + 1))
            if gap is None or gap[0] <= begin:
                break  # breaks without a position inside follow the block
            lines = self._markers(number)
            if not lines:
                continue
            markers.append(lines)
            pieces.append(words[begin : gap[0]])
            pieces.append(f"\n{PAGE_BREAK}" if "\n" in words[gap[0] : gap[1]] else PAGE_BREAK)
            begin = gap[1]
        return prose_lines("".join([*pieces, words[begin:]]), markers)

    def _whole(self, block: Block, words: str, write: Callable[[str], list[str]]) -> None:
        """Write a block that cannot contain a marker, preceded by the markers of all its pages."""
        begin = 0
        for offset, number in self._breaks(block):
            is_code = block.kind is BlockKind.CODE
            end = words.rfind("\n", begin, offset) + 1 if is_code else (_gap(words, offset) or (0, 0))[0]
            if end <= begin or not words[begin:end].strip() or not words[end:].strip():
                continue
            self._put(write(words[begin:end].strip("\n")))
            for marker in self._markers(number):
                self._put([marker])
            begin = end
        self._put(write(words[begin:].strip("\n")))

    # ---- blocks

    def _heading(self, section: Section, words: str) -> None:
        attributes: dict[str, str] = {}
        keyword = split_clause_number(" ".join(words.split())).keyword if section.number else ""
        title = NumberedTitle(section.number, section.title, keyword=keyword)
        if section.level != self._levels.of(title, min(section.level, MOST_MARKS), self._following[section.heading]):
            attributes["level"] = str(section.level)
        if _misleads(section, " ".join(words.split())):
            attributes["number"] = section.number or ""
        self._levels.open(title, section.level)
        self._put([heading_line(words, section.level, attributes)])

    def _list_item(self, block: Block, words: str) -> None:
        depth = min(block.depth, len(self._items), _DEEPEST)
        own = words[len(block.marker) :] if block.marker and words.startswith(block.marker) else words
        if not block.marker and len(self._items) > depth:  # a further paragraph of the item above
            del self._items[depth + 1 :]
            indent = sum(item.width for item in self._items)
            self._put(_indent(" " * indent, indent, self._prose(block, words, 0)))
            return
        if not any(character.isalnum() for character in words) and not own.strip():
            return  # a bullet without text
        if _ORDERED.fullmatch(block.marker) and own.strip():
            label, sign = block.marker, block.marker[-1]
        else:
            label, sign = "-", "-"
            if not own.strip() or any(character.isalnum() for character in block.marker):
                own = words
        lead = len(own) - len(own.lstrip())
        del self._items[depth + 1 :]
        same_list = len(self._items) > depth and self._items[depth].sign == sign
        below = len(self._items) == depth and sign == "-" and depth > 0
        del self._items[depth:]
        indent = sum(item.width for item in self._items)
        self._items.append(_Item(len(label) + 1, sign))
        head = f"{' ' * indent}{label} "
        lines = self._prose(block, own[lead:], len(words) - len(own) + lead)
        self._put(_indent(head, len(head), lines), tight=self._tight and (same_list or below))
        self._tight = True

    def _table(self, block: Block, words: str) -> bool:
        lines = table_lines(words)
        if lines is None:
            return False
        written: list[str] = []
        begin = 0
        for offset, number in self._breaks(block):
            row = max(words.count("\n", 0, offset), 2)
            if row >= len(lines) or row <= begin:
                continue
            written.extend(lines[begin:row])
            written.extend(self._markers(number))
            begin = row
        self._put([*written, *lines[begin:]])
        return True

    def _put(self, lines: Sequence[str], *, tight: bool = False) -> None:
        if lines:
            if self._parts:
                self._parts.append("\n" if tight else "\n\n")
            self._parts.append("\n".join(lines))
        self._tight = False


def _gap(words: str, offset: int) -> tuple[int, int] | None:
    """Find the whitespace nearest to an offset, the next before the last; None if there is none inside."""
    after = re.compile(r"\s+").search(words, max(offset - 1, 1))
    if after is not None and after.end() < len(words):
        return after.span()
    before = list(re.finditer(r"\s+", words[:offset]))
    return before[-1].span() if before and before[-1].start() > 0 else None


def _indent(head: str, width: int, lines: Sequence[str]) -> list[str]:
    """Prefix the first line, and indent the others by the width of the prefix."""
    return [f"{head}{line}" if number == 0 else f"{' ' * width}{line}" for number, line in enumerate(lines)]


def _misleads(section: Section, line: str) -> bool:
    """Return whether the number must be written, because the heading's words would imply another one."""
    number = section.number
    if number is None:
        return section.title == line and _NUMBERED.match(line) is not None
    if '"' in number or any(sign in number for sign in "{}") or not line.startswith(number):
        return False
    title = section.title
    if _PLAIN_NUMBER.fullmatch(number) and line == f"{number} {title}" and title[:1].isalpha() and "(" not in title:
        return False
    return (line[len(number) :].lstrip(_SEPARATORS) or line) == title
