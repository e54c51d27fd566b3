"""Tables that relate items: traceability matrices, by rows or with crosses in a grid, and cards of one item."""

from __future__ import annotations

import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

Rows = Sequence[Sequence[str]]
Owner = TypeVar("Owner")

_MARK = re.compile(r"\(?(?:[^\W\d_]{1,2}|[✓✔☑✅●•■×✗+*]|1|yes|yep|full|partly|partial|oui|sí)\)?", re.IGNORECASE)
"""A cross, where a row and a column of a grid meet."""
_NO_MARK = re.compile(r"[-–—.0/]*|n|no|n/?a|na|nein|non|none|open|tb[dc]", re.IGNORECASE)
_CODED = re.compile(r"\d|[A-Z][-_][A-Z]")
"""Characteristic of ids that row labels do not have."""
_FEWEST_COLUMNS = 2
_FEWEST_HEADS = 3
_LONGEST = 3
"""Maximum words of a grid's column head: "SYS-3", "SYS-3 Start of pump"."""
_MOST_HEADS = 5
"""Rows in which the head of a grid is searched; titles and units may precede it."""


def related(
    rows: Rows, own: Callable[[str], Sequence[Owner]], begun: Mapping[int, Sequence[Owner]] | None = None
) -> Mapping[Owner, Sequence[str]]:
    """Return for each item that a table names what the table says about it: cells and rows, as written.

    In a grid, an item gets the heads of the rows or columns that are crossed for it. In any other table, an item gets
    its rows, and the following rows that have no first cell, or a first cell that is a repeated label, which continue
    it. A table of one item is its card, and all labelled rows belong to it.

    Args:
        rows: cells, without the rule below the header.
        own: returns the items of the document that a cell names, if it contains nothing else.
        begun: items that start in a row, by the row's index, even if no cell names them.
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
    """Return whether a cell is a cross (True) or says that there is none (False); None if it says more."""
    value = value.strip()
    return False if _NO_MARK.fullmatch(value) else True if _MARK.fullmatch(value) else None


def _is_head(row: Sequence[str]) -> bool:
    """Return whether a row is a header: at least three columns and no id; with two it may be a card's row."""
    return len(row) >= _FEWEST_HEADS and not any(map(_CODED.search, row))


def _below(heads: Sequence[str], row: Sequence[str]) -> list[str]:
    """Prefix each cell with its header: "Not covered: SYS-3"."""
    named = itertools.zip_longest(heads, row, fillvalue="")
    return [f"{head}: {cell}" if head and cell else cell for head, cell in named]


def _grid(rows: Rows, own: Callable[[str], Sequence[Owner]]) -> Mapping[Owner, Sequence[str]] | None:
    """Read the crosses of a grid; None if the table is not a grid or names no items at its sides."""
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
