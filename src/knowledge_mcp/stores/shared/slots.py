"""Searches over what this process holds of a collection: one slot for each chunk, those of chunks that are gone too.

SQLite and ChromaDB fill the arrays each in its own way; what a filter keeps, BM25 and the choice of the best are here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from knowledge_mcp.model.errors import KnowledgeError
from knowledge_mcp.model.query import Filter, LegHit
from knowledge_mcp.stores.shared.bm25 import K1, B, inverse_frequency
from knowledge_mcp.stores.shared.filters import Simple, keeps_value, simple_filters

STRIDE = 16
"""Every so many-th score is looked at to guess the cut; whatever the sample, the guess is on the safe side."""

_FILTERS_KEPT = 16
_KIND = ("document_type", "chunk_type", "normative")

Mask = NDArray[np.bool_]
Scores = NDArray[np.float64]


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


def bm25_scores(
    postings: Iterable[tuple[NDArray[np.unsignedinteger], NDArray[np.unsignedinteger]]],
    norms: Scores,
    alive: Mask | None,
    chunks: int,
) -> Scores:
    """Sum every slot's BM25, `[size]`; dead slots may have any score.

    Args:
        postings: slots and counts of each term of the query; no slot comes twice.
        norms: of all slots.
        alive: slots of visible chunks, None where all are. chunks: how many those are.
    """
    scores = np.zeros(len(norms), np.float64)
    for slots, counts in postings:
        places = slots.astype(np.intp)
        holding = len(places) if alive is None else int(np.count_nonzero(alive[places]))
        if holding:
            share = counts.astype(np.float64)
            held = norms[places]
            held += share
            share /= held
            share *= inverse_frequency(chunks, holding)
            scores[places] += share
    return scores


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


def run_leg(
    run: Callable[[], tuple[LegHit, ...]], *, alone: bool, failures: Sequence[type[Exception]] = ()
) -> tuple[tuple[LegHit, ...] | None, str]:
    """Run one leg; where another one may still answer, its failure is told instead of raised.

    Args:
        run: gives the hits.
        alone: whether no other leg may answer.
        failures: besides errors of the program's own.
    """
    try:
        return run(), ""
    except (KnowledgeError, *failures) as exc:
        if alone:
            raise
        return None, exc.message if isinstance(exc, KnowledgeError) else f"{type(exc).__name__}: {exc}"
