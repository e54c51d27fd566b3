"""Child process: the source lines of a page's blocks, counted during the walk over its tree."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from knowledge_mcp.readers.shared.containers import Element

LineOf: TypeAlias = "Callable[[Element], int | None]"
"""Returns the source line, from 1, on which an element begins: 0 for where the text before it ends, None for unknown.
"""
_MOST_LINES = 65_535
"""The parser does not count further."""


def no_line(_: Element) -> None:
    """Return None: the lines are unknown."""
    return


def source_line(element: Element) -> int | None:
    """Return the line of the page on which an element begins."""
    line = element.sourceline
    return line if line is not None and line < _MOST_LINES else None


class Lines:
    """Count source lines during the walk; an element whose line is known sets the count."""

    def __init__(self, line_of: LineOf) -> None:
        self._line_of = line_of
        self._here: int | None = None
        self._first: int | None = None
        self._last: int | None = None

    def begin(self, element: Element) -> None:
        """Enter an element."""
        line = self._line_of(element)
        self._here = self._here if line == 0 else line

    def pass_over(self, text: str, *, is_shown: bool) -> None:
        """Advance past a text; if it is visible, it belongs to the open block."""
        if self._here is None:
            return
        if is_shown and not text.isspace():
            words = text.strip()
            start = self._here + text.count("\n", 0, text.index(words[0]))
            self._first = self._first or start
            self._last = start + words.count("\n")
        self._here += text.count("\n")

    def open(self) -> None:
        """Start the open block here."""
        self._first = self._last = self._here

    def reach_up(self, lines: Iterator[int]) -> None:
        """Start the open block at the smallest of these lines, if there are any."""
        self._first = min(lines, default=self._first)

    def take(self) -> tuple[int, int] | None:
        """Return the lines of the open block, None if they are unknown, and start another one."""
        first, last, self._first, self._last = self._first, self._last, None, None
        return (first, last) if first is not None and last is not None else None
