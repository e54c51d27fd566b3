"""The plain-text sources of the example documents: read, numbered, and their cross-references resolved.

The notation, one construct between blank lines: `# Title {#anchor}` to `####` for numbered clauses, `#! Title` for
unnumbered ones, `#A (normative) Title` for annexes, `- ` and `a) ` and `1) ` lists, `Table: Caption {#anchor}` followed
by `| a | b |` rows, `Figure: Caption {#anchor} | A > B > C` for a chain of boxes, and `[[anchor]]` for a reference.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

_ANCHOR = re.compile(r"\s*\{#(?P<anchor>[\w-]+)\}")
_HEADING = re.compile(r"(?P<marks>#{1,4})(?P<form>[!A]?) (?P<title>.+)")
_REFERENCE = re.compile(r"\[\[([\w-]+)\]\]")
_LIST_LABEL = re.compile(r"(?:-|[a-z]\)|\d\)) ")
_SPOKEN = re.compile(r"(?P<label>NOTE|EXAMPLE|WARNING) ")


class ItemKind(StrEnum):
    """Kinds of what stands in a source."""

    HEADING = "heading"
    FRONT = "front"
    ANNEX = "annex"
    PARAGRAPH = "paragraph"
    NOTE = "note"
    EXAMPLE = "example"
    LIST = "list"
    TABLE = "table"
    FIGURE = "figure"


@dataclass(slots=True)
class Item:
    """Hold one construct.

    Attributes:
        kind: what it is.
        text: title, caption or words, with references still as `[[anchor]]`.
        level: a heading's level from 1.
        number: "6.2.1", "A", "Table 2" ... as printed, empty where there is none.
        anchor: its name for references, empty without one.
        rows: cells of a table, header first; the boxes of a figure in its only row.
        entries: a list's items as (label, text); the label of a bullet is "-".
    """

    kind: ItemKind
    text: str
    level: int = 0
    number: str = ""
    anchor: str = ""
    rows: list[list[str]] = field(default_factory=list[list[str]])
    entries: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])


@dataclass(slots=True)
class SourceText:
    """Hold all items of a source, and what each anchor's reference prints."""

    items: list[Item]
    printed: dict[str, str]

    def resolve(self, text: str) -> str:
        """Write the references in a text as they are printed."""
        return _REFERENCE.sub(lambda match: self.printed[match.group(1)], text)


class _Counters:
    def __init__(self) -> None:
        self._clauses = [0, 0, 0, 0]
        self._annexes = 0
        self._in_annex = False
        self._named = {"Table": 0, "Figure": 0}

    def heading(self, level: int) -> str:
        if level == 1:
            self._in_annex = False
        self._clauses[level - 1] += 1
        self._clauses[level:] = [0] * (4 - level)
        first = chr(ord("A") + self._annexes - 1) if self._in_annex else str(self._clauses[0])
        return ".".join([first, *(str(count) for count in self._clauses[1:level])])

    def annex(self) -> str:
        self._in_annex = True
        self._annexes += 1
        self._clauses[1:] = [0, 0, 0]
        return chr(ord("A") + self._annexes - 1)

    def named(self, word: str) -> str:
        self._named[word] += 1
        return f"{word} {self._named[word]}"


def read_source_text(path: Path) -> SourceText:
    """Read a source file; raises KeyError for a reference to an anchor that is not there."""
    counters = _Counters()
    items = [_item(part, counters) for part in path.read_text("utf-8").split("\n\n") if part.strip()]
    printed: dict[str, str] = {}
    for item in items:
        if item.anchor:
            printed[item.anchor] = f"Annex {item.number}" if item.kind is ItemKind.ANNEX else item.number
    source = SourceText(items, printed)
    for item in items:
        for text in [item.text, *(t for _, t in item.entries), *(c for row in item.rows for c in row)]:
            source.resolve(text)
    return source


def split_references(text: str) -> list[tuple[str, str]]:
    """Cut a text at its references: pairs of words and the anchor after them ("" at the end)."""
    pieces = _REFERENCE.split(text)
    return list(zip(pieces[::2], [*pieces[1::2], ""], strict=True))


def _item(part: str, counters: _Counters) -> Item:
    first, _, rest = part.strip("\n").partition("\n")
    heading = _HEADING.fullmatch(first)
    if heading:
        return _heading(heading, counters)
    if first.startswith(("Table: ", "Figure: ")):
        return _captioned(first, rest, counters)
    if _LIST_LABEL.match(first):
        lines = [line.split(" ", 1) for line in part.strip("\n").split("\n")]
        return Item(ItemKind.LIST, "", entries=[(label, text) for label, text in lines])
    spoken = _SPOKEN.match(first)
    if spoken:
        kind = ItemKind.EXAMPLE if spoken.group("label") == "EXAMPLE" else ItemKind.NOTE
        return Item(kind, part.replace("\n", " "))
    return Item(ItemKind.PARAGRAPH, part.replace("\n", " "))


def _heading(match: re.Match[str], counters: _Counters) -> Item:
    title, anchor = _take_anchor(match.group("title"))
    level = len(match.group("marks"))
    if match.group("form") == "!":
        return Item(ItemKind.FRONT, title, 1, "", anchor)
    if match.group("form") == "A":
        return Item(ItemKind.ANNEX, title, 1, counters.annex(), anchor)
    return Item(ItemKind.HEADING, title, level, counters.heading(level), anchor)


def _captioned(first: str, rest: str, counters: _Counters) -> Item:
    word, _, caption = first.partition(": ")
    caption, _, chain = caption.partition(" | ")
    text, anchor = _take_anchor(caption)
    if word == "Figure":
        boxes = [[box.strip() for box in chain.split(">")]]
        return Item(ItemKind.FIGURE, text, number=counters.named(word), anchor=anchor, rows=boxes)
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in rest.split("\n")]
    return Item(ItemKind.TABLE, text, number=counters.named(word), anchor=anchor, rows=rows)


def _take_anchor(text: str) -> tuple[str, str]:
    match = _ANCHOR.search(text)
    return (text[: match.start()], match.group("anchor")) if match else (text, "")
