"""How hits are scored and the best of them chosen, the same in every store.

Cosines of unit vectors are worked out in double precision. Words are weighed by BM25:

```text
score = sum over query terms of  idf · tf / (tf + k1 · (1 - b + b · length / mean length))
idf   = ln(1 + (N - df + 0.5) / (df + 0.5))
```

N, df and the mean length count the visible chunks of the whole collection, whatever the filter; `tf` stops at 255.

A *slot* is a chunk's number in what a process holds of a collection; chunks that are gone have slots too. SQLite and
ChromaDB fill the arrays each in its own way; what a filter keeps, BM25 and the choice of the best are here.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from knowledge_mcp.model.chunk import Vector
from knowledge_mcp.model.errors import KnowledgeError
from knowledge_mcp.model.query import Filter, LegHit, LegResults
from knowledge_mcp.stores.shared.filters import Simple, keeps_value, simple_filters

Mask = NDArray[np.bool_]
Scores = NDArray[np.float64]

K1 = 1.2
B = 0.4
LARGEST_COUNT = 255
"""A term said oftener than this in one chunk counts as said so often; keeps a count in one byte."""


def term_counts(terms: Iterable[str]) -> dict[str, int]:
    """Count each term of a chunk; a chunk's length is the sum of these counts."""
    return {term: min(count, LARGEST_COUNT) for term, count in Counter(terms).items()}


def inverse_frequency(chunks: int, holding: int) -> float:
    """Weigh a term by how few of the chunks hold it; always above 0."""
    return math.log(1.0 + (chunks - holding + 0.5) / (holding + 0.5))


_AT_ONCE = 1024
"""Rows worked out at once: they stay in the processor's cache."""


def products(matrix: NDArray[np.float32], rows: NDArray[np.integer], vector: Vector) -> NDArray[np.float64]:
    """Multiply some rows of a matrix, `[n, dimensions]`, with a vector; a product does not depend on the other rows."""
    query = np.frombuffer(vector, "<f4").astype(np.float64)
    found = np.empty(len(rows), np.float64)
    for start in range(0, len(rows), _AT_ONCE):
        some = matrix[rows[start : start + _AT_ONCE]].astype(np.float64)
        np.einsum("ij,j->i", some, query, out=found[start : start + _AT_ONCE])
    return found


def ranked(hits: Iterable[LegHit], limit: int | None = None) -> list[LegHit]:
    """Sort hits, the best first; of equal scores the smaller chunk id. At most `limit`."""
    return sorted(hits, key=lambda hit: (-hit.score, hit.chunk_id))[:limit]


STRIDE = 16
"""Every so many-th score is looked at to guess the cut; whatever the sample, the guess is on the safe side."""

_FILTERS_KEPT = 16
_KIND = ("document_type", "chunk_type", "normative")


def filter_mask(filter: Filter, alive: Mask, known: dict[Filter, Mask], part: Callable[[Simple], Mask]) -> Mask:
    """Tell which slots a filter keeps, `[size]`; masks are kept in `known`, which must be of one state of the slots.

    Args:
        filter: without chunk ids, of which there are too many to keep.
        alive: slots of visible chunks.
        known: masks made before.
        part: gives the slots that one part keeps.
    """
    found = known.get(filter)
    if found is None:
        found = alive.copy()
        for each in simple_filters(filter):
            found &= part(each)
        if len(known) >= _FILTERS_KEPT:
            known.clear()
        known[filter] = found
    return found


def coded_mask(
    part: Simple,
    kinds: tuple[Mapping[tuple[str, str, str], int], NDArray[np.unsignedinteger]],
    clauses: tuple[Mapping[str | None, int], NDArray[np.unsignedinteger]],
) -> Mask:
    """Tell which slots a part keeps that names a kind or the clause.

    Args:
        part: of a filter.
        kinds: codes from 0 on of document type, chunk type and normative, and the code of each slot.
        clauses: codes from 0 on of clause numbers, and the code of each slot.
    """
    if part.field == "clause_number":
        values: list[str | None] = list(clauses[0])
        codes = clauses[1]
    else:
        which = _KIND.index(part.field)
        values = [kind[which] for kind in kinds[0]]
        codes = kinds[1]
    return np.fromiter((keeps_value(part, value) for value in values), np.bool_, len(values))[codes]


