"""The planning tools: from a request to the service that ingests documents, and back to an answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

from knowledge_mcp.engine.jobs.journal import Job
from knowledge_mcp.engine.jobs.running import RunningJob
from knowledge_mcp.engine.planning.service import PlanningService
from knowledge_mcp.engine.planning.values import PlanningError
from knowledge_mcp.model.call import Call
from knowledge_mcp.model.chunk import Chunk
from knowledge_mcp.model.collection import DocumentRecord
from knowledge_mcp.model.errors import CancelledError, InternalError, InvalidInputError, KnowledgeError, NotFoundError
from knowledge_mcp.model.query import Filter, Hit, In, SearchAnswer, SearchMode, SearchQuery
from knowledge_mcp.ports import Knowledge
from knowledge_mcp.support.wording import how_many, list_first
from knowledge_mcp.surfaces.arguments import among_documents
from knowledge_mcp.surfaces.contract import JobProgress, Surface, Tool
from knowledge_mcp.surfaces.following import watch
from knowledge_mcp.surfaces.planning import shapes


def ingest_document(
    service: PlanningService, request: shapes.IngestDocumentRequest, call: Call | None = None
) -> shapes.IngestDocumentResponse:
    """Answer `ingest_document`: wait for it with signs of life, or answer with the id of its job."""
    ingest = request.ingest_request()
    service.check_path(ingest)  # an error is reported at once, whoever waits
    call = call or Call()
    running = service.jobs.submit(
        ingest.as_json(), journaled=not request.wait, is_abandoned=call.cancelled if request.wait else bool
    )
    if not request.wait:
        return shapes.IngestDocumentResponse(
            status="accepted",
            job_id=running.job.id,
            message="The document is being ingested. Call ingest_status for the result.",
        )
    _follow(running, call)
    if isinstance(running.error, KnowledgeError):
        raise running.error
    if running.error is not None or running.job.result is None:
        raise InternalError(
            f"The ingest failed ({type(running.error).__name__}).", suggestion="See the server's log for the cause."
        ) from running.error
    return shapes.IngestDocumentResponse.model_validate(running.job.result)


def ingest_status(service: PlanningService, request: shapes.JobRequest) -> shapes.JobResponse:
    """Answer `ingest_status`."""
    return _job(_find_job(service, request.job_id, cancel=False))


def cancel_ingest(service: PlanningService, request: shapes.JobRequest) -> shapes.JobResponse:
    """Answer `cancel_ingest`."""
    return _job(_find_job(service, request.job_id, cancel=True))


def search_application_docs(
    service: PlanningService, request: shapes.PlanningSearchRequest
) -> shapes.PlanningSearchResponse:
    """Answer `search_application_docs`."""
    narrowed, nothing = _filter(service, request)
    answer = SearchAnswer((), SearchMode(request.mode), searched_documents=0)
    if not nothing:
        # every document answers: two surveys to one standard, of two years, are no editions of each other
        answer = service.search(
            SearchQuery(request.query, request.max_results, SearchMode(request.mode), filter=narrowed, edition="all")
        )
    records: dict[str, DocumentRecord | None] = {}
    texts: dict[str, str] = {}
    results = [search_result(service, hit, records, texts) for hit in answer.hits]
    notes = " ".join(answer.notes)
    return shapes.PlanningSearchResponse.of(
        status="success",
        query=request.query,
        results_count=len(results),
        results=results,
        message=notes if results else nothing or notes or _nothing_at_all(service, request.document_types),
        degraded=list(answer.degraded),
    )


def get_document_text(service: PlanningService, request: shapes.DocumentTextRequest) -> shapes.DocumentTextResponse:
    """Answer `get_document_text`."""
    record = find_record(service, request.document_id)
    try:
        text = service.document_text(record.id)
    except NotFoundError as exc:
        raise _no_document(request.document_id, exc) from exc
    if not record.chunk_count:
        raise PlanningError("no_chunks", f"No chunks found for document: {record.id}", suggestion="Ingest it again.")
    _check_offset(request.offset, len(text), "character")
    end = len(text) if request.max_chars is None else request.offset + request.max_chars
    return shapes.DocumentTextResponse.of(
        record,
        status="success",
        document_id=record.id,
        file_path=_file_path(record),
        text=text[request.offset : end],
        total_chars=len(text) if request.offset or request.max_chars is not None else None,
        next_offset=end if end < len(text) else None,
        keep=["total_chars"],
    )


def list_ingested_documents(
    service: PlanningService, request: shapes.ListDocumentsRequest
) -> shapes.ListDocumentsResponse:
    """Answer `list_ingested_documents`; by file name, then by id."""
    reference = request.application_ref.strip()
    own = service.documents_of(reference)
    matches = [
        record
        for record in own
        if (request.document_types is None or record.document_type in request.document_types)
        and (request.name_contains is None or request.name_contains.casefold() in record.file_name.casefold())
    ]
    matches.sort(key=lambda record: (record.file_name, record.id))
    _check_offset(request.offset, len(matches), "document")
    end = len(matches) if request.limit is None else request.offset + request.limit
    return shapes.ListDocumentsResponse.of(
        status="success",
        application_ref=reference,
        document_count=len(matches),
        documents=[_summary(record) for record in matches[request.offset : end]],
        message="" if matches else _nothing(service, reference, own, request.document_types),
        next_offset=end if end < len(matches) else 0,
    )


def list_applications(
    service: PlanningService, request: shapes.ListApplicationsRequest
) -> shapes.ListApplicationsResponse:
    """Answer `list_applications`; by reference."""
    part = (request.ref_contains or "").casefold()
    matches = [
        shapes.ListedApplication(
            application_ref=reference,
            document_count=len(records),
            last_ingested_at=max(record.updated_at for record in records),
        )
        for reference, records in sorted(service.applications().items())
        if part in reference.casefold()
    ]
    _check_offset(request.offset, len(matches), "application")
    end = request.offset + request.limit
    return shapes.ListApplicationsResponse.of(
        status="success",
        application_count=len(matches),
        applications=matches[request.offset : end],
        next_offset=end if end < len(matches) else 0,
    )


def delete_document(service: PlanningService, request: shapes.DeleteRequest) -> shapes.DeleteResponse:
    """Answer `delete_document`."""
    record = find_record(service, request.document_id)
    try:
        removed = service.remove(record.id)
    except NotFoundError as exc:
        raise _no_document(request.document_id, exc) from exc
    return shapes.DeleteResponse(status="success", document_id=record.id, chunks_deleted=removed)


def _check_offset(offset: int, total: int, what: str) -> None:
    if offset >= total > 0:
        raise InvalidInputError(
            f"The offset {offset} is beyond the last of {how_many(total, what)}.",
            suggestion="Pass the `next_offset` of the previous answer, with the same question.",
        )


# ---- ingesting


def _follow(running: RunningJob, call: Call) -> None:
    """Wait for a job and report its progress; the job stops itself if its caller gives up."""

    def give_up() -> CancelledError:
        return CancelledError("The ingest was cancelled.")

    def state() -> tuple[float, str]:
        job = running.job
        return job.done, job.message

    watch(running.wait, state, call, give_up=give_up, failed=lambda: running.error is not None)


def _find_job(service: PlanningService, job_id: str, *, cancel: bool) -> Job:
    try:
        return service.jobs.cancel(job_id) if cancel else service.job(job_id)
    except NotFoundError as exc:
        raise PlanningError("job_not_found", exc.message, suggestion=exc.suggestion) from exc


def _job(job: Job) -> shapes.JobResponse:
    return shapes.JobResponse.of(
        job,
        status="success",
        job_id=job.id,
        progress=JobProgress(done=100.0 if job.state.is_final and job.result else job.done, message=job.message),
        file_path=str(job.request.get("file_path", "")),
        application_ref=str(job.request.get("application_ref", "")),
    )


# ---- searching and reading


def _filter(service: PlanningService, request: shapes.PlanningSearchRequest) -> tuple[Filter | None, str]:
    """Build the engine's filter, and the reason if it is already known that nothing can be found."""
    types = request.document_types
    if request.application_ref is None:
        return (None if types is None else In("document_type", tuple(types))), ""
    reference = request.application_ref.strip()
    own = service.documents_of(reference)
    ids = [record.id for record in own if types is None or record.document_type in types]
    if ids:
        return among_documents(ids), ""
    return None, _nothing(service, reference, own, types)


