"""The six tools (A §3.1): from a request to Knowledge and back to an answer; evidence tools have their own modules."""

from __future__ import annotations

import dataclasses
from contextlib import suppress
from typing import Any, TypeVar

from knowledge_mcp.engine.core.documents import can_only_be_an_id
from knowledge_mcp.engine.core.editions import Editions, edition_of_record
from knowledge_mcp.model.chunk import Modality
from knowledge_mcp.model.errors import InvalidInputError, NotFoundError
from knowledge_mcp.model.ingest import SourceStatus
from knowledge_mcp.model.query import (
    MOST_OFFSET,
    Check,
    DefinitionHit,
    RequirementHit,
    RequirementQuery,
    SearchMode,
    SearchQuery,
)
from knowledge_mcp.ports import Knowledge
from knowledge_mcp.surfaces.answers import (
    ROOM_FOR_RESULTS,
    Truncation,
    compact,
    fitting_count,
    in_words,
    round_score,
    size_of,
    tokens_about,
)
from knowledge_mcp.surfaces.contract import Response, Surface, Tool
from knowledge_mcp.surfaces.standards import passages, shapes
from knowledge_mcp.surfaces.standards.changes import CHANGE_TOOLS
from knowledge_mcp.surfaces.standards.evidence import EVIDENCE_TOOLS
from knowledge_mcp.surfaces.standards.resources import COMPLETERS, PROMPTS, RESOURCES
from knowledge_mcp.surfaces.standards.tracing import TRACING_TOOLS


def search(knowledge: Knowledge, request: shapes.StandardsSearchRequest) -> shapes.StandardsSearchResponse:
    """Answer `knowledge_search`."""
    request = _with_ids(knowledge, request)
    mode = SearchMode.HYBRID if request.use_hybrid else SearchMode.SEMANTIC
    weight = request.hybrid_weight if "hybrid_weight" in request.model_fields_set else None
    query = SearchQuery(request.query, request.n_results, mode, weight, request.filter())
    return _answer_search(knowledge, request, query)


def keyword_search(knowledge: Knowledge, request: shapes.KeywordSearchRequest) -> shapes.StandardsSearchResponse:
    """Answer `knowledge_keyword_search`."""
    request = _with_ids(knowledge, request)
    query = SearchQuery(request.query, request.n_results, SearchMode.KEYWORD, filter=request.filter())
    return _answer_search(knowledge, request, query)


def lookup(knowledge: Knowledge, request: shapes.LookupRequest) -> shapes.LookupResponse:
    """Answer `knowledge_lookup`."""
    answer = knowledge.lookup(request.term, request.edition) if request.edition else knowledge.lookup(request.term)
    if answer.definitions:
        found = [_definition(hit) for hit in answer.definitions]
        return shapes.LookupResponse.of(answer, term=request.term, found=True, definitions=found, similar_terms=None)
    message, suggestions = passages.explain_no_definition(knowledge, request.term, answer.similar_terms)
    return shapes.LookupResponse.of(
        answer, term=request.term, found=False, message=message, suggestions=suggestions, editions=None,
        keep=["similar_terms"],
    )  # fmt: skip


def requirements(knowledge: Knowledge, request: shapes.RequirementsRequest) -> shapes.RequirementsResponse:
    """Answer `knowledge_requirements`."""
    answer = knowledge.requirements(
        RequirementQuery(request.topic, request.standard, request.n_results, request.edition or "", request.cursor)
    )
    if answer.hits:
        message, suggestions = passages.doubt_about_topic(request.topic, answer)
    else:
        _refuse_cursor(request.cursor, among=answer.documents != ())
        message, suggestions = passages.explain_no_requirement(knowledge, request, answer)
    every = [_requirement(hit) for hit in answer.hits]
    about = [request.topic, answer.degraded, answer.also_asked, answer.editions, message, suggestions]
    results, cut = _fitting(every, len(every), about)
    following, message = _following(request.cursor, len(results), message, more=answer.more or cut is not None)
    return shapes.RequirementsResponse.of(
        answer,
        results=results,
        topic=request.topic,
        standard_filter=request.standard,
        total=len(results),
        next_cursor=following,
        truncated=cut,
        answerability=in_words(answer.answerability),
        message=message,
        suggestions=suggestions,
        keep=["answerability"],
    )


