"""Puts the lines and tables of a page into reading order.

Only two things come from the engine's blocks: the order of columns, if there are columns, and its tables.
"""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from knowledge_mcp.model.document import LAYOUT_UNCERTAIN
from knowledge_mcp.readers.pdf.bands import bands_of
from knowledge_mcp.readers.pdf.cells import RuledTable, ruled_tables
from knowledge_mcp.readers.pdf.flow.asides import Aside, asides_of, insert_asides, margin_notes
from knowledge_mcp.readers.pdf.flow.guessed_tables import gap_of, tables_of
from knowledge_mcp.readers.pdf.flow.gutter import gutter_of
from knowledge_mcp.readers.pdf.flow.headed_rows import headed_rows
from knowledge_mcp.readers.pdf.flow.level_rules import tables_between_rules
from knowledge_mcp.readers.pdf.flow.long_tables import with_long_tables
from knowledge_mcp.readers.pdf.flow.parted_rows import parted_rows
from knowledge_mcp.readers.pdf.flow.turned import turned_text
from knowledge_mcp.readers.pdf.flow.typed_rows import typed_rows
from knowledge_mcp.readers.pdf.lines import (
    around,
    is_rotated,
    is_slanted,
    line_of,
    mark_underlined,
    overlap,
    parts_of,
    rows_of,
    words_of_items,
)
from knowledge_mcp.readers.pdf.ruled import Drawn, drawn_of, holds
from knowledge_mcp.readers.shared.layout import Line, PageLayout, Table, is_figures, lines_of

if TYPE_CHECKING:
    from liteparse.types import LayoutBlock, ParsedPage, TextItem

_COLUMN_ROWS = 0.2

_Area = tuple[float, int, float, float, float, float]
"""A block: its top, its index, its left, right and lower edges with a margin of one point, its area."""


def lay_out(parsed: ParsedPage, strip: float = 0.0, between: float = 0.0, *, typed: bool = False) -> PageLayout:
    """Make a page's lines and tables, in reading order; `strip` and `between` are those of `PageLayout`.

    `typed` is whether the document is typewriter print.
    """
    page = PageLayout(parsed.page_num, parsed.width, parsed.height, strip=strip, between=between)
    items = [item for item in parsed.text_items if item.text.strip()]
    blocks = with_long_tables([block for block in parsed.blocks or [] if block.bbox is not None], items)
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
    drawn.grids += parted_rows(drawn, items)
    drawn.grids += headed_rows(drawn, items)
    if typed:
        grids, dashes = typed_rows(drawn, items)
        drawn.grids += grids
        items = [item for item in items if id(item) not in dashes]
    tables, items = ruled_tables(drawn, items, page.number, places) if drawn.grids or drawn.rows else ([], items)
    for table, taken in tables_between_rules(parsed.vector_graphics, items, blocks, page.number, places):
        tables.append(RuledTable([table], around(table.lines), table.lines[0].block))
        items = [item for item in items if id(item) not in taken]
    gutter = gutter_of(items, page.width, strip or between)
    if gutter is not None and not all(_is_drawn(block, tables) for block in blocks):
        apart, rest = _set_apart(items, blocks, drawn, tables, page, places)
        gutter = gutter_of(rest, page.width, strip or between) if apart else gutter
        tables, items = ([*tables, *apart], rest) if gutter is not None else (tables, items)
    if gutter is not None:
        gutter = gutter.crossed(table.top for table in tables if gutter.is_crossed(table.left, table.box[2]))
        places.update({id(item): gutter.place(item.x, item.x + item.width, item.y + item.height / 2) for item in items})
        tables = [replace(each, block=gutter.place(each.left, each.box[2], each.top)) for each in tables]
    asides: list[Aside] = []
    if gutter is None:
        found, items, asides = _side_by_side(items, blocks, drawn, tables, page, places)
        tables = [*tables, *found]
    parts = _parts(items, places) if gutter is None else _parts_by_column(items, places)
    rows_of_lines = [[line_of(part, page.number, places) for part in row] for row in parts]
    mark_underlined([line for row in rows_of_lines for line in row], parsed.vector_graphics)
    places.update({id(item): _place(item, areas, tops) for item in slanted})
    rotated = [line_of([item], page.number, places) for item in (*items, *slanted) if is_rotated(item)]
    guessed = _guessed(rows_of_lines, blocks if gutter is None else [], drawn, tables, page.number, items, places)
    columns = gutter is not None or _has_columns(rows_of_lines, page.width, blocks)
    page.elements = _in_order(rows_of_lines, tables, guessed, columns)
    if (not any(aside.share for aside in asides) and _is_loose(page.lines, columns)) or not all(
        aside.clear for aside in asides
    ):
        page.doubt = LAYOUT_UNCERTAIN
    insert_asides(page.elements, asides)
    page.elements += [*rotated, *beside]
    return page


