"""The two legs of a search: what the view holds is searched there, else ChromaDB's vector index is asked.

The index knows nothing of generations. Hits of one that is not visible are dropped and more are asked for; where a
generation went while the index was asked, it is asked again for the newer state.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from knowledge_mcp.model.errors import ConfigError, TimedOutError
from knowledge_mcp.model.query import Filter, LegHit, LegResults
from knowledge_mcp.ports import Analyser
from knowledge_mcp.stores.chroma.layout import generation_of, where_of
from knowledge_mcp.stores.chroma.places import ChromaCollection
from knowledge_mcp.stores.chroma.view import ChromaView
from knowledge_mcp.stores.shared.filters import In, chunk_ids_in, simple_filters
from knowledge_mcp.stores.shared.ranking import ranked, run_legs

_SPARE = 32
"""Hits asked for beyond the limit: for generations that are not visible, and for equal scores at the cut."""
_TRIES = 20
_COMPARE_ALL_UP_TO = 500
"""Chunks that are rather all compared than looked for in the index, where a filter leaves so few."""
NO_KEYWORDS = "Keyword search is not available: its index of this ChromaDB collection would take too much memory."


def legs(
    place: ChromaCollection,
    view: ChromaView,
    analyser: Analyser,
    *,
    vector: bytes | None,
    text: str | None,
    filter: Filter | None,
    limit: int,
) -> LegResults:
    """Run the legs asked for; where there are two and one fails, the other one's hits are given."""
    words = None if text is None else partial(_lexical, view, analyser.query_terms(text), filter, limit)
    with view.lock:
        view.refresh()
        if vector is None or view.exact:
            return run_legs(None if vector is None else partial(view.dense, vector, filter, limit), words)
    return run_legs(partial(_nearest, place, view, vector, filter, limit), words)


def _lexical(view: ChromaView, terms: list[str], filter: Filter | None, limit: int) -> tuple[LegHit, ...]:
    with view.lock:
        if view.too_large:
            suggestion = "Search semantically, or keep so many documents in SQLite or Qdrant."
            raise ConfigError(NO_KEYWORDS, suggestion=suggestion)
        return view.lexical(terms, filter, limit)


def _nearest(
    place: ChromaCollection, view: ChromaView, vector: bytes, filter: Filter | None, limit: int
) -> tuple[LegHit, ...]:
    if limit <= 0 or any(isinstance(part, In) and not part.values for part in simple_filters(filter)):
        return ()
    named = chunk_ids_in(filter)[1]
    for _ in range(_TRIES):
        with view.lock:
            before = set(view.generations.values())
            allowed = view.allowed(filter)
            few = view.entries(filter) if allowed <= _COMPARE_ALL_UP_TO or named is not None else None
        count = min(limit, allowed)
        hits = _ask(place, vector, filter, count, before) if few is None else _compare(place, vector, few)
        if len(hits) < count:  # the index has lost its way to some
            with view.lock:
                few = view.entries(filter)
            hits = _compare(place, vector, few)
        with view.lock:
            view.refresh(again=True)
            gone = before - set(view.generations.values())
        if not gone:
            return tuple(ranked(hits, count))
    raise TimedOutError("Documents are replaced faster than the vector index can be asked.")


def _compare(place: ChromaCollection, vector: bytes, entries: list[str]) -> list[LegHit]:
    """Score all of some chunks; those that went meanwhile are left out."""
    exact = np.frombuffer(vector, "<f4").astype(np.float64)
    return [
        LegHit(entry.partition(" ")[2], float(np.asarray(near, np.float64) @ exact))
        for entry, near in place.chunks.vectors(entries).items()
    ]


def _ask(place: ChromaCollection, vector: bytes, filter: Filter | None, limit: int, visible: set[str]) -> list[LegHit]:
    """Ask the index for more until enough of what it gives is visible."""
    query = np.frombuffer(vector, "<f4")
    exact = query.astype(np.float64)
    count = limit + _SPARE
    total = place.chunks.count()
    while True:
        near = place.chunks.nearest(query, min(count, max(total, 1)), where_of(filter))
        hits = [
            LegHit(each.id.partition(" ")[2], float(np.asarray(each.vector, np.float64) @ exact))
            for each in near
            if generation_of(each.id) in visible
        ]
        if len(hits) >= limit or count >= total:
            return hits
        count *= 4
