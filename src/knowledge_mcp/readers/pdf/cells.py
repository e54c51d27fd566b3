"""Assigns the words of a page to the cells of its drawn grids; the words then decide whether a grid is a table.

Words are kept literally and assigned by their positions. An item that crosses a side of its cell is split between two
words.
"""

from __future__ import annotations

import itertools
import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from knowledge_mcp.language.identifiers import card_identifier
from knowledge_mcp.language.openings import note_in
from knowledge_mcp.language.printed import is_note_of_table
from knowledge_mcp.readers.pdf.lines import is_rotated, line_of, pieces_of, rows_of, size_of, stands_in
from knowledge_mcp.readers.pdf.ruled import Drawn, RuledCell, RuledGrid
from knowledge_mcp.readers.shared.layout import Line, Table, is_figures
from knowledge_mcp.readers.shared.tables import Reach, worded_header

if TYPE_CHECKING:
    from liteparse.types import TextItem

_FILLED = 0.25
"""Minimum share of cells with words: a form has more, the grid of a chart has hardly any."""
_CROSSING = 0.05
"""Maximum share of words that cross a side of their cell: in a drawing, lines run through words."""
_OVER = 2.0
"""Points by which a word must extend beyond its cell to count as crossing the side, not just close to it."""
_LETTERS = 4
"""Number of letters by which a space may be off the line where an item is split: "W" is four times as wide as "i"."""
_LONG_TEXT = 6
"""Number of lines from which the only cell of a row is running text in a frame, with headings and lists."""
_FORM_CELLS = 3
"""Minimum number of cells of a single row between running text that is a table: forms have such rows, with labels."""
_NAMED = 0.2
"""Share of a grid's rows with words, above which it has its own names; otherwise all but a header are figures."""
_NAME_PART = re.compile(r"[A-Za-z0-9][\w./-]*|_\w+")
_APART = 1.0
"""Minimum gap between the names of two columns in one cell, as a factor of the font size."""
_LONGEST_NAME = 200
"""Maximum number of characters of a column name; anything longer below the title of a form is its text."""
_REPEATED = 80
"""Maximum length of a cell that spans rows and is repeated in each: a name, not a text; as in Word tables."""


@dataclass(frozen=True, slots=True)
class RuledTable:
    """The tables of one grid, with the running text between them, and the place of the grid."""

    elements: list[Line | Table]
    box: tuple[float, float, float, float]
    block: float

    @property
    def top(self) -> float:
        """Return the upper edge."""
        return self.box[1]

    @property
    def left(self) -> float:
        """Return the left edge."""
        return self.box[0]

    def overlaps(self, lines: Sequence[Line]) -> bool:
        """Return whether any of the lines is at the height of the table, and within its width."""
        left, top, right, bottom = self.box
        return any(top < (line.y0 + line.y1) / 2 < bottom and line.x0 < right and line.x1 > left for line in lines)


def ruled_tables(
    drawn: Drawn, items: list[TextItem], page: int, places: Mapping[int, float]
) -> tuple[list[RuledTable], list[TextItem]]:
    """Make the tables that lines draw, larger grids first; return them and the items that are in none of them."""
    found: list[RuledTable] = []
    places = dict(places)
    for outlined in sorted(drawn.grids, key=lambda grid: (grid.box[0] - grid.box[2]) * (grid.box[3] - grid.box[1])):
        inside = [item for item in items if stands_in(item, outlined.box)]
        grid = _with_columns(_with_inner_columns(outlined, inside), inside)
        grid = _with_rows(grid, inside) if grid is not None else None
        by_cell = _items_by_cell(grid, inside, places) if grid is not None else None
        if grid is None or by_cell is None or not _is_table(grid, by_cell, drawn) or _is_column(inside, items):
            continue
        found.append(_table(grid, by_cell, page, places))
        taken = set(map(id, inside))
        items = [item for item in items if id(item) not in taken]
    for grid in drawn.rows:
        inside = [item for item in items if any(stands_in(item, cell.box) for cell in grid.cells)]
        if lines := _named_text(grid, inside, page, places):
            found.append(RuledTable(list(lines), grid.box, lines[0].block))
            taken = set(map(id, inside))
            items = [item for item in items if id(item) not in taken]
    return found, items


_LABEL = 3
"""Maximum number of words of a label next to a framed text: "WARNING", "Step 2", "Note to users"."""


