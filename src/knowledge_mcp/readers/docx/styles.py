"""Styles of a Word document: what a paragraph is by its style, with inheritance; and the numbers of lists.

A style specifies little itself. Its outline level, its numbering and often its meaning ("Heading 3", "Caption") come
from the style it is based on.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from knowledge_mcp.language.openings import COMMENTARY_WORDS
from knowledge_mcp.readers.shared.containers import Element, attribute, child, is_on, local_name, value
from knowledge_mcp.readers.shared.numbering import format_number, whole_number

_MAX_INHERITANCE = 20
BODY_TEXT_LEVEL = _MOST_LEVELS = 9


class Role(StrEnum):
    """The purpose of a paragraph style, by its name or that of a style it is based on."""

    BODY = "body"
    TITLE = "title"
    CAPTION = "caption"
    CONTENTS = "contents"
    CODE = "code"
    NOTE = "note"
    EXAMPLE = "example"
    QUOTE = "quote"
    ANNEX = "annex"
    LIST = "list"


_ROLES = (
    (
        Role.CONTENTS,
        re.compile(r"(?:toc|contents)(?: ?\d| heading)|table of (?:figures|contents|authorities)|index \d"),
    ),
    (Role.CAPTION, re.compile(r"(?:.* )?caption(?: .*)?|(?:table|figure) ?title(?: .*)?")),
    (Role.TITLE, re.compile(r"(?:document |main |cover )?title(?: ?\d)?")),
    (
        Role.CODE,
        re.compile(
            r"(?:.* )?(?:source ?)?code(?: ?\w+)?|html preformatted|verbatim.*|plain text|macro text?|.*listing"
        ),
    ),
    (Role.NOTE, re.compile(rf"(?:.* )?(?:notes?|{COMMENTARY_WORDS})(?: (?:\d|continued|text|para.*|indent.*))*")),
    (Role.EXAMPLE, re.compile(r"(?:.* )?examples?(?: (?:\d|continued|text|para.*|indent.*))*")),
    (Role.QUOTE, re.compile(r"(?:intense |block )?quot(?:e|ation)s?|block text")),
    (Role.ANNEX, re.compile(r"(?:annex|appendix).*")),
    (Role.LIST, re.compile(r"list (?:bullet|number|paragraph|continue)?.*")),
)
_NO_HEADINGS = frozenset({Role.CAPTION, Role.CONTENTS, Role.CODE, Role.TITLE, Role.ANNEX})
"""Styles whose paragraphs are not headings, or are so by another rule, even if a table of contents lists them."""
_HEADING_NAME = re.compile(r"(?:heading|überschrift|titre) (\d)")


@dataclass(frozen=True, slots=True)
class Style:
    """What one paragraph style itself specifies; None where it specifies nothing.

    Attributes:
        name: lower-case name.
        based_on: id of the style it inherits from.
        number_id, level: its list and its level in it.
        outline: outline level from 0; 9 is body text.
    """

    name: str
    based_on: str | None
    number_id: str | None
    level: int | None
    outline: int | None


class Styles:
    """Answer questions about paragraph styles by id; None means the document's default paragraph style."""

    def __init__(self, root: Element | None) -> None:
        self._styles: dict[str, Style] = {}
        self._default: str | None = None
        self._roles: dict[str | None, Role] = {}
        self._chains: dict[str | None, list[tuple[str, Style]]] = {}
        self._in_contents: dict[str, int] = {}
        for element in root if root is not None else ():
            if local_name(element) == "style" and attribute(element, "type") in {None, "paragraph", "numbering"}:
                self._add(element)

    def chain(self, style_id: str | None) -> list[tuple[str, Style]]:
        """Return a style and the styles it is based on, nearest first."""
        if style_id not in self._chains:
            self._chains[style_id] = self._follow(style_id)
        return self._chains[style_id]

    def _follow(self, style_id: str | None) -> list[tuple[str, Style]]:
        found: list[tuple[str, Style]] = []
        place = style_id if style_id is not None else self._default
        while place is not None and place in self._styles and len(found) < _MAX_INHERITANCE:
            found.append((place, self._styles[place]))
            place = self._styles[place].based_on
        return found

    def outline(self, style_id: str | None) -> int | None:
        """Return the outline level from 0 of a style, None for body text."""
        chain = self.chain(style_id)
        for _, style in chain:
            if style.outline is not None:
                return style.outline if style.outline < BODY_TEXT_LEVEL else None
            named = _HEADING_NAME.fullmatch(style.name)
            if named:
                return int(named.group(1)) - 1
        if chain and self.role(chain[0][0]) not in _NO_HEADINGS:
            return self._in_contents.get(chain[0][1].name)
        return None

    def list_in_contents(self, levels: Mapping[str, int]) -> None:
        """Take the styles that a table of contents collects for headings; `levels` has theirs, by lower-case name."""
        self._in_contents.update(levels)

    def numbering(self, style_id: str | None) -> tuple[str, int | None, list[str]] | None:
        """Return the list id, its level, and the style ids up to the one that sets the list.

        The level is None if the list's link to the style sets it.
        """
        passed: list[str] = []
        for place, style in self.chain(style_id):
            passed.append(place)
            if style.number_id is not None:
                level = next((s.level for _, s in self.chain(style_id) if s.level is not None), None)
                return style.number_id, level, passed
        return None

    def role(self, style_id: str | None) -> Role:
        """Return the purpose of a style."""
        if style_id not in self._roles:
            self._roles[style_id] = self._find_role(style_id)
        return self._roles[style_id]

    def names_title(self, style_id: str | None) -> bool:
        """Return whether it is the style of the title of contents ("TOC Heading"), not of their lines."""
        return any("heading" in style.name for _, style in self.chain(style_id)[:1])

    def own_number(self, style_id: str) -> str | None:
        """Return the list that a (numbering) style itself names."""
        style = self._styles.get(style_id)
        return style.number_id if style else None

    def _add(self, element: Element) -> None:
        style_id = attribute(element, "styleId") or ""
        level = value(element, "pPr", "numPr", "ilvl")
        outline = value(element, "pPr", "outlineLvl")
        self._styles[style_id] = Style(
            name=(value(element, "name") or style_id).strip().lower(),
            based_on=value(element, "basedOn"),
            number_id=value(element, "pPr", "numPr", "numId"),
            level=whole_number(level, None),
            outline=whole_number(outline, None),
        )
        is_default = (attribute(element, "default") or "").lower() in {"1", "true", "on"}
        if is_default and attribute(element, "type") == "paragraph" and child(element, "name") is not None:
            self._default = style_id

    def _find_role(self, style_id: str | None) -> Role:
        for _, style in self.chain(style_id):
            for role, pattern in _ROLES:
                if pattern.fullmatch(style.name):
                    return role
        return Role.BODY


