"""The two legs of the PostgreSQL store's search, in one snapshot.

Dense: in a small collection, or where a filter keeps little, every vector is compared; else the index chooses, and goes
on where a filter leaves too few (of 20,000 chunks it finds .997 of the true ten). What was chosen is scored here in
double precision, as every store does. Lexical: BM25 over the posting lists of all query terms; the counters are of the
same snapshot, so the scores are exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from knowledge_mcp.model.chunk import Vector
from knowledge_mcp.model.query import Equals, Filter, In, LegHit, LegResults, NotIn
from knowledge_mcp.stores.postgres.tables import SCHEMA, Extension, PostgresPlace, PostgresSession, PostgresVector
from knowledge_mcp.stores.postgres.writing import ENTRY, INDEX_FROM_CHUNKS, SHORT
from knowledge_mcp.stores.shared.filters import absent_in, simple_filters
from knowledge_mcp.stores.shared.payload import UNREADABLE
from knowledge_mcp.stores.shared.ranking import K1, B, inverse_frequency, products, ranked, run_legs

_CANDIDATES_PER_HIT, _FEWEST_CANDIDATES, _MOST_CANDIDATES = 4, 100, 1_000
"""What the index looks at beside the hits asked for; pgvector takes no more than 1,000."""
_ITERATIVE = (0, 8)
HEAD = 4
"""Bytes before the numbers of a vector as pgvector sends it."""
_NAMES_PER_HIT, _FEWEST_NAMES = 20, 500
"""Best scored chunks that are looked up first; where a filter leaves too few of them, all that it keeps are."""
_MOST_GAPS = 8
"""Keys for each posting, up to which every key in between has a sum: no more memory than sorting the postings takes."""
_BLOCK = np.dtype([("first", ">i8"), ("bytes", ">i4")])


@dataclass(frozen=True)
class Search:
    """One search of a collection in one snapshot.

    Attributes:
        where: what a filter keeps, as SQL that begins with AND; empty for all.
        values: of its place holders.
        absent: documents without which words are weighed.
    """

    session: PostgresSession
    extension: Extension
    place: PostgresPlace
    where: str
    values: tuple[object, ...]
    limit: int
    absent: frozenset[str] = frozenset()

    @classmethod
    def of(
        cls, session: PostgresSession, extension: Extension, place: PostgresPlace, filter: Filter | None, limit: int
    ) -> Search:
        """Prepare a search."""
        parts: list[str] = []
        values: list[object] = []
        for each in simple_filters(filter):
            if isinstance(each, Equals):
                parts.append(f" AND {each.field} = %s")
                values.append(str(each.value).lower() if isinstance(each.value, bool) else each.value)
            elif isinstance(each, In):
                parts.append(f" AND {each.field} = ANY(%s::text[])")
                values.append(list(each.values))
            elif isinstance(each, NotIn):
                parts.append(f" AND {each.field} <> ALL(%s::text[])")
                values.append(list(each.values))
            else:
                stem = each.value.rstrip(".")  # what begins with it and a dot lies before "/", which follows the dot
                parts.append(" AND (clause_number = %s OR clause_number >= %s AND clause_number < %s)")
                values.extend((stem, f"{stem}.", f"{stem}/"))
        return cls(session, extension, place, "".join(parts), tuple(values), max(0, limit), absent_in(filter))

    def legs(self, vector: Vector | None, terms: Sequence[str] | None) -> LegResults:
        """Run the legs asked for; where there are two and the postings are damaged, the dense hits are given."""
        return run_legs(
            None if vector is None else partial(self.dense, vector),
            None if terms is None else partial(self.lexical, terms),
            failures=UNREADABLE,
        )

    def dense(self, vector: Vector) -> tuple[LegHit, ...]:
        """Rank by cosine; by the index in a large collection, unless it finds too few that the filter keeps."""
        if not self.limit:
            return ()
        if self.place.chunks >= INDEX_FROM_CHUNKS and "_id = " not in self.where:
            found = self._by_index(vector)
            if len(found) >= self.limit:
                return _scored(found, vector)[: self.limit]
        # no index is on this sum, so that all are compared
        order = f"(vector OPERATOR({self.extension.schema}.<#>) %s) + 0, chunk_id"
        return _scored(self._nearest(order, PostgresVector(vector), self.limit), vector)

    def _by_index(self, vector: Vector) -> list[tuple[str, bytes]]:
        wanted = min(_MOST_CANDIDATES, max(_FEWEST_CANDIDATES, _CANDIDATES_PER_HIT * self.limit))
        if self.where:
            if self.extension.version < _ITERATIVE:
                return []
            self.session.run("SET LOCAL hnsw.iterative_scan = strict_order")
        self.session.run(f"SET LOCAL hnsw.ef_search = {wanted}")
        schema, half = self.extension.schema, f"{self.extension.schema}.halfvec({self.place.space.dimensions})"
        return self._nearest(f"(vector::{half}) OPERATOR({schema}.<#>) %s::{half}", PostgresVector(vector), wanted)

    def _nearest(self, order: str, vector: PostgresVector, count: int) -> list[tuple[str, bytes]]:
        found: Any = self.session.rows(
            f"SELECT chunk_id, vector FROM {SCHEMA}.chunks WHERE collection = {self.place.id}{self.where}"
            f" ORDER BY {order} LIMIT %s",
            (*self.values, vector, count),
        )
        return found

    def lexical(self, terms: Sequence[str]) -> tuple[LegHit, ...]:
        """Rank by BM25 the chunks that hold any of the terms and that the filter keeps."""
        keys, scores = self._scores(terms)
        best = np.arange(len(keys))
        count = max(_FEWEST_NAMES, _NAMES_PER_HIT * self.limit)
        if count < len(keys):
            best = np.flatnonzero(scores >= np.partition(scores, -count)[-count])  # equal scores stay together
        hits = self._named(keys[best], scores[best], "key = ANY(%s)", keys[best].tolist())
        if len(hits) < self.limit and len(best) < len(keys):
            hits = self._named(keys, scores, "collection = %s", self.place.id)
        return tuple(hits[: self.limit])

    def _named(self, keys: NDArray[np.int64], scores: NDArray[np.float64], among: str, value: object) -> list[LegHit]:
        """Rank those of some scored chunks, in order of their keys, that the filter keeps."""
        found = self.session.rows(
            f"SELECT key, chunk_id FROM {SCHEMA}.chunks WHERE {among}{self.where}", (value, *self.values)
        )
        kept = np.array([key for key, _ in found], np.int64)
        places = np.searchsorted(keys, kept)
        places[places == len(keys)] = 0
        scored = zip(found, keys[places] == kept, scores[places].tolist(), strict=True) if len(keys) else ()
        return ranked(LegHit(name, score) for (_, name), is_scored, score in scored if is_scored)

    def _scores(self, terms: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Sum up every chunk's BM25; gives keys and scores."""
        found = postings(self.session, self.place, terms)
        all_keys: list[NDArray[np.int64]] = []
        shares: list[NDArray[np.float64]] = []
        hidden, chunks, words = self._counted()
        mean = words / max(1, chunks) or 1.0
        for term in terms:
            if term in found:
                keys, entries = found[term]
                if len(hidden):
                    kept = ~np.isin(keys, hidden)
                    keys, entries = keys[kept], entries[kept]
                counts = entries["count"].astype(np.float64)
                norms = K1 * (1.0 - B + B * entries["length"] / mean)
                all_keys.append(keys)
                shares.append(inverse_frequency(chunks, len(keys)) * (counts / (counts + norms)))
        if not all_keys:
            return np.zeros(0, np.int64), np.zeros(0, np.float64)
        return summed(np.concatenate(all_keys), np.concatenate(shares))

    def _counted(self) -> tuple[NDArray[np.int64], int, int]:
        """Give the keys of chunks that count as absent, and how many chunks and terms there are without them."""
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
        return np.array(keys, np.int64), self.place.chunks - chunks, self.place.words - words