def _named_text(grid: RuledGrid, items: Sequence[TextItem], page: int, places: Mapping[int, float]) -> list[Line]:
    """Read frames side by side: a label and a text, with the label before the text, or boxes that begin with a title.

    Empty for any other frames.
    """
    by_cell = [list(_lines([item for item in items if stands_in(item, cell.box)], page, places)) for cell in grid.cells]
    filled = [lines for lines in by_cell if lines]
    if len(filled) < 2 or any(
        item.x + item.width > cell.box[2] + _OVER for cell in grid.cells for item in items if stands_in(item, cell.box)
    ):
        return []
    if all(lines[0].bold and not lines[-1].bold for lines in filled):
        return list(itertools.chain.from_iterable(filled))
    label, (first, *rest) = " ".join(line.text for line in filled[0]), filled[1]
    is_label = len(filled) == 2 and len(label.split()) <= _LABEL and not is_figures(label)
    if not is_label or not (rest and filled[1][-1].text.endswith((".", "!"))):
        return []
    return [replace(first, text=f"{label} {first.text}", bold=False, lead=0), *rest]


def _is_column(inside: Sequence[TextItem], items: Sequence[TextItem]) -> bool:
    """Return whether a grid is a shaded or framed column of a wider table: figures with their names next to it."""
    own = set(map(id, inside))
    outside = sorted(item.y + item.height / 2 for item in items if id(item) not in own)
    rows = [row for row in rows_of([item for item in inside if not is_rotated(item)]) if row]
    named = sum(any(mark.isalpha() for item in row for mark in item.text) for row in rows)
    beside = 0
    for row in rows:
        middle, half = row[0].y + row[0].height / 2, row[0].height / 2
        beside += bisect_right(outside, middle + half) > bisect_left(outside, middle - half)
    return bool(rows) and named <= _NAMED * len(rows) and 2 * beside > len(rows)


def _with_columns(grid: RuledGrid, items: Sequence[TextItem]) -> RuledGrid | None:
    """Split cells that span columns if their words form columns: below a header whose sides end with it.

    Returns:
        None if all rows below the header are in one cell: the engine finds the rows by their words.
    """
    if all(cell.across == 1 for cell in grid.cells):
        return grid
    cells: list[RuledCell] = []
    for cell in grid.cells:
        _, top, _, bottom = cell.box
        within = [item for item in items if stands_in(item, cell.box)] if cell.across > 1 else []
        cuts = [
            edge for edge in range(cell.column + 1, cell.column + cell.across) if _is_gutter(grid.edges[edge], within)
        ]
        if (
            cuts
            and len(grid.tops) == 3
            and len(rows_of([item for item in within if not is_rotated(item)])) > _LONG_TEXT
        ):
            return None
        for first, last in itertools.pairwise([cell.column, *cuts, cell.column + cell.across]):
            box = (grid.edges[first], top, grid.edges[last], bottom)
            cells.append(RuledCell(cell.row, first, cell.down, last - first, box))
    return RuledGrid(cells, grid.edges, grid.tops) if len(cells) > len(grid.cells) else grid


def _is_gutter(edge: float, items: Sequence[TextItem]) -> bool:
    """Return whether words on both sides of a place are at least a letter's height apart."""
    before = max((item.x + item.width for item in items if item.x + item.width / 2 < edge), default=None)
    after = min((item.x for item in items if item.x + item.width / 2 >= edge), default=None)
    if before is None or after is None:
        return False
    return before <= edge + _OVER and after >= edge - _OVER and after - before >= max(size_of(item) for item in items)


_FEWEST_FIGURES, _FIGURES = 3, 0.8
"""Number of figures in a column from which they are rows, and minimum share of figures among the column's words."""
_SURE = 6
"""Number of figures from which a single column of them makes rows: a cell may contain three values in a column."""


def _with_rows(grid: RuledGrid, items: Sequence[TextItem]) -> RuledGrid:
    """Split rows that contain columns of figures: only the columns and the header are ruled, the rows are not.

    Each figure begins a row, and so do words at a height of their own. Cells with only words are not split: their lines
    are one text.
    """
    cuts = {row: found for row in range(len(grid.tops) - 1) if (found := _heights_between(grid, row, items))}
    if not cuts:
        return grid
    starts: list[int] = []
    tops: list[float] = []
    for row, top in enumerate(grid.tops):
        starts.append(len(tops))
        tops += [top, *cuts.get(row, ())]
    cells: list[RuledCell] = []
    for cell in grid.cells:
        first, end = starts[cell.row], starts[cell.row + cell.down]
        ends = [*range(first + 1, end + 1)] if cell.down == 1 else [end]
        for one, other in itertools.pairwise([first, *ends]):
            box = (cell.box[0], tops[one], cell.box[2], tops[other])
            cells.append(RuledCell(one, cell.column, other - one, cell.across, box))
    return RuledGrid(cells, grid.edges, tuple(tops))


