"""Tables: merged cells, headers of several rows, and columns that say the same in several languages."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from knowledge_mcp.language.multilingual.recognition import language_of
from knowledge_mcp.language.openings import is_label, is_symbol, note_in, split_clause_number
from knowledge_mcp.language.printed import is_note_of_table, parted_notes
from knowledge_mcp.language.quantities.units import is_unit
from knowledge_mcp.model.document import BlockKind
from knowledge_mcp.readers.shared.pieces import Piece, rich_piece, with_texts
from knowledge_mcp.readers.shared.richtext import RichText, table_text

_NUMBER = re.compile(r"[-+−(]?[$€£¥]?(?=[.,\s]*\d)[\d.,\s]*+[%°$€£¥]?\)?")
MOST_HEADER_ROWS = 4
"""Most rows of an unmarked header: a group, a name, a symbol and a unit."""

_UNITS, _LONGEST_UNIT = 2, 20
"""Fewest units in a row of units, which is also the fewest letters of its longest one; and most letters of a unit."""

LONGEST_REPEATED = 80
"""Longest text, in characters, that is repeated in each row it spans: longer ones would drown the rows."""

BLANK = RichText()
"""The text of a place where no cell begins; never changed."""

Place = tuple[int, int]
"""A cell: row and column from 0."""


@dataclass(slots=True)
class Reach:
    """Where the texts of other cells extend into one row.

    Attributes:
        across: for each column that a text extends into from its left, the column that has the text.
        down: columns that a text extends into from above.
    """

    across: dict[int, int] = field(default_factory=dict[int, int])
    down: set[int] = field(default_factory=set[int])


_NOWHERE = Reach()


def is_number(cell: str) -> bool:
    """Return whether a cell contains only a number."""
    return len(cell) <= 40 and _NUMBER.fullmatch(cell) is not None


def header_texts(
    rows: Sequence[Sequence[str]], reaches: Mapping[int, Reach], marked: int = 0
) -> tuple[int, list[list[Place]]]:
    """Find the texts that name each column if a header has several rows: group, name, unit.

    A text that spans some columns names each of them; one that spans all columns names only the first. Unmarked rows
    belong to the header if its spans need them: a text of the first row spans some columns whose names are below it,
    and the other columns have a text of the header that spans rows, or nothing. A row with a number is not part of the
    header. A row of units is, if its first cell is empty.

    Args:
        rows: a table's rows, or the first of them; cells by column.
        reaches: where texts extend into a row, by its index, if they do.
        marked: how many rows the table itself marks as its header.

    Returns:
        How many rows the header has, and for each column the places of its texts from above; (1, []) for a header
        of one row.
    """
    depth = min(marked, len(rows) - 1) if marked > 1 else 1
    most = min(len(rows) - 1, MOST_HEADER_ROWS)
    while marked < 2 and depth < most and _is_below(rows, reaches, depth):
        depth += 1
    depth += marked < 2 and depth < most and _are_units(rows[depth])
    if depth < 2:
        return 1, []
    named: list[list[Place]] = []
    columns = max(map(len, rows[:depth]))
    for column in range(columns):
        texts: dict[str, Place] = {}
        for index, row in enumerate(rows[:depth]):
            across = reaches.get(index, _NOWHERE).across
            at = across.get(column, column) if len(across) < columns - 1 else column
            if at < len(row) and (words := row[at].strip()):
                texts.setdefault(words, (index, at))
        named.append(list(texts.values()))
    return depth, named


def _is_below(rows: Sequence[Sequence[str]], reaches: Mapping[int, Reach], index: int) -> bool:
    """Return whether a row continues the header above it."""
    own, above = reaches.get(index, _NOWHERE), reaches.get(index - 1, _NOWHERE)
    filled = {column for column, cell in enumerate(rows[index]) if cell.strip() and column not in own.down}
    if (
        not filled
        or not _groups(rows[0], reaches.get(0, _NOWHERE))
        or any(is_number(rows[index][at].strip()) for at in filled)
    ):
        return False
    return bool(own.down) or (_groups(rows[index - 1], above) and filled <= {*above.across, *above.across.values()})


def _are_units(row: Sequence[str]) -> bool:
    """Return whether it is a row of units below a header: "", "MPa", "%".

    Single letters, such as "A" and "V", may be classes.
    """
    filled = [cell.strip() for cell in row[1:] if cell.strip()]
    if row[0].strip() or len(filled) < _UNITS or max(map(len, filled)) < _UNITS:
        return False
    return all(len(cell) <= _LONGEST_UNIT and is_unit(cell) for cell in filled)


def _groups(row: Sequence[str], reach: Reach) -> bool:
    """Return whether a text of a row spans several columns, but not all."""
    filled = {column for column, cell in enumerate(row) if cell.strip()}
    return len(filled) > 1 and not filled.isdisjoint(reach.across.values())


def worded_header(rows: Sequence[Sequence[str]], reaches: Mapping[int, Reach]) -> list[Sequence[str]]:
    """Write a header of several rows as one: "Flow / Rated (kg/h)"; arguments as `header_texts`."""
    depth, named = header_texts(rows[: MOST_HEADER_ROWS + 1], reaches)
    header = [" / ".join(rows[row][column].strip() for row, column in places) for places in named]
    return [header, *rows[depth:]] if header else list(rows)


def with_one_header(rows: list[list[RichText]], reaches: Mapping[int, Reach], marked: int = 0) -> list[list[RichText]]:
    """Like `worded_header`, for texts with marks; what was hidden in the header's cells counts once."""
    words = [[cell.text for cell in row] for row in rows[: max(marked, MOST_HEADER_ROWS) + 1]]
    depth, named = header_texts(words, reaches, marked)
    header: list[RichText] = []
    for places in named:
        text = RichText()
        for row, column in places:
            text.add(" / " if len(text) else "")
            text.extend(rows[row][column])
        text.hidden.clear()
        header.append(text)
    if not header:
        return rows
    for cell in (cell for row in rows[:depth] for cell in row):
        header[0].hidden.update(cell.hidden)
    return [header, *rows[depth:]]


