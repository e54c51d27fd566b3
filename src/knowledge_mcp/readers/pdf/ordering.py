"""Lines and tables of a page in reading order, and the tables that the engine guesses where no lines draw any.

The engine's blocks lend the order of columns where there are columns, and their tables, nothing else.
"""

from __future__ import annotations

import itertools
import math
import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from knowledge_mcp.language.openings import opening_of
from knowledge_mcp.model.document import LAYOUT_UNCERTAIN
from knowledge_mcp.readers.pdf.cells import RuledTable, ruled_tables
from knowledge_mcp.readers.pdf.flow.asides import Aside, asides_of, insert_asides
from knowledge_mcp.readers.pdf.flow.gutter import gutter_of
from knowledge_mcp.readers.pdf.flow.turned import turned_text
from knowledge_mcp.readers.pdf.lines import is_rotated, is_slanted, line_of, mark_underlined, parts_of, rows_of
from knowledge_mcp.readers.pdf.ruled import Drawn, drawn_of
from knowledge_mcp.readers.shared.layout import Line, PageLayout, Table, is_figures, letters_of

if TYPE_CHECKING:
    from liteparse.types import LayoutBlock, LayoutCell, ParsedPage, TextItem

_CLAUSE = re.compile(r"\d{1,3}(?:\.\d{1,3})+\.?|\d{1,2}\.|[A-Z]\.\d+(?:\.\d+)*")
_NUMBERED = re.compile(r"(?:\d{1,3}|[A-Z])(?:\.\d{1,3})*\.?(?:\s+[^\W\d_]|\Z)")
_HANGING = re.compile(rf"{_CLAUSE.pattern}|[^\w\s(\"'“‘<\[]\s")
_STANDS_OUT = 0.9
"""Points by which a bold line with a clause's number is larger than a table's print at least where it is a heading."""

_REPEATED = 1.5
_WRITTEN = re.compile(r"[$\\\\{}]")
_AROUND = 2.0
"""Points by which small and raised letters stand out of the box of their cell."""


@dataclass(slots=True)
class _Row:
    """One row: its cells' words, its extent down the page, where its cells but the first begin, the lines in it."""

    cells: list[str]
    top: float
    bottom: float
    sides: list[float] = field(default_factory=list[float])
    lines: list[Line] = field(default_factory=list[Line])


def tables_of(
    block: LayoutBlock,
    lines: list[Line],
    page: int,
    items: Sequence[TextItem] = (),
    outside: Sequence[Line] = (),
) -> list[Line | Table] | None:
    """Make the tables of one region, with any heading lines between them; None where the region is no table.

    Args:
        block: the engine's table.
        lines: of the region.
        page: physical page from 1.
        items: of the region, from which the words of cells are taken as they are printed.
        outside: lines to the left of the region, at the height of its lines: they may be the names of its rows.
    """
    rows = [_row(cells, items) for cells in [block.header or [], *(block.rows or [])] if cells]
    lines = [*_named_by(rows, outside), *lines]
    width = max((len(row.cells) for row in rows), default=0)
    if width < 2 or len(rows) < 2 or sum(line.code for line in lines) > 0.6 * len(lines):
        return None
    if _is_running_text(lines, rows) or _is_hanging(rows):
        return None
    for row in rows:
        row.cells += [""] * (width - len(row.cells))
    shared, beside = _share_out(lines, rows), _beside(lines)
    if _is_woven(rows, beside):
        return None
    if not shared:
        return _up_to_clause(rows, lines, page)
    found: list[Line | Table] = []
    modal = Counter(line.size for line in lines).most_common(1)[0][0]
    apart = [_is_heading(row, modal) or _is_text(row, modal, beside) for row in rows]
    for is_text, group in itertools.groupby(zip(rows, apart, strict=True), key=lambda pair: pair[1]):
        some = [row for row, _ in group]
        inside = [line for row in some for line in row.lines]
        found.extend(inside if is_text else _whole(some, inside, page) or inside)
    return found if any(isinstance(element, Table) for element in found) else None


_NAME_WORDS, _NAME_COLUMNS = 8, 3
"""Words of a row's name at most, and columns of names: a parameter, its condition, its symbol."""
_SAME_COLUMN = 12.0
"""Points by which names of one column begin apart at most."""


