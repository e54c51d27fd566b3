"""Tables that hold the same clauses in several languages beside each other: their lines, language by language."""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

from knowledge_mcp.language.multilingual.parallel import parallel_columns
from knowledge_mcp.language.multilingual.recognition import language_of
from knowledge_mcp.readers.shared.layout import Line, PageLayout, Table

_NEAR = 3.0
"""Points by which the columns of a table on the next page may stand elsewhere."""


def opened(pages: Sequence[PageLayout]) -> tuple[list[PageLayout], dict[int, str]]:
    """Put lines in the place of tables that hold clauses in several languages, one language after the other.

    Tables with the same columns are judged together: one may end with each page, or with each clause.

    Returns:
        The pages, and the language of each of these lines by its `id`.
    """
    tables = [(page.number, each) for page in pages for each in page.elements if isinstance(each, Table)]
    languages: dict[int, str] = {}
    instead: dict[int, list[Line]] = {}
    onward: defaultdict[int, list[Line]] = defaultdict(list)
    for some in _alike(tables):
        rows = [row for _, table in some for row in table.rows]
        columns = parallel_columns(rows)
        own = [language_of(" ".join(row[place[-1]] for row in rows)) for place in columns]
        for number, table in some:
            if not columns or not _is_in(table, columns, own):
                continue
            instead[id(table)] = []
            for place, language in zip(columns, own, strict=True):
                for line in _read(table, place):
                    languages[id(line)] = language
                    (instead[id(table)] if line.page == number else onward[line.page]).append(line)
    if not instead:
        return list(pages), {}
    found: list[PageLayout] = []
    for page in pages:
        elements = itertools.chain.from_iterable(instead.get(id(each), [each]) for each in page.elements)
        found.append(replace(page, elements=[*onward[page.number], *elements]))
    return found, languages


def _alike(tables: Iterable[tuple[int, Table]]) -> Iterable[list[tuple[int, Table]]]:
    """Put together tables with the same columns."""
    groups: list[list[tuple[int, Table]]] = []
    for number, table in tables:
        if len(table.edges) != len(table.rows[0]) + 1:
            continue
        for some in groups:
            edges = some[-1][1].edges
            if len(edges) == len(table.edges) and all(map(_is_near, edges, table.edges)):
                some.append((number, table))
                break
        else:
            groups.append([(number, table)])
    return groups


def _is_near(one: float, other: float) -> bool:
    return abs(one - other) <= _NEAR


def _is_in(table: Table, columns: Sequence[tuple[int, ...]], languages: Sequence[str]) -> bool:
    """Tell whether a table has languages in their columns, as far as its words tell."""
    told = [language_of(" ".join(row[place[-1]] for row in table.rows)) for place in columns]
    return any(told) and all(one in {"", other} for one, other in zip(told, languages, strict=True))


def _read(table: Table, columns: tuple[int, ...]) -> list[Line]:
    """List the lines of a language, with the numbers that stand in a column of their own."""
    *numbering, own = ([line for line in table.lines if _column(line, table) == column] for column in columns)
    return _numbered(numbering[0], own) if numbering else own


def _column(line: Line, table: Table) -> int:
    return bisect_right(table.edges, (line.x0 + line.x1) / 2) - 1


def _numbered(numbers: Sequence[Line], lines: Sequence[Line]) -> list[Line]:
    """Write numbers that stand in a column of their own before the lines at their height."""
    found = list(lines)
    for number in numbers:
        for at, line in enumerate(found):
            if line.page == number.page and line.y1 > number.y0:
                found[at] = replace(line, text=f"{number.text} {line.text}", x0=number.x0)
                break
    return found