def repeated(text: RichText) -> RichText:
    """Repeat a short text in a row that it spans; what it hides counts once."""
    again = RichText()
    if len(text) <= LONGEST_REPEATED:
        again.extend(text)
        again.hidden.clear()
    return again


_MOST_SPANNED = 100
_MOST_REACHED = 200_000
"""Most places that the cells of a table may span besides their own; beyond that, each cell takes one place. Without a
limit, a page of some kilobytes could be a table of gigabytes.
"""
_MOST_COLUMNS = 1000


def _notes_in(row: Sequence[RichText]) -> list[Piece]:
    """Return the notes in a row that spans all columns and begins with a note's word or mark; none in other rows."""
    text = row[0]
    if len(row) < 2 or any(cell is not BLANK for cell in row[1:]):
        return []
    if (opening := note_in(text.text)) is not None:
        return [rich_piece(opening.kind, text, marker=opening.marker)]
    if not is_note_of_table(text.text):
        return []
    notes = [text] if text.marks else [RichText(words) for words in parted_notes(text.text)]
    return [rich_piece(BlockKind.PARAGRAPH, note) for note in notes]


_EXPLAINING = range(2, 5)
"""Columns of the explanations below a formula: symbol, sign, meaning, unit."""
_LABELLED = 2
"""Columns of a table of labels, such as "Date:", which has no header."""


def explanations(rows: Sequence[Sequence[RichText]], *, of_symbols: bool) -> list[RichText]:
    """Return each row of a table of symbols and their meanings, or of labels, as one text; empty for another table."""
    found: list[RichText] = []
    for row in rows:
        words, name = [cell for cell in row if not cell.is_blank], row[0].text.strip()
        is_named = is_symbol(name) if of_symbols else len(row) == _LABELLED and is_label(name)
        if len(row) not in _EXPLAINING or not is_named or (of_symbols and len(words) < 2):
            return []
        text = RichText()
        for cell in words:
            text.add(" " if len(text) else "")
            text.extend(cell)
        found.append(text)
    return found


FEWEST_ROWS = 2
"""Fewest rows of a table besides the notes in its last rows: the header and a row."""


