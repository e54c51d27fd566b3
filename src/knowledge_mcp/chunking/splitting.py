"""Recursive splitting of text at ever finer separators, as spans: nothing is copied, nothing is lost but blanks.

The rules are those of the splitter that the planning specification names: cut at the coarsest separator that the text
has, join neighbouring pieces as long as they fit, go on with finer separators where a piece is too large, and begin
each chunk with the last pieces of the one before it (the overlap).
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from knowledge_mcp.model.document import Span
from knowledge_mcp.support.checkpoints import checked

__all__ = ["SEPARATORS", "Splitting", "shrink", "split"]

SEPARATORS = ("\n\n", "\n", ". ", "! ", "? ", "; ", ", ", " ", "")
"""Paragraph, line, sentence (three), clause, phrase, word, character (B-FR-006)."""


@dataclass(frozen=True, slots=True)
class Splitting:
    """Say how a text is split.

    Attributes:
        size: characters of a chunk, at most.
        overlap: characters that neighbouring chunks share, at most.
        separators: coarsest first; the empty one cuts between any two characters.
        keep: whether a separator belongs to the piece that it `end`s or to the one that it `start`s.
    """

    size: int = 800
    overlap: int = 200
    separators: tuple[str, ...] = SEPARATORS
    keep: Literal["start", "end"] = "end"


def split(text: str, span: Span, how: Splitting) -> list[Span]:
    """Split a part of a text; chunks are in order, not blank, and begin and end with a printed character."""
    trimmed = (found.trimmed(text) for found in _split(text, span, how, how.separators))
    return [found for found in trimmed if len(found)]


def _split(text: str, span: Span, how: Splitting, separators: Sequence[str]) -> Iterator[Span]:
    separator, finer = _first_present(text, span, separators)
    if not separator:
        yield from _even(span, how)
        return
    pieces = _pieces(text, span, separator, how.keep)
    for is_small, run in groupby(pieces, key=lambda piece: len(piece) < how.size):
        if is_small:
            yield from _joined(checked(run), how)
            continue
        for piece in run:
            if finer:
                yield from _split(text, piece, how, finer)
            else:
                yield piece


def _even(span: Span, how: Splitting) -> Iterator[Span]:
    """Cut between characters: chunks of the whole size, each with the whole overlap."""
    for start in checked(range(span.start, span.end, how.size - how.overlap)):
        yield Span(start, min(start + how.size, span.end))
        if start + how.size >= span.end:
            break


def _first_present(text: str, span: Span, separators: Sequence[str]) -> tuple[str, Sequence[str]]:
    for place, separator in enumerate(separators):
        if not separator:
            return "", ()
        if text.find(separator, span.start, span.end) >= 0:
            return separator, separators[place + 1 :]
    return separators[-1], ()


def _pieces(text: str, span: Span, separator: str, keep: Literal["start", "end"]) -> Iterator[Span]:
    """Cut at a separator, which stays with its piece; empty pieces are left out."""
    start = span.start
    for found in re.compile(re.escape(separator)).finditer(text, span.start, span.end):
        cut = found.end() if keep == "end" else found.start()
        if cut > start:
            yield Span(start, cut)
            start = cut
    if start < span.end:
        yield Span(start, span.end)


def _joined(pieces: Iterable[Span], how: Splitting) -> Iterator[Span]:
    """Join neighbours up to the size, each chunk beginning with what the one before it ended with."""
    held: deque[Span] = deque()
    total = 0
    for piece in pieces:
        if total + len(piece) > how.size and held:
            yield Span(held[0].start, held[-1].end)
            while total > how.overlap or (total + len(piece) > how.size and total > 0):
                total -= len(held.popleft())
        held.append(piece)
        total += len(piece)
    if held:
        yield Span(held[0].start, held[-1].end)


def shrink(text: str, span: Span, how: Splitting, fits: Callable[[Span], bool]) -> Iterator[Span]:
    """Split what does not fit into ever smaller chunks until it does."""
    if fits(span) or len(span) < 2:
        yield span
        return
    size = max(len(span) // 2, 1)
    smaller = Splitting(size, min(how.overlap, size // 4), how.separators, how.keep)
    for part in split(text, span, smaller):
        yield from shrink(text, part, smaller, fits)
