"""From the engine's values to the fields of an answer: sources, addresses, scores."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from knowledge_mcp.engine.core.citing import printed_labels, section_of
from knowledge_mcp.language.phrases import phrases_in
from knowledge_mcp.model.chunk import Chunk
from knowledge_mcp.model.errors import NotFoundError
from knowledge_mcp.model.query import (
    Hit,
    LegScore,
    RequirementAnswer,
    RequirementHit,
    SearchAnswer,
    SearchMode,
    SearchQuery,
)
from knowledge_mcp.ports import Knowledge
from knowledge_mcp.support.wording import list_first
from knowledge_mcp.surfaces.answers import compact, in_words, round_score, tokens_about
from knowledge_mcp.surfaces.arguments import nearest
from knowledge_mcp.surfaces.standards import shapes
from knowledge_mcp.surfaces.standards.evidence import locator

MOST_ALSO_IN = 10
"""Citations of passages that say the same: a notice repeated in every document would crowd out the results."""


def chunk_uri(chunk_id: str) -> str:
    """Build the address of a chunk's resource."""
    return f"knowledge://chunks/{quote(chunk_id, safe='')}"


def documents_uri(start: int) -> str:
    """Build the address of the list of documents without the first ones."""
    return f"knowledge://documents?start={start}"


def document_uri(document_id: str) -> str:
    """Build the address of a document's resource."""
    return f"knowledge://documents/{quote(document_id, safe='')}"


def brief_source(chunk: Chunk, citation: str, clause_number: str | None = None) -> shapes.BriefSource:
    """Return the location of a statement in the three specified fields, with page and clause if it has any."""
    return shapes.BriefSource.of(chunk, citation=citation, clause_number=clause_number or chunk.clause_number)


def also_in(hit: Hit | RequirementHit) -> dict[str, Any]:
    """Return the fields that tell where the same is said: the first places, and how many others there are."""
    return {
        "also_in": hit.also_in[:MOST_ALSO_IN],
        "also_in_more": max(0, len(hit.also_in) - MOST_ALSO_IN),
    }


def search_result(hit: Hit, detail: shapes.Detail) -> shapes.StandardsSearchResult:
    """Turn a hit into a result: `full` adds what programs look for, `text` leaves what a reader quotes and cites."""
    chunk = hit.chunk
    full = detail == "full"
    result = shapes.StandardsSearchResult.of(
        chunk,
        score=round_score(hit.score),
        source=shapes.PassageSource.of(
            chunk, section=section_of(chunk), citation=hit.citation, page_labels=printed_labels(chunk)
        ),
        metadata=shapes.StandardsMetadata.of(chunk),
        collection=hit.collection,
        **also_in(hit),
        locator=locator(chunk) if full else None,
        uri=chunk_uri(chunk.id) if full else None,
        dense=_leg(hit.dense) if full else None,
        lexical=_leg(hit.lexical) if full else None,
    )
    return _to_read(result) if detail == "text" else result


def _to_read(result: shapes.StandardsSearchResult) -> shapes.StandardsSearchResult:
    """Leave of a result what is quoted and cited, and its id."""
    source = result.source.model_copy().only("citation")
    others = result.model_fields_set - {"metadata", "locator", "uri", "dense", "lexical"}
    return result.model_copy(update={"source": source}).only(*others)


def _leg(leg: LegScore | None) -> shapes.LegRank | None:
    return None if leg is None else shapes.LegRank(rank=leg.rank, score=round(leg.score, 4))


LEAST = 40
"""Tokens of a snippet, at least."""

_SENTENCE = re.compile(r"[^\n.!?]*(?:[.!?](?!\s)[^\n.!?]*)*(?:[.!?]+(?=\s|$)|\n|$)\s*")
_WORD = re.compile(r"\w{2,}")


