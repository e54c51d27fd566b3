"""Syntax that CommonMark does not have, and reads as text or code: boxes, attributes, changes and comments.

Boxes of documentation sites are notes, warnings, tabs, details. They are indented by four under `!!! note "Title"`,
`??? note` or `=== "Tab"` (MkDocs); between lines of colons, `:::tip Title`, `:::tip[Title]`,
`::: {.callout-tip title="Title"}` (Docusaurus, VuePress, Quarto); in a fence that names one, ```` ```{note} Title ````
(MyST). The content of a box is read as Markdown; otherwise it would be code, or contain the marks as words.

Lines of kramdown that are not text are attributes of a block (`{: #a title="Limits"}`), and parts of an IETF draft. A
title is text: it is a paragraph below its block.

Changes and comments are written as `{--24 V--}{++28 V++}{>>why?<<}` (CriticMarkup); `{~~24 V~>28 V~~}` would be words
that are all struck out. They are rewritten as HTML: deletions become struck-out text, insertions text, and comments
HTML comments.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from knowledge_mcp.language.openings import ADMONITIONS

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.rules_core import StateCore
    from markdown_it.token import Token

_INDENT = 4
_INDENTED = re.compile(
    r"(?:!!!|\?\?\?\+?)[ \t]+(?P<kind>[A-Za-z][\w-]*+)[\w \t-]*+(?:\"(?P<title>[^\"]*+)\"[ \t]*)?"
    r"|===[!+]?[ \t]+\"(?P<tab>[^\"]+)\"[ \t]*"
)
_COLONS = re.compile(
    r":{3,}[ \t]*(?:\{(?P<attributes>[^{}]*)\}|(?P<kind>[A-Za-z][\w-]*)(?:\[(?P<inside>[^\]]*)\])?(?:\{[^{}]*\})?)"
    r"(?:[ \t]+(?P<title>[^:\s].*|))?"
)
_CLOSING = re.compile(r":{3,}[ \t]*")
_FENCED = re.compile(r"(?P<marks>`{3,}|~{3,})\{(?P<kind>[A-Za-z][\w-]*)\}[ \t]*(?P<title>.*)")
_FENCE = re.compile(r"[ \t]*(?P<marks>`{3,}|~{3,}).*")
_OPTION = re.compile(r"[ \t]*:[\w-]+:(?:[ \t].*)?")
_CLASS = re.compile(r"\.(?:callout-)?([A-Za-z][\w-]*)")
_TITLE = re.compile(r"\btitle=(?:\"([^\"]*)\"|'([^']*)')")
_LABELS = {**ADMONITIONS, "example": "Example", "info": "Note"}
_NAMED = frozenset({"admonition", "details", "dropdown"})
"""Boxes without a label of their own, besides `_LABELS`."""
_DRAWN = frozenset({"graphviz", "mermaid", "plantuml"})
"""Content between colons that is not Markdown."""
_ATTRIBUTES = re.compile(r"\{:(?!:)(?P<inside>[^{}]{0,1000})\}\s*|--- (?:abstract|middle|back)\s*")
_TITLE_BELOW = re.compile(r"\btitle=\"(?P<words>[^\"]{1,500})\"")
_REVISED = (
    (re.compile(r"\{--([^{}]{1,2000}?)--\}"), r"<del>\1</del>"),
    (re.compile(r"\{~~((?:[^{}~]|~(?!>)){1,2000})~>([^{}]{0,2000}?)~~\}"), r"<del>\1</del>\2"),
    (re.compile(r"\{\+\+([^{}]{1,2000}?)\+\+\}"), r"\1"),
    (re.compile(r"\{==([^{}]{1,2000}?)==\}"), r"\1"),
    (re.compile(r"\{>>([^{}]{0,2000}?)<<\}"), r"<!--\1-->"),
)
_OPENINGS = ("{--", "{~~", "{++", "{==", "{>>")


@dataclass(frozen=True, slots=True)
class _Box:
    """What an opening line specifies: the label shown for the box, and its title; empty if there is none."""

    label: str
    title: str


def read_more(parser: MarkdownIt) -> None:
    """Make a parser read this syntax; boxes and attributes end a paragraph, a list and a table.

    Tokens `box_open`, with the label in `info`, and `box_close` enclose the blocks of each box.
    """
    interrupts = ["paragraph", "reference", "blockquote", "list"]
    for before, name, rule in (
        ("code", "box_indented", _indented),
        ("fence", "box_of_colons", _between_colons),
        ("fence", "box_in_a_fence", _in_a_fence),
        ("fence", "attributes", _attributes),
    ):
        parser.block.ruler.before(before, name, rule, {"alt": interrupts})
    parser.core.ruler.before("inline", "revised", _revised)


def _line(state: StateBlock, line: int) -> str:
    return state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]]


def _box(kind: str, title: str) -> _Box:
    kind = kind.lower()
    label = "" if kind in _NAMED else _LABELS.get(kind, kind.capitalize())
    return _Box(label, title.strip())


def _indented(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    if state.is_code_block(start) or (found := _INDENTED.fullmatch(_line(state, start))) is None:
        return False
    inside = state.sCount[start] + _INDENT
    last = start
    for line in range(start + 1, end):
        if state.isEmpty(line):
            continue
        if state.sCount[line] < inside:
            break
        last = line
    if last == start:
        return False
    if not silent:
        box = _Box("", found["tab"]) if found["tab"] else _box(found["kind"], found["title"] or "")
        _put(state, box, (start, start + 1, last + 1, last + 1), indent=inside)
    return True


def _between_colons(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    words = _line(state, start)
    if not words.startswith(":::") or state.is_code_block(start):
        return False
    found, close = _COLONS.fullmatch(words.rstrip()), _closings(state).get(start, end)
    if found is None or close >= end or (found["kind"] or "").lower() in _DRAWN:
        return False
    if not silent:
        _put(state, _of_colons(found), (start, start + 1, close, close + 1))
    return True


def _of_colons(found: re.Match[str]) -> _Box:
    title = found["inside"] or found["title"] or ""
    if found["kind"]:
        return _box(found["kind"], title)
    attributes = found["attributes"]
    if re.fullmatch(r"[A-Za-z][\w-]*", attributes):  # MyST
        return _box(attributes, title)
    kind = next((each for each in _CLASS.findall(attributes) if each.lower() in _LABELS), "details")
    given = _TITLE.search(attributes)
    return _box(kind, (given[1] or given[2] or "") if given else title)


def _closings(state: StateBlock) -> dict[int, int]:
    """Return the closing line of each line that opens a box by colons; computed once per text."""
    known = cast("dict[int, int] | None", state.env.get("boxes"))
    if known is not None:
        return known
    closings: dict[int, int] = {}
    open_lines: list[int] = []
    fence = ""
    for number, words in enumerate(state.src.split("\n") if ":::" in state.src else ()):
        mark = _FENCE.fullmatch(words)
        if fence:
            fence = "" if _closes(words.lstrip(" \t"), fence) else fence
        elif mark and _FENCED.match(words.strip()) is None:
            fence = mark["marks"]
        elif _CLOSING.fullmatch(words.strip()):
            if open_lines:
                closings[open_lines.pop()] = number
        elif _COLONS.fullmatch(words.strip()):
            open_lines.append(number)
    state.env["boxes"] = closings
    return closings


def _in_a_fence(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    found = None if state.is_code_block(start) else _FENCED.fullmatch(_line(state, start))
    if found is None or not (found["kind"].lower() in _LABELS or found["kind"].lower() in _NAMED):
        return False
    if silent:
        return True
    close = next((line for line in range(start + 1, end) if _closes(_line(state, line), found["marks"])), end)
    first = start + 1
    while first < close and _OPTION.fullmatch(_line(state, first)):
        first += 1
    _put(state, _box(found["kind"], found["title"]), (start, first, close, min(close + 1, end)))
    return True


def _closes(words: str, marks: str) -> bool:
    return words.startswith(marks) and not words.strip(marks[0]).strip()


def _put(state: StateBlock, box: _Box, lines: Sequence[int], *, indent: int | None = None) -> None:
    """Write a box's tokens; `lines` are its first line, first and end line of its content, and the line after it."""
    start, first, last, after = lines
    opening = state.push("box_open", "div", 1)
    opening.info, opening.map = box.label, [start, last]
    if box.title:
        _push_paragraph(state, f"{box.label}: {box.title}" if box.label else box.title, start)
    place = len(state.tokens)
    before = (state.lineMax, state.blkIndent, state.parentType)
    state.lineMax, state.parentType = last, "box"
    state.blkIndent = state.blkIndent if indent is None else indent
    state.md.block.tokenize(state, first, last)
    state.lineMax, state.blkIndent, state.parentType = before
    if box.label and not box.title:
        _label(state.tokens[place:], box.label)
    state.push("box_close", "div", -1)
    state.line = after


def _push_paragraph(state: StateBlock, words: str, line: int) -> None:
    state.push("paragraph_open", "p", 1).map = [line, line + 1]
    inline = state.push("inline", "", 0)
    inline.content, inline.map, inline.children = words, [line, line + 1], []
    state.push("paragraph_close", "p", -1)


def _label(tokens: Sequence[Token], label: str) -> None:
    """Put the label, which is shown above the box, before its first paragraph."""
    if len(tokens) > 1 and tokens[0].type == "paragraph_open":
        tokens[1].content = f"{label}: {tokens[1].content}"


def _attributes(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    del end
    found = _ATTRIBUTES.fullmatch(_line(state, start))
    if found is None or state.is_code_block(start):
        return False
    if silent:
        return True
    state.line = start + 1
    if (title := _TITLE_BELOW.search(found["inside"] or "")) is not None:
        _push_paragraph(state, title["words"], start)
    return True


def _revised(state: StateCore) -> None:
    for token in state.tokens:
        # if the words contain code, the marks may be part of it
        if token.type == "inline" and any(mark in token.content for mark in _OPENINGS) and "`" not in token.content:
            for pattern, written in _REVISED:
                token.content = pattern.sub(written, token.content)
