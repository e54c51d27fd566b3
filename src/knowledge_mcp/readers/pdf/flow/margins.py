"""Removes what is in the margin and not part of the text: line numbers, change bars, and tabs of chapters."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from liteparse.types import ParsedPage, TextItem

_FEWEST = 5
"""Minimum number of line numbers on a page: a column of figures that counts so far is not outside all other words."""
_FLUSH = 3.0
"""Maximum distance in points between the left or right edges of line numbers."""
_PAGES = 0.5
"""Minimum share of pages with text that have such numbers, in a document with numbered lines."""
_STEPS = frozenset({1, 2, 5, 10})
_SPARSE = (5, 10)
"""Steps that paragraph numbers do not have: a few numbers on each page are enough together."""
_NUMBER = re.compile(r"\s*(?P<number>\d{1,6})(?:\s+(?P<rest>\S.*)|\s*)", re.DOTALL)
"""A number alone, or with the words of its line, which the parser joins to it if they are close."""

_BAR = re.compile(r"[|¦│┃❘❙❚▌▍▎▏ ]{1,200}")
"""A bar, or several bars joined by the parser."""

_TAB = re.compile(r"[A-Z]?\d{1,3}[A-Z]?|[A-Z]")
"""The number or letter of a chapter on a tab at the edge of its pages."""
_LARGER = 1.3
"""Minimum height of a tab relative to the line at the edge of the text: side notes are smaller, numbers alike."""
_REPEATED = 3
"""Minimum number of pages with a tab in one place: two may be the numbers of two titles."""
_TEXT = 0.3
"""Minimum share of a page's width of words that show where its text is."""

_Numbers = list[tuple["TextItem", re.Match[str]]]


def take_line_numbers(pages: Sequence[ParsedPage], *, known: bool = False) -> bool:
    """Remove line numbers from the margins of consecutive pages, unless only few pages have them.

    Args:
        pages: the pages.
        known: whether earlier pages of the document have line numbers: long tables may follow that have none.

    Returns:
        Whether the document has line numbers.
    """
    found = [_line_numbers(page.text_items) for page in pages]
    few = [many or _line_numbers(page.text_items, 1) for page, many in zip(pages, found, strict=True)]
    steps = {_step(many) for many in few if len(many) > 1}
    if sum(map(len, few)) >= _FEWEST and len(steps) == 1 and steps <= set(_SPARSE):
        found = few
    written = sum(bool(page.text_items) for page in pages)
    if not known and sum(map(bool, found)) < max(1.0, _PAGES * written):
        return False
    for page, many in zip(pages, found, strict=True):
        numbers = many or _line_numbers(page.text_items, 2)
        gone = {id(item) for item, match in numbers if not match["rest"]}
        page.text_items = [item for item in page.text_items if id(item) not in gone]
        for item, match in numbers:
            if match["rest"]:
                before = item.width * match.start("rest") / len(item.text)
                item.x, item.width, item.text = item.x + before, item.width - before, match["rest"]
    return True


def take_change_bars(pages: Sequence[ParsedPage]) -> None:
    """Remove bars that are characters outside all text of a page; tables drawn with characters have bars inside."""
    for page in pages:
        bars = [item for item in page.text_items if _BAR.fullmatch(item.text)]
        rest = [item for item in page.text_items if item.text.strip() and not _BAR.fullmatch(item.text)]
        if not bars or not rest:
            continue
        left, right = min(item.x for item in rest), max(item.x + item.width for item in rest)
        if all(item.x + item.width <= left or item.x >= right for item in bars):
            gone = set(map(id, bars))
            page.text_items = [item for item in page.text_items if id(item) not in gone]


def take_tabs(pages: Sequence[ParsedPage], known: Collection[int] = ()) -> set[int]:
    """Remove numbers in large print beside all text of their page, if pages repeat one in its place.

    Args:
        pages: the pages.
        known: left edges of the tabs of earlier pages, in points: those of other chapters have the same.

    Returns:
        The left edges of the tabs, with those known.
    """
    tabs = [(page, item) for page in pages for item in _beside_text(page) if _TAB.fullmatch(item.text.strip())]
    places = Counter((item.text.strip(), round(item.x), round(item.y)) for _, item in tabs)
    edges = {edge for (_, edge, _), count in places.items() if count >= _REPEATED}.union(known)
    gone = {id(item) for _, item in tabs if round(item.x) in edges}
    for page in {id(page): page for page, item in tabs if id(item) in gone}.values():
        page.text_items = [item for item in page.text_items if id(item) not in gone]
    return edges


def _beside_text(page: ParsedPage) -> list[TextItem]:
    """Find the items in large print to the left or right of all words that run across a good part of the page."""
    text = [item for item in page.text_items if item.width > _TEXT * page.width]
    if not text:
        return []
    left, right = min(item.x for item in text), max(item.x + item.width for item in text)
    large = _LARGER * median(item.height for item in text)
    return [
        item for item in page.text_items if item.height > large and (item.x + item.width <= left or item.x >= right)
    ]


def _line_numbers(items: Sequence[TextItem], fewest: int = _FEWEST) -> _Numbers:
    """Find the numbers that count up in steps next to the text of a page: to the left or right of all of it."""
    read = [(item, match) for item in items if (match := _NUMBER.fullmatch(item.text)) is not None]
    lone = [item for item, match in read if not match["rest"]]
    rest = [item for item in items if item.text.strip() and not _NUMBER.fullmatch(item.text)]
    if len(lone) < fewest or not rest:
        return []
    left, right = min(item.x for item in rest), max(item.x + item.width for item in rest)
    before = [item for item in lone if item.x + item.width <= left]
    behind = {id(item) for item in lone if item.x >= right}
    edge = max((item.x for item in before), default=0.0)
    joined = [pair for pair in read if pair[0].x <= edge] if before else []
    for some in (
        joined,
        [pair for pair in joined if not pair[1]["rest"]],
        [pair for pair in read if id(pair[0]) in behind],
    ):
        if len(some) >= fewest and _are_flush([item for item, match in some if not match["rest"]]) and _count_up(some):
            return some
    return []


def _are_flush(items: Sequence[TextItem]) -> bool:
    edges = [item.x for item in items], [item.x + item.width for item in items]
    return any(max(side) - min(side) <= _FLUSH for side in edges)


def _ordered(numbers: _Numbers) -> list[str]:
    return [match["number"] for _, match in sorted(numbers, key=lambda pair: pair[0].y)]


def _step(numbers: _Numbers) -> int:
    """Return the difference between the first two numbers; 0 for a single number."""
    ordered = _ordered(numbers)
    return int(ordered[1]) - int(ordered[0]) if len(ordered) > 1 else 0


def _count_up(numbers: _Numbers) -> bool:
    """Return whether numbers go up by one step; the parser joins numbers that are close above each other ("2728").

    A single number only counts if other pages have line numbers; it must be a multiple of five.
    """
    ordered, step = _ordered(numbers), _step(numbers)
    if len(ordered) == 1:
        return int(ordered[0]) % _SPARSE[0] == 0
    if step not in _STEPS:
        return False
    due = int(ordered[0])
    for digits in ordered:
        at = 0
        while at < len(digits) and digits.startswith(str(due), at):
            at, due = at + len(str(due)), due + step
        if at < len(digits):
            return False
    return True
