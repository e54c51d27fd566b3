"""Chunks as points, filters as Qdrant's filters, terms as sparse vectors: plain translations, nothing is sent here."""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, cast

from qdrant_client import models

from knowledge_mcp.model.chunk import EmbeddedChunk, Vector, numbers_of
from knowledge_mcp.model.query import Equals, Filter, In, NotIn
from knowledge_mcp.ports import Analyser
from knowledge_mcp.stores.qdrant.connection import MOST_BYTES, MOST_POINTS
from knowledge_mcp.stores.qdrant.layout import BM25, DENSE, point_id
from knowledge_mcp.stores.shared.filters import clause_prefixes, field_value, simple_filters
from knowledge_mcp.stores.shared.payload import chunk_to_json
from knowledge_mcp.stores.shared.ranking import K1, B, term_counts
from knowledge_mcp.support.batches import grouped

_FLOAT_BYTES = 22
"""JSON text of one number of a vector."""


def equals(field: str, value: str | bool) -> models.Condition:
    """Keep points whose field has the value."""
    return models.FieldCondition(key=field, match=models.MatchValue(value=value))


def any_of(field: str, values: Iterable[str]) -> models.Condition:
    """Keep points whose field has one of the values."""
    return models.FieldCondition(key=field, match=models.MatchAny(any=list(values)))


def all_of(*conditions: models.Condition) -> models.Filter:
    """Keep points that meet every condition."""
    return models.Filter(must=list(conditions))


def conditions(filter: Filter | None) -> list[models.Condition] | None:
    """Translate a filter that was checked; None where it keeps nothing at all."""
    found: list[models.Condition] = []
    for part in simple_filters(filter):
        if isinstance(part, Equals | In):
            values = [part.value] if isinstance(part, Equals) else list(part.values)
            texts = [("true" if each else "false") if isinstance(each, bool) else each for each in values]
            if part.field == "normative":
                flags = {each == "true" for each in texts if each in {"true", "false"}}
                if len(flags) == 1:
                    found.append(equals("normative", flags.pop()))
                elif not flags:
                    return None
            elif not texts:
                return None
            else:
                found.append(any_of(part.field, texts) if len(texts) > 1 else equals(part.field, texts[0]))
        elif isinstance(part, NotIn):
            if part.values:
                found.append(models.Filter(must_not=[any_of(part.field, part.values)]))
        else:
            found.append(equals("clauses", part.value.rstrip(".")))
    return found


def defined(chunk_terms: Iterable[tuple[str, Sequence[str]]], analyser: Analyser) -> list[str]:
    """List the look-up keys of terms and aliases."""
    return sorted({analyser.term_key(name) for term, aliases in chunk_terms for name in (term, *aliases)})


def chunk_payload(each: EmbeddedChunk, analyser: Analyser) -> dict[str, Any]:
    """Write what a point says of its chunk; where it stands, generation and state come with its point."""
    chunk = each.chunk
    names = [(one.term, one.aliases) for one in chunk.definitions]
    words = analyser.document_terms(chunk.embedding_text)
    payload: dict[str, Any] = {
        "chunk_id": chunk.id,
        "document_id": chunk.document_id,
        "index": chunk.index,
        "document_type": field_value(chunk, "document_type"),
        "chunk_type": field_value(chunk, "chunk_type"),
        "normative": chunk.normative,
        "content_hash": chunk.content_hash,
        "embedding_key": each.embedding_key,
        "words": " ".join(words),
        "length": sum(term_counts(words).values()),
        "chunk": chunk_to_json(chunk),
    }
    if chunk.clause_number is not None:
        payload |= {"clause_number": chunk.clause_number, "clauses": clause_prefixes(chunk.clause_number)}
    if names:
        payload["terms"] = defined(names, analyser)
    return payload


def chunk_point(each: EmbeddedChunk, payload: Mapping[str, Any], sparse: models.SparseVector) -> models.PointStruct:
    """Make the point of a chunk whose payload says of which document and generation it is."""
    vectors: dict[str, models.Vector] = {DENSE: list(numbers_of(each.vector)), BM25: sparse}
    place = point_id("chunk", payload["document_id"], payload["generation"], each.chunk.id)
    return models.PointStruct(id=place, payload=dict(payload), vector=vectors)


