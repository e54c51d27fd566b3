"""Pack units into pieces: small neighbours together, large symbols split at statements, otherwise at lines."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from knowledge_mcp.chunking.prose.passages import token_starts
from knowledge_mcp.model.document import Document, Span
from knowledge_mcp.ports import TokenMeasure
from knowledge_mcp.support.checkpoints import check_each, checkpoint

_QUIET = frozenset({"import"})


@dataclass(slots=True)
class Unit:
    """A symbol, or a run of blocks that does not open a symbol.

    Attributes:
        first, last: positions of its blocks, inclusive.
        section: its symbol; None for a run.
        role: `import` for a run of imports, otherwise empty.
        inner: the units in a symbol; empty for a run.
    """

    first: int
    last: int
    section: int | None = None
    role: str = ""
    inner: list[Unit] = field(default_factory=list["Unit"])


class SourceFile:
    """One document with its blocks, their tokens, and its tree.

    Args:
        document: as `CodeReader` reads it; other documents have blocks without depth.
        measure: counts tokens, once for the whole text.
    """

    def __init__(self, document: Document, measure: TokenMeasure) -> None:
        self.document = document
        self.blocks = document.blocks
        self._measure = measure
        self._block_starts = [block.span.start for block in document.blocks]
        self._starts = token_starts(document.text, Span(0, len(document.text)), measure)

    def span(self, first: int, last: int) -> Span:
        """Return the span from one block to another."""
        return Span(self.blocks[first].span.start, self.blocks[last].span.end)

    def tokens(self, first: int, last: int) -> int:
        """Count the tokens from one block to another, inclusive."""
        return self.tokens_in(self.span(first, last))

    def tokens_in(self, span: Span) -> int:
        """Count the tokens that begin inside a span."""
        return bisect_left(self._starts, span.end) - bisect_left(self._starts, span.start)

    def exact(self, span: Span) -> int:
        """Count the tokens of a span tokenised by itself."""
        return self._measure.count_tokens(span.of(self.document.text))

    def around(self, span: Span) -> int | None:
        """Return the innermost symbol that contains the whole span."""
        section = self.begun_in(span)
        while section is not None and not self.document.sections[section].span.contains(span):
            section = self.document.sections[section].parent
        return section

    def begun_in(self, span: Span) -> int | None:
        """Return the innermost symbol in which a span begins."""
        return self.blocks[max(bisect_right(self._block_starts, span.start) - 1, 0)].section

    def tree(self) -> list[Unit]:
        """Build the top-level units of the file."""
        root = Unit(0, len(self.blocks) - 1)
        open_: list[Unit] = [root]
        sections: list[int] = []
        for position, block in enumerate(check_each(self.blocks)):
            path = tuple(one.index for one in self.document.ancestors(block.section))
            while tuple(sections) != path[: len(sections)]:
                sections.pop()
                open_.pop()
            for section in path[len(sections) :]:
                opened = Unit(position, position, section)
                open_[-1].inner.append(opened)
                open_.append(opened)
                sections.append(section)
            _add(open_[-1], position, block.marker if block.marker in _QUIET else "")
            for unit in open_:
                unit.last = position
        return root.inner

    def kind(self, unit: Unit) -> str:
        """Return the kind of a symbol, from the marker of the block with its signature; empty for a run."""
        if unit.section is None:
            return ""
        opens = self.document.sections[unit.section].heading.start
        for position in range(unit.first, min(unit.first + 3, unit.last + 1)):
            if self.blocks[position].span.end > opens:
                return self.blocks[position].marker
        return ""


def _add(unit: Unit, position: int, role: str) -> None:
    last = unit.inner[-1] if unit.inner else None
    if last is not None and last.section is None and last.role == role:
        last.last = position
    else:
        unit.inner.append(Unit(position, position, role=role))


_HOLDERS = frozenset(
    "class interface trait impl struct object enum record protocol module annotation namespace heading table".split()
)
_COMMENT_PENALTY = 6
_LEAST_SHARE = 0.5
"""Minimum size of a piece as a share of an even split, so that it can end at the shallowest position."""

_TIGHT = 0.92
"""The same for a file with too many chunks, whose text would otherwise be lost."""


@dataclass(frozen=True, slots=True)
class CodePiece:
    """A planned chunk: its span, its lines from 1, the innermost symbol that contains all of it, and its tokens."""

    span: Span
    lines: tuple[int, int]
    section: int | None
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class Packer:
    """Pack the blocks of one file.

    Attributes:
        file: the blocks with their tokens.
        measure: counts tokens.
        capacity: maximum tokens of a piece inside a symbol; None is the file's top level.
        overlap: tokens of whole lines shared by pieces of text without structure.
        small: share of the capacity below which neighbours inside a file or class are packed together.
    """

    file: SourceFile
    measure: TokenMeasure
    capacity: Callable[[int | None], int]
    overlap: int
    small: float

    def by_symbols(self) -> list[CodePiece]:
        """Pack by symbols."""
        return list(self._split_oversized(self._level(self.file.tree(), None, holder=True)))

    def by_blocks(self) -> list[CodePiece]:
        """Pack into as few pieces as the capacity allows, split where it does the least harm."""
        return list(self._split_oversized(self._run(0, len(self.file.blocks) - 1, None, _TIGHT)))

    def by_lines(self) -> list[CodePiece]:
        """Pack line by line; each piece begins with the last lines of the previous one."""
        return list(self._split_oversized(self._lines()))

    # ---- symbols

    def _level(self, units: Sequence[Unit], owner: int | None, *, holder: bool) -> Iterator[CodePiece]:
        """Pack the siblings inside one symbol, or in the file."""
        capacity = self.capacity(owner)
        least = int(capacity * self.small) if holder else capacity
        group: list[Unit] = []
        for unit in check_each(units):
            size = self.file.tokens(unit.first, unit.last)
            if size > capacity:
                yield from self._flush(group)
                yield from self._split(unit, owner)
                continue
            if group and not self._joins(group, unit, size, capacity, least):
                yield from self._flush(group)
            group.append(unit)
        yield from self._flush(group)

    def _joins(self, group: Sequence[Unit], unit: Unit, size: int, capacity: int, least: int) -> bool:
        """Return whether a unit is packed with those before it: both are small, and together they fit."""
        if self.file.tokens(group[0].first, unit.last) > capacity:
            return False
        return size < least and self.file.tokens(group[0].first, group[-1].last) < least

    def _flush(self, group: list[Unit]) -> Iterator[CodePiece]:
        if group:
            yield self._piece(group[0].first, group[-1].last)
            group.clear()

    def _split(self, unit: Unit, owner: int | None) -> Iterator[CodePiece]:
        if unit.section is None:
            yield from self._run(unit.first, unit.last, owner)
        elif all(inner.section is None for inner in unit.inner):
            yield from self._run(unit.first, unit.last, unit.section)
        else:
            yield from self._level(unit.inner, unit.section, holder=self.file.kind(unit) in _HOLDERS)

    def _piece(self, first: int, last: int) -> CodePiece:
        blocks = self.file.blocks
        start, end = blocks[first].lines or (1, 1), blocks[last].lines or (1, 1)
        return CodePiece(self.file.span(first, last), (start[0], end[1]), self._around(first, last))

    def _around(self, first: int, last: int) -> int | None:
        """Return the innermost symbol that contains both blocks."""
        return self.file.document.common(self.file.blocks[first].section, self.file.blocks[last].section)

    # ---- runs of blocks

    def _run(self, first: int, last: int, owner: int | None, least: float = _LEAST_SHARE) -> Iterator[CodePiece]:
        """Split a run of blocks into even pieces, each at the shallowest position near its share."""
        capacity = self.capacity(owner)
        while first <= last:
            checkpoint()
            remaining = self.file.tokens(first, last)
            if remaining <= capacity:
                yield self._piece(first, last)
                return
            share = remaining / -(-remaining // capacity)
            cut = self._cut(first, last, capacity, share, least)
            if cut == first or (cut <= last and self._is_stub(first, cut, least * share, capacity)):
                yield from self._torn(first, cut, capacity)
                first = cut + 1
            else:
                yield self._piece(first, cut - 1)
                first = cut

    def _is_stub(self, first: int, cut: int, least: float, capacity: int) -> bool:
        """Return whether a piece would be small only because the next block is too long by itself."""
        return self.file.tokens(first, cut - 1) < least and self.file.tokens(cut, cut) > capacity

    def _cut(self, first: int, last: int, capacity: int, share: float, least: float) -> int:
        """Return the first block of the next piece; `first` itself if it alone is too long."""
        best: tuple[tuple[float, float], int] | None = None
        fallback = first
        for place in range(first + 1, last + 1):
            size = self.file.tokens(first, place - 1)
            if size > capacity:
                break
            fallback = place
            if size >= least * share:
                block, above = self.file.blocks[place], self.file.blocks[place - 1]
                depth = block.depth + (_COMMENT_PENALTY if above.marker == "comment" else 0)
                score = (float(depth), abs(size - share))
                best = min(best, (score, place)) if best else (score, place)
        return best[1] if best else fallback

    # ---- lines

    def _lines(self) -> Iterator[CodePiece]:
        capacity = self.capacity(None)
        overlap = min(self.overlap, capacity // 4)
        first, last = 0, len(self.file.blocks) - 1
        while first <= last:
            checkpoint()
            stop = first
            while stop < last and self.file.tokens(first, stop + 1) <= capacity:
                stop += 1
            if stop == first and self.file.tokens(first, first) > capacity:
                yield from self._torn(first, first, capacity)
                first += 1
                continue
            yield self._piece(first, stop)
            if stop == last:
                return
            following = stop + 1
            while following - 1 > first and self.file.tokens(following - 1, stop) <= overlap:
                following -= 1
            # an overlap that leaves no room for a new line would repeat itself for ever
            fits = self.file.tokens(following, stop + 1) <= capacity
            first = following if fits else stop + 1

    def _torn(self, first: int, last: int, capacity: int) -> Iterator[CodePiece]:
        """Split blocks that are too long between their lines, and lines that are too long inside."""
        text = self.file.document.text
        span, section = self.file.span(first, last), self._around(first, last)
        lines = self.file.blocks[first].lines
        number = lines[0] if lines else 1
        start, opened = span.start, number
        place = start
        while place < span.end:
            checkpoint()
            stop = text.find("\n", place, span.end)
            stop = span.end if stop < 0 else stop
            if self.file.tokens_in(Span(start, stop)) > capacity:
                if place > start:
                    yield from self._trim(Span(start, place), (opened, number - 1), section)
                    start, opened = place, number
                if self.file.tokens_in(Span(start, stop)) > capacity:
                    yield from self._windows(Span(start, stop), number, section, capacity)
                    start, opened = stop + 1, number + 1
            place, number = stop + 1, number + 1
        yield from self._trim(Span(start, span.end), (opened, number - 1), section)

    def _windows(self, span: Span, line: int, section: int | None, capacity: int) -> Iterator[CodePiece]:
        places = token_starts(self.file.document.text, span, self.measure)
        for first in check_each(range(0, len(places), capacity)):
            start = span.start if first == 0 else places[first]
            end = span.end if first + capacity >= len(places) else places[first + capacity]
            yield from self._trim(Span(start, end), (line, line), section)

    def _trim(self, span: Span, lines: tuple[int, int], section: int | None) -> Iterator[CodePiece]:
        """Yield a span without the blank lines at its ends, if anything is left."""
        if span.start >= span.end:
            return
        text = span.of(self.file.document.text)
        body = text.rstrip()
        if not body:
            return
        skipped = len(body) - len(body.lstrip("\n"))
        lost = text[:skipped].count("\n")
        first = lines[0] + lost
        yield CodePiece(
            Span(span.start + skipped, span.start + len(body)), (first, first + body.lstrip("\n").count("\n")), section
        )

    # ---- tokens of a whole

    def _split_oversized(self, pieces: Iterator[CodePiece]) -> Iterator[CodePiece]:
        """Halve spans that have more tokens as a whole than the sum of their parts, between lines if possible."""
        waiting = [*pieces]
        waiting.reverse()
        while waiting:
            checkpoint()
            piece = waiting.pop()
            piece = replace(piece, section=self.file.around(piece.span))
            tokens = self.file.exact(piece.span)
            if len(piece.span) <= 1 or tokens <= self.capacity(piece.section):
                yield replace(piece, tokens=tokens)
                continue
            waiting.extend(reversed(list(self._halves(piece))))

    def _halves(self, piece: CodePiece) -> Iterator[CodePiece]:
        text = self.file.document.text
        middle = (piece.span.start + piece.span.end) // 2
        cut = text.rfind("\n", piece.span.start, middle) + 1 or text.find("\n", middle, piece.span.end) + 1
        cut = cut or middle
        line = piece.lines[0] + text.count("\n", piece.span.start, cut)
        yield from self._trim(Span(piece.span.start, cut), (piece.lines[0], line), piece.section)
        yield from self._trim(Span(cut, piece.span.end), (line, piece.lines[1]), piece.section)