def _with_inner_columns(grid: RuledGrid, items: Sequence[TextItem]) -> RuledGrid:
    """Split columns of figures without rules between them, side by side in one cell or in several cells of a column.

    Cells above and below are split only if they contain figures too; `_with_columns` handles the others.
    """
    cut_rows = {row for row in range(len(grid.tops) - 1) if _heights_between(grid, row, items)}
    edges = _between_names(grid, items)
    named = {bisect_right(grid.edges, edge) - 1 for edge in edges}
    for cell in grid.cells:
        if cell.row in cut_rows and cell.down == 1 and cell.across == 1:
            edges |= _strips([item for item in items if stands_in(item, cell.box)])
    for column in range(len(grid.edges) - 1):
        below = _lines_of_figures(grid, column, items)
        if found := _strips(list(itertools.chain.from_iterable(below.values()))):
            edges |= found
            cut_rows |= below.keys()
    if not edges:
        return grid
    every = sorted({*grid.edges, *edges})
    cells: list[RuledCell] = []
    for cell in grid.cells:
        left, top, right, bottom = cell.box
        first, end = every.index(left), every.index(right)
        inside = [item for item in items if stands_in(item, cell.box)]
        crossed = any(item.x < edge < item.x + item.width for item in inside for edge in every[first + 1 : end])
        apart = cell.row in cut_rows or cell.column in named
        apart = apart or (bool(inside) and all(is_figures(item.text) for item in inside))
        for one, other in itertools.pairwise(range(first, end + 1) if apart and not crossed else (first, end)):
            box = (every[one], top, every[other], bottom)
            cells.append(RuledCell(cell.row, one, cell.down, other - one, box))
    return RuledGrid(cells, tuple(every), grid.tops)


def _between_names(grid: RuledGrid, items: Sequence[TextItem]) -> set[float]:
    """Find the places between names that are far apart in one header cell, with figures below: "MIN TYP MAX".

    Nothing below may cross such a place, and most of it must be figures.
    """
    found: set[float] = set()
    for cell in grid.cells:
        left, _, right, bottom = cell.box
        inside = [item for item in items if stands_in(item, cell.box)] if not cell.row and cell.across == 1 else []
        lines = rows_of([item for item in inside if not is_rotated(item)])
        pieces = pieces_of(lines[0], _APART) if len(lines) == 1 else []
        places = [(one[1] + other[0]) / 2 for one, other in itertools.pairwise(pieces)]
        below = [item for item in items if stands_in(item, (left, bottom, right, grid.tops[-1]))] if places else []
        over = any(item.x < place < item.x + item.width for item in below for place in places)
        if below and not over and 2 * sum(is_figures(item.text) for item in below) > len(below):
            found.update(places)
    return found


def _lines_of_figures(grid: RuledGrid, column: int, items: Sequence[TextItem]) -> dict[int, list[TextItem]]:
    """List by row the items of one column in lines that end in a figure, for a table with rules every few lines."""
    found: dict[int, list[TextItem]] = {}
    for cell in grid.cells:
        if cell.column == column and cell.down == 1 and cell.across == 1:
            lines = rows_of([item for item in items if stands_in(item, cell.box) and not is_rotated(item)])
            if figures := [item for line in lines if line and is_figures(line[-1].text) for item in line]:
                found[cell.row] = figures
    return found


def _strips(items: Sequence[TextItem]) -> set[float]:
    """Find the middles of the gaps between columns of figures: empty in all rows, and wider than a letter's height.

    Empty if most rows have only one figure: the columns are then positions within one column.
    """
    rows = rows_of(list(items))
    several = sum(len(row) > 1 for row in rows)
    figures = sum(is_figures(row[-1].text) for row in rows)
    if len(rows) < _FEWEST_FIGURES or 2 * several < len(rows) or figures < _FIGURES * len(rows):
        return set()
    found: set[float] = set()
    reached = min(item.x for item in items)
    for item in sorted(items, key=lambda item: item.x):
        if item.x - reached > size_of(item):
            found.add((item.x + reached) / 2)
        reached = max(reached, item.x + item.width)
    return found


