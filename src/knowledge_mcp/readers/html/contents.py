"""Find the table of contents of a web page, which only repeats its headings."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice

from knowledge_mcp.readers.shared.containers import Element, local_name

_HEADING = re.compile(r"h[1-6]")
_LISTS = frozenset({"nav", "ul", "ol", "dl", "div", "section", "table"})
_FEWEST = 4
"""Fewest headings of a page that has a table of contents."""
_LISTED = 0.6
"""Share of the headings that must be listed: those of the lowest levels may be missing."""
_LINKED = 0.75
"""Share of its letters that must be in links; numbers, page numbers and a title may be outside."""
_MOST_LOOKED_AT = 100
"""Most lists of links of a page to examine: each is walked through completely."""


def contents_of(root: Element) -> Element | None:
    """Return the outermost element that is the table of contents of a page, with its title; None if there is none."""
    headings = {element for element in root.iter("*") if _HEADING.fullmatch(local_name(element).lower())}
    listed = max(_FEWEST, _LISTED * len(headings))
    if len(headings) < listed:
        return None
    named = _Named(root, headings)
    within = Counter(around for link in _links(root) for around in link.iterancestors())
    lists = (each for each in root.iter("*") if within[each] >= listed and local_name(each).lower() in _LISTS)
    for element in islice(lists, _MOST_LOOKED_AT):
        links = list(_links(element))
        named_by_links = {named.by(each) for each in links} - {None}
        if len(named_by_links) >= listed and sum(map(_letters, links)) >= _LINKED * _letters(element):
            return element
    return None


def _links(element: Element) -> Iterator[Element]:
    """Yield the links inside an element that lead to a place of the page."""
    return (each for each in element.iter("a", "{*}a") if (each.get("href") or "").startswith("#"))


class _Named:
    """Find the heading that a link leads to: its target, an ancestor of that, or the first heading inside it."""

    def __init__(self, root: Element, headings: set[Element]) -> None:
        self._headings = headings
        self._targets = {name: element for element in root.iter("*") if (name := element.get("id"))}
        self._known: dict[str, Element | None] = {}

    def by(self, link: Element) -> Element | None:
        name = (link.get("href") or "").removeprefix("#")
        if name not in self._known:
            target = self._targets.get(name)
            self._known[name] = None if target is None else self._at(target)
        return self._known[name]

    def _at(self, target: Element) -> Element | None:
        around = (target, *target.iterancestors())
        near = next((each for each in around if each in self._headings), None)
        return near if near is not None else next((each for each in target.iter("*") if each in self._headings), None)


def _letters(element: Element) -> int:
    return sum(len("".join(str(words).split())) for words in element.itertext())
