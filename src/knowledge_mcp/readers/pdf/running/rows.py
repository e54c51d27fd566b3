"""The rows of pages, and the distance of lines in the margins from the text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice, pairwise

from knowledge_mcp.readers.pdf.headings.candidates import Body
from knowledge_mcp.readers.shared.layout import Line, PageLayout

ROW = 3
"""Maximum height difference in points between lines of one row: at the top or, if sizes differ, at the bottom."""
NEAR = 1.6
"""Distance in line pitches up to which a row belongs to the text: an empty line makes two. Of the headers and footers
of 168 public PDFs two are nearer."""
_WIDEST, _LOCAL = 2.0, 8
"""Maximum distance between lines of running text as a factor of the font size, and number of rows next to a margin that
determine a page's own line pitch: that of forms and tables is larger."""
_SPARSE = 2.5
"""Maximum line pitch of forms as a factor of that of the text; the few words of a cover or a slide are farther
apart."""


class Rows:
    """The rows of each page, from the top, and which of them are text.

    Args:
        pages: of the document.
        body: style of its text.
        gone: ids of the lines that are not text; the collection may grow and shrink.
    """

    def __init__(self, pages: Sequence[PageLayout], body: Body, gone: Collection[int]) -> None:
        self._gone = gone
        self._rows = {page.number: _rows_of(page.all_lines) for page in pages}
        self._places = {id(line): at for rows in self._rows.values() for at, row in enumerate(rows) for line in row}
        self._pitch = _pitch(pages, body)

    def is_text(self, line: Line) -> bool:
        """Return whether a line is text, as far as is known."""
        return id(line) not in self._gone

    def inwards(self, page: PageLayout, zone: str, line: Line | None = None) -> Iterator[list[Line]]:
        """Yield a page's rows from a margin inwards, or those after the row of a line."""
        rows = self._rows[page.number]
        at = self._places[id(line)] if line is not None else -1 if zone == "top" else len(rows)
        yield from (rows[place] for place in (range(at + 1, len(rows)) if zone == "top" else range(at - 1, -1, -1)))

    def of(self, page: PageLayout, line: Line) -> list[Line]:
        """Return the row of a line."""
        return self._rows[page.number][self._places[id(line)]]

    def outermost(self, page: PageLayout, zone: str) -> list[Line]:
        """Return the text of the outermost row that has any; empty if none has."""
        return self._first_text(self.inwards(page, zone))

    def neighbour(self, page: PageLayout, line: Line, zone: str) -> list[Line]:
        """Return the text of the next row with text, farther from the margin than a line; empty if there is none."""
        return self._first_text(self.inwards(page, zone, line))

    def has_inner(self, page: PageLayout, line: Line, zone: str) -> bool:
        """Return whether a row of running lines is between a line and the text of its page."""
        row = next(self.inwards(page, zone, line), None)
        return row is not None and not self._text_of(row)

    def outer(self, page: PageLayout, line: Line, zone: str) -> list[Line]:
        """Return the next row closer to the paper's edge; empty if there is none."""
        return next(self.inwards(page, "bottom" if zone == "top" else "top", line), list[Line]())

    def outer_distance(self, page: PageLayout, line: Line, zone: str) -> float | None:
        """Return the distance to the next row closer to the paper's edge, in line pitches; None if there is none."""
        row = self.outer(page, line, zone)
        return abs(line.y0 - row[0].y0) / self._local(page, zone) if row else None

    def distance(self, page: PageLayout, line: Line, zone: str) -> float | None:
        """Return the distance from a line in a margin to the text, in line pitches; None if there is no text."""
        row = self.neighbour(page, line, zone)
        return abs(row[0].y0 - line.y0) / self._local(page, zone) if row else None

    def _first_text(self, rows: Iterable[list[Line]]) -> list[Line]:
        return next((text for row in rows if (text := self._text_of(row))), list[Line]())

    def _text_of(self, row: Sequence[Line]) -> list[Line]:
        return [line for line in row if id(line) not in self._gone]

    def _local(self, page: PageLayout, zone: str) -> float:
        """Return the line pitch of a page's text next to a margin: at least that of the document's text."""
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
    """Return the line pitch of running text, in points."""
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