def _heights_between(grid: RuledGrid, row: int, items: Sequence[TextItem]) -> list[float]:
    """Find the heights at which a row is to be split."""
    top, bottom = grid.tops[row], grid.tops[row + 1]
    inside = [item for item in items if top <= item.y + item.height / 2 <= bottom]
    own = [cell for cell in grid.cells if cell.row == row and cell.down == 1]
    lines = rows_of(inside) if len(inside) >= 2 * _FEWEST_FIGURES and not any(map(is_rotated, inside)) else []
    if len(lines) < 2 or len(own) < 2:
        return []
    columns = [
        [next((item.text for item in reversed(line) if cell.box[0] <= item.x + item.width / 2 < cell.box[2]), "")
         for line in lines]
        for cell in own
    ]  # fmt: skip
    if len(grid.tops) == 3 and row == 1 and (entries := _entries(lines, columns)):
        return [_between(lines[at - 1], lines[at]) for at in entries[1:]]
    counts = [_count_figures(column) for column in columns[1:]]
    fewest = min(_FEWEST_FIGURES, len(lines))
    if len(lines) < _FEWEST_FIGURES and (counts.count(fewest) < _FEWEST_FIGURES or not all(columns[0])):
        return []  # two values in a cell are two rows only if many columns have two, and a name for each
    most = max(counts)
    named = sum(any(column[at] for column in columns[1:]) and bool(columns[0][at]) for at in range(len(lines)))
    enough = most >= _SURE or sum(count >= fewest for count in counts) > 1
    if most < fewest or not enough or named < _FIGURES * most:
        return []
    return [_between(above, below) for above, below in itertools.pairwise(lines)]


def _between(above: Sequence[TextItem], below: Sequence[TextItem]) -> float:
    return (max(item.y + item.height for item in above) + min(item.y for item in below)) / 2


def _entries(lines: Sequence[Sequence[TextItem]], columns: Sequence[Sequence[str]]) -> list[int]:
    """Find the lines that begin entries if everything below a header is one cell; empty if it is one row.

    Each entry begins with one word in the first column and words in all others; texts of the last column wrap below.
    """
    found = [at for at, name in enumerate(columns[0]) if name]
    if len(found) < _FEWEST_FIGURES or len(found) == len(lines) or found[0]:
        return []
    if any(" " in columns[0][at] for at in found):
        return []
    whole = sum(all(column[at] for column in columns) for at in found)
    last = sum(any(column[at] for column in columns[:-1]) for at in range(len(lines)))
    return found if whole == last == len(found) else []


def _count_figures(column: Sequence[str]) -> int:
    """Count the figures of a column; 0 if it also has words that are not signs for missing values."""
    filled = [text for text in column if any(map(str.isalnum, text))]
    figures = sum(map(is_figures, filled))
    return figures if figures >= _FIGURES * len(filled) else 0


_ItemsByCell = dict[int, "list[TextItem]"]
"""Items by the index of their cell."""


def _items_by_cell(grid: RuledGrid, items: Sequence[TextItem], places: dict[int, float]) -> _ItemsByCell | None:
    """Assign items to cells; None if too many words cross the sides of their cells."""
    index = {
        (row, column): at
        for at, cell in enumerate(grid.cells)
        for row in range(cell.row, cell.row + cell.down)
        for column in range(cell.column, cell.column + cell.across)
    }
    by_cell: _ItemsByCell = {}
    over = total = 0
    for item in items:
        row = min(max(bisect_right(grid.tops, item.y + item.height / 2) - 1, 0), len(grid.tops) - 2)
        whole = index.get((row, _column(grid, item.x + item.width / 2)))
        total += 1
        if whole is not None and _is_within(item, grid.cells[whole]):
            by_cell.setdefault(whole, []).append(item)
            continue
        for part in _parts(item, grid.edges):
            places[id(part)] = places[id(item)]
            at = index.get((row, _column(grid, part.x + part.width / 2)), whole)
            if at is None:
                return None
            over += not _is_within(part, grid.cells[at])
            by_cell.setdefault(at, []).append(part)
    return by_cell if over <= max(1.0, _CROSSING * total) else None


