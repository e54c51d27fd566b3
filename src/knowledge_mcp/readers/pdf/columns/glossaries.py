"""Glossaries and lists of abbreviations without ruling lines, in two columns or with hanging terms.

They are looked for only below headings that announce them: there, the words show that what is side by side belongs
together.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from knowledge_mcp.language.clauses import SectionRole, role_of_title
from knowledge_mcp.language.glossary.terms import entry_number
from knowledge_mcp.language.openings import mark_alone, opening_of
from knowledge_mcp.readers.pdf.headings.entries import is_ended, right_edges
from knowledge_mcp.readers.pdf.headings.numbered import Heading
from knowledge_mcp.readers.shared.layout import Line, PageLayout, Table, is_figures, lines_of

_ROLES = frozenset({SectionRole.DEFINITIONS, SectionRole.ABBREVIATIONS})
_NEAR = 3.0
"""Maximum distance in points between the left edges of the lines of one column."""
_PAGES = re.compile(r"[,.\s]\s?\d{1,4}(?:[–-]\d{1,4})?\Z")
_COLUMNS = 2
_MANY = 5
"""Minimum number of hanging terms in a glossary: the widest gaps of a few justified lines may be equal by chance."""
_SEPARATES = ":–—-="
"""Signs between a term and its meaning, which need no other separation."""
_SAME_GAP = 0.3
_SHARE_OF_TERMS = 0.7
_LONGEST_TERM = 8
_FEWEST = 3
_SHARE = 0.5
"""Minimum share of the left column's lines with something next to them: meanings wrap, terms seldom do."""
_SPACED = 1.2
"""Factor of the usual line pitch above which a step separates two rows."""
_MOST = 0.6
"""Share of the steps between terms that must be wide if space separates the rows; the others are within long terms."""
_SMALLEST_GAP = 0.8
"""Minimum gap between two columns as a factor of the font size; a justified line has gaps of half of it."""


@dataclass(slots=True)
class _Piece:
    """One printed row of the page, with its left and its right column."""

    page: int
    left: Line | None
    right: Line | None
    lines: list[Line] = field(default_factory=list[Line])

    @property
    def top(self) -> float:
        return self.lines[0].y0


def take_columns(pages: Sequence[PageLayout], headings: Sequence[Heading]) -> dict[int, bool]:
    """Replace glossaries in two columns by tables, in place, one for each page that they cover.

    Terms that hang to the left of their meanings in the same line become lines of their own. Return which lines then
    begin a paragraph, by id.

    A table of two columns that the engine found is read again if lines of the same glossary are next to it.
    """
    starts = {id(heading.lines[0]): heading for heading in headings}
    inside = {id(line) for heading in headings for line in heading.lines}
    region: list[tuple[PageLayout, Line]] = []
    loose: set[int] = set()
    begins: dict[int, bool] = {}
    is_open, level = False, 0
    for page in pages:
        for element in list(page.elements):
            if isinstance(element, Line) and id(element) in starts:
                begins |= _settle(region, loose)
                region = []
                heading = starts[id(element)]
                if not is_open or heading.level <= level:
                    is_open, level = role_of_title(heading.title) in _ROLES, heading.level
            elif is_open and isinstance(element, Line) and id(element) not in inside and not element.rotated:
                region.append((page, element))
                loose.add(id(element))
            elif is_open and isinstance(element, Table) and len(element.rows[0]) == _COLUMNS:
                region += [(page, line) for line in element.lines]
    return begins | _settle(region, loose)


def _settle(region: Sequence[tuple[PageLayout, Line]], loose: Collection[int]) -> dict[int, bool]:
    """Replace the lines of one section by tables if they form two columns."""
    if any(entry_number(line.text) for _, line in region):
        return {}
    edge = _edge([line for _, line in region])
    if edge is None:
        return _part_hanging([(page, line) for page, line in region if id(line) in loose])
    runs: list[tuple[PageLayout, list[_Piece]]] = []
    for _, some in itertools.groupby(region, key=lambda pair: pair[0].number):
        pairs = list(some)
        runs += [(pairs[0][0], run) for run in _runs([line for _, line in pairs], edge)]
    if sum(map(_is_indexed, pieces := [piece for _, run in runs for piece in run])) > _SHARE * len(pieces):
        return {}
    if all(piece.left is None or mark_alone(piece.left.text) is not None for piece in pieces):
        return {}  # the text next to a list marker is not its meaning
    step = _spacing([run for _, run in runs])
    edges = right_edges([line for _, line in region])
    if not any(piece.right is not None and id(piece.lines[0]) in loose for _, run in runs for piece in run):
        return {}
    last: Table | None = None
    for page, run in runs:
        taken = {id(line) for piece in run for line in piece.lines}
        if not _cuts_table(page, taken):
            previous = last if last is not None and last.page == page.number - 1 else None
            table = _table(run, previous, step, edges)
            _replace(page, taken, table)
            last = table or last
    return {}


