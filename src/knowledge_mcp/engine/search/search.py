"""A question's way: embed, search both legs, fuse, fetch, cite."""

from __future__ import annotations

import dataclasses
import logging
import math
import time
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from knowledge_mcp.engine.core.base import PASSING, USUAL_WEIGHT, Base, Passages, Records, counts_of
from knowledge_mcp.engine.core.choosing import Choice, filter_of, notes_on
from knowledge_mcp.engine.core.citing import cite
from knowledge_mcp.engine.core.designations import mentions_at
from knowledge_mcp.engine.search.blending import (
    BEST_BY_WORDS,
    Ranked,
    blend,
    estimate,
    feedback,
    first_verbatim,
    nearness,
    phrased,
    places,
    words_in_full,
)
from knowledge_mcp.engine.search.folding import folded, indexes_last, per_document
from knowledge_mcp.language.names import (
    Exactness,
    Name,
    QuestionNames,
    best_exactness,
    names_in_question,
    names_it,
    term_in_question,
    term_keys,
)
from knowledge_mcp.model.chunk import Chunk, Vector
from knowledge_mcp.model.errors import InvalidInputError, KnowledgeError
from knowledge_mcp.model.query import (
    And,
    Equals,
    Filter,
    Hit,
    In,
    LegHit,
    LegResults,
    NotIn,
    SearchAnswer,
    SearchMode,
    SearchQuery,
)
from knowledge_mcp.ports import Synonyms
from knowledge_mcp.support.events import log_event

_logger = logging.getLogger(__name__)

_NAMES_LOOKED_AT = 50
"""Passages with an identifier's words that are looked at."""

_MOST_NAMES_LOOKED_AT = 300
"""Passages with an identifier's words that are looked at before it is said to stand nowhere."""

_MOST_BESIDE_WORDS = 3
"""Passages that may be put first where the question asks for more than an identifier."""

_SCORES = {
    Exactness.OWN: 1.0,
    Exactness.HEADING: 0.98,
    Exactness.TITLE: 0.98,
    Exactness.OPENING: 0.96,
    Exactness.MENTIONED: 0.94,
}
NAMED_FROM = 0.93
"""Scores above are of passages that bear an identifier of the question."""
_REST = 0.92
"""Greatest score of what was not asked for by name, where something was."""


def pinned(
    base: Base, passages: Passages, question: str, filter: Filter | None, ranked: Sequence[Ranked], limit: int
) -> list[Ranked]:
    """Put the passages that bear an identifier of the question before all others; at most `limit` in all.

    Where nothing but the identifier is asked, all that bear it come first: those whose own it is, then those titled,
    opened by it or mentioning it. Among other words only those come first whose own it is, and the section that it
    heads, unless it heads many. Passages named so have scores above .93, all others below.
    """
    within, asked, is_document, _ = _requested_by_name(base, question)
    if not asked.names:
        return list(ranked)
    order = _candidates(base, asked, _both(filter, In("document_id", within)) if within else filter)
    places = {hit[0]: place for place, hit in enumerate(ranked)}
    chunks = passages.get(list(dict.fromkeys([*places, *order])))
    least = _least(asked)
    borne: dict[str, tuple[Exactness, Chunk]] = {}
    for chunk in chunks:
        exact = best_exactness(chunk, asked.names, least)
        if within and chunk.document_id not in within:
            exact = exact if is_document else Exactness.ABSENT
        elif is_document:
            exact = max(exact, Exactness.TITLE)
        borne[chunk.id] = exact, chunk
    named = [(exact, chunk) for exact, chunk in borne.values() if exact >= least]
    if asked.alone:
        documents = {chunk.document_id: place for place, chunk in reversed(list(enumerate(_in(order, borne))))}
        last = len(documents)
        named.sort(key=lambda each: (-each[0], documents.get(each[1].document_id, last), each[1].index))
    else:
        last = len(places)
        headed = {(each.document_id, each.section_title) for exact, each in named if exact is Exactness.HEADING}
        if len(headed) > _MOST_BESIDE_WORDS:
            named = [each for each in named if each[0] is Exactness.OWN]
        named.sort(key=lambda each: (-each[0], places.get(each[1].id, last), each[1].index))
        named = named[:_MOST_BESIDE_WORDS]
    if not named:
        return list(ranked)
    known = {hit[0]: hit for hit in ranked}
    bearing = [known.pop(chunk.id, (chunk.id, 0.0, None, None)) for _, chunk in named]
    return _first(bearing, [_SCORES[exact] for exact, _ in named], known.values(), limit)