def _column(grid: RuledGrid, x: float) -> int:
    return min(max(bisect_right(grid.edges, x) - 1, 0), len(grid.edges) - 2)


def _is_within(item: TextItem, cell: RuledCell) -> bool:
    return item.x >= cell.box[0] - _OVER and item.x + item.width <= cell.box[2] + _OVER


def _parts(item: TextItem, edges: Sequence[float]) -> Iterator[TextItem]:
    """Split an item at the spaces nearest to the vertical lines through it; its letters count as equally wide.

    The parser separates words that are far apart; an item across a line has hardly more than a space there.
    """
    text, step = item.text, item.width / max(len(item.text), 1)
    start = 0
    for edge in edges[bisect_right(edges, item.x + _OVER) : bisect_right(edges, item.x + item.width - _OVER)]:
        at = round((edge - item.x) / step)
        near = [
            place for place in range(max(at - _LETTERS, start + 1), at + _LETTERS) if text[place : place + 1] == " "
        ]
        if near:
            cut = min(near, key=lambda place: abs(place - at))
            yield _part(item, start, cut, step)
            start = cut + 1
    yield _part(item, start, len(text), step) if start else item


def _part(item: TextItem, start: int, end: int, step: float) -> TextItem:
    return replace(item, text=item.text[start:end], x=item.x + start * step, width=(end - start) * step)


def _is_table(grid: RuledGrid, by_cell: _ItemsByCell, drawn: Drawn) -> bool:
    """Return whether a grid is a table, not a drawing: two rows with words in two columns, and enough filled cells.

    The name of a requirement above its only row counts as such a row, and so does the rest of it on the next page.
    """
    filled = [grid.cells[at] for at in by_cell]
    beside: defaultdict[int, set[int]] = defaultdict(set)
    for cell in filled:
        for row in range(cell.row, cell.row + cell.down):
            beside[row].add(cell.column)
    rows = {cell.row for cell in filled}
    full = sum(len(columns) > 1 for columns in beside.values()) + _begins_with_rest(beside)
    if _is_card(grid, by_cell):
        full += 1 + any(row and 0 not in columns for row, columns in beside.items())
    if full < 2 or len(rows) < 2:
        return False
    return len(filled) >= _FILLED * len(grid.cells) and not drawn.is_part(grid)


def _is_card(grid: RuledGrid, by_cell: _ItemsByCell) -> bool:
    """Return whether the first row is the name of a requirement across all columns: "REQUIREMENT 5"."""
    first = [at for at, cell in enumerate(grid.cells) if not cell.row]
    is_across = len(first) == 1 and grid.cells[first[0]].across == len(grid.edges) - 1
    return is_across and card_identifier([" ".join(item.text for item in by_cell.get(first[0], ()))]) is not None


def _begins_with_rest(beside: Mapping[int, set[int]]) -> bool:
    """Return whether the first row continues a row of the previous page: words in one column, not in the first.

    The rows below it have words in the first column and in that column.
    """
    if 0 not in beside or len(beside) < 2 or len(beside[0]) > 1 or 0 in beside[0]:
        return False
    return all(0 in columns and beside[0] < columns for row, columns in beside.items() if row)


_Texts = tuple[list[str], Reach]
"""The cells of a row, and which cells they span."""


def _table(grid: RuledGrid, by_cell: _ItemsByCell, page: int, places: Mapping[int, float]) -> RuledTable:
    lines = {at: list(_lines(items, page, places)) for at, items in by_cell.items()}
    rows: defaultdict[int, list[int]] = defaultdict(list)
    for at, cell in enumerate(grid.cells):
        rows[cell.row].append(at)
    columns = sorted({grid.cells[at].column for at in lines})
    elements: list[Line | Table] = []
    texts: list[_Texts] = []
    inside: list[Line] = []
    above: dict[int, tuple[int, str]] = {}
    alone = {
        row: lines.get(begun[0], [])
        for row, begun in rows.items()
        if len(begun) == 1 and grid.cells[begun[0]].across == len(grid.edges) - 1
    }
    last = max(row for row in rows if row not in alone or not alone[row] or not _is_note(alone[row][0]))
    for row in sorted(rows):
        if row in alone and (row > last or len(alone[row]) >= _LONG_TEXT):
            elements.extend(_closed(texts, inside, grid, columns, page))
            elements.extend(alone[row])
            texts, inside = [], []
            continue
        texts.append(_row(grid, row, rows[row], columns, lines, above))
        inside.extend(itertools.chain.from_iterable(lines.get(at, ()) for at in rows[row]))
    elements.extend(_closed(texts, inside, grid, columns, page))
    first = next(line for line in _of(elements))
    return RuledTable(elements, grid.box, first.block)


