"""Group blocks into passages: runs that belong together and may become one chunk, and the ids of chunks."""

from __future__ import annotations

import uuid
from array import array
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace

from knowledge_mcp.language.clauses import SectionFacts
from knowledge_mcp.model.document import Block, BlockKind, Document, Span
from knowledge_mcp.ports import TokenMeasure
from knowledge_mcp.support.checkpoints import check_each

_LONGEST_TOKEN = 7
"""Maximum code points per token of ordinary text; only used to choose the cheaper way of counting."""
_SLICE = 200_000
"""Maximum code points given to a tokenizer at once; no block of an ordinary document is as long."""


@dataclass(slots=True)
class BlockRun:
    """A run of blocks of one section, or of small sections merged.

    Attributes:
        section: index of the section by which it is cited, None before the first heading.
        clause: index of the innermost numbered section that contains it.
        blocks: its blocks in order; headings without text of their own precede those of the section that they open.
        tokens: their number; after a merge the sum of the parts, which may differ slightly because of whitespace.
        starts: where the tokens of each block begin, None if not needed to count them.
    """

    section: int | None
    clause: int | None
    blocks: list[Block]
    tokens: int = 0
    starts: list[array[int]] | None = None
    _announced: list[bool] = field(default_factory=list[bool])

    def inside(self, span: Span) -> tuple[Block, ...]:
        """List the blocks that a span contains in whole or in part."""
        first = bisect_right(self.blocks, span.start, key=lambda block: block.span.end)
        return tuple(
            self.blocks[first : bisect_left(self.blocks, span.end, lo=first, key=lambda block: block.span.start)]
        )

    def is_announced(self, block: Block) -> bool:
        """Return whether a block is an example, or code below one with only code between."""
        if not self._announced:
            last = False
            for one in self.blocks:
                last = last if one.kind is BlockKind.CODE and self._announced else one.kind is BlockKind.EXAMPLE
                self._announced.append(last)
        return self._announced[bisect_left(self.blocks, block.span.start, key=lambda one: one.span.start)]

    @property
    def span(self) -> Span:
        """Return the span of all blocks."""
        return Span(self.blocks[0].span.start, self.blocks[-1].span.end)

    @property
    def has_body(self) -> bool:
        """Return whether it contains anything except headings."""
        return any(block.kind is not BlockKind.HEADING for block in self.blocks)


@dataclass(frozen=True, slots=True)
class Piece:
    """A planned chunk: its span, its passage, its blocks, and the context from which it was cut.

    Attributes:
        span: its location in the canonical text.
        tokens: their number.
        passage: the passage that it is part of.
        blocks: blocks that it contains in whole or in part.
        resume: table header, caption or lead-in needed to understand the text; empty if it is complete.
    """

    span: Span
    tokens: int
    passage: BlockRun
    blocks: tuple[Block, ...]
    resume: str = ""


def _gapless(document: Document) -> Iterator[Block]:
    text = document.text
    position = 0
    section: int | None = None
    for block in check_each(document.blocks):
        span = _trim(text, max(block.span.start, position), block.span.end)
        if not span:
            continue
        gap = _trim(text, position, span.start)
        if gap:
            yield Block(BlockKind.PARAGRAPH, gap, section)
        section = block.section
        yield block if span == block.span else replace(block, span=span)
        position = span.end
    rest = _trim(text, position, len(text))
    if rest:
        yield Block(BlockKind.PARAGRAPH, rest, section)


def _trim(text: str, start: int, end: int) -> Span:
    return Span(start, max(start, end)).trimmed(text)


def passages_of(
    document: Document, facts: SectionFacts, measure: TokenMeasure, capacity: Callable[[int | None], int]
) -> list[BlockRun]:
    """Group runs of blocks of one section; a heading without body stays with what it opens.

    A numbered heading that opens nothing (an empty clause) joins the passage of the enclosing clause, which names its
    parts; if there is none before it, it stays a passage of its own, as evidence that the clause exists. An unnumbered
    one joins whatever follows, and so does the document's title if it is a separate line. Text in no block becomes a
    paragraph, so that nothing is lost.

    Args:
        document: as read.
        facts: the roles of its sections.
        measure: counts tokens.
        capacity: maximum tokens of a chunk of a section.
    """
    passages: list[BlockRun] = []
    waiting: BlockRun | None = None
    for run in check_each(_runs(document, facts)):
        current, has_body = run, run.has_body
        if waiting is not None:
            if _goes_with(document, waiting, run):
                waiting.blocks.extend(run.blocks)  # in place: there may be very many headings in a row
                current = BlockRun(run.section, run.clause, waiting.blocks)
            else:
                _settle(document, passages, waiting, measure, capacity)
        waiting = None
        if has_body and not _is_title(document, run):
            _weigh(current, document.text, measure, capacity(current.section))
            passages.append(current)
        else:
            waiting = current
    if waiting is not None:
        _settle(document, passages, waiting, measure, capacity)
    return passages


def _is_title(document: Document, run: BlockRun) -> bool:
    """Return whether a run is only the document's title, above all sections."""
    words = document.title.split()
    return run.section is None and run.span.of(document.text).split(maxsplit=len(words)) == words


def _weigh(passage: BlockRun, text: str, measure: TokenMeasure, capacity: int) -> None:
    """Count a passage's tokens; block by block, with positions, if it will certainly have to be split."""
    if len(passage.span) <= _LONGEST_TOKEN * capacity:
        passage.tokens = measure.count_tokens(passage.span.of(text))
        return
    passage.starts = [token_starts(text, block.span, measure) for block in passage.blocks]
    passage.tokens = sum(len(starts) for starts in passage.starts)