def stats(knowledge: Knowledge, _: shapes.NoArguments) -> shapes.StatsResponse:
    """Answer `knowledge_stats`."""
    found = knowledge.stats()
    counts = found.statistics
    superseded = frozenset(Editions(found.documents).superseded)
    every = [
        shapes.DocumentSummary.of(
            record,
            document_id=record.id,
            document_title=record.title,
            ingested_at=record.updated_at,
            edition=edition_of_record(record),
            superseded=record.id in superseded,
            keep=["pages", "status"],
        )
        for record in found.documents
    ]
    sources = [synced_place(each) for each in found.sources]
    about = [[each.sent() for each in sources], found.collections, found.notes]
    documents, cut = _fitting(every, len(every), about)
    if cut is not None:
        note = f"The others are listed by the resource {passages.documents_uri(len(documents))}."
        cut = Truncation(omitted=cut.omitted, note=note)
    return shapes.StatsResponse.of(
        found,
        knowledge_base=shapes.KnowledgeBase(
            total_chunks=counts.chunks,
            total_documents=counts.documents,
            total_tokens=counts.tokens,
            storage_bytes=counts.storage_bytes,
        ),
        documents=documents,
        truncated=cut,
        vector_store=shapes.VectorStore.of(found),
        embedding=shapes.Embedding.of(found.space, keep=["provider", "variant"]),
        sources=sources,
        collections=found.collections if len(found.collections) > 1 else [],
    )


def synced_place(status: SourceStatus) -> shapes.SyncedPlace:
    """Return the state of a registered source."""
    spec = status.spec
    return shapes.SyncedPlace.of(status.state, name=spec.name, kind=spec.kind, stale=status.is_stale())


def health(knowledge: Knowledge, _: shapes.NoArguments) -> shapes.HealthResponse:
    """Answer `knowledge_health`."""
    report = knowledge.health()
    checks = {name: _check(getattr(report, name)) for name in shapes.HealthChecks.model_fields}
    return shapes.HealthResponse.of(report, checks=shapes.HealthChecks(**checks))


R = TypeVar("R", bound=Response)
P = TypeVar("P", bound=shapes.PagedRequest)

_SHELL = 60
"""Tokens of an answer's own names and numbers, about: counted on an answer with all that may stand beside results."""


def _with_ids(knowledge: Knowledge, request: P) -> P:
    """Replace file names and titles of documents in a request by ids; a name without a document stays."""
    if request.document_id is None:
        return request
    return request.model_copy(update={"document_id": [_id_of(knowledge, each) for each in request.document_id]})


def _id_of(knowledge: Knowledge, name: str) -> str:
    if not can_only_be_an_id(name):
        with suppress(NotFoundError):
            return knowledge.document(name).id
    return name


def _answer_search(
    knowledge: Knowledge, request: shapes.PagedRequest, query: SearchQuery
) -> shapes.StandardsSearchResponse:
    query = dataclasses.replace(
        query,
        offset=request.cursor,
        per_document=request.max_per_document,
        fold=True,
        edition=request.edition or "",
        where=request.where(),
        collections=tuple(request.collections or ()),
    )
    answer = knowledge.search(query)
    message, suggestions = answer.note, list[str]()
    if not answer.hits:
        _refuse_cursor(query.offset, among=answer.searched_documents)
        message, suggestions = passages.explain_no_result(knowledge, request, query, answer)
    elif len(request.document_id or ()) > 1:
        missing = passages.missing_documents(knowledge, request.document_id or ())
        message = " ".join(filter(None, (message, *missing)))
    filters = request.filters()
    results = [passages.search_result(hit, request.detail) for hit in answer.hits]
    about = [query.text, filters, answer.degraded, answer.also_asked, answer.editions, message, suggestions]
    if request.max_tokens is not None:
        results = passages.within(results, request.max_tokens - _SHELL - tokens_about(compact(about)), query.text)
    results, cut = _fitting(results, len(answer.hits), about)
    following, message = _following(query.offset, len(results), message, more=answer.more or cut is not None)
    return shapes.StandardsSearchResponse.of(
        answer,
        results=results,
        total=len(results),
        query=query.text,
        search_type=answer.mode,
        answerability=in_words(answer.answerability),
        message=message,
        suggestions=suggestions,
        filters_applied=shapes.FilterValues(**filters) if filters else None,
        next_cursor=following,
        truncated=cut,
        keep=["answerability"],
    )


def _fitting(results: list[R], found: int, about: list[Any]) -> tuple[list[R], Truncation | None]:
    """Keep as many results as fit into the answer with its other fields, and count the omitted ones."""
    room = ROOM_FOR_RESULTS - size_of(about)
    kept = results[: max(1, fitting_count([each.sent() for each in results], room))]
    omitted = found - len(kept)
    note = "The answer was cut to fit; continue with next_cursor."
    return kept, Truncation(omitted=omitted, note=note) if omitted else None


