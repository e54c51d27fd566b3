"""Takes captions out of tables, and joins tables that continue over pages or columns, with the header once."""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from knowledge_mcp.language.openings import opening_of
from knowledge_mcp.language.printed import RAISED
from knowledge_mcp.model.document import BlockKind
from knowledge_mcp.readers.shared.layout import Line, PageLayout, Table, letters_of
from knowledge_mcp.readers.shared.tables import MOST_HEADER_ROWS, is_number

_SHIFT = 6.0
"""Points by which a column may be wider or narrower on the next page, relative to the table's position."""
_ROWS_BELOW = 3
"""Minimum number of rows of a table from which its caption is taken out: a header and a row remain."""
_JOINT = " / "
"""What joins the rows of a header."""
_FEWEST_NAMES = 2
"""Fewest names of a row of a header: a single one may be the title of a group of rows."""
_FITS = 12.0
"""Points by which a name of a header may be off the columns below it: padding, and the width of a letter."""
_ALIKE = 0.6
"""Maximum difference of the sizes of print of a header's rows, in points; footers are smaller."""
_SMALLER = 1.4
"""Points by which notes are set smaller than the text."""
_NOTE = re.compile(rf"(?:[\d{RAISED}]{{1,3}}|[*†‡]{{1,2}})[.)]?\s")
_NUMBERS = re.compile(r"\d+")
_CONTINUED = re.compile(
    r"\b(?:continued|cont['’]?d|concluded)\b|\((?:cont\.?|continu\w{1,8}|suite|fin|fortgesetzt|Fortsetzung|vervolg|forts\.)\)",
    re.IGNORECASE,
)


