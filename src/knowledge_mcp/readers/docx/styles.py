"""Styles of a Word document: what a paragraph is by its style, with inheritance.

A style says little itself; its outline level, its numbering and often its meaning ("Heading 3", "Caption") come from
the style it is based on.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from knowledge_mcp.readers.docx.ooxml import Element, attribute, child, local, value

__all__ = ["Role", "Style", "Styles"]

_MAX_INHERITANCE = 20
BODY_TEXT_LEVEL = 9


class Role(StrEnum):
    """What a paragraph style is for, as its name or that of a style it is based on tells."""

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
    (Role.NOTE, re.compile(r"(?:.* )?notes?(?: (?:\d|continued|text|para.*|indent.*))*")),
    (Role.EXAMPLE, re.compile(r"(?:.* )?examples?(?: (?:\d|continued|text|para.*|indent.*))*")),
    (Role.QUOTE, re.compile(r"(?:intense |block )?quot(?:e|ation)s?|block text")),
    (Role.ANNEX, re.compile(r"(?:annex|appendix).*")),
    (Role.LIST, re.compile(r"list (?:bullet|number|paragraph|continue)?.*")),
)
_HEADING_NAME = re.compile(r"(?:heading|überschrift|titre) (\d)")


@dataclass(frozen=True, slots=True)
class Style:
    """Hold what one paragraph style says itself; None where it says nothing.

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
    """Answer questions about paragraph styles by id; None stands for the document's default paragraph style."""

    def __init__(self, root: Element | None) -> None:
        self._styles: dict[str, Style] = {}
        self._default: str | None = None
        self._roles: dict[str | None, Role] = {}
        self._chains: dict[str | None, list[tuple[str, Style]]] = {}
        for element in root if root is not None else ():
            if local(element) == "style" and attribute(element, "type") in {None, "paragraph", "numbering"}:
                self._add(element)

    def chain(self, style_id: str | None) -> list[tuple[str, Style]]:
        """List a style and those it is based on, nearest first."""
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
        """Return the outline level from 0 that a style gives, None for body text."""
        chain = self.chain(style_id)
        for _, style in chain:
            if style.outline is not None:
                return style.outline if style.outline < BODY_TEXT_LEVEL else None
            named = _HEADING_NAME.fullmatch(style.name)
            if named:
                return int(named.group(1)) - 1
        return None

    def numbering(self, style_id: str | None) -> tuple[str, int | None, list[str]] | None:
        """Return list id, level (None: by the list's own link) and the ids from the style to the one that says it."""
        passed: list[str] = []
        for place, style in self.chain(style_id):
            passed.append(place)
            if style.number_id is not None:
                level = next((s.level for _, s in self.chain(style_id) if s.level is not None), None)
                return style.number_id, level, passed
        return None

    def role(self, style_id: str | None) -> Role:
        """Tell what a style is for."""
        if style_id not in self._roles:
            self._roles[style_id] = self._find_role(style_id)
        return self._roles[style_id]

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
            level=int(level) if level and level.isdigit() else None,
            outline=int(outline) if outline and outline.isdigit() else None,
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
