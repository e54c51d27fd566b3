"""Requirements as other tools write them: items with attributes, places in a hierarchy, and links they declare."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class DeclaredLink:
    """Tell that an item names another: its id, and what the link is called there ("Parent", "implements")."""

    target: str
    kind: str = ""


@dataclass(frozen=True, slots=True)
class RequirementItem:
    """Hold one item of a requirements file.

    Attributes:
        id: as its tool refers to it: a UID, or the identifier of the ReqIF object.
        title: its heading; may be empty.
        text: what it states, as plain text; may be empty for a heading.
        level: its place among the others, as written ("1.10"), else counted; empty where there is none.
        kind: what its tool calls it: the type of the object, the directive, the tag.
        attributes: everything that its file says of it, by name, in order: title, text, and what is unknown to us.
        links: to other items, here or elsewhere.
        line: where it begins; 0 where lines mean nothing.
    """

    id: str
    title: str
    text: str
    level: str = ""
    kind: str = ""
    attributes: Mapping[str, str] = field(default_factory=dict[str, str])
    links: tuple[DeclaredLink, ...] = ()
    line: int = 0


@dataclass(frozen=True, slots=True)
class RequirementSet:
    """Hold the items of one file in its order."""

    title: str
    items: tuple[RequirementItem, ...]
