"""Tables with a header in two editions of a clause: which columns and rows belong together, and which cells differ."""

from __future__ import annotations

import itertools
import re
from collections import Counter, defaultdict, deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from knowledge_mcp.engine.changes.clauses import Clause
from knowledge_mcp.engine.changes.inside.columns import rows_of_tables, value_of
from knowledge_mcp.engine.changes.kinds import CUT, ChangeType, TextChange
from knowledge_mcp.engine.changes.sentences import (
    ALIKE,
    ALL_ALIKE,
    PlacePair,
    Weights,
    is_gone,
    is_sentence,
    likeness,
    pair_sentences,
)
from knowledge_mcp.engine.changes.wording import plain, words_and_numbers, words_of
from knowledge_mcp.language.quantities.heads import named_unit
from knowledge_mcp.language.sentences import cell_texts

_T = TypeVar("_T")
_Sides = tuple[_T, _T]
"""The same of the old and the new edition."""
_HALF = 0.5
"""Share above which values or names are most of them."""
_MOST_COLUMN_PAIRS = 400
"""Most pairs of columns without a common name that are compared by their values, row by row: twenty of each table."""
_BARS = re.compile(r"\A\|\s?|\s?\|\Z")
_PADDING = re.compile(r"(?<![\d.])0+(?=\d)")
"""Zeros before the number of an identifier: "AC-02" is "AC-2"."""


@dataclass(frozen=True, slots=True)
class TextPair:
    """Texts of both sides that belong together: sentences, cells, or rows; or one that only one side has.

    Attributes:
        places: where they are, or their rows, among the sentences of both sides.
        texts: what both sides say there; cells are written as rows.
        row, column: as in `TextChange`.
    """

    places: PlacePair
    texts: _Sides[Sequence[str]]
    row: str = ""
    column: str = ""

    def located(self, changes: Sequence[TextChange]) -> Iterator[TextChange]:
        """Yield the changes of these texts with where they are; the changed words of a cell are one change."""
        if not self.column:
            yield from (replace(each, row=self.row) for each in changes)
            return
        whole = (_without_bars(self.texts[0][0]), _without_bars(self.texts[1][0]))
        words = [each for each in changes if each.kind is ChangeType.WORDS and not each.requirement]
        for each in changes:
            if each not in words:
                before, after, old_text, new_text = map(
                    _without_bars, (each.before, each.after, each.old_text, each.new_text)
                )
                texts = (before, after, old_text, new_text)
                yield TextChange(each.kind, *texts, each.requirement, row=self.row, column=self.column)
        if words:
            sides = ([each.before for each in words], [each.after for each in words])
            was, now = (CUT.join(filter(None, side)) for side in sides) if any(map(is_sentence, whole)) else whole
            yield TextChange(ChangeType.WORDS, was, now, *whole, row=self.row, column=self.column)


@dataclass(frozen=True, slots=True)
class _Table:
    """A table, or several with the same header.

    Attributes:
        heads: places of its headers among the sentences.
        head: the header as printed.
        names: the names of its columns.
        rows: the cells of its other rows by their place.
    """

    heads: list[int]
    head: str
    names: list[str]
    rows: dict[int, list[str]]

    def values(self, column: int) -> list[str]:
        return [cells[column] for cells in self.rows.values()]

    def tells(self, column: int) -> bool:
        """Return whether most rows have a name of their own in a column: no number that counts them, and no value."""
        counts = Counter(filter(None, self.values(column)))
        own = [value for value, count in counts.items() if count == 1 and not value.isdecimal()]
        if column:
            own = [value for value in own if not any(value_of(value))]
        return len(own) > _HALF * len(self.rows)


