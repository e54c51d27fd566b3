"""From the engine's values to what the REST service answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from knowledge_mcp.model.chunk import Chunk
from knowledge_mcp.model.collection import DocumentRecord, file_name_of
from knowledge_mcp.model.errors import ErrorCode
from knowledge_mcp.model.library import CollectionSummary, Deposited, IngestJob, LibraryDocument
from knowledge_mcp.model.query import Hit
from knowledge_mcp.transports.rest.answers import (
    AcceptedAnswer,
    CollectionAnswer,
    DocumentAnswer,
    DocumentListed,
    IngestAnswer,
    JobAnswer,
    JobFailure,
    Leg,
    Passage,
    PassageMetadata,
    Progress,
    ResultMetadata,
    SearchResult,
)
from knowledge_mcp.transports.rest.errors import CODES
from knowledge_mcp.transports.shared.keys import Key


def ingested(done: Deposited, key: Key) -> IngestAnswer:
    """Tell what became of a deposit; who may not read the collection is not told what was there before."""
    if not key.sees_all_of(done.collection):
        done = replace(done, unchanged=False, replaced=False, embedded=done.chunks, reused=0)
    return IngestAnswer(
        status="ingested", doc_id=done.document_id, chunks=done.chunks, collection=done.collection, title=done.title,
        source=done.source, pages=done.pages, unchanged=done.unchanged, replaced=done.replaced, embedded=done.embedded,
        reused=done.reused, warnings=list(done.warnings),
    )  # fmt: skip


_STATUS: Mapping[str, int] = {
    ErrorCode.CONFIG_ERROR: 500,
    ErrorCode.CONNECTION_ERROR: 503,
    ErrorCode.TIMEOUT_ERROR: 504,
    ErrorCode.AUTH_ERROR: 502,
    ErrorCode.NOT_FOUND: 404,
    ErrorCode.INVALID_INPUT: 422,
    ErrorCode.RATE_LIMITED: 429,
    ErrorCode.INTERNAL_ERROR: 500,
}
"""The status that a request would have been answered with, by what is kept of a failed job."""


def accepted(job: IngestJob) -> AcceptedAnswer:
    """Tell that a deposit was accepted."""
    return AcceptedAnswer(status="accepted", job_id=job.id)


def job_answer(job: IngestJob, key: Key) -> JobAnswer:
    """Tell a key how far a job is."""
    more: dict[str, Any] = {}
    if job.result is not None:
        more["result"] = ingested(job.result, key)
    if job.state == "failed":
        status = _STATUS.get(job.error, 500)
        more["error"] = JobFailure(
            error=CODES[status], detail=job.message, status_code=status, suggestion=job.suggestion
        )
    if job.documents:
        more |= {"kind": job.kind, "documents": list(job.documents)}
    return JobAnswer.model_validate(
        {
            "job_id": job.id,
            "state": job.state,
            "progress": Progress(done=job.done, message=job.message),
            "collection": job.collection,
            "source": job.source,
            "created_at": job.created_at,
            "updated_at": job.updated_at,
            **more,
        }
    )


def collection_listed(summary: CollectionSummary) -> CollectionAnswer:
    """Describe a collection."""
    return CollectionAnswer(
        name=summary.name, doc_count=summary.documents, chunk_count=summary.chunks, token_count=summary.tokens,
        embedding_model=summary.embedding_model, created_at=summary.created_at,
        **({"read_only": True} if summary.read_only else {}),
    )  # fmt: skip


def passage(chunk: Chunk, collection: str, record: DocumentRecord | None) -> Passage:
    """Show a passage of a document."""
    return Passage(text=chunk.content, metadata=PassageMetadata(**_place(chunk, collection, record)))


def result(hit: Hit, collection: str, record: DocumentRecord | None) -> SearchResult:
    """Show a passage that was found."""
    more: dict[str, Any] = {
        name: Leg(rank=leg.rank, score=leg.score)
        for name, leg in (("dense", hit.dense), ("lexical", hit.lexical))
        if leg is not None
    }
    about = ResultMetadata(**_place(hit.chunk, collection, record), citation=hit.citation)
    if hit.also_in:
        more["also_in"] = list(hit.also_in)
    return SearchResult(text=hit.chunk.content, score=hit.score, metadata=about, **more)


def _place(chunk: Chunk, collection: str, record: DocumentRecord | None) -> dict[str, Any]:
    place: dict[str, Any] = {
        "source": chunk.source_path,
        "filename": record.file_name if record is not None else file_name_of(chunk.source_path),
        "page": chunk.page_numbers[0] if chunk.page_numbers else None,
        "pages": list(chunk.page_numbers),
        "collection": collection,
        "doc_id": chunk.document_id,
        "chunk_id": chunk.id,
        "chunk_index": chunk.index,
        "title": chunk.document_title,
        "section": chunk.section_title,
        "section_hierarchy": list(chunk.section_hierarchy),
        "document_type": chunk.document_type,
        "chunk_type": str(chunk.chunk_type),
        "normative": chunk.normative,
        "context": chunk.context,
        "span": [chunk.span.start, chunk.span.end],
        "token_count": chunk.token_count,
        "page_labels": list(chunk.page_labels),
        "references": list(chunk.references),
        "parent_chunk_id": chunk.parent_chunk_id,
        "document_metadata": dict(record.metadata) if record is not None else {},
    }
    if chunk.clause_number is not None:
        place["clause_number"] = chunk.clause_number
    if chunk.lines is not None:
        place["lines"] = list(chunk.lines)
    return place


def _known(record: DocumentRecord, collection: str) -> dict[str, Any]:
    return {
        "doc_id": record.id, "title": record.title, "source": record.source_path, "filename": record.file_name,
        "collection": collection, "pages": record.pages, "size": record.size, "sha256": record.sha256,
        "token_count": record.token_count,
        "embedding_model": record.embedding_model, "pipeline": record.pipeline, "media_type": record.media_type,
        "document_type": record.document_type, "status": str(record.status), "warnings": list(record.warnings),
        "created_at": record.created_at, "updated_at": record.updated_at, "metadata": dict(record.metadata),
    }  # fmt: skip


def document_listed(record: DocumentRecord, collection: str) -> DocumentListed:
    """Show a document in a list."""
    return DocumentListed(**_known(record, collection), chunks=record.chunk_count)


def document(held: LibraryDocument, *, limit: int | None, offset: int, text: bool) -> DocumentAnswer:
    """Show a document, or the part of its passages that is wanted."""
    wanted = held.chunks[offset : None if limit is None else offset + limit]
    more: dict[str, Any] = {"text": held.text} if text else {}
    return DocumentAnswer(
        **_known(held.record, held.collection),
        chunks=[passage(chunk, held.collection, held.record) for chunk in wanted],
        chunk_count=len(held.chunks),
        **more,
    )