def defining(base: Base, question: str, filter: Filter | None) -> list[str]:
    """List the passages that define a term of which only the meaning is asked; identifiers are for `pinned`."""
    term = "" if names_in_question(question).names else term_in_question(question)
    for key in term_keys(term, base.analyser.term_key):
        chunk_ids = tuple(each.id for each in base.opened.chunks("term", [key]) if _explains(base, each, key))
        if not chunk_ids:
            continue
        filter_of = _both(filter, In("chunk_id", chunk_ids))
        found = base.search(vector=None, text=term, filter=filter_of, limit=len(chunk_ids)).lexical
        if found:
            return [hit.chunk_id for hit in found]
    return []


def _explains(base: Base, chunk: Chunk, key: str) -> bool:
    """Tell whether a passage says of a term more than its name: "OC: outage clerk" says nothing of outage clerks."""
    named = (each for each in chunk.definitions if key in map(base.analyser.term_key, (each.term, *each.aliases)))
    return any(base.analyser.term_key(each.text) != key for each in named)


def defined_first(ranked: Sequence[Ranked], chunk_ids: Sequence[str], limit: int) -> list[Ranked]:
    """Put the best of the passages that define a term before all others; at most `limit` in all."""
    if not chunk_ids:
        return list(ranked)
    known = {hit[0]: hit for hit in ranked}
    order = {chunk_id: place for place, chunk_id in enumerate(known)}
    best = sorted(chunk_ids, key=lambda each: order.get(each, limit))[:_MOST_BESIDE_WORDS]
    named = [known.pop(each, (each, 0.0, None, None)) for each in best]
    return _first(named, [_SCORES[Exactness.OWN]] * len(named), known.values(), limit)


def _first(named: Iterable[Ranked], scores: Iterable[float], rest: Iterable[Ranked], limit: int) -> list[Ranked]:
    """Put what is asked for by name before the rest, whose scores lie below; at most `limit` in all."""
    first = [(hit[0], score, hit[2], hit[3]) for hit, score in zip(named, scores, strict=True)]
    return [*first, *((hit[0], hit[1] * _REST, hit[2], hit[3]) for hit in rest)][:limit]


class _Requested(NamedTuple):
    """Hold what a question asks for by name.

    Attributes:
        within: ids of the documents that it names by their designation.
        names: what is asked for.
        is_document: whether it is those documents themselves.
        designations: of stored documents, as the question says them.
    """

    within: tuple[str, ...]
    names: QuestionNames
    is_document: bool
    designations: tuple[str, ...]


def _requested_by_name(base: Base, question: str) -> _Requested:
    """Tell what a question asks for by name.

    "ISO 9001:2015, 6.3" asks for clause 6.3 of that document, and "ISO 9001" for the document.
    """
    rest, within, designations = question, dict[str, None](), list[str]()
    for designation, start, end in reversed(list(mentions_at(question))):
        alike, clause = base.directory().named(designation)
        document_ids = [each.record.id for each in alike if not (each.is_part or each.is_other_edition)]
        if document_ids:
            rest = f"{rest[:start]} clause {clause}{rest[end:]}"
            within.update(dict.fromkeys(document_ids))
            designations.append(question[start:end])
    inside, every = names_in_question(rest), names_in_question(question)
    if within and inside.names:
        return _Requested(tuple(within), inside, False, tuple(designations))
    return _Requested(tuple(within) if every.alone else (), every, every.alone and bool(within), tuple(designations))


