"""In the child: the lines of the file on which the blocks of a page stand, counted along the walk over its tree."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from knowledge_mcp.readers.shared.containers import Element

LineOf: TypeAlias = "Callable[[Element], int | None]"
"""Tells the line of a file, from 1, on which an element begins: 0 for where the text before ends, None for unknown."""
_MOST_LINES = 65_535
"""The parser counts no further."""


def no_line(_: Element) -> None:
    """Know no line of any element."""
    return


def source_line(element: Element) -> int | None:
    """Tell the line of its page on which an element begins."""
    line = element.sourceline
    return line if line is not None and line < _MOST_LINES else None


class Lines:
    """Count the lines of the file along the walk; an element whose line is known sets the count."""

    def __init__(self, line_of: LineOf) -> None:
        self._line_of = line_of
        self._here: int | None = None
        self._first: int | None = None
        self._last: int | None = None

    def begin(self, element: Element) -> None:
        """Come to an element's beginning."""
        line = self._line_of(element)
        self._here = self._here if line == 0 else line

    def pass_over(self, text: str, *, is_shown: bool) -> None:
        """Go to a text's end; the open block holds its words where they are shown."""
        if self._here is None:
            return
        if is_shown and not text.isspace():
            words = text.strip()
            start = self._here + text.count("\n", 0, text.index(words[0]))
            self._first = self._first or start
            self._last = start + words.count("\n")
        self._here += text.count("\n")

    def open(self) -> None:
        """Have the open block begin here."""
        self._first = self._last = self._here

    def reach_up(self, lines: Iterator[int]) -> None:
        """Have the open block begin with the first of these, where there are any."""
        self._first = min(lines, default=self._first)

    def take(self) -> tuple[int, int] | None:
        """Give the lines of the open block, None where they are not known, and begin another."""
        first, last, self._first, self._last = self._first, self._last, None, None
        return (first, last) if first is not None and last is not None else None
