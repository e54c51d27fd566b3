"""The library's tools: from a request to `ports.Library`, here or on another machine, and back to an answer."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

from knowledge_mcp.model.call import Call
from knowledge_mcp.model.chunk import Chunk
from knowledge_mcp.model.collection import file_name_of
from knowledge_mcp.model.errors import NotFoundError
from knowledge_mcp.model.library import Deposited, IngestJob, LibraryDocument
from knowledge_mcp.model.query import Hit
from knowledge_mcp.ports import Library
from knowledge_mcp.surfaces.answers import MAX_ANSWER_CHARACTERS, in_words, round_score, size_of
from knowledge_mcp.surfaces.contract import JobProgress, Surface, Tool
from knowledge_mcp.surfaces.following import follow
from knowledge_mcp.surfaces.rag import shapes

_RESERVE = 1000
"""Size kept free for what the contract may add to an answer."""


def search_result(hit: Hit, collection: str) -> shapes.RagSearchResult:
    """Turn a hit into a result."""
    chunk = hit.chunk
    where = _place(chunk, collection, file_name_of(chunk.source_path), citation=hit.citation)
    return shapes.RagSearchResult.of(
        hit, text=chunk.content, score=round_score(hit.score), metadata=where, cut_from=chunk.cut_from
    )


def document_answer(document: LibraryDocument, request: shapes.DocumentRequest) -> shapes.DocumentResponse:
    """Return a document with its chunks from `offset` on: as many as requested and fit into one answer."""
    name = document.record.file_name
    record = document.record
    answer = shapes.DocumentResponse.of(
        record,
        doc_id=record.id,
        source=record.source_path,
        filename=name,
        collection=document.collection,
        metadata=dict(record.metadata),
        chunk_count=len(document.chunks),
        chunks=[],
        keep=["created_at", "updated_at"],
    )
    room = MAX_ANSWER_CHARACTERS - _RESERVE - size_of(answer.sent())
    most = len(document.chunks) if request.limit is None else request.offset + request.limit
    running = _TextOfChunks(document)
    chunks: list[shapes.DocumentChunk] = []
    for chunk in document.chunks[request.offset : most]:
        passage = shapes.DocumentChunk(text=chunk.content, metadata=_place(chunk, document.collection, name))
        room -= size_of(passage.sent()) + 1
        if request.include_text:
            place_of_text = request.offset + len(chunks)
            room -= size_of(running.between(place_of_text, place_of_text + 1))
        if room < 0 and chunks:
            break
        chunks.append(passage)
    end = request.offset + len(chunks)
    more: dict[str, Any] = {"next_offset": end} if chunks and end < len(document.chunks) else {}
    if request.include_text and chunks:
        more["text"] = running.between(request.offset, end)
    return answer.model_copy(update={"chunks": chunks, **more})


class _TextOfChunks:
    """Cut the text of a document along its chunks: what lies between two goes to the later one, overlaps come once."""

    def __init__(self, document: LibraryDocument) -> None:
        self._text = document.text
        self._ends = list(accumulate((chunk.span.end for chunk in document.chunks), max))

    def between(self, first: int, end: int) -> str:
        """Return the text of neighbouring chunks; empty if their positions are unknown."""
        if not self._ends or not self._ends[-1]:
            return ""
        last = len(self._text) if end >= len(self._ends) else self._ends[end - 1]
        return self._text[self._ends[first - 1] if first else 0 : last]


def _place(chunk: Chunk, collection: str, filename: str, *, citation: str | None = None) -> shapes.RagPassageMetadata:
    pages = chunk.page_numbers
    return shapes.RagPassageMetadata.of(
        chunk,
        source=chunk.source_path,
        page=pages[0] if pages else None,
        filename=filename,
        collection=collection,
        doc_id=chunk.document_id,
        chunk_id=chunk.id,
        chunk_index=chunk.index,
        title=chunk.document_title,
        section=chunk.section_title,
        pages=pages if len(pages) > 1 else (),
        citation=citation,
        keep=["citation"],
    )


def search(library: Library, request: shapes.RagSearchRequest) -> shapes.RagSearchResponse:
    """Answer `search`."""
    answer = library.search_in(request.collection, request.search())
    hits = [hit for hit in answer.hits if hit.score >= request.min_score]
    below = len(answer.hits) - len(hits)
    message, suggestions = answer.note, list[str]()
    if not hits:
        why, suggestions = _why_nothing(request, answer.searched_documents, below)
        message = f"{answer.note} {why}".strip()
    return shapes.RagSearchResponse.of(
        answer,
        results=[search_result(hit, request.collection) for hit in hits],
        query=request.query,
        collection=request.collection,
        total=len(hits),
        below_min_score=below,
        answerability=in_words(answer.answerability),
        message=message,
        suggestions=suggestions,
        keep=["answerability"],
    )


def ingest_url(
    library: Library, request: shapes.IngestUrlArguments, call: Call | None = None
) -> shapes.IngestUrlResponse:
    """Answer `ingest_url`: wait for it with signs of life, or answer with the id of its job."""
    deposit = request.deposit()
    if not request.wait:
        job = library.submit(deposit)
        return shapes.IngestUrlResponse(
            status="accepted",
            job_id=job.id,
            collection=request.collection,
            message="The document is being ingested. Call ingest_url_status for the result.",
        )
    done = follow(
        lambda report, cancelled: library.deposit(deposit, on_progress=report, cancelled=cancelled),
        call or Call(),
        give_up=None,  # the library notices by itself, and leaves nothing behind
    )
    return _ingest_response(done)


def ingest_url_status(library: Library, request: shapes.UrlJobRequest) -> shapes.UrlJobResponse:
    """Answer `ingest_url_status`."""
    return _job(library.job(request.job_id))


def cancel_ingest_url(library: Library, request: shapes.UrlJobRequest) -> shapes.UrlJobResponse:
    """Answer `cancel_ingest_url`."""
    return _job(library.cancel_job(request.job_id))


def list_collections(library: Library, _: shapes.ListCollectionsRequest) -> shapes.CollectionsResponse:
    """Answer `list_collections`."""
    return shapes.CollectionsResponse(
        collections=[
            shapes.CollectionEntry.of(
                each,
                doc_count=each.documents,
                chunk_count=each.chunks,
                token_count=each.tokens,
                keep=shapes.CollectionEntry.model_fields,
            )
            for each in library.collections()
        ]
    )


def get_document(library: Library, request: shapes.DocumentRequest) -> shapes.DocumentResponse:
    """Answer `get_document`."""
    try:
        document = library.find(request.doc_id.strip())
    except NotFoundError as exc:
        raise NotFoundError(f"Document not found: {request.doc_id}", suggestion=exc.suggestion) from exc
    return document_answer(document, request)


def _why_nothing(request: shapes.RagSearchRequest, documents: int, below: int) -> tuple[str, list[str]]:
    if below:
        return f"All results ({below}) are below min_score={request.min_score}.", ["Use a smaller min_score."]
    if not documents:
        return (
            f"The collection '{request.collection}' contains no documents.",
            ["Use list_collections to find one with documents, or ingest_url to add a document."],
        )
    if filters := request.filters():
        listed = ", ".join(f"{name}={value}" for name, value in filters.items())
        return f"No passage was found with these filters ({listed[:500]}).", ["Remove filters."]
    if request.mode == "keyword":
        return "No passage contains these words.", ["Try fewer words, or mode=hybrid to search by meaning too."]
    return "No passage was found.", ["Try broader terms, or another collection."]


def _ingest_response(done: Deposited) -> shapes.IngestUrlResponse:
    return shapes.IngestUrlResponse.of(
        done, status="ingested", doc_id=done.document_id, keep=["doc_id", "chunks", "collection"]
    )


def _job(job: IngestJob) -> shapes.UrlJobResponse:
    failed = job.state == "failed"
    return shapes.UrlJobResponse.of(
        job,
        job_id=job.id,
        progress=JobProgress(done=job.done, message=job.message),
        result=None if job.result is None else _ingest_response(job.result),
        failure=shapes.JobError.of(job, code=job.error or "internal_error") if failed else None,
        keep=["collection", "source"],
    )


TOOLS = (
    Tool(
        "search",
        "Search a collection",
        "Find the passages of a collection that answer a question, ranked by meaning and by words. Each result has "
        "its text, a score from 0 to 1, and its location: source, page, section, and a citation to paste. The list "
        "is empty if nothing was found.",
        search,
        items="results",
    ),
    Tool(
        "ingest_url",
        "Ingest a web document",
        "Fetch the document at an https address (a page, PDF, Office file, CSV …) and make it searchable in a "
        "collection, which is created if it does not exist. Ingesting an unchanged document again changes nothing; "
        "a changed document replaces its earlier version. Long documents take minutes: pass wait=false for a "
        "job_id.",
        ingest_url,
        writes=True,
    ),
    Tool(
        "list_collections",
        "List the collections",
        "List all collections with the number of documents in each.",
        list_collections,
        items="collections",
    ),
    Tool(
        "get_document",
        "Read a document",
        "Get a document by its id: all its chunks in order with their locations, its metadata and its source. If "
        "it is too long for one answer, continue at next_offset.",
        get_document,
        items="chunks",
    ),
    Tool(
        "ingest_url_status",
        "Get the status of an ingestion",
        "Get the progress of an ingestion that ingest_url started with wait=false, and its result once it is done.",
        ingest_url_status,
    ),
    Tool(
        "cancel_ingest_url",
        "Cancel an ingestion",
        "Stop an ingestion that ingest_url started with wait=false; nothing of it is kept.",
        cancel_ingest_url,
        writes=True,
    ),
)
"""All tools of the surface, in the order in which they are listed."""

SURFACE = Surface(
    name="rag",
    instructions=(
        "Documents in named collections (projects, teams, domains), found by meaning and by words. Use "
        "list_collections to list them, search to find passages in one of them, get_document to read a whole "
        "document, ingest_url to ingest the document at an https address. Cite `metadata.citation` (source and "
        "page) of each passage you rely on. Empty `results` mean that nothing was found; `message` says why, "
        "`degraded` what failed."
    ),
    tools=TOOLS,
)
"""The surface `rag` (specification D)."""