class PairedTables:
    """The tables of two editions of a clause that belong together.

    Args:
        clauses: the clauses of both sides.
        printed: their sentences, rows of tables among them.
        texts: the same as they are to be compared.
        weights: of words.

    Attributes:
        columns: the columns that were added, removed or renamed, each with its cells if only one side has it.
        cells: what may differ in the rows.
        rows: places of the headers and rows that belong together one by one.
        taken: places of the rows and headers of each side that are compared here.
    """

    def __init__(
        self,
        clauses: _Sides[Sequence[Clause]],
        printed: _Sides[Sequence[str]],
        texts: _Sides[Sequence[str]],
        weights: Weights,
    ) -> None:
        self.columns: list[tuple[TextChange, list[str]]] = []
        self.cells: list[TextPair] = []
        self.rows: list[tuple[int, int]] = []
        self.taken: _Sides[set[int]] = (set(), set())
        self._texts, self._weights = texts, weights
        sides = [_tables_of(*side) for side in zip(clauses, printed, texts, strict=True)]
        for one, other in _together(sides[0], sides[1]) if all(sides) else ():
            for table, taken in zip((one, other), self.taken, strict=True):
                taken.update(table.heads, table.rows)
            self._compare(one, other)

    def pair_others(self) -> Iterator[PlacePair]:
        """Pair the sentences that are not rows of these tables."""
        places = [
            [at for at in range(len(side)) if at not in taken]
            for side, taken in zip(self._texts, self.taken, strict=True)
        ]
        texts = [[side[at] for at in left] for side, left in zip(self._texts, places, strict=True)]
        for ones, theirs in pair_sentences(texts[0], texts[1], self._weights):
            yield tuple(places[0][at] for at in ones), tuple(places[1][at] for at in theirs)

    def texts_of(self, pair: PlacePair) -> TextPair:
        """Return the sentences of a pair of places."""
        ones, theirs = ([side[at] for at in places] for side, places in zip(self._texts, pair, strict=True))
        return TextPair(pair, (ones, theirs))

    def _compare(self, one: _Table, other: _Table) -> None:
        there = _same_columns(one, other)
        key = next((at for at in sorted(there) if one.tells(at) and other.tells(there[at])), min(there, default=0))
        keys = (key, there.get(key, 0))
        pairs = list(self._paired_rows((one, other), keys, there))
        there = _renamed(one, other, pairs, there)
        self.rows += zip(one.heads, other.heads, strict=False)
        names = [
            (name, other.names[there[at]], list[str]()) if at in there else (name, "", one.values(at))
            for at, name in enumerate(one.names)
        ]
        names += [("", name, other.values(at)) for at, name in enumerate(other.names) if at not in there.values()]
        self.columns += [
            (TextChange(ChangeType.WORDS, was, now, one.head, other.head, column=now or was), cells)
            for was, now, cells in names
            if was != now
        ]
        for left, right in pairs:
            name = other.rows[right[0]][keys[1]] if right else one.rows[left[0]][keys[0]]
            texts = [side[at] for side, rows in zip(self._texts, (left, right), strict=True) for at in rows]
            if len(left) != 1 or len(right) != 1 or is_gone(texts[0]) is not is_gone(texts[1]):
                self.cells.append(replace(self.texts_of((left, right)), row=name))
                continue
            self.rows.append((left[0], right[0]))
            cells, others = one.rows[left[0]], other.rows[right[0]]
            for at, to in sorted(there.items(), key=lambda pair: pair[1]):
                if cells[at] != others[to]:
                    texts = ([f"| {cells[at]} |"], [f"| {others[to]} |"])
                    self.cells.append(
                        TextPair((left, right), texts, name, other.names[to] or one.names[at] or str(to + 1))
                    )

    def _paired_rows(self, tables: _Sides[_Table], keys: _Sides[int], there: Mapping[int, int]) -> Iterator[PlacePair]:
        """Pair rows by their names and what only they say; a value that several rows have shows nothing."""
        order = [(keys[0], keys[1]), *(pair for pair in there.items() if pair[0] != keys[0])]
        often = [
            {
                value
                for table, at in zip(tables, pair, strict=True)
                for value, count in Counter(table.values(at)).items()
                if count > 1
            }
            for pair in order[1:]
        ]
        sides = [
            {place: _told(cells, [pair[side] for pair in order], often) for place, cells in table.rows.items()}
            for side, table in enumerate(tables)
        ]
        waiting: defaultdict[str, deque[int]] = defaultdict(deque)
        for to, text in sides[1].items():
            waiting[text].append(to)
        for at, text in list(sides[0].items()):
            if waiting[text]:
                to = waiting[text].popleft()
                del sides[0][at], sides[1][to]
                yield (at,), (to,)
        places, texts = [list(side) for side in sides], [list(side.values()) for side in sides]
        for ones, theirs in pair_sentences(texts[0], texts[1], self._weights):
            left, right = tuple(places[0][at] for at in ones), tuple(places[1][at] for at in theirs)
            if left and right and not _may_be_one(*(texts[side][each[0]] for side, each in enumerate((ones, theirs)))):
                yield left, ()
                yield (), right
            else:
                yield left, right


def _without_bars(text: str) -> str:
    return _BARS.sub("", text)


def _tables_of(clauses: Sequence[Clause], printed: Sequence[str], texts: Sequence[str]) -> list[_Table]:
    """List the tables of a side, those with the same header as one."""
    found: dict[str, _Table] = {}
    at = 0
    for rows in (rows for clause in clauses for rows in rows_of_tables(clause.text)):
        begin = _place_of(rows, printed, at)
        if begin < 0:
            continue
        at = begin
        cells = [cell_texts(text) for text in texts[at : at + len(rows)]]
        width = max(map(len, cells))
        head, *others = ([*each, *[""] * (width - len(each))] for each in cells)
        table = found.setdefault(" | ".join(map(_folded, head)), _Table([], rows[0], head, {}))
        table.heads.append(at)
        table.rows.update(enumerate(others, at + 1))
        at += len(rows)
    return [table for table in found.values() if len(table.names) > 1]


