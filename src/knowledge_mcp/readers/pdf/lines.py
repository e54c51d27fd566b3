"""Text items and layout blocks of the engine to lines and tables in reading order.

The words come from the text items alone, character by character as the file has them. Lines are put together over the
whole width of the page first; the engine's blocks lend the order of columns where there are columns, and their tables
(`tables.py`), nothing else.
"""

from __future__ import annotations

import itertools
import math
import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from knowledge_mcp.readers.shared.layout import (
    Line,
    PageLayout,
    Table,
    is_bold_name,
    is_code_name,
    is_figures,
    is_italic_name,
    letters_of,
)

if TYPE_CHECKING:
    from liteparse.types import LayoutBlock, LayoutCell, ParsedPage, TextItem

__all__ = [
    "lay_out",
    "size_of",
    "tables_of",
]

_CLAUSE = re.compile(r"\d{1,3}(?:\.\d{1,3})+\.?|\d{1,2}\.|[A-Z]\.\d+(?:\.\d+)*")

_REPEATED = 1.5


@dataclass(slots=True)
class _Row:
    """One row: its cells' words, its extent down the page, the lines in it."""

    cells: list[str]
    top: float
    bottom: float
    lines: list[Line] = field(default_factory=list[Line])


def tables_of(block: LayoutBlock, lines: list[Line], page: int) -> list[Line | Table] | None:
    """Make the tables of one region, with any heading lines between them; None where the region is no table."""
    rows = [_row(cells) for cells in [block.header or [], *(block.rows or [])] if cells]
    width = max((len(row.cells) for row in rows), default=0)
    if width < 2 or len(rows) < 2 or sum(line.code for line in lines) > 0.6 * len(lines):
        return None
    if _is_running_text(lines, rows):
        return None
    for row in rows:
        row.cells += [""] * (width - len(row.cells))
    if not _share_out(lines, rows):
        return _whole(rows, lines, page)
    found: list[Line | Table] = []
    modal = Counter(line.size for line in lines).most_common(1)[0][0]
    beside = _beside(lines)
    apart = [_is_heading(row, modal) or _is_text(row, modal, beside) for row in rows]
    for is_text, group in itertools.groupby(zip(rows, apart, strict=True), key=lambda pair: pair[1]):
        some = [row for row, _ in group]
        inside = [line for row in some for line in row.lines]
        found.extend(inside if is_text else _whole(some, inside, page) or inside)
    return found if any(isinstance(element, Table) for element in found) else None


def _row(cells: Sequence[LayoutCell]) -> _Row:
    boxes = [cell.bbox for cell in cells if cell.bbox is not None and cell.text.strip()]
    top = min((box.y for box in boxes), default=0.0)
    bottom = max((box.y + box.height for box in boxes), default=0.0)
    return _Row([_clean(cell.text) for cell in cells], top, bottom)


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


def _gap(line: Line) -> float:
    """Measure the widest gap between words, but for the one after a clause number that hangs before its text."""
    hanging = line.gap < 2.6 * line.size and _CLAUSE.match(line.text) is not None
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


def _share_out(lines: Sequence[Line], rows: Sequence[_Row]) -> bool:
    """Give each row its lines; tells whether the cells of every row then hold all letters of its lines."""
    for line in lines:
        middle = (line.y0 + line.y1) / 2
        home = min(rows, key=lambda row: max(row.top - middle, middle - row.bottom, 0.0))
        home.lines.append(line)
    return not any(_letters(row.lines) - Counter(letters_of("".join(row.cells))) for row in rows)


def _is_heading(row: _Row, modal: float) -> bool:
    """Tell headings from cells: every line of the row is larger than the table's print, and runs without a gap."""
    return bool(row.lines) and all(line.size >= modal + 1.5 and _gap(line) < 1.2 * line.size for line in row.lines)


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


_LETTERSPACED = re.compile(r"(?:\b\w ){4,}\w\b")
_COLUMN_ROWS = 0.2
_NUMBER_WIDTH = 14

_Area = tuple[float, int, float, float, float, float]
"""A block's top, its index, its edges left, right and below with a point around them, its area."""


def lay_out(parsed: ParsedPage) -> PageLayout:
    """Make a page's lines and tables, in reading order."""
    page = PageLayout(parsed.page_num, parsed.width, parsed.height)
    blocks = [block for block in parsed.blocks or [] if block.bbox is not None]
    items = [item for item in parsed.text_items if item.text.strip()]
    areas = _areas(blocks)
    tops = [area[0] for area in areas]
    places = {id(item): _place(item, areas, tops) for item in items}
    rows = _rows([item for item in items if not _is_rotated(item)])
    rows_of_lines = [[_line(part, page.number, places) for part in _parts(row, places)] for row in rows]
    rotated = [_line([item], page.number, places) for item in items if _is_rotated(item)]
    if _has_columns(rows_of_lines, page.width, blocks):
        lines = sorted((line for row in rows_of_lines for line in row), key=lambda line: (line.block, line.y0, line.x0))
    else:
        lines = [line for row in rows_of_lines for line in row]
    page.elements = [*_with_tables(lines, blocks, page.number), *rotated]
    return page