def _is_drawn(block: LayoutBlock, tables: Sequence[RuledTable]) -> bool:
    """Return whether a block is not a table, or a table that ruling lines draw."""
    if block.kind != "table" or block.bbox is None:
        return True
    x, y = block.bbox.x + block.bbox.width / 2, block.bbox.y + block.bbox.height / 2
    return any(each.box[0] <= x <= each.box[2] and each.box[1] <= y <= each.box[3] for each in tables)


def _set_apart(
    items: Sequence[TextItem],
    blocks: Sequence[LayoutBlock],
    drawn: Drawn,
    tables: Sequence[RuledTable],
    page: PageLayout,
    places: Mapping[int, float],
) -> tuple[list[RuledTable], list[TextItem]]:
    """Find the tables that the engine guessed on a page of two columns; return them and the other items."""
    between = page.between
    guesses = [place for place in _tables_in(blocks) if not (between and _is_parted(items, places, place, between))]
    parts = _parts(items, places)
    rows = [[line_of(part, page.number, places) for part in row] for row in parts]
    within = {
        id(line): part for row, some in zip(rows, parts, strict=True) for line, part in zip(row, some, strict=True)
    }
    found: list[RuledTable] = []
    taken: set[int] = set()
    for elements in _guessed(rows, blocks, drawn, tables, page.number, items, places, guesses).values():
        lines = [line for each in elements for line in lines_of(each)]
        if elements:
            found.append(RuledTable(elements, around(lines), 0.0))
            taken.update(id(item) for line in lines for item in within[id(line)])
    return found, [item for item in items if id(item) not in taken]


def _side_by_side(
    items: list[TextItem],
    blocks: Sequence[LayoutBlock],
    drawn: Drawn,
    tables: Sequence[RuledTable],
    page: PageLayout,
    places: Mapping[int, float],
) -> tuple[list[RuledTable], list[TextItem], list[Aside]]:
    """Find texts side by side on a page without a gutter; return those of its parts, the other items, and asides.

    A table that the engine guessed remains, unless it is within columns of text: it has their lines as rows.
    """
    bands = bands_of([item for item in items if not is_rotated(item)])
    guessed = _set_apart(items, blocks, drawn, tables, page, places)[0] if bands else []
    found: list[RuledTable] = []
    asides: list[Aside] = []
    for even in (True, False):
        if not even:
            asides = _asides(items, _parts(items, places), blocks, places, page)
        taken = {id(item) for aside in asides for item in aside.items}
        for band in (band for band in bands if band.is_even == even and not asides):
            rows = [row for column in band.columns for row in column]
            lines = [line_of(part, page.number, places) for row in rows for part in parts_of(row, places)]
            box = around(lines)
            known = [table.box for table in guessed if overlap(box, table.box)]
            if any(band.records or not holds(box, each) for each in known):
                continue
            if band.records and drawn.is_drawing(box, lines):
                continue
            cells = [[words_of_items(cell) for cell in record] for record in band.records]
            elements: list[Line | Table] = [Table(page.number, cells, lines)] if cells else [*lines]
            found.append(RuledTable(elements, box, min(line.block for line in lines)))
            taken.update(id(item) for row in rows for item in row)
        items = [item for item in items if id(item) not in taken]
    return found, items, asides


def _tables_in(blocks: Sequence[LayoutBlock]) -> list[int]:
    return [place for place, block in enumerate(blocks) if block.kind == "table"]


def _is_parted(items: Sequence[TextItem], places: Mapping[int, float], block: int, between: float) -> bool:
    """Return whether a guessed table is text in two languages, row by row.

    Nothing in it crosses the strip between them, and it has no figures but those that both have: clause numbers.
    """
    own = [item for item in items if places[id(item)] == block]
    left = {item.text.strip() for item in own if item.x + item.width <= between}
    right = {item.text.strip() for item in own if item.x >= between}
    crosses = any(item.x < between < item.x + item.width for item in own)
    return bool(left and right) and not crosses and not any(map(is_figures, left ^ right))


_LOOSE_ROWS = 4
"""Number of rows with words side by side, outside tables and columns, from which the layout is uncertain."""
_FEW_WORDS = 2


def _is_loose(lines: Sequence[Line], columns: bool) -> bool:
    """Return whether words are side by side in many rows that belong neither to a table nor to columns."""
    count = 0
    for index, line in enumerate(lines):
        if gap_of(line) > 2 * line.size and line.split is not None and not line.code:
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