_PLACEHOLDER = re.compile(r"%([1-9])")
_BULLET = "•"


@dataclass(frozen=True, slots=True)
class Label:
    """The printed label of a paragraph ("5.3.1", "a)", "•"), its level from 0, and whether it is a bullet."""

    text: str
    level: int
    is_bullet: bool


@dataclass(frozen=True, slots=True)
class _Level:
    start: int
    format: str
    text: str
    restart: int | None
    style: str | None
    legal: bool


@dataclass(slots=True)
class _Abstract:
    levels: dict[int, _Level]
    style_link: str | None


@dataclass(slots=True)
class _List:
    abstract: str
    starts: dict[int, int] = field(default_factory=dict[int, int])
    levels: dict[int, _Level] = field(default_factory=dict[int, _Level])


class Numbering:
    """Count through a document in reading order; call `label` once for each paragraph.

    Lists of one abstract definition share their counters. A start override applies when its list is first used.
    """

    def __init__(self, root: Element | None, styles: Styles) -> None:
        self._styles = styles
        self._abstracts: dict[str, _Abstract] = {}
        self._lists: dict[str, _List] = {}
        self._counters: dict[str, dict[int, int]] = {}
        self._started: set[tuple[str, int]] = set()
        self._settled: dict[Element | None, Label | None] = {}
        for element in root if root is not None else ():
            if local_name(element) == "abstractNum":
                levels = {_index(lvl): _read_level(lvl) for lvl in element if local_name(lvl) == "lvl"}
                link = value(element, "numStyleLink")
                self._abstracts[attribute(element, "abstractNumId") or ""] = _Abstract(levels, link)
            elif local_name(element) == "num":
                self._lists[attribute(element, "numId") or ""] = _read_list(element)

    def label(self, properties: Element | None, style_id: str | None) -> Label | None:
        """Advance the paragraph's list and return its label, None if the paragraph is not in a list.

        Args:
            properties: the paragraph's `pPr`.
            style_id: its style.
        """
        if properties in self._settled:
            return self._settled[properties]
        placed = self._place(properties, style_id)
        if placed is None:
            return None
        number_id, level, abstract_id, levels = placed
        rule = levels.get(level)
        if rule is None:
            return None
        counters = self._advance(number_id, level, abstract_id, levels)
        if rule.format == "bullet":
            return Label(_BULLET, level, is_bullet=True)

        def printed(match: re.Match[str]) -> str:
            place = int(match.group(1)) - 1
            number_format = levels[place].format if place in levels else "decimal"
            return format_number(counters.get(place, 1), "decimal" if rule.legal else number_format)

        text = " ".join(_PLACEHOLDER.sub(printed, rule.text).split())
        return Label(text, level, is_bullet=False) if text else None

    def counts(self, properties: Element | None, style_id: str | None) -> bool:
        """Return whether Word numbers a paragraph. Arguments as of `label`; this does not advance the list."""
        placed = self._place(properties, style_id)
        rule = placed[3].get(placed[1]) if placed is not None else None
        return rule is not None and rule.format != "bullet" and bool(rule.text)

    def settle(self, paragraph: Element, original: Element | None = None) -> None:
        """Assign a number now to a paragraph that is read later, in another order; a copy gets that of its original.

        From then on, `label` returns the same label for it each time.
        """
        properties = child(paragraph, "pPr")
        if properties is None:
            return
        known = self._settled.get(child(original, "pPr"))
        self._settled[properties] = known or self.label(properties, value(properties, "pStyle"))

    def _place(
        self, properties: Element | None, style_id: str | None
    ) -> tuple[str, int, str, dict[int, _Level]] | None:
        number_id = value(properties, "numPr", "numId")
        direct = value(properties, "numPr", "ilvl")
        level = whole_number(direct, None)
        linked: list[str] = [style_id] if style_id else []
        if number_id is None:
            inherited = self._styles.numbering(style_id)
            if inherited is None:
                return None
            number_id, style_level, linked = inherited
        else:
            style_level = None
        if number_id == "0" or number_id not in self._lists:
            return None
        abstract_id, levels = self._definition(number_id)
        if level is None:
            level = next((k for s in linked for k, rule in levels.items() if rule.style == s), style_level or 0)
        return number_id, level, abstract_id, levels

    def _definition(self, number_id: str) -> tuple[str, dict[int, _Level]]:
        found = self._lists[number_id]
        abstract = self._abstracts.get(found.abstract)
        abstract_id = found.abstract
        if abstract is not None and not abstract.levels and abstract.style_link:
            linked = self._lists.get(self._styles.own_number(abstract.style_link) or "")
            if linked is not None:
                abstract_id, abstract = linked.abstract, self._abstracts.get(linked.abstract)
        levels = abstract.levels if abstract else {}
        return abstract_id, levels | found.levels if found.levels else levels

    def _advance(self, number_id: str, level: int, abstract_id: str, levels: dict[int, _Level]) -> dict[int, int]:
        counters = self._counters.setdefault(abstract_id, {})
        starts = self._lists[number_id].starts
        if level in starts and (number_id, level) not in self._started:
            self._started.add((number_id, level))
            counters[level] = starts[level]
        else:
            counters[level] = counters.get(level, levels[level].start - 1) + 1
        for deeper in [k for k in counters if k > level]:
            restart = levels[deeper].restart if deeper in levels else None
            if restart is None or level < restart:
                del counters[deeper]
        for outer in range(level):
            counters.setdefault(outer, levels[outer].start if outer in levels else 1)
        return counters


