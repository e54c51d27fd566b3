"""Answer one question from several collections, with comparable ranks.

The rarity of a word differs between collections, so a passage of a small one scores higher than it would in a large
one. If the legs were blended by scores, they are blended again as if all were one collection; the order within each
collection is kept. On six sets split into five collections each, this keeps .826 of .832 nDCG@10; the original scores
keep .806 (`python -m benchmarks.many_collections`). A score depends only on the hit and those before it, so that pages
are consistent.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

from knowledge_mcp.engine.core.base import Base, base_of, counts_of
from knowledge_mcp.engine.core.health import sound_answer
from knowledge_mcp.engine.search.blending import score_of, words_in_full
from knowledge_mcp.engine.search.by_name import NAMED_FROM
from knowledge_mcp.engine.search.cosine_unit import cosine_unit
from knowledge_mcp.engine.search.folding import folded
from knowledge_mcp.engine.search.search import candidates, reranked, search, with_synonyms
from knowledge_mcp.engine.search.verbatim import contains_together
from knowledge_mcp.language.names import names_in_question
from knowledge_mcp.language.phrases import phrases_in
from knowledge_mcp.model.chunk import Vector
from knowledge_mcp.model.errors import KnowledgeError, NotFoundError
from knowledge_mcp.model.query import Hit, SearchAnswer, SearchMode, SearchQuery
from knowledge_mcp.ports import Embedder

_MOST_NAMED = 20


@dataclass(frozen=True, slots=True)
class Answered:
    """The answer of one collection.

    Attributes:
        name: the collection.
        answer: its best hits, from the first.
        in_full: `words_in_full` of all collections together; None if the original scores are compared.
    """

    name: str
    answer: SearchAnswer
    in_full: float | None = None


def search_several(base: Base, names: Sequence[str], query: SearchQuery, *, by_edition: bool = False) -> SearchAnswer:
    """Find the best passages of some collections; each hit names its own, and the question is embedded once.

    A collection that cannot be searched is reported in `degraded`.

    Args:
        base: provides store and parts; its own collection is not used.
        names: of the collections.
        query: the question; pages are cut from the merged answer.
        by_edition: as for `search`.

    Raises:
        KnowledgeError: none could be searched; the error of the first.
    """
    once = replace(base, embedder=cast("Embedder", _CachingEmbedder(base.embedder)), reranker=None)
    deeper = replace(query, offset=0, limit=candidates(base, query.offset + query.limit + 1))
    found: list[tuple[str, SearchAnswer]] = []
    failed: list[tuple[str, KnowledgeError]] = []
    chunks = 0
    for name in names:
        one = base_of(once, name)
        ask = partial(search, one, deeper, by_edition=by_edition)
        try:
            found.append((name, sound_answer(one, ask, lambda each: each.hits)))
            chunks += counts_of(one.opened).chunks if one.exists() else 0
        except KnowledgeError as exc:
            failed.append((name, exc))
    if failed and not found:
        raise failed[0][1]
    failures = tuple(f"{name} could not be searched: {error.message}" for name, error in failed)
    return merged(
        [Answered(name, each, _in_full(base, query, each, chunks)) for name, each in found], query, base, failures
    )


def no_collection(name: str, names: Collection[str]) -> NotFoundError:
    """Build the error for an unknown collection, with the readable ones."""
    near = difflib.get_close_matches(name, names, 1, 0.5)
    there = f"Collections: {', '.join(sorted(names)[:_MOST_NAMED])}." if names else "List the collections to see them."
    return NotFoundError(
        f"Collection not found: {name[:100]}", suggestion=f"Did you mean '{near[0]}'?" if near else there
    )


def _in_full(base: Base, query: SearchQuery, answer: SearchAnswer, chunks: int) -> float | None:
    if not base.blends or query.weight is not None or answer.mode is not SearchMode.HYBRID:
        return None
    terms = len(base.analyser.query_words(with_synonyms(query.text, answer.also_asked)))
    return words_in_full(terms, chunks) / cosine_unit(base.embedder)


def merged(
    answers: Sequence[Answered], query: SearchQuery, base: Base | None = None, degraded: Sequence[str] = ()
) -> SearchAnswer:
    """Merge several answers.

    Args:
        answers: of the collections, each with one hit more than the page needs, if available.
        query: the question.
        base: its reranker orders the best hits of all; None for none.
        degraded: other failures.
    """
    parts = [each.answer for each in answers]
    compare = all(each.in_full is not None for each in answers if each.answer.hits)
    saying: list[Answered] = []
    phrases = phrases_in(query.text)
    if phrases:
        saying = [
            each for each in answers if any(contains_together(hit.chunk, phrases) for hit in each.answer.hits[:1])
        ]
    hits = [hit for each in saying or answers for hit in _placed(each, compare=compare)]
    hits.sort(key=lambda hit: (-hit.score, hit.collection))
    failures = [*(words for each in parts for words in each.degraded), *degraded]
    searched = [answer for answer in parts if answer.searched_documents]
    mode = searched[0].mode if searched else query.mode
    if base is not None and mode is not SearchMode.KEYWORD and not names_in_question(query.text).alone:
        hits = list(reranked(base, query.text, hits, failures))
    end = query.offset + query.limit
    shown = folded(hits, end) if query.fold else hits
    page = tuple(shown[query.offset : end])
    places = {hit.collection for hit in page}
    likely = [each.answer.answerability for each in answers if each.name in places]
    notes = [note for note in (searched[0].notes if searched else ()) if all(note in each.notes for each in searched)]
    return SearchAnswer(
        page,
        mode,
        sum(each.searched_documents for each in parts),
        degraded=tuple(dict.fromkeys(failures)),
        more=len(shown) > end,
        answerability=None if query.offset else max((each for each in likely if each is not None), default=None),
        also_asked=tuple(dict.fromkeys(words for each in parts for words in each.also_asked)),
        notes=tuple(notes),
        editions=tuple(dict.fromkeys(words for each in parts for words in each.editions)),
    )


def _placed(answered: Answered, *, compare: bool) -> Iterator[Hit]:
    """Add the collection to hits, and score them as in one ranking; none scores more than the previous one."""
    most, least = NAMED_FROM, 0.0
    for hit in answered.answer.hits:
        score = hit.score
        if compare and answered.in_full is not None and score <= NAMED_FROM:
            least = hit.dense.score if hit.dense is not None else least
            words = hit.lexical.score if hit.lexical is not None else 0.0
            score = most = min(most, score_of(least, words, answered.in_full))
        yield replace(hit, score=score, collection=answered.name)


class _CachingEmbedder:
    """Embed one question once for any number of collections; everything else is delegated to the embedder."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._known: dict[str, Vector] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._embedder, name)

    def embed_query(self, text: str) -> Vector:
        """Embed it, or return the earlier result."""
        if text not in self._known:
            self._known[text] = self._embedder.embed_query(text)
        return self._known[text]