def _nothing(
    service: PlanningService, reference: str, own: Sequence[DocumentRecord], types: Sequence[str] | None
) -> str:
    """Say why an application has no document that fits."""
    if own:
        there = {record.document_type for record in own}
        if types is None or there.intersection(types):
            return f"Application {reference} has no document with that name; it has {how_many(len(own), 'document')}."
        return f"Application {reference} has no document of these types; it has: {', '.join(sorted(there))}."
    others = service.applications()
    alike = sorted(other for other in others if _letters(other).startswith(_letters(reference)))
    meant = f" There are documents of {list_first(alike, 3)}." if alike else ""
    return f"No document of application {reference} has been ingested.{meant}"


def _nothing_at_all(service: PlanningService, types: Sequence[str] | None) -> str:
    """Say why a search found nothing among the applications that it was for."""
    everything = [each for records in service.applications().values() for each in records]
    there = {record.document_type for record in everything}
    if not everything:
        return "No document of any application has been ingested."
    if types is not None and not there.intersection(types):
        return f"No application has a document of these types; there are: {', '.join(sorted(there))}."
    return "No passage was found."


def _letters(reference: str) -> str:
    return "".join(filter(str.isalnum, reference)).casefold()


def search_result(
    knowledge: Knowledge, hit: Hit, records: dict[str, DocumentRecord | None], texts: dict[str, str]
) -> shapes.PlanningSearchResult:
    """Turn a hit into a result; `records` and `texts` keep what was read for earlier ones."""
    chunk = hit.chunk
    if chunk.document_id not in records:
        try:
            records[chunk.document_id] = knowledge.document(chunk.document_id)
        except NotFoundError:  # it went between the search and now
            records[chunk.document_id] = None
    record = records[chunk.document_id]
    return shapes.PlanningSearchResult.of(
        chunk,
        chunk_id=chunk.id,
        text=chunk.content,
        relevance_score=round(hit.score, 4),
        cut_from=chunk.cut_from or _head_of_rows(knowledge, chunk, texts),
        cosine=round(max(0.0, hit.dense.score), 4) if hit.dense is not None and hit.dense.score != hit.score else 0.0,
        metadata=shapes.SearchResultMetadata.of(
            chunk,
            application_ref=record.label("application_ref") if record else "",
            source_file=record.file_name if record else "",
            page_numbers=",".join(map(str, chunk.page_numbers)),
            chunk_index=chunk.index,
            total_chunks=record.chunk_count if record else 0,
            extraction_method=_method(record),
            char_count=len(chunk.content),
            word_count=len(chunk.content.split()),
        ),
    )


