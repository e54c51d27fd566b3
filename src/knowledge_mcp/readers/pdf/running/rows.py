"""The rows of pages, and how far lines in the margins are off the text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice, pairwise

from knowledge_mcp.readers.pdf.headings.candidates import Body
from knowledge_mcp.readers.shared.layout import Line, PageLayout

ROW = 3
"""Points by which lines of one row differ in height: at their tops or, where they differ in size, at their feet."""
NEAR = 1.6
"""Pitches of the text up to which a row belongs to it: a blank line makes two. Of the heads and feet of 168 public PDFs
that are not text two are nearer."""
_WIDEST, _LOCAL = 2.0, 8
"""Sizes of print that lines of running text are apart at most, and rows next to a margin that tell a page's own pitch:
those of forms and tables are farther apart."""
_SPARSE = 2.5
"""Pitches of the text that rows of forms are apart at most; farther apart are the few words of a cover or a slide."""


class Rows:
    """Know the rows of each page, from the top, and what of them is text.

    Args:
        pages: of the document.
        body: what its text is set in.
        gone: ids of the lines that are no text; the collection may grow and shrink.
    """

    def __init__(self, pages: Sequence[PageLayout], body: Body, gone: Collection[int]) -> None:
        self._gone = gone
        self._rows = {page.number: _rows_of(page.all_lines) for page in pages}
        self._places = {id(line): at for rows in self._rows.values() for at, row in enumerate(rows) for line in row}
        self._pitch = _pitch(pages, body)

    def is_text(self, line: Line) -> bool:
        """Tell whether a line is text, as far as that is known by now."""
        return id(line) not in self._gone

    def inwards(self, page: PageLayout, zone: str, line: Line | None = None) -> Iterator[list[Line]]:
        """Yield a page's rows from a margin inwards, or those behind the row of a line."""
        rows = self._rows[page.number]
        at = self._places[id(line)] if line is not None else -1 if zone == "top" else len(rows)
        yield from (rows[place] for place in (range(at + 1, len(rows)) if zone == "top" else range(at - 1, -1, -1)))

    def of(self, page: PageLayout, line: Line) -> list[Line]:
        """Return the row that a line stands in."""
        return self._rows[page.number][self._places[id(line)]]

    def outermost(self, page: PageLayout, zone: str) -> list[Line]:
        """Return what is text of the outermost row that has any; empty where none has."""
        return self._first_text(self.inwards(page, zone))

    def neighbour(self, page: PageLayout, line: Line, zone: str) -> list[Line]:
        """Return what is text of the row next to a line's, farther from the margin; empty where there is none."""
        return self._first_text(self.inwards(page, zone, line))

    def has_inner(self, page: PageLayout, line: Line, zone: str) -> bool:
        """Tell whether a row of lines that are no text stands between a line and the text of its page."""
        row = next(self.inwards(page, zone, line), None)
        return row is not None and not self._text_of(row)

    def outer(self, page: PageLayout, line: Line, zone: str) -> list[Line]:
        """Return the next row that is closer to the paper's edge; empty where there is none."""
        return next(self.inwards(page, "bottom" if zone == "top" else "top", line), list[Line]())

    def outer_distance(self, page: PageLayout, line: Line, zone: str) -> float | None:
        """Measure how far the row is off that is closer to the paper's edge, in pitches; None where there is none."""
        row = self.outer(page, line, zone)
        return abs(line.y0 - row[0].y0) / self._local(page, zone) if row else None

    def distance(self, page: PageLayout, line: Line, zone: str) -> float | None:
        """Measure how far the text is from a line in a margin, in pitches; None where there is no text."""
        row = self.neighbour(page, line, zone)
        return abs(row[0].y0 - line.y0) / self._local(page, zone) if row else None

    def _first_text(self, rows: Iterable[list[Line]]) -> list[Line]:
        return next((text for row in rows if (text := self._text_of(row))), list[Line]())

    def _text_of(self, row: Sequence[Line]) -> list[Line]:
        return [line for line in row if id(line) not in self._gone]

    def _local(self, page: PageLayout, zone: str) -> float:
        """Return the pitch of a page's text next to a margin: at least that of the document's text."""
        text = (row[0].y0 for row in self.inwards(page, zone) if any(id(line) not in self._gone for line in row))
        gaps = sorted(abs(other - one) for one, other in pairwise(islice(text, _LOCAL + 1)))
        return min(max(self._pitch, gaps[len(gaps) // 4] if gaps else 0.0), _SPARSE * self._pitch)


def _rows_of(lines: Sequence[Line]) -> list[list[Line]]:
    rows: list[list[Line]] = []
    for line in sorted((line for line in lines if not line.rotated), key=lambda line: line.y0 + line.y1):
        beside = rows[-1][0] if rows else None
        if beside is not None and min(abs(line.y0 - beside.y0), abs(line.y1 - beside.y1)) <= ROW:
            rows[-1].append(line)
        else:
            rows.append([line])
    return rows


def _pitch(pages: Sequence[PageLayout], body: Body) -> float:
    """Measure how far lines of running text are apart, in points."""
    found: Counter[int] = Counter()
    for page in pages:
        for one, other in pairwise(page.lines):
            step = other.y0 - one.y0
            if (
                one.size == other.size == body.size
                and abs(one.x0 - other.x0) < ROW
                and 0 < step < 2 * _WIDEST * body.size
            ):
                found[round(step)] += 1
    usual = found.most_common(1)[0][0] if found else 1.2 * body.size
    return min(float(usual), _WIDEST * body.size)
