"""Lines of a source file: which of them a span of the canonical text comes from."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from knowledge_mcp.model.document import Block, BlockKind, Span
from knowledge_mcp.support.checkpoints import check_each


@dataclass(frozen=True, slots=True)
class LineRun:
    """A stretch of text and its source lines; if both have the same number of lines, they correspond one to one.

    Attributes:
        span: in the canonical text.
        first, last: lines of the source file from 1.
    """

    span: Span
    first: int
    last: int


def line_runs(text: str, blocks: Iterable[Block]) -> tuple[LineRun, ...]:
    """List the stretches of a text, joined if their lines are consecutive; empty if the format has no lines."""
    found: list[LineRun] = []
    was_even = False
    for run in (run for block in check_each(blocks) for run in _runs_of(text, block)):
        is_even = text.count("\n", run.span.start, run.span.end) == run.last - run.first
        before = found[-1] if was_even and is_even else None
        if before is not None and run.first == before.last + text.count("\n", before.span.end, run.span.start):
            found[-1] = replace(before, span=Span(before.span.start, run.span.end), last=run.last)
        else:
            found.append(run)
        was_even = is_even
    return tuple(found)


def _runs_of(text: str, block: Block) -> Iterator[LineRun]:
    if block.lines is None:
        return
    span, (first, last) = block.span, block.lines
    if not block.rows and block.kind is not BlockKind.TABLE:
        yield LineRun(span, first, last)
        return
    starts = [span.start, *(match.end() for match in re.compile("\n").finditer(text, span.start, span.end))]
    rows = list(block.rows)
    if not rows and len(starts) == last - first + 2:  # a rule is written below the first row of a sheet
        rows = [first, *range(first, last + 1)]
    if len(rows) != len(starts):
        yield LineRun(span, first, last)
        return
    for row, start, end in zip(rows, starts, [*starts[1:], span.end + 1], strict=True):
        yield LineRun(Span(start, end - 1), row, row)


def line_ends(text: str) -> Sequence[int]:
    """List the positions of the line feeds of a text."""
    return array("q", (match.start() for match in re.compile("\n").finditer(text)))


@dataclass(frozen=True, slots=True)
class SourceLines:
    """Find the source lines of spans of a text.

    Attributes:
        text: canonical.
        runs: in order.
        ends: its line feeds, to save counting for many spans of one text; None to count them each time.
    """

    text: str
    runs: Sequence[LineRun]
    ends: Sequence[int] | None = None

    def of(self, span: Span) -> tuple[int, int] | None:
        """Return the first and last source line of a span, None if it has none."""
        place = max(bisect_right(self.runs, span.start, key=lambda run: run.span.start) - 1, 0)
        found: list[tuple[int, int]] = []
        while place < len(self.runs) and self.runs[place].span.start < span.end:
            if self.runs[place].span.overlaps(span):
                found.append(self._lines(self.runs[place], span))
            place += 1
        return (min(first for first, _ in found), max(last for _, last in found)) if found else None

    def _lines(self, run: LineRun, span: Span) -> tuple[int, int]:
        whole = run.span
        if span.contains(whole) or self._count(whole.start, whole.end) != run.last - run.first:
            return run.first, run.last
        above = self._count(whole.start, max(whole.start, span.start))
        below = self._count(whole.start, min(whole.end, span.end))
        return run.first + above, run.first + max(above, below)

    def _count(self, start: int, end: int) -> int:
        if self.ends is None:
            return self.text.count("\n", start, end)
        return bisect_left(self.ends, end) - bisect_left(self.ends, start)
