"""The two legs of search in the SQLite store, on a view and the snapshot that it belongs to.

Dense: in a small collection, or if a filter leaves few chunks, all vectors are compared. Otherwise the sign bits of all
vectors are compared with those of the query by Hamming distance; the nearest few thousand are ranked by the product of
the query and their signs, and the best few hundred of these are scored with the float vectors, held in memory or read
from the file. (On SciFact, 11,471 abstracts and 300 questions, this finds all of the true top 10; with bits alone, 400
candidates find .993 of them, and 2,400 find all.)

Lexical: BM25 over the posting lists of all query terms. Document frequencies are counted from the live slots, so they
are exact in every snapshot. Frequent terms are looked up only for slots that they can lift into the top k.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import NamedTuple

import apsw
import numpy as np
from numpy.typing import NDArray

from knowledge_mcp.model.chunk import Vector
from knowledge_mcp.model.errors import DamagedError, leave_out
from knowledge_mcp.model.query import Filter, LegHit, LegResults
from knowledge_mcp.stores.shared.filters import chunk_ids_in
from knowledge_mcp.stores.shared.payload import UNREADABLE
from knowledge_mcp.stores.shared.ranking import (
    STRIDE,
    best_hits,
    inverse_frequency,
    likely_slots,
    products,
    run_legs,
    term_weights,
)
from knowledge_mcp.stores.sqlite.postings import posting_lists
from knowledge_mcp.stores.sqlite.reading import visible_keys
from knowledge_mcp.stores.sqlite.tables import Session
from knowledge_mcp.stores.sqlite.view import FREQUENT, SqliteView, sign_bits
from knowledge_mcp.support.batches import batches

COMPARE_ALL_UP_TO, COMPARE_ALL_HELD_UP_TO = 1_500, 8_192
"""Up to this many vectors, comparing all is faster than selecting by sign bits: if read from the file, and if held in
memory.
"""

THREAD_FROM_SLOTS = 20_000
"""Number of slots from which running the two legs on two threads pays off."""

FEWEST_DIMENSIONS = 64
"""Number of dimensions from which sign bits are selective enough."""

FEWEST_NEAR, NEAR_PER_HIT = 2_400, 12
"""Number of vectors to select by Hamming distance of sign bits: minimum, and per requested hit."""

FEWEST_CANDIDATES, CANDIDATES_PER_HIT = 600, 4
"""Number of these to select by the product of query and signs, for the exact comparison: minimum, and per requested
hit.
"""

TERMS_AT_ONCE = 16
"""Terms whose posting lists are read by one statement; each list may be as long as the collection."""

_BITS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).astype(np.float32)
_BLOCK = 32_768
_ROUGH = 1e-3
"""Bound for the error of single precision, relative to the largest product."""
_ROUGH_SUM = 1e-9
"""Bound for the difference between sums of the same numbers in different order, relative to the sum."""
_FARTHEST = 65_535
_FAILURES = (apsw.Error, *UNREADABLE)


def legs(
    connection: Session,
    view: SqliteView,
    pool: Callable[[], ThreadPoolExecutor],
    *,
    vector: Vector | None,
    terms: Sequence[str] | None,
    filter: Filter | None,
    limit: int,
) -> LegResults:
    """Run the requested legs. If both are requested and one fails, return the hits of the other.

    Args:
        connection: a session in the snapshot that the view belongs to.
        view: the state of the collection.
        pool: returns the threads on which the dense leg of a large collection starts.
        vector: query of the dense leg, or None for no dense leg.
        terms: query of the lexical leg, or None for no lexical leg.
        filter: restricts what can be found.
        limit: maximum number of hits per leg.
    """
    rest, chunk_ids = chunk_ids_in(filter)
    mask = view.mask(rest)
    if chunk_ids is not None:
        mask = _mask_of(connection, view, chunk_ids, mask)
    begun: Future[NDArray[np.int64]] | None = None
    if vector is not None and terms is not None and chunk_ids is None and view.size >= THREAD_FROM_SLOTS:
        begun = pool().submit(dense_candidates, view, mask, vector, limit)

    def nearest(query: Vector) -> tuple[LegHit, ...]:
        if begun is not None:
            slots = begun.result()
        elif mask is not None and chunk_ids is not None:
            slots = np.flatnonzero(mask)
        else:
            slots = dense_candidates(view, mask, query, limit)
        return dense_hits(connection, view, query, slots, limit)

    def by_words(words: Sequence[str]) -> tuple[LegHit, ...]:
        return lexical_hits(connection, view, mask, words, limit, seen=view.weighed_mask(filter))

    return run_legs(
        None if vector is None else partial(nearest, vector),
        None if terms is None else partial(by_words, terms),
        failures=_FAILURES,
    )


def _mask_of(
    connection: Session, view: SqliteView, chunk_ids: Sequence[str], mask: NDArray[np.bool_] | None
) -> NDArray[np.bool_]:
    """Return the mask of the slots of some chunks, intersected with another mask."""
    slots = view.slots(chunk_ids)
    kept = np.zeros(view.size, np.bool_)
    kept[list(slots.values())] = True
    keys = visible_keys(connection, view.collection, [each for each in chunk_ids if each not in slots])
    if keys:
        kept |= np.isin(view.keys, np.fromiter(keys.values(), np.int64, len(keys)))
    return kept if mask is None else kept & mask


def dense_candidates(view: SqliteView, mask: NDArray[np.bool_] | None, vector: Vector, limit: int) -> NDArray[np.int64]:
    """Select the slots whose vectors to compare. Needs no connection, so it can run in parallel to the other leg."""
    possible = view.chunks if mask is None else int(np.count_nonzero(mask))
    depth = max(FEWEST_NEAR, NEAR_PER_HIT * limit)
    all_up_to = max(COMPARE_ALL_UP_TO if view.floats is None else COMPARE_ALL_HELD_UP_TO, depth)
    if possible <= all_up_to or len(vector) // 4 < FEWEST_DIMENSIONS:
        return np.arange(view.size) if mask is None else np.flatnonzero(mask)
    query = sign_bits(np.frombuffer(vector, "<f4").reshape(1, -1)).view("<u8")[0]
    distances = _hamming(view.bits, query)
    if mask is not None:
        np.copyto(distances, _FARTHEST, where=~mask)
    near = _nearest(distances, depth)
    return _best_by_signs(view, near, vector, max(FEWEST_CANDIDATES, CANDIDATES_PER_HIT * limit))


def _nearest(distances: NDArray[np.uint16], depth: int) -> NDArray[np.int64]:
    """Return the `depth` slots with the smallest distances; ties go to the first slots, `_FARTHEST` is excluded."""
    sample = np.sort(distances[::STRIDE])
    near = np.zeros(0, np.int64)
    # a quarter more than the sample's share is nearly always enough; the full depth always is
    for place in (depth * 5 // (4 * STRIDE), depth):
        bound = int(sample[place]) if place < len(sample) else _FARTHEST
        near = np.flatnonzero(distances <= min(bound, _FARTHEST - 1))
        if len(near) >= depth:
            break
    if len(near) > depth:
        farthest = np.partition(distances[near], depth - 1)[depth - 1]
        nearer, equal = near[distances[near] < farthest], near[distances[near] == farthest]
        near = np.concatenate([nearer, equal[: depth - len(nearer)]])
    return near


def _best_by_signs(view: SqliteView, near: NDArray[np.int64], vector: Vector, count: int) -> NDArray[np.int64]:
    """Keep the slots with the largest product of query and signs."""
    if len(near) <= count:
        return near
    packed = np.ascontiguousarray(view.bits[:, near].T).view(np.uint8).T
    query = np.zeros(len(view.bits) * 64, np.float32)
    query[: len(vector) // 4] = np.frombuffer(vector, "<f4")
    table = query.reshape(-1, 8) @ _BITS.T  # what each of the 256 bytes is worth in each place
    sums, worth = np.zeros(len(near), np.float32), np.empty(len(near), np.float32)
    for values, byte in zip(table, packed, strict=True):
        values.take(byte, out=worth, mode="clip")  # "clip" needs no buffer; a byte is never out of range
        sums += worth
    best = near[np.argpartition(sums, len(sums) - count)[len(sums) - count :]]
    best.sort()  # read the vectors in the order in which they are stored in the file
    return best


def dense_hits(
    connection: Session, view: SqliteView, vector: Vector, candidates: NDArray[np.int64], limit: int
) -> tuple[LegHit, ...]:
    """Score the candidates by cosine and return the best; scores do not depend on the other candidates."""
    query = np.frombuffer(vector, "<f4")
    every = np.arange(len(candidates))
    if view.floats is None:
        matrix, rows = view.vectors(connection, candidates), every
    elif len(candidates) * 2 < view.size:
        matrix, rows = view.floats[candidates], every
    else:  # copying nearly all would take longer than comparing the few that are not needed
        matrix, rows = view.floats, candidates
    likely = every
    if 0 < limit < len(candidates):  # single precision is enough to rule out what cannot be in the top k
        rough = np.einsum("ij,j->i", matrix, query)[rows]
        if not math.isfinite(float(rough.sum())):
            sound = np.isfinite(rough)
            _leave_out(connection, view, candidates[~sound])
            return dense_hits(connection, view, vector, candidates[sound], limit)
        least = np.partition(rough, len(rough) - limit)[len(rough) - limit]
        likely = np.flatnonzero(rough >= least - _ROUGH * max(1.0, float(np.abs(rough).max())))
    scores = products(matrix, rows[likely], vector)
    sound = np.isfinite(scores)
    if not sound.all():
        _leave_out(connection, view, candidates[likely[~sound]])
    return best_hits(candidates[likely[sound]], scores[sound], limit, partial(view.names_at, connection))


def _leave_out(connection: Session, view: SqliteView, slots: NDArray[np.int64]) -> None:
    """Report chunks whose vectors cannot be compared; they can still be found by their words."""
    for name in view.names_at(connection, slots):
        leave_out(DamagedError.of("vector", "", name, why="It is of another length, or no numbers."))


class _Term(NamedTuple):
    """The postings of a term, with its rarity times its count in the query.

    `slots` is None if `counts` covers every slot, as for frequent terms.
    """

    slots: NDArray[np.intp] | None
    counts: NDArray[np.uint8]
    rarity: float

    def weights(self, norms: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the term's BM25 contribution to each of its slots."""
        return term_weights(self.counts, norms if self.slots is None else norms[self.slots], self.rarity)