def _following(cursor: int, shown: int, message: str, *, more: bool) -> tuple[int, str]:
    """Return the cursor of the next page, 0 if there is none, and the message that also says where paging ends."""
    if not more:
        return 0, message
    if cursor + shown <= MOST_OFFSET:
        return cursor + shown, message
    return 0, f"{message} There are more results than can be paged through: narrow the question.".strip()


def _refuse_cursor(cursor: int, *, among: object) -> None:
    """Refuse a cursor beyond the last result."""
    if cursor and among:
        raise InvalidInputError(
            f"The cursor {cursor} is beyond the last result.",
            suggestion="Pass the `next_cursor` of the previous answer, with the same question.",
        )


def _definition(hit: DefinitionHit) -> shapes.DefinitionResult:
    definition = hit.definition
    return shapes.DefinitionResult.of(
        definition,
        definition=definition.text,
        source=passages.brief_source(hit.chunk, hit.citation, definition.clause_number),
        uri=passages.chunk_uri(hit.chunk.id),
    )


def _requirement(hit: RequirementHit) -> shapes.RequirementResult:
    statement = hit.statement
    clause = statement.clause_number or hit.chunk.clause_number
    return shapes.RequirementResult.of(
        statement,
        requirement_text=statement.text,
        requirement_id=clause or statement.identifier or "",
        source=passages.brief_source(hit.chunk, hit.citation, clause),
        normative=statement.modality is Modality.REQUIREMENT,
        score=round_score(hit.score),
        uri=passages.chunk_uri(hit.chunk.id),
        **passages.also_in(hit),
    )


def _check(check: Check) -> shapes.CheckResult:
    return shapes.CheckResult.of(check, status="up" if check.up else "down")


TOOLS = (
    Tool(
        "knowledge_search",
        "Search the knowledge base",
        "Find passages that answer a question, by meaning and words, word for word, with citations. Start here. "
        "Quotation marks require an exact phrase.",
        search,
        items="results",
    ),
    Tool(
        "knowledge_lookup",
        "Look up a term",
        "Get definitions of a term or abbreviation, word for word, or similar terms.",
        lookup,
        items="definitions",
    ),
    Tool(
        "knowledge_requirements",
        "Find requirements",
        "List mandatory statements (shall, must) on a topic, with clause and citation.",
        requirements,
        items="results",
    ),
    Tool(
        "knowledge_keyword_search",
        "Search for exact words",
        "Find passages that contain words, names or identifiers, by BM25. Quotation marks and filters as in "
        "knowledge_search.",
        keyword_search,
        items="results",
    ),
    Tool(
        "knowledge_stats",
        "Describe the knowledge base",
        "List documents with ids and types, totals, store and embedding model.",
        stats,
        items="documents",
    ),
    Tool(
        "knowledge_health",
        "Check the knowledge base",
        "Check whether store and embedding service answer. Use after an error.",
        health,
    ),
    *EVIDENCE_TOOLS,
    *CHANGE_TOOLS,
    *TRACING_TOOLS,
)
"""All tools of the surface, in the order in which they are listed."""

SURFACE = Surface(
    name="standards",
    instructions=(
        "Search over ingested standards, handbooks and guides, with evidence that can be checked. Use "
        "knowledge_search for questions, knowledge_lookup for what a term means, knowledge_requirements for what is "
        "mandatory, knowledge_keyword_search for exact words and identifiers, knowledge_stats for a list of the "
        "documents. To go deeper: knowledge_outline for a document's headings and pages, knowledge_read for a "
        "clause, pages or the context of a result, knowledge_references for what a clause refers to and what refers "
        "to it; knowledge_verify_quote before you present words as a quote; knowledge_changes for what a new "
        "edition changed, knowledge_impact for what that affects; knowledge_trace to link the requirements of two "
        "documents, knowledge_check to check a document against each obligation of a standard, knowledge_conflicts "
        "for requirements that contradict or duplicate each other. Answers come from current editions unless "
        "`edition` says otherwise. Cite the `citation` of each passage you rely on and quote it word for word. Pass "
        "`next_cursor` as `cursor` to continue. An empty answer says why in `message`; `degraded` says what failed. "
        "A passage's `uri`, or its document's text at knowledge://documents/{document_id}, can be read as a "
        "resource."
    ),
    tools=TOOLS,
    prompts=PROMPTS,
    resources=RESOURCES,
    completers=COMPLETERS,
)
"""The surface `standards` (specification A)."""
