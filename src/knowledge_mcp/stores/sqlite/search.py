"""The two legs of the SQLite store's search, over a view and the snapshot that it belongs to.

Dense: in a small collection, or where a filter leaves little, every vector is compared. Else the sign bits of all
vectors are compared with the query's; the nearest few thousand are ranked by the query itself on their signs, and the
best few hundred of these are scored with the float vectors, held in memory or read from the file. (Of SciFact's 11,471
abstracts and 300 questions the true first ten are all found so; 400 by bits alone find .993 of them, 2,400 all.)
Lexical: BM25 over the posting lists of all query terms; the document frequencies are counted from what is alive, so
they are exact in every snapshot. Frequent terms are looked up only for slots that they can lift among the best.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
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
"""Vectors that are rather all compared than chosen by their bits: read from the file, and held in memory."""

THREAD_FROM_SLOTS = 20_000
"""Slots from which the two legs are worth two threads."""

FEWEST_DIMENSIONS = 64
"""Dimensions from which signs tell enough."""

FEWEST_NEAR, NEAR_PER_HIT = 2_400, 12
"""Vectors that are chosen by comparing bits with bits."""

FEWEST_CANDIDATES, CANDIDATES_PER_HIT = 600, 4
"""Vectors that are chosen of these by comparing bits with the query's numbers, to be compared in full."""

TERMS_AT_ONCE = 16
"""Terms whose posting lists are read by one statement; each may be as long as the collection."""

_BITS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).astype(np.float32)
_BLOCK = 32_768
_ROUGH = 1e-3
"""More than single precision can be wrong by, as a share of the largest product."""
_ROUGH_SUM = 1e-9
"""More than sums of the same numbers in another order differ by, as a share of them."""
_FARTHEST = 65_535
_FAILURES = (apsw.Error, *UNREADABLE)