def within(
    results: Sequence[shapes.StandardsSearchResult], tokens: int, question: str
) -> list[shapes.StandardsSearchResult]:
    """Keep results within a budget of tokens, as `tokens_about` estimates them, all that is said of them included.

    Passages are given whole, best first, as far as they fit; the next one is cut to the sentences that share most words
    with the question, word for word and in one piece; its locator stays that of the whole passage. A passage of which
    hardly a sentence would be left is dropped, and so is what follows. The first result is always given; where it does
    not fit with all that is said of it, results say what `detail` "text" leaves.
    """
    if results and _size(results[0].sent()) > tokens:
        results = [_to_read(each) for each in results]
    words = {word.casefold() for word in _WORD.findall(question)}
    selected: list[shapes.StandardsSearchResult] = []
    for result in results:
        size = _size(result.sent())
        if size > tokens:
            room = tokens - _size({**result.sent(), "content": "", "snippet": True})
            if not selected or room >= LEAST:
                selected.append(_cut_to(max(room, LEAST), result, words))
            break
        selected.append(result)
        tokens -= size
    return selected


def _size(payload: Any) -> int:
    return tokens_about(compact(payload))


def _cut_to(tokens: int, result: shapes.StandardsSearchResult, words: set[str]) -> shapes.StandardsSearchResult:
    """Cut a passage to a part of at most some tokens, if a letter of it fits."""
    most = len(result.content) * tokens // _size(result.content)
    part = _best_part(result.content, words, max(1, most))
    while most > 1 and _size(part) > tokens:  # parts of a text are not equally dense
        most = most * 9 // 10
        part = _best_part(result.content, words, max(1, most))
    return result.model_copy(update={"content": part, "snippet": True})


def _best_part(text: str, words: set[str], most: int) -> str:
    """Cut out the run of sentences of at most `most` characters that holds most of the words; the first of equals."""
    sentences = [(found.start(), found.end()) for found in _SENTENCE.finditer(text) if found.end() > found.start()]
    best, best_value = (0, 0), (-1, 0)
    for at, (start, _) in enumerate(sentences):
        end = start
        for _, stop in sentences[at:]:
            if stop - start > most:
                break
            end = stop
        end = end if end > start else start + most
        found = {word.casefold() for word in _WORD.findall(text[start:end])} & words
        if (value := (len(found), -at)) > best_value:
            best, best_value = (start, end), value
    part = text[best[0] : best[1]]
    if best[1] - best[0] == most and best[1] < len(text) and text[best[1]].isalnum():
        part = part[: part.rfind(" ")] if " " in part.strip() else part
    return part.strip()


_EMPTY_BASE = "The knowledge base is empty: no document has been ingested yet."
_EMPTY_COLLECTION = "The searched collection is empty: no document has been ingested into it yet."
_MOST_MISSING = 5
"""Missing documents and existing collections to list: more would crowd out the results."""
_NO_RESULT = "No documents matched your query"
_NO_REQUIREMENT = "No requirements found for this topic"
_INGEST = "Ingest documents with `knowledge-ingest PATH`."


def _explain_emptiness(knowledge: Knowledge, specified: str) -> tuple[str, list[str]]:
    """Say after the specified sentence that there is nothing to search, how that is changed, and what else there is."""
    names = knowledge.stats().collections
    if not names:
        return f"{specified}. {_EMPTY_BASE}", [_INGEST]
    others = f"These collections exist: {list_first(names, _MOST_MISSING)}; pass `collections` to knowledge_search."
    return f"{specified}. {_EMPTY_COLLECTION}", [_INGEST, others]