def join_tables(pages: Sequence[PageLayout]) -> None:
    """Join a table that ends a page with the one that begins the next page, if it continues; in place.

    It continues if ruling lines give both the same columns, or if the header is repeated. A repeated header is removed,
    also if only one of its rows is repeated, or if the page ends below the header or between its rows;
    and the rest of a row that continues over the page is appended to the row. If both have bold first rows with
    different words, they are two tables. A line that says "continued" may be between them; it stays after the table.
    Within a page, tables are joined if the header is repeated, or if the first row of the second has a number like the
    last row of the first and its columns are below those of the first. A lone header at the end of a page or a column
    is removed too.
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
        if before is not None and before.number == page.number - 1:
            _join_cut_header(before, page)
        _join_each(page, _continue_in_next_column)
        _join_each(page, _add_rows_below)
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


def _join_cut_header(before: PageLayout, page: PageLayout) -> None:
    """Join the header of the table that begins a page with its upper row, which ends the page before; in place."""
    at = _first_table(page.elements)
    table = page.elements[at] if at is not None else None
    if not isinstance(table, Table):
        return
    end = _end_of(before)
    upper, is_captioned = _last_rows(before.elements[:end])
    first = table.lines[0]
    is_alike = bool(upper) and all(abs(line.size - first.size) <= _ALIKE for line in upper)
    if not is_alike or not (is_captioned or (first.bold and all(line.bold for line in upper))):
        return
    names = _names_in(upper)
    if len(names) >= _FEWEST_NAMES and "".join(letters_of(name.text) for name in names) == _upper_letters(
        table.rows[0]
    ):
        del before.elements[end - len(upper) : end]  # the next page repeats it
        return
    header = _with_upper(names, table, is_sure=is_captioned)
    if header is not None:
        before.elements[end - len(upper) : end] = [Table(before.number, [header], upper, edges=table.edges)]
        table.rows[0] = [*header]


def _last_rows(elements: Sequence[Line | Table]) -> tuple[list[Line], bool]:
    """Return the lines of the row that ends a page; or all lines below a caption directly above, and that it is one."""
    lines = [*itertools.takewhile(lambda each: isinstance(each, Line), reversed(elements))]
    found: list[Line] = []
    row = rows = 0
    for line in lines:
        if not isinstance(line, Line):
            break
        rows += not found or line.y1 <= found[-1].y0 + line.size / 2
        opening = opening_of(line.text)
        if opening is not None and opening.kind is BlockKind.CAPTION:
            return found[::-1], bool(found)
        if rows > MOST_HEADER_ROWS:
            break
        found.append(line)
        row = len(found) if rows == 1 else row
    return found[:row][::-1], False


@dataclass(slots=True)
class _Name:
    """A name of a header: its edges in points, and its words."""

    left: float
    right: float
    text: str

    @property
    def middle(self) -> float:
        return (self.left + self.right) / 2

    def off(self, left: float, right: float) -> float:
        """Return how far it is from the beginning, the middle or the end of a place, whichever it is nearest to."""
        return min(abs(self.left - left), abs(self.middle - (left + right) / 2), abs(self.right - right))


def _names_in(lines: Sequence[Line]) -> list[_Name]:
    """List the texts of a header from the left, those that are one below the other as one."""
    found: list[_Name] = []
    for name in (_Name(*piece) for line in lines for piece in line.pieces):
        over = [each for each in found if name.left < each.right and name.right > each.left]
        every = [*over, name]
        words = "\n".join(each.text for each in every)
        found = [each for each in found if each not in over]
        found.append(_Name(min(each.left for each in every), max(each.right for each in every), words))
    return sorted(found, key=lambda name: name.left)


def _upper_letters(header: Sequence[str]) -> str:
    """Return the letters of the upper row of a header, in which a name is above several columns."""
    upper = [letters_of(cell.split(_JOINT)[0]) for cell in header] if any(_JOINT in cell for cell in header) else []
    return "".join(name for name, _ in itertools.groupby(upper))


def _with_upper(names: Sequence[_Name], table: Table, *, is_sure: bool) -> list[str] | None:
    """Write the upper and the lower row of a header as one; None if the names do not fit the table's columns.

    A column without a name in the lower row has its own in the upper one. The columns between these are below a name
    each; of several such names, each is above the columns that it is in the middle of, or begins with.

    Args:
        names: the texts of the upper row, from the left.
        table: its first row is the lower row.
        is_sure: the names are below a caption; otherwise they are text, unless each column gets one.
    """
    lower, columns = table.rows[0], _columns_of(table)
    if not columns or lower[0] or any(map(is_number, lower)):
        return None
    if len(names) < _FEWEST_NAMES or sum(map(bool, lower)) < _FEWEST_NAMES:
        return None
    header: list[str] = []
    left = list(names)
    for _, some in itertools.groupby(range(len(lower)), key=lambda column: -1 if lower[column] else column):
        run = [*some]
        end = columns[run[-1]][1] if run[-1] + 1 < len(columns) else math.inf
        above = _spread([name for name in left if name.middle < end], [columns[each] for each in run])
        if above is None or not (is_sure or all(above)):
            return None
        left = [name for name in left if name.middle >= end]
        header += [_JOINT.join(filter(None, (upper, lower[each]))) for upper, each in zip(above, run, strict=True)]
    return header


def _spread(names: Sequence[_Name], columns: Sequence[tuple[float, float]]) -> list[str] | None:
    """Return the name above each of some columns, which are next to each other; None if they do not fit."""
    if not names:
        return [""] * len(columns)
    best: tuple[float, list[str]] = (_FITS, [])
    for cuts in itertools.combinations(range(1, len(columns)), len(names) - 1):
        ends = [0, *cuts, len(columns)]
        spans = [(columns[start][0], columns[end - 1][1]) for start, end in itertools.pairwise(ends)]
        off = max(name.off(*span) for name, span in zip(names, spans, strict=True))
        if off < best[0]:
            counts = (end - start for start, end in itertools.pairwise(ends))
            best = off, [name.text for name, count in zip(names, counts, strict=True) for _ in range(count)]
    return best[1] or None


def _columns_of(table: Table) -> list[tuple[float, float]]:
    """Return the edges of a table's columns: its rules, else those of words that are at one place only."""
    if table.edges:
        return [*itertools.pairwise(table.edges)]
    placed: dict[str, _Name | None] = {}
    for name in (_Name(*piece) for line in table.lines for piece in line.pieces):
        letters = letters_of(name.text)
        known = placed.setdefault(letters, name)
        if known is not None and not (known.left < name.right and known.right > name.left):
            placed[letters] = None
    found = [
        [name for row in table.rows if (name := placed.get(letters_of(row[column]))) is not None]
        for column in range(len(table.rows[0]))
    ]
    if not all(found):
        return []
    return [(min(name.left for name in some), max(name.right for name in some)) for some in found]


def _join_each(page: PageLayout, join: Callable[[Table, Table], bool]) -> None:
    """Take out the tables that could be joined with the one before them; `join` returns whether it did so."""
    elements: list[Line | Table] = []
    for element in page.elements:
        last = elements[-1] if elements else None
        if not (isinstance(last, Table) and isinstance(element, Table) and join(last, element)):
            elements.append(element)
    page.elements = elements


def _continue_in_next_column(first: Table, second: Table) -> bool:
    """Join a table with one that continues it in the next column under the same header."""
    is_higher = second.lines[0].y1 < first.lines[0].y0  # tables that begin at one height are side by side
    is_beside = min(line.x0 for line in second.lines) > max(line.x1 for line in first.lines)
    continues = is_higher and is_beside and _letters(first.rows[0]) == _letters(second.rows[0])
    if continues:
        _append(first, second)
    return continues


