"""The outline of a text: its symbols, and the lines where it may be cut, from a grammar or from the lines alone."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from knowledge_mcp.model.document import Span

_NAMED = {"c++": "cpp", "plain": "text", "shellscript": "bash"}
"""Names of languages that differ from those in their media types."""


def language_of(media_type: str) -> str:
    """Return the language of a media type: `python` for `text/x-python`, `text` for `text/plain`."""
    name = media_type.partition("/")[2].removeprefix("x-")
    return _NAMED.get(name, name)


@dataclass(frozen=True, slots=True)
class Rule:
    """Recognises a definition's first line: the kind that it defines, and the regular expression (group `name`)."""

    kind: str
    pattern: re.Pattern[str]


def _rules(*pairs: tuple[str, str]) -> tuple[Rule, ...]:
    return tuple(Rule(kind, re.compile(pattern)) for kind, pattern in pairs)


_NAME = r"(?P<name>[\w.$:]+)"
_C_LIKE = (
    ("class", rf"\s*(?:(?:public|private|abstract|final|sealed|open|data|base) )*(?:class|struct|trait) {_NAME}"),
    ("interface", rf"\s*(?:(?:public|private|abstract) )*(?:interface|protocol|mixin) {_NAME}"),
    ("enum", rf"\s*(?:(?:public|private) )*enum(?: class)? {_NAME}"),
    ("function", rf"\s*(?:(?:export|pub|public|private|static|async|def|fun|fn|func|function) )+{_NAME}\s*[(<]"),
    (
        "function",
        rf"(?!\s*(?:if|for|while|switch|return|else|catch)\b)\s*[\w<>\[\]?,*]+ [*]?{_NAME}\([^;]*\)[^;]*\{{\s*$",
    ),
)

