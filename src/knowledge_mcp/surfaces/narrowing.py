"""What narrows a search, as the engine's filter."""

from __future__ import annotations

from collections.abc import Sequence

from knowledge_mcp.model.chunk import ChunkType
from knowledge_mcp.model.query import And, Equals, Filter, In, Prefix


def narrowed(
    *,
    document_ids: Sequence[str] | None,
    document_type: str | None,
    chunk_type: ChunkType | None,
    normative_only: bool,
    clause_number: str | None,
    clause_exact: bool = False,
) -> Filter | None:
    """Build the engine's filter of what may narrow a search; None where nothing does."""
    parts: list[Filter] = []
    if document_type is not None:
        parts.append(Equals("document_type", document_type))
    if chunk_type is not None:
        parts.append(Equals("chunk_type", chunk_type.value))
    if normative_only:
        parts.append(Equals("normative", True))
    if document_ids is not None:
        parts.append(among_documents(document_ids))
    if clause_number is not None:
        number = clause_number.strip().rstrip(".")
        parts.append(Equals("clause_number", number) if clause_exact else Prefix("clause_number", number))
    if len(parts) > 1:
        return And(tuple(parts))
    return parts[0] if parts else None


def among_documents(ids: Sequence[str]) -> Filter:
    """Build the filter that keeps these documents only."""
    return Equals("document_id", ids[0]) if len(ids) == 1 else In("document_id", tuple(ids))
