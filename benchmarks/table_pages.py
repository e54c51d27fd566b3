"""Draw PDF pages with tables of known cells for `benchmarks.tables`."""

from __future__ import annotations

import io
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = ["HEIGHT", "LEFT", "RIGHT", "TABLES", "Case", "Cell", "Page"]

WIDTH, HEIGHT = 595.0, 842.0
LEFT, RIGHT = 62.0, 533.0
FONTS = ("Helvetica", "Times-Roman")
WORDS = (
    "pump valve reports pressure in every mode of the plant when operator opens the main door and sensor lines carry "
    "less than rated load while cooling water flows through each stage of filter bed before start of unit test log"
).split()


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell: its words and how many columns and rows it spans."""

    text: str
    across: int = 1
    down: int = 1


Rows = list[list[Cell]]


@dataclass(slots=True)
class Case:
    """One file with the tables on it, each as rows of the texts of the cells that begin there; `spanned` per row too.

    `spanned` has for each row the texts of all cells that reach into it, from the left.
    """

    name: str
    data: bytes = b""
    tables: list[list[list[str]]] = field(default_factory=list[list[list[str]]])
    spanned: list[list[list[str]]] = field(default_factory=list[list[list[str]]])


class Page:
    """Draw on pages from the top; `case` takes up the tables."""

    def __init__(self, name: str, seed: int) -> None:
        from reportlab.pdfgen import canvas

        self.dice = random.Random(f"{name}{seed}")
        self.case = Case(f"{name}-{seed}")
        self._buffer = io.BytesIO()
        self.canvas: Any = canvas.Canvas(self._buffer, pagesize=(WIDTH, HEIGHT), invariant=1)
        self.font = self.dice.choice(FONTS)
        self.size = self.dice.choice((8.0, 9.0, 10.0))
        self.y = 70.0
        self.stroke = self.dice.choice((0.25, 0.5, 1.0))
        self.pad = self.dice.choice((2.5, 4.0, 6.0))

    # ---- words

    def words(self, least: int, most: int) -> str:
        count = self.dice.randint(least, most)
        return " ".join(self.dice.choice(WORDS) for _ in range(count))

    def name(self) -> str:
        return self.words(1, 2).title()

    def number(self) -> str:
        return self.dice.choice((f"{self.dice.randint(1, 9999):,}", f"{self.dice.uniform(0, 99):.2f}", "n/a"))

    def at(self, x: float, y: float, text: str, size: float = 0.0, *, bold: bool = False) -> None:
        self.canvas.setFillGray(0)
        face = {"Helvetica": "Helvetica-Bold", "Times-Roman": "Times-Bold"}[self.font] if bold else self.font
        self.canvas.setFont(face, size or self.size)
        self.canvas.drawString(x, HEIGHT - y, text)

    def wrapped(self, text: str, width: float) -> list[str]:
        from reportlab.pdfbase.pdfmetrics import stringWidth

        lines = [""]
        for word in text.split():
            longer = f"{lines[-1]} {word}".strip()
            if lines[-1] and stringWidth(longer, self.font, self.size) > width:
                lines.append(word)
            else:
                lines[-1] = longer
        return lines

    def paragraph(self, lines: int = 3, left: float = LEFT, right: float = RIGHT) -> None:
        text = self.wrapped(self.words(40 * lines, 40 * lines).capitalize(), right - left)[:lines]
        for line in text:
            self.at(left, self.y, line)
            self.y += 1.25 * self.size
        self.y += self.size

    # ---- lines

    def line(self, x0: float, y0: float, x1: float, y1: float) -> None:
        self.canvas.setLineWidth(self.stroke)
        self.canvas.line(x0, HEIGHT - y0, x1, HEIGHT - y1)

    def bar(self, x0: float, y0: float, x1: float, y1: float) -> None:
        """Draw a line as a thin filled rectangle."""
        self.canvas.setFillGray(0)
        half = self.stroke / 2
        self.canvas.rect(x0 - half, HEIGHT - y1 - half, x1 - x0 + 2 * half, y1 - y0 + 2 * half, stroke=0, fill=1)

    def box(self, x0: float, y0: float, x1: float, y1: float, grey: float | None = None, *, frame: bool = True) -> None:
        self.canvas.setLineWidth(self.stroke)
        self.canvas.setFillGray(1 if grey is None else grey)
        self.canvas.rect(x0, HEIGHT - y1, x1 - x0, y1 - y0, stroke=int(frame), fill=int(grey is not None))

    def next_page(self) -> None:
        self.canvas.showPage()
        self.y = 70.0

    def done(self) -> Case:
        self.canvas.showPage()
        self.canvas.save()
        self.case.data = self._buffer.getvalue()
        return self.case

    # ---- tables

    def measured(self, rows: Rows, widths: Sequence[float]) -> list[float]:
        heights = [1.25 * self.size + 2 * self.pad] * len(rows)
        for row, cells in enumerate(rows):
            column = 0
            for column, cell in places(rows, row):
                room = sum(widths[column : column + cell.across]) - 2 * self.pad
                need = 1.25 * self.size * len(self.wrapped(cell.text, room)) + 2 * self.pad
                if cell.down == 1:
                    heights[row] = max(heights[row], need)
            del cells, column
        return heights

    def table(
        self,
        rows: Rows,
        widths: Sequence[float],
        *,
        left: float = LEFT,
        rules: str = "grid",
        fill: Callable[[int, int], float | None] | None = None,
        known: bool = True,
        headed: bool = True,
    ) -> float:
        """Draw a table; `rules`: grid, bars, boxes, open, rows, book, none. Returns its bottom."""
        heights = self.measured(rows, widths)
        tops = [self.y + sum(heights[:index]) for index in range(len(rows) + 1)]
        edges = [left + sum(widths[:index]) for index in range(len(widths) + 1)]
        self.canvas.setStrokeGray(0)
        for row in range(len(rows)):
            for column, cell in places(rows, row):
                sides = (edges[column], tops[row], edges[column + cell.across], tops[row + cell.down])
                grey = fill(row, column) if fill is not None else None
                if grey is not None:
                    self.box(*sides, grey, frame=False)
                self._sides(rules, sides, first=column == 0)
                room = sides[2] - sides[0] - 2 * self.pad
                for index, text in enumerate(self.wrapped(cell.text, room)):
                    y = sides[1] + self.pad + self.size * (0.95 + 1.25 * index)
                    self.at(sides[0] + self.pad, y, text, bold=headed and row == 0)
        over = {"open": tops[:1], "rows": tops[:1], "book": [tops[0], tops[1], tops[-1]]}
        for y in over.get(rules, ()):
            self.line(edges[0], y, edges[-1], y)
        self.y = tops[-1] + 2.5 * self.size
        if known:
            self.know(rows)
        return tops[-1]

    def _sides(self, rules: str, sides: tuple[float, float, float, float], *, first: bool) -> None:
        x0, y0, x1, y1 = sides
        if rules in {"grid", "bars"}:
            draw = self.bar if rules == "bars" else self.line
            for ends in ((x0, y0, x1, y0), (x0, y1, x1, y1), (x0, y0, x0, y1), (x1, y0, x1, y1)):
                draw(*ends)
        elif rules == "boxes":
            self.box(x0 + 0.6, y0 + 0.6, x1 - 0.6, y1 - 0.6)
        elif rules in {"open", "rows"}:
            self.line(x0, y1, x1, y1)
            if rules == "open" and not first:
                self.line(x0, y0, x0, y1)

    def know(self, rows: Rows) -> None:
        own, spanned = texts(rows)
        self.case.tables.append(own)
        self.case.spanned.append(spanned)


def places(rows: Rows, row: int) -> list[tuple[int, Cell]]:
    """Tell the columns at which the cells of a row begin."""
    taken: set[tuple[int, int]] = set()
    found: list[tuple[int, Cell]] = []
    for index in range(row + 1):
        column = 0
        found = []
        for cell in rows[index]:
            while (index, column) in taken:
                column += 1
            found.append((column, cell))
            taken.update((index + y, column + x) for y in range(cell.down) for x in range(cell.across))
            column += cell.across
    return found


def texts(rows: Rows) -> tuple[list[list[str]], list[list[str]]]:
    own: list[list[str]] = []
    spanned: list[dict[int, str]] = [{} for _ in rows]
    for row in range(len(rows)):
        found = places(rows, row)
        own.append([cell.text for _, cell in found if cell.text])
        for column, cell in found:
            for below in range(cell.down):
                if cell.text:
                    spanned[row + below][column] = cell.text
    return own, [[row[column] for column in sorted(row)] for row in spanned]


def plain(page: Page, columns: int, rows: int, *, long: int = 12) -> Rows:
    """Make rows: a head, names, figures, and words that wrap in the last column; some cells empty."""
    made = [[Cell(page.name()) for _ in range(columns)]]
    for number in range(1, rows + 1):
        row = [Cell(f"{page.name()} {number}")]
        row += [Cell(page.number() if page.dice.random() > 0.12 else "") for _ in range(columns - 2)]
        made.append([*row, Cell(page.words(1, long))])
    return made


def widths(page: Page, columns: int, total: float = RIGHT - LEFT) -> list[float]:
    shares = [page.dice.uniform(1.0, 1.6) for _ in range(columns - 1)] + [2.4]
    return [total * share / sum(shares) for share in shares]


def framed(rules: str) -> Callable[[Page], None]:
    """Make a case of a table between paragraphs, in one manner of ruling."""

    def draw(page: Page) -> None:
        columns = page.dice.randint(3, 5)
        page.paragraph()
        page.table(plain(page, columns, page.dice.randint(3, 9)), widths(page, columns), rules=rules)
        page.paragraph()

    return draw


def spans(page: Page) -> None:
    page.paragraph()
    head = [[Cell("Item", down=2), Cell("Limits in use", across=2), Cell("Remarks", down=2)]]
    rows: Rows = [*head, [Cell("lowest"), Cell("highest")]]
    for group in range(page.dice.randint(2, 3)):
        count = page.dice.randint(2, 3)
        rows.append(
            [Cell(f"Class {group}", down=count), Cell(page.number()), Cell(page.number()), Cell(page.words(2, 9))]
        )
        rows += [[Cell(page.number()), Cell(page.number()), Cell(page.words(2, 9))] for _ in range(count - 1)]
    page.know(rows)
    rows.append([Cell(f"Note: {page.words(10, 20)}", across=4)])  # a note in the frame is no cell
    page.table(rows, widths(page, 4), known=False)
    page.paragraph()


def filled(page: Page) -> None:
    page.paragraph()
    shade = page.dice.choice((0.7, 0.85))
    page.table(
        plain(page, 4, 6),
        widths(page, 4),
        rules="none",
        fill=lambda row, _: shade if row == 0 else 0.95 - 0.03 * (row % 2),
    )
    page.paragraph()


def head_filled(page: Page) -> None:
    page.paragraph()
    page.table(plain(page, 4, 5), widths(page, 4), fill=lambda row, _: 0.8 if row == 0 else None)
    page.paragraph()


def several_pages(page: Page, *, again: bool) -> None:
    columns, wide = 4, widths(page, 4)
    rows = plain(page, columns, 26)
    page.paragraph()
    page.table(rows[:10], wide, known=False)
    for start in (10, 19):
        page.next_page()
        page.table(
            [rows[0], *rows[start : start + 9]] if again else rows[start : start + 9], wide, known=False, headed=again
        )
    page.paragraph()
    page.know(rows)


def repeated_head(page: Page) -> None:
    several_pages(page, again=True)


def head_once(page: Page) -> None:
    several_pages(page, again=False)


def turned(page: Page) -> None:
    framed("grid")(page)


def sideways(page: Page) -> None:
    page.paragraph(2)
    page.canvas.saveState()
    page.canvas.translate(WIDTH / 2 + HEIGHT / 2, HEIGHT / 2 - WIDTH / 2)
    page.canvas.rotate(90)
    page.y = 500.0
    page.table(plain(page, 4, 6), widths(page, 4, 420.0), left=40.0)
    page.canvas.restoreState()


def nested(page: Page) -> None:
    page.paragraph()
    top = page.y
    page.y += 16
    page.at(LEFT + 10, page.y, page.words(4, 7).capitalize())
    page.y += 10
    bottom = page.table(plain(page, 3, 4), widths(page, 3, 400.0), left=LEFT + 12)
    page.box(LEFT, top, RIGHT, bottom + 12)
    page.y = bottom + 40
    page.paragraph()


def side_by_side(page: Page) -> None:
    page.paragraph()
    top = page.y
    page.table(plain(page, 3, 5, long=3), widths(page, 3, 220.0))
    below = page.y
    page.y = top
    page.table(plain(page, 3, 5, long=3), widths(page, 3, 220.0), left=RIGHT - 225)
    page.y = max(below, page.y)
    page.paragraph()


def in_column(page: Page) -> None:
    middle = (LEFT + RIGHT) / 2
    page.y = 70.0
    for _ in range(8):
        page.paragraph(4, middle + 12, RIGHT)
    page.y = 70.0
    page.paragraph(4, LEFT, middle - 12)
    page.table(plain(page, 3, 5, long=4), widths(page, 3, middle - 12 - LEFT))
    while page.y < 480:
        page.paragraph(4, LEFT, middle - 12)


def form(page: Page) -> None:
    page.paragraph(2)
    rows: Rows = [[Cell("Application for a test permit", across=4)]]
    rows += [
        [Cell(f"{page.name()}:"), Cell(page.words(1, 3)), Cell(f"{page.name()}:"), Cell(page.number())]
        for _ in range(4)
    ]
    rows.append([Cell(f"{page.name()}:"), Cell(page.words(8, 20), across=3)])
    page.table(rows, [90, 150, 90, 141])


def requirements(page: Page) -> None:
    page.paragraph()
    rows: Rows = [[Cell("ID"), Cell("Requirement"), Cell("Rationale"), Cell("Verification")]]
    for number in range(1, 6):
        shall = f"The {page.words(1, 1)} shall {page.words(6, 12)}."
        must = f"Crews must {page.words(4, 9)}."
        rows.append([Cell(f"SYS-{number:03}"), Cell(shall), Cell(must), Cell(page.dice.choice(("Test", "Analysis")))])
    page.table(rows, [60, 190, 150, 71])
    page.paragraph()


def tight(page: Page) -> None:
    """Figures as wide as their columns: hardly more than a blank between one cell and the next."""
    page.pad = 1.5
    page.paragraph()
    wide = 8.5 * page.size * 0.5 + 2 * page.pad
    rows: Rows = [[Cell(f"{page.dice.randint(10**7, 10**8 - 1)}") for _ in range(6)] for _ in range(8)]
    page.table(rows, [wide] * 6)
    page.paragraph()


TABLES: dict[str, Callable[[Page], None]] = {
    "grid": framed("grid"), "bars": framed("bars"), "boxes": framed("boxes"), "open": framed("open"),
    "rows": framed("rows"), "book": framed("book"), "none": framed("none"), "spans": spans, "filled": filled,
    "head-filled": head_filled, "repeated-head": repeated_head, "head-once": head_once, "turned": turned,
    "sideways": sideways, "nested": nested, "side-by-side": side_by_side, "in-column": in_column, "form": form,
    "requirements": requirements, "tight": tight,
}  # fmt: skip