RULES: Mapping[str, tuple[Rule, ...]] = {
    "toml": _rules(("table", r"\[+\s*(?P<name>[^\]]+?)\s*\]+")),
    "ini": _rules(("section", r"\[\s*(?P<name>[^\]]+?)\s*\]")),
    "yaml": _rules(("key", r"(?P<name>[\w./-]+|\"[^\"]+\"|'[^']+'):(?:\s|$)")),
    "json": _rules(("key", r"(?: {1,4}|\t)\"(?P<name>[^\"]+)\"\s*:")),
    "css": _rules(("rule", r"(?P<name>[^\s@/{}][^{};]*?)\s*\{\s*$"), ("rule", r"(?P<name>@[^{};]+?)\s*\{\s*$")),
    "sql": _rules(
        (
            "definition",
            r"(?i)\s*create\s+(?:or\s+replace\s+)?(?:temp(?:orary)?\s+|unique\s+|materialized\s+)*"
            r"(?:table|view|index|function|procedure|trigger|type|schema|sequence|database)\s+(?:if\s+not\s+exists\s+)?"
            r"(?P<name>[\w.\"`\[\]]+)",
        ),
        ("change", r"(?i)\s*alter\s+table\s+(?:only\s+)?(?P<name>[\w.\"`\[\]]+)"),
    ),
    "dockerfile": _rules(
        ("stage", r"(?i)from\s+\S+(?:\s+\S+)*?\s+as\s+(?P<name>\S+)"), ("stage", r"(?i)from\s+(?P<name>\S+)")
    ),
    "makefile": _rules(
        ("target", r"(?P<name>[\w./%$(){}-]+(?: [\w./%$(){}-]+)*)\s*::?(?!=)"),
        ("define", r"define\s+(?P<name>\S+)"),
    ),
    "cmake": _rules(
        ("function", r"(?i)\s*(?:function|macro)\s*\(\s*(?P<name>\w+)"),
        ("target", r"(?i)\s*add_(?:executable|library|custom_target)\s*\(\s*(?P<name>[\w${}:-]+)"),
    ),
    "elixir": _rules(
        ("module", rf"\s*(?:defmodule|defprotocol|defimpl) {_NAME}"),
        ("function", r"\s*(?:def|defp|defmacro|defmacrop|defguard) (?P<name>[\w?!]+)"),
    ),
    "erlang": _rules(("function", r"(?P<name>[a-z]\w*)\(.*\)\s*(?:when .*)?->")),
    "haskell": _rules(
        ("type", r"(?:data|newtype|type|class|instance) (?P<name>[^=]+?)(?: where| =|$)"),
        ("function", r"(?P<name>[a-z_][\w']*)\s*::"),
    ),
    "clojure": _rules(
        ("function", r"\((?:defn-?|defmacro|defmulti|defmethod|def|defprotocol|defrecord|ns)\s+(?P<name>[^\s\[\])(]+)")
    ),
    "perl": _rules(("package", r"package (?P<name>[\w:]+)"), ("function", r"\s*sub (?P<name>\w+)")),
    "r": _rules(("function", r"\s*(?P<name>[\w.]+)\s*(?:<-|=)\s*function\b")),
    "julia": _rules(
        ("module", r"\s*(?:baremodule|module) (?P<name>\w+)"),
        ("struct", r"\s*(?:mutable )?struct (?P<name>\w+)"),
        ("function", r"\s*(?:function|macro) (?P<name>[\w.!]+)"),
        ("function", r"(?P<name>[\w.!]+)\([^=]*\)\s*=[^=]"),
    ),
    "fsharp": _rules(
        ("module", r"\s*module (?:rec )?(?P<name>[\w.]+)"),
        ("type", r"\s*(?:type|and) (?P<name>\w+)"),
        ("function", r"\s*(?:let|member|static member|override)(?: rec| inline)? (?P<name>[\w.]+)"),
    ),
    "fortran": _rules(
        ("module", r"(?i)\s*(?:sub)?module\s+(?P<name>\w+)\s*$"),
        ("function", r"(?i)\s*(?!end)(?:[\w()*,= ]+\s)?(?:function|subroutine|program)\s+(?P<name>\w+)"),
    ),
    "powershell": _rules(("function", r"(?i)\s*(?:function|filter|class|enum) (?P<name>[\w:-]+)")),
    "vb": _rules(
        (
            "class",
            r"(?i)\s*(?:(?:public|private|friend|partial) )*(?:class|module|structure|interface|enum) (?P<name>\w+)",
        ),
        ("function", r"(?i)\s*(?:(?:public|private|friend|shared|overrides) )*(?:sub|function|property) (?P<name>\w+)"),
    ),
    "protobuf": _rules(
        ("message", r"\s*(?:message|enum|service|extend|oneof) (?P<name>[\w.]+)"), ("rpc", r"\s*rpc (?P<name>\w+)")
    ),
    "graphql": _rules(
        ("type", r"(?:extend )?(?:type|interface|enum|input|union|scalar|directive) (?P<name>@?\w+)"),
        ("operation", r"(?:query|mutation|subscription|fragment) (?P<name>\w+)"),
    ),
    "terraform": _rules(
        ("block", r"(?P<name>(?:resource|data|module|variable|output|provider)\s+\"[^\"]+\"(?:\s+\"[^\"]+\")?)"),
        ("block", r"(?P<name>locals|terraform)\s*\{"),
    ),
    "objective-c": _rules(
        ("class", r"@(?:interface|implementation|protocol) (?P<name>\w+)"),
        ("method", r"[-+]\s*\([^)]*\)\s*(?P<name>\w+)"),
        ("function", rf"(?!(?:if|for|while|switch|return|else)\b)[\w*]+ [\w* ]*{_NAME}\([^;]*\)\s*\{{?\s*$"),
    ),
    "zig": _rules(
        ("function", r"\s*(?:(?:pub|export|inline|extern) )*fn (?P<name>\w+)"),
        ("type", r"\s*(?:pub )?const (?P<name>\w+) = (?:packed |extern )?(?:struct|enum|union)"),
        ("test", r"\s*test \"(?P<name>[^\"]+)\""),
    ),
    "vue": _rules(("block", r"<(?P<name>template|script|style)\b")),
    "svelte": _rules(("block", r"<(?P<name>script|style)\b")),
    **{language: _rules(*_C_LIKE) for language in ("dart", "groovy")},
}
"""Rules by language, tried in order on each line."""

_SHORTENED = 400
_MOST_SYMBOLS = 20_000
_MOST_COMMENTS = 60
_MOST_LEVELS = 32
_UNTIL_NEXT = frozenset({"table", "section", "stage"})
"""Kinds that continue until the next of their kind, regardless of indentation."""
_CLOSERS = re.compile(r"\s*(?:[)\]}>]|end\b|END\b|</|else\b|elif\b|except\b|finally\b|catch\b|esac\b|fi\b|done\b|\.$)")
_MIDDLE = re.compile(r"\s*\}?\s*(?:else|elif|except|finally|catch)\b")
_COMMENT = re.compile(r"\s*(?:#|//|--|;|%|/\*|\*|'|!|\(\*)")
_ATX = re.compile(r" {0,3}(#{1,6})[ \t]+(.+?)[ \t]*#*[ \t]*$")
_SETEXT = re.compile(r" {0,3}(=+|-+)[ \t]*$")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_ITEM = re.compile(r"\s*(?:[-*+]|\d{1,4}[.)])\s")
_RST_RULE = re.compile(r"([=\-~^\"'`#*+.:_])\1{2,}\s*$")


@dataclass(frozen=True, slots=True)
class Symbol:
    """One definition or heading: its name, kind, span, signature, and the index of its parent."""

    name: str
    kind: str
    span: Span
    signature: Span
    parent: int | None


