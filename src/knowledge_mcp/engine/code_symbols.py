"""What a question about code looks like: names of symbols in it, and how much its words count beside its meaning."""

from __future__ import annotations

import re

from knowledge_mcp.model.chunk import Chunk

__all__ = ["defines", "is_name", "lexical_share", "names_in", "stands_in"]

_NAME = re.compile(r"[A-Za-z_$][\w$]*(?:(?:::|\.|#|->)[A-Za-z_$~][\w$]*)*(?:\(\))?")
_LOOKS_LIKE_CODE = re.compile(r"[a-z0-9][A-Z]|[A-Z][a-z]+[A-Z]|\w_\w|^_\w|::|->|\w\.\w|#\w|\(\)$|^[A-Z][A-Z0-9_]{2,}$")
_SEPARATORS = re.compile(r"::|->|#")
_PATH = re.compile(r"[\w.-]+/[\w./-]+|\b[\w-]+\.(?:py|js|ts|tsx|go|rs|java|c|h|cpp|cs|rb|md|json|ya?ml|toml)\b")
_QUOTED = re.compile(r"[\"'`][^\"'`]{3,}[\"'`]")
_MOST_NAMES = 5

SHARE_OF_NAMES = 0.95
SHARE_OF_MIXED = 0.9
SHARE_OF_WORDS = 0.3
"""How far words may raise a hit's similarity towards 1, by what the question looks like."""


def is_name(text: str) -> bool:
    """Tell whether a whole question is one symbol's name."""
    return _NAME.fullmatch(text.strip()) is not None


def names_in(text: str) -> list[str]:
    """List what looks like a symbol's name: the whole question where it is one name, else the parts that show it."""
    stripped = text.strip()
    if is_name(stripped):
        return [_plain(stripped)]
    found = (_plain(match.group()) for match in _NAME.finditer(text) if _LOOKS_LIKE_CODE.search(match.group()))
    return list(dict.fromkeys(found))[:_MOST_NAMES]


def lexical_share(text: str) -> float:
    """Say how much the words of a question count, 0..1: most for names, some for paths and quotations, else little."""
    if is_name(text):
        return SHARE_OF_NAMES
    if names_in(text) or _PATH.search(text) or _QUOTED.search(text):
        return SHARE_OF_MIXED
    return SHARE_OF_WORDS


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
