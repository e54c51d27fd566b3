"""Chunkers that follow the section tree: by clause for standards, in sizes that suit the model for mixed libraries.

A chunk of a standard never mixes clauses, so that each one is evidence for the clause it cites. In a library, what
belongs together in the section tree stays together: a section that fits is one chunk, small neighbours are joined
under the section that contains both, and only what is too long is split, at paragraphs, sentences, rows. Chapters are
never mixed, nor are numbered clauses.
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
    """Sizes in tokens: preferred minimum, maximum, and overlap of parts of one clause."""

    minimum: int
    maximum: int
    overlap: int

    def check(self) -> None:
        """Reject values outside their ranges, or contradictory ones; all problems in one message."""
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
        """Return sizes that fit a model that reads `limit` tokens; unchanged if they already do."""
        if limit >= self.maximum:
            return self
        maximum = max(1, limit)
        minimum = self.minimum if self.minimum <= maximum else maximum // 2
        return _Sizes(minimum, maximum, min(self.overlap, maximum // 4))


_LOGGER = logging.getLogger(__name__)


class ClauseChunker:
    """Split standards, handbooks and similar documents by clause (`ports.Chunker`).

    Sizes are tokens of the collection's own tokenizer. The maximum is also capped by what the model reads minus the
    heading path, so that a vector covers all of its chunk; then the overlap is at most a quarter of it, and
    the minimum becomes half of it if it would exceed it.

    Args:
        size_min: below this, neighbours are merged if the heading between them is only guessed (50..500).
        size_max: maximum tokens of a chunk (200..2000).
        overlap: tokens of whole sentences that parts of one clause may share (0..500, less than `size_min`).

    Raises:
        ConfigError: values outside their ranges, or contradictory; all problems in one message (A-REQ-INGEST-005).
    """

    def __init__(self, size_min: int = 200, size_max: int = 800, overlap: int = 100) -> None:
        self._sizes = _Sizes(size_min, size_max, overlap)
        self._sizes.check()
        self.version = f"clauses/26 min={size_min} max={size_max} overlap={overlap}"

    def chunk(self, document: Document, document_type: str, measure: TokenMeasure) -> list[Chunk]:
        """Split, classify and describe every passage, in order."""
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
"""Share of the longest chunk below which a passage is joined with neighbours if possible."""
_SHARED = 0.125
"""Share of the longest chunk that parts of one passage may share, in whole sentences."""
_LEAST = 64
_ALIKE = {SectionRole.OVERVIEW: SectionRole.BODY, SectionRole.EXAMPLE: SectionRole.BODY}
"""Roles of sections that may be joined with those of another role."""


class ContextualChunker:
    """Split documents of any kind by their sections (`ports.Chunker`).

    Sizes are tokens of the collection's own tokenizer. If the model reads little (256 or 512 tokens), a chunk is as
    long as the model reads, minus its heading path; otherwise at most `most`, and, if the sections allow it, at least
    five eighths of that. Parts of a passage that was split share up to an eighth in whole sentences.

    A chunk that contains several sections is cited by their common enclosing section; their headings are in its text.

    Args:
        most: maximum tokens of a chunk (64..8000).

    Raises:
        ConfigError: `most` is outside its range.
    """

    def __init__(self, most: int = 800) -> None:
        if not _LEAST <= most <= 8000:
            raise ConfigError(
                f"Chunks of at most {most} tokens are not possible.", suggestion=f"Choose {_LEAST} to 8000."
            )
        self._most = most
        self.version = f"contextual/15 max={most}"

    def chunk(self, document: Document, document_type: str, measure: TokenMeasure) -> list[Chunk]:
        """Split, classify and describe every passage, in order."""
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
    """Join small passages, from the deepest sections upwards.

    Attributes:
        document: the document of the passages.
        facts: the roles of its sections.
        capacity: maximum tokens of a chunk of a section.
        minimum: passages with fewer tokens are joined if possible.
    """

    document: Document
    facts: SectionFacts
    capacity: Callable[[int | None], int]
    minimum: int

    def join(self, passages: Sequence[BlockRun]) -> list[BlockRun]:
        """Join within each section of the deepest level, then within the enclosing ones, up to the chapters."""
        paths = {section.index: self._path(section.index) for section in self.document.sections}
        top = self._top()
        found = list(passages)
        for depth in range(max(map(len, paths.values()), default=0) - 1, top - 1, -1):
            found = self._level(found, paths, depth)
        return found

    def _path(self, section: int) -> tuple[int, ...]:
        return tuple(above.index for above in self.document.ancestors(section))

    def _top(self) -> int:
        """Return the depth of the chapters in the tree, from 0: below a title that contains everything."""
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
        """Join neighbours in the same section of one depth."""
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
        # counted block by block they may have more tokens than together, and never far fewer
        return first.tokens + second.tokens <= self.capacity(self.document.common(first.section, second.section))

    def _role(self, passage: BlockRun) -> SectionRole:
        role = self.facts.role(passage.section)
        return _ALIKE.get(role, role)

    def _together(self, first: BlockRun, second: BlockRun) -> BlockRun:
        section = self.document.common(first.section, second.section)
        blocks = [*first.blocks, *second.blocks]
        return BlockRun(section, self.facts.clause(section), blocks, first.tokens + second.tokens)


def _node(passage: BlockRun, paths: dict[int, tuple[int, ...]], depth: int) -> int | None:
    """Return the section of a depth that contains a passage, None if it is above or outside all of them."""
    path = paths.get(passage.section, ()) if passage.section is not None else ()
    return path[depth] if depth < len(path) else None
