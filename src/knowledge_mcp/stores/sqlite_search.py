"""The two legs of the SQLite store's search, over a view and the snapshot that it belongs to.

Dense: in a small collection, or where a filter leaves little, every vector is compared. Else the sign bits of all
vectors are compared with the query's; the nearest few thousand are ranked by the query itself on their signs, and the
best few hundred of these are scored with the float vectors, held in memory or read from the file. (Of SciFact's 11,471
abstracts and 300 questions the true first ten are all found so; 400 by bits alone find .993 of them, 2,400 all.)
Lexical: BM25 over the posting lists of all query terms; the document frequencies are counted from what is alive, so
they are exact in every snapshot.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from knowledge_mcp.model.chunk import Vector
from knowledge_mcp.model.errors import InternalError
from knowledge_mcp.model.query import LegHit
from knowledge_mcp.stores.bm25 import inverse_frequency
from knowledge_mcp.stores.sqlite_postings import posting_lists
from knowledge_mcp.stores.sqlite_session import Session
from knowledge_mcp.stores.sqlite_view import View, sign_bits, vectors_of

__all__ = [
    "COMPARE_ALL_HELD_UP_TO",
    "COMPARE_ALL_UP_TO",
    "STRIDE",
    "dense_candidates",
    "dense_hits",
    "lexical_hits",
    "lexical_scores",
]

COMPARE_ALL_UP_TO, COMPARE_ALL_HELD_UP_TO = 1_500, 8_192
"""Vectors that are rather all compared than chosen by their bits: read from the file, and held in memory."""

FEWEST_DIMENSIONS = 64
"""Dimensions from which signs tell enough."""

FEWEST_NEAR, NEAR_PER_HIT = 2_400, 12
"""Vectors that are chosen by comparing bits with bits."""

FEWEST_CANDIDATES, CANDIDATES_PER_HIT = 600, 4
"""Vectors that are chosen of these by comparing bits with the query's numbers, to be compared in full."""

_BITS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).astype(np.float32)
_BLOCK = 32_768
_ROUGH = 1e-3
"""More than single precision can be wrong by, as a share of the largest product."""
_FARTHEST = 65_535
STRIDE = 16
"""Every so many-th score is looked at to guess the cut; whatever the sample, the guess is on the safe side."""


def dense_candidates(view: View, mask: NDArray[np.bool_] | None, vector: Vector, limit: int) -> NDArray[np.int64]:
    """Choose the slots whose vectors are to be compared; needs no connection, so it can run beside the other leg."""
    possible = view.chunks if mask is None else int(np.count_nonzero(mask))
    wanted = max(FEWEST_NEAR, NEAR_PER_HIT * limit)
    all_up_to = max(COMPARE_ALL_UP_TO if view.floats is None else COMPARE_ALL_HELD_UP_TO, wanted)
    if possible <= all_up_to or len(vector) // 4 < FEWEST_DIMENSIONS:
        return np.arange(view.size) if mask is None else np.flatnonzero(mask)
    query = sign_bits(np.frombuffer(vector, "<f4").reshape(1, -1)).view("<u8")[0]
    distances = np.empty(view.size, np.uint16)
    for start in range(0, view.size, _BLOCK):
        block = view.bits[:, start : start + _BLOCK]
        _hamming(block, query, distances[start : start + _BLOCK])
    if mask is not None:
        np.copyto(distances, _FARTHEST, where=~mask)
    bound = _FARTHEST - 1
    sample = distances[::STRIDE]
    if len(sample) > wanted:  # the sample's n-th nearest is never nearer than the n-th nearest of all
        bound = min(bound, int(np.partition(sample, wanted - 1)[wanted - 1]))
    near = np.flatnonzero(distances <= bound)
    if len(near) > wanted:
        farthest = np.partition(distances[near], wanted - 1)[wanted - 1]
        nearer, equal = near[distances[near] < farthest], near[distances[near] == farthest]
        near = np.concatenate([nearer, equal[: wanted - len(nearer)]])
    return _best_by_signs(view, near, vector, max(FEWEST_CANDIDATES, CANDIDATES_PER_HIT * limit))


