"""Columns of tables whose unit changed: their values did, too, unless they were converted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from knowledge_mcp.engine.changes.clauses import Clause
from knowledge_mcp.engine.changes.kinds import ChangeType, TextChange
from knowledge_mcp.engine.changes.marking import number_marks
from knowledge_mcp.engine.changes.sentences import ROW_RULE
from knowledge_mcp.engine.changes.wording import words_of
from knowledge_mcp.language.quantities.heads import is_figure, named_unit
from knowledge_mcp.language.quantities.units import unit_behind
from knowledge_mcp.language.sentences import BAR, cell_texts, is_row


@dataclass(frozen=True, slots=True)
class _Table:
    """A table with its units by the names of their columns.

    Attributes:
        head: its header row.
        units: position and unit of the columns with a unit, by their name in lower case.
        rows: its other rows.
    """

    head: str
    units: Mapping[str, tuple[int, str]]
    rows: tuple[str, ...]


class ChangedColumns:
    """The columns of two editions of a clause whose unit is another one.

    Attributes:
        changes: for each column whose values stayed as printed, the change of them all.
    """

    def __init__(self, olds: Sequence[Clause], news: Sequence[Clause]) -> None:
        self.changes: list[TextChange] = []
        self._printed: dict[str, str] = {}
        self._measured: tuple[dict[str, str], dict[str, str]] = ({}, {})
        tables, others = ([each for clause in side for each in _tables_of(clause.text)] for side in (olds, news))
        for one, other in _paired(tables, others):
            for name in one.units.keys() & other.units.keys():
                if _measure(one.units[name][1]) != _measure(other.units[name][1]):
                    self._compare(one, other, name)

    def _compare(self, one: _Table, other: _Table, name: str) -> None:
        (at, unit), (to, its) = one.units[name], other.units[name]
        ours, theirs = _figures(one.rows, at), _figures(other.rows, to)
        common = ours.keys() & theirs.keys()
        if common and all(ours[row] == theirs[row] for row in common):
            cells = (cell_texts(one.head)[at], cell_texts(other.head)[to])
            self.changes.append(TextChange(ChangeType.NUMBER, *cells, one.head, other.head, column=cells[1]))
            return
        for side, rows, place, named in ((0, one.rows, at, unit), (1, other.rows, to, its)):
            for row in rows:
                measured = _with_unit(self._measured[side].get(row, row), place, named)
                self._measured[side][row] = measured
                self._printed[measured] = row

    def measured(self, side: int, texts: Iterable[str]) -> list[str]:
        """Return the sentences of a side, with the unit in the cells of columns that were partly converted."""
        return [self._measured[side].get(text, text) for text in texts]

    def as_printed(self, change: TextChange) -> TextChange:
        """Return a change with its rows as printed."""
        texts = (change.before, change.after, change.old_text, change.new_text)
        before, after, old_text, new_text = (self._printed.get(each, each) for each in texts)
        return replace(change, before=before, after=after, old_text=old_text, new_text=new_text)

    def has(self, change: TextChange) -> bool:
        """Return whether a change of words is that of a header whose values are reported."""
        heads = {(each.old_text, each.new_text) for each in self.changes}
        return change.kind is ChangeType.WORDS and (change.old_text, change.new_text) in heads


def changed_figures(row: str, other: str) -> Iterator[tuple[str, str]]:
    """Yield the values, alone in their cells, that differ between two rows of the same name and number of cells."""
    cells, others = cell_texts(row), cell_texts(other)
    if len(cells) != len(others) or cells[0] != others[0]:
        return
    for one, its in zip(cells[1:], others[1:], strict=True):
        (ours, mine), (theirs, yours) = value_of(one), value_of(its)
        if ours and theirs and mine == yours and ours != theirs:
            yield one, its


def value_of(cell: str) -> tuple[str, str]:
    """Return the value of a cell with one number and nothing else, and its base unit; empty for others."""
    marks, _ = number_marks(cell)
    if len(marks) != 1 or words_of(cell[: marks[0].start] + cell[marks[0].end :]):
        return "", ""
    value, _, unit = marks[0].key.rpartition(" ")
    return (value, unit) if value else (unit, "")


def rows_of_tables(text: str) -> Iterator[list[str]]:
    """Yield the rows of each table of a text that has a header, which comes first."""
    rows: list[str] = []
    is_headed = False
    for line in (*text.split("\n"), ""):
        row = line.strip()
        if row.startswith("|"):
            is_rule = ROW_RULE.fullmatch(row) is not None
            is_headed = is_headed or (is_rule and len(rows) == 1)
            rows += [] if is_rule else [row]
            continue
        if is_headed and len(rows) > 1:
            yield rows
        rows, is_headed = [], False


def _tables_of(text: str) -> Iterator[_Table]:
    """Yield the tables of a text that have a header with a unit."""
    for head, *rows in rows_of_tables(text):
        named = [(place, named_unit(cell)) for place, cell in enumerate(cell_texts(head))]
        units = [(each[0].casefold(), (place, each[1])) for place, each in named if each is not None]
        names = Counter(name for name, _ in units)
        if alone := {name: unit for name, unit in units if names[name] == 1}:
            yield _Table(head, alone, tuple(rows))


def _paired(tables: Sequence[_Table], others: Sequence[_Table]) -> Iterator[tuple[_Table, _Table]]:
    """Yield the tables that have the same columns with units, if there is only one such table in each edition."""
    keys, others_keys = (Counter(frozenset(each.units) for each in side) for side in (tables, others))
    there = {frozenset(each.units): each for each in others}
    for each in tables:
        key = frozenset(each.units)
        if keys[key] == others_keys[key] == 1:
            yield each, there[key]


def _measure(unit: str) -> tuple[str, float]:
    found = unit_behind(f"1 {unit}", 1)
    return found.base, found.factor


def _figures(rows: Iterable[str], column: int) -> dict[str, str]:
    """Map the names of rows, their first cells, to the number in a column."""
    cells = [cell_texts(row) for row in rows if is_row(row)]
    return {each[0]: each[column] for each in cells if len(each) > column > 0 and is_figure(each[column])}


def _with_unit(row: str, column: int, unit: str) -> str:
    """Write a unit behind the number in a column."""
    bars = [match.end() for match in BAR.finditer(row)]
    if len(bars) <= column + 1:
        return row
    start, end = bars[column], bars[column + 1] - 1
    cell = row[start:end].strip()
    return f"{row[:start]} {cell} {unit} {row[end:]}" if is_figure(cell) else row