def _head_of_rows(knowledge: Knowledge, chunk: Chunk, texts: dict[str, str]) -> str:
    """Return the header of the table whose rows a passage continues, which explains its cells."""
    if not chunk.content.startswith("|"):
        return ""
    if chunk.document_id not in texts:
        try:
            texts[chunk.document_id] = knowledge.document_text(chunk.document_id)
        except NotFoundError:  # it went between the search and now
            texts[chunk.document_id] = ""
    above: list[str] = []
    for line in reversed(texts[chunk.document_id][: chunk.span.start].splitlines()):
        if not line.startswith("|"):
            return ""
        above.insert(0, line)
        if len(above) > 1 and set(above[1]) <= set("| -:") and "-" in above[1]:
            return "\n".join(above[:2])
    return ""


def _summary(record: DocumentRecord) -> shapes.ApplicationDocument:
    return shapes.ApplicationDocument.of(
        record,
        document_id=record.id,
        file_path=_file_path(record),
        ingested_at=record.updated_at,
        extraction_method=_method(record),
        contains_drawings=record.label("contains_drawings") == "true",
    )


def find_record(knowledge: Knowledge, document_id: str) -> DocumentRecord:
    """Return the record of a document, or raise the error of this surface if there is none."""
    try:
        return knowledge.document(document_id)
    except NotFoundError as exc:
        raise _no_document(document_id, exc) from exc


