"""Converts chunks to points, filters to Qdrant filters and terms to sparse vectors. Nothing is sent here."""

from __future__ import annotations

import hashlib
import json
import struct
from collections import Counter
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
from knowledge_mcp.stores.shared.ranking import length_norm, term_counts
from knowledge_mcp.support.batches import grouped

_FLOAT_BYTES = 22
"""Bytes of one vector component as JSON text."""


def equals(field: str, value: str | bool) -> models.Condition:
    """Match points whose field has the value."""
    return models.FieldCondition(key=field, match=models.MatchValue(value=value))


def any_of(field: str, values: Iterable[str]) -> models.Condition:
    """Match points whose field has one of the values."""
    return models.FieldCondition(key=field, match=models.MatchAny(any=list(values)))


def all_of(*conditions: models.Condition) -> models.Filter:
    """Match points that meet all conditions."""
    return models.Filter(must=list(conditions))


def conditions(filter: Filter | None) -> list[models.Condition] | None:
    """Convert a checked filter into conditions; None if it keeps nothing at all."""
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
    """Return the payload of a chunk's point, except generation and state, which each publish adds."""
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
    """Create the point of a chunk; the payload has its document and generation."""
    vectors: dict[str, models.Vector] = {DENSE: list(numbers_of(each.vector)), BM25: sparse}
    place = point_id("chunk", payload["document_id"], payload["generation"], each.chunk.id)
    return models.PointStruct(id=place, payload=dict(payload), vector=vectors)


def to_bytes(vector: Any) -> Vector:
    """Convert a point's dense vector back into bytes."""
    components = cast("Mapping[str, Sequence[float]]", vector)[DENSE]
    return struct.pack(f"<{len(components)}f", *components)


def requests_of(points: Iterable[models.PointStruct]) -> Iterator[list[models.PointStruct]]:
    """Split points into requests of limited number and size."""

    def measure(point: models.PointStruct) -> tuple[int, int]:
        return 1, len(json.dumps(point.payload, ensure_ascii=False).encode()) + 200 + _FLOAT_BYTES * _numbers(point)

    return grouped(points, (MOST_POINTS, MOST_BYTES), measure)


def _numbers(point: models.PointStruct) -> int:
    """Count the numbers in a point's vectors."""
    vectors = point.vector if isinstance(point.vector, dict) else {}
    dense, sparse = vectors.get(DENSE), vectors.get(BM25)
    count = len(dense) if isinstance(dense, list) else 0
    return count + (2 * len(sparse.indices) if isinstance(sparse, models.SparseVector) else 0)


# sparse vectors


@lru_cache(maxsize=65_536)
def term_index(term: str) -> int:
    """Hash a term to an index below 2³², the same in every process."""
    return int.from_bytes(hashlib.blake2b(term.encode(), digest_size=4).digest(), "little")


def weighted(terms: Iterable[str], mean: float) -> models.SparseVector:
    """Compute the BM25 weights of a chunk's terms, without the inverse document frequency, which Qdrant applies.

    A chunk without terms gets one with weight 0: the server refuses an update to an empty vector, and a chunk without a
    vector would not count in the document frequencies.

    Args:
        terms: of the chunk, with repetitions.
        mean: mean length of the chunks in terms.
    """
    counts = term_counts(terms)
    norm = length_norm(sum(counts.values()), mean)
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
    """Return the score that a point would have if its weights had been computed with another mean length.

    Args:
        point: with its sparse vector, length and weights label.
        frequencies: weights of the query terms, by index.
        mean: mean length of the chunks in terms.
    """
    payload, vector = point.payload or {}, cast("Mapping[str, models.SparseVector]", point.vector)
    if not payload.get("weights"):  # the mean they were computed with is unknown
        return point.score
    before = length_norm(payload["length"], float(payload["weights"].rpartition(" ")[2]))
    norm = length_norm(payload["length"], mean)
    score = 0.0
    for index, weight in zip(vector[BM25].indices, vector[BM25].values, strict=True):
        if index in frequencies:
            count = round(weight * before / (1.0 - weight))
            score += frequencies[index] * count / (count + norm)
    return score


def weight_in(point: models.ScoredPoint, index: int) -> float:
    """Return the weight of a term in a point's sparse vector."""
    vector = cast("Mapping[str, models.SparseVector]", point.vector)[BM25]
    return vector.values[vector.indices.index(index)]


def query_sparse(terms: Iterable[str]) -> models.SparseVector:
    """Return the sparse query for chunks with any of the terms; each counts as often as it is repeated."""
    times = sorted(Counter(map(term_index, terms)).items())
    return models.SparseVector(indices=[index for index, _ in times], values=[float(count) for _, count in times])
