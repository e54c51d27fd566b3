"""Tables that go on over pages: one table, the header once."""

from __future__ import annotations

import re
from collections.abc import Sequence

from knowledge_mcp.readers.shared.layout import Line, PageLayout, Table, letters_of

_SHIFT = 6.0
"""Points by which a column may be wider or narrower on the next page, wherever the table stands."""
_CONTINUED = re.compile(r"\b(?:continued|cont['’]?d|concluded)\b|\(cont\.?\)", re.IGNORECASE)


def join_tables(pages: Sequence[PageLayout]) -> None:
    """Join in place a table that ends a page with the one that begins the next page, where it goes on.

    It does where drawn lines give both the same columns, or where the header is repeated; a header that is repeated
    goes. A table in the print of a header, with other words than the first one's, is another table. Between the two
    may stand a line that says "continued", which stays behind the table.
    """
    open_: Table | None = None
    last = 0
    for page in pages:
        at = _first_table(page.elements)
        if open_ is not None and at is not None and page.number == last + 1:
            table = page.elements[at]
            if isinstance(table, Table) and _goes_on(open_, table):
                _append(open_, table)
                del page.elements[at]
                if any(isinstance(element, Table) or not _is_between(element) for element in page.elements):
                    open_ = None
                last = page.number
                if open_ is not None:
                    continue
        ending = page.elements[-1] if page.elements else None
        open_ = ending if isinstance(ending, Table) else None
        last = page.number


def _first_table(elements: Sequence[Line | Table]) -> int | None:
    """Return where the table stands that begins a page, if one does."""
    for at, element in enumerate(elements):
        if isinstance(element, Table):
            return at
        if not _is_between(element):
            return None
    return None


def _is_between(line: Line) -> bool:
    return len(line.text) < 120 and _CONTINUED.search(line.text) is not None


def _goes_on(first: Table, second: Table) -> bool:
    if len(first.rows[0]) != len(second.rows[0]):
        return False
    if _letters(first.rows[0]) == _letters(second.rows[0]):
        return True
    return _same_columns(first.edges, second.edges) and not (_is_headed(first) and _is_headed(second))


def _same_columns(one: Sequence[float], other: Sequence[float]) -> bool:
    if not one or len(one) != len(other):
        return False
    shift = other[0] - one[0]
    return all(abs(right - left - shift) <= _SHIFT for left, right in zip(one, other, strict=True))


def _is_headed(table: Table) -> bool:
    """Tell whether the first row is set bold and not all below it is."""
    bold = [line.bold for line in table.lines]
    words = letters_of("".join(table.rows[0]))
    count, seen = 0, ""
    while count < len(bold) and len(seen) < len(words):
        seen += letters_of(table.lines[count].text)
        count += 1
    return count > 0 and all(bold[:count]) and not all(bold[count:])


def _append(first: Table, second: Table) -> None:
    repeated = _letters(first.rows[0]) == _letters(second.rows[0])
    rows = second.rows[1:] if repeated else second.rows
    if rows:
        first.turns.append((len(first.rows), second.page))
        first.turns.extend((len(first.rows) + row - repeated, page) for row, page in second.turns)
        first.rows.extend(rows)
    first.lines.extend(second.lines)


def _letters(row: Sequence[str]) -> list[str]:
    return [letters_of(cell) for cell in row]
