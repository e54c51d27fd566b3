"""The chunker for standards: a chunk never mixes clauses, so that each one is evidence for the clause it cites."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from knowledge_mcp.chunking.prose.cutting import Cutter
from knowledge_mcp.chunking.prose.describing import CHUNK_NAMESPACE, CONTEXT_JOIN, described, with_boxes
from knowledge_mcp.chunking.prose.headers import HIERARCHY_LEVELS, HeadingPaths
from knowledge_mcp.chunking.prose.headlines import Headlines
from knowledge_mcp.chunking.prose.passages import merge_small, passages_of
from knowledge_mcp.language.clauses import section_facts
from knowledge_mcp.model.chunk import Chunk
from knowledge_mcp.model.document import Document
from knowledge_mcp.model.errors import ConfigError
from knowledge_mcp.ports import TokenMeasure
from knowledge_mcp.support.checkpoints import checked
from knowledge_mcp.support.events import log_event

__all__ = [
    "CHUNK_NAMESPACE",
    "ChunkSizes",
    "ClauseChunker",
]

_MINIMUM = (50, 500)
_MAXIMUM = (200, 2000)
_OVERLAP = (0, 500)


@dataclass(frozen=True, slots=True)
class ChunkSizes:
    """Hold sizes in tokens: smallest wanted, largest allowed, and what parts of one clause may share.

    Raises:
        ConfigError: values outside their ranges, or contradicting; all problems in one message.
    """

    minimum: int
    maximum: int
    overlap: int
    checked: bool = True

    def __post_init__(self) -> None:
        if not self.checked:
            return
        problems = [
            f"{name} is {value}, which is outside {low}..{high}"
            for name, value, (low, high) in (
                ("CHUNK_SIZE_MIN", self.minimum, _MINIMUM),
                ("CHUNK_SIZE_MAX", self.maximum, _MAXIMUM),
                ("CHUNK_OVERLAP", self.overlap, _OVERLAP),
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

    def capped(self, limit: int) -> ChunkSizes:
        """Return sizes that a model which reads `limit` tokens can see whole; these sizes where it sees them anyhow."""
        if limit >= self.maximum:
            return self
        maximum = max(1, limit)
        minimum = self.minimum if self.minimum <= maximum else maximum // 2
        return ChunkSizes(minimum, maximum, min(self.overlap, maximum // 4), checked=False)


_LOGGER = logging.getLogger(__name__)


class ClauseChunker:
    """Cut standards, handbooks and the like by clause (`ports.Chunker`).

    Sizes are tokens of the collection's own tokenizer. The maximum is also capped by what the model reads less the
    heading path, so that no part of a chunk is invisible to its vector; then overlap shrinks to a quarter at most, and
    the minimum to half where it would exceed the maximum.

    Args:
        size_min: below this, neighbours inside one clause, or unnumbered sections side by side, are merged (50..500).
        size_max: no chunk is longer (200..2000).
        overlap: tokens of whole sentences that parts of one clause may share (0..500, less than `size_min`).

    Raises:
        ConfigError: values outside their ranges, or contradicting; all problems in one message (A-REQ-INGEST-005).
    """

    def __init__(self, size_min: int = 200, size_max: int = 800, overlap: int = 100) -> None:
        self._sizes = ChunkSizes(size_min, size_max, overlap)

    @property
    def version(self) -> str:
        """Name the chunker, its version and its settings."""
        sizes = self._sizes
        return f"clauses/3 min={sizes.minimum} max={sizes.maximum} overlap={sizes.overlap}"

    def chunk(self, document: Document, document_type: str, measure: TokenMeasure) -> list[Chunk]:
        """Cut, classify and describe every passage, in order."""
        facts = section_facts(document)
        paths = HeadingPaths(document, measure)
        sizes = self._sizes.capped(measure.max_tokens - paths.limit - CONTEXT_JOIN)
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
        pieces = [piece for passage in checked(passages) for piece in cutter.cut(passage, capacity(passage.section))]
        chunks = described(document, document_type, facts, paths, pieces)
        if paths.truncated:
            log_event(
                _LOGGER,
                logging.INFO,
                "section_hierarchy_truncated",
                document_id=document.id,
                levels=HIERARCHY_LEVELS,
            )
        return with_boxes(document, chunks)
