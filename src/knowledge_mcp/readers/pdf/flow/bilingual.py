"""Separates documents with the same text in several languages: side by side, on facing pages, or one after the other.

Each language is read separately from its first page to its last, as a reader of one language does. Clauses have the
same numbers in all languages, so each language has its own numbering.
"""

from __future__ import annotations

import itertools
import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from knowledge_mcp.language.multilingual.recognition import language_of
from knowledge_mcp.language.openings import split_clause_number
from knowledge_mcp.readers.pdf.lines import crossings, is_rotated
from knowledge_mcp.readers.shared.layout import Line, PageLayout, Table, lines_of
from knowledge_mcp.readers.shared.tables import LEAST_SHARE, have_the_same_clauses, number_of, parallel_columns

if TYPE_CHECKING:
    from liteparse.types import ParsedPage

_MIDDLE = (0.3, 0.7)
"""Range of a page's width, as shares, in which two columns in two languages meet."""
_MOST_PLACES = 5_000
"""Maximum places at which two columns are looked for, a point apart on pages of four metres; a file can state any size.
"""
_CROSSING = 0.2
"""Maximum share of a page's pieces of text across both columns: common titles, and tables."""
_ALONE = re.compile(r"(?:[A-Z]|\d{1,3})(?:\.\d{1,3}){1,6}")
"""The number of a term alone on its line."""
_NEAR = 3.0
"""Maximum horizontal shift in points of a table's columns on the next page."""


@dataclass(slots=True)
class _Part:
    """A page, or its left or right column, and its language, empty if unknown."""

    page: PageLayout
    side: str
    language: str = ""

    @property
    def place(self) -> tuple[str, bool]:
        """Return its side of the page, and whether the page number is even."""
        return self.side, self.page.number % 2 == 0


def in_languages(pages: Sequence[PageLayout]) -> list[list[PageLayout]]:
    """Split the pages of a document by language, each in page order; unchanged if there is one language."""
    shown, languages_of_lines = _opened(pages)
    parts = [part for page in shown for part in _parts(page, languages_of_lines)]
    words: Counter[str] = Counter()
    for part in parts:
        if part.language:
            words[part.language] += sum(line.text.count(" ") + 1 for line in part.page.all_lines)
    most = max(words.values(), default=0)
    languages = [language for language, count in words.most_common() if count >= LEAST_SHARE * most]
    if len(languages) < 2:
        return [list(pages)]
    numbers = {language: _numbers(part for part in parts if part.language == language) for language in languages}
    first, *others = languages
    languages = [first, *(each for each in others if have_the_same_clauses(numbers[first], numbers[each]))]
    if len(languages) < 2:
        return [list(pages)]
    _settle(parts, languages)
    flows: dict[str, list[PageLayout]] = {}
    for part in parts:
        flows.setdefault(part.language, []).append(part.page)
    return list(flows.values())