@dataclass(slots=True)
class Outline:
    """What is known of a text's structure.

    Attributes:
        structure: `symbols` from a grammar, `outline` from the form of the lines, `lines` if there is none.
        symbols: in order, parents before children.
        cuts: lines, from 0, before which the text may be cut with little harm, with their nesting depth.
        roles: lines of imports, comments and documentation; code is not listed.
    """

    structure: str
    symbols: list[Symbol] = field(default_factory=list[Symbol])
    cuts: dict[int, int] = field(default_factory=dict[int, int])
    roles: dict[int, str] = field(default_factory=dict[int, str])


def line_starts(text: str) -> list[int]:
    """List the start of each line, followed by the end of the text."""
    starts = [0]
    found = text.find("\n")
    while found >= 0:
        starts.append(found + 1)
        found = text.find("\n", found + 1)
    if starts[-1] < len(text):
        starts.append(len(text))
    return starts


def from_parse(found: Mapping[str, Any]) -> Outline:
    """Make the outline from what `parse.parse` yields."""
    outline = Outline("symbols")
    for name, kind, start, end, opens, closes, parent in found["symbols"]:
        holder = None if parent < 0 else int(parent)
        outline.symbols.append(Symbol(str(name), str(kind), Span(start, end), Span(opens, closes), holder))
    outline.cuts = {int(line): int(depth) for line, depth in found["cuts"]}
    for role, name in (("comment", "comments"), ("import", "imports")):
        for first, last in found[name]:
            outline.roles.update(dict.fromkeys(range(first, last + 1), role))
    for first, last, _ in found["docs"]:
        outline.roles.update(dict.fromkeys(range(first, last + 1), "doc"))
    return outline


# ---- by lines -------------------------------------------------------------------------------------------------------


def from_lines(text: str, language: str) -> Outline:
    """Make an outline from the form of the lines: their indentation, blank lines, and a language's rules."""
    if language == "text":
        return Outline("lines")
    starts = line_starts(text)
    lines = [text[start:stop].rstrip("\n")[:_SHORTENED] for start, stop in pairwise(starts)]
    indents = [_indent(line) for line in lines]
    outline = Outline("outline")
    blank = True
    for number, line in enumerate(lines):
        if indents[number] is None:
            blank = True
            continue
        if blank or not _CLOSERS.match(line):
            outline.cuts[number] = 2 * (indents[number] or 0) + (0 if blank else 1)
        blank = False
    _symbols(outline, lines, indents, starts, RULES.get(language, ()))
    return outline


def _indent(line: str) -> int | None:
    """Count a line's leading spaces, a tab as four; None for a blank line."""
    body = line.lstrip()
    return None if not body else len(line[: len(line) - len(body)].expandtabs(4))


@dataclass(slots=True)
class _Row:
    """One definition found by a rule, while the lines are read."""

    name: str
    kind: str
    first: int
    opens: int
    indent: int
    parent: int | None
    last: int


def _symbols(
    outline: Outline, lines: Sequence[str], indents: Sequence[int | None], starts: Sequence[int], rules: Sequence[Rule]
) -> None:
    rows: list[_Row] = []
    open_rows: list[int] = []  # rows that contain the current line
    for number, line in enumerate(lines):
        indent = indents[number]
        if indent is None:
            continue
        _close(rows, open_rows, line, number, indent)
        found = next(((rule.kind, match) for rule in rules if (match := rule.pattern.match(line))), None)
        if found is not None and len(rows) < _MOST_SYMBOLS and _may_open(open_rows, found[0]):
            kind, match = found
            while open_rows and (indent <= rows[open_rows[-1]].indent or rows[open_rows[-1]].kind in _UNTIL_NEXT):
                open_rows.pop()
            first = _documentation(lines, number)
            name, parent = match.group("name").strip(), open_rows[-1] if open_rows else None
            rows.append(_Row(name, kind, first, number, indent, parent, number))
            open_rows.append(len(rows) - 1)
            for glued in range(first + 1, number + 1):
                outline.cuts.pop(glued, None)
            outline.cuts[first] = 2 * indent
            outline.roles.update(dict.fromkeys(range(first, number), "doc"))
        for row in open_rows:
            rows[row].last = number
    for row in rows:
        stop = starts[row.last + 1]
        stop = min(stop, starts[row.last] + len(lines[row.last])) if len(lines[row.last]) < _SHORTENED else stop
        opens = starts[row.opens]
        heading = Span(opens, max(opens + 1, opens + len(lines[row.opens].rstrip(" \t{"))))
        outline.symbols.append(Symbol(row.name, row.kind, Span(starts[row.first], stop), heading, row.parent))


