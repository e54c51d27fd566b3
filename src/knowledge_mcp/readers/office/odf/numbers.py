"""Child process: the numbers of headings and lists of an OpenDocument text, as a word processor prints them.

A list has a list style with levels. A list that continues another one counts on from it; otherwise it restarts, as does
a level below an item that was counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from knowledge_mcp.readers.office.odf.package import STYLE, TEXT
from knowledge_mcp.readers.shared.containers import Element, local_name
from knowledge_mcp.readers.shared.numbering import counted, whole_number

_ID = "{http://www.w3.org/XML/1998/namespace}id"
_BULLET = "•"
_FORMS = frozenset({"1", "a", "A", "i", "I"})
_PLACE = re.compile(r"%(\d{1,2})%")
_MAX_INHERITANCE = 20
_MOST_LEVELS = 10


@dataclass(frozen=True, slots=True)
class _Level:
    """How a level is numbered: form, text around the number, number of levels shown, start value."""

    form: str
    prefix: str
    suffix: str
    shown: int
    start: int
    pattern: str
    is_bullet: bool = False


def _level(element: Element) -> _Level:
    pattern = next((str(text) for key, text in element.attrib.items() if str(key).endswith("}num-list-format")), "")
    return _Level(
        element.get(f"{STYLE}num-format", ""),
        element.get(f"{STYLE}num-prefix", ""),
        element.get(f"{STYLE}num-suffix", ""),
        whole_number(element.get(f"{TEXT}display-levels"), 1),
        whole_number(element.get(f"{TEXT}start-value"), 1),
        pattern if _PLACE.search(pattern) else "",
        is_bullet=not local_name(element).endswith(("style-number", "outline-level-style")),
    )


def _printed(levels: Mapping[int, _Level], counts: Mapping[int, int], level: int) -> str:
    """Return the number of a level with its prefix and suffix, "" if the level has none."""
    rule = levels[level]

    def part(place: int) -> str:
        known = levels.get(place)
        form = known.form if known is not None and known.form in _FORMS else ""
        return counted(counts.get(place, known.start if known else 1), form) if form else ""

    if rule.form not in _FORMS:
        return ""
    if rule.pattern:
        return _PLACE.sub(lambda match: part(int(match.group(1))), rule.pattern).strip()
    parts = [part(place) for place in range(max(level - rule.shown + 1, 1), level + 1)]
    return f"{rule.prefix}{'.'.join(filter(None, parts))}{rule.suffix}".strip()


def _count(levels: Mapping[int, _Level], counts: dict[int, int], level: int, start: int | None = None) -> None:
    first = levels[level].start if level in levels else 1
    counts[level] = start if start is not None else counts.get(level, first - 1) + 1
    for deeper in [known for known in counts if known > level]:
        del counts[deeper]


class HeadingNumbers:
    """Count headings by the document's outline numbering, if it has one."""

    def __init__(self, styles: Element | None) -> None:
        found = styles.iter(f"{TEXT}outline-level-style") if styles is not None else ()
        levels = {whole_number(each.get(f"{TEXT}level"), 1): _level(each) for each in found}
        self._levels = {level: rule for level, rule in levels.items() if rule.form in _FORMS}
        self._counts: dict[int, int] = {}

    def label(self, element: Element, level: int) -> str:
        """Return a heading's number with its prefix and suffix, empty if it has none."""
        written = element.find(f"{TEXT}number")
        if level not in self._levels:
            return (written.text or "") if written is not None else ""
        if element.get(f"{TEXT}is-list-header") == "true":
            return ""
        _count(self._levels, self._counts, level)
        return _printed(self._levels, self._counts, level)


@dataclass(slots=True)
class OpenList:
    """An open list or sublist.

    Attributes:
        style: the name of its list style, "" if its paragraphs name it.
        level: its level from 1.
        counts: the count so far by level, shared with the lists around it and the one that it continues.
    """

    style: str
    level: int
    counts: dict[int, int] = field(default_factory=dict[int, int])


class Lists:
    """Number the items of lists, in reading order."""

    def __init__(self, roots: Iterable[Element]) -> None:
        self._styles: dict[str, dict[int, _Level]] = {}
        self._paragraphs: dict[str, tuple[str, str]] = {}
        self._by_id: dict[str, dict[int, int]] = {}
        self._by_style: dict[str, dict[int, int]] = {}
        for root in roots:
            for style in root.iter(f"{TEXT}list-style"):
                levels = {whole_number(each.get(f"{TEXT}level"), 1): _level(each) for each in style}
                self._styles[style.get(f"{STYLE}name", "")] = levels
            for style in root.iter(f"{STYLE}style"):
                if style.get(f"{STYLE}family") == "paragraph":
                    names = (style.get(f"{STYLE}{name}", "") for name in ("parent-style-name", "list-style-name"))
                    parent, of_list = names
                    self._paragraphs[style.get(f"{STYLE}name", "")] = (parent, of_list)

    def open(self, element: Element, outer: OpenList | None) -> OpenList:
        """Open a `list` element, inside `outer` if there is one."""
        style = element.get(f"{TEXT}style-name", "")
        if outer is not None:
            return OpenList(style or outer.style, min(outer.level + 1, _MOST_LEVELS), outer.counts)
        counts: dict[int, int] | None = None
        if continued := element.get(f"{TEXT}continue-list"):
            counts = self._by_id.get(continued)
        elif element.get(f"{TEXT}continue-numbering") == "true":
            counts = self._by_style.get(style)
        counts = {} if counts is None else counts
        self._by_style[style] = counts
        if name := element.get(_ID):
            self._by_id[name] = counts
        return OpenList(style, 1, counts)

    def label(self, here: OpenList, item: Element, paragraph: Element) -> str:
        """Count an item and return what is printed before it: a number with prefix and suffix, a bullet, or ""."""
        levels = self._styles.get(here.style or self._of_paragraph(paragraph), {})
        if local_name(item) == "list-header":
            return ""
        start = item.get(f"{TEXT}start-value")
        _count(levels, here.counts, here.level, whole_number(start, 1) if start else None)
        rule = levels.get(here.level)
        return _BULLET if rule is None or rule.is_bullet else _printed(levels, here.counts, here.level)

    def _of_paragraph(self, paragraph: Element) -> str:
        name = paragraph.get(f"{TEXT}style-name", "")
        for _ in range(_MAX_INHERITANCE):
            parent, of_list = self._paragraphs.get(name, ("", ""))
            if of_list or not parent:
                return of_list
            name = parent
        return ""
