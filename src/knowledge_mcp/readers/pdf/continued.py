"""Takes captions out of tables, and joins tables that continue over pages or columns, with the header once."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from knowledge_mcp.language.openings import opening_of
from knowledge_mcp.language.printed import RAISED
from knowledge_mcp.model.document import BlockKind
from knowledge_mcp.readers.shared.layout import Line, PageLayout, Table, letters_of
from knowledge_mcp.readers.shared.tables import is_number

_SHIFT = 6.0
"""Points by which a column may be wider or narrower on the next page, relative to the table's position."""
_ROWS_BELOW = 3
"""Minimum number of rows of a table from which its caption is taken out: a header and a row remain."""
_JOINT = " / "
"""What joins the rows of a header."""
_FEWEST_NAMES = 2
"""Fewest names of a row of a header: a single one may be the title of a group of rows."""
_SMALLER = 1.4
"""Points by which notes are set smaller than the text."""
_NOTE = re.compile(rf"(?:[\d{RAISED}]{{1,3}}|[*†‡]{{1,2}})[.)]?\s")
_CONTINUED = re.compile(
    r"\b(?:continued|cont['’]?d|concluded)\b|\((?:cont\.?|continu\w{1,8}|suite|fin|fortgesetzt|Fortsetzung|vervolg|forts\.)\)",
    re.IGNORECASE,
)


def join_tables(pages: Sequence[PageLayout]) -> None:
    """Join a table that ends a page with the one that begins the next page, if it continues; in place.

    It continues if ruling lines give both the same columns, or if the header is repeated. A repeated header is removed,
    also if only one of its rows is repeated, or if the page ends below the header;
    and the rest of a row that continues over the page is appended to the row. If both have bold first rows with
    different words, they are two tables. A line that says "continued" may be between them; it stays after the table.
    Within a page, tables are joined if the header is repeated. A lone header at the end of a page or a column is
    removed too.
    """
    said = ""
    for before, page in zip([None, *pages], pages, strict=False):
        elements: list[Line | Table] = []
        for element in page.elements:
            caption, rest = _caption_and_rest(element)
            words = letters_of("".join(line.text for line in caption))
            elements += [rest] if words == said else [*caption, rest]  # it may be repeated on each page
            said = words or said
        page.elements = elements
        _drop_lone_headers(before, page)
        _join_in_columns(page)
    open_: Table | None = None
    last = 0
    for page in pages:
        at = _first_table(page.elements)
        if open_ is not None and at is not None and page.number == last + 1:
            table = page.elements[at]
            if isinstance(table, Table) and _continues(open_, table):
                _append(open_, table)
                del page.elements[at]
                if any(isinstance(element, Table) or not _is_between(element) for element in page.elements):
                    open_ = None
                last = page.number
                if open_ is not None:
                    continue
        at = _end_of(page)
        ending = page.elements[at - 1] if at else None
        open_ = ending if isinstance(ending, Table) else None
        last = page.number


def _caption_and_rest(element: Line | Table) -> tuple[list[Line], Line | Table]:
    """Take the caption out of a table that has it as its first row, inside its frame; return its lines and the rest."""
    if not isinstance(element, Table) or len(element.rows) < _ROWS_BELOW:
        return [], element
    cells = [cell for cell in element.rows[0] if cell]
    opening = opening_of(cells[0].replace("\n", " ")) if len(cells) == 1 else None
    if opening is None or opening.kind is not BlockKind.CAPTION:
        return [], element
    words, count, letters = letters_of(cells[0]), 0, ""
    while count < len(element.lines) and len(letters) < len(words):
        letters += letters_of(element.lines[count].text)
        count += 1
    if letters != words or count == len(element.lines):
        return [], element
    return element.lines[:count], replace(element, rows=element.rows[1:], lines=element.lines[count:])


def _drop_lone_headers(before: PageLayout | None, page: PageLayout) -> None:
    """Remove lines that have the same words as the header of the table after them."""
    elements: list[Line | Table] = []
    for element in page.elements:
        if isinstance(element, Table):
            if elements:
                _drop_at_end(elements, element)
            elif before is not None and before.number == page.number - 1:
                at = _end_of(before)
                ending, notes = before.elements[:at], before.elements[at:]
                _drop_at_end(ending, element)
                before.elements = ending + notes
        elements.append(element)
    page.elements = elements


def _end_of(page: PageLayout) -> int:
    """Return the index at which a page's text ends, before footnotes, which are set smaller."""
    usual = Counter(line.size for line in page.lines).most_common(1)
    at = end = len(page.elements)
    while at > 0 and isinstance(line := page.elements[at - 1], Line) and line.size <= usual[0][0] - _SMALLER:
        at -= 1
        end = at if _NOTE.match(line.text) and line.y0 > page.height / 2 else end
    return end


def _drop_at_end(elements: list[Line | Table], table: Table) -> None:
    """Remove lines at the end of a list that repeat the header of the next table, if it has several cells."""
    words, letters = letters_of("".join(table.rows[0])), ""
    start = len(elements)
    while start > 0 and isinstance(line := elements[start - 1], Line) and len(letters) < len(words):
        if line.page == table.page and line.y0 < table.lines[0].y1:
            return  # it is above the table, in the same column
        letters = letters_of(line.text) + letters
        start -= 1
    if words and letters == words and sum(map(bool, table.rows[0])) > 1:
        del elements[start:]


