"""The six tools (A §3.1): from a request to Knowledge and back to an answer; the evidence tools stand beside them."""

from __future__ import annotations

import dataclasses
from typing import Any

from knowledge_mcp.engine.core.editions import Editions, edition_of_record
from knowledge_mcp.model.chunk import Modality
from knowledge_mcp.model.collection import DocumentRecord
from knowledge_mcp.model.ingest import SourceStatus
from knowledge_mcp.model.query import Check, DefinitionHit, RequirementHit, RequirementQuery, SearchMode, SearchQuery
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
from knowledge_mcp.surfaces.contract import Surface, Tool
from knowledge_mcp.surfaces.standards import passages, shapes
from knowledge_mcp.surfaces.standards.changes import CHANGE_TOOLS
from knowledge_mcp.surfaces.standards.evidence import EVIDENCE_TOOLS
from knowledge_mcp.surfaces.standards.resources import COMPLETERS, PROMPTS, RESOURCES
from knowledge_mcp.surfaces.standards.tracing import TRACING_TOOLS


def search(knowledge: Knowledge, request: shapes.StandardsSearchRequest) -> shapes.StandardsSearchResponse:
    """Answer `knowledge_search`."""
    mode = SearchMode.HYBRID if request.use_hybrid else SearchMode.SEMANTIC
    weight = request.hybrid_weight if "hybrid_weight" in request.model_fields_set else None
    query = SearchQuery(request.query, request.n_results, mode, weight, request.filter())
    return _answer_search(knowledge, request, query)


def keyword_search(knowledge: Knowledge, request: shapes.KeywordSearchRequest) -> shapes.StandardsSearchResponse:
    """Answer `knowledge_keyword_search`."""
    query = SearchQuery(request.query, request.n_results, SearchMode.KEYWORD, filter=request.filter())
    return _answer_search(knowledge, request, query)


def lookup(knowledge: Knowledge, request: shapes.LookupRequest) -> shapes.LookupResponse:
    """Answer `knowledge_lookup`."""
    answer = knowledge.lookup(request.term, request.edition) if request.edition else knowledge.lookup(request.term)
    degraded = list(answer.degraded)
    if answer.definitions:
        found = [_definition(hit) for hit in answer.definitions]
        return shapes.LookupResponse(
            term=request.term, found=True, definitions=found, editions=list(answer.editions), degraded=degraded
        ).without_defaults()
    message, suggestions = passages.explain_no_definition(knowledge, request.term, answer.similar_terms)
    similar = list(answer.similar_terms)
    response = shapes.LookupResponse(
        term=request.term, found=False, message=message, suggestions=suggestions, degraded=degraded
    ).without_defaults()
    return response.model_copy(update={"similar_terms": similar})


def requirements(knowledge: Knowledge, request: shapes.RequirementsRequest) -> shapes.RequirementsResponse:
    """Answer `knowledge_requirements`."""
    answer = knowledge.requirements(
        RequirementQuery(request.topic, request.standard, request.n_results, request.edition or "")
    )
    if answer.hits:
        message, suggestions = passages.doubt_about_topic(request.topic, answer)
    else:
        message, suggestions = passages.explain_no_requirement(knowledge, request, answer)
    more = {} if answer.answerability is None else {"answerability": in_words(answer.answerability)}
    response = shapes.RequirementsResponse(
        results=[_requirement(hit) for hit in answer.hits],
        topic=request.topic,
        standard_filter=request.standard,
        total=len(answer.hits),
        also_asked=list(answer.also_asked),
        message=message,
        suggestions=suggestions,
        documents=list(answer.documents or ()),
        editions=list(answer.editions),
        degraded=list(answer.degraded),
    ).without_defaults()
    return response.model_copy(update=more)