def _named_by(rows: Sequence[_Row], outside: Sequence[Line]) -> Sequence[Line]:
    """Put names that stand to the left of figures before them, in columns of their own, and return their lines.

    The engine leaves them out where the head has no words above them. All rows but one have a name, and no name is a
    line of running text.
    """
    figures = sum(is_figures(next(filter(None, row.cells), "")) for row in rows)
    if 2 * figures < len(rows) or any(len(line.text.split()) > _NAME_WORDS for line in outside):
        return []
    homes = [
        [line for line in outside if row.top - _AROUND <= (line.y0 + line.y1) / 2 <= row.bottom + _AROUND]
        for row in rows
    ]
    if sum(map(bool, homes)) < max(2, len(rows) - 1) or sum(map(len, homes)) != len(outside):
        return []
    columns: list[float] = []
    for line in sorted(outside, key=lambda line: line.x0):
        if not columns or line.x0 > columns[-1] + _SAME_COLUMN:
            columns.append(line.x0)
    if len(columns) > _NAME_COLUMNS:
        return []
    for row, names in zip(rows, homes, strict=True):
        cells = [""] * len(columns)
        for line in names:
            cells[bisect_right(columns, line.x0) - 1] = line.text
        row.cells[:0] = cells
    return outside


def _row(cells: Sequence[LayoutCell], items: Sequence[TextItem]) -> _Row:
    boxes = [cell.bbox for cell in cells if cell.bbox is not None and cell.text.strip()]
    top = min((box.y for box in boxes), default=0.0)
    bottom = max((box.y + box.height for box in boxes), default=0.0)
    near = [item for item in items if top - _AROUND <= item.y + item.height / 2 <= bottom + _AROUND]
    sides = [cell.bbox.x for cell in cells[1:] if cell.bbox is not None and cell.text.strip()]
    return _Row([_printed(cell, near) for cell in cells], top, bottom, sides)


def _printed(cell: LayoutCell, items: Sequence[TextItem]) -> str:
    """Return a cell's words as they are printed: the engine writes formulas for small and raised letters."""
    guessed, box = _clean(cell.text), cell.bbox
    if box is None or not _WRITTEN.search(guessed):
        return guessed
    inside = [
        item
        for item in items
        if box.x - _AROUND <= item.x + item.width / 2 <= box.x + box.width + _AROUND
        and box.y - _AROUND <= item.y + item.height / 2 <= box.y + box.height + _AROUND
    ]
    if not inside:
        return guessed
    places = dict.fromkeys(map(id, inside), 0.0)
    return " ".join(line_of(row, 0, places).text for row in rows_of(inside))


def _clean(text: str) -> str:
    plain = text.replace("<br>", " ").replace("\\|", "|").replace("**", "")
    return " ".join(plain.split())


def _is_running_text(lines: Sequence[Line], rows: Sequence[_Row]) -> bool:
    """Tell paragraphs from a table: many lines run from the left edge over most of the width without a gap."""
    left, right = min(line.x0 for line in lines), max(line.x1 for line in lines)
    width = max(right - left, 1.0)
    full = sum(
        line.x0 < left + 0.05 * width and line.x1 - line.x0 > 0.7 * width and _gap(line) < 1.2 * line.size
        for line in lines
    )
    if full > 0.25 * len({round(line.y0) for line in lines}):
        return True
    clauses = sum(_CLAUSE.fullmatch(row.cells[0]) is not None for row in rows)
    words = [len(cell.split()) for row in rows for cell in row.cells[1:] if cell]
    return clauses * 2 >= len(rows) and sum(words) > 12 * len(words)


def _is_hanging(rows: Sequence[_Row]) -> bool:
    """Tell items and notes whose marks hang beside them from a table of two columns: a table has names or a head."""
    marks = [row.cells[0] for row in rows if row.cells[0]]
    opened = [opening_of(f"{mark} x") for mark in marks]
    return (
        all(len(row.cells) <= 2 for row in rows)
        and bool(marks)
        and all(each is not None and each.marker == mark for each, mark in zip(opened, marks, strict=True))
    )


