"""A collection of the Qdrant client's local mode that finds points by indexes, as a server does, instead of trying all.

Local mode compares every point with every filter of every call, and sorts all ids for each page of a scroll. Here a
field that a payload index was asked for is looked up, local mode's own comparison decides on what is left of the
filter, and sparse vectors are multiplied all at once. Answers are the same, to the order of equal scores. Needs the
`qdrant` extra.
"""

from __future__ import annotations

import heapq
import re
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import chain
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from qdrant_client import models
from qdrant_client.conversions import common_types as types
from qdrant_client.local import payload_filters
from qdrant_client.local.local_collection import LocalCollection
from qdrant_client.local.payload_filters import validate_filter
from qdrant_client.local.sparse import sort_sparse_vector, validate_sparse_vector
from qdrant_client.local.utils import normalize_point_id

_check_filter: Callable[..., bool] = cast("Any", payload_filters).check_filter
Mask = NDArray[np.bool_]
_PLAIN = re.compile(r"\w+")
"""Names of fields that local mode reads as they stand: no path into an object."""


class _Payloads(list[dict[str, Any]]):
    """The payloads of all points, and where each value of an indexed field is."""

    def __init__(self) -> None:
        super().__init__()
        self._fields: dict[str, dict[str | bool, set[int]]] = {}

    def index_by(self, field: str) -> None:
        """Keep from now on where the values of a field are."""
        places = self._fields.setdefault(field, {})
        for place, payload in enumerate(cast("list[dict[str, Any]]", self)):
            for value in _values(payload, field):
                places.setdefault(value, set()).add(place)

    def places(self, field: str, values: Iterable[Any]) -> set[int] | None:
        """Return the points with any of the values, None where the index cannot tell."""
        places = self._fields.get(field)
        expected = list(values)
        if places is None or not all(isinstance(each, str | bool) for each in expected):
            return None
        return set[int]().union(*(places.get(each, ()) for each in expected))

    def append(self, payload: dict[str, Any], /) -> None:
        super().append(payload)
        for field, places in self._fields.items():
            for value in _values(payload, field):
                places.setdefault(value, set()).add(len(self) - 1)

    def __setitem__(self, place: Any, payload: Any, /) -> None:
        for field, places in self._fields.items():
            before, after = _values(cast("dict[str, Any]", self[place]), field), _values(payload, field)
            for value in before - after:
                places[value].discard(place)
            for value in after - before:
                places.setdefault(value, set()).add(place)
        super().__setitem__(place, payload)


class _Sparse(list[models.SparseVector]):
    """The sparse vectors of all points, and in one table by index, rebuilt for the first search after a change."""

    def __init__(self) -> None:
        super().__init__()
        self._table: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]] | None = None

    def append(self, vector: models.SparseVector, /) -> None:
        super().append(vector)
        self._table = None

    def __setitem__(self, place: Any, vector: Any, /) -> None:
        super().__setitem__(place, vector)
        self._table = None

    def scores(self, query: models.SparseVector) -> NDArray[np.float32]:
        """Multiply every point with a sorted query, in local mode's order and precision; -inf: nothing is shared."""
        if self._table is None:
            sizes = [len(each.indices) for each in self]
            indices = np.fromiter(chain.from_iterable(each.indices for each in self), np.int64, sum(sizes))
            values = np.fromiter(chain.from_iterable(each.values for each in self), np.float64, sum(sizes))
            order = np.argsort(indices, kind="stable")
            self._table = indices[order], np.repeat(np.arange(len(self)), sizes)[order], values[order]
        indices, places, values = self._table
        sums, shared = np.zeros(len(self), np.float64), np.zeros(len(self), np.bool_)
        for index, value in zip(query.indices, query.values, strict=True):
            first, last = np.searchsorted(indices, [index, index + 1])
            sums[places[first:last]] += value * values[first:last]
            shared[places[first:last]] = True
        return np.where(shared, sums, -np.inf).astype(np.float32)