def _part_hanging(region: Sequence[tuple[PageLayout, Line]]) -> dict[int, bool]:
    """Split the lines of entries with hanging terms: before equal gaps, or set in other print than the meanings."""
    left = min((line.x0 for _, line in region), default=0.0)
    firsts = [line for _, line in region if line.x0 < left + _NEAR]
    gaps = Counter(round(line.gap, 1) for line in firsts if line.split is not None)
    usual = max(gaps, key=lambda gap: (gaps[gap], gap), default=0.0)
    cut = {
        id(line): line.split
        for line in firsts
        if line.split is not None and abs(line.gap - usual) < _SAME_GAP and _is_term(line.text[: line.split[0]])
    }
    inner = [line for _, line in region if line.x0 >= left + _NEAR]
    by_print = len(cut) < max(_MANY, _SHARE_OF_TERMS * len(firsts)) or not inner
    if by_print:
        cut = _by_print(firsts)
    if not cut:
        return {}
    begins = {id(line): True for line in firsts if not by_print}
    for page in {id(page): page for page, _ in region}.values():
        elements: list[Line | Table] = []
        for element in page.elements:
            split = cut.get(id(element)) if isinstance(element, Line) else None
            if isinstance(element, Table) or split is None:
                elements.append(element)
                continue
            at, x = split
            term = _cut(element, element.text[:at].rstrip(), element.x0, min(x, x - element.gap))
            words = _cut(element, element.text[at:].lstrip(), x, element.x1)
            elements += [term, words]
            begins |= {id(term): True, id(words): True}
        page.elements = elements
    return begins


def _by_print(firsts: Sequence[Line]) -> dict[int, tuple[int, float]]:
    """Return where the meaning begins in lines that begin with a term in bold or italics; empty if few do."""
    cut = {
        id(line): (line.lead, line.x0 + (line.x1 - line.x0) * line.lead / len(line.text))
        for line in firsts
        if 0 < line.lead < len(line.text.rstrip())
        and _is_term(line.text[: line.lead])
        and line.text[line.lead :].lstrip()[0] not in _SEPARATES
        and opening_of(line.text) is None
    }
    return cut if len(cut) >= max(_MANY, _SHARE_OF_TERMS * len(firsts)) else {}


def _is_term(words: str) -> bool:
    is_named = any(map(str.isalnum, words)) and words.rstrip()[-1] not in ".,;:"
    return is_named and len(words.split()) <= _LONGEST_TERM


def _is_indexed(piece: _Piece) -> bool:
    """Return whether a row is an entry of an index: page numbers follow it, or are next to it."""
    left, right = (half.text if half is not None else "" for half in (piece.left, piece.right))
    return is_figures(right) or _PAGES.search(left) is not None


def _cuts_table(page: PageLayout, taken: Collection[int]) -> bool:
    """Return whether only part of a table would be taken."""
    tables = (element for element in page.elements if isinstance(element, Table))
    return any(0 < sum(id(line) in taken for line in table.lines) < len(table.lines) for table in tables)


def _edge(lines: Sequence[Line]) -> float | None:
    """Find the left edge of the right column; None if the lines are not in two columns."""
    left = min((line.x0 for line in lines), default=0.0)
    rights: Counter[int] = Counter()
    for line in lines:
        if line.split is not None and line.gap >= _SMALLEST_GAP * line.size and line.x0 < left + _NEAR:
            rights[round(line.split[1])] += 1
        elif line.x0 > left + _NEAR:
            rights[round(line.x0)] += any(_beside(line, other) for other in lines if other.x0 < left + _NEAR)
    if not rights:
        return None
    best = max(rights, key=lambda x: (sum(rights[x + shift] for shift in (-1, 0, 1)), x))
    rows = sum(rights[best + shift] for shift in (-2, -1, 0, 1, 2))
    terms = sum(line.x0 < left + _NEAR for line in lines)
    return float(best) if rows >= _FEWEST and rows >= _SHARE * terms else None


def _beside(line: Line, other: Line) -> bool:
    return line.page == other.page and line.is_beside(other) and other.x1 < line.x0