class TableCells:
    """Collect rows and cells; `depth` counts nested tables, whose words stay in their cell."""

    def __init__(self) -> None:
        self.depth = 1
        self.in_head = False
        self._rows: list[list[RichText]] = []
        self._reaches: dict[int, Reach] = {}
        self._spanned: dict[int, int] = {}
        self._above: dict[int, RichText] = {}
        self._heads: list[bool] = []
        self._own: list[bool] = []
        self._columns = 1
        self._deep = 1
        self._reached = 0

    def row(self) -> None:
        """Begin a row; short texts of cells above that span it are repeated."""
        self._end_row()
        self._rows.append([])
        self._heads.append(self.in_head)
        self._skip()

    def open(self, columns: int = 1, rows: int = 1, *, is_head: bool = False) -> None:
        """Begin a cell that spans this many columns and rows."""
        if not self._rows:
            self.row()
        self._own.append(is_head)
        self._columns, self._deep = (min(max(each, 1), _MOST_SPANNED) for each in (columns, rows))
        reached = self._columns * self._deep - 1
        if self._reached + reached > _MOST_REACHED:
            self._columns = self._deep = 1
        else:
            self._reached += reached

    def close(self, rich: RichText) -> None:
        """End a cell."""
        if not self._rows:
            self.row()
        row = self._rows[-1]
        first = len(row)
        for extra in range(self._columns):
            if len(row) >= _MOST_COLUMNS and extra:
                break
            if self._deep > 1:
                self._spanned[len(row)] = self._deep - 1
                self._above[len(row)] = rich if not extra else BLANK
            if extra:
                self._reach().across[len(row)] = first
            row.append(rich if not extra else BLANK)
        self._skip()
        self._columns = self._deep = 1

    def pieces(self) -> Iterator[Piece]:
        """Yield the table, and the notes in its last rows if those span it."""
        rows = self.rows()
        notes: list[Piece] = []
        while len(rows) > FEWEST_ROWS and (found := _notes_in(rows[-1])):
            notes[:0] = found
            rows.pop()
        table = rich_piece(BlockKind.TABLE, table_text(rows) if rows else RichText())
        symbols, labels = ([] if any(self._heads) else explanations(rows, of_symbols=each) for each in (True, False))
        if labels:
            yield from (rich_piece(BlockKind.PARAGRAPH, text) for text in labels)
        else:
            yield with_texts(table, [rich_piece(BlockKind.PARAGRAPH, text) for text in symbols])
        yield from notes

    def rows(self) -> list[list[RichText]]:
        """Return the rows that are not empty, with the header as one row."""
        self._end_row()
        rows: list[list[RichText]] = []
        reaches: dict[int, Reach] = {}
        marked = 0
        for index, (row, is_head) in enumerate(zip(self._rows, self._heads, strict=True)):
            reach = self._reaches.get(index, Reach())
            if any(not cell.is_blank for at, cell in enumerate(row) if at not in reach.down):
                marked += is_head and marked == len(rows)
                reaches[len(rows)] = reach
                rows.append(row)
        return with_one_header(rows, reaches, marked)

    def _end_row(self) -> None:
        """End a row; it belongs to the header if it has several cells and all are marked as header cells."""
        if len(self._own) > 1 and all(self._own):
            self._heads[-1] = True
        self._own = []

    def _reach(self) -> Reach:
        return self._reaches.setdefault(len(self._rows) - 1, Reach())

    def _skip(self) -> None:
        row = self._rows[-1]
        while self._spanned.get(len(row), 0) > 0:
            self._spanned[len(row)] -= 1
            self._reach().down.add(len(row))
            row.append(repeated(self._above.get(len(row), BLANK)))


# ---- clauses in several languages

LEAST_SHARE = 0.5
"""Smallest ratio of another language's words to those of the first: translations have similar lengths, and a summary in
another language is shorter.
"""
_FEWEST = 4
"""Minimum number of clause numbers that two languages share."""
_ALIKE = 0.5
"""Minimum share of the clause numbers of the language with fewer that the other also has: a page may be missing in one.
"""
MOST_COLUMNS = 4
"""Maximum columns of a table with clauses in several languages: three languages and their numbers."""


def number_of(text: str) -> str:
    """Read the clause number that a text's first line starts with or consists of; empty if there is none."""
    text = text.partition("\n")[0]
    return split_clause_number(text).number or split_clause_number(f"{text} Title").number or ""


def have_the_same_clauses(numbers: AbstractSet[str], others: AbstractSet[str]) -> bool:
    """Return whether two languages have the same clauses, by their numbers."""
    return len(numbers & others) >= max(_FEWEST, _ALIKE * min(len(numbers), len(others)))


def parallel_columns(
    rows: Sequence[Sequence[str]], numbers: Callable[[], Sequence[Sequence[str]]] | None = None
) -> tuple[tuple[int, ...], ...]:
    """Find the columns of a table that has the same clauses in several languages, side by side.

    Args:
        rows: texts of its cells, by column.
        numbers: returns for each cell the clause number that it starts with, or an empty string; by default it is read
            from the texts.

    Returns:
        For each language, the columns to read for it in each row, from left to right: the common column of clause
        numbers if there is one, then its own. Empty if it is an ordinary table.
    """
    width = max(map(len, rows), default=0)
    if not 2 <= width <= MOST_COLUMNS:
        return ()
    texts = [" ".join(row[column] for row in rows if column < len(row)) for column in range(width)]
    languages = [language_of(text) for text in texts]
    numbering = () if languages[0] else (0,)
    own = range(len(numbering), width)
    recognised = {languages[column] for column in own} - {""}
    words = [len(texts[column].split()) for column in own]
    if len(own) < 2 or len(recognised) < len(own) or min(words) < LEAST_SHARE * max(words):
        return ()
    stated = [[number_of(text) for text in row] for row in rows] if numbers is None else numbers()
    clauses = [{row[column] for row in stated if column < len(row) and row[column]} for column in range(width)]
    if numbering and len(clauses[0]) < _FEWEST:
        return ()
    if not numbering and not all(have_the_same_clauses(clauses[0], clauses[column]) for column in own):
        return ()
    return tuple((*numbering, column) for column in own)
