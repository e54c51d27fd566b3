"""Citations: how a passage is named so that an engineer can find it in the printed document."""

from __future__ import annotations

from knowledge_mcp.model.chunk import Chunk, Statement
from knowledge_mcp.model.collection import DocumentRecord

__all__ = ["cite", "cite_statement"]

_EDITION_KEYS = ("edition", "version")


def cite(chunk: Chunk, record: DocumentRecord | None) -> str:
    """Name a chunk by title, edition, clause and title, and page or lines.

    Example: `Weather stations (2nd edition), 5.3.1 Wind load, p. 12`.
    """
    return _join(chunk, record, chunk.section_hierarchy[-1] if chunk.section_hierarchy else chunk.section_title)


def cite_statement(statement: Statement, chunk: Chunk, record: DocumentRecord | None) -> str:
    """Name the clause of one statement, as `cite` names its chunk's."""
    if statement.clause_number is None or statement.clause_number == chunk.clause_number:
        return cite(chunk, record)
    return _join(chunk, record, statement.clause_number)


def _join(chunk: Chunk, record: DocumentRecord | None, clause: str) -> str:
    if chunk.clause_number and not _names(clause, chunk.clause_number):
        clause = f"{chunk.clause_number} {chunk.section_title}".strip()
    parts = [_title(chunk, record), clause, _place(chunk)]
    return ", ".join(part for part in parts if part)


def _names(clause: str, number: str) -> bool:
    return clause.split(" ", 1)[0].rstrip(".") == number


def _title(chunk: Chunk, record: DocumentRecord | None) -> str:
    metadata = dict(record.metadata) if record else {}
    edition = next((metadata[key] for key in _EDITION_KEYS if metadata.get(key)), "")
    if not edition or edition in chunk.document_title:
        return chunk.document_title
    return f"{chunk.document_title} ({edition})"


def _place(chunk: Chunk) -> str:
    labels = chunk.page_labels or tuple(str(number) for number in chunk.page_numbers)
    if labels:
        return f"p. {labels[0]}" if len(labels) == 1 else f"pp. {labels[0]}-{labels[-1]}"
    if chunk.lines:
        first, last = chunk.lines
        return f"line {first}" if first == last else f"lines {first}-{last}"
    return ""
