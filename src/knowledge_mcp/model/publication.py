"""A document that is written to a store in one step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from knowledge_mcp.model.chunk import EmbeddedChunk
from knowledge_mcp.model.collection import DocumentRecord
from knowledge_mcp.model.structure import NO_STRUCTURE, DocumentStructure

__all__ = ["WholeDocument"]


@dataclass(frozen=True, slots=True)
class WholeDocument:
    """Hold all that a store keeps of one document.

    Attributes:
        record: with `chunk_count` chunks.
        text: the canonical text.
        chunks: every chunk with its vector, each id once.
        structure: sections and pages.
    """

    record: DocumentRecord
    text: str
    chunks: Sequence[EmbeddedChunk]
    structure: DocumentStructure = NO_STRUCTURE
