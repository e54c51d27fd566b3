"""Questions that name their passage: clause numbers, requirement ids, symbols; and how exactly a chunk bears them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache

from knowledge_mcp.model.chunk import Chunk

__all__ = ["Asked", "Exactness", "Name", "asked_for", "best_exactness", "exactness"]

_MOST = 3
"""Names of one question that are looked up."""

_TOKEN = re.compile(r"[^\s,;!?\"'`´‘’“”<>{}|]+")
_MOST_EDGES = 20
"""Times that a word's edges are looked at: what is wrapped deeper is no name."""
_EDGES = ".:/-–—_*#§"
_CLAUSE = re.compile(r"(?:[A-Za-z]|\d{1,3})(?:\.\d{1,4})+[a-z]?")
_CODED = re.compile(r"(?=.*\d)(?=.*[A-Za-z])\w++(?:[-.:/‐‑]\w++|\(\w{1,4}\)(?:_\w++)?+)*+")
_SYMBOL = re.compile(r"[A-Za-z_$][\w$]*(?:(?:\.|::|#|->)[A-Za-z_$~][\w$]*)*(?:\(\))?")
_LOOKS_LIKE_CODE = re.compile(r"[a-z0-9][A-Z]|\w_\w|^_\w|::|->|\w\.[a-z]\w*\(|#\w|\(\)$")
_SPACED = re.compile(r"\b([A-Z]{2,10})[ ](\d{1,5}(?:[.-]\d{1,4})*)\b")
_SHOUTS = re.compile(r"[A-Z]|[-_:/‐‑(]")
_PARTS = re.compile(r"[^\W\d_]+|\d+(?:\.\d+)*")
_SEPARATORS = re.compile(r"::|\\\.|\\#|\\->")
_ANY_SEPARATOR = r"(?:\\.|::|\\#|->)"
_JOINT = r"[\s\-_.:/‐‑(]?"

_CUES = frozenset(
    "a about annex appendix article chapter clause control def define defined defines definition describe described "
    "details do does explain find for func function get give id identifier in is item lookup method me no number of "
    "on open paragraph para please point read req requirement require requires rule say says section show sec state "
    "states sub subclause subsection symbol table tell text that the what where which".split()
)
"""Words that may stand beside a name without asking for anything else."""

_PLACES = frozenset(
    "annex appendix article chapter clause para paragraph rule sec section subclause subsection §".split()
)
"""Words after which a number is a clause's."""


class Exactness(IntEnum):
    """Tell how a chunk bears a name, from not at all to as its own."""

    ABSENT = 0
    BESIDE = 1
    """In what stands above the chunk only."""
    MENTIONED = 2
    OPENING = 3
    """Its text begins with it."""
    TITLE = 4
    """Its heading or its document bears it."""
    OWN = 5
    """It is the chunk's clause number, or that of a statement or a definition in it."""


@dataclass(frozen=True, slots=True)
class Name:
    """Hold what a question asks for by its own name.

    Attributes:
        text: as asked, without what stands around it.
        key: folded for comparison.
        is_clause: it has the form of a clause number.
    """

    text: str
    key: str
    is_clause: bool

    @property
    def pattern(self) -> re.Pattern[str]:
        """Find it whole in a text, however its parts are joined; never inside a longer name."""
        return _pattern(self.key)


@dataclass(frozen=True, slots=True)
class Asked:
    """Hold the names in one question.

    Attributes:
        names: in order, each once.
        alone: nothing else is asked.
    """

    names: tuple[Name, ...]
    alone: bool


@lru_cache(maxsize=256)
def asked_for(question: str) -> Asked:
    """List the names in a question; among other words a bare number counts only after a word such as "clause"."""
    found: dict[str, Name] = {}
    rest: list[str] = []
    doubtful: list[str] = []
    before = ""
    for match in reversed(list(_SPACED.finditer(question))):
        if match.group(1).casefold() not in _CUES:
            question = f"{question[: match.start()]} {question[match.end() :]}"
            _add(found, match.group())
    for match in _TOKEN.finditer(question):
        token = _bare(match.group())
        word = token.casefold()
        if _CLAUSE.fullmatch(token) or (token.isdecimal() and before in _PLACES):
            if before in _PLACES or match.group().startswith("§"):
                _add(found, token)
            else:
                doubtful.append(token)
        elif _is_coded(token) or _is_symbol(token):
            _add(found, token)
        elif word and word not in _CUES:
            rest.append(word)
        before = word or match.group()
    if not rest:
        for token in doubtful:
            _add(found, token)
    return Asked(tuple(found.values())[:_MOST], alone=bool(found) and not rest)


