"""Split passages into pieces: at blocks, then sentences, rows or lines, then tokens."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from knowledge_mcp.chunking.prose.headings import Headlines
from knowledge_mcp.chunking.prose.passages import BlockRun, Piece, slices, token_starts
from knowledge_mcp.chunking.prose.tables import (
    announcement,
    caption_of,
    column_names,
    groups_of,
    names_columns,
    printed_above,
    table_notes,
)
from knowledge_mcp.language.sentences import LEADS, sentence_spans
from knowledge_mcp.model.document import Block, BlockKind, Span
from knowledge_mcp.ports import TokenMeasure
from knowledge_mcp.support.checkpoints import check_each, checkpoint


@dataclass(slots=True)
class _OpenBlock:
    """An open block with the lead-ins down to its own; None until they are needed."""

    block: Block
    chain: list[str] | None = None


class LeadInTracker:
    """Walk through the blocks of a passage, and track what leads into each list item; every block is read once."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._open: list[_OpenBlock] = []
        """The paragraph above the list, and the enclosing items, outermost first."""

    def take(self, block: Block) -> list[str]:
        """Go to the next block, and return the sentences that it depends on; none if it is not a list item."""
        if block.kind in {BlockKind.HEADING, BlockKind.PARAGRAPH}:
            self._open = [_OpenBlock(block)] if block.kind is BlockKind.PARAGRAPH else []
            return []
        if block.kind is not BlockKind.LIST_ITEM:
            return []
        while self._open and self._open[-1].block.kind is BlockKind.LIST_ITEM:
            if self._open[-1].block.depth < block.depth:
                break
            self._open.pop()
        found = self._chain()
        self._open.append(_OpenBlock(block))
        return found

    def _chain(self) -> list[str]:
        """List the lead-ins of the open blocks."""
        found: list[str] = []
        for lead in self._open:
            if lead.chain is None:
                own = self._sentence(lead.block)
                lead.chain = [*found, own] if own else found
            found = lead.chain
        return found

    def _sentence(self, block: Block) -> str:
        """Return a whole list item, as it qualifies those below it; of other blocks a last sentence that leads on."""
        if block.kind is BlockKind.LIST_ITEM:
            return " ".join(block.span.of(self._text).split())
        sentences = sentence_spans(self._text, block.span.start, block.span.end)
        last = sentences[-1].of(self._text) if sentences else ""
        return " ".join(last.split()) if LEADS.search(last) else ""


_PROSE = frozenset(
    {BlockKind.PARAGRAPH, BlockKind.LIST_ITEM, BlockKind.NOTE, BlockKind.EXAMPLE, BlockKind.QUOTE, BlockKind.FOOTNOTE}
)
_LINE = re.compile(r"[^\n]+")
_LITTLE = 5
"""Maximum text before the headline of a page: one such part of a chunk."""


@dataclass(frozen=True, slots=True)
class _Atom:
    """What is not split further: a block, a sentence, a row, a line or a window of tokens.

    Attributes:
        span: its location.
        tokens: their number.
        source: position of its block in the passage.
        glued: it should not be the last of a chunk (heading, caption, lead-in, table header).
        broken: it continues a sentence that was split.
        resume: the context for a chunk that begins with it.
        resume_tokens: tokens of `resume`.
        below: notes that restrict it, below all rows of its table; a chunk that does not contain them needs them, too.
        below_tokens: tokens of `below`.
    """

    span: Span
    tokens: int
    source: int
    glued: bool = False
    broken: bool = False
    resume: str = ""
    resume_tokens: int = 0
    below: str = ""
    below_tokens: int = 0


@dataclass(frozen=True, slots=True)
class _Measured:
    """One block with the start of each of its tokens, in code points of the document's text."""

    block: Block
    starts: array[int]

    @property
    def tokens(self) -> int:
        return len(self.starts)

    def tokens_in(self, span: Span) -> int:
        return bisect_left(self.starts, span.end) - bisect_left(self.starts, span.start)