def identifiers_not_found(
    base: Base, passages: Passages, question: str, filter: Filter | None, ranked: Sequence[Ranked]
) -> tuple[str, ...]:
    """Say which identifiers of a question no passage was found to have, one sentence each."""
    within, asked, is_document, designations = _requested_by_name(base, question)
    names = [each for each in asked.names if asked.alone or each.is_identifier]
    if is_document or not names:
        return ()
    designated = " ".join(designations).casefold()
    inside = _both(filter, In("document_id", within)) if within else filter
    near = [each for each in passages.get([hit[0] for hit in ranked]) if not within or each.document_id in within]
    missing = [
        each for each in names if each.key not in designated and not any(names_it(chunk, each) for chunk in near)
    ]
    sentences: list[str] = []
    for each in missing:
        found = _candidates(base, QuestionNames((each,), alone=True), inside, _MOST_NAMES_LOOKED_AT)
        if not any(names_it(chunk, each) for chunk in passages.get(found)):
            name = f"Clause {each.text}" if each.is_clause else each.text
            where = "the document that is named" if within else "what was searched"
            found_instead = "; what is found has other words or parts of it" if near else ""
            sentences.append(f"{name} was not found in {where}{found_instead}.")
    return tuple(sentences)


def _candidates(base: Base, asked: QuestionNames, filter: Filter | None, limit: int = _NAMES_LOOKED_AT) -> list[str]:
    """Name passages that may bear an identifier, the likeliest first."""
    found: dict[str, None] = {}
    for each in asked.names:
        if each.is_clause:
            found.update(_looked_up(base, each, _both(filter, Equals("clause_number", each.text)), limit))
        found.update(_looked_up(base, each, filter, limit))
    return list(found)


def _looked_up(base: Base, name: Name, filter: Filter | None, limit: int) -> dict[str, None]:
    hits = base.search(vector=None, text=name.text, filter=filter, limit=limit).lexical or ()
    return dict.fromkeys(hit.chunk_id for hit in hits)


def _both(filter: Filter | None, other: Filter) -> Filter:
    return other if filter is None else And((filter, other))


def _in(order: Sequence[str], borne: dict[str, tuple[Exactness, Chunk]]) -> list[Chunk]:
    return [borne[key][1] for key in order if key in borne]


def _least(asked: QuestionNames) -> Exactness:
    if not asked.alone:
        return Exactness.HEADING
    numbers = all(each.key.isdigit() for each in asked.names)
    return Exactness.TITLE if numbers else Exactness.MENTIONED


def candidates(base: Base, limit: int) -> int:
    """Say how many hits a search must find so that `limit` of them can be the reranker's best."""
    return max(limit, base.rerank_top) if base.reranker is not None else limit


def reranked(base: Base, text: str, hits: Sequence[Hit], degraded: list[str]) -> tuple[Hit, ...]:
    """Put the best hits in the reranker's order; those behind them keep theirs and score no more than the last one.

    Args:
        base: holds the reranker, how many hits it looks at, and how long it may take.
        text: the question.
        hits: best first.
        degraded: is told where the order stays because the reranker failed or was late.
    """
    if base.reranker is None or len(hits) < 2:
        return tuple(hits)
    best, rest = hits[: base.rerank_top], hits[base.rerank_top :]
    try:
        done = base.reranker.rerank(text, best, deadline=time.monotonic() + base.rerank_seconds)
    except KnowledgeError as exc:
        log_event(_logger, logging.WARNING, "rerank_skipped", reason=exc.message, hits=len(best))
        degraded.append(f"The reranker was skipped ({exc.message}); results are in the order of the search.")
        return tuple(hits)
    lowest = done[-1].score
    return (*done, *(dataclasses.replace(hit, score=min(hit.score, lowest)) for hit in rest))


_PHRASES_LOOKED_AT = 30
"""Passages with a phrase's words that are looked at."""

_SELDOM = 0.002
"""Share of the passages that may say a phrase which the documents do not use, none under a filter; .001 to .01 give
the same."""

_MOST_SAYING = 15
"""Most of the passages looked at that may say it, however many passages there are."""

_MOST_PHRASES, _MOST_ADDED = 8, 16
"""Phrases of one question that are looked at, because each costs a search; and phrases added to it."""