def _index(element: Element) -> int:
    level = whole_number(attribute(element, "ilvl"), 0)
    return level if level < _MOST_LEVELS else 0


def _read_level(element: Element) -> _Level:
    start = value(element, "start")
    restart = value(element, "lvlRestart")
    return _Level(
        start=whole_number(start, 1),
        format=_read_format(element),
        text=value(element, "lvlText") or "",
        restart=whole_number(restart, None),
        style=value(element, "pStyle"),
        legal=is_on(element, "isLgl"),
    )


def _read_format(element: Element) -> str:
    """Read the number format; newer formats are in an `AlternateContent` with an older one as fallback."""
    direct = value(element, "numFmt")
    if direct is not None:
        return direct
    return value(child(element, "AlternateContent"), "Fallback", "numFmt") or "decimal"


def _read_list(element: Element) -> _List:
    found = _List(value(element, "abstractNumId") or "")
    for override in (e for e in element if local_name(e) == "lvlOverride"):
        level = _index(override)
        start = whole_number(value(override, "startOverride"), None)
        own = child(override, "lvl")
        if own is not None:
            found.levels[level] = _read_level(own)
        if start is not None:
            found.starts[level] = start
            if level in found.levels:
                found.levels[level] = replace(found.levels[level], start=start)
    return found