def _gap(line: Line) -> float:
    """Measure the widest gap between words, but for the one after a number or bullet that hangs before its text."""
    hanging = line.gap < 2.6 * line.size and _HANGING.match(line.text) is not None
    return 0.0 if hanging else line.gap


def _beside(lines: Sequence[Line]) -> dict[int, float]:
    """Find the lines that stand beside another one: each with the leftmost edge to its right, if there is one."""
    found: dict[int, float] = {}
    ordered = sorted(lines, key=lambda line: line.y0)
    for index, line in enumerate(ordered):
        for other in itertools.islice(ordered, index + 1, None):
            if other.y0 - line.y0 >= 0.4 * line.size:
                break
            left, right = (line, other) if line.x0 <= other.x0 else (other, line)
            found.setdefault(id(right), math.inf)
            found[id(left)] = min(found.get(id(left), math.inf), right.x0)
    return found


def _is_text(row: _Row, modal: float, beside: dict[int, float]) -> bool:
    """Tell lines of text from cells: alone at their height, without a gap, yet shared out to several cells."""
    if sum(map(bool, row.cells)) < 2 or not row.lines:
        return False
    second = min(beside.values(), default=math.inf)
    stacked = len(row.lines) > 1 or row.lines[0].size >= modal + 1.0
    return stacked and not any(
        _gap(line) >= 1.2 * line.size or line.x0 > second - 5 or id(line) in beside for line in row.lines
    )


_WOVEN = 0.25
"""Share of the rows of several cells from which on these are cut out of running lines, and the table is none."""
_BLANK = 0.6
"""Times the print's size above which a gap is no blank of a justified line."""


def _is_woven(rows: Sequence[_Row], beside: Mapping[int, float]) -> bool:
    """Tell whether cells are words of sentences: rows of several cells whose lines run on without a gap."""
    several = [row for row in rows if sum(map(bool, row.cells)) > 1 and row.lines]
    running = sum(
        not any(_gap(line) >= _BLANK * line.size or id(line) in beside for line in row.lines) for row in several
    )
    over = sum(_runs_over(line, row.sides) for row in several for line in row.lines if id(line) not in beside)
    return running >= max(2.0, _WOVEN * len(several)) or over > max(2.0, _WOVEN * sum(len(row.lines) for row in rows))


def _runs_over(line: Line, sides: Sequence[float]) -> bool:
    """Tell whether a line runs without a gap from one cell into another."""
    near = line.size
    return _gap(line) < _BLANK * near and any(line.x0 < side - near < side + near < line.x1 for side in sides)


def _share_out(lines: Sequence[Line], rows: Sequence[_Row]) -> bool:
    """Give each row its lines; tells whether the cells of every row then hold all letters of its lines."""
    for line in lines:
        middle = (line.y0 + line.y1) / 2
        home = min(rows, key=lambda row: max(row.top - middle, middle - row.bottom, 0.0))
        home.lines.append(line)
    return not any(_letters(row.lines) - Counter(letters_of("".join(row.cells))) for row in rows)


def _is_heading(row: _Row, modal: float) -> bool:
    """Tell headings from cells: larger than the table's print, and without a gap but the one behind a bold number."""
    return bool(row.lines) and (
        all(_is_clause(line, modal) for line in row.lines)
        or all(line.size >= modal + 1.5 and _gap(line) < 1.2 * line.size for line in row.lines)
    )


def _is_clause(line: Line, modal: float) -> bool:
    return line.bold and line.size >= modal + _STANDS_OUT and _NUMBERED.match(line.text) is not None


def _up_to_clause(rows: Sequence[_Row], lines: list[Line], page: int) -> list[Line | Table] | None:
    """Make one table of rows whose places on the page are not known; a clause that begins among them ends it."""
    modal = Counter(line.size for line in lines).most_common(1)[0][0]
    end = next((index for index, line in enumerate(lines) if _is_clause(line, modal)), len(lines))
    if end == len(lines):
        return _whole(rows, lines, page)
    wanted = _letters(lines[:end])
    letters = Counter[str]()
    for count, row in enumerate(rows, 1):
        letters.update(letters_of("".join(row.cells)))
        if not wanted - letters:
            table = _whole(rows[:count], lines[:end], page) if end > 1 else None
            return [*table, *lines[end:]] if table else None
    return None