class IndexedCollection(LocalCollection):
    """Hold a collection in memory and answer as `LocalCollection` does.

    Args:
        config: as it was created with.
    """

    def __init__(self, config: models.CreateCollection) -> None:
        super().__init__(config)
        self._payloads = _Payloads()
        self.payload = cast("list[models.Payload]", self._payloads)
        for name in self.sparse_vectors:
            self.sparse_vectors[name] = _Sparse()

    def create_payload_index(self, field_name: str, field_schema: types.PayloadSchemaType) -> None:
        super().create_payload_index(field_name, field_schema)
        kind = getattr(field_schema, "type", field_schema)
        if str(getattr(kind, "value", kind)) in {"keyword", "bool"} and _PLAIN.fullmatch(field_name):
            self._payloads.index_by(field_name)

    def facet(self, key: str, facet_filter: types.Filter | None = None, limit: int = 10) -> models.FacetResponse:
        """Count by values, as they are: local mode writes those that might be UUIDs with hyphens, a server does not."""
        mask = self._payload_and_non_deleted_mask(cast("Any", facet_filter))
        counts = Counter(value for place in np.flatnonzero(mask) for value in _values(self.payload[place], key))
        best = sorted(counts.items(), key=lambda each: (-each[1], each[0]))[:limit]
        return models.FacetResponse(hits=[models.FacetValueHit(value=value, count=count) for value, count in best])

    def _payload_and_non_deleted_mask(
        self, payload_filter: models.Filter | None, vector_name: str | None = None
    ) -> Mask:
        validate_filter(payload_filter)
        mask = np.asarray(self.deleted == 0)
        if vector_name is not None:
            mask &= self.deleted_per_vector[vector_name] == 0
        if payload_filter is not None:
            self._keep(mask, payload_filter)
        return mask

    def _keep(self, mask: Mask, kept: models.Filter) -> None:
        """Take out of a mask what a filter does not keep."""
        must, by_index = self._known(kept.must)
        if by_index:
            chosen = np.zeros(len(mask), np.bool_)
            chosen[list(set[int].intersection(*by_index))] = True
            mask &= chosen
        must_not, by_index = self._known(kept.must_not)
        for places in by_index:
            mask[list(places)] = False
        if must or must_not or kept.should is not None or kept.min_should is not None:
            rest = kept.model_copy(update={"must": must or None, "must_not": must_not or None})
            for place in np.flatnonzero(mask).tolist():
                payload, has_vector = self.payload[place], self._calculate_has_vector(place)
                mask[place] = _check_filter(rest, payload, self.ids_inv[place], has_vector)

    def _known(
        self, asked: list[models.Condition] | models.Condition | None
    ) -> tuple[list[models.Condition], list[set[int]]]:
        """Tell conditions that an index answers from others; of those it answers, return the points."""
        others: list[models.Condition] = []
        found: list[set[int]] = []
        for each in asked if isinstance(asked, list) else [] if asked is None else [asked]:
            places = None
            if isinstance(each, models.FieldCondition) and each.model_fields_set <= {"key", "match"}:
                if isinstance(each.match, models.MatchValue):
                    places = self._payloads.places(each.key, [each.match.value])
                elif isinstance(each.match, models.MatchAny):
                    places = self._payloads.places(each.key, each.match.any)
            if places is None:
                others.append(each)
            else:
                found.append(places)
        return others, found

    def _filter_to_ids(self, delete_filter: types.Filter) -> list[models.ExtendedPointId]:
        mask = self._payload_and_non_deleted_mask(cast("Any", delete_filter))
        return [self.ids_inv[place] for place in np.flatnonzero(mask).tolist()]

    def _scroll_by_id(
        self,
        scroll_filter: types.Filter | None = None,
        limit: int = 10,
        offset: types.PointId | None = None,
        with_payload: types.WithPayloadInterface = True,
        with_vectors: types.WithVector = False,
    ) -> tuple[list[types.Record], types.PointId | None]:
        mask = self._payload_and_non_deleted_mask(cast("Any", scroll_filter))
        places = np.flatnonzero(mask).tolist()
        if offset is not None:
            first = self._universal_id(normalize_point_id(offset))
            places = [each for each in places if self._universal_id(self.ids_inv[each]) >= first]
        page = heapq.nsmallest(limit + 1, places, key=lambda place: self._universal_id(self.ids_inv[place]))
        records = [
            models.Record.model_construct(
                id=self.ids_inv[place],
                payload=self._get_payload(place, with_payload),
                vector=self._get_vectors(place, with_vectors),
            )
            for place in page[:limit]
        ]
        return records, self.ids_inv[page[limit]] if len(page) > limit else None

    def search(
        self,
        query_vector: Any,
        query_filter: types.Filter | None = None,
        limit: int = 10,
        offset: int | None = None,
        with_payload: types.WithPayloadInterface = True,
        with_vectors: types.WithVector = False,
        score_threshold: float | None = None,
        idf_corpus: types.Filter | None = None,
    ) -> list[models.ScoredPoint]:
        name, query = self._resolve_query_vector_name(query_vector)
        vectors = self.sparse_vectors.get(name)
        if (
            not isinstance(query, models.SparseVector)
            or not isinstance(vectors, _Sparse)
            or score_threshold is not None
        ):
            return super().search(
                query_vector, query_filter, limit, offset, with_payload, with_vectors, score_threshold, idf_corpus
            )
        validate_sparse_vector(query)
        if (self.config.sparse_vectors or {})[name].modifier == models.Modifier.IDF:
            query = self._rescore_idf(query, name, idf_corpus)
        query = sort_sparse_vector(query)
        mask = self._payload_and_non_deleted_mask(cast("Any", query_filter), vector_name=name)
        scores = vectors.scores(query)
        order = np.argsort(scores)[::-1]  # of equal scores, local mode's own order
        places = order[mask[order] & (scores[order] > -np.inf)][: limit + (offset or 0)].tolist()
        return [
            models.ScoredPoint.model_construct(
                id=self.ids_inv[place],
                version=0,
                score=float(scores[place]),
                payload=self._get_payload(place, with_payload),
                vector=self._get_vectors(place, with_vectors),
            )
            for place in places[offset or 0 :]
        ]


def _values(payload: dict[str, Any] | None, field: str) -> set[str | bool]:
    """List what a field of a payload equals: its value, or each of its list."""
    found = (payload or {}).get(field)
    each_of = cast("list[Any]", found) if isinstance(found, list) else [found]
    return {each for each in each_of if isinstance(each, str | bool)}