def _is_note(line: Line) -> bool:
    """Return whether a line begins the notes that publishers print in the last rows of a table's frame."""
    return note_in(line.text) is not None or is_note_of_table(line.text)


def _of(elements: Iterable[Line | Table]) -> Iterator[Line]:
    for element in elements:
        if isinstance(element, Table):
            yield from element.lines
        else:
            yield element


def _closed(
    texts: list[_Texts], inside: list[Line], grid: RuledGrid, columns: Sequence[int], page: int
) -> list[Line | Table]:
    """Make a table of the rows with words; return lines if there is one column, or one row with few cells."""
    filled = [each for each in texts if any(each[0])]
    names = list(itertools.takewhile(lambda pair: max(map(len, pair[0])) <= _LONGEST_NAME, filled))
    worded = worded_header([row for row, _ in names], dict(enumerate(reach for _, reach in names)))
    worded += [row for row, _ in filled[len(names) :]]
    rows = list(map(list, worded))
    if len(rows) < 2 and sum(map(bool, itertools.chain.from_iterable(rows))) < _FORM_CELLS:
        return list(inside)
    if sum(any(row[column] for row in rows) for column in range(len(columns))) < 2:
        return list(inside)
    edges = (*(grid.edges[column] for column in columns), grid.edges[-1])
    return [Table(page, rows, inside, edges=edges)]


def _row(
    grid: RuledGrid,
    row: int,
    begun: Sequence[int],
    columns: Sequence[int],
    lines: Mapping[int, list[Line]],
    above: dict[int, tuple[int, str]],
) -> _Texts:
    """Return the texts of a row; a short text that spans rows is repeated in each, one that spans columns is not."""
    texts, reach = [""] * len(columns), Reach()
    own = False
    for at in begun:
        cell = grid.cells[at]
        text = _text_of(lines.get(at, ()), cell)
        if text:
            own = True
            first = columns.index(cell.column)
            texts[first] = text
            reach.across |= {
                at: first for at, column in enumerate(columns) if cell.column < column < cell.column + cell.across
            }
        if cell.down > 1 and len(text) <= _REPEATED:
            above[cell.column] = (cell.row + cell.down, text)
    for column, (end, text) in above.items():
        if own and row < end and text and not texts[columns.index(column)]:
            texts[columns.index(column)] = text
            reach.down.add(columns.index(column))
    return texts, reach


def _text_of(lines: Sequence[Line], cell: RuledCell) -> str:
    """Join the lines of a cell, without a break in a name that was cut where it has none: "SYS_RE", "Q_0012"."""
    text = "".join(
        line.text + ("" if _is_cut(line, following, cell) else "\n") for line, following in itertools.pairwise(lines)
    )
    return text + (lines[-1].text if lines else "")


def _is_cut(line: Line, following: Line, cell: RuledCell) -> bool:
    """Return whether a name with underscores continues: it fills the cell and has no number yet, or digits follow."""
    word, rest = line.text.strip(), following.text.split(" ", 1)[0].rstrip(",;.")
    if _NAME_PART.fullmatch(word) is None or _NAME_PART.fullmatch(rest) is None:
        return False
    if word.endswith("_"):
        return True
    left, _, right, _ = cell.box
    if "_" not in word + rest or line.x1 + line.size < right - max(0.0, line.x0 - left):
        return False
    has_number = any(map(str.isdigit, word))
    return rest.isdigit() and word[-1].isdigit() if has_number else any(map(str.isdigit, rest))


def _lines(items: Sequence[TextItem], page: int, places: Mapping[int, float]) -> Iterator[Line]:
    for row in rows_of([item for item in items if not is_rotated(item)]):
        yield line_of(row, page, places)
    for item in sorted((item for item in items if is_rotated(item)), key=_along):
        yield line_of([item], page, places)


def _along(item: TextItem) -> tuple[float, float]:
    """Order rotated words as they are read: up or down the page."""
    return round(item.x), -item.y if item.rotation > 180.0 else item.y