def stats(knowledge: Knowledge, _: shapes.NoArguments) -> shapes.StatsResponse:
    """Answer `knowledge_stats`."""
    found = knowledge.stats()
    counts, space = found.statistics, found.space
    superseded = frozenset(Editions(found.documents).superseded)
    return shapes.StatsResponse(
        knowledge_base=shapes.KnowledgeBase(
            total_chunks=counts.chunks,
            total_documents=counts.documents,
            total_tokens=counts.tokens,
            storage_bytes=counts.storage_bytes,
        ),
        documents=[
            shapes.DocumentSummary(
                document_id=record.id,
                document_title=record.title,
                document_type=record.document_type,
                chunk_count=record.chunk_count,
                ingested_at=record.updated_at,
                pages=record.pages,
                status=record.status.value,
                **_edition(record, superseded),
            )
            for record in found.documents
        ],
        vector_store=shapes.VectorStore(
            backend=found.backend, status=found.status, hybrid_enabled=found.hybrid_enabled
        ),
        embedding=shapes.Embedding(
            model=space.model, dimensions=space.dimensions, provider=space.provider, variant=space.variant
        ),
        sources=[synced_place(each) for each in found.sources],
        collections=list(found.collections) if len(found.collections) > 1 else [],
        notes=list(found.notes),
    ).without_defaults()


def synced_place(status: SourceStatus) -> shapes.SyncedPlace:
    """Tell how a registered source stands."""
    spec, state = status.spec, status.state
    return shapes.SyncedPlace(
        name=spec.name,
        kind=spec.kind.value,
        documents=state.documents,
        last_synced=state.last_synced,
        stale=status.is_stale(),
        last_error=state.last_error,
    ).without_defaults()


def _edition(record: DocumentRecord, superseded: frozenset[str]) -> dict[str, Any]:
    """Return a document's edition, and whether another one answers for it; empty values are left out."""
    fields: dict[str, Any] = {"edition": edition_of_record(record), "superseded": record.id in superseded}
    return {name: value for name, value in fields.items() if value}


def health(knowledge: Knowledge, _: shapes.NoArguments) -> shapes.HealthResponse:
    """Answer `knowledge_health`."""
    report = knowledge.health()
    return shapes.HealthResponse(
        status=report.status,
        checks=shapes.HealthChecks(
            vector_store=_check(report.vector_store), embedding_service=_check(report.embedding_service)
        ),
        timestamp=report.timestamp,
    )


_SHELL = 60
"""Tokens of an answer's own names and numbers, about: counted on an answer with all that may stand beside results."""


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
        message, suggestions = passages.explain_no_result(knowledge, request, query, answer)
    filters = request.filters()
    more: dict[str, Any] = {"filters_applied": shapes.FilterValues(**filters)} if filters else {}
    if answer.answerability is not None:
        more["answerability"] = in_words(answer.answerability)
    results = [passages.search_result(hit, full=request.detail == "full") for hit in answer.hits]
    about = [query.text, filters, answer.degraded, answer.also_asked, answer.editions, message, suggestions]
    if request.max_tokens is not None:
        results = passages.within(results, request.max_tokens - _SHELL - tokens_about(compact(about)), query.text)
    room = ROOM_FOR_RESULTS - size_of(about)
    results = results[: max(1, fitting_count([each.sent() for each in results], room))]
    if omitted := len(answer.hits) - len(results):
        more["truncated"] = Truncation(omitted=omitted, note="The answer was cut to fit; next_cursor leads on.")
    response = shapes.StandardsSearchResponse(
        results=results,
        total=len(results),
        query=query.text,
        search_type=answer.mode,
        also_asked=list(answer.also_asked),
        editions=list(answer.editions),
        message=message,
        suggestions=suggestions,
        degraded=list(answer.degraded),
        next_cursor=query.offset + len(results) if answer.more or omitted else 0,
    ).without_defaults()
    return response.model_copy(update=more)


def _definition(hit: DefinitionHit) -> shapes.DefinitionResult:
    definition = hit.definition
    return shapes.DefinitionResult(
        definition=definition.text,
        source=passages.brief_source(hit.chunk, hit.citation, definition.clause_number),
        term=definition.term,
        aliases=list(definition.aliases),
        domain=definition.domain or "",
        notes=list(definition.notes),
        origin=definition.origin,
        uri=passages.chunk_uri(hit.chunk.id),
    ).without_defaults()


