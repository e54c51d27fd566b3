"""A collection of the Qdrant client's local mode whose points lie in Qdrant's own engine (Qdrant Edge).

The wheel `qdrant-edge-py` carries the code that a server keeps and searches its shards with: segments, payload indexes,
sparse vectors with their inverse document frequencies, HNSW, quantization, the log that is replayed after a crash.
What a server has around it (REST, gRPC, several shards, replicas, optimizers in the background) it does not have:
`EdgeCollection.optimize` does what those would do by themselves. Needs the `qdrant` extra.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, cast

import qdrant_edge as edge
from qdrant_client import models
from qdrant_client.conversions import common_types as types
from qdrant_client.local.local_collection import LocalCollection

_MEMORY = Path("/dev/shm")
_SHADOW = "_in_words"
"""Ends a field that says in words what another says by True or False: the wheel's filters take True for 1."""
_NO_VECTOR = "_none"
"""A sparse vector that no point has: the wheel makes no shard without one, a server does."""


class EdgeCollection(LocalCollection):
    """Answer as `LocalCollection` is asked, from one shard of Qdrant's engine.

    Args:
        config: as it was created with.
    """

    optimizers: ClassVar[edge.EdgeOptimizersConfig | None] = None
    """When segments are merged and indexed; None for the engine's defaults."""

    def __init__(self, config: models.CreateCollection) -> None:
        super().__init__(config)
        usable = _MEMORY.is_dir() and os.access(_MEMORY, os.W_OK)
        self.folder = tempfile.mkdtemp(prefix="qdrant-edge-", dir=_MEMORY if usable else None)
        self.shard = edge.EdgeShard.create(self.folder, _config(config, self.optimizers))
        weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)

    def optimize(self) -> None:
        """Merge, vacuum and index segments, as a server's optimizers would."""
        while self.shard.optimize():
            pass

    @property
    def indexed(self) -> int:
        """Count the vectors in an index."""
        return self.shard.info().indexed_vectors_count

    def crash(self) -> None:
        """Open it again without having told it of an end: what is in its log is replayed."""
        kept = f"{self.folder}.crashed"
        shutil.copytree(self.folder, kept)
        self.shard.close()
        shutil.rmtree(self.folder)
        Path(kept).rename(self.folder)
        self.shard = edge.EdgeShard.load(self.folder)

    # changes

    def upsert(self, points: Any, update_filter: Any = None, update_mode: Any = None) -> None:
        made = [edge.Point(each.id, _vectors(each.vector), _payload(each.payload or {})) for each in points]
        self._update(edge.UpdateOperation.upsert_points(made, _filter(update_filter)))

    def update_vectors(self, points: Sequence[Any], update_filter: Any = None) -> None:
        made = [edge.PointVectors(each.id, _vectors(each.vector)) for each in points]
        self._update(edge.UpdateOperation.update_vectors(made, _filter(update_filter)))

    def delete_vectors(self, vectors: Sequence[str], selector: Any) -> None:
        ids, kept = _selected(selector)
        if kept is None:
            self._update(edge.UpdateOperation.delete_vectors(ids, list(vectors)))
        else:
            self._update(edge.UpdateOperation.delete_vectors_by_filter(kept, list(vectors)))

    def set_payload(self, payload: Any, selector: Any, key: str | None = None) -> None:
        ids, kept = _selected(selector)
        payload = _payload(payload)
        if kept is None:
            missing = set(map(str, ids)) - {str(each.id) for each in self.shard.retrieve(ids, False, False)}
            self._update(edge.UpdateOperation.set_payload(ids, payload, key))
            if missing:  # the others are changed all the same
                raise KeyError(next(iter(missing)))
        else:
            self._update(edge.UpdateOperation.set_payload_by_filter(kept, payload, key))

    def delete(self, selector: Any) -> None:
        ids, kept = _selected(selector)
        if kept is None:
            self._update(edge.UpdateOperation.delete_points(ids))
        else:
            self._update(edge.UpdateOperation.delete_points_by_filter(kept))

    def create_payload_index(self, field_name: str, field_schema: Any) -> None:
        self._update(edge.UpdateOperation.create_field_index(field_name, _schema(field_schema)))
        if field_schema == models.PayloadSchemaType.BOOL:
            shadow = edge.UpdateOperation.create_field_index(field_name + _SHADOW, edge.PayloadSchemaType.Keyword)
            self._update(shadow)

    def delete_payload_index(self, field_name: str) -> None:
        self._update(edge.UpdateOperation.delete_field_index(field_name))

    # questions

    def count(self, count_filter: Any = None) -> models.CountResult:
        return models.CountResult(count=self.shard.count(edge.CountRequest(True, _filter(count_filter))))

    def facet(self, key: str, facet_filter: Any = None, limit: int = 10) -> models.FacetResponse:
        found = self._said(lambda: self.shard.facet(edge.FacetRequest(key, limit, False, _filter(facet_filter))))
        return models.FacetResponse(
            hits=[models.FacetValueHit(value=each.value, count=each.count) for each in found.hits]
        )

    def retrieve(self, ids: Sequence[Any], with_payload: Any = True, with_vectors: Any = False) -> list[models.Record]:
        return [_record(each) for each in self.shard.retrieve(list(ids), _wanted(with_payload), with_vectors)]

    def scroll(
        self,
        scroll_filter: Any = None,
        limit: int = 10,
        order_by: Any = None,
        offset: Any = None,
        with_payload: Any = True,
        with_vectors: Any = False,
    ) -> tuple[list[models.Record], Any]:
        del order_by  # nobody here asks for another order than that of ids
        asked = edge.ScrollRequest(offset, limit, _filter(scroll_filter), _wanted(with_payload), with_vectors)
        points, following = self._said(lambda: self.shard.scroll(asked))
        return [_record(each) for each in points], None if following is None else str(following)

    def query_points(
        self,
        query: Any = None,
        prefetch: Any = None,
        query_filter: Any = None,
        limit: int = 10,
        offset: int | None = 0,
        with_payload: Any = True,
        with_vectors: Any = False,
        score_threshold: float | None = None,
        using: str | None = None,
        search_params: Any = None,
        **_: Any,
    ) -> types.QueryResponse:
        del prefetch
        asked = edge.QueryRequest(
            limit,
            offset,
            edge.Query.Nearest(_vector(query), using),
            filter=_filter(query_filter),
            with_payload=_wanted(with_payload),
            with_vector=with_vectors,
            score_threshold=score_threshold,
            params=_params(search_params),
        )
        found = self._said(lambda: self.shard.query(asked))
        points = [
            models.ScoredPoint.model_construct(
                id=str(each.id), version=0, score=each.score, payload=_without(each.payload), vector=_plain(each.vector)
            )
            for each in found
        ]
        return types.QueryResponse(points=points)

    # inside

    def _update(self, operation: edge.UpdateOperation) -> None:
        self._said(lambda: self.shard.update(operation))

    @staticmethod
    def _said(call: Any) -> Any:
        """Make a call; what the engine refuses is what local mode raises."""
        try:
            return call()
        except Exception as exc:  # the engine has no kind of its own
            raise ValueError(str(exc)) from exc