def _best_by_signs(view: View, near: NDArray[np.int64], vector: Vector, wanted: int) -> NDArray[np.int64]:
    """Keep the slots on whose signs the query's own numbers sum up highest."""
    if len(near) <= wanted:
        return near
    packed = np.ascontiguousarray(view.bits[:, near]).view(np.uint8).reshape(len(view.bits), len(near), 8)
    query = np.zeros(len(view.bits) * 64, np.float32)
    query[: len(vector) // 4] = np.frombuffer(vector, "<f4")
    table = query.reshape(-1, 8) @ _BITS.T  # what each of the 256 bytes is worth in each place
    sums = np.zeros(len(near), np.float32)
    for place in range(len(table)):
        sums += table[place][packed[place // 8, :, place % 8]]
    return near[np.argpartition(sums, len(sums) - wanted)[len(sums) - wanted :]]


def dense_hits(
    connection: Session, view: View, vector: Vector, candidates: NDArray[np.int64], limit: int
) -> tuple[LegHit, ...]:
    """Score the candidates by cosine and name the best; every score is the same whatever it is computed with."""
    query = np.frombuffer(vector, "<f4")
    every = np.arange(len(candidates))
    if view.floats is None:
        matrix, rows = vectors_of(connection, view.keys[candidates], len(query)), every
    elif len(candidates) * 2 < view.size:
        matrix, rows = view.floats[candidates], every
    else:  # copying nearly all would take longer than comparing the few that are not asked for
        matrix, rows = view.floats, candidates
    likely = every
    if 0 < 4 * limit < len(candidates):  # exact enough to leave out what cannot be among the best
        rough = np.einsum("ij,j->i", matrix, query)[rows]
        least = np.partition(rough, len(rough) - limit)[len(rough) - limit]
        likely = np.flatnonzero(rough >= least - _ROUGH * max(1.0, float(np.abs(rough).max())))
    scores = np.empty(len(likely), np.float64)
    for start in range(0, len(likely), 1024):  # rows of one block stay in the processor's cache
        block = matrix[rows[likely[start : start + 1024]]].astype(np.float64)
        scores[start : start + 1024] = (block * query.astype(np.float64)).sum(axis=1)
    candidates = candidates[likely]
    return _best(connection, view, candidates, scores, limit)


def lexical_scores(connection: Session, view: View, terms: Sequence[str]) -> NDArray[np.float64]:
    """Sum every slot's BM25, `[size]`; dead slots may have any score."""
    scores = np.zeros(view.size, np.float64)
    for term in terms:
        found = posting_lists(connection, view.collection, term)
        if found is None:
            continue
        slots, counts = found
        places = slots.astype(np.intp)
        holding = len(places) if view.alive is None else int(np.count_nonzero(view.alive[places]))
        if holding:
            share = counts.astype(np.float64)
            norms = view.norms[places]
            norms += share
            share /= norms
            share *= inverse_frequency(view.chunks, holding)
            scores[places] += share
    return scores


def lexical_hits(
    connection: Session, view: View, mask: NDArray[np.bool_] | None, terms: Sequence[str], limit: int
) -> tuple[LegHit, ...]:
    """Name the best chunks that hold any of the terms."""
    if limit <= 0:
        return ()
    scores = lexical_scores(connection, view, terms)
    if mask is not None:
        scores *= mask
    slots = _likely(scores, limit)
    return _best(connection, view, slots, scores[slots], limit)


def _hamming(block: NDArray[np.uint64], query: NDArray[np.uint64], out: NDArray[np.uint16]) -> None:
    """Count the differing bits of every column; three words at most are summed in one byte."""
    out[:] = 0
    for first in range(0, len(query), 3):
        part = np.bitwise_count(block[first] ^ query[first])
        for word in range(first + 1, min(first + 3, len(query))):
            part += np.bitwise_count(block[word] ^ query[word])
        out += part


def _likely(scores: NDArray[np.float64], limit: int) -> NDArray[np.int64]:
    """List the slots that may be among the best, the best all among them; 0 is no hit."""
    sample = scores[::STRIDE]
    if len(sample) > limit:  # the sample's n-th best is never better than the n-th best of all
        least = np.partition(sample, len(sample) - limit)[len(sample) - limit]
        if least > 0.0:
            return np.flatnonzero(scores >= least)
    return np.flatnonzero(scores > 0.0)


def _best(
    connection: Session, view: View, slots: NDArray[np.int64], scores: NDArray[np.float64], limit: int
) -> tuple[LegHit, ...]:
    """Name the best; of equal scores at the cut those with the smaller chunk ids, so all of them are looked up."""
    if limit <= 0 or not len(slots):
        return ()
    if len(slots) > limit:
        least = np.partition(scores, len(scores) - limit)[len(scores) - limit]
        kept = scores >= least
        slots, scores = slots[kept], scores[kept]
    names = connection.by_keys(
        "SELECT k.chunk_id FROM carray(?) c CROSS JOIN chunks k WHERE k.key = c.value", view.keys[slots]
    )
    if len(names) != len(slots):
        raise InternalError(
            f"{len(slots) - len(names)} chunks are missing from the store.",
            suggestion="Run `knowledge doctor` and ingest the documents that it names again.",
        )
    hits = [LegHit(str(name[0]), score) for name, score in zip(names, scores.tolist(), strict=True)]
    hits.sort(key=lambda hit: (-hit.score, hit.chunk_id))
    return tuple(hits[:limit])
