"""Chunkers that follow the tree of sections: by clause for standards, as large as serves the model for mixed libraries.

A chunk of a standard never mixes clauses, so that each one is evidence for the clause it cites. In a library what
stands together in the section tree goes together: a section that fits is one chunk, small neighbours are joined under
the section that holds both, and only what is too long is cut, at paragraphs, sentences, rows. Chapters are never mixed,
and neither are numbered clauses.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from knowledge_mcp.chunking.prose.cutting import Cutter
from knowledge_mcp.chunking.prose.describing import CONTEXT_JOIN, describe_pieces, with_boxes
from knowledge_mcp.chunking.prose.headings import HIERARCHY_LEVELS, HeadingPaths, Headlines
from knowledge_mcp.chunking.prose.passages import BlockRun, join_passages, merge_small, passages_of
from knowledge_mcp.language.clauses import SectionFacts, SectionRole
from knowledge_mcp.model.chunk import Chunk
from knowledge_mcp.model.document import Document
from knowledge_mcp.model.errors import ConfigError
from knowledge_mcp.ports import TokenMeasure
from knowledge_mcp.support.checkpoints import check_each
from knowledge_mcp.support.events import log_event


@dataclass(frozen=True, slots=True)
class _Sizes:
    """Hold sizes in tokens: smallest preferred, largest allowed, and what parts of one clause may share."""

    minimum: int
    maximum: int
    overlap: int

    def check(self) -> None:
        """Refuse values outside their ranges, or contradicting; all problems in one message."""
        problems = [
            f"{name} is {value}, which is outside {low}..{high}"
            for name, value, (low, high) in (
                ("CHUNK_SIZE_MIN", self.minimum, (50, 500)),
                ("CHUNK_SIZE_MAX", self.maximum, (200, 2000)),
                ("CHUNK_OVERLAP", self.overlap, (0, 500)),
            )
            if not low <= value <= high
        ]
        if self.overlap >= self.minimum:
            problems.append(f"CHUNK_OVERLAP ({self.overlap}) is not less than CHUNK_SIZE_MIN ({self.minimum})")
        if self.minimum > self.maximum:
            problems.append(f"CHUNK_SIZE_MIN ({self.minimum}) is more than CHUNK_SIZE_MAX ({self.maximum})")
        if problems:
            raise ConfigError(
                "The chunk sizes do not fit: " + "; ".join(problems) + ".",
                suggestion="Set CHUNK_SIZE_MIN, CHUNK_SIZE_MAX and CHUNK_OVERLAP to values that fit together.",
            )

    def cap(self, limit: int) -> _Sizes:
        """Return sizes that a model which reads `limit` tokens can see whole; these sizes where it sees them anyhow."""
        if limit >= self.maximum:
            return self
        maximum = max(1, limit)
        minimum = self.minimum if self.minimum <= maximum else maximum // 2
        return _Sizes(minimum, maximum, min(self.overlap, maximum // 4))


_LOGGER = logging.getLogger(__name__)


class ClauseChunker:
    """Cut standards, handbooks and the like by clause (`ports.Chunker`).

    Sizes are tokens of the collection's own tokenizer. The maximum is also capped by what the model reads less the
    heading path, so that no part of a chunk is invisible to its vector; then overlap shrinks to a quarter at most, and
    the minimum to half where it would exceed the maximum.

    Args:
        size_min: below this, neighbours are merged where the heading between them is only guessed (50..500).
        size_max: no chunk is longer (200..2000).
        overlap: tokens of whole sentences that parts of one clause may share (0..500, less than `size_min`).

    Raises:
        ConfigError: values outside their ranges, or contradicting; all problems in one message (A-REQ-INGEST-005).
    """

    def __init__(self, size_min: int = 200, size_max: int = 800, overlap: int = 100) -> None:
        self._sizes = _Sizes(size_min, size_max, overlap)
        self._sizes.check()
        self.version = f"clauses/15 min={size_min} max={size_max} overlap={overlap}"

    def chunk(self, document: Document, document_type: str, measure: TokenMeasure) -> list[Chunk]:
        """Cut, classify and describe every passage, in order."""
        facts = SectionFacts(document)
        paths = HeadingPaths(document, measure)
        sizes = self._sizes.cap(measure.max_tokens - paths.limit - CONTEXT_JOIN)
        if sizes is not self._sizes:
            log_event(
                _LOGGER,
                logging.INFO,
                "chunk_size_capped",
                document_id=document.id,
                configured_max=self._sizes.maximum,
                effective_max=sizes.maximum,
                model_max_tokens=measure.max_tokens,
            )

        def capacity(section: int | None) -> int:
            return max(1, min(self._sizes.maximum, measure.max_tokens - paths.context(section)[1] - CONTEXT_JOIN))

        passages = passages_of(document, facts, measure, capacity)
        passages = merge_small(document, passages, facts, sizes.minimum, capacity)
        cutter = Cutter(document.text, measure, sizes.overlap, Headlines(document))
        pieces = [piece for passage in check_each(passages) for piece in cutter.cut(passage, capacity(passage.section))]
        chunks = describe_pieces(document, document_type, facts, paths, pieces)
        if paths.truncated:
            log_event(
                _LOGGER, logging.INFO, "section_hierarchy_truncated", document_id=document.id, levels=HIERARCHY_LEVELS
            )
        return with_boxes(document, chunks)


_SMALL = 0.625
"""Share of the longest chunk below which a passage looks for company."""
_SHARED = 0.125
"""Share of the longest chunk that parts of one passage may have in common, in whole sentences."""
_LEAST = 64
_ALIKE = {SectionRole.OVERVIEW: SectionRole.BODY, SectionRole.EXAMPLE: SectionRole.BODY}
"""Roles of sections that may be joined to those of another."""


class ContextualChunker:
    """Cut documents of any kind by their sections (`ports.Chunker`).

    Sizes are tokens of the collection's own tokenizer. A chunk is as long as the model reads, less its heading path,
    where that is little (256 or 512 tokens); else no longer than `most`, and where the sections allow it no shorter
    than five eighths of that. Parts of a passage that was cut share up to an eighth in whole sentences.

    A chunk that holds several sections is cited by the one around them all; their headings stand in its text.

    Args:
        most: tokens of a chunk, at most (64..8000).

    Raises:
        ConfigError: `most` lies outside.
    """

    def __init__(self, most: int = 800) -> None:
        if not _LEAST <= most <= 8000:
            raise ConfigError(
                f"Chunks of at most {most} tokens are not possible.", suggestion=f"Choose {_LEAST} to 8000."
            )
        self._most = most
        self.version = f"contextual/14 max={most}"

    def chunk(self, document: Document, document_type: str, measure: TokenMeasure) -> list[Chunk]:
        """Cut, classify and describe every passage, in order."""
        facts = SectionFacts(document)
        paths = HeadingPaths(document, measure)

        def capacity(section: int | None) -> int:
            return max(1, min(self._most, measure.max_tokens - paths.context(section)[1] - CONTEXT_JOIN))

        longest = max(1, min(self._most, measure.max_tokens - paths.limit - CONTEXT_JOIN))
        passages = passages_of(document, facts, measure, capacity)
        passages = _Joiner(document, facts, capacity, round(longest * _SMALL)).join(passages)
        cutter = Cutter(document.text, measure, round(longest * _SHARED), Headlines(document))
        pieces = [piece for passage in check_each(passages) for piece in cutter.cut(passage, capacity(passage.section))]
        return with_boxes(document, describe_pieces(document, document_type, facts, paths, pieces))


@dataclass(frozen=True, slots=True)
class _Joiner:
    """Join small passages from the deepest sections upward.

    Attributes:
        document: whose passages they are.
        facts: what its sections are.
        capacity: tokens that a chunk of a section may have.
        minimum: tokens below which a passage looks for company.
    """

    document: Document
    facts: SectionFacts
    capacity: Callable[[int | None], int]
    minimum: int

    def join(self, passages: Sequence[BlockRun]) -> list[BlockRun]:
        """Join within each section of the deepest level, then within those around them, up to the chapters."""
        paths = {section.index: self._path(section.index) for section in self.document.sections}
        top = self._top()
        found = list(passages)
        for depth in range(max(map(len, paths.values()), default=0) - 1, top - 1, -1):
            found = self._level(found, paths, depth)
        return found

    def _path(self, section: int) -> tuple[int, ...]:
        return tuple(above.index for above in self.document.ancestors(section))

    def _top(self) -> int:
        """Tell at which depth of the tree, from 0, the chapters are: below a title that holds everything."""
        depth = 0
        level = [section for section in self.document.sections if section.parent is None]
        while len(level) == 1:
            below = [section for section in self.document.sections if section.parent == level[0].index]
            if not below:
                break
            level = below
            depth += 1
        return depth

    def _level(self, passages: Sequence[BlockRun], paths: dict[int, tuple[int, ...]], depth: int) -> list[BlockRun]:
        """Join neighbours that stand in the same section of one depth."""
        return join_passages(
            passages, lambda last, passage: self._may_join(last, passage, paths, depth), self._together
        )

    def _may_join(self, first: BlockRun, second: BlockRun, paths: dict[int, tuple[int, ...]], depth: int) -> bool:
        if min(first.tokens, second.tokens) >= self.minimum or first.clause != second.clause:
            return False
        if _node(first, paths, depth) is None or _node(first, paths, depth) != _node(second, paths, depth):
            return False
        if self.facts.is_informative(first.section) != self.facts.is_informative(second.section):
            return False
        if self._role(first) is not self._role(second):
            return False
        # block by block they may count more tokens than they will have together, and never fewer by much
        return first.tokens + second.tokens <= self.capacity(self.document.common(first.section, second.section))

    def _role(self, passage: BlockRun) -> SectionRole:
        role = self.facts.role(passage.section)
        return _ALIKE.get(role, role)

    def _together(self, first: BlockRun, second: BlockRun) -> BlockRun:
        section = self.document.common(first.section, second.section)
        blocks = [*first.blocks, *second.blocks]
        return BlockRun(section, self.facts.clause(section), blocks, first.tokens + second.tokens)


def _node(passage: BlockRun, paths: dict[int, tuple[int, ...]], depth: int) -> int | None:
    """Return the section of a depth that holds a passage, None where it stands above or outside all of them."""
    path = paths.get(passage.section, ()) if passage.section is not None else ()
    return path[depth] if depth < len(path) else None
