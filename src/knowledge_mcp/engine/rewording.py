"""What a question says in words that the documents do not use, asked for in words that they may use.

A reader asks for the quick ratio; the report prints current assets and current liabilities. Lists of synonyms say what
belongs together. Where the documents use the question's own words nothing is added: the passages that say them are what
was asked for, and other words only draw attention away from them.
"""

from __future__ import annotations

import math

from knowledge_mcp.engine.base import Base
from knowledge_mcp.model.errors import KnowledgeError
from knowledge_mcp.model.query import Filter, SearchMode, SearchQuery
from knowledge_mcp.ports import Synonyms

__all__ = ["other_words", "with_other_words"]

_LOOKED_AT = 30
"""Passages with a phrase's words that are looked at."""

_SELDOM = 0.002
"""Share of the passages that may say a phrase which the documents do not use, none under a filter; .001 to .01 give
the same."""

_MOST_SAYING = 15
"""Most of the passages looked at that may say it, however many passages there are."""

_MOST_PHRASES, _MOST_ADDED = 8, 16
"""Phrases of one question that are looked at, for each costs a search; and phrases added to it."""


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
        most = 0.0 if query.filter is not None else _SELDOM * base.store.statistics(base.collection).chunks
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
    hits = base.search(vector=None, text=phrase, filter=filter, limit=_LOOKED_AT).lexical
    if hits is None:
        return math.inf
    chunks = base.store.chunks(base.collection, [hit.chunk_id for hit in hits])
    return sum(synonyms.says(f"{each.section_title}\n{each.content}", phrase) for each in chunks)
