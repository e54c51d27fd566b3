"""Paths as text that can be stored, shown and compared, whatever bytes the file system holds."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["path_text", "printable_path"]

_UNSAFE = frozenset(
    [*map(chr, range(0x20)), *map(chr, range(0x7F, 0xA0)), *"\\\u2028\u2029\u200e\u200f\u061c"]
    + [chr(code) for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))]
)


def path_text(path: Path | str) -> str:
    r"""Write a path as text that can be stored and shown; bytes that are no UTF-8 become `\xff`, and stay distinct."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def printable_path(path: str | os.PathLike[str]) -> str:
    r"""Write a path as text that can be stored and printed: what is no UTF-8, or would move the cursor, is escaped."""
    return "".join(_escaped(character) for character in os.fspath(path))


def _escaped(character: str) -> str:
    if "\udc80" <= character <= "\udcff":
        return f"\\x{ord(character) - 0xDC00:02x}"
    return character.encode("unicode_escape").decode("ascii") if character in _UNSAFE else character