def _whole(rows: Sequence[_Row], lines: list[Line], page: int) -> list[Line | Table] | None:
    cells = [row.cells for row in rows if any(row.cells)]
    kept = [column for column in range(len(rows[0].cells)) if any(row[column] for row in cells)]
    cells = [[row[column] for column in kept] for row in cells]
    if len(kept) < 2 or len(cells) < 2:
        return None
    filled = [sum(bool(row[column]) for row in cells) for column in range(len(kept))]
    if sum(count * 3 >= len(cells) for count in filled) < 2:
        return None
    # the engine repeats a header that spans columns in each of them: letters may be more, never fewer
    have, want = Counter(letters_of("".join(itertools.chain.from_iterable(cells)))), _letters(lines)
    return [Table(page, cells, lines)] if not want - have and have.total() <= _REPEATED * want.total() + 40 else None


def _letters(lines: Sequence[Line]) -> Counter[str]:
    return Counter(letters_of("".join(line.text for line in lines)))


_COLUMN_ROWS = 0.2

_Area = tuple[float, int, float, float, float, float]
"""A block's top, its index, its edges left, right and below with a point around them, its area."""


def lay_out(parsed: ParsedPage) -> PageLayout:
    """Make a page's lines and tables, in reading order."""
    page = PageLayout(parsed.page_num, parsed.width, parsed.height)
    blocks = [block for block in parsed.blocks or [] if block.bbox is not None]
    items = [item for item in parsed.text_items if item.text.strip()]
    areas = _areas(blocks)
    tops = [area[0] for area in areas]
    slanted = [item for item in items if is_slanted(item)]
    items = [item for item in items if not is_slanted(item)] if slanted else items
    beside: list[Line | Table] = []
    for turned in turned_text(parsed, items) if any(map(is_rotated, items)) else ():
        if elements := turned.taken_back(lay_out(turned.page)):
            beside += elements
            gone = set(map(id, turned.items))
            items = [item for item in items if id(item) not in gone]
    places = {id(item): _place(item, areas, tops) for item in items}
    drawn = drawn_of(parsed.vector_graphics)
    tables, items = ruled_tables(drawn, items, page.number, places) if drawn.grids else ([], items)
    gutter = gutter_of(items, page.width)
    if gutter is not None and not all(_is_drawn(block, tables) for block in blocks):
        rows = [[line_of(part, page.number, places) for part in row] for row in _parts(items, places)]
        found = _guessed(rows, blocks, drawn, tables, page.number, items, places)
        if any(isinstance(element, Table) for some in found.values() for element in some):
            gutter = None
    if gutter is not None:
        gutter = gutter.crossed(table.top for table in tables if table.left < gutter.x < table.box[2])
        places.update({id(item): gutter.place(item.x, item.x + item.width, item.y + item.height / 2) for item in items})
        tables = [replace(each, block=gutter.place(each.left, each.box[2], each.top)) for each in tables]
    parts = _parts(items, places)
    asides = _asides(items, parts, blocks, places, page) if gutter is None else []
    if asides:
        taken = {id(item) for aside in asides for item in aside.items}
        items = [item for item in items if id(item) not in taken]
        parts = _parts(items, places)
    rows_of_lines = [[line_of(part, page.number, places) for part in row] for row in parts]
    mark_underlined([line for row in rows_of_lines for line in row], parsed.vector_graphics)
    places.update({id(item): _place(item, areas, tops) for item in slanted})
    rotated = [line_of([item], page.number, places) for item in (*items, *slanted) if is_rotated(item)]
    guessed = _guessed(rows_of_lines, blocks if gutter is None else [], drawn, tables, page.number, items, places)
    columns = gutter is not None or _has_columns(rows_of_lines, page.width, blocks)
    page.elements = _in_order(rows_of_lines, tables, guessed, columns)
    if (not asides and _is_loose(page.lines, columns)) or not all(aside.clear for aside in asides):
        page.doubt = LAYOUT_UNCERTAIN
    insert_asides(page.elements, asides)
    page.elements += [*rotated, *beside]
    return page


