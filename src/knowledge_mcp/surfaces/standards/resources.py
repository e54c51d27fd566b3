"""Addresses that can be read: the list of documents, a document's text and outline, a passage; what completes them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from knowledge_mcp.model.chunk import ChunkType
from knowledge_mcp.model.collection import DocumentRecord
from knowledge_mcp.model.document import DocumentType
from knowledge_mcp.ports import Knowledge
from knowledge_mcp.surfaces.contract import Completer, Resource, ResourceContent
from knowledge_mcp.surfaces.shortening import compact, shorten
from knowledge_mcp.surfaces.standards.evidence_requests import OutlineRequest
from knowledge_mcp.surfaces.standards.outlines import outline
from knowledge_mcp.surfaces.standards.passages import document_uri, section_label

__all__ = ["COMPLETERS", "RESOURCES"]

_MAX_LIST_CHARACTERS = 200_000


def _list_documents(knowledge: Knowledge, _: str) -> ResourceContent:
    records = knowledge.documents()
    documents = [{**_facts(record), "uri": document_uri(record.id)} for record in records]
    listed = shorten({"documents": documents, "total_documents": len(documents)}, "documents", _MAX_LIST_CHARACTERS)
    return ResourceContent(compact(listed), "application/json", {})


def _read_document(knowledge: Knowledge, document_id: str) -> ResourceContent:
    # The text is the canonical text and nothing else, so that spans and quotes hold; facts travel beside it.
    record = knowledge.document(document_id)
    return ResourceContent(knowledge.document_text(document_id), "text/plain", _facts(record))


def _read_chunk(knowledge: Knowledge, chunk_id: str) -> ResourceContent:
    chunk, citation = knowledge.chunk(chunk_id)
    facts: dict[str, Any] = {
        "document_id": chunk.document_id,
        "document_title": chunk.document_title,
        "document_uri": document_uri(chunk.document_id),
        "citation": citation,
        "section": section_label(chunk),
        "section_hierarchy": list(chunk.section_hierarchy),
        "page_numbers": list(chunk.page_numbers),
        "chunk_type": chunk.chunk_type.value,
        "normative": chunk.normative,
        "span": [chunk.span.start, chunk.span.end],
    }
    return ResourceContent(chunk.content, "text/plain", facts)


def _read_outline(knowledge: Knowledge, document_id: str) -> ResourceContent:
    record = knowledge.document(document_id)
    told = outline(knowledge, OutlineRequest(document_id=record.id, depth=20, limit=200))
    return ResourceContent(compact(told.model_dump(mode="json", exclude_unset=True)), "application/json", {})


def _facts(record: DocumentRecord) -> dict[str, Any]:
    return {
        "document_id": record.id,
        "document_title": record.title,
        "document_type": record.document_type,
        "source_path": record.source_path,
        "pages": record.pages,
        "chunk_count": record.chunk_count,
        "ingested_at": record.updated_at,
        "status": record.status.value,
        "metadata": dict(record.metadata),
        "warnings": list(record.warnings),
    }


def _complete_document(knowledge: Knowledge, typed: str) -> list[str]:
    """List ids that begin with what was typed, then those that hold it, then those whose title does."""
    wanted = typed.casefold()
    places: list[tuple[int, str]] = []
    for record in knowledge.documents():
        place = record.id.casefold().find(wanted)
        if place >= 0 or wanted in record.title.casefold():
            places.append((min(place, 1) if place >= 0 else 2, record.id))
    return [name for _, name in sorted(places)]


def _complete_of(values: Iterable[str]) -> Completer:
    known = tuple(values)
    return lambda _, typed: [value for value in known if value.startswith(typed.casefold())]


RESOURCES = (
    Resource(
        uri="knowledge://documents",
        name="documents",
        title="All documents",
        description="Every ingested document: id, title, type, pages, passages, time of ingest, address of its text.",
        media_type="application/json",
        read=_list_documents,
    ),
    Resource(
        uri="knowledge://documents/{document_id}",
        name="document",
        title="A document's text",
        description="The whole text of one document, each passage once, in order.",
        media_type="text/plain",
        read=_read_document,
        parameter="document_id",
    ),
    Resource(
        uri="knowledge://outlines/{document_id}",
        name="outline",
        title="A document's outline",
        description="The first 200 headings of one document, with clause numbers and pages.",
        media_type="application/json",
        read=_read_outline,
        parameter="document_id",
    ),
    Resource(
        uri="knowledge://chunks/{chunk_id}",
        name="chunk",
        title="A passage",
        description="One passage word for word; its place and citation are in the answer's metadata.",
        media_type="text/plain",
        read=_read_chunk,
        parameter="chunk_id",
    ),
)
"""All resources of the surface, in the order in which they are listed."""

COMPLETERS: dict[str, Completer] = {
    "chunk_type": _complete_of(ChunkType),
    "document_id": _complete_document,
    "document_type": _complete_of(DocumentType),
    "first": _complete_document,
    "second": _complete_document,
    "standard": _complete_document,
}
"""What completes an argument, by the argument's name."""