def _join_in_columns(page: PageLayout) -> None:
    """Join a table with the one after it if that continues in the next column under the same header."""
    elements: list[Line | Table] = []
    for element in page.elements:
        last = elements[-1] if elements else None
        if isinstance(last, Table) and isinstance(element, Table) and _is_in_next_column(last, element):
            _append(last, element)
        else:
            elements.append(element)
    page.elements = elements


def _is_in_next_column(first: Table, second: Table) -> bool:
    is_higher = second.lines[0].y1 < first.lines[0].y0  # tables that begin at one height are side by side
    is_beside = min(line.x0 for line in second.lines) > max(line.x1 for line in first.lines)
    return is_higher and is_beside and _letters(first.rows[0]) == _letters(second.rows[0])


def _first_table(elements: Sequence[Line | Table]) -> int | None:
    """Return the index of the table that begins a page, if there is one."""
    for at, element in enumerate(elements):
        if isinstance(element, Table):
            return at
        if not _is_between(element):
            return None
    return None


def _is_between(line: Line) -> bool:
    return len(line.text) < 120 and _CONTINUED.search(line.text) is not None


def _continues(first: Table, second: Table) -> bool:
    if len(first.rows[0]) != len(second.rows[0]):
        return False
    if _letters(first.rows[0]) == _letters(second.rows[0]) or _is_row_of(first.rows[0], second.rows[0]):
        return True
    return _same_columns(first.edges, second.edges) and not (_is_headed(first) and _is_headed(second))


def _same_columns(one: Sequence[float], other: Sequence[float]) -> bool:
    if not one or len(one) != len(other):
        return False
    shift = other[0] - one[0]
    return all(abs(right - left - shift) <= _SHIFT for left, right in zip(one, other, strict=True))


def _is_headed(table: Table) -> bool:
    """Return whether the first row is bold and not everything below it is."""
    bold = [line.bold for line in table.lines]
    words = letters_of("".join(table.rows[0]))
    count, seen = 0, ""
    while count < len(bold) and len(seen) < len(words):
        seen += letters_of(table.lines[count].text)
        count += 1
    return count > 0 and all(bold[:count]) and not all(bold[count:])


def _append(first: Table, second: Table) -> None:
    if all(_is_row_of(second.rows[0], row) for row in first.rows):
        first.rows[:] = second.rows[:1]
    elif (joined := _header_of_two(first.rows)) is not None:
        first.rows[:] = [joined]
    header = first.rows[0]
    repeated = itertools.takewhile(
        lambda row: _letters(header) == _letters(row) or _is_row_of(header, row), second.rows
    )
    rows = second.rows[sum(1 for _ in repeated) :]
    if len(rows) > 1 and _is_rest(first.rows[-1], rows[0]):
        first.rows[-1] = ["\n".join(filter(None, pair)) for pair in zip(first.rows[-1], rows[0], strict=True)]
        rows = rows[1:]
    if rows:
        before = len(second.rows) - len(rows)
        if second.page != first.page:
            first.turns.append((len(first.rows), second.page))
        first.turns.extend((len(first.rows) + row - before, page) for row, page in second.turns)
        first.rows.extend(rows)
    first.lines.extend(second.lines)


def _is_row_of(header: Sequence[str], row: Sequence[str]) -> bool:
    """Return whether a row is one of those that were joined to a header: "Pressure", "", "Mass"."""
    if len(row) != len(header) or sum(map(bool, row)) < _FEWEST_NAMES or not any(_JOINT in cell for cell in header):
        return False
    parts = [{"", *map(letters_of, cell.split(_JOINT))} for cell in header]
    return all(letters_of(cell) in known for cell, known in zip(row, parts, strict=True))


def _header_of_two(rows: Sequence[Sequence[str]]) -> list[str] | None:
    """Join the two rows of a table that has only its header on this page; None if it is another table.

    A name that spans both rows is in both; one that spans columns has no words beside it.
    """
    if len(rows) != 2 or not all(rows[1]) or any(is_number(cell) for cell in rows[1]):
        return None
    above, below = rows
    spans = [bool(one) and letters_of(one) == letters_of(other) for one, other in zip(above, below, strict=True)]
    if not any(spans) or all(above) or not above[0]:
        return None
    header: list[str] = []
    group = ""
    for one, other, is_one in zip(above, below, spans, strict=True):
        group = one or group
        header.append(other if is_one else f"{group}{_JOINT}{other}")
    return header


def _is_rest(row: Sequence[str], rest: Sequence[str]) -> bool:
    """Return whether a row is the rest of one on the previous page: no name, and it continues a sentence."""
    filled = [(cell, more) for cell, more in zip(row, rest, strict=True) if more]
    continues = any(more[:1].islower() and not cell.endswith((".", ";", ":", "!", "?")) for cell, more in filled)
    return not rest[0] and continues and all(cell for cell, _ in filled)


def _letters(row: Sequence[str]) -> list[str]:
    return [letters_of(cell) for cell in row]
