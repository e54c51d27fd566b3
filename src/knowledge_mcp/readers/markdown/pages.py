"""Page markers in Markdown: lines that state on which page the following text is, and are not text themselves.

`<!-- page 3 -->`, or `<!-- Slide number: 3 -->`, alone on its line, begins page 3. Between two lines of a paragraph or
two rows of a table it marks a page break, and the paragraph or table continues; anywhere else it acts as a blank line.
In code it is code.

The marks of programs that convert print are taken too: `{2}` and 48 hyphens before the third page (Marker), `--- end of
page=2 ---` after it (PyMuPDF4LLM), `<!-- PageBreak -->` between pages, of which the first may have any number, beside
`<!-- PageNumber="iv" -->` and the like, and `<!-- InputPageNumber: 3 -->` (Azure).
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from markdown_it.token import Token

BREAK = "\x01"
"""Marks a page break in a paragraph until its text, which has no control characters, is taken over."""

_MARKER = re.compile(
    r"[ \t]*<!--[ \t]*(?:page|(?:slide[ \t]+number|inputpagenumber):)[ \t]*([1-9]\d{0,5})[ \t]*-->[ \t]*", re.IGNORECASE
)
_BEGIN = re.compile(r"\{(\d{1,6})\}-{48}")
_END = re.compile(r"--- end of page(\.page_number)?=(\d{1,6}) ---")
_BETWEEN = "<!-- PageBreak -->"
_AROUND = re.compile(r"<!-- Page(?:Number|Header|Footer)=\"[^\"\n]*+\" -->")
_MARK = "<!-- page {} -->"
_SIGNS = ("<!--", "}------", "--- end of page")
"""What a text with marks has; most texts have none, and their lines are not looked at."""
_RAW_HTML = re.compile(r"[ \t]*<(?:pre|script|style|textarea)\b", re.IGNORECASE)
_DELIMITERS = re.compile(r"(?=[ \t:|]*-)[ \t:|-]*+")


@dataclass(slots=True)
class PageLines:
    """The page of each source line.

    Attributes:
        numbers: the pages that begin, ascending; empty if there are no markers.
        begins: the source line of each page's marker; all lines count from 0.
        origins: the source line of each line of the parsed text; empty if they are the same.
        broken: source lines of table rows before which a page breaks.
        warnings: which markers were ignored.
    """

    numbers: list[int] = field(default_factory=list[int])
    begins: list[int] = field(default_factory=list[int])
    origins: list[int] = field(default_factory=list[int])
    broken: list[int] = field(default_factory=list[int])
    warnings: list[str] = field(default_factory=list[str])

    def original(self, line: int) -> int:
        """Return the source line of a line of the parsed text."""
        return self.origins[line] if line < len(self.origins) else line

    def on(self, first: int, last: int) -> tuple[int, ...]:
        """Return the pages of the source lines `first..last`."""
        if not self.numbers:
            return ()
        begun = bisect_right(self.begins, first) - 1
        until = bisect_right(self.begins, last) - 1
        # of adjacent markers, only the last one has text
        pages = [k for k in range(begun + 1, until + 1) if k == until or self.begins[k + 1] > self.begins[k] + 1]
        return tuple(self.numbers[k] for k in ([begun] if begun >= 0 else []) + pages)

    def breaks_before(self, line: int) -> bool:
        """Return whether a page breaks within a table directly before the row on a source line."""
        place = bisect_left(self.broken, line)
        return place < len(self.broken) and self.broken[place] == line


def without_markers(text: str, parse: Callable[[str], Sequence[Token]]) -> tuple[str, PageLines]:
    """Remove the page markers from a text.

    Args:
        text: Markdown.
        parse: returns its block tokens.

    Returns:
        The text to be parsed, unchanged if there are no markers; and the pages.
    """
    if not any(sign in text for sign in _SIGNS):
        return text, PageLines()
    lines = text.split("\n")
    found = {k: int(m.group(1)) for k, line in enumerate(lines) if (m := _MARKER.fullmatch(line))}
    first, originals = 0, dict[int, str]()
    if not found:
        first, found = _converted(lines, text)
        originals = {line: lines[line] for line in found}
        for line in found:
            lines[line] = _MARK.format(found[line])
    if not (found or first):
        return text, PageLines()
    tokens = parse("\n".join(lines))
    literal, html = _regions(tokens, lines)
    for line in literal & originals.keys():
        lines[line] = originals[line]
    found = {line: number for line, number in found.items() if line not in literal}
    marks = PageLines([first], [-1]) if first else PageLines()
    followed = _follow(found, marks)
    _rewrite(lines, found, followed, _continued(tokens, lines, found), html, marks)
    return "\n".join(lines), marks


def _converted(lines: list[str], text: str) -> tuple[int, dict[int, int]]:
    """Return the page before the first mark of a program, 0 if unknown, and the pages that begin at others."""
    begin = {k: int(m[1]) + 1 for k, line in enumerate(lines) if line[:1] == "{" and (m := _BEGIN.fullmatch(line))}
    if begin:
        return 0, begin
    end = {
        k: int(m[2]) + (m[1] is None)
        for k, line in enumerate(lines)
        if line[:3] == "---" and (m := _END.fullmatch(line))
    }
    if end:
        places, numbers = [*end], [*end.values()]
        lines[places[-1]] = ""
        return numbers[0], dict(zip(places, numbers[1:], strict=False))
    between = [k for k, line in enumerate(lines) if line.strip() == _BETWEEN]
    if between and _AROUND.search(text):
        return 1, {line: number for number, line in enumerate(between, start=2)}
    return 0, {}


def _follow(found: dict[int, int], marks: PageLines) -> set[int]:
    """Record the markers whose numbers ascend, and warn about the others; return the lines of those recorded."""
    followed: set[int] = set()
    for line, number in found.items():
        if marks.numbers and number <= marks.numbers[-1]:
            marks.warnings.append(
                f"A marker of page {number} comes after page {marks.numbers[-1]} has begun; it was ignored."
            )
            continue
        marks.numbers.append(number)
        marks.begins.append(line)
        followed.add(line)
    return followed


def _regions(tokens: Sequence[Token], lines: Sequence[str]) -> tuple[set[int], set[int]]:
    """Return the lines in which a marker is code or part of a comment, and the lines of other HTML blocks."""
    literal: set[int] = set()
    html: set[int] = set()
    for token in tokens:
        if token.map is None:
            continue
        if token.type in {"fence", "code_block"}:
            literal.update(range(*token.map))
        elif token.type == "html_block":
            opening = lines[token.map[0]]
            if _RAW_HTML.match(opening):
                literal.update(range(*token.map))
            elif opening.lstrip().startswith("<!--"):
                literal.update(range(token.map[0] + 1, token.map[1]))
            else:
                html.update(range(*token.map))
    return literal, html


def _continued(tokens: Sequence[Token], lines: Sequence[str], found: dict[int, int]) -> dict[int, bool]:
    """Find the markers inside a paragraph (False) or a table (True)."""
    inside: dict[int, bool] = {}
    for index, token in enumerate(tokens):
        if token.type == "inline" and token.map is not None:
            inside.update((line, False) for line in range(*token.map) if line in found)
        if token.map is None or token.type != "html_block" or token.map[0] not in found:
            continue
        before, after = index - 1, index + 1
        while before >= 0 and _is_marker(tokens[before], found):
            before -= 1
        while after < len(tokens) and _is_marker(tokens[after], found):
            after += 1
        if before < 0 or after >= len(tokens) or tokens[before].level != tokens[after].level:
            continue
        start = tokens[after].map
        first, last = token.map[0], token.map[0]
        while first - 1 in found:
            first -= 1
        while last + 1 in found:
            last += 1
        follows = tokens[after].type == "paragraph_open" and start is not None and start[0] == last + 1
        if not follows or _end_of(tokens, before) != first:
            continue
        kind = tokens[before].type
        if kind == "paragraph_close" or (kind == "table_close" and _is_row(lines, last + 1)):
            inside[token.map[0]] = kind == "table_close"
    return inside


def _is_marker(token: Token, found: dict[int, int]) -> bool:
    return token.type == "html_block" and token.map is not None and token.map[0] in found


def _end_of(tokens: Sequence[Token], close: int) -> int | None:
    """Return the line after the block that a closing token ends, None for blocks that cannot contain markers."""
    token = tokens[close]
    if token.type not in {"paragraph_close", "table_close"}:
        return None
    opening = token.type.replace("close", "open")
    for place in range(close - 1, -1, -1):
        other = tokens[place]
        if other.type == opening and other.level == token.level:
            return other.map[1] if other.map is not None else None
    return None


def _is_row(lines: Sequence[str], line: int) -> bool:
    """Return whether a line is a row that continues a table, not text or the header of the next table."""
    if not lines[line].lstrip().startswith("|"):
        return False
    return line + 1 >= len(lines) or _DELIMITERS.fullmatch(lines[line + 1]) is None


def _rewrite(
    lines: list[str],
    found: dict[int, int],
    followed: set[int],
    continued: dict[int, bool],
    html: set[int],
    marks: PageLines,
) -> None:
    """Blank or remove the markers, in place; where the block continues, record the break before the next line."""
    kept: list[str] = []
    pending: bool | None = None
    for line, words in enumerate(lines):
        if line in found and line in continued:
            if line in followed:
                pending = continued[line]
            continue
        if line in found and line not in html:
            kept.append("")
        elif pending is None:
            kept.append(words)
        elif pending:
            marks.broken.append(line)
            kept.append(words)
        else:
            indent = len(words) - len(words.lstrip(" \t"))
            kept.append(f"{words[:indent]}{BREAK}{words[indent:]}")
        pending = None
        marks.origins.append(line)
    lines[:] = kept