def _with_tables(lines: list[Line], blocks: Sequence[LayoutBlock], page: int) -> list[Line | Table]:
    """Put each table where the first of its lines stands."""
    inside: defaultdict[float, list[Line]] = defaultdict(list)
    for line in lines:
        inside[line.block].append(line)
    replaced: dict[int, list[Line | Table]] = {}
    for index, block in enumerate(blocks):
        if block.kind == "table" and inside[float(index)]:
            taken = inside[float(index)]
            found = tables_of(block, taken, page)
            if found is not None:
                replaced.update({id(line): [] for line in taken})
                replaced[id(taken[0])] = found
    elements: list[Line | Table] = []
    for line in lines:
        elements.extend(replaced.get(id(line), [line]))
    return elements


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


def _is_rotated(item: TextItem) -> bool:
    return abs((item.rotation + 180.0) % 360.0 - 180.0) > 5.0


def _rows(items: list[TextItem]) -> list[list[TextItem]]:
    """Group items that share a baseline, top to bottom; each row left to right."""
    rows: list[list[TextItem]] = []
    for item in sorted(items, key=lambda item: (item.y + item.height / 2, item.x)):
        if rows and any(_share_baseline(other, item) for other in rows[-1][-3:]):
            rows[-1].append(item)
        else:
            rows.append([item])
    return [sorted(row, key=lambda item: item.x) for row in rows]


def _share_baseline(one: TextItem, other: TextItem) -> bool:
    top = max(one.y, other.y)
    bottom = min(one.y + one.height, other.y + other.height)
    return bottom - top > 0.5 * min(one.height, other.height)


def _parts(row: Sequence[TextItem], places: dict[int, float]) -> list[list[TextItem]]:
    """Cut a row where a gap wider than a letter's height parts two blocks."""
    parts: list[list[TextItem]] = []
    for item in row:
        previous = parts[-1][-1] if parts else None
        if previous is not None:
            gap = item.x - (previous.x + previous.width)
            near = gap <= max(size_of(item), size_of(previous), 0.6 * item.height)
            if near or (places[id(previous)] == places[id(item)] and gap < 8 * size_of(item)):
                parts[-1].append(item)
                continue
        parts.append([item])
    return parts


# ---- lines ----------------------------------------------------------------------------------------------------------


def _line(items: Sequence[TextItem], page: int, places: dict[int, float]) -> Line:
    sizes: dict[float, int] = {}
    fonts: dict[str, int] = {}
    where: dict[float, int] = {}
    bold = code = total = 0
    gap = 0.0
    split: tuple[int, float] | None = None
    text = ""
    faces: list[tuple[int, bool]] = []
    previous: TextItem | None = None
    x0, y0 = items[0].x, items[0].y
    x1, y1 = x0 + items[0].width, y0 + items[0].height
    for item in items:
        size, x, y = size_of(item), item.x, item.y
        words = " ".join(_despaced(item.text).split())
        if previous is not None:
            text += _joint(previous, item, size)
            if x - previous.x - previous.width > gap:
                gap, split = x - previous.x - previous.width, (len(text), x)
            x0, y0, x1, y1 = min(x0, x), min(y0, y), max(x1, x + item.width), max(y1, y + item.height)
        text += words
        previous = item
        count = len(words)
        name = item.font_name or ""
        heavy = (item.font_weight or 400) >= 600 or is_bold_name(name)
        faces.append((len(text), heavy or is_italic_name(name)))
        bold += count if heavy else 0
        code += count if is_code_name(name) else 0
        total += count
        place = places[id(item)]
        sizes[size] = sizes.get(size, 0) + count
        where[place] = where.get(place, 0) + count
        font = name.partition("+")[2] or name
        fonts[font] = fonts.get(font, 0) + count
    return Line(
        page=page,
        text=text.strip(),
        x0=x0,
        y0=y0,
        x1=x1,
        y1=y1,
        size=max(sizes, key=sizes.__getitem__),
        bold=bold * 2 > total,
        font=max(fonts, key=fonts.__getitem__),
        code=code > 0.85 * total,
        gap=gap,
        split=split,
        block=max(where, key=where.__getitem__),
        rotated=_is_rotated(items[0]),
        marked=frozenset(item.mcid for item in items if item.mcid is not None),
        lead=_lead(faces),
    )


def _lead(faces: Sequence[tuple[int, bool]]) -> int:
    """Count the characters up to the end of the one run that is set apart and stands at the beginning; see `Line`."""
    first = next((index for index, (_, apart) in enumerate(faces) if apart), None)
    if first is None or (first > 0 and faces[first - 1][0] > _NUMBER_WIDTH):
        return 0
    last = first
    while last + 1 < len(faces) and faces[last + 1][1]:
        last += 1
    if last + 1 == len(faces) or any(apart for _, apart in faces[last + 1 :]):
        return 0
    return faces[last][0]


def size_of(item: TextItem) -> float:
    """Measure the type of an item, in points."""
    height = item.font_height or 0.0
    if height <= 0.5:
        height = item.height / 1.3 if not _is_rotated(item) else item.width / 1.3
    return round(height, 1)


def _joint(previous: TextItem, item: TextItem, size: float) -> str:
    distance = item.x - (previous.x + previous.width)
    return " " if distance > 0.12 * max(size, 4.0) or previous.text.endswith(" ") else ""


def _despaced(text: str) -> str:
    """Close up letter-spaced words ("R E P O R T"); two blanks or more part the words there."""
    if "  " not in text or not _LETTERSPACED.search(text):
        return text
    return _LETTERSPACED.sub(lambda match: match.group().replace(" ", ""), text)