def _parts_by_column(items: Sequence[TextItem], places: Mapping[int, float]) -> list[list[list[TextItem]]]:
    """Split rows of two columns: tightly set lines in one may overlap several of the other and merge into one row."""
    found: list[list[list[TextItem]]] = []
    for row in rows_of([item for item in items if not is_rotated(item)]):
        columns: defaultdict[float, list[TextItem]] = defaultdict(list)
        for item in row:
            columns[places[id(item)]].append(item)
        lines = [line for inside in columns.values() for line in rows_of(inside)]
        found += [parts_of(line, places) for line in (lines if len(lines) > len(columns) else [row])]
    return found


_COLUMN = 0.3
"""Share of the letters on both sides above which a text next to another is a column, if the page has columns."""


def _asides(
    items: Sequence[TextItem],
    parts: Sequence[Sequence[Sequence[TextItem]]],
    blocks: Sequence[LayoutBlock],
    places: Mapping[int, float],
    page: PageLayout,
) -> list[Aside]:
    """Find the texts next to the running text, with their lines; those that the columns separate are left there."""
    tables = {float(index) for index, block in enumerate(blocks) if block.kind == "table"}
    tabled = {id(item) for item in items if places[id(item)] in tables}
    notes = margin_notes(items)
    gone = {id(item) for note in notes for item in note.items}
    found = [*notes, *asides_of([item for item in items if id(item) not in gone], tabled)]
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
        aside.lines = [_as_one(aside.lines)] if aside.is_title else aside.lines
        for line in aside.lines:
            line.aside = len(asides) if aside.share <= _COLUMN and not aside.is_title else -len(asides)
    return sorted(asides, key=lambda aside: aside.top)


def _as_one(lines: Sequence[Line]) -> Line:
    """Join the lines of a title next to its text into one line."""
    left, top, right, bottom = around(lines)
    return replace(lines[0], text=" ".join(line.text for line in lines), x0=left, y0=top, x1=right, y1=bottom)


def _in_order(
    rows: Sequence[Sequence[Line]],
    tables: Sequence[RuledTable],
    guessed: Mapping[int, list[Line | Table]],
    columns: bool,
) -> list[Line | Table]:
    """Sort lines and tables, each table where it begins; `guessed` has what replaces a line."""
    if columns:
        # parts of one row are at the same height, even if their print is higher or lower
        lines = [
            ((line.block, min(each.y0 for each in row if each.block == line.block), line.x0), [line])
            for row in rows
            for line in row
        ]
        drawn = [((table.block, table.top, table.left), table.elements) for table in tables]
    else:  # a row is placed by its middle, as rows are found by it
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
    guesses: Sequence[int] | None = None,
) -> dict[int, list[Line | Table]]:
    """Return what replaces the lines of the engine's tables: the table for the first line, nothing for the others."""
    guesses = _tables_in(blocks) if guesses is None else guesses
    if not guesses:
        return {}
    inside: defaultdict[float, list[Line]] = defaultdict(list)
    for line in itertools.chain.from_iterable(rows):
        inside[line.block].append(line)
    replaced: dict[int, list[Line | Table]] = {}
    for index in guesses:
        taken = inside[float(index)]
        if not taken or any(table.overlaps(taken) for table in tables) or drawn.is_drawing(around(taken), taken):
            continue
        names = _left_of(taken, rows, guesses)
        found = tables_of(blocks[index], taken, page, [item for item in items if places[id(item)] == index], names)
        if found is not None:
            contained = {id(line) for each in found for line in lines_of(each)}
            replaced.update({id(line): [] for line in names if id(line) in contained})
            replaced.update({id(line): [] for line in taken})
            replaced[id(taken[0])] = found
    return replaced


def _left_of(lines: Sequence[Line], rows: Sequence[Sequence[Line]], tables: Sequence[int]) -> list[Line]:
    """List the lines to the left of some lines, in the same rows, that belong to no table."""
    own, left = set(map(id, lines)), min(line.x0 for line in lines)
    return [
        line
        for row in rows
        if any(id(each) in own for each in row)
        for line in row
        if line.x1 < left and line.block not in tables
    ]


# ---- order ----------------------------------------------------------------------------------------------------------


def _areas(blocks: Sequence[LayoutBlock]) -> list[_Area]:
    """List the blocks that text is in with their edges, sorted from the top; computed once for thousands of items."""
    found: list[_Area] = []
    for index, block in enumerate(blocks):
        box = block.bbox
        if box is not None and block.kind not in {"rule", "figure"}:
            x, y, width, height = box.x, box.y, box.width, box.height
            found.append((y, index, x - 1, x + width + 1, y + height + 1, width * height))
    return sorted(found)


def _place(item: TextItem, areas: Sequence[_Area], tops: Sequence[float]) -> float:
    """Return the smallest block around the item's middle; if none, half a step after the block above it."""
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
    """Return whether running text is side by side: rows with two wide parts that belong to different blocks.

    Figures are not running text: figures and their labels are rows, whatever blocks the engine made of them.
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