def other_words(base: Base, query: SearchQuery) -> tuple[str, ...]:
    """List what to ask for beside the question's own words; empty for most questions.

    A search by words asks for exactly these (A §3.1.4). Where the store cannot say what the documents use, nothing is
    added; the search itself will tell why.
    """
    synonyms = base.synonyms
    if synonyms is None or query.mode is SearchMode.KEYWORD or query.weight == 0.0:
        return ()
    wordings = synonyms.wordings(query.text)[:_MOST_PHRASES]
    if not wordings:
        return ()
    added: dict[str, None] = {}
    try:
        most = (
            0.0
            if query.filter is not None and not isinstance(query.filter, NotIn)
            else _SELDOM * counts_of(base.opened).chunks
        )
        for wording in wordings:
            if _saying(base, synonyms, wording.said, query.filter) <= min(most, _MOST_SAYING):
                added.update(dict.fromkeys(wording.instead))
    except KnowledgeError:
        return ()
    return tuple(added)[:_MOST_ADDED]


def with_other_words(text: str, added: tuple[str, ...]) -> str:
    """Write a question with what is asked for beside it, as both legs are asked."""
    return "\n".join((text, *added))


def _saying(base: Base, synonyms: Synonyms, phrase: str, filter: Filter | None) -> float:
    """Count the passages that say a phrase, of the best for its words; infinite where the store cannot tell."""
    hits = base.search(vector=None, text=phrase, filter=filter, limit=_PHRASES_LOOKED_AT).lexical
    if hits is None:
        return math.inf
    chunks = base.opened.chunks("id", [hit.chunk_id for hit in hits])
    return sum(synonyms.says(f"{each.section_title}\n{each.content}", phrase) for each in chunks)


_BY_MEANING = "the results are the nearest in meaning."
_UNSAID = f"No passage says a word of the question; {_BY_MEANING}"
_WORDLESS = "The question has no word to look for"

_SPARE = 10
"""Hits found beyond twice the wanted ones where some will be folded or left out."""


@dataclass(frozen=True, slots=True)
class EmbeddedQuery:
    """Hold what a question needs before the store is read: its vector and the unit of its cosines.

    Attributes:
        text: the question, with what is asked for beside its own words.
        also_asked: these words.
        mode: the one that is possible.
        vector: of `text`, None for a search by words.
        unit: `nearness` of the embedder.
        degraded: what failed.
    """

    text: str
    also_asked: tuple[str, ...]
    mode: SearchMode
    vector: Vector | None
    unit: float
    degraded: tuple[str, ...]


def search(base: Base, query: SearchQuery, *, by_edition: bool = False) -> SearchAnswer:
    """Find the best chunks for a question, with `by_edition` among the editions that may answer.

    Hybrid falls back to the one leg that works and says so in `degraded`; a search that asked for one leg only fails
    with that leg.

    Raises:
        InvalidInputError: blank text.
        SpaceMismatchError: the collection is in another embedding space.
        KnowledgeError: whatever the embedder or the store says.
    """
    if not query.text.strip():
        raise InvalidInputError("The query is empty.", suggestion="Ask with at least one word.")
    if not base.exists():
        return SearchAnswer(hits=(), mode=query.mode, searched_documents=0, degraded=_instead(base))
    return search_asked(base, query, ask(base, query), by_edition=by_edition)


def ask(base: Base, query: SearchQuery) -> EmbeddedQuery:
    """Embed a question; no snapshot may be open, because this may take as long as a remote service takes.

    Raises:
        KnowledgeError: as `search`.
    """
    degraded = [*_instead(base)]
    also_asked = other_words(base, query)
    text = with_other_words(query.text, also_asked)
    mode = _possible_mode(base, query, degraded)
    vector: Vector | None = None
    if mode is not SearchMode.KEYWORD:
        try:
            vector = base.query_vector(text)
        except PASSING as exc:
            if mode is SearchMode.SEMANTIC:
                raise
            degraded.append(f"The semantic leg failed ({exc.message}); results are keyword matches only.")
            mode = SearchMode.KEYWORD
    unit = nearness(base.embedder) if mode is SearchMode.HYBRID and base.blends and query.weight is None else 1.0
    return EmbeddedQuery(text, also_asked, mode, vector, unit, tuple(degraded))


