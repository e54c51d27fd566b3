"""What to say when nothing was found: the true reason, and what to try next."""

from __future__ import annotations

from typing import Any

from knowledge_mcp.model.errors import NotFoundError
from knowledge_mcp.model.query import RequirementAnswer, SearchAnswer, SearchMode, SearchQuery
from knowledge_mcp.ports import Knowledge
from knowledge_mcp.surfaces.arguments import nearest
from knowledge_mcp.surfaces.standards.requests import RequirementsRequest, ScopedRequest

__all__ = ["EMPTY_BASE", "explain_no_definition", "explain_no_requirement", "explain_no_result"]

EMPTY_BASE = "The knowledge base is empty: no document has been ingested yet."
"""Follows the specified sentence, which a client may look for."""
_NO_RESULT = "No documents matched your query"
_NO_REQUIREMENT = "No requirements found for this topic"
_INGEST = "Ingest documents with `knowledge-ingest PATH`."


def explain_no_result(
    knowledge: Knowledge, request: ScopedRequest, query: SearchQuery, answer: SearchAnswer
) -> tuple[str, list[str]]:
    """Say why a search found nothing; where filters were given, the same search without them is tried first."""
    if answer.searched_documents == 0:
        return f"{_NO_RESULT}. {EMPTY_BASE}", [_INGEST]
    filters = request.filters()
    if filters:
        unfiltered = knowledge.search(SearchQuery(query.text, limit=1, mode=query.mode, weight=query.weight))
        if unfiltered.hits:
            return _excluded_by_filters(knowledge, filters)
    if answer.mode is SearchMode.KEYWORD:
        return _NO_RESULT, [
            "Check the spelling, or try fewer words: this search finds exact words only.",
            "Use knowledge_search to search by meaning.",
        ]
    return _NO_RESULT, ["Try broader terms", "Use knowledge_stats to see which documents there are."]


def explain_no_definition(knowledge: Knowledge, term: str, similar: tuple[str, ...]) -> tuple[str, list[str]]:
    """Say that a term is not defined, in the specified words, or that there is nothing to define it."""
    message = f"Term '{term}' not found in knowledge base"
    if knowledge.stats().statistics.documents == 0:
        return f"{message}. {EMPTY_BASE}", [_INGEST]
    if similar:
        return message, ["Look up one of the similar terms.", "Use knowledge_search for passages about it."]
    return message, ["Use knowledge_search for passages about it."]


def explain_no_requirement(
    knowledge: Knowledge, request: RequirementsRequest, answer: RequirementAnswer
) -> tuple[str, list[str]]:
    """Say that no requirement was found, in the specified words, and whether the standard is to blame."""
    documents = knowledge.documents()
    if not documents:
        return f"{_NO_REQUIREMENT}. {EMPTY_BASE}", [_INGEST]
    if request.standard is None:
        return _NO_REQUIREMENT, ["Try broader terms", "Use knowledge_search for guidance that is not mandatory."]
    if answer.documents == ():
        names = {name: record.id for record in documents for name in (record.id, record.title)}
        near = nearest(request.standard, names)
        hints = [f"Did you mean '{names[near]}'?"] if near else []
        return (
            f"{_NO_REQUIREMENT}: no document's id or title contains '{request.standard}'.",
            [*hints, "Use knowledge_stats to see which documents there are.", "Leave out `standard`."],
        )
    return _NO_REQUIREMENT, ["Try broader terms", "Leave out `standard` to search all documents."]


def _excluded_by_filters(knowledge: Knowledge, filters: dict[str, Any]) -> tuple[str, list[str]]:
    named = ", ".join(f"{name}={value}" for name, value in filters.items())
    suggestions = ["Remove filters"]
    if wanted := filters.get("document_id"):
        for name in wanted[:5]:
            try:
                knowledge.document(name)
            except NotFoundError as exc:
                hint = f" {exc.suggestion}" if exc.suggestion.startswith("Did you mean") else ""
                suggestions.append(f"There is no document '{name[:100]}'.{hint}")
    return (
        f"{_NO_RESULT} with these filters ({named[:500]}); without them there are matches.",
        suggestions,
    )
