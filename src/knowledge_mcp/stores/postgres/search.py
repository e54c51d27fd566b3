"""The two legs of search in the PostgreSQL store, in one snapshot.

Dense: in a small collection, or if a filter keeps few chunks, all vectors are compared. Otherwise the HNSW index
selects candidates, and continues if a filter leaves too few (of 20,000 chunks it finds .997 of the true top 10).
Candidates are scored here in double precision, as in every store.

Lexical: BM25 over the posting lists of the terms. Its counters are from the same snapshot, so the scores are exact. In
a large collection the postings of rare terms are read first, and of the other terms only those that can still change
the top k.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from knowledge_mcp.model.chunk import Vector
from knowledge_mcp.model.query import Equals, Filter, In, LegHit, LegResults, NotIn
from knowledge_mcp.stores.postgres.tables import SCHEMA, Extension, PostgresPlace, PostgresSession, PostgresVector, Row
from knowledge_mcp.stores.postgres.writing import ENTRY, INDEX_FROM_CHUNKS
from knowledge_mcp.stores.shared.filters import simple_filters
from knowledge_mcp.stores.shared.payload import UNREADABLE
from knowledge_mcp.stores.shared.ranking import (
    best_hits,
    inverse_frequency,
    length_norm,
    products,
    run_legs,
    term_weights,
)

_CANDIDATES_PER_HIT, _FEWEST_CANDIDATES, _MOST_CANDIDATES = 4, 200, 1_000
"""Candidates that the index examines: 200 contain .997 of the true top 10 (0148); pgvector allows at most 1,000."""
_BESIDE = 8
"""Additional candidates to fetch, because the server ranks in 32 bits: with 64 requested, some change places."""
_ITERATIVE = (0, 8)
HEAD = 4
"""Bytes before the components of a vector in pgvector's binary format."""
_NAMES_PER_HIT, _FEWEST_NAMES = 20, 500
"""Best scored chunks to look up first; if the filter leaves too few of them, all that it keeps are looked up."""
_MOST_GAPS = 8
"""Ratio of key range to postings up to which a dense array of sums is used; it takes no more memory than sorting."""
_READ_FIRST = 20_000
"""Postings to read before checking whether more can matter: about 2 ms, the cost of one more statement."""
_FEW_BLOCKS = 200
"""Up to this many blocks, all remaining terms are looked up at once; above, the rarest term is looked up first."""
_ROUNDING = 1e-9
"""Generous bound for the relative difference between sums in different order."""
_MOST_KNOWN = 20_000
"""Maximum number of cached document frequencies; one or two megabytes."""
Postings = dict[str, tuple[NDArray[np.int64], NDArray[Any]]]
"""For each term the keys of the chunks that contain it, and its entries, in no particular order."""
Known = dict[tuple[str, frozenset[str], str], int]
"""Document frequencies by collection state, absent documents and term."""
_BLOCK = np.dtype([("first", ">i8"), ("bytes", ">i4")])


def condition(filter: Filter | None) -> tuple[str, tuple[object, ...]]:
    """Convert a filter into SQL.

    Returns:
        A condition that begins with AND (empty if the filter keeps everything), and the values of its placeholders.
    """
    where = ""
    values: list[object] = []
    for each in simple_filters(filter):
        if isinstance(each, Equals):
            where += f" AND {each.field} = %s"
            values.append(str(each.value).lower() if isinstance(each.value, bool) else each.value)
        elif isinstance(each, In | NotIn):
            where += f" AND {each.field} {'= ANY' if isinstance(each, In) else '<> ALL'}(%s::text[])"
            values.append(list(each.values))
        else:
            stem = each.value.rstrip(".")  # strings that begin with it and a dot sort before "/", the next character
            where += " AND (clause_number = %s OR clause_number >= %s AND clause_number < %s)"
            values.extend((stem, f"{stem}.", f"{stem}/"))
    return where, tuple(values)