def length_norms(lengths: Scores, alive: Mask | None) -> Scores:
    """Work out BM25's length norm of each slot; `alive` is None where all are."""
    visible = lengths if alive is None else lengths[alive]
    mean = float(visible.sum()) / max(len(visible), 1) or 1.0
    return K1 * (1.0 - B + B * lengths / mean)


def bm25_weights(
    slots: NDArray[np.unsignedinteger],
    counts: NDArray[np.unsignedinteger],
    norms: Scores,
    alive: Mask | None,
    chunks: int,
) -> tuple[NDArray[np.intp], Scores]:
    """Work out what a term adds to the BM25 of the slots that hold it; dead slots may have any score.

    Args:
        slots: that hold it, each once.
        counts: how often each does.
        norms: of all slots.
        alive: slots of visible chunks, None where all are.
        chunks: how many those are.

    Returns:
        The slots, none where no visible one is among them, and what is added to each.
    """
    places = slots.astype(np.intp)
    holding = len(places) if alive is None else int(np.count_nonzero(alive[places]))
    if not holding:
        return places[:0], norms[:0]
    weights = counts.astype(np.float64)
    own_norms = norms[places]
    own_norms += weights
    weights /= own_norms
    weights *= inverse_frequency(chunks, holding)
    return places, weights


def weighed(
    seen: Mask | None, lengths: Callable[[], Scores], norms: Scores, alive: Mask | None, chunks: int
) -> tuple[Scores, Mask | None, int]:
    """Give what BM25 counts: norms, alive and chunks as they are, or of the slots alone that are seen.

    Args:
        seen: visible chunks but those of documents that count as absent; None where none does.
        lengths: gives the lengths of all slots.
        norms, alive, chunks: of the whole state.
    """
    if seen is None:
        return norms, alive, chunks
    return length_norms(lengths(), seen), seen, int(np.count_nonzero(seen))


def likely_slots(scores: Scores, limit: int) -> NDArray[np.int64]:
    """List the slots that may be among the best, the best all among them; 0 is no hit."""
    sample = scores[::STRIDE]
    if len(sample) > limit:  # the sample's n-th best is never better than the n-th best of all
        least = np.partition(sample, len(sample) - limit)[len(sample) - limit]
        if least > 0.0:
            return np.flatnonzero(scores >= least)
    return np.flatnonzero(scores > 0.0)


def best_hits(
    slots: NDArray[np.int64], scores: Scores, limit: int, names_of: Callable[[NDArray[np.int64]], Iterable[str]]
) -> tuple[LegHit, ...]:
    """Name the best; of equal scores at the cut those with the smaller chunk ids, so all of them are looked up.

    Args:
        slots: that may be named. scores: of these.
        limit: most hits.
        names_of: gives the chunk ids of slots.
    """
    if limit <= 0 or not len(slots):
        return ()
    if len(slots) > limit:
        least = np.partition(scores, len(scores) - limit)[len(scores) - limit]
        kept = scores >= least
        slots, scores = slots[kept], scores[kept]
    best = sorted(zip((-scores).tolist(), names_of(slots), strict=True))
    return tuple([LegHit(name, -score) for score, name in best[:limit]])


Leg = Callable[[], tuple[LegHit, ...]]


def run_legs(dense: Leg | None, lexical: Leg | None, *, failures: Sequence[type[Exception]] = ()) -> LegResults:
    """Run the legs that are asked for, words first; where there are two and one fails, the other one's hits are given.

    Args:
        dense, lexical: give the hits.
        failures: that may happen besides errors of the program's own.
    """
    both = dense is not None and lexical is not None
    said, lexical_error = (None, "") if lexical is None else _run_leg(lexical, failures, alone=not both)
    alone = not both or bool(lexical_error)
    near, dense_error = (None, "") if dense is None else _run_leg(dense, failures, alone=alone)
    return LegResults(near, said, dense_error, lexical_error)


def _run_leg(run: Leg, failures: Sequence[type[Exception]], *, alone: bool) -> tuple[tuple[LegHit, ...] | None, str]:
    try:
        return run(), ""
    except (KnowledgeError, *failures) as exc:
        if alone:
            raise
        return None, exc.message if isinstance(exc, KnowledgeError) else f"{type(exc).__name__}: {exc}"
