"""Text items and layout blocks of the engine to lines and tables in reading order.

The words come from the text items alone, character by character as the file has them. Lines are put together over the
whole width of the page first; the engine's blocks lend the order of columns where there are columns, and their tables
(`tables.py`), nothing else.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from knowledge_mcp.readers.pdf.layout import (
    Line,
    PageLayout,
    Table,
    is_bold_name,
    is_code_name,
    is_figures,
    is_italic_name,
)
from knowledge_mcp.readers.pdf.tables import tables_of

if TYPE_CHECKING:
    from liteparse.types import LayoutBlock, ParsedPage, TextItem

__all__ = ["lay_out"]

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
            near = gap <= max(_size(item), _size(previous), 0.6 * item.height)
            if near or (places[id(previous)] == places[id(item)] and gap < 8 * _size(item)):
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
    text = ""
    faces: list[tuple[int, bool]] = []
    previous: TextItem | None = None
    x0, y0 = items[0].x, items[0].y
    x1, y1 = x0 + items[0].width, y0 + items[0].height
    for item in items:
        size, x, y = _size(item), item.x, item.y
        words = " ".join(_despaced(item.text).split())
        if previous is not None:
            text += _joint(previous, item, size)
            gap = max(gap, x - previous.x - previous.width)
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


def _size(item: TextItem) -> float:
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