def _runs(lines: Sequence[Line], edge: float) -> list[list[_Piece]]:
    """Read the lines of one page row by row; a line across both columns separates two runs."""
    runs: list[list[_Piece]] = [[]]
    for line in sorted(lines, key=lambda line: (round(line.y0 / 3), line.x0)):
        left, right = _halves(line, edge)
        found = runs[-1]
        if left is None and right is None:
            runs.append([])
        elif (
            right is not None
            and left is None
            and found
            and found[-1].right is None
            and _beside(right, found[-1].lines[0])
        ):
            found[-1].right = right
            found[-1].lines.append(line)
        else:
            found.append(_Piece(line.page, left, right, [line]))
    return [run for run in map(_without_introduction, runs) if run]


def _without_introduction(run: list[_Piece]) -> list[_Piece]:
    """Omit rows with only a left column before the first row that has a right one."""
    first = next((place for place, piece in enumerate(run) if piece.right is not None), len(run))
    return run[first:]


def _halves(line: Line, edge: float) -> tuple[Line | None, Line | None]:
    """Split a line at the edge of the right column; both halves are None if it runs across."""
    if abs(line.x0 - edge) <= _NEAR:
        return None, line
    if line.split is not None and abs(line.split[1] - edge) <= _NEAR:
        at, x = line.split
        words = line.text[:at].rstrip()
        return _cut(line, words, line.x0, x - line.gap), _cut(line, line.text[at:].lstrip(), x, line.x1)
    return (line, None) if line.x1 < edge - 1 and line.x0 < edge else (None, None)


def _cut(line: Line, text: str, x0: float, x1: float) -> Line:
    return Line(line.page, text, x0, line.y0, x1, line.y1, line.size, line.bold, line.font)


def _table(pieces: Sequence[_Piece], above: Table | None, step: float | None, edges: dict[int, float]) -> Table | None:
    """Join rows that wrap; what continues from the previous page is added to the table there."""
    lefts = [piece.left for piece in pieces if piece.left is not None]
    edges = edges | dict.fromkeys(right_edges(lefts), max((line.x1 for line in lefts), default=0.0))
    rows: list[list[str]] = []
    carried: list[Line] = []
    for place, piece in enumerate(pieces):
        before = pieces[place - 1] if place else None
        wraps = piece.left is None or (before is not None and _wraps(before, piece, step, edges))
        if wraps and not rows and above is not None:
            above.rows[-1] = _joined(above.rows[-1], piece)
            above.lines.extend(piece.lines)
            carried += piece.lines
        elif wraps and rows:
            rows[-1] = _joined(rows[-1], piece)
        else:
            rows.append(_joined(["", ""], piece))
    gone = {id(line) for line in carried}
    lines = [line for piece in pieces for line in piece.lines if id(line) not in gone]
    return Table(pieces[0].page, rows, lines) if rows else None


def _spacing(pages: Sequence[Sequence[_Piece]]) -> float | None:
    """Return the line pitch within a row if space separates the rows, else 0; None if no meaning wraps."""
    steps = [(other.top - one.top, other.left is None) for pieces in pages for one, other in itertools.pairwise(pieces)]
    inner = Counter(round(step) for step, within in steps if within)
    if not inner:
        return None
    usual = min(inner, key=lambda points: (-inner[points], points))
    outer = [step for step, within in steps if not within]
    apart = sum(step > _SPACED * usual for step in outer)
    return float(usual) if apart > _MOST * len(outer) else 0.0


def _wraps(before: _Piece, piece: _Piece, step: float | None, edges: dict[int, float]) -> bool:
    """Return whether a row is the second line of a term, not the next term."""
    if before.left is None or piece.left is None:
        return False
    if step:
        return piece.top - before.top <= _SPACED * step
    if step is None and piece.right is not None:
        return False
    if before.right is not None and piece.right is not None and is_ended(before.right, piece.right, edges):
        return False
    return not is_ended(before.left, piece.left, edges)


def _joined(row: Sequence[str], piece: _Piece) -> list[str]:
    halves = [piece.left.text if piece.left else "", piece.right.text if piece.right else ""]
    return [" ".join(filter(None, pair)) for pair in zip(row, halves, strict=True)]


def _replace(page: PageLayout, taken: set[int], table: Table | None) -> None:
    elements: list[Line | Table] = []
    placed = table is None
    for element in page.elements:
        lines = lines_of(element)
        if not any(id(line) in taken for line in lines):
            elements.append(element)
        elif not placed and table is not None:
            elements.append(table)
            placed = True
    page.elements = elements