def _instead(base: Base) -> tuple[str, ...]:
    """Say where this is not the store that is configured: what is there may not be in it."""
    return (base.degraded,) if base.degraded else ()


def search_asked(base: Base, query: SearchQuery, question: EmbeddedQuery, *, by_edition: bool = False) -> SearchAnswer:
    """Find the best chunks for a question that was embedded; errors as `search`."""
    degraded, depth = list(question.degraded), _wanted(base, query)
    mode, text, also_asked = question.mode, question.text, question.also_asked
    with base.turn(), base.snapshot():  # a snapshot holds a connection and its memory
        editions = base.editions() if by_edition else None
        may_answer, choice = (query.filter, Choice()) if editions is None else filter_of(base, editions, query)
        query = dataclasses.replace(query, filter=may_answer)
        legs = base.search(
            vector=question.vector,
            text=text if mode is not SearchMode.SEMANTIC else None,
            filter=query.filter,
            limit=max(base.depth, depth) if mode is SearchMode.HYBRID else depth,
        )
        mode = _mode_left(legs, mode, degraded)
        statistics = counts_of(base.opened)
        wider = dataclasses.replace(query, limit=depth)
        passages = Passages(base)
        kept, only, note = legs, None, ""
        if mode is not SearchMode.SEMANTIC:
            kept, only, note = phrased(base, passages, query.text, query.filter, legs, mode)
        if mode is SearchMode.HYBRID and legs.dense and not legs.lexical:
            note = note or (_UNSAID if base.analyser.query_words(text) else f"{_WORDLESS}; {_BY_MEANING}")
        if mode is SearchMode.KEYWORD and not legs.lexical and not base.analyser.query_words(text):
            note = note or f"{_WORDLESS}."
        notes = (note,) if note else ()
        ranked = _ranked(base, passages, wider, question, mode, kept, only, statistics.chunks)
        by_name = mode is SearchMode.KEYWORD or (mode is SearchMode.HYBRID and query.weight is None)
        if mode is not SearchMode.SEMANTIC:
            notes = (*notes, *identifiers_not_found(base, passages, query.text, query.filter, ranked))
        definers = defining(base, query.text, query.filter) if by_name else []
        definers = [each for each in definers if only is None or each in only]
        hits = _hits(base, passages, defined_first(ranked, definers, depth))
        if by_name and mode is SearchMode.HYBRID:
            hits = indexes_last(hits)
    by_its_words = bool(definers) or bool(only)  # a term's entry or quoted words, whatever the legs say
    for reason in degraded:
        log_event(_logger, logging.WARNING, "search_degraded", reason=reason)
    if mode is not SearchMode.KEYWORD and not definers and not names_in_question(query.text).alone:
        hits = reranked(base, query.text, hits, degraded)
    end = query.offset + query.limit
    shown = folded(hits, end if query.per_document is None else None) if query.fold else hits
    shown = per_document(shown, query.per_document) if query.per_document is not None else shown
    page = tuple(shown[query.offset : end])
    found_in = (hit.chunk.document_id for hit in page)
    return SearchAnswer(
        hits=page,
        mode=mode,
        searched_documents=statistics.documents,
        degraded=(*degraded, *choice.notes),
        more=len(shown) > end,
        answerability=None if also_asked or by_its_words else estimate(base, query, mode, legs, statistics.chunks),
        also_asked=also_asked,
        notes=notes,
        editions=() if editions is None else notes_on(editions, found_in, query.edition),
    )


def _wanted(base: Base, query: SearchQuery) -> int:
    """Say how many hits to find, so that enough are left and it is known whether more follow."""
    end = query.offset + query.limit
    spare = end + _SPARE if query.fold or query.per_document is not None else 1
    return candidates(base, end + spare)


