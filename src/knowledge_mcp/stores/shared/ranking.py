"""Scoring and top k selection, the same in every store.

Cosines of unit vectors are computed in double precision. The lexical leg is scored with BM25:

```text
score = sum over query terms of  count in the query · idf · tf / (tf + k1 · (1 - b + b · length / mean length))
idf   = ln(1 + (N - df + 0.5) / (df + 0.5))
```

N, df and the mean length are counted over all visible chunks of the collection, whether or not the filter keeps them;
only documents that it declares absent are not counted. `tf` is capped at 255.

A *slot* is the number of a chunk in the index that a process holds of a collection; deleted chunks keep their slots.
SQLite and ChromaDB fill the slots in different ways. The data of each slot, filter masks, BM25 and the selection of the
best are here, and so is what every store keeps of a chunk: the terms of the lexical leg, and the names it defines.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from knowledge_mcp.model.chunk import Chunk, EmbeddedChunk, Vector
from knowledge_mcp.model.errors import KnowledgeError
from knowledge_mcp.model.query import Filter, LegHit, LegResults, NotIn
from knowledge_mcp.ports import Analyser
from knowledge_mcp.stores.shared.filters import Simple, absent_in, keeps, keeps_value, simple_filters

Mask = NDArray[np.bool_]
Scores = NDArray[np.float64]

K1 = 1.2
B = 0.4
LARGEST_COUNT = 255
"""Cap on the count of a term in one chunk, so that a count fits in one byte."""


def term_counts(terms: Iterable[str]) -> dict[str, int]:
    """Count each term of a chunk, capped; the length of the chunk is the sum of these counts."""
    return {term: min(count, LARGEST_COUNT) for term, count in Counter(terms).items()}


def inverse_frequency(chunks: int, holding: int) -> float:
    """Return the inverse document frequency of a term (idf); always above 0."""
    return math.log(1.0 + (chunks - holding + 0.5) / (holding + 0.5))


_AT_ONCE = 1024
"""Rows per block: small enough to stay in the CPU cache."""


def products(matrix: NDArray[np.float32], rows: NDArray[np.integer], vector: Vector) -> NDArray[np.float64]:
    """Return the dot products of selected rows of a matrix, `[n, dimensions]`, with a vector.

    Each product is independent of which other rows are selected.
    """
    query = np.frombuffer(vector, "<f4").astype(np.float64)
    found = np.empty(len(rows), np.float64)
    for start in range(0, len(rows), _AT_ONCE):
        some = matrix[rows[start : start + _AT_ONCE]].astype(np.float64)
        np.einsum("ij,j->i", some, query, out=found[start : start + _AT_ONCE])
    return found


def ranked(hits: Iterable[LegHit], limit: int | None = None) -> list[LegHit]:
    """Return at most `limit` hits, best first; ties are broken by the smaller chunk id."""
    return sorted(hits, key=lambda hit: (-hit.score, hit.chunk_id))[:limit]


STRIDE = 16
"""Sampling interval for estimating the cut-off score; any sample gives a safe lower bound."""

_MASKS_KEPT = 16
"""Number of filter masks to cache, at one byte per slot each: a person uses few filters, an assistant often repeats the
same ones.
"""
_KIND = ("document_type", "chunk_type", "normative")

T = TypeVar("T", bound=np.generic)


class GrowingArray(Generic[T]):
    """An array that grows at its end. Slices returned earlier keep their contents."""

    def __init__(self, dtype: type[T], rows: int | None = None, *, by_columns: bool = False) -> None:
        self._by_columns = by_columns
        self._width = rows
        self._data: NDArray[T] = np.zeros(self._shape(1024), dtype)

    def _shape(self, capacity: int) -> tuple[int, ...]:
        if self._width is None:
            return (capacity,)
        return (self._width, capacity) if self._by_columns else (capacity, self._width)

    @property
    def bytes(self) -> int:
        """Size of the allocated memory in bytes, including unused capacity."""
        return self._data.nbytes

    @property
    def _capacity(self) -> int:
        return self._data.shape[-1 if self._by_columns else 0]

    def put(self, start: int, values: NDArray[T]) -> None:
        """Write values from position `start`, along the growing axis."""
        count = values.shape[-1 if self._by_columns else 0]
        if start + count > self._capacity:
            grown: NDArray[T] = np.zeros(self._shape(max(start + count, self._capacity * 3 // 2)), self._data.dtype)
            if self._by_columns:
                grown[:, : self._capacity] = self._data
            else:
                grown[: self._capacity] = self._data
            self._data = grown
        if self._by_columns:
            self._data[:, start : start + count] = values
        else:
            self._data[start : start + count] = values

    def upto(self, size: int) -> NDArray[T]:
        """Return a view of the first `size` positions."""
        if size > self._capacity:
            self.put(size, np.zeros(self._shape(0), self._data.dtype))
        return self._data[:, :size] if self._by_columns else self._data[:size]


@dataclass
class SlotBuffers:
    """The data of each slot that filters and BM25 need. Slots without a chunk have code 0. The buffers only grow."""

    lengths: GrowingArray[np.uint32] = field(default_factory=lambda: GrowingArray(np.uint32))
    kinds: GrowingArray[np.uint16] = field(default_factory=lambda: GrowingArray(np.uint16))
    clauses: GrowingArray[np.uint32] = field(default_factory=lambda: GrowingArray(np.uint32))
    kind_names: dict[tuple[str, str, str], int] = field(default_factory=lambda: {("", "", ""): 0})
    clause_names: dict[str | None, int] = field(default_factory=lambda: {None: 0})
    blocks: dict[int, tuple[str, int]] = field(default_factory=dict[int, tuple[str, int]])

    def take(
        self,
        first: int,
        document_id: str,
        lengths: NDArray[np.uint32],
        kinds: tuple[Iterable[tuple[str, str, str]], Sequence[int] | None],
        clauses: Iterable[str | None],
    ) -> None:
        """Add the chunks of one document as a block of consecutive slots.

        Args:
            first: first slot of the block.
            document_id: document of the chunks.
            lengths: length of each chunk in terms.
            kinds: distinct kinds, as `filters.kind_of` returns them, and for each chunk the index of its kind; None
                instead of the indexes if there is one kind per chunk, in order.
            clauses: clause number of each chunk.
        """
        self.blocks[first] = (document_id, len(lengths))
        if not len(lengths):
            return
        self.lengths.put(first, lengths)
        codes = np.array([self.kind_names.setdefault(each, len(self.kind_names)) for each in kinds[0]], np.uint16)
        self.kinds.put(first, codes if kinds[1] is None else codes[np.array(kinds[1], np.intp)])
        names = self.clause_names
        self.clauses.put(first, np.array([names.setdefault(each, len(names)) for each in clauses], np.uint32))


@dataclass
class SlotView:
    """One state of a collection's slots, on which filters and BM25 are computed.

    Attributes:
        size: number of slots, including dead ones; the length of every array.
        chunks: number of live slots.
        alive: mask of the slots that are visible chunks; None if all are.
        norms: BM25 length norm of each slot.
        buffers: data of each slot; entries beyond `size` belong to later states.
        masks: cached filter masks.
    """

    size: int
    chunks: int
    alive: Mask | None
    norms: Scores
    buffers: SlotBuffers
    masks: dict[Filter, Mask] = field(default_factory=dict[Filter, Mask], init=False)

    def mask(self, filter: Filter | None) -> Mask | None:
        """Return the mask of the slots that a filter without chunk ids keeps, or None if it keeps all; cached."""
        if filter is None:
            return self.alive
        found = self.masks.get(filter)
        if found is None:
            found = np.ones(self.size, np.bool_) if self.alive is None else self.alive.copy()
            for each in simple_filters(filter):
                found &= self._part(each)
            if len(self.masks) >= _MASKS_KEPT:
                self.masks.clear()
            self.masks[filter] = found
        return found

    def weighed_mask(self, filter: Filter | None) -> Mask | None:
        """Return the mask of the visible slots that BM25 statistics count, or None if they count all."""
        absent = absent_in(filter)
        return self.mask(NotIn("document_id", absent, absent=True)) if absent else None

    def weighed_by(self, seen: Mask | None) -> tuple[Scores, Mask | None, int]:
        """Return what BM25 needs for the slots of `weighed_mask`: length norms, the mask, and the number of chunks."""
        if seen is None:
            return self.norms, self.alive, self.chunks
        return length_norms(self.lengths(), seen), seen, int(np.count_nonzero(seen))

    def lengths(self) -> Scores:
        """Return the length of each slot in terms."""
        return self.buffers.lengths.upto(self.size).astype(np.float64)

    def _part(self, part: Simple) -> Mask:
        buffers = self.buffers
        if part.field == "document_id":
            kept = np.zeros(self.size, np.bool_)
            for first, (document_id, size) in list(buffers.blocks.items()):
                if first < self.size and keeps_value(part, document_id):  # dead blocks stay: older views use them
                    kept[first : first + size] = True
            return kept
        if part.field == "clause_number":
            values, codes = list(buffers.clause_names), buffers.clauses.upto(self.size)
        else:
            which = _KIND.index(part.field)
            values, codes = [kind[which] for kind in buffers.kind_names], buffers.kinds.upto(self.size)
        return np.fromiter((keeps_value(part, value) for value in values), np.bool_, len(values))[codes]


N = TypeVar("N", float, Scores)


def length_norm(length: N, mean: float) -> N:
    """Return the BM25 length norm for a length in terms, or for an array of lengths."""
    return K1 * (1.0 - B + B * length / mean)


def length_norms(lengths: Scores, alive: Mask | None) -> Scores:
    """Return the BM25 length norm of each slot; `alive` is None if all slots are visible."""
    visible = lengths if alive is None else lengths[alive]
    return length_norm(lengths, float(visible.sum()) / max(len(visible), 1) or 1.0)


def bm25_weights(
    slots: NDArray[np.unsignedinteger],
    counts: NDArray[np.unsignedinteger],
    norms: Scores,
    alive: Mask | None,
    chunks: int,
    times: int,
) -> tuple[NDArray[np.intp], Scores]:
    """Compute the BM25 contribution of one term for each slot that contains it; dead slots may get any score.

    Args:
        slots: slots that contain the term, each once.
        counts: count of the term in each of these slots.
        norms: length norms of all slots.
        alive: mask of visible slots, or None if all are.
        chunks: number of visible chunks.
        times: how often the question has the term.

    Returns:
        The slots (empty if none of them is visible) and their contributions.
    """
    places = slots.astype(np.intp)
    holding = len(places) if alive is None else int(np.count_nonzero(alive[places]))
    if not holding:
        return places[:0], norms[:0]
    return places, term_weights(counts, norms[places], times * inverse_frequency(chunks, holding))


def term_weights(counts: NDArray[np.unsignedinteger], norms: Scores, rarity: float) -> Scores:
    """Compute the BM25 contribution of a term per slot: always less than its idf, and 0 if its count is 0.

    Args:
        counts: count of the term in each slot.
        norms: length norms of these slots.
        rarity: the term's `inverse_frequency`.
    """
    weights = counts.astype(np.float64)
    weights /= norms + weights
    weights *= rarity
    return weights


def likely_slots(scores: Scores, limit: int) -> NDArray[np.int64]:
    """Return a superset of the top k slots; slots with score 0 are no hits."""
    sample = scores[::STRIDE]
    if len(sample) > limit:  # the sample's k-th best score is never above the k-th best of all
        least = np.partition(sample, len(sample) - limit)[len(sample) - limit]
        if least > 0.0:
            return np.flatnonzero(scores >= least)
    return np.flatnonzero(scores > 0.0)


def best_hits(
    slots: NDArray[np.int64], scores: Scores, limit: int, names_of: Callable[[NDArray[np.int64]], Iterable[str]]
) -> tuple[LegHit, ...]:
    """Select the top k hits.

    Ties at the cut-off go to the smaller chunk ids, so the ids of all tied slots are looked up.

    Args:
        slots: candidate slots.
        scores: score of each candidate.
        limit: maximum number of hits.
        names_of: returns the chunk ids of slots.
    """
    if limit <= 0 or not len(slots):
        return ()
    if len(slots) > limit:
        least = np.partition(scores, len(scores) - limit)[len(scores) - limit]
        kept = scores >= least
        slots, scores = slots[kept], scores[kept]
    best = sorted(zip((-scores).tolist(), names_of(slots), strict=True))
    return tuple([LegHit(name, -score) for score, name in best[:limit]])


def search_all(
    chunks: Sequence[EmbeddedChunk],
    analyser: Analyser,
    vector: Vector | None,
    terms: Sequence[str] | None,
    filter: Filter | None,
    limit: int,
) -> LegResults:
    """Search without an index, by comparing all chunks: for stores that hold few.

    Args:
        chunks: all visible chunks of a collection.
        analyser: produces the terms of the chunks.
        vector: for the dense leg, or None.
        terms: the terms of the question, for the lexical leg, or None.
        filter: which chunks may be hits.
        limit: maximum number of hits of each leg.
    """
    allowed = {each.chunk.id for each in chunks if keeps(filter, each.chunk)}

    def best(scored: Iterable[tuple[EmbeddedChunk, float]]) -> tuple[LegHit, ...]:
        hits = [LegHit(each.chunk.id, score) for each, score in scored if each.chunk.id in allowed]
        return tuple(ranked(hits, max(0, limit)))

    dense = lexical = None
    if vector is not None:
        matrix = np.frombuffer(b"".join(each.vector for each in chunks), "<f4").reshape(len(chunks), len(vector) // 4)
        dense = best(zip(chunks, products(matrix, np.arange(len(chunks)), vector).tolist(), strict=True))
    if terms is not None:
        absent = absent_in(filter)
        counted = [each for each in chunks if each.chunk.document_id not in absent]
        scores = _bm25([counted_terms(each.chunk, analyser) for each in counted], terms)
        lexical = best((each, score) for each, score in zip(counted, scores, strict=True) if score > 0.0)
    return LegResults(dense=dense, lexical=lexical)


def _bm25(counts: Sequence[Mapping[str, int]], terms: Iterable[str]) -> list[float]:
    """Return the BM25 score of each chunk, by the counts of its terms."""
    lengths = [sum(count.values()) for count in counts]
    mean = sum(lengths) / max(len(lengths), 1) or 1.0
    scores = [0.0] * len(counts)
    for term, times in Counter(terms).items():
        weight = times * inverse_frequency(len(counts), sum(term in count for count in counts))
        for place, count in enumerate(counts):
            if term in count:
                scores[place] += weight * (count[term] / (count[term] + length_norm(lengths[place], mean)))
    return scores


Leg = Callable[[], tuple[LegHit, ...]]


def run_legs(dense: Leg | None, lexical: Leg | None, *, failures: Sequence[type[Exception]] = ()) -> LegResults:
    """Run the requested legs, the lexical one first. If both are requested and one fails, return the hits of the other.

    Args:
        dense, lexical: return the hits of a leg; None if it is not requested.
        failures: exceptions to handle in addition to `KnowledgeError`.
    """
    both = dense is not None and lexical is not None
    by_words, lexical_error = (None, "") if lexical is None else _run_leg(lexical, failures, alone=not both)
    alone = not both or bool(lexical_error)
    near, dense_error = (None, "") if dense is None else _run_leg(dense, failures, alone=alone)
    return LegResults(near, by_words, dense_error, lexical_error)


def _run_leg(run: Leg, failures: Sequence[type[Exception]], *, alone: bool) -> tuple[tuple[LegHit, ...] | None, str]:
    try:
        return run(), ""
    except (KnowledgeError, *failures) as exc:
        if alone:
            raise
        return None, exc.message if isinstance(exc, KnowledgeError) else f"{type(exc).__name__}: {exc}"


class DefinedName(NamedTuple):
    """One name that a chunk defines.

    Attributes:
        term_key: lookup key.
        alias: 0 for the term itself, 1 for an alias.
        document_id, position, place: document, index of the chunk and index of the definition in it; the sort order of
        names.
        term: the name as printed.
    """

    term_key: str
    alias: int
    document_id: str
    position: int
    place: int
    term: str


def counted_terms(chunk: Chunk, analyser: Analyser) -> dict[str, int]:
    """Count the terms of a chunk; its length is the sum of these counts."""
    return term_counts(analyser.document_terms(chunk.embedding_text))


def defined_names(chunk: Chunk, analyser: Analyser) -> list[DefinedName]:
    """List the terms that a chunk defines, and their aliases."""
    return [
        DefinedName(analyser.term_key(term), int(number > 0), chunk.document_id, chunk.index, place, term)
        for place, each in enumerate(chunk.definitions)
        for number, term in enumerate((each.term, *each.aliases))
    ]


def printed_terms(definitions: Iterable[tuple[str, Sequence[str]]], analyser: Analyser) -> dict[str, str]:
    """Map keys to names as printed: terms take precedence over aliases, earlier definitions over later ones."""
    found = list(definitions)
    terms: dict[str, str] = {}
    for name in (*(term for term, _ in found), *(alias for _, aliases in found for alias in aliases)):
        terms.setdefault(analyser.term_key(name), name)
    return terms