def _place_of(rows: Sequence[str], printed: Sequence[str], start: int) -> int:
    """Return where rows are among the sentences from a place on; -1 if they are not there as they are."""
    firsts = (at for at in range(start, len(printed) - len(rows) + 1) if printed[at] == rows[0])
    return next((at for at in firsts if list(printed[at : at + len(rows)]) == rows), -1)


def _together(ones: Sequence[_Table], others: Sequence[_Table]) -> Iterator[_Sides[_Table]]:
    """Pair the tables with most names of columns in common, at least half, or else with most names of rows."""
    scored: list[tuple[float, int, int]] = []
    for place, one in enumerate(ones):
        for there, other in enumerate(others):
            columns = _share(map(_folded, one.names), map(_folded, other.names))
            rows = _share(map(_row_name, one.values(0)), map(_row_name, other.values(0)))
            if max(columns, rows) > _HALF:
                scored.append((-columns - rows, place, there))
    taken: _Sides[set[int]] = (set(), set())
    for _, place, there in sorted(scored):
        if place not in taken[0] and there not in taken[1]:
            taken[0].add(place)
            taken[1].add(there)
            yield ones[place], others[there]


def _share(ours: Iterable[str], theirs: Iterable[str]) -> float:
    """Return the share of values that two lists have in common, of those of the shorter one."""
    one, other = Counter(filter(None, ours)), Counter(filter(None, theirs))
    return (one & other).total() / max(min(one.total(), other.total()), 1)


def _folded(name: str) -> str:
    """Return the name of a column without its unit."""
    named = named_unit(name)
    return plain(named[0] if named and named[0] else name) or name.casefold()


def _row_name(cell: str) -> str:
    return _PADDING.sub("", cell.strip(" *_`").rstrip(".:").casefold())


def _same_columns(one: _Table, other: _Table) -> dict[int, int]:
    """Pair columns with the same name, or else those whose values tell rows apart and are mostly the same."""
    waiting: defaultdict[str, deque[int]] = defaultdict(deque)
    for to, name in enumerate(other.names):
        waiting[_folded(name)].append(to)
    found = {at: waiting[_folded(name)].popleft() for at, name in enumerate(one.names) if waiting[_folded(name)]}
    for at, to in _left(one, other, found):
        is_free = at not in found and to not in found.values()
        if is_free and one.tells(at) and other.tells(to) and _share(one.values(at), other.values(to)) > _HALF:
            found[at] = to
    return found


def _left(one: _Table, other: _Table, found: Mapping[int, int]) -> list[tuple[int, int]]:
    """List the pairs of columns that are still to be compared; none if there are too many."""
    ours, theirs = (set(range(len(each.names))) for each in (one, other))
    left = sorted(ours - found.keys()), sorted(theirs - set(found.values()))
    return list(itertools.product(*left)) if len(left[0]) * len(left[1]) <= _MOST_COLUMN_PAIRS else []


def _renamed(one: _Table, other: _Table, pairs: Sequence[PlacePair], found: Mapping[int, int]) -> dict[int, int]:
    """Pair the remaining columns with the same values in most rows, or in some if a name contains the other.

    Of several, the first one behind the same column is meant: where there are few values, they are alike by chance.
    """
    rows = [(one.rows[left[0]], other.rows[right[0]]) for left, right in pairs if left and right]
    may_be: defaultdict[int, list[int]] = defaultdict(list)
    for at, to in _left(one, other, found):
        values = [(cells[at], others[to]) for cells, others in rows if cells[at] and others[to]]
        same = sum(was == now for was, now in values)
        names = [set(words_of(name)) for name in (one.names[at], other.names[to])]
        is_named = bool(all(names)) and (names[0] <= names[1] or names[1] <= names[0])
        if same > (0 if is_named else _HALF * len(values)):
            may_be[at].append(to)
    there = dict(found)
    for at, likes in sorted(may_be.items()):
        free = [to for to in likes if to not in there.values()]
        behind = [to for to in free if to > there.get(at - 1, -1)]
        if free:
            there[at] = (behind or free)[0]
    return there


def _told(cells: Sequence[str], columns: Sequence[int], often: Sequence[Collection[str]]) -> str:
    """Write a row as its name and what only it says."""
    name = _row_name(cells[columns[0]])
    told = (cells[at] if not name or cells[at] not in each else "" for at, each in zip(columns[1:], often, strict=True))
    return f"| {' | '.join((name, *told))} |"


def _may_be_one(row: str, other: str) -> bool:
    """Return whether rows can be one: two identifiers are two rows, unless these say mostly the same."""
    (name, *cells), (its, *others) = cell_texts(row), cell_texts(other)
    if name == its or not all(any(map(str.isdigit, each)) for each in (name, its)):
        return True
    bags = [Counter(words_and_numbers(" ".join(each))) for each in (cells, others)]
    return likeness(bags[0], bags[1], ALL_ALIKE) >= ALIKE