def legs(
    connection: Session,
    view: SqliteView,
    pool: Callable[[], ThreadPoolExecutor],
    *,
    vector: Vector | None,
    terms: Mapping[str, float] | None,
    filter: Filter | None,
    limit: int,
) -> LegResults:
    """Run the legs asked for; where there are two and one fails, the other one's hits are given.

    Args:
        connection: in the snapshot that the view belongs to.
        view: the collection's state.
        pool: gives the threads that a large collection's dense leg begins in.
        vector: for the dense leg, None for none.
        terms: for the lexical leg, with their weights; None for none.
        filter: what may be found.
        limit: most hits of each leg.
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

    def said(words: Mapping[str, float]) -> tuple[LegHit, ...]:
        return lexical_hits(connection, view, mask, words, limit, seen=view.weighed_mask(filter))

    return run_legs(
        None if vector is None else partial(nearest, vector),
        None if terms is None else partial(said, terms),
        failures=_FAILURES,
    )


def _mask_of(
    connection: Session, view: SqliteView, chunk_ids: Sequence[str], mask: NDArray[np.bool_] | None
) -> NDArray[np.bool_]:
    """Tell which slots are those of some chunks, of those that a mask keeps."""
    slots = {} if view.names is None else view.slots(chunk_ids)
    kept = np.zeros(view.size, np.bool_)
    kept[list(slots.values())] = True
    keys = visible_keys(connection, view.collection, [each for each in chunk_ids if each not in slots])
    if keys:
        kept |= np.isin(view.keys, np.fromiter(keys.values(), np.int64, len(keys)))
    return kept if mask is None else kept & mask


def dense_candidates(view: SqliteView, mask: NDArray[np.bool_] | None, vector: Vector, limit: int) -> NDArray[np.int64]:
    """Choose the slots whose vectors are to be compared; needs no connection, so it can run beside the other leg."""
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
    """List the slots of the smallest distances, of equal ones the first, at most `depth`; the farthest is none."""
    sample = np.sort(distances[::STRIDE])
    near = np.zeros(0, np.int64)
    # a fourth more than the share of the sample is nearly always enough; the whole depth of it always is
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
    """Keep the slots on whose signs the query's own numbers sum up highest."""
    if len(near) <= count:
        return near
    packed = np.ascontiguousarray(view.bits[:, near].T).view(np.uint8).T
    query = np.zeros(len(view.bits) * 64, np.float32)
    query[: len(vector) // 4] = np.frombuffer(vector, "<f4")
    table = query.reshape(-1, 8) @ _BITS.T  # what each of the 256 bytes is worth in each place
    sums, worth = np.zeros(len(near), np.float32), np.empty(len(near), np.float32)
    for values, byte in zip(table, packed, strict=True):
        values.take(byte, out=worth, mode="clip")  # which needs no buffer; a byte is never beyond
        sums += worth
    best = near[np.argpartition(sums, len(sums) - count)[len(sums) - count :]]
    best.sort()  # vectors are read in the order in which they lie in the file
    return best


def dense_hits(
    connection: Session, view: SqliteView, vector: Vector, candidates: NDArray[np.int64], limit: int
) -> tuple[LegHit, ...]:
    """Score the candidates by cosine and name the best; every score is the same whatever it is computed with."""
    query = np.frombuffer(vector, "<f4")
    every = np.arange(len(candidates))
    if view.floats is None:
        matrix, rows = view.vectors(connection, candidates), every
    elif len(candidates) * 2 < view.size:
        matrix, rows = view.floats[candidates], every
    else:  # copying nearly all would take longer than comparing the few that are not asked for
        matrix, rows = view.floats, candidates
    likely = every
    if 0 < limit < len(candidates):  # exact enough to leave out what cannot be among the best
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
    """Name chunks whose vectors cannot be compared; their words can still be found."""
    for name in view.names_at(connection, slots):
        leave_out(DamagedError.of("vector", "", name, why="It is of another length, or no numbers."))


class _Term(NamedTuple):
    """Hold a term's postings. `slots` is None where `counts` has every slot, as of a frequent term."""

    slots: NDArray[np.intp] | None
    counts: NDArray[np.uint8]
    rarity: float

    def weights(self, norms: NDArray[np.float64]) -> NDArray[np.float64]:
        """Work out what it adds to its slots' sums."""
        return term_weights(self.counts, norms if self.slots is None else norms[self.slots], self.rarity)


def _terms(
    connection: Session, view: SqliteView, terms: Mapping[str, float], seen: NDArray[np.bool_] | None
) -> list[_Term]:
    """Read the postings of terms that visible chunks hold, in the order of the question; frequent ones stay."""
    known, found = view.counts.copy(), list[_Term]()
    _, alive, chunks = view.weighed_by(seen)
    for some in batches(terms, TERMS_AT_ONCE):
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
            held = alive if alive is None or slots is None else alive[slots]
            holding = int(np.count_nonzero(counts if held is None else (counts > 0) & held))
            if holding:
                found.append(_Term(slots, counts, terms[term] * inverse_frequency(chunks, holding)))
    return found


def _best_sums(
    asked: Sequence[_Term], norms: NDArray[np.float64], mask: NDArray[np.bool_] | None, limit: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Sum the BM25 of the slots that may be among the best, term by term; 0 is no hit.

    What rare terms add is summed first. Where the last of the best has more of it than all frequent terms can add,
    these are looked up only for the slots that they can lift so far.
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
    """Sum what terms add to every slot; dead ones may have any score."""
    sums = np.zeros(len(norms), np.float64)
    for each in terms:
        sums[slice(None) if each.slots is None else each.slots] += each.weights(norms)
    return sums


def _summed_at(slots: NDArray[np.int64], terms: Iterable[_Term], norms: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sum what terms add to some slots, in the same order and so to the same numbers as `_summed`."""
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
    terms: Mapping[str, float],
    limit: int,
    *,
    seen: NDArray[np.bool_] | None = None,
) -> tuple[LegHit, ...]:
    """Name the best chunks that hold any of the terms; `seen` is as in `SlotView`."""
    if limit <= 0:
        return ()
    asked = _terms(connection, view, terms, seen)
    slots, scores = _best_sums(asked, view.weighed_by(seen)[0], mask, limit)
    return best_hits(slots, scores, limit, partial(view.names_at, connection))


def _hamming(bits: NDArray[np.uint64], query: NDArray[np.uint64]) -> NDArray[np.uint16]:
    """Count the bits of every column that differ from the query's; three words at most are summed in one byte."""
    found = np.zeros(bits.shape[1], np.uint16)
    words = np.empty(_BLOCK, np.uint64)
    counts, sums = np.empty(_BLOCK, np.uint8), np.empty(_BLOCK, np.uint8)
    for start in range(0, bits.shape[1], _BLOCK):
        block, out = bits[:, start : start + _BLOCK], found[start : start + _BLOCK]
        word, count, part = words[: len(out)], counts[: len(out)], sums[: len(out)]  # made once: fresh memory is slow
        for first in range(0, len(query), 3):
            np.bitwise_count(np.bitwise_xor(block[first], query[first], out=word), out=part)
            for place in range(first + 1, min(first + 3, len(query))):
                np.bitwise_count(np.bitwise_xor(block[place], query[place], out=word), out=count)
                part += count
            out += part
    return found