def _no_document(document_id: str, exc: NotFoundError) -> PlanningError:
    instead = exc.suggestion.replace("knowledge_stats", "list_ingested_documents")
    return PlanningError("document_not_found", f"Document not found: {document_id}", suggestion=instead)


def _file_path(record: DocumentRecord) -> str:
    return record.label("file_path") or record.source_path


def _method(record: DocumentRecord | None) -> Any:
    method = record.label("extraction_method") if record else ""
    return method if method in get_args(shapes.Method) else "text_layer"  # front matter could fill it once


TOOLS = (
    Tool(
        "ingest_document",
        "Ingest a document",
        "Ingest a file (PDF, PNG, JPEG, TIFF, BMP) for a planning application: it is read (scanned pages by OCR), "
        "classified, and made searchable. The same file for the same application is ingested once; a changed file "
        "under the same path replaces its earlier version. Image-based documents are skipped unless force_ocr is "
        "set. Long documents take minutes: pass wait=false for a job_id.",
        ingest_document,
        writes=True,
    ),
    Tool(
        "search_application_docs",
        "Search application documents",
        "Find passages by meaning and words in the ingested documents, in one application or in all, optionally "
        "only in some document types. Each result names its file and pages.",
        search_application_docs,
        items="results",
    ),
    Tool(
        "get_document_text",
        "Read a document",
        "Get the full text of an ingested document, each passage once and in order. For a long document, pass "
        "max_chars and continue at next_offset.",
        get_document_text,
    ),
    Tool(
        "list_ingested_documents",
        "List an application's documents",
        "List the documents ingested for an application, with their types and how they were read; optionally only "
        "some types or names. The list is empty for an application without documents.",
        list_ingested_documents,
        items="documents",
    ),
    Tool(
        "delete_document",
        "Delete a document",
        "Remove an ingested document with all its passages; the file itself is kept.",
        delete_document,
        writes=True,
        destroys=True,
    ),
    Tool(
        "ingest_status",
        "Get the status of an ingest",
        "Get the progress of an ingest that was started with wait=false, and its result once it is done.",
        ingest_status,
    ),
    Tool(
        "cancel_ingest",
        "Cancel an ingest",
        "Stop an ingest that was started with wait=false; nothing of it is kept.",
        cancel_ingest,
        writes=True,
    ),
    Tool(
        "list_applications",
        "List applications",
        "List the applications that have ingested documents, with the number of documents and the time of the last "
        "ingest.",
        list_applications,
        items="applications",
    ),
)
"""All tools of the surface, in the order in which they are listed."""

SURFACE = Surface(
    name="planning",
    instructions=(
        "The documents of planning applications: reports, statements, plans, scans. Use ingest_document to ingest a "
        "file for an application, search_application_docs to find passages in one application or in all, "
        "list_applications and list_ingested_documents to see what is available, get_document_text to read a whole "
        "document. Cite source_file and page_numbers. A document that is `skipped` as image_based contains images "
        "and hardly any readable text; its `pages` give the details, and force_ocr reads it anyway. `warnings` list "
        "pages whose text is missing or doubtful."
    ),
    tools=TOOLS,
    error_model=shapes.ErrorAnswer,
    render_error=shapes.render_error,
)
