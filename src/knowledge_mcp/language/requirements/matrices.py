"""Tables that relate items: traceability matrices, row by row or with crosses in a grid, and cards of one item."""

from __future__ import annotations

import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

Rows = Sequence[Sequence[str]]
Owner = TypeVar("Owner")

_MARK = re.compile(r"\(?(?:[^\W\d_]{1,2}|[✓✔☑✅●•■×✗+*]|1|yes|yep|full|partly|partial|oui|sí)\)?", re.IGNORECASE)
"""What is put where a row and a column of a grid meet."""
_NO_MARK = re.compile(r"[-–—.0/]*|n|no|n/?a|na|nein|non|none|open|tb[dc]", re.IGNORECASE)
_CODED = re.compile(r"\d|[A-Z][-_][A-Z]")
"""What ids have, and labels of rows have not."""
_FEWEST_COLUMNS = 2
_FEWEST_HEADS = 3
_LONGEST = 3
"""Words of a head of a grid: "SYS-3", "SYS-3 Start of pump"."""
_MOST_HEADS = 5
"""Rows in which the head of a grid is looked for: titles and units may stand above it."""


def related(
    rows: Rows, own: Callable[[str], Sequence[Owner]], begun: Mapping[int, Sequence[Owner]] | None = None
) -> Mapping[Owner, Sequence[str]]:
    """Return what a table says of each item that it names: cells and rows, as they are written.

    Of a grid, an item has the heads of the rows or columns that are crossed for it. Of any other table, an item has its
    rows, and those below that have no first cell, or a label there that other rows have too: they go on with it. A
    table of one item is its card, and all rows with a label are said of it.

    Args:
        rows: cells, without the rule below a head.
        own: tells which items of the document a cell names that holds nothing else.
        begun: items that begin in a row, by its place, whatever its cells hold.
    """
    grid = _grid(rows, own)
    if grid is not None:
        return grid
    named = [
        list(dict.fromkeys([*(begun or {}).get(place, ()), *(name for cell in row for name in own(cell))]))
        for place, row in enumerate(rows)
    ]
    firsts = [next(iter(row), "") for row in rows]
    heads = rows[0] if rows and not named[0] and _is_head(rows[0]) else ()
    counts = Counter(firsts)
    every = list(dict.fromkeys(name for each in named for name in each))
    found: defaultdict[Owner, list[str]] = defaultdict(list)
    last: Sequence[Owner] = every if len(every) == 1 else ()
    for row, first, names in zip(rows, firsts, named, strict=True):
        is_more = not _CODED.search(first) and (len(every) == 1 or not first or counts[first] > 1)
        owners = names or (last if is_more and len(last) == 1 else ())
        last = every if len(every) == 1 else owners
        for name in owners:
            found[name].append(" | ".join(_below(heads, row)))
    return found


def is_crossed(value: str) -> bool | None:
    """Tell whether a cell is a cross, or says that there is none; None where it says more."""
    value = value.strip()
    return False if _NO_MARK.fullmatch(value) else True if _MARK.fullmatch(value) else None


def _is_head(row: Sequence[str]) -> bool:
    """Tell whether a row names columns: three and more, none of them by an id; with two it may be the row of a card."""
    return len(row) >= _FEWEST_HEADS and not any(map(_CODED.search, row))


def _below(heads: Sequence[str], row: Sequence[str]) -> list[str]:
    """Say each cell with what stands above it: "Not covered: SYS-3"."""
    named = itertools.zip_longest(heads, row, fillvalue="")
    return [f"{head}: {cell}" if head and cell else cell for head, cell in named]


def _grid(rows: Rows, own: Callable[[str], Sequence[Owner]]) -> Mapping[Owner, Sequence[str]] | None:
    """Read crosses; None where the table is no grid or names nobody at its sides."""
    for place, head in enumerate(rows[:_MOST_HEADS]):
        columns = [at for at, cell in enumerate(head) if at and _CODED.search(cell) and len(cell.split()) <= _LONGEST]
        body = [row for row in rows[place + 1 :] if any(row)]
        if len(columns) < _FEWEST_COLUMNS or not body:
            continue
        cells = [row[at].strip() for row in body for at in columns if at < len(row)]
        if any(is_crossed(each) is None for each in cells):
            continue
        if not any(own(head[at]) for at in columns) and not any(own(row[0]) for row in body):
            continue
        found: defaultdict[Owner, list[str]] = defaultdict(list)
        for row in body:
            crossed = [head[at] for at in columns if at < len(row) and is_crossed(row[at])]
            for name in own(row[0]):
                found[name] += crossed
            for each in crossed:
                for name in own(each):
                    found[name].append(row[0])
        return found
    return None