def _add_rows_below(first: Table, second: Table) -> bool:
    """Join a table with rows directly below it that the engine took for another one, as a column of theirs is empty."""
    rows = _rows_below(first, second)
    if rows:
        first.rows.extend(rows)
        first.lines.extend(second.lines)
    return bool(rows)


def _rows_below(first: Table, second: Table) -> list[list[str]]:
    """Return the rows of a second table in the columns of the first; empty if the numbers of both are not alike."""
    last, following = _NUMBERS.split(first.rows[-1][0]), _NUMBERS.split(second.rows[0][0])
    columns, own = _places(first), _places(second)
    if len(last) < 2 or last != following or not columns or not own or len(own) > len(columns):
        return []
    fits = [[at for at, each in enumerate(columns) if each[0] < right and left < each[1]] for left, right in own]
    if any(len(each) != 1 for each in fits) or len({each[0] for each in fits}) < len(fits):
        return []
    rows = [[""] * len(columns) for _ in second.rows]
    for row, cells in zip(rows, second.rows, strict=True):
        for (at,), cell in zip(fits, cells, strict=True):
            row[at] = cell
    return rows


def _places(table: Table) -> list[tuple[float, float]]:
    """Return the left and right edges of the words in each column; empty if words run from one column into another."""
    found: list[tuple[float, float]] = []
    for left, right, _ in sorted(piece for line in table.lines for piece in line.pieces):
        if found and left < found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], right))
        else:
            found.append((left, right))
    return found if len(found) == len(table.rows[0]) else []


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
    if _repeats(first.rows[0], second.rows[0]) or _is_row_of(first.rows[0], second.rows[0]):
        return True
    return _same_columns(first.edges, second.edges) and not (_is_headed(first) and _is_headed(second))


def _same_columns(one: Sequence[float], other: Sequence[float]) -> bool:
    if not one or len(one) != len(other):
        return False
    shift = other[0] - one[0]
    return all(abs(right - left - shift) <= _SHIFT for left, right in zip(one, other, strict=True))


def _is_headed(table: Table) -> bool:
    """Return whether the first row with several names is bold, with what is above it, and not everything below it."""
    bold = [line.bold for line in table.lines]
    depth = next((at for at, row in enumerate(table.rows, 1) if sum(map(bool, row)) >= _FEWEST_NAMES), 1)
    words = letters_of("".join(itertools.chain.from_iterable(table.rows[:depth])))
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
    repeated = itertools.takewhile(lambda row: _repeats(header, row) or _is_row_of(header, row), second.rows)
    rows = second.rows[sum(1 for _ in repeated) :]
    if rows and _is_rest(first.rows, rows):
        joint = "\n" if len(first.rows) > 1 else _JOINT  # what continues a header is a further row of it
        name = [first.rows[-1][0]] if rows[0][0] else []  # "continued" is no part of it
        pairs = zip(first.rows[-1][len(name) :], rows[0][len(name) :], strict=True)
        first.rows[-1] = [*name, *(joint.join(filter(None, pair)) for pair in pairs)]
        rows = rows[1:]
    if rows:
        before = len(second.rows) - len(rows)
        if second.page != first.page:
            first.turns.append((len(first.rows), second.page))
        first.turns.extend((len(first.rows) + row - before, page) for row, page in second.turns)
        first.rows.extend(rows)
    first.lines.extend(second.lines)


def _repeats(header: Sequence[str], row: Sequence[str]) -> bool:
    """Return whether a row repeats a header, or a part of it: "Item (continued)", "Verif.", or only the first names."""
    if _letters(header) == _letters(row):
        return True
    return bool(row[0]) and all(map(_is_again, header, row))


def _is_again(name: str, cell: str) -> bool:
    one, other = _first_said(name), _first_said(cell)
    return not other or one == other or (cell.endswith(".") and one.startswith(other))


def _first_said(text: str) -> str:
    return letters_of(_CONTINUED.sub("", text))


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


def _is_rest(rows: Sequence[Sequence[str]], following: Sequence[Sequence[str]]) -> bool:
    """Return whether the first row of a page is the rest of the last row of the page before.

    It has no name and continues a sentence; or it repeats the name with "continued"; or it has neither a name nor words
    in all other columns, while every other row has a name.
    """
    row, rest = rows[-1], following[0]
    filled = [(cell, more) for cell, more in zip(row, rest, strict=True) if more]
    if not all(cell for cell, _ in filled):
        return False
    if rest[0]:
        return _CONTINUED.search(rest[0]) is not None and _first_said(rest[0]) == _first_said(row[0])
    if any(more[:1].islower() and not cell.endswith((".", ";", ":", "!", "?")) for cell, more in filled):
        return True
    return not all(rest[1:]) and len(rows) > 2 and all(each[0] for each in (*rows, *following[1:]))


def _letters(row: Sequence[str]) -> list[str]:
    return [letters_of(cell) for cell in row]