def _config(config: models.CreateCollection, optimizers: edge.EdgeOptimizersConfig | None) -> edge.EdgeConfig:
    vectors = {
        name: edge.EdgeVectorParams(each.size, getattr(edge.Distance, each.distance.value), each.on_disk)
        for name, each in cast("Mapping[str, models.VectorParams]", config.vectors or {}).items()
    }
    sparse = {
        name: edge.EdgeSparseVectorParams(
            on_disk=each.index.on_disk if each.index else None,
            modifier=edge.Modifier.Idf if each.modifier == models.Modifier.IDF else None,
        )
        for name, each in (config.sparse_vectors or {}).items()
    }
    if not vectors and not sparse:
        sparse = {_NO_VECTOR: edge.EdgeSparseVectorParams()}
    return edge.EdgeConfig(
        vectors, sparse, config.on_disk_payload, quantization_config=_quantized(config), optimizers=optimizers
    )


def _quantized(config: models.CreateCollection) -> Any:
    asked = config.quantization_config
    if isinstance(asked, models.ScalarQuantization):
        return edge.ScalarQuantizationConfig(edge.ScalarType.Int8, asked.scalar.quantile, asked.scalar.always_ram)
    if isinstance(asked, models.BinaryQuantization):
        return edge.BinaryQuantizationConfig(asked.binary.always_ram)
    return None


