"""Documents that say everything in two languages or more: side by side, on facing pages, or one behind the other.

Each language is read by itself, from its first page to its last, as who reads one of them does. Clauses have the same
numbers in all, so that each language has a numbering of its own.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from knowledge_mcp.language.multilingual.parallel import LEAST_SHARE, have_the_same_clauses
from knowledge_mcp.language.multilingual.recognition import language_of
from knowledge_mcp.language.openings import split_clause_number
from knowledge_mcp.readers.pdf.flow.parallel_tables import opened
from knowledge_mcp.readers.pdf.lines import is_rotated
from knowledge_mcp.readers.shared.layout import Line, PageLayout, Table, lines_of

if TYPE_CHECKING:
    from liteparse.types import ParsedPage

_MIDDLE = (0.3, 0.7)
"""Between which shares of a page's width two columns of two languages meet."""
_CROSSING = 0.2
"""Share of a page's pieces of text that may run across both columns: titles of the whole, and tables, do."""


@dataclass(slots=True)
class _Part:
    """A page, or its left or right column, and the language that it is in, empty where it does not tell."""

    page: PageLayout
    side: str
    language: str = ""

    @property
    def place(self) -> tuple[str, bool]:
        """Tell where it stands: the side of its page, and whether that is a left or a right one."""
        return self.side, self.page.number % 2 == 0


def in_languages(pages: Sequence[PageLayout]) -> list[list[PageLayout]]:
    """Part the pages of a document by language, each in the order of the pages; one language has them as they are."""
    shown, languages_of_lines = opened(pages)
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
    """Find the free strip between two columns in two languages; 0 where a page has none."""
    items = [item for item in page.text_items if item.text.strip() and not is_rotated(item)]
    first, last = (round(share * page.width) for share in _MIDDLE)
    crossing = {x: sum(item.x < x < item.x + item.width for item in items) for x in range(first, last)}
    least = min(crossing.values(), default=0)
    if not items or least > _CROSSING * len(items):
        return 0.0
    free = [x for x, count in crossing.items() if count == least]
    strip = float(free[len(free) // 2])
    left = language_of(" ".join(item.text for item in items if item.x + item.width <= strip))
    right = language_of(" ".join(item.text for item in items if item.x >= strip))
    return strip if left and right and left != right else 0.0


def _parts(page: PageLayout, languages: Mapping[int, str]) -> Iterator[_Part]:
    """Part a page whose columns are in several languages; what runs across them stands with the one that it is in.

    Args:
        page: with the lines of opened tables.
        languages: of these lines, by `id`.
    """
    known = [languages.get(id(element), "") for element in page.elements]
    if own := list(dict.fromkeys(filter(None, known))):
        told = (language or language_of(_words(each)) for each, language in zip(page.elements, known, strict=True))
        known = [language if language in own else own[0] for language in told]
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

    It has that of the parts around it. Between two languages it has that of most parts at such a place; where one
    language follows the other, that of those behind it: covers and contents come first.
    """
    known = [part.language if part.language in languages else "" for part in parts]
    told = list(filter(None, known))
    one_by_one = sum(one != other for one, other in itertools.pairwise(told)) < len(languages)
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
    """List the numbers that lines begin with as clauses do."""
    return {
        number for part in parts for line in part.page.all_lines if (number := split_clause_number(line.text).number)
    }