def postings(
    session: PostgresSession, place: PostgresPlace, terms: Sequence[str] | None = None
) -> dict[str, tuple[NDArray[np.int64], NDArray[Any]]]:
    """Read the keys and entries of each term that a chunk holds, in no order; of all terms where none are named."""
    among, values = ("", (place.id,)) if terms is None else (" AND term = ANY(%s)", (place.id, list(terms)))
    by_size = ("",) if terms is None or place.chunks < INDEX_FROM_CHUNKS else (f" AND {SHORT}", f" AND NOT {SHORT}")
    query = " UNION ALL ".join(
        "SELECT term, string_agg(int8send(block) || int4send(octet_length(data)), ''::bytea),"
        f" string_agg(data, ''::bytea) FROM {SCHEMA}.postings WHERE collection = %s{among}{size} GROUP BY term"
        for size in by_size
    )
    parts: dict[str, list[tuple[bytes, bytes]]] = {}
    for term, heads, data in session.rows(query, values * len(by_size)):
        parts.setdefault(term, []).append((heads, data))
    read: dict[str, tuple[NDArray[np.int64], NDArray[Any]]] = {}
    for term, found in parts.items():
        blocks = np.frombuffer(b"".join(heads for heads, _ in found), _BLOCK)
        entries = np.frombuffer(b"".join(data for _, data in found), ENTRY)
        firsts = np.repeat(blocks["first"].astype(np.int64), blocks["bytes"] // ENTRY.itemsize)
        read[term] = (firsts + entries["offset"], entries)
    return read


def summed(keys: NDArray[np.int64], shares: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Add up the shares of each key; gives the keys in order, and their sums."""
    if not len(keys):
        return keys, shares
    first = int(keys.min())
    if int(keys.max()) - first >= _MOST_GAPS * len(keys):
        own, places = np.unique(keys, return_inverse=True)
        return own, np.bincount(places, shares, len(own)).astype(np.float64, copy=False)
    sums = np.bincount(keys - first, shares).astype(np.float64, copy=False)  # nothing to sort: a quarter of the time
    held = np.flatnonzero(sums)
    return held + first, sums[held]


def known_vectors(session: PostgresSession, collection: int, embedding_keys: Sequence[str]) -> dict[str, Vector]:
    """Look vectors up by embedding key."""
    found = session.rows(
        f"SELECT embedding_key, vector FROM {SCHEMA}.chunks WHERE collection = %s AND embedding_key = ANY(%s)",
        (collection, list(embedding_keys)),
    )
    return {key: np.frombuffer(data[HEAD:], ">f4").astype("<f4").tobytes() for key, data in found}


def _scored(found: Sequence[tuple[str, bytes]], vector: Vector) -> tuple[LegHit, ...]:
    if not found:
        return ()
    matrix = np.frombuffer(b"".join(data[HEAD:] for _, data in found), ">f4").reshape(len(found), -1).astype(np.float32)
    scores = products(matrix, np.arange(len(found)), vector).tolist()
    return tuple(ranked(LegHit(name, score) for (name, _), score in zip(found, scores, strict=True)))