def token_starts(text: str, span: Span, measure: TokenMeasure) -> array[int]:
    """List where each token of a part of the text begins, slice by slice, so that a huge line takes little memory."""
    starts = array("q")
    for part in check_each(slices(text, span)):
        starts.extend(part.start + start for start, _ in measure.token_spans(part.of(text)))
    return starts


def slices(text: str, span: Span) -> Iterator[Span]:
    """Split a span into slices that are measured one by one, before whitespace if possible; usually one slice."""
    start = span.start
    while span.end - start > _SLICE:
        cut = max(text.rfind(sign, start + _SLICE // 2, start + _SLICE) for sign in ("\n", " "))
        cut = start + _SLICE if cut < 0 else cut
        yield Span(start, cut)
        start = cut
    yield Span(start, span.end)


def _runs(document: Document, facts: SectionFacts) -> Iterator[BlockRun]:
    run: BlockRun | None = None
    for block in _gapless(document):
        if run is None or run.section != block.section:
            if run is not None:
                yield run
            run = BlockRun(block.section, facts.clause(block.section), [])
        run.blocks.append(block)
    if run is not None:
        yield run


def _settle(
    document: Document,
    passages: list[BlockRun],
    heading: BlockRun,
    measure: TokenMeasure,
    capacity: Callable[[int | None], int],
) -> None:
    """Add a heading that opens nothing to the passage of the enclosing section, otherwise keep it separate."""
    heading.tokens = measure.count_tokens(heading.span.of(document.text))
    last = passages[-1] if passages else None
    around = [section.index for section in document.ancestors(heading.section)][:-1]
    if last is not None and last.section in around and last.tokens + heading.tokens <= capacity(last.section):
        passages[-1] = _join(last, heading)
    else:
        passages.append(heading)


def _goes_with(document: Document, heading: BlockRun, following: BlockRun) -> bool:
    if heading.section is None:
        return True
    section = document.sections[heading.section]
    if any(above.index == section.index for above in document.ancestors(following.section)):
        return True
    return heading.clause is None and not section.number


def merge_small(
    document: Document,
    passages: list[BlockRun],
    facts: SectionFacts,
    minimum: int,
    capacity: Callable[[int | None], int],
) -> list[BlockRun]:
    """Merge neighbours until they reach the minimum, if the heading between them is only guessed.

    Sections that the document itself marks stay separate, however short: each passage is cited by the section that
    contains its words. A merged passage is cited by the enclosing section.

    Args:
        document: the document of the passages.
        passages: in order.
        facts: the roles of the sections.
        minimum: passages with fewer tokens are merged if possible.
        capacity: maximum tokens of a chunk of a section.
    """

    def may_join(last: BlockRun, passage: BlockRun) -> bool:
        return _may_join(document, last, passage, facts, capacity)

    def join(last: BlockRun, passage: BlockRun) -> BlockRun:
        section = document.common(last.section, passage.section)
        return BlockRun(section, last.clause, [*last.blocks, *passage.blocks], last.tokens + passage.tokens)

    merged = join_passages(passages, lambda last, passage: last.tokens < minimum and may_join(last, passage), join)
    return join_passages(merged, lambda last, passage: passage.tokens < minimum and may_join(last, passage), join)


def join_passages(
    passages: Iterable[BlockRun],
    may_join: Callable[[BlockRun, BlockRun], bool],
    join: Callable[[BlockRun, BlockRun], BlockRun],
) -> list[BlockRun]:
    """Join each passage with the previous one if allowed; the previous one includes what was joined before."""
    found: list[BlockRun] = []
    for passage in check_each(passages):
        if found and may_join(found[-1], passage):
            found[-1] = join(found[-1], passage)
        else:
            found.append(passage)
    return found


def _join(first: BlockRun, second: BlockRun) -> BlockRun:
    return BlockRun(first.section, first.clause, [*first.blocks, *second.blocks], first.tokens + second.tokens)


def _may_join(
    document: Document, first: BlockRun, second: BlockRun, facts: SectionFacts, capacity: Callable[[int | None], int]
) -> bool:
    if first.clause != second.clause or facts.is_informative(first.section) != facts.is_informative(second.section):
        return False
    if first.tokens + second.tokens > capacity(first.section):
        return False
    if facts.role(first.section) is not facts.role(second.section):
        return False
    if second.section is not None and document.sections[second.section].confidence >= _MARKED:
        return False
    if first.section is None or second.section is None:
        return True
    beside = document.sections[first.section].parent == document.sections[second.section].parent
    return beside or document.common(first.section, second.section) == first.section


_MARKED = 0.75
"""Minimum confidence of a real heading: the file marks it, it is numbered, or a bookmark names it."""

_NAMESPACE = uuid.UUID("6f1d7c0e-2b0a-5d55-9a3e-6c7d3f0b8e21")
"""Namespace of all chunk ids."""


class ChunkIds:
    """Derive ids of one document's chunks from location, content, and how often that content occurred there before.

    Args:
        document_id: the document of the chunks.
    """

    def __init__(self, document_id: str) -> None:
        self._document_id = document_id
        self._seen: Counter[tuple[str, str]] = Counter()

    def next(self, place: str, digest: str) -> str:
        """Return the id of the next chunk at a location of the section tree whose content has a digest."""
        name = "\x1e".join((self._document_id, place, digest, str(self._seen[place, digest])))
        self._seen[place, digest] += 1
        return str(uuid.uuid5(_NAMESPACE, name.encode("utf-8", "surrogatepass").decode("utf-8", "replace")))