def _is_drawn(block: LayoutBlock, tables: Sequence[RuledTable]) -> bool:
    """Tell whether a block is no table but one that lines draw."""
    if block.kind != "table" or block.bbox is None:
        return True
    x, y = block.bbox.x + block.bbox.width / 2, block.bbox.y + block.bbox.height / 2
    return any(each.box[0] <= x <= each.box[2] and each.box[1] <= y <= each.box[3] for each in tables)


_LOOSE_ROWS = 4
"""Rows with words side by side, outside of tables and columns, from which on nobody knows what belongs together."""
_FEW_WORDS = 2


def _is_loose(lines: Sequence[Line], columns: bool) -> bool:
    """Tell whether words stand side by side in many rows that are neither a table's nor of columns."""
    count = 0
    for index, line in enumerate(lines):
        if _gap(line) > 2 * line.size and line.split is not None and not line.code:
            left, right = line.text[: line.split[0]], line.text[line.split[0] :]
            count += _words(left) >= _FEW_WORDS and _words(right) >= _FEW_WORDS
        for other in lines[index + 1 : index + 4] if not columns else ():
            beside = min(line.y1, other.y1) - max(line.y0, other.y0) > 0.3 * line.size
            apart = other.x0 >= line.x1 + line.size or other.x1 + line.size <= line.x0
            if beside and apart and min(_words(line.text), _words(other.text)) >= _FEW_WORDS:
                count += 1
                break
    return count >= _LOOSE_ROWS


def _words(text: str) -> int:
    return sum(any(map(str.isalpha, word)) for word in text.split())


def _parts(items: Sequence[TextItem], places: Mapping[int, float]) -> list[list[list[TextItem]]]:
    return [parts_of(row, places) for row in rows_of([item for item in items if not is_rotated(item)])]


_COLUMN = 0.3
"""Share of the letters on both sides from which on a text beside another is a column, where columns were seen."""


def _asides(
    items: Sequence[TextItem],
    parts: Sequence[Sequence[Sequence[TextItem]]],
    blocks: Sequence[LayoutBlock],
    places: Mapping[int, float],
    page: PageLayout,
) -> list[Aside]:
    """Find the texts beside the running text, with their lines; those that the columns keep apart stay there."""
    tables = {float(index) for index, block in enumerate(blocks) if block.kind == "table"}
    found = asides_of(items, {id(item) for item in items if places[id(item)] in tables})
    if not found:
        return []
    rows = [[line_of(part, page.number, places) for part in row] for row in parts]
    columns = _has_columns(rows, page.width, blocks)
    asides: list[Aside] = []
    for aside in found:
        own = {id(item) for item in aside.items}
        woven = any(0 < sum(id(item) in own for item in part) < len(part) for row in parts for part in row)
        if columns and not woven and aside.share > _COLUMN:
            continue
        asides.append(aside)
        aside.lines = [line_of(row, page.number, places) for row in rows_of(aside.items)]
        for line in aside.lines:
            line.aside = len(asides) if aside.share <= _COLUMN else -len(asides)
    return asides


def _in_order(
    rows: Sequence[Sequence[Line]],
    tables: Sequence[RuledTable],
    guessed: Mapping[int, list[Line | Table]],
    columns: bool,
) -> list[Line | Table]:
    """Put lines in order, and each table where it begins; `guessed` has what stands in place of a line."""
    if columns:
        # parts of one row stand at one height, though their print may be higher or lower
        lines = [
            ((line.block, min(each.y0 for each in row if each.block == line.block), line.x0), [line])
            for row in rows
            for line in row
        ]
        drawn = [((table.block, table.top, table.left), table.elements) for table in tables]
    else:  # a row stands where its middle is, as rows are found
        lines = [((min((line.y0 + line.y1) / 2 for line in row), 0.0, 0.0), list(row)) for row in rows]
        drawn = [((table.top, 0.0, table.left), table.elements) for table in tables]
        if not drawn:
            drawn, lines = lines, []
    placed = sorted([*drawn, *lines], key=lambda pair: pair[0]) if lines else drawn
    elements: list[Line | Table] = []
    for _, some in placed:
        for element in some:
            elements.extend(guessed.get(id(element), [element]))
    return elements