def _hits(base: Base, passages: Passages, ranked: Sequence[Ranked]) -> tuple[Hit, ...]:
    """Fetch and cite the chunks; one that has gone meanwhile is left out."""
    found = {chunk.id: chunk for chunk in passages.get([chunk_id for chunk_id, *_ in ranked])}
    records = Records(base, (chunk.document_id for chunk in found.values()))
    return tuple(
        Hit(
            chunk=found[chunk_id],
            score=score,
            citation=cite(found[chunk_id], record := records.get(found[chunk_id].document_id)),
            dense=dense_place,
            lexical=lexical_place,
            record=record,
        )
        for chunk_id, score, dense_place, lexical_place in ranked
        if chunk_id in found and found[chunk_id].document_id not in records.damaged
    )


def _ranked(
    base: Base,
    passages: Passages,
    query: SearchQuery,
    question: EmbeddedQuery,
    mode: SearchMode,
    legs: LegResults,
    only: Collection[str] | None,
    chunks: int,
) -> list[Ranked]:
    """Rank what the legs found: by scores where that is chosen and no weight is named, else by weighted ranks."""
    dense = legs.dense if mode is not SearchMode.KEYWORD else None
    lexical = legs.lexical if mode is not SearchMode.SEMANTIC else None
    by_scores = base.blends and query.weight is None and mode is SearchMode.HYBRID
    vector = question.vector
    if by_scores and vector is not None and dense is not None and lexical is not None:
        in_full = words_in_full(len(base.analyser.query_words(question.text)), chunks) / question.unit
        ranked = _blended(base, passages, query, vector, dense, lexical, only, in_full)
    else:
        named = USUAL_WEIGHT if query.weight is None else query.weight
        weight = {SearchMode.SEMANTIC: 1.0, SearchMode.KEYWORD: 0.0}.get(mode, named)
        ranked = base.fuse(dense, lexical, weight, query.limit)
    if lexical is not None and (query.weight is None or query.mode is SearchMode.KEYWORD):
        ranked = first_verbatim(passages, query.text, lexical, ranked, query.limit)
        ranked = pinned(base, passages, query.text, query.filter, ranked, query.limit)
    return ranked


def _blended(
    base: Base,
    passages: Passages,
    query: SearchQuery,
    vector: Vector,
    dense: Sequence[LegHit],
    lexical: Sequence[LegHit],
    only: Collection[str] | None,
    in_full: float,
) -> list[Ranked]:
    """Blend the legs by their scores, move the question's vector towards the best of it, and blend again.

    The places told of each hit are those in the legs as they were asked for. `only` names what may be found.
    """
    depth = max(base.depth, query.limit)
    cut = len(lexical) >= depth
    first = blend(dense, lexical, in_full, query.limit, cut=cut)
    again = feedback(base, passages, vector, [hit[0] for hit in first], query.filter, depth)
    if again is None:
        return first
    nearer = again[1] if only is None else [hit for hit in again[1] if hit.chunk_id in only]
    moved = blend(nearer, lexical, in_full, query.limit, cut=cut)
    passages.get([*(hit[0] for hit in moved), *(hit.chunk_id for hit in lexical[:BEST_BY_WORDS])])  # all at once
    near = places(dense, {hit[0] for hit in moved})
    return [(chunk_id, score, near.get(chunk_id), said) for chunk_id, score, _, said in moved]


def _mode_left(legs: LegResults, mode: SearchMode, degraded: list[str]) -> SearchMode:
    """Return the mode that is possible where a leg failed."""
    if legs.dense_error:
        degraded.append(f"The semantic leg failed ({legs.dense_error}); results are keyword matches only.")
        return SearchMode.KEYWORD
    if legs.lexical_error:
        degraded.append(f"The keyword leg failed ({legs.lexical_error}); results are semantic matches only.")
        return SearchMode.SEMANTIC
    return mode


def _possible_mode(base: Base, query: SearchQuery, degraded: list[str]) -> SearchMode:
    if query.mode is SearchMode.HYBRID and not base.hybrid:
        degraded.append("Hybrid search is switched off by QDRANT_HYBRID_SEARCH; results are semantic matches only.")
        return SearchMode.SEMANTIC
    return query.mode
