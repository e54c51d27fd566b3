"""Find the table of contents of a web page, which only repeats its headings."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice

from knowledge_mcp.language.clauses import LINKED, fewest_listed, speaks_of_document
from knowledge_mcp.readers.shared.containers import Element, local_name, words_of

_HEADING = re.compile(r"h[1-6]")
_LISTS = frozenset({"nav", "ul", "ol", "dl", "div", "section", "table"})
_MOST_LOOKED_AT = 100
"""Most lists of links of a page to examine: each is walked through completely."""


def contents_of(root: Element) -> list[Element]:
    """Return the outermost element that is the table of contents of a page, with its title, or its paragraphs."""
    headings = {element for element in root.iter("*") if _HEADING.fullmatch(local_name(element).lower())}
    listed = fewest_listed(len(headings))
    if len(headings) < listed:
        return []
    named = _Named(root, headings)
    within = Counter(around for link in _links(root) for around in link.iterancestors())
    titled = {each.getnext() for each in headings if speaks_of_document(words_of(each))}
    least = {each: fewest_listed(len(headings), titled=each in titled) for each in within}
    lists = (
        each
        for each in root.iter("*")
        if each in least and within[each] >= least[each] and local_name(each).lower() in _LISTS
    )
    for element in islice(lists, _MOST_LOOKED_AT):
        links = list(_links(element))
        named_by_links = {named.by(each) for each in links} - {None}
        if len(named_by_links) >= least[element] and sum(map(_letters, links)) >= LINKED * _letters(element):
            return [element]
    for run in _runs_of_links(root):
        if len({named.by(each) for line in run for each in _links(line)} - {None}) >= listed:
            return run
    return []


def _runs_of_links(root: Element) -> list[list[Element]]:
    """Return the runs of paragraphs that are links to places of the page, as word processors write contents."""
    runs: list[list[Element]] = []
    for line in root.iter("p", "{*}p"):
        if not (_letters(line) and sum(map(_letters, _links(line))) >= LINKED * _letters(line)):
            continue
        if runs and line.getprevious() is runs[-1][-1]:
            runs[-1].append(line)
        else:
            runs.append([line])
    return runs


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