def exactness(chunk: Chunk, name: Name, least: Exactness = Exactness.ABSENT) -> Exactness:
    """Tell how exactly a chunk bears a name; what is less than `least` may be told as ABSENT, for texts are long."""
    if chunk.clause_number is not None and chunk.clause_number.casefold().rstrip(".") == name.key:
        return Exactness.OWN
    if any(each.identifier is not None and _same(name, each.identifier) for each in chunk.statements):
        return Exactness.OWN
    terms = (term for each in chunk.definitions for term in (each.term, *each.aliases))
    if not name.is_clause and any(_same(name, term) for term in terms):
        return Exactness.OWN
    if least is Exactness.OWN:
        return Exactness.ABSENT
    titles = (chunk.section_title, chunk.document_title, *chunk.section_hierarchy[-1:])
    if any(_opens(name, title) for title in titles):
        return Exactness.TITLE
    return _said(chunk, name) if least < Exactness.TITLE else Exactness.ABSENT


def _said(chunk: Chunk, name: Name) -> Exactness:
    """Tell how a chunk's text bears a name."""
    if _opens(name, chunk.content):
        return Exactness.OPENING
    if name.pattern.search(chunk.content):
        return Exactness.MENTIONED
    return Exactness.BESIDE if name.pattern.search(chunk.context) else Exactness.ABSENT


def best_exactness(chunk: Chunk, names: Sequence[Name], least: Exactness = Exactness.ABSENT) -> Exactness:
    """Tell how exactly a chunk bears the one of several names that it bears best, as `exactness` does."""
    return max((exactness(chunk, each, least) for each in names), default=Exactness.ABSENT)


def _add(found: dict[str, Name], token: str) -> None:
    key = token.casefold().removesuffix("()")
    if key not in found:
        found[key] = Name(token, key, _CLAUSE.fullmatch(token) is not None or token.isdecimal())


def _bare(token: str) -> str:
    """Take off what is not the name's own: dots at the end, brackets without their partners."""
    for _ in range(_MOST_EDGES):
        stripped = token.rstrip(_EDGES) if token.startswith("_") else token.strip(_EDGES)
        surplus = stripped.count(")") - stripped.count("(")
        if surplus > 0 and stripped.endswith(")"):
            closing = len(stripped) - len(stripped.rstrip(")"))
            stripped = stripped[: -min(surplus, closing)]
        if stripped[:1] in {"(", "["} or stripped[-1:] in {"(", "[", "]"}:
            stripped = stripped.strip("([]")
        if stripped == token:
            break
        token = stripped
    return token


def _is_coded(token: str) -> bool:
    return _CODED.fullmatch(token) is not None and _SHOUTS.search(token) is not None


def _is_symbol(token: str) -> bool:
    return _SYMBOL.fullmatch(token) is not None and _LOOKS_LIKE_CODE.search(token) is not None


@lru_cache(maxsize=256)
def _pattern(key: str) -> re.Pattern[str]:
    """Match the parts of a name whatever joins them, but dots where dots join numbers; `FR01` is `FR 1` too."""
    parts = _PARTS.findall(key)
    if len(parts) < 2 or key.startswith(("_", "$")) or not any(part[0].isdecimal() for part in parts):
        return re.compile(rf"(?<!\w){_SEPARATORS.sub(_ANY_SEPARATOR, re.escape(key))}(?!\w)", re.IGNORECASE)
    joined = _JOINT.join(_part(part, first=not place) for place, part in enumerate(parts))
    return re.compile(rf"(?<![\w.\-]){joined}\)?(?![\w(]|[.\-:]\w)", re.IGNORECASE)


def _part(part: str, *, first: bool) -> str:
    """Match a part; zeros before a number count for nothing, and none of them is tried twice."""
    if first or not (part.isdecimal() and part.isascii()):
        return re.escape(part)
    return f"0*+{part.lstrip('0')}" if part.strip("0") else "0++"


def _same(name: Name, other: str) -> bool:
    folded = other.casefold().removesuffix("()")
    if folded == name.key:
        return True
    return folded[:1] == name.key[:1] and name.pattern.fullmatch(other) is not None


def _opens(name: Name, text: str) -> bool:
    return name.pattern.match(text.lstrip(" \t\n*_#§([\"'")) is not None