def to_bytes(vector: Any) -> Vector:
    """Turn a point's dense vector back into the bytes it came from."""
    components = cast("Mapping[str, Sequence[float]]", vector)[DENSE]
    return struct.pack(f"<{len(components)}f", *components)


def requests_of(points: Iterable[models.PointStruct]) -> Iterator[list[models.PointStruct]]:
    """Cut points into requests that are bounded in number and in bytes."""

    def measure(point: models.PointStruct) -> tuple[int, int]:
        return 1, len(json.dumps(point.payload, ensure_ascii=False).encode()) + 200 + _FLOAT_BYTES * _numbers(point)

    return grouped(points, (MOST_POINTS, MOST_BYTES), measure)


def _numbers(point: models.PointStruct) -> int:
    """Count the numbers that a point's vectors are written with."""
    vectors = point.vector if isinstance(point.vector, dict) else {}
    dense, sparse = vectors.get(DENSE), vectors.get(BM25)
    count = len(dense) if isinstance(dense, list) else 0
    return count + (2 * len(sparse.indices) if isinstance(sparse, models.SparseVector) else 0)


# the sparse vector


@lru_cache(maxsize=65_536)
def term_index(term: str) -> int:
    """Give a term its place among 2³² ones, the same in every process."""
    return int.from_bytes(hashlib.blake2b(term.encode(), digest_size=4).digest(), "little")


def weighted(terms: Iterable[str], mean: float) -> models.SparseVector:
    """Weigh a chunk's terms as `bm25` says, but for the inverse document frequency, which Qdrant knows.

    A chunk without terms has one that weighs nothing: a server refuses an update to an empty vector, and a chunk that
    has none would not count among those by which frequencies are measured.

    Args:
        terms: of the chunk, with repetitions.
        mean: length of the chunks in terms.
    """
    counts = term_counts(terms)
    norm = _norm(sum(counts.values()), mean)
    by_index: dict[int, int] = {}
    for term, count in counts.items():
        index = term_index(term)
        by_index[index] = by_index.get(index, 0) + count
    indices = sorted(by_index)
    if not indices:
        return models.SparseVector(indices=[term_index("")], values=[0.0])
    return models.SparseVector(
        indices=indices, values=[by_index[index] / (by_index[index] + norm) for index in indices]
    )


def score_with_mean(point: models.ScoredPoint, frequencies: Mapping[int, float], mean: float) -> float:
    """Score a point as if its terms had been weighed with another mean length.

    Args:
        point: with its sparse vector, length and weights.
        frequencies: inverse document frequencies of the terms that are asked for, times their weights.
        mean: length of the chunks in terms.
    """
    payload, vector = point.payload or {}, cast("Mapping[str, models.SparseVector]", point.vector)
    if not payload.get("weights"):  # of which it is not known how they were made
        return point.score
    before = _norm(payload["length"], float(payload["weights"].rpartition(" ")[2]))
    norm = _norm(payload["length"], mean)
    score = 0.0
    for index, weight in zip(vector[BM25].indices, vector[BM25].values, strict=True):
        if index in frequencies:
            count = round(weight * before / (1.0 - weight))
            score += frequencies[index] * count / (count + norm)
    return score


def weight_in(point: models.ScoredPoint, index: int) -> float:
    """Read the weight of a term that a point has."""
    vector = cast("Mapping[str, models.SparseVector]", point.vector)[BM25]
    return vector.values[vector.indices.index(index)]


def _norm(length: int, mean: float) -> float:
    return K1 * (1.0 - B + B * length / mean)


def query_sparse(terms: Mapping[str, float]) -> models.SparseVector:
    """Ask for chunks with any of the terms, given with their weights."""
    weights: dict[int, float] = {}
    for term, share in terms.items():
        index = term_index(term)
        weights[index] = max(share, weights.get(index, 0.0))
    indices = sorted(weights)
    return models.SparseVector(indices=indices, values=[weights[index] for index in indices])
