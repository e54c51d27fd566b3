"""Drawings of Office files with their own data: charts as rows, diagrams (SmartArt) as list items with levels."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Iterator
from typing import TypeAlias

from knowledge_mcp.model.document import BlockKind
from knowledge_mcp.readers.shared.containers import Element, local_name
from knowledge_mcp.readers.shared.numbering import whole_number
from knowledge_mcp.readers.shared.richtext import RichText, table_text

MOST_LEVELS = 9
"""Levels of a diagram; PowerPoint's lists have nine."""
_FIRST_DAY, _LAST_DAY = dt.date(1899, 12, 30), 2_958_466
"""The day from which Office counts dates, and the number of its last day, the end of 9999."""
Rows: TypeAlias = list[list[str]]


def words_of(element: Element | None) -> str:
    """Return the words of a drawing's text on one line."""
    parts = element.iter("{*}t", "{*}p", "{*}br", "{*}tab") if element is not None else ()
    return " ".join("".join((part.text or "") if local_name(part) == "t" else " " for part in parts).split())


# ---- diagrams -------------------------------------------------------------------------------------------------------


def diagram_items(root: Element) -> list[tuple[int, str]]:
    """Return the items of a diagram (`dgm:dataModel`) with their levels from 0, parents before children.

    The words of an arrow come after the item from which it leads.
    """
    points = {point.get("modelId", ""): point for point in root.iter("{*}pt")}
    below: dict[str, list[tuple[int, str, str]]] = defaultdict(list)
    for link in root.iter("{*}cxn"):
        if link.get("type", "parOf") == "parOf":
            order = link.get("srcOrd", "0")
            below[link.get("srcId", "")].append(
                (whole_number(order, 0), link.get("destId", ""), link.get("sibTransId", ""))
            )
    found: list[tuple[int, str]] = []
    seen: set[str] = set()

    def add(name: str, level: int) -> None:
        point = points.get(name)
        text = words_of(point.find("{*}t")) if point is not None else ""
        if text:
            found.append((min(max(level, 0), MOST_LEVELS - 1), text))

    pending = [(name, -1) for name, point in points.items() if point.get("type") == "doc"]
    while pending:
        name, level = pending.pop()
        if name in seen:
            continue
        seen.add(name)
        add(name, level)
        for _, child, arrow in sorted(below[name], reverse=True):
            pending += [(arrow, level + 1), (child, level + 1)]
    for name, point in points.items():  # points without a parent, in a damaged diagram
        if name not in seen and point.get("type", "node") in {"node", "asst"}:
            add(name, 0)
    return found


# ---- charts ---------------------------------------------------------------------------------------------------------


def chart_parts(root: Element) -> tuple[str, list[Rows]]:
    """Return a chart's title and the data (`c:chartSpace`) that the file holds.

    Returns:
        The title, "" if there is none, and tables: the first row names the series, the others begin with their
        category. Series over the same categories are one table.
    """
    chart = root.find("{*}chart")
    title = words_of(chart.find("{*}title")) if chart is not None else ""
    tables: list[tuple[list[str], Rows]] = []
    for number, series in enumerate(root.iter("{*}ser"), 1):
        name = " ".join(_cached(series.find("{*}tx")).values()) or f"Series {number}"
        labels = _cached(series.find("{*}cat") if series.find("{*}cat") is not None else series.find("{*}xVal"))
        values = _cached(series.find("{*}val") if series.find("{*}val") is not None else series.find("{*}yVal"))
        places = sorted({*labels, *values})
        categories = [labels.get(place, str(place + 1)) for place in places]
        column = [values.get(place, "") for place in places]
        known = next((rows for names, rows in tables if names == categories), None)
        if known is None:
            tables.append((categories, [["Category", name], *map(list, zip(categories, column, strict=True))]))
        else:
            for row, value in zip(known, [name, *column], strict=True):
                row.append(value)
    axes = [
        words for axis in root.iter("{*}catAx", "{*}valAx", "{*}dateAx") if (words := words_of(axis.find("{*}title")))
    ]
    return " – ".join([title, *axes] if title else axes), [rows for _, rows in tables if len(rows) > 1]


def figure_blocks(root: Element) -> Iterator[tuple[BlockKind, RichText, int]]:
    """Yield what a diagram or a chart says: items with their levels, a title, tables."""
    title, tables = chart_parts(root)
    for level, text in diagram_items(root):
        yield BlockKind.LIST_ITEM, RichText(text), level
    if title:
        yield BlockKind.CAPTION, RichText(title), 0
    for rows in tables:
        yield BlockKind.TABLE, table_text([[RichText(cell) for cell in row] for row in rows]), 0


def _cached(reference: Element | None) -> dict[int, str]:
    """Read the cached values of a chart by index; of categories in levels, the outer one comes first."""
    found: dict[int, str] = {}
    if reference is None:
        return found
    levels = list(reference.iter("{*}lvl"))
    if not levels:
        return dict(_points(reference, _format(reference)))
    inner = dict(_points(levels[0], ""))
    for level in levels[1:]:
        outer, above = dict(_points(level, "")), ""
        for place in sorted(inner):
            above = outer.get(place, above)
            inner[place] = f"{above} {inner[place]}".strip()
    return inner


def _format(reference: Element) -> str:
    code = next(reference.iter("{*}formatCode"), None)
    return (code.text or "") if code is not None else ""


def _points(holder: Element, form: str) -> Iterator[tuple[int, str]]:
    for point in holder.iter("{*}pt"):
        place, value = whole_number(point.get("idx"), None), point.find("{*}v")
        if place is not None and value is not None:
            yield place, _number(" ".join((value.text or "").split()), form)
    if next(holder.iter("{*}pt"), None) is None and (written := next(holder.iter("{*}v"), None)) is not None:
        yield 0, " ".join((written.text or "").split())


def _number(text: str, form: str) -> str:
    """Write a value without the digits that come from its binary form: 20.4 for 20.399999999999999."""
    try:
        value = float(text)
    except ValueError:
        return text
    if "yy" in form.lower() and 0 < value < _LAST_DAY:
        return (_FIRST_DAY + dt.timedelta(days=int(value))).isoformat()
    return f"{value * 100:.12g}%" if "%" in form else f"{value:.15g}"