@dataclass(frozen=True, slots=True)
class Cutter:
    """Split passages of one document.

    Attributes:
        text: the canonical text.
        measure: counts tokens.
        overlap: tokens of whole sentences that a piece may repeat from the previous one.
        headlines: headlines above figures on a page; None for none.
    """

    text: str
    measure: TokenMeasure
    overlap: int
    headlines: Headlines | None = None
    _counts: dict[str, int] = field(default_factory=dict[str, int])

    def cut(self, passage: BlockRun, capacity: int) -> list[Piece]:
        """Split one passage into pieces of at most `capacity` tokens, as few and as even as its boundaries allow."""
        if passage.tokens <= capacity:
            tokens = self.measure.count_tokens(passage.span.of(self.text))
            if tokens <= capacity:
                return [Piece(passage.span, tokens, passage, tuple(passage.blocks))]
        starts = passage.starts or [token_starts(self.text, block.span, self.measure) for block in passage.blocks]
        blocks = [_Measured(block, found) for block, found in zip(passage.blocks, starts, strict=True)]
        atoms = list(self._atoms(blocks, capacity))
        return list(self._pack(passage, blocks, _glue(atoms, capacity), capacity))

    # ---- atoms

    def _atoms(self, blocks: Sequence[_Measured], capacity: int) -> Iterator[_Atom]:
        above = LeadInTracker(self.text)
        around = [each.block for each in blocks]
        for position, item in enumerate(check_each(blocks)):
            leads = above.take(item.block) or printed_above(self.text, around, position)
            words, count = self._join_within(leads, capacity // 3)
            after = blocks[position + 1].block.kind if position + 1 < len(blocks) else None
            glued = self._wants_next(item, after)
            if item.tokens <= capacity - count:
                yield _Atom(item.block.span, item.tokens, position, glued, False, words, count)
            elif item.block.kind is BlockKind.TABLE:
                yield from self._rows(item, around, position, capacity)
            elif item.block.kind is BlockKind.CODE:
                announced = self._code_lead(blocks, position, capacity)
                yield from self._parts(item, position, _lines(self.text, item.block.span), capacity, announced)
            else:
                sentences = sentence_spans(self.text, item.block.span.start, item.block.span.end)
                yield from self._parts(item, position, sentences, capacity, (words, count))

    def _wants_next(self, item: _Measured, after: BlockKind | None) -> bool:
        kind = item.block.kind
        if kind is BlockKind.HEADING or self._opens(item.block.span.start):
            return True
        if kind is BlockKind.CAPTION:
            return after in {BlockKind.TABLE, BlockKind.CODE}
        if kind in {BlockKind.TABLE, BlockKind.CODE}:
            return after is BlockKind.CAPTION
        if after is BlockKind.TABLE and item.block.pages and names_columns(self.text, item.block):
            return True
        return (
            after in {BlockKind.LIST_ITEM, BlockKind.CODE, BlockKind.TABLE}
            and LEADS.search(item.block.span.of(self.text)) is not None
        )

    def _parts(
        self, item: _Measured, position: int, spans: Sequence[Span], capacity: int, resume: tuple[str, int]
    ) -> Iterator[_Atom]:
        """Yield parts of a block; those that are too long as windows of tokens."""
        words, count = resume
        room = max(1, capacity - count)
        for span in spans:
            tokens = item.tokens_in(span)
            if tokens <= room:
                yield _Atom(span, tokens, position, False, False, words, count)
                continue
            for number, (window, size) in enumerate(self._windows(span, room)):
                yield _Atom(window, size, position, False, number > 0, words, count)

    def _windows(self, span: Span, room: int) -> Iterator[tuple[Span, int]]:
        """Yield even windows of at most `room` tokens, split before words unless a word is too long itself."""
        for part in check_each(slices(self.text, span)):
            yield from self._windows_of(part, room)

    def _windows_of(self, span: Span, room: int) -> Iterator[tuple[Span, int]]:
        tokens = self.measure.token_spans(span.of(self.text))
        count = -(-len(tokens) // room)
        size = -(-len(tokens) // count) if count else 1
        begin, first = span.start, 0
        while begin < span.end:
            last = min(first + size, len(tokens))
            cut = span.start + tokens[last][0] if last < len(tokens) else span.end
            while last < len(tokens) and last > first + size // 2 and not self.text[cut - 1].isspace():
                last -= 1
                cut = span.start + tokens[last][0]
            if last < len(tokens) and not self.text[cut - 1].isspace():
                last = min(first + size, len(tokens))
                cut = span.start + tokens[last][0] if last < len(tokens) else span.end
            cut = max(cut, begin + 1)
            yield from self._fit(Span(begin, cut).trimmed(self.text), room)
            begin, first = cut, max(last, first + 1)

    def _fit(self, span: Span, room: int) -> Iterator[tuple[Span, int]]:
        """Halve a window until it fits: a part of a word can have more tokens than it had within the word."""
        if not span:
            return
        tokens = self.measure.count_tokens(span.of(self.text))
        if len(span) == 1 or tokens <= room:
            yield span, tokens
            return
        middle = (span.start + span.end) // 2
        yield from self._fit(Span(span.start, middle).trimmed(self.text), room)
        yield from self._fit(Span(middle, span.end).trimmed(self.text), room)

    def _rows(self, item: _Measured, around: Sequence[Block], position: int, capacity: int) -> Iterator[_Atom]:
        lines = _lines(self.text, item.block.span)
        head, names = column_names(self.text, lines, around, position)
        caption, header = caption_of(self.text, around, position), "\n".join(names)
        notes = table_notes(self.text, lines[head:], around, position)
        below, size = self._join_within(notes, capacity // _BELOW)
        groups = [*[""] * head, *groups_of(self.text, lines[head:])]
        called = {
            group: self._called(caption, "\n".join(filter(None, (header, group))), capacity // 3)
            for group in set(groups)
        }
        for number, line in enumerate(lines):
            words, extra = called[groups[number]] if number >= max(head, 1) else ("", 0)
            for part, atom in enumerate(self._parts(item, position, [line], capacity, (words, extra))):
                glued = number < head and part == 0 and len(lines) > head
                yield replace(atom, glued=glued, resume=words, resume_tokens=extra, below=below, below_tokens=size)

    def _called(self, caption: str, header: str, limit: int) -> tuple[str, int]:
        """Write a header below its caption; if the caption is too long for that, its beginning."""
        words = caption.split()
        whole = self._join_within([caption, header], limit)
        if not words or whole[0] != header:
            return whole

        def beginning(count: int) -> tuple[str, int]:
            return self._join_within([f"{' '.join(words[:count])} …", header], limit)

        counts = range(_FEWEST_WORDS + 1, len(words))
        too_many = bisect_left(counts, True, key=lambda count: beginning(count)[0] == header)
        return beginning(counts[too_many - 1]) if too_many else whole

    def _join_within(self, lines: Sequence[str], limit: int) -> tuple[str, int]:
        """Join as many lines as fit into a number of tokens; the last line is the most important."""
        words, count = "", 0
        for line in reversed(lines):
            candidate = f"{line}\n{words}" if words else line
            tokens = self._count(candidate) + 1
            if line and tokens <= limit:
                words, count = candidate, tokens
        return words, count

    def _count(self, words: str) -> int:
        """Count the tokens of texts that recur: headers and lead-ins; cached."""
        found = self._counts.get(words)
        if found is None:
            found = self._counts[words] = self.measure.count_tokens(words)
        return found

    def _code_lead(self, blocks: Sequence[_Measured], position: int, capacity: int) -> tuple[str, int]:
        """Find the sentence that announces a code block: an example's first words, or one that ends with a colon."""
        above = blocks[position - 1].block if position else None
        if above is None or above.kind is BlockKind.HEADING:
            return "", 0
        if above.kind not in {BlockKind.EXAMPLE, BlockKind.CAPTION}:
            return self._join_within([announcement(self.text, above)], capacity // 3)
        sentences = sentence_spans(self.text, above.span.start, above.span.end)
        words = " ".join(sentences[0].of(self.text).split()) if sentences else ""
        return self._join_within([words], capacity // 3)

    def _opens(self, position: int) -> bool:
        return self.headlines is not None and self.headlines.opens(position)

    def _headline(self, position: int, capacity: int) -> tuple[str, int]:
        """Return the headline of the page above a position, if short enough, and its tokens."""
        lines = self.headlines.over(position).split("\n") if self.headlines is not None else []
        return self._join_within(lines, capacity // 4)

    # ---- packing

    def _pack(
        self, passage: BlockRun, blocks: Sequence[_Measured], clusters: list[list[_Atom]], capacity: int
    ) -> Iterator[Piece]:
        remaining = sum(a.tokens for cluster in clusters for a in cluster)
        position = 0
        before: list[_Atom] = []
        below = max((atom.below_tokens for cluster in clusters for atom in cluster), default=0)
        while position < len(clusters):
            checkpoint()
            first = clusters[position][0]
            headline, headline_tokens = self._headline(first.span.start, capacity)
            cap = capacity - (first.resume_tokens if position else 0) - headline_tokens - below
            needed = sum(a.tokens for a in clusters[position])
            start, repeated = self._overlap(blocks, before, first, cap - needed)
            room = cap - repeated
            share = remaining / max(1, -(-remaining // max(1, room)))
            taken: list[_Atom] = []
            size = 0
            while position < len(clusters):
                tokens = sum(a.tokens for a in clusters[position])
                if taken and (size + tokens > room or size + tokens / 2 > share):
                    break
                if size * _LITTLE > capacity and self._opens(clusters[position][0].span.start):
                    break
                taken.extend(clusters[position])
                size += tokens
                position += 1
            remaining -= size
            yield from self._finish(passage, Span(start, taken[-1].span.end), taken, cap, headline, bool(before))
            before = taken

    def _finish(
        self, passage: BlockRun, span: Span, atoms: list[_Atom], cap: int, headline: str, cut_off: bool
    ) -> Iterator[Piece]:
        """Make one piece, or several if the whole has too many tokens although the sum of its parts did not show it."""
        if span.start < atoms[0].span.start and self.measure.count_tokens(span.of(self.text)) > cap:
            span = Span(atoms[0].span.start, span.end)
        for number, (part, tokens) in enumerate(self._fit(span, cap)):
            inside = passage.inside(part)
            resume = atoms[0].resume if cut_off or number else ""
            words = part.of(self.text)
            resume = "" if resume and resume in words else resume
            below = next((atom.below for atom in reversed(atoms) if atom.below), "").split("\n")
            context = [headline, *(note for note in below if note not in " ".join(words.split())), resume]
            yield Piece(part, tokens, passage, inside, "\n".join(filter(None, context)))

    def _overlap(self, blocks: Sequence[_Measured], before: list[_Atom], first: _Atom, room: int) -> tuple[int, int]:
        """Find where a piece may start earlier, in whole sentences of the same kind, and how many tokens that adds."""
        start = first.span.start
        kind = blocks[first.source].block.kind
        if not before or first.broken or self.overlap <= 0 or kind not in _PROSE or self._opens(start):
            return start, 0
        limit = min(self.overlap, room)
        total = 0
        for atom in reversed(before[1:] if len(before) > 1 else before):
            item = blocks[atom.source]
            if item.block.kind is not kind or atom.broken:
                break
            sentences = sentence_spans(self.text, atom.span.start, atom.span.end)
            if atom is before[0]:
                sentences = sentences[1:]
            for sentence in reversed(sentences):
                tokens = item.tokens_in(sentence)
                if total + tokens > limit:
                    return start, total
                start, total = sentence.start, total + tokens
        return start, total


def _glue(atoms: list[_Atom], capacity: int) -> list[list[_Atom]]:
    """Group atoms that should stay with the next one, as far as they fit."""
    clusters: list[list[_Atom]] = []
    size = 0
    for atom in atoms:
        if clusters and clusters[-1][-1].glued and size + atom.tokens <= capacity - clusters[-1][0].resume_tokens:
            clusters[-1].append(atom)
            size += atom.tokens
        else:
            clusters.append([atom])
            size = atom.tokens
    return clusters


def _lines(text: str, span: Span) -> list[Span]:
    lines = (Span(found.start(), found.end()) for found in _LINE.finditer(text, span.start, span.end))
    return [line for line in lines if line.of(text).strip()]


_BELOW = 6
"""Part of a chunk for notes of its table; with a third for the header, at least half is left for rows."""

_FEWEST_WORDS = 3
"""Words of a caption that are not informative without more of it: "Table 13. Mean"."""