@dataclass(frozen=True)
class Search:
    """One search of a collection in one snapshot.

    Attributes:
        where, values: the filter, as `condition` returns it.
        limit: maximum number of hits per leg.
        known: cached document frequencies; searches add to it.
        absent: documents that BM25 statistics ignore.
    """

    session: PostgresSession
    extension: Extension
    place: PostgresPlace
    where: str
    values: tuple[object, ...]
    limit: int
    known: Known
    absent: frozenset[str]

    def legs(self, vector: Vector | None, terms: Sequence[str] | None) -> LegResults:
        """Run the requested legs. If both are requested and the postings are damaged, return the dense hits alone."""
        return run_legs(
            None if vector is None else partial(self.dense, vector),
            None if terms is None else partial(self.lexical, terms),
            failures=UNREADABLE,
        )

    def dense(self, vector: Vector) -> tuple[LegHit, ...]:
        """Rank by cosine; a large collection uses the index, unless it finds too few chunks that the filter keeps."""
        if not self.limit:
            return ()
        if self.place.chunks >= INDEX_FROM_CHUNKS and "_id = " not in self.where:
            found = self._by_index(vector)
            if len(found) >= self.limit:
                return self._scored(found, vector)
        # "+ 0" prevents the use of the index, so that all vectors are compared
        found: Any = self.session.rows(
            f"SELECT chunk_id, vector FROM {SCHEMA}.chunks WHERE {self._kept}"
            f" ORDER BY (vector OPERATOR({self.extension.schema}.<#>) %s) + 0, chunk_id LIMIT %s",
            (*self.values, PostgresVector(vector), self.limit),
        )
        return self._scored(found, vector)

    def _scored(self, found: Sequence[tuple[str, bytes]], vector: Vector) -> tuple[LegHit, ...]:
        names = [name for name, _ in found]
        every, numbers = np.arange(len(names)), np.frombuffer(b"".join(data[HEAD:] for _, data in found), ">f4")
        scores = products(numbers.reshape(-1, self.place.space.dimensions).astype(np.float32), every, vector)
        return best_hits(every, scores, self.limit, lambda some: map(names.__getitem__, some))

    def _by_index(self, vector: Vector) -> list[tuple[str, bytes]]:
        depth = min(_MOST_CANDIDATES, max(_FEWEST_CANDIDATES, _CANDIDATES_PER_HIT * self.limit))
        if self.where:
            if self.extension.version < _ITERATIVE:
                return []
            self.session.set("hnsw.iterative_scan", "strict_order")
        self.session.set("hnsw.ef_search", str(depth))
        schema, half = self.extension.schema, f"{self.extension.schema}.halfvec({self.place.space.dimensions})"
        bound = PostgresVector(vector)
        order = f"(vector::{half}) OPERATOR({schema}.<#>) %s::{half}"
        near = f"SELECT chunk_id, vector FROM {SCHEMA}.chunks WHERE {self._kept} ORDER BY {order} LIMIT %s"
        found: Any = self.session.rows(
            f"SELECT chunk_id, vector FROM ({near}) near ORDER BY vector OPERATOR({schema}.<#>) %s, chunk_id LIMIT %s",
            (*self.values, bound, depth, bound, self.limit + _BESIDE),
        )
        return found

    @property
    def _kept(self) -> str:
        return f"collection = {self.place.id}{self.where}"

    def lexical(self, terms: Sequence[str]) -> tuple[LegHit, ...]:
        """Rank by BM25 the chunks that contain any of the terms and that the filter keeps."""
        count = max(_FEWEST_NAMES, _NAMES_PER_HIT * self.limit) if self.where else self.limit
        if not count:
            return ()
        keys, scores = self._scores(terms, count)
        best = np.arange(len(keys))
        if count < len(keys):
            best = np.flatnonzero(scores >= np.partition(scores, -count)[-count])  # ties stay together
        hits = self._named(keys[best], scores[best], "key = ANY(%s::bigint[])", _listed(keys[best]))
        if len(hits) < self.limit and count <= len(keys):
            hits = self._named(*self._scores(terms), "collection = %s", self.place.id)
        return hits

    def _named(
        self, keys: NDArray[np.int64], scores: NDArray[np.float64], among: str, value: object
    ) -> tuple[LegHit, ...]:
        """Return the best of some scored chunks (sorted by key) that the filter keeps."""
        found = self.session.rows(
            f"SELECT key, chunk_id FROM {SCHEMA}.chunks WHERE {among}{self.where}", (value, *self.values)
        )
        names: dict[int, str] = dict(found)
        kept = np.flatnonzero(np.isin(keys, np.fromiter(names, np.int64, len(names))))
        return best_hits(kept, scores[kept], self.limit, lambda some: [names[key] for key in keys[some].tolist()])

    def _scores(self, terms: Sequence[str], count: int | None = None) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Compute BM25. Returns keys and scores of all chunks, or of at least the `count` best."""
        hidden, chunks, words = self._counted()
        mean = words / max(1, chunks) or 1.0

        def read(some: Sequence[str], blocks: NDArray[np.int64] | None = None) -> Postings:
            return _among(postings(self.session, self.place, some, blocks), hidden, invert=True)

        every = read(terms) if count is None or self.place.chunks < INDEX_FROM_CHUNKS else None
        holding = self._holding(terms, read) if every is None else _counts(every)
        times = Counter(each for each in terms if each in holding)
        weights = {each: count * inverse_frequency(chunks, holding[each]) for each, count in times.items()}
        found = _likely(read, holding, weights, count or 0, mean) if every is None else every
        return _bm25(found, weights, mean)

    def _holding(self, terms: Sequence[str], read: Callable[[Sequence[str]], Postings]) -> dict[str, int]:
        """Return the document frequency of each term that occurs."""
        state = self.place.state, self.absent
        counts = {term: number for term in terms if (number := self.known.get((*state, term))) is not None}
        unknown = [term for term in terms if term not in counts]
        if unknown:
            counts |= dict.fromkeys(unknown, 0)
            if self.absent:
                counts |= _counts(read(unknown))
            else:
                for term, size in _of_terms(self.session, self.place, "sum(octet_length(entries))::bigint", unknown):
                    counts[term] += size // ENTRY.itemsize
            if len(self.known) > _MOST_KNOWN:
                self.known.clear()
            self.known.update({(*state, term): counts[term] for term in unknown})
        return {term: number for term, number in counts.items() if number}

    def _counted(self) -> tuple[NDArray[np.int64], int, int]:
        """Return the keys of absent chunks, and the numbers of chunks and terms without them."""
        if not self.absent:
            return np.zeros(0, np.int64), self.place.chunks, self.place.words
        of_these = "WHERE collection = %s AND document_id = ANY(%s::text[])"
        values = (self.place.id, sorted(self.absent))
        keys = [key for (key,) in self.session.rows(f"SELECT key FROM {SCHEMA}.chunks {of_these}", values)]
        ((chunks, words),) = self.session.rows(
            f"SELECT coalesce(sum(chunks), 0)::bigint, coalesce(sum(words), 0)::bigint FROM {SCHEMA}.documents"
            f" {of_these}",
            values,
        )
        return np.array(sorted(keys), np.int64), self.place.chunks - chunks, self.place.words - words


def postings(
    session: PostgresSession,
    place: PostgresPlace,
    terms: Sequence[str] | None = None,
    blocks: NDArray[np.int64] | None = None,
) -> Postings:
    """Read the postings of some or all terms, in some or all blocks."""
    both = "string_agg(int8send(block) || int4send(octet_length(entries)), ''::bytea), string_agg(entries, ''::bytea)"
    read: Postings = {}
    for term, heads, data in _of_terms(session, place, both, terms, blocks):
        lists, entries = np.frombuffer(heads, _BLOCK), np.frombuffer(data, ENTRY)
        firsts = np.repeat(lists["first"].astype(np.int64), lists["bytes"] // ENTRY.itemsize)
        read[term] = (firsts + entries["offset"], entries)
    return read


def _of_terms(
    session: PostgresSession,
    place: PostgresPlace,
    what: str,
    terms: Sequence[str] | None,
    blocks: NDArray[np.int64] | None = None,
) -> list[Row]:
    """Read an aggregate of the postings of each term."""
    where, values = "collection = %s", list[object]([place.id])
    if terms is not None:
        where, values = f"{where} AND term = ANY(%s)", [*values, list(terms)]
    if blocks is not None:
        where, values = f"{where} AND block = ANY(%s::bigint[])", [*values, _listed(blocks)]
    return session.rows(f"SELECT term, {what} FROM {SCHEMA}.postings WHERE {where} GROUP BY term", values)


def _likely(
    read: Callable[..., Postings], holding: Mapping[str, int], weights: Mapping[str, float], count: int, mean: float
) -> Postings:
    """Read the postings of all chunks that can be in the top k.

    A term contributes less to a score than its weight. Rare terms are read first. Once all remaining terms together can
    add less than the score of the k-th best, they are looked up only for the chunks that they can still lift into the
    top k.

    Args:
        read: reads the postings of terms, in some or all blocks.
        holding: document frequency of each term.
        weights: weight of each term.
        count: k; chunks that tie with the k-th best are included.
        mean: mean length of a chunk, in terms.
    """
    left = sorted(weights, key=holding.__getitem__)
    found: Postings = {}
    near: NDArray[np.int64] | None = None
    blocks: NDArray[np.int64] | None = None
    done = 0
    while left:
        if near is None or blocks is None:
            sizes = np.cumsum([holding[term] for term in left])
            some = max(1, int(np.searchsorted(sizes, max(_READ_FIRST, done), "right")))
            found |= read(left[:some])
            done += int(sizes[some - 1])
        else:
            some = len(left) if len(blocks) <= _FEW_BLOCKS else 1
            found |= _among(read(left[:some], blocks), near)
        left = left[some:]
        keys, scores = _bm25(found, weights, mean)
        rest = sum(weights[term] for term in left)
        if left and count <= len(keys):
            least = (1.0 - _ROUNDING) * np.partition(scores, -count)[-count]
            if rest < least:
                near = keys[scores + rest >= least]
                found = _among(found, near)
                blocks = np.unique(np.concatenate([keys - entries["offset"] for keys, entries in found.values()]))
    return found


def _listed(numbers: NDArray[np.int64]) -> str:
    """Format integers as an SQL array literal; psycopg takes ten times as long for a list."""
    return f"{{{','.join(map(str, numbers.tolist()))}}}"


def _among(found: Postings, some: NDArray[np.int64], *, invert: bool = False) -> Postings:
    """Keep the postings of some chunks (sorted keys), or of all others if `invert` is set."""
    if not len(some):
        return found if invert else {}
    kept: Postings = {}
    for term, (keys, entries) in found.items():
        places = np.minimum(np.searchsorted(some, keys), len(some) - 1)
        mine = (some[places] == keys) != invert
        kept[term] = (keys[mine], entries[mine])
    return kept


def _counts(found: Postings) -> dict[str, int]:
    return {term: len(keys) for term, (keys, _) in found.items()}


def _bm25(found: Postings, weights: Mapping[str, float], mean: float) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Sum the BM25 contributions, term by term in the order of the weights; returns sorted keys, and their sums."""
    keys, shares = [np.zeros(0, np.int64)], [np.zeros(0, np.float64)]
    for term, weight in weights.items():
        if term in found:
            own, entries = found[term]
            norms = length_norm(entries["length"].astype(np.float64), mean)
            keys.append(own)
            shares.append(term_weights(entries["count"], norms, weight))
    return summed(np.concatenate(keys), np.concatenate(shares))


def summed(keys: NDArray[np.int64], shares: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Sum the shares of each key; returns sorted keys, and their sums."""
    if not len(keys):
        return keys, shares
    first = int(keys.min())
    if int(keys.max()) - first >= _MOST_GAPS * len(keys):
        own, places = np.unique(keys, return_inverse=True)
        return own, np.bincount(places, shares, len(own)).astype(np.float64, copy=False)
    sums = np.bincount(keys - first, shares).astype(np.float64, copy=False)  # no sorting: a quarter of the time
    present = np.flatnonzero(sums)
    return present + first, sums[present]


def known_vectors(session: PostgresSession, collection: int, embedding_keys: Sequence[str]) -> dict[str, Vector]:
    """Look up vectors by embedding key."""
    found = session.rows(
        f"SELECT embedding_key, vector FROM {SCHEMA}.chunks WHERE collection = %s AND embedding_key = ANY(%s)",
        (collection, list(embedding_keys)),
    )
    return {key: np.frombuffer(data[HEAD:], ">f4").astype("<f4").tobytes() for key, data in found}