def _may_open(open_rows: Sequence[int], kind: str) -> bool:
    """Return whether a definition counts here: keys only at the top level, and nothing nested too deep."""
    return len(open_rows) < _MOST_LEVELS and not (open_rows and kind == "key")


def _close(rows: Sequence[_Row], open_rows: list[int], line: str, number: int, indent: int) -> None:
    """Close the definitions that do not contain this line; a closing line is the last of its definition."""
    while open_rows and indent <= rows[open_rows[-1]].indent:
        row = rows[open_rows[-1]]
        if row.kind in _UNTIL_NEXT:
            return
        if indent == row.indent and line.lstrip().startswith("{"):
            return
        if indent == row.indent and _CLOSERS.match(line):
            row.last = number
            if not _MIDDLE.match(line):
                open_rows.pop()
            return
        open_rows.pop()


def _documentation(lines: Sequence[str], number: int) -> int:
    """Return the first of the comment lines directly above a line."""
    first = number
    while first and number - first < _MOST_COMMENTS and _COMMENT.match(lines[first - 1]) and lines[first - 1].strip():
        first -= 1
    return first


# ---- markup ---------------------------------------------------------------------------------------------------------


def from_markup(text: str, language: str) -> Outline:
    """Make an outline of Markdown or reStructuredText source: headings, paragraphs, items, whole code blocks."""
    starts = line_starts(text)
    lines = [text[start:stop].rstrip("\n")[:_SHORTENED] for start, stop in pairwise(starts)]
    outline = Outline("outline")
    headings = _markdown(outline, lines) if language == "markdown" else _restructured(outline, lines)
    ends = _ends(headings, len(lines))
    path: list[int] = []
    for place, (first, last, level, name) in enumerate(headings):
        while path and headings[path[-1]][2] >= level:
            path.pop()
        below = ends[place] - 1
        while below > last and not lines[below].strip():
            below -= 1
        heading = Span(starts[first], starts[last] + len(lines[last]))
        stop = max(starts[below + 1] - (1 if text[starts[below + 1] - 1] == "\n" else 0), heading.end)
        outline.symbols.append(Symbol(name, "heading", Span(starts[first], stop), heading, path[-1] if path else None))
        path.append(place)
        outline.cuts[first] = 0
        for inside in range(first + 1, last + 1):
            outline.cuts.pop(inside, None)
    return outline


def _ends(headings: Sequence[tuple[int, int, int, str]], lines: int) -> list[int]:
    """List the line after each heading's section: the next heading of its level or above, else the text's end."""
    ends = [lines] * len(headings)
    waiting: list[int] = []
    for place, (first, _, level, _) in enumerate(headings):
        while waiting and headings[waiting[-1]][2] >= level:
            ends[waiting.pop()] = first
        waiting.append(place)
    return ends


def _markdown(outline: Outline, lines: Sequence[str]) -> list[tuple[int, int, int, str]]:
    headings: list[tuple[int, int, int, str]] = []
    fence = ""
    blank = True
    for number, line in enumerate(lines):
        mark = _FENCE.match(line)
        if fence:
            outline.cuts[number] = 9
            if mark and mark.group(1).startswith(fence) and not line.strip(" `~"):
                fence = ""
            continue
        if not line.strip():
            blank = True
            continue
        if mark:
            fence = mark.group(1)
        atx = _ATX.match(line)
        below = lines[number + 1] if number + 1 < len(lines) else ""
        if atx:
            headings.append((number, number, len(atx.group(1)), atx.group(2)))
        elif blank and not mark and _SETEXT.match(below) and not _ITEM.match(line) and not line.startswith("---"):
            headings.append((number, number + 1, 1 if "=" in below else 2, line.strip()))
        outline.cuts[number] = 1 if blank else 2 if _ITEM.match(line) else 5
        blank = False
    return headings


def _restructured(outline: Outline, lines: Sequence[str]) -> list[tuple[int, int, int, str]]:
    headings: list[tuple[int, int, int, str]] = []
    styles: list[str] = []
    blank = True
    for number, line in enumerate(lines):
        if not line.strip():
            blank = True
            continue
        rule = _RST_RULE.match(lines[number + 1]) if number + 1 < len(lines) else None
        above = number > 0 and _RST_RULE.match(lines[number - 1]) is not None
        title = line.strip()
        flush = line[0] not in " \t" and not _RST_RULE.match(line)
        if rule and flush and len(rule.group().strip()) >= len(title):
            style = rule.group(1) * (2 if above else 1)
            if style not in styles:
                styles.append(style)
            headings.append((number - 1 if above else number, number + 1, styles.index(style) + 1, title))
        outline.cuts[number] = (1 if blank else 2 if _ITEM.match(line) else 5) + (3 if line[0] in " \t" else 0)
        blank = False
    return headings
