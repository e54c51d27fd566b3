"""From the engine's values to the fields of an answer: where a passage stands, and as much of a document as fits."""

from __future__ import annotations

from itertools import accumulate
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

from knowledge_mcp.model.chunk import Chunk
from knowledge_mcp.model.collection import DocumentRecord, DocumentStatus
from knowledge_mcp.model.library import LibraryDocument
from knowledge_mcp.model.query import Hit
from knowledge_mcp.surfaces.rag.requests import DocumentRequest
from knowledge_mcp.surfaces.rag.responses import DocumentChunk, DocumentResponse, PassageMetadata, SearchResult
from knowledge_mcp.surfaces.shortening import MAX_ANSWER_CHARACTERS, size_of

__all__ = ["document_answer", "search_result"]

_RESERVE = 1000
"""Size kept free for what the contract may add to an answer."""


def search_result(hit: Hit, collection: str) -> SearchResult:
    """Turn a hit into a result."""
    chunk = hit.chunk
    where = _place(chunk, collection, _name_of(chunk.source_path))
    where["citation"] = hit.citation
    score = round(min(max(hit.score, 0.0), 1.0), 4)
    return SearchResult(text=chunk.content, score=score, metadata=PassageMetadata(**where))


def document_answer(document: LibraryDocument, request: DocumentRequest) -> DocumentResponse:
    """Show a document, its chunks from `offset` on: as many as are asked for and fit into one answer."""
    name = _filename(document.record)
    about = _about(document, name)
    empty = DocumentResponse(chunks=[], **about)
    room = MAX_ANSWER_CHARACTERS - _RESERVE - size_of(empty.model_dump(mode="json", exclude_unset=True))
    most = len(document.chunks) if request.limit is None else request.offset + request.limit
    running = _Running(document)
    shown: list[DocumentChunk] = []
    for chunk in document.chunks[request.offset : most]:
        place = PassageMetadata(**_place(chunk, document.collection, name))
        passage = DocumentChunk(text=chunk.content, metadata=place)
        room -= size_of(passage.model_dump(mode="json", exclude_unset=True)) + 1
        if request.include_text:
            place_of_text = request.offset + len(shown)
            room -= size_of(running.between(place_of_text, place_of_text + 1))
        if room < 0 and shown:
            break
        shown.append(passage)
    end = request.offset + len(shown)
    more: dict[str, Any] = {"next_offset": end} if shown and end < len(document.chunks) else {}
    if request.include_text and shown:
        more["text"] = running.between(request.offset, end)
    return DocumentResponse(chunks=shown, **about, **more)


def _about(document: LibraryDocument, name: str) -> dict[str, Any]:
    record = document.record
    told: dict[str, Any] = {
        "doc_id": record.id,
        "title": record.title,
        "source": record.source_path,
        "collection": document.collection,
        "metadata": dict(record.metadata),
        "chunk_count": len(document.chunks),
        "created_at": record.created_at,
        "updated_at": record.updated_at,
    }
    if name:
        told["filename"] = name
    if record.pages:
        told["pages"] = record.pages
    if record.status is not DocumentStatus.READY:
        told["status"] = record.status.value
    if record.warnings:
        told["warnings"] = list(record.warnings)
    return told


class _Running:
    """Cut the text of a document along its chunks: what lies between two goes to the later one, overlaps come once."""

    def __init__(self, document: LibraryDocument) -> None:
        self._text = document.text
        self._ends = list(accumulate((chunk.span.end for chunk in document.chunks), max))

    def between(self, first: int, end: int) -> str:
        """Return the text of neighbouring chunks; empty where it is not known where they stand."""
        if not self._ends or not self._ends[-1]:
            return ""
        last = len(self._text) if end >= len(self._ends) else self._ends[end - 1]
        return self._text[self._ends[first - 1] if first else 0 : last]


def _place(chunk: Chunk, collection: str, filename: str) -> dict[str, Any]:
    pages = chunk.page_numbers
    told: dict[str, Any] = {
        "source": chunk.source_path,
        "page": pages[0] if pages else None,
        "collection": collection,
        "doc_id": chunk.document_id,
        "chunk_id": chunk.id,
        "chunk_index": chunk.index,
        "title": chunk.document_title,
    }
    if filename:
        told["filename"] = filename
    if chunk.section_title:
        told["section"] = chunk.section_title
    if len(pages) > 1:
        told["pages"] = list(pages)
    if chunk.clause_number:
        told["clause_number"] = chunk.clause_number
    if chunk.lines is not None:
        told["lines"] = list(chunk.lines)
    told["chunk_type"] = chunk.chunk_type.value
    if chunk.normative:
        told["normative"] = True
    return told


def _filename(record: DocumentRecord) -> str:
    return dict(record.metadata).get("filename") or _name_of(record.source_path)


def _name_of(source: str) -> str:
    """Name the file that a source names; empty where it names none."""
    path = urlsplit(source).path if "://" in source else source
    return PurePosixPath(unquote(path).replace("\\", "/")).name