def strip_between_languages(page: ParsedPage) -> float:
    """Find the empty strip between two columns in two languages; 0 if a page has none."""
    items = [item for item in page.text_items if item.text.strip() and not is_rotated(item)]
    first, last = (round(share * page.width) for share in _MIDDLE)
    step = max(1, (last - first) // _MOST_PLACES)
    crossed = crossings((item.x, item.x + item.width) for item in items)
    crossing = {x: crossed(x) for x in range(first, last, step)}
    least = min(crossing.values(), default=0)
    if not items or least > _CROSSING * len(items):
        return 0.0
    free = [x for x, count in crossing.items() if count == least]
    strip = float(free[len(free) // 2])
    left = language_of(" ".join(item.text for item in items if item.x + item.width <= strip))
    right = language_of(" ".join(item.text for item in items if item.x >= strip))
    return strip if left and right and left != right else 0.0


def _parts(page: PageLayout, languages: Mapping[int, str]) -> Iterator[_Part]:
    """Split a page whose columns are in several languages; text across them is kept with the part in its language.

    Args:
        page: with the lines of opened tables.
        languages: of these lines, by `id`.
    """
    known = [languages.get(id(element), "") for element in page.elements]
    if own := list(dict.fromkeys(filter(None, known))):
        recognised = (
            language or language_of(_words(each)) for each, language in zip(page.elements, known, strict=True)
        )
        known = [language if language in own else own[0] for language in recognised]
        for language in own:
            elements = [each for each, other in zip(page.elements, known, strict=True) if other == language]
            yield _Part(replace(page, elements=elements), language, language)
        return
    if not page.between:
        yield _Part(page, "", language_of(" ".join(map(_words, page.elements))))
        return
    sides = [_side(element, page.between) for element in page.elements]
    left, right = (
        language_of(" ".join(_words(each) for each, own in zip(page.elements, sides, strict=True) if own == side))
        for side in ("left", "right")
    )
    for side, language in (("left", left), ("right", right)):
        own = [
            element
            for element, place in zip(page.elements, sides, strict=True)
            if (place or ("right" if language_of(_words(element)) == right else "left")) == side
        ]
        yield _Part(replace(page, elements=own), side, language)


def _side(element: Line | Table, strip: float) -> str:
    lines = lines_of(element)
    if max((line.x1 for line in lines), default=0.0) <= strip:
        return "left"
    return "right" if min((line.x0 for line in lines), default=0.0) >= strip else ""


def _words(element: Line | Table) -> str:
    return " ".join(line.text for line in lines_of(element))


def _settle(parts: Sequence[_Part], languages: Sequence[str]) -> None:
    """Give each part one of the languages.

    A part of unknown language gets that of the parts around it. Between two languages it gets the one most parts at
    such a place have; if one language follows the other, that of the parts after it, as covers and contents come first.
    """
    known = [part.language if part.language in languages else "" for part in parts]
    recognised = list(filter(None, known))
    one_by_one = sum(one != other for one, other in itertools.pairwise(recognised)) < len(languages)
    placed = Counter((part.place, language) for part, language in zip(parts, known, strict=True) if language)
    following = known[:]
    for place in range(len(known) - 2, -1, -1):
        following[place] = known[place] or following[place + 1]
    before = ""
    for part, own, behind in zip(parts, known, following, strict=True):
        usual = max(languages, key=lambda each: placed[part.place, each])
        around = before if before == behind else behind or before if one_by_one else usual
        part.language = own or around
        before = own or before


def _numbers(parts: Iterable[_Part]) -> set[str]:
    """List the clause numbers at the beginning of lines; those of terms are alone on a line."""
    lines = [line.text for part in parts for line in part.page.all_lines]
    found = (number_of(text) if _ALONE.fullmatch(text) else split_clause_number(text).number for text in lines)
    return set(filter(None, found))


# ---- tables with the same clauses side by side in several languages -------------------------------------------------


def _opened(pages: Sequence[PageLayout]) -> tuple[list[PageLayout], dict[int, str]]:
    """Replace tables with clauses in several languages by their lines, one language after the other.

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
    """Group tables with the same columns."""
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
    """Return whether a table has the languages in their columns, as far as they can be recognised."""
    recognised = [language_of(" ".join(row[place[-1]] for row in table.rows)) for place in columns]
    return any(recognised) and all(one in {"", other} for one, other in zip(recognised, languages, strict=True))


def _read(table: Table, columns: tuple[int, ...]) -> list[Line]:
    """List the lines of a language, with numbers from a separate column."""
    *numbering, own = ([line for line in table.lines if _column(line, table) == column] for column in columns)
    return _numbered(numbering[0], own) if numbering else own


def _column(line: Line, table: Table) -> int:
    return bisect_right(table.edges, (line.x0 + line.x1) / 2) - 1


def _numbered(numbers: Sequence[Line], lines: Sequence[Line]) -> list[Line]:
    """Put numbers from a separate column before the lines at their height."""
    found = list(lines)
    for number in numbers:
        for at, line in enumerate(found):
            if line.page == number.page and line.y1 > number.y0:
                found[at] = replace(line, text=f"{number.text} {line.text}", x0=number.x0)
                break
    return found
