"""ChromaDB collections whose names and contents a specification prescribes, filled from one of our collections.

A plain client finds there exactly what the specification describes: only visible chunks, and no replaced versions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from knowledge_mcp.model.chunk import Chunk
from knowledge_mcp.model.collection import DocumentRecord


@dataclass(frozen=True, slots=True)
class Profile:
    """How documents and chunks are stored in the two collections that a specification prescribes.

    Entry ids are the chunk ids and document ids. A chunk's entry has its vector and its content; a document's entry has
    a zero vector and its title. Distances are squared L2.

    Attributes:
        chunks, documents: names of the two collections.
        chunk_metadata: builds a chunk's metadata from the chunk and its document's record.
        document_metadata: builds a document's metadata.
    """

    chunks: str
    documents: str
    chunk_metadata: Callable[[Chunk, DocumentRecord], Mapping[str, Any]]
    document_metadata: Callable[[DocumentRecord], Mapping[str, Any]]


def _chunk_metadata(chunk: Chunk, record: DocumentRecord) -> Mapping[str, Any]:
    return {
        "application_ref": record.label("application_ref"),
        "document_id": chunk.document_id,
        "source_file": record.label("source_file") or record.source_path.rpartition("/")[2],
        "document_type": chunk.document_type,
        "page_numbers": ",".join(map(str, chunk.page_numbers)),
        "chunk_index": chunk.index,
        "total_chunks": record.chunk_count,
        "extraction_method": record.label("extraction_method") or "text_layer",
        "char_count": len(chunk.content),
        "word_count": len(chunk.content.split()),
    }


def _document_metadata(record: DocumentRecord) -> Mapping[str, Any]:
    return {
        "file_path": record.label("file_path") or record.source_path,
        "file_hash": record.sha256,
        "application_ref": record.label("application_ref"),
        "document_type": record.document_type,
        "chunk_count": record.chunk_count,
        "ingested_at": record.updated_at,
        "extraction_method": record.label("extraction_method") or "text_layer",
        "contains_drawings": record.label("contains_drawings") == "true",
    }


PLANNING = Profile("application_docs", "document_registry", _chunk_metadata, _document_metadata)
"""The planning specification, B-FR-008."""

PROFILES: Mapping[str, Profile] = MappingProxyType({"application_docs": PLANNING})
"""Profiles by the name of our collection."""
