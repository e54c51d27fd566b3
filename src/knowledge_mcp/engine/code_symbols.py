"""What a question about code looks like: names of symbols in it, and how much its words count beside its meaning."""

from __future__ import annotations

import re

from knowledge_mcp.model.chunk import Chunk

__all__ = [
    "MOST_PLACES",
    "WORTH_OF_PROSE",
    "asks_for_symbol",
    "defines",
    "is_name",
    "is_report",
    "names_in",
    "stands_in",
    "words_worth",
]

_NAME = re.compile(r"[A-Za-z_$][\w$]*(?:(?:::|\.|#|->)[A-Za-z_$~][\w$]*)*(?:\(\))?")
_LOOKS_LIKE_CODE = re.compile(r"[a-z0-9][A-Z]|[A-Z][a-z]+[A-Z]|\w_\w|^_\w|::|->|\w\.\w|#\w|\(\)$|^[A-Z][A-Z0-9_]{2,}$")
_SEPARATORS = re.compile(r"::|->|#")
_PATH = re.compile(
    r"(?<![\w.-])[\w.-]++/[\w./-]"
    r"|(?<![\w-])-*+\w[\w-]*+\.(?:py|js|ts|tsx|go|rs|java|c|h|cpp|cs|rb|md|json|ya?ml|toml)\b"
)
_QUOTED = re.compile(r"[\"'`][^\"'`]{3,}[\"'`]")
_CUED = re.compile(
    r"(?:where (?:is|are)|find|show(?: me)?|go to|open)\s+(?:the\s+)?(?:(?:function|method|class|type|struct)\s+)?"
    r"[`'\"]?(?P<name>[A-Za-z_$][\w$.:]*)[`'\"]?(?:\(\))?\s+(?:defined|declared|implemented)\s*\??"
    r"|(?:function|method|class|type|struct|interface|trait|enum|def|fn|func)\s+"
    r"[`'\"]?(?P<kind_name>[A-Za-z_$][\w$.:]*)[`'\"]?(?:\(\))?",
    re.IGNORECASE,
)
"""A question that asks for nothing but a symbol."""

_CALLED = re.compile(r"([A-Za-z_$][\w$]{0,99}+(?:\.[A-Za-z_$][\w$]{0,99}+){0,9}+)\(")
_TICKED = re.compile(r"`{1,2}([A-Za-z_$][\w$.]*)(?:\(\))?`{1,2}")
_FRAME = re.compile(r"\bline \d+, in ([A-Za-z_]\w*)")
"""A line of a traceback."""

_MOST_NAMES = 5
_MOST_NAMES_OF_A_REPORT = 12

MOST_PLACES = 3
"""A name that a report only mentions says where to look if it is defined in so many places at most."""

WORTH_OF_NAMES = 4.5
WORTH_OF_MIXED = 3.0
WORTH_OF_PROSE = 1.0
"""What all words of a question are worth beside a cosine, by what it looks like (`benchmarks/ablation.py`)."""


def is_name(text: str) -> bool:
    """Tell whether a whole question is one symbol's name."""
    return _NAME.fullmatch(text.strip()) is not None


def asks_for_symbol(text: str) -> bool:
    """Tell whether nothing but a symbol is asked for: by its name, or by "where is … defined" and the like."""
    return is_name(text) or _CUED.fullmatch(text.strip()) is not None


def is_report(text: str) -> bool:
    """Tell whether a question has several lines, as reports of faults have, with code, output and tracebacks."""
    return "\n" in text.strip()


def names_in(text: str) -> list[str]:
    """List what looks like a symbol's name: the whole question where it is one name, else the parts that show it.

    Of a report also what is called, what stands between backticks, and the functions of its traceback.
    """
    stripped = text.strip()
    if is_name(stripped):
        return [_plain(stripped)]
    if cued := _CUED.fullmatch(stripped):
        return [_plain(cued.group("name") or cued.group("kind_name"))]
    found = _looking_like_code(text)
    if not is_report(text):
        return found
    told = (match.group(1) for pattern in (_TICKED, _CALLED, _FRAME) for match in pattern.finditer(text))
    return list(dict.fromkeys((*found, *map(_plain, told))))[:_MOST_NAMES_OF_A_REPORT]


def _looking_like_code(text: str) -> list[str]:
    found = (_plain(match.group()) for match in _NAME.finditer(text) if _LOOKS_LIKE_CODE.search(match.group()))
    return list(dict.fromkeys(found))[:_MOST_NAMES]


def words_worth(text: str) -> float:
    """Say how much the words of a question count: much for names, paths and quotations, little for plain prose."""
    if asks_for_symbol(text):
        return WORTH_OF_NAMES
    if _looking_like_code(text) or _PATH.search(text) or _QUOTED.search(text):
        return WORTH_OF_MIXED
    return WORTH_OF_PROSE


def defines(chunk: Chunk, name: str) -> bool:
    """Tell whether a symbol of exactly this name, plain or qualified, begins in a chunk."""
    wanted = _plain(name)
    for each in chunk.definitions:
        for known in (each.term, *each.aliases):
            dotted = _SEPARATORS.sub(".", known)
            if dotted == wanted or dotted.endswith(f".{wanted}"):
                return True
    return False


def stands_in(chunk: Chunk, name: str) -> bool:
    """Tell whether a chunk defines the symbol, or lies inside it."""
    if defines(chunk, name):
        return True
    wanted = _plain(name)
    path = ".".join(_SEPARATORS.sub(".", each) for each in chunk.section_hierarchy)
    return f".{path}.".find(f".{wanted}.") >= 0


def _plain(name: str) -> str:
    return _SEPARATORS.sub(".", name.strip().removesuffix("()"))
