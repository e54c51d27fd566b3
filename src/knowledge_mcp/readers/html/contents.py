"""The list of contents of a web page: it says again what its headings say, as the one of a printed document does."""

from __future__ import annotations

import re

from knowledge_mcp.readers.shared.containers import Element, local_name

_HEADING = re.compile(r"h[1-6]")
_LISTS = frozenset({"nav", "ul", "ol", "dl", "div", "section", "table"})
_FEWEST = 4
"""Headings of a page at least that has contents."""
_LISTED = 0.6
"""Share of the headings that they name at least: those of the lowest levels may not be in them."""
_LINKED = 0.75
"""Share of their letters that stand in links at least; numbers, pages and a title stand beside these."""
_MOST_LOOKED_AT = 100
"""Lists of links of a page that are looked at: each is walked through as a whole."""


def contents_of(root: Element) -> Element | None:
    """Return the outermost element that is the list of contents of a page, with its title; None where it has none."""
    headings = {element for element in root.iter("*") if _HEADING.fullmatch(local_name(element).lower())}
    listed = max(_FEWEST, _LISTED * len(headings))
    if len(headings) < listed:
        return None
    named = _Named(root, headings)
    looked_at = 0
    for element in root.iter("*"):
        if local_name(element).lower() not in _LISTS or looked_at == _MOST_LOOKED_AT:
            continue
        links = [each for each in element.iter("a", "{*}a") if (each.get("href") or "").startswith("#")]
        looked_at += len(links) >= listed
        if len({named.by(each) for each in links} - {None}) < listed:
            continue
        if sum(map(_letters, links)) >= _LINKED * _letters(element):
            return element
    return None


class _Named:
    """Tell which heading a link leads to: its target, what that stands in, or the first one below it."""

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