def _schema(schema: Any) -> Any:
    if isinstance(schema, models.TextIndexParams):
        tokenizer = edge.TokenizerType.Whitespace if schema.tokenizer == models.TokenizerType.WHITESPACE else None
        return edge.TextIndexParams(tokenizer=tokenizer, lowercase=schema.lowercase, on_disk=schema.on_disk)
    if isinstance(schema, models.KeywordIndexParams):
        return edge.KeywordIndexParams(on_disk=schema.on_disk)
    return getattr(edge.PayloadSchemaType, models.PayloadSchemaType(schema).value.capitalize())


def _params(asked: models.SearchParams | None) -> edge.SearchParams | None:
    if asked is None:
        return None
    rough = asked.quantization
    rescoring = None
    if rough is not None:
        rescoring = edge.QuantizationSearchParams(rough.ignore or False, rough.rescore, rough.oversampling)
    counted = edge.IdfParams(_filter(asked.idf.corpus)) if isinstance(asked.idf, models.IdfCorpusParams) else None
    return edge.SearchParams(asked.hnsw_ef, asked.exact or False, rescoring, idf=counted)


def _selected(selector: Any) -> tuple[list[Any], edge.Filter | None]:
    if isinstance(selector, models.FilterSelector):
        return [], _filter(selector.filter)
    if isinstance(selector, models.Filter):
        return [], _filter(selector)
    return list(selector.points if isinstance(selector, models.PointIdsList) else selector), None


def _filter(kept: models.Filter | None) -> edge.Filter | None:
    if kept is None:
        return None
    return edge.Filter(_conditions(kept.must), _conditions(kept.should), _conditions(kept.must_not))


def _conditions(asked: Any) -> list[Any] | None:
    if asked is None:
        return None
    return [_condition(each) for each in (cast("list[Any]", asked) if isinstance(asked, list) else [asked])]


def _condition(asked: Any) -> Any:
    if isinstance(asked, models.Filter):
        return _filter(asked)
    if isinstance(asked, models.IsEmptyCondition):
        return edge.IsEmptyCondition(asked.is_empty.key)
    if isinstance(asked, models.HasVectorCondition):
        return edge.HasVectorCondition(asked.has_vector)
    if isinstance(asked, models.HasIdCondition):
        return edge.HasIdCondition(set(asked.has_id))
    assert isinstance(asked, models.FieldCondition)
    if isinstance(asked.match, models.MatchValue) and isinstance(asked.match.value, bool):
        return edge.FieldCondition(asked.key + _SHADOW, edge.MatchValue(str(asked.match.value)))
    return edge.FieldCondition(asked.key, _match(asked.match))


def _match(match: Any) -> Any:
    if isinstance(match, models.MatchAny):
        return edge.MatchAny(list(cast("list[str]", match.any)))
    if isinstance(match, models.MatchText):
        return edge.MatchText(match.text)
    if isinstance(match, models.MatchTextAny):
        return edge.MatchTextAny(match.text_any)
    assert isinstance(match, models.MatchValue)
    return edge.MatchValue(match.value)


def _payload(payload: Mapping[str, Any]) -> dict[str, Any]:
    return {**payload, **{f"{key}{_SHADOW}": str(each) for key, each in payload.items() if isinstance(each, bool)}}


def _without(payload: Mapping[str, Any] | None) -> dict[str, Any] | None:
    return None if payload is None else {key: each for key, each in payload.items() if not key.endswith(_SHADOW)}


def _wanted(payload: Any) -> Any:
    return list(cast("Sequence[str]", payload)) if isinstance(payload, list | tuple) else payload


def _vector(vector: Any) -> Any:
    if isinstance(vector, models.NearestQuery):
        vector = vector.nearest
    return edge.SparseVector(vector.indices, vector.values) if isinstance(vector, models.SparseVector) else vector


def _vectors(vectors: Any) -> Any:
    return {name: _vector(each) for name, each in cast("Mapping[str, Any]", vectors or {}).items()}


def _plain(vectors: Any) -> Any:
    if not isinstance(vectors, Mapping):
        return vectors
    return {
        name: models.SparseVector(indices=each.indices, values=each.values)
        if isinstance(each, edge.SparseVector)
        else each
        for name, each in cast("Mapping[str, Any]", vectors).items()
    }


def _record(point: edge.Record) -> models.Record:
    return models.Record.model_construct(id=str(point.id), payload=_without(point.payload), vector=_plain(point.vector))