def _guessed(
    rows: Sequence[Sequence[Line]],
    blocks: Sequence[LayoutBlock],
    drawn: Drawn,
    tables: Sequence[RuledTable],
    page: int,
    items: Sequence[TextItem],
    places: Mapping[int, float],
) -> dict[int, list[Line | Table]]:
    """Tell what the engine's tables put in place of lines: the table for the first, nothing for the others."""
    guesses = [index for index, block in enumerate(blocks) if block.kind == "table"]
    if not guesses:
        return {}
    inside: defaultdict[float, list[Line]] = defaultdict(list)
    for line in itertools.chain.from_iterable(rows):
        inside[line.block].append(line)
    replaced: dict[int, list[Line | Table]] = {}
    for index in guesses:
        taken = inside[float(index)]
        if not taken or any(table.overlaps(taken) for table in tables) or drawn.is_drawing(_around(taken), taken):
            continue
        names = _left_of(taken, rows, guesses)
        found = tables_of(blocks[index], taken, page, [item for item in items if places[id(item)] == index], names)
        if found is not None:
            held = {id(line) for each in found for line in (each.lines if isinstance(each, Table) else [each])}
            replaced.update({id(line): [] for line in names if id(line) in held})
            replaced.update({id(line): [] for line in taken})
            replaced[id(taken[0])] = found
    return replaced


def _left_of(lines: Sequence[Line], rows: Sequence[Sequence[Line]], tables: Sequence[int]) -> list[Line]:
    """List the lines to the left of some, in their rows, that are of no table."""
    own, left = set(map(id, lines)), min(line.x0 for line in lines)
    return [
        line
        for row in rows
        if any(id(each) in own for each in row)
        for line in row
        if line.x1 < left and line.block not in tables
    ]


def _around(lines: Sequence[Line]) -> tuple[float, float, float, float]:
    return (
        min(line.x0 for line in lines), min(line.y0 for line in lines),
        max(line.x1 for line in lines), max(line.y1 for line in lines),
    )  # fmt: skip


# ---- order ----------------------------------------------------------------------------------------------------------


def _areas(blocks: Sequence[LayoutBlock]) -> list[_Area]:
    """Measure the blocks that text stands in, from the top: a page has thousands of items to be placed."""
    found: list[_Area] = []
    for index, block in enumerate(blocks):
        box = block.bbox
        if box is not None and block.kind not in {"rule", "figure"}:
            x, y, width, height = box.x, box.y, box.width, box.height
            found.append((y, index, x - 1, x + width + 1, y + height + 1, width * height))
    return sorted(found)


def _place(item: TextItem, areas: Sequence[_Area], tops: Sequence[float]) -> float:
    """Find the smallest block around the item's middle; else put it half a step behind the block above it."""
    x, y = item.x + item.width / 2, item.y + item.height / 2
    best, best_area, above, above_y = -0.5, 0.0, -0.5, -1.0
    for top, index, left, right, under, area in areas[: bisect_right(tops, y + 1)]:
        inside_x = left <= x <= right
        if inside_x and y <= under:
            if best < 0 or area < best_area or (area == best_area and index < best):
                best, best_area = float(index), area
        elif above_y <= top <= y and (inside_x or top > above_y):
            above, above_y = index + 0.5, top
    return best if best >= 0 else above


def _has_columns(rows: Sequence[Sequence[Line]], width: float, blocks: Sequence[LayoutBlock]) -> bool:
    """Tell whether running text stands side by side: rows with two wide parts that belong to different blocks.

    Figures are no running text: beside their labels they are rows, whatever blocks the engine made of them.
    """
    tables = {float(index) for index, block in enumerate(blocks) if block.kind == "table"}
    beside = 0
    for row in rows:
        wide = [
            line
            for line in row
            if line.x1 - line.x0 > 0.2 * width and line.block not in tables and not is_figures(line.text)
        ]
        beside += len({line.block for line in wide}) > 1
    return beside >= max(3, _COLUMN_ROWS * len(rows))