def explain_no_result(
    knowledge: Knowledge, request: shapes.ScopedRequest, query: SearchQuery, answer: SearchAnswer
) -> tuple[str, list[str]]:
    """Say why a search found nothing; where filters were given, the same search without them is tried first."""
    if answer.searched_documents == 0:
        return _explain_emptiness(knowledge, _NO_RESULT)
    if answer.note:
        apart = " Remove the quotation marks to find the words separately." if phrases_in(query.text) else ""
        return _NO_RESULT, [f"{answer.note}{apart}"]
    filters = request.filters()
    if filters:
        plain = SearchQuery(query.text, 1, query.mode, query.weight, collections=query.collections)
        unfiltered = knowledge.search(plain)
        if unfiltered.hits:
            return _excluded_by_filters(knowledge, filters)
    if answer.mode is SearchMode.KEYWORD:
        return _NO_RESULT, [
            "Check the spelling, or try fewer words: this search finds exact words only.",
            "Use knowledge_search to search by meaning.",
        ]
    return _NO_RESULT, ["Try broader terms", "Use knowledge_stats to list the documents."]


def explain_no_definition(knowledge: Knowledge, term: str, similar: tuple[str, ...]) -> tuple[str, list[str]]:
    """Say that a term is not defined, in the specified words, or that there is nothing to define it."""
    message = f"Term '{term}' not found in knowledge base"
    if knowledge.stats().statistics.documents == 0:
        return _explain_emptiness(knowledge, message)
    if similar:
        return message, ["Look up one of the similar terms.", "Use knowledge_search for passages about it."]
    return message, ["Use knowledge_search for passages about it."]


def doubt_about_topic(topic: str, answer: RequirementAnswer) -> tuple[str, list[str]]:
    """Say that what was found is perhaps not about the topic; nothing where there is no doubt."""
    ways = ["Check that a result is really about it.", "Use knowledge_search for guidance that is not mandatory."]
    if not answer.said:
        return f"No requirement contains a word of '{topic}'; these are the closest in meaning.", ways
    if answer.notes:
        return " ".join(answer.notes), ways
    if answer.answerability is not None and in_words(answer.answerability) == "unlikely":
        return f"Perhaps no requirement is about '{topic}'; these are the closest.", ways
    return "", []


def explain_no_requirement(
    knowledge: Knowledge, request: shapes.RequirementsRequest, answer: RequirementAnswer
) -> tuple[str, list[str]]:
    """Say that no requirement was found, in the specified words, and whether the standard is to blame."""
    documents = knowledge.documents()
    if not documents:
        return _explain_emptiness(knowledge, _NO_REQUIREMENT)
    if request.standard is None:
        return _NO_REQUIREMENT, ["Try broader terms", "Use knowledge_search for guidance that is not mandatory."]
    if answer.documents == ():
        names = {name: record.id for record in documents for name in (record.id, record.title)}
        near = nearest(request.standard, names)
        hints = [f"Did you mean '{names[near]}'?"] if near else []
        return (
            f"{_NO_REQUIREMENT}: no document's id or title contains '{request.standard}'.",
            [*hints, "Use knowledge_stats to list the documents.", "Remove `standard`."],
        )
    return _NO_REQUIREMENT, ["Try broader terms", "Remove `standard` to search all documents."]


def missing_documents(knowledge: Knowledge, document_ids: Sequence[str]) -> list[str]:
    """Say which of some documents that were named are not there, one sentence each."""
    missing: list[str] = []
    for name in document_ids:
        try:
            knowledge.document(name)
        except NotFoundError as exc:
            hint = f" {exc.suggestion}" if exc.suggestion.startswith("Did you mean") else ""
            missing.append(f"There is no document '{name[:100]}'.{hint}")
    more = len(missing) - _MOST_MISSING
    return [*missing[:_MOST_MISSING], *([f"{more} more were not found."] if more > 0 else [])]


def _excluded_by_filters(knowledge: Knowledge, filters: dict[str, Any]) -> tuple[str, list[str]]:
    listed = ", ".join(f"{name}={value}" for name, value in filters.items())
    suggestions = ["Remove filters", *missing_documents(knowledge, filters.get("document_id", ()))]
    if "clause_number" in filters:
        suggestions.append("Use knowledge_outline to list the clauses of a document with their numbers.")
    return (
        f"{_NO_RESULT} with these filters ({listed[:500]}); without them there are matches.",
        suggestions,
    )
