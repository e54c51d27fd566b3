"""Child process: which tables of a page hold data, and which only lay out the page or a list."""

from __future__ import annotations

import re

from knowledge_mcp.language.openings import mark_alone
from knowledge_mcp.model.document import BlockKind
from knowledge_mcp.readers.shared.containers import Element, words_of
from knowledge_mcp.readers.shared.tables import parallel_columns

MARKER = "{https://clausewise.invalid}marker"
"""Attribute for the mark of a list item or a note, or a heading's number; set only on trees converted to a page."""
_LONGEST_MARK = 8
_BRACKETED = re.compile(r"\((?:[A-Z]{1,3}|[ivxlc]{1,6}|\d{1,3}[a-z]?)\)")
_HEADINGS = [name for level in range(1, 7) for name in (f"h{level}", f"{{*}}h{level}")]
_LAYOUT = ("h1", "h2", "h3", "h4", "h5", "h6", "form", "article", "section", "nav")
_LAYOUT_UNHEADED = (*_LAYOUT, "table", "pre", "blockquote")


def is_data_table(table: Element) -> bool:
    """Return whether a table holds data: it has rows and columns, and contains no parts of a page.

    Below column headers, cells may contain tables, quotes and code.
    """
    heads = [cell for cell in table.iterdescendants("th", "{*}th") if _table_of(cell) is table]
    names = [name for tag in (_LAYOUT if heads else _LAYOUT_UNHEADED) for name in (tag, f"{{*}}{tag}")]
    if table.get("role") in {"presentation", "none"} or next(table.iterdescendants(*names), None) is not None:
        return False
    cells = 0
    for rows, row in enumerate(table.iterdescendants("tr", "{*}tr"), 1):
        cells = max(cells, len(_cells(row)))
        if rows >= 2 and cells >= 2:
            return True
    return False


def lists_of_tables(root: Element) -> None:
    """Convert tables that only put marks next to words into lists, as in laws: each row is "(a)" and its words."""
    for table in list(root.iter("table", "{*}table")):
        rows = [row for row in table.iter("tr", "{*}tr") if _table_of(row) is table]
        items = [_marked(row) for row in rows]
        found = [item for item in items if item is not None]
        if not found or len(found) < len(items):
            continue
        table.tag = "ul"
        for row, (mark, beside) in zip(rows, found, strict=True):
            row.tag = "li"
            row.set(MARKER, words_of(mark))
            row.remove(mark)
            beside.tag = "div"


def feet_at_the_end(root: Element) -> None:
    """Move the rows that end a table to its end: older pages and XML have them before the other rows."""
    for foot in list(root.iter("tfoot", "{*}tfoot")):
        above = foot.getparent()
        if above is not None and foot.getnext() is not None:
            above.append(foot)


def languages_of_tables(root: Element) -> None:
    """Rearrange tables with the same clauses in several languages side by side, one language after the other."""
    from lxml import etree

    for table in list(root.iter("table", "{*}table")):
        if next(table.iterdescendants(*_HEADINGS), None) is None:
            continue
        rows = [_cells(row) for row in table.iter("tr", "{*}tr") if _table_of(row) is table]
        width = max(map(len, rows), default=0)
        whole = [row for row in rows if len(row) == width]
        if 2 * len(whole) < len(rows):
            continue
        texts = [[words_of(cell, " ") for cell in row] for row in whole]
        languages = parallel_columns(texts)
        if not languages:
            continue
        table.tag = "div"
        for part in list(table):
            table.remove(part)
        for columns in languages:
            part = etree.SubElement(table, "div")
            for row in rows:
                if len(row) == width:
                    *numbers, own = (row[column] for column in columns)
                    _number(own, words_of(numbers[0], " ") if numbers else "")
                    part.append(own)
                elif columns is languages[0]:
                    part.extend(row)
            for cell in part:
                cell.tag = "div"


def _cells(row: Element) -> list[Element]:
    return [cell for cell in row if isinstance(cell.tag, str) and cell.tag[-2:] in {"td", "th"}]


def _number(cell: Element, number: str) -> None:
    """Put a number from a separate cell before the words of another cell, in its heading if it has one."""
    if number:
        first = next(cell.iterdescendants(*_HEADINGS), cell)
        first.text = f"{number} {first.text or ''}"


def _table_of(row: Element) -> Element | None:
    return next(row.iterancestors("table", "{*}table"), None)


def _marked(row: Element) -> tuple[Element, Element] | None:
    """Return the mark and the words of a row that is a list item; None for any other row."""
    cells = [cell for cell in row if isinstance(cell.tag, str) and cell.tag[-2:] == "td"]
    filled = [cell for cell in cells if any(str(words).strip() for words in cell.itertext())]
    if len(filled) != 2 or len(row) > len(cells):
        return None
    words = words_of(filled[0])
    opening = mark_alone(words) if len(words) <= _LONGEST_MARK else None
    is_item = (opening is not None and opening.kind is BlockKind.LIST_ITEM) or _BRACKETED.fullmatch(words)
    return (filled[0], filled[1]) if is_item else None