def _requirement(hit: RequirementHit) -> shapes.RequirementResult:
    statement = hit.statement
    clause = statement.clause_number or hit.chunk.clause_number
    return shapes.RequirementResult(
        requirement_text=statement.text,
        requirement_id=clause or statement.identifier or "",
        source=passages.brief_source(hit.chunk, hit.citation, clause),
        normative=statement.modality is Modality.REQUIREMENT,
        score=round_score(hit.score),
        identifier=statement.identifier or "",
        negated=statement.negated,
        weak=statement.weak,
        uri=passages.chunk_uri(hit.chunk.id),
        also_in=list(hit.also_in[: passages.MOST_ALSO_IN]),
        also_in_more=max(0, len(hit.also_in) - passages.MOST_ALSO_IN),
    ).without_defaults()


def _check(check: Check) -> shapes.CheckResult:
    return shapes.CheckResult(status="up" if check.up else "down", latency_ms=check.latency_ms, message=check.message)


TOOLS = (
    Tool(
        name="knowledge_search",
        title="Search the knowledge base",
        description=(
            "Find passages that answer a question, by meaning and words, each word for word with a citation to paste. "
            "Start here. Words in quotation marks must stand together."
        ),
        request=shapes.StandardsSearchRequest,
        response=shapes.StandardsSearchResponse,
        run=search,
        items="results",
    ),
    Tool(
        name="knowledge_lookup",
        title="Look up a term",
        description=("Get definitions of a term or abbreviation, word for word, or similar terms."),
        request=shapes.LookupRequest,
        response=shapes.LookupResponse,
        run=lookup,
        items="definitions",
    ),
    Tool(
        name="knowledge_requirements",
        title="Find requirements",
        description=("List mandatory statements (shall, must) on a topic, with clause number and citation."),
        request=shapes.RequirementsRequest,
        response=shapes.RequirementsResponse,
        run=requirements,
        items="results",
    ),
    Tool(
        name="knowledge_keyword_search",
        title="Search for exact words",
        description=(
            "Find passages that hold given words, names or identifiers, ranked by BM25. Quotation marks and filters as "
            "in knowledge_search."
        ),
        request=shapes.KeywordSearchRequest,
        response=shapes.StandardsSearchResponse,
        run=keyword_search,
        items="results",
    ),
    Tool(
        name="knowledge_stats",
        title="Describe the knowledge base",
        description=("List documents with ids and types, totals, store and embedding model."),
        request=shapes.NoArguments,
        response=shapes.StatsResponse,
        run=stats,
        items="documents",
    ),
    Tool(
        name="knowledge_health",
        title="Check the knowledge base",
        description="Check whether store and embedding service answer. Use after an error.",
        request=shapes.NoArguments,
        response=shapes.HealthResponse,
        run=health,
    ),
    *EVIDENCE_TOOLS,
    *CHANGE_TOOLS,
    *TRACING_TOOLS,
)
"""All tools of the surface, in the order in which they are listed."""

SURFACE = Surface(
    name="standards",
    instructions=(
        "Search over ingested standards, handbooks and guides, with evidence that can be checked. "
        "Use knowledge_search for questions, knowledge_lookup for what a term means, knowledge_requirements for what "
        "is mandatory, knowledge_keyword_search for exact words and identifiers, knowledge_stats for which documents "
        "there are. To go deeper: knowledge_outline for a document's headings and pages, knowledge_read for a clause, "
        "pages or what surrounds a result, knowledge_references for what a clause refers to and what refers to it; "
        "knowledge_verify_quote before you present words as a quote; knowledge_changes for what a new edition changed, "
        "knowledge_impact for what that touches; knowledge_trace for which requirements of two documents belong "
        "together, knowledge_check for what a document says of each obligation of a standard, knowledge_conflicts for "
        "requirements that do not go together. Answers come from current editions unless `edition` says otherwise. "
        "Cite the `citation` of each passage you rely on "
        "and quote it word for word. Hand `next_cursor` back as `cursor` to go on. "
        "An empty answer says why in `message`; `degraded` says what failed on the way. A "
        "passage's `uri`, or its document's text at knowledge://documents/{document_id}, can be read as a resource."
    ),
    tools=TOOLS,
    prompts=PROMPTS,
    resources=RESOURCES,
    completers=COMPLETERS,
)
"""The surface `standards` (specification A)."""