def _terms(connection: Session, view: SqliteView, terms: Sequence[str], seen: NDArray[np.bool_] | None) -> list[_Term]:
    """Read the postings of the query terms that visible chunks contain, in query order; frequent ones are cached."""
    known, found, times = view.counts.copy(), list[_Term](), Counter(terms)
    _, alive, chunks = view.weighed_by(seen)
    for some in batches(list(times), TERMS_AT_ONCE):
        postings = posting_lists(connection, view.collection, [term for term in some if term not in known])
        for term in some:
            slots, counts = None, known.get(term)
            if counts is None and term in postings:
                slots, counts = postings[term][0].astype(np.intp), postings[term][1]
                if FREQUENT * len(slots) >= view.size:
                    every = np.zeros(view.size, np.uint8)
                    every[slots] = counts
                    view.keep_counts(term, every)
                    slots, counts = None, every
            if counts is None:
                continue
            visible = alive if alive is None or slots is None else alive[slots]
            holding = int(np.count_nonzero(counts if visible is None else (counts > 0) & visible))
            if holding:
                found.append(_Term(slots, counts, times[term] * inverse_frequency(chunks, holding)))
    return found


def _best_sums(
    asked: Sequence[_Term], norms: NDArray[np.float64], mask: NDArray[np.bool_] | None, limit: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Sum BM25 term by term for the slots that may be in the top k; a score of 0 is no hit.

    The contributions of rare terms are summed first. If the k-th best of these sums exceeds what all frequent terms
    together can add, the frequent terms are looked up only for slots that can still reach the top k.
    """
    rare = [each for each in asked if each.slots is not None]
    sums = _summed(rare, norms)
    if len(rare) < len(asked):
        best = sums if mask is None else sums * mask
        likely = best[likely_slots(best, limit)]
        least = float(np.partition(likely, len(likely) - limit)[len(likely) - limit]) if len(likely) >= limit else 0.0
        least -= sum(each.rarity for each in asked if each.slots is None) + _ROUGH_SUM * least
        if least > 0.0:
            slots = np.flatnonzero(best >= least)
            return slots, _summed_at(slots, asked, norms)
        sums = _summed(asked, norms)
    if mask is not None:
        sums *= mask
    slots = likely_slots(sums, limit)
    return slots, sums[slots]


def _summed(terms: Iterable[_Term], norms: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sum the contributions of terms for every slot; dead slots may get any score."""
    sums = np.zeros(len(norms), np.float64)
    for each in terms:
        sums[slice(None) if each.slots is None else each.slots] += each.weights(norms)
    return sums


def _summed_at(slots: NDArray[np.int64], terms: Iterable[_Term], norms: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sum the contributions of terms for some slots, in the same order as `_summed`, so with identical results."""
    sums, norms_there = np.zeros(len(slots), np.float64), norms[slots]
    every = np.zeros(len(norms), np.uint8)
    for each in terms:
        counts = each.counts
        if each.slots is not None:
            every[each.slots] = counts
            counts = every
        sums += term_weights(counts[slots], norms_there, each.rarity)
        if each.slots is not None:
            every[each.slots] = 0
    return sums


def lexical_hits(
    connection: Session,
    view: SqliteView,
    mask: NDArray[np.bool_] | None,
    terms: Sequence[str],
    limit: int,
    *,
    seen: NDArray[np.bool_] | None = None,
) -> tuple[LegHit, ...]:
    """Return the best chunks that contain any of the terms; `seen` is a `SlotView.weighed_mask`."""
    if limit <= 0:
        return ()
    asked = _terms(connection, view, terms, seen)
    slots, scores = _best_sums(asked, view.weighed_by(seen)[0], mask, limit)
    return best_hits(slots, scores, limit, partial(view.names_at, connection))


def _hamming(bits: NDArray[np.uint64], query: NDArray[np.uint64]) -> NDArray[np.uint16]:
    """Return the Hamming distance of every column to the query; up to three words are summed in one byte."""
    found = np.zeros(bits.shape[1], np.uint16)
    words = np.empty(_BLOCK, np.uint64)
    counts, sums = np.empty(_BLOCK, np.uint8), np.empty(_BLOCK, np.uint8)
    for start in range(0, bits.shape[1], _BLOCK):
        block, out = bits[:, start : start + _BLOCK], found[start : start + _BLOCK]
        word, count, part = words[: len(out)], counts[: len(out)], sums[: len(out)]  # reused: fresh memory is slow
        for first in range(0, len(query), 3):
            np.bitwise_count(np.bitwise_xor(block[first], query[first], out=word), out=part)
            for place in range(first + 1, min(first + 3, len(query))):
                np.bitwise_count(np.bitwise_xor(block[place], query[place], out=word), out=count)
                part += count
            out += part
    return found
