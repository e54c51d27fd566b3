"""Runs both legs of a search in one round trip, with raw scores; hits of invisible generations are dropped.

More hits than the limit are requested, until those at the cut-off can be distinguished from those behind it: ties are
broken by chunk id, which Qdrant does not do. If a publish has overtaken the search, it is repeated.
"""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from qdrant_client import models

from knowledge_mcp.model.chunk import Vector, numbers_of
from knowledge_mcp.model.errors import InternalError, InvalidInputError
from knowledge_mcp.model.query import Filter, LegHit, LegResults
from knowledge_mcp.ports import Analyser
from knowledge_mcp.stores.qdrant.layout import BM25, DENSE, QdrantCollection, look, update_description
from knowledge_mcp.stores.qdrant.points import (
    all_of,
    any_of,
    conditions,
    defined,
    equals,
    query_sparse,
    score_with_mean,
    weight_in,
    weighted,
)
from knowledge_mcp.stores.qdrant.reading import (
    MARKS,
    READS,
    KnownTotals,
    VisibilityCheck,
    head_id,
    heads,
    place_and_head,
    totals,
)
from knowledge_mcp.stores.shared.filters import absent_in
from knowledge_mcp.stores.shared.payload import chunk_from_json
from knowledge_mcp.stores.shared.ranking import ranked, term_counts
from knowledge_mcp.stores.shared.rules import is_newer
from knowledge_mcp.support.batches import batches
from knowledge_mcp.support.events import log_event

_BESIDE = 8
_MOST_ASKED = 20_000
_DIGITS = 6
"""Scores that agree to this many decimals are ties: Qdrant computes in 32 bits, in an order of its own."""
SILENCE = 60.0
"""Seconds without progress after which an indexing process is considered dead; a batch takes a second or two."""
_LOOK_AGAIN = 0.2
_logger = logging.getLogger(__name__)


class MovedError(Exception):
    """The name of the collection was given to another collection since its description was read."""


@dataclass(frozen=True, slots=True)
class QdrantQuery:
    """A query to a collection.

    Attributes:
        vector: for the dense leg, or None.
        terms: for the lexical leg, or None.
        filter: already checked.
        limit: maximum number of hits per leg.
        exact: search without approximation.
        mean: mean chunk length in terms for BM25; None for the one that the weights were computed with.
    """

    vector: Vector | None
    terms: Sequence[str] | None
    filter: Filter | None
    limit: int
    exact: bool
    mean: float | None = None


@dataclass
class _Leg:
    """The state of one leg during a search: its query, and its hits or its error.

    Attributes:
        using: name of the vector.
        query: the vector.
        asked: number of hits to request.
        mean: mean length with which scores are recomputed, or None.
        frequencies: inverse document frequencies of its terms, times their counts in the query, once they are known.
        hits: the hits, or None.
        error: why there are none.
    """

    using: str
    query: list[float] | models.SparseVector
    asked: int
    mean: float | None = None
    frequencies: dict[int, float] = field(default_factory=dict[int, float])
    hits: tuple[LegHit, ...] | None = None
    error: str = ""

    @property
    def terms(self) -> Sequence[int]:
        """Terms whose inverse document frequencies have to be queried too."""
        return [] if self.mean is None or isinstance(self.query, list) else self.query.indices

    def count(self, index: int) -> float:
        """Return how often a term is in the query."""
        return 1.0 if isinstance(self.query, list) else self.query.values[self.query.indices.index(index)]


def search(place: QdrantCollection, question: QdrantQuery) -> LegResults:
    """Run the requested legs. If both are requested and one fails, return the hits of the other."""
    required = conditions(question.filter)
    legs = _legs(question) if required is not None and question.limit > 0 else {}
    if required is None or not legs:
        # nothing to search for, but a missing collection is an error
        place.connection.count(place.name, None, exact=False)
    else:
        try:
            _run(place, list(legs.values()), required, question)
        except (InvalidInputError, InternalError):
            if len(legs) == 1:
                raise
            _one_by_one(place, list(legs.values()), required, question)
    nothing = _Leg("", [], 0, hits=())
    dense, lexical = legs.get(DENSE, nothing), legs.get(BM25, nothing)
    return LegResults(
        dense=None if question.vector is None else dense.hits,
        lexical=None if question.terms is None else lexical.hits,
        dense_error=dense.error,
        lexical_error=lexical.error,
    )


def _legs(question: QdrantQuery) -> dict[str, _Leg]:
    legs: dict[str, _Leg] = {}
    depth = question.limit + _BESIDE
    if question.vector is not None:
        legs[DENSE] = _Leg(DENSE, list(numbers_of(question.vector)), depth)
    if question.terms:
        legs[BM25] = _Leg(BM25, query_sparse(question.terms), depth, question.mean)
    return legs


def _one_by_one(
    place: QdrantCollection,
    legs: Sequence[_Leg],
    required: list[models.Condition],
    question: QdrantQuery,
) -> None:
    """Run each leg separately, and record why it failed.

    Raises:
        InvalidInputError, InternalError: all legs failed; the last failure.
    """
    for leg in legs:
        try:
            _run(place, [leg], required, question)
        except (InvalidInputError, InternalError) as exc:
            leg.hits, leg.error = None, f"{exc.message} {exc.details}".strip()
            log_event(_logger, logging.WARNING, "leg_failed", leg=leg.using, collection=place.name, reason=exc.message)
            if all(each.error for each in legs):
                raise


def _run(
    place: QdrantCollection,
    legs: Sequence[_Leg],
    required: list[models.Condition],
    question: QdrantQuery,
) -> None:
    """Query all legs at once, and repeat until each has its hits."""
    judge = VisibilityCheck(place)
    waiting = list(legs)
    for left in reversed(range(READS)):
        if not waiting:
            return
        single_terms = [(leg, index) for leg in waiting if not leg.frequencies for index in leg.terms]
        requests = [_request(place, question, leg, leg.query, leg.asked, required) for leg in waiting]
        requests += [
            _request(place, question, leg, models.SparseVector(indices=[index], values=[leg.count(index)]), 1, [])
            for leg, index in single_terms
        ]
        answers = place.connection.query(place.name, requests)
        if any((each.payload or {})["home"] != place.home for points in answers for each in points):
            raise MovedError
        for (leg, index), points in zip(single_terms, answers[len(waiting) :], strict=True):
            for each in points:
                leg.frequencies[index] = each.score / weight_in(each, index)
        answers = answers[: len(waiting)]
        kept = judge.keep([point for points in answers for point in points])
        visible = {(str(each.id)) for each in kept}
        again: list[_Leg] = []
        for leg, points in zip(waiting, answers, strict=True):
            # the largest factor by which a greater mean length can raise scores
            more = max(1.0, leg.mean / place.mean) if leg.mean and place.mean else 1.0
            hits = _hits([each for each in points if str(each.id) in visible], leg)
            leg.hits = tuple(hits[: question.limit])
            if not left:
                continue
            if judge.missed:
                again.append(leg)
            elif len(points) >= leg.asked < _MOST_ASKED and not _all_seen(hits, points, question.limit, more):
                leg.asked = min(4 * leg.asked, _MOST_ASKED)
                again.append(leg)
        waiting = again


def _request(
    place: QdrantCollection,
    question: QdrantQuery,
    leg: _Leg,
    query: list[float] | models.SparseVector,
    limit: int,
    required: Sequence[models.Condition],
) -> models.QueryRequest:
    beside = [] if leg.mean is None else ["weights", "length"]
    return models.QueryRequest(
        query=query, using=leg.using, filter=all_of(*required) if required else None, limit=limit,
        with_payload=[*MARKS, *beside], with_vector=[BM25] if beside else None,
        params=_params(place, leg.using, question),
    )  # fmt: skip


def _params(place: QdrantCollection, using: str, question: QdrantQuery) -> models.SearchParams | None:
    if using != DENSE:
        # document frequencies include deleted points until Qdrant optimises, which it never does for collections below
        # 1,000 points; an exact count costs 0.6 ms for 50,000 points, and a server older than 1.19 ignores it
        absent = absent_in(question.filter)  # documents that the user may not see must not affect weights
        hidden = [any_of("document_id", sorted(absent))] if absent else None
        corpus = models.IdfCorpusParams(corpus=models.Filter(must_not=hidden))
        return models.SearchParams(idf=corpus) if question.exact or absent else None
    rescored = None
    if place.connection.config.quantization != "none":
        rescored = models.QuantizationSearchParams(rescore=True, oversampling=3.0)
    if not question.exact and rescored is None:
        return None
    return models.SearchParams(exact=question.exact or None, quantization=None if question.exact else rescored)


def _hits(points: Sequence[models.ScoredPoint], leg: _Leg) -> list[LegHit]:
    mean, frequencies = leg.mean, leg.frequencies
    scores = (each.score if mean is None else score_with_mean(each, frequencies, mean) for each in points)
    return ranked(
        LegHit((each.payload or {})["chunk_id"], round(score, _DIGITS))
        for each, score in zip(points, scores, strict=True)
    )


def _all_seen(hits: Sequence[LegHit], points: Sequence[models.ScoredPoint], limit: int, more: float) -> bool:
    """Return whether all hits that can be above the cut-off were seen, because the last point is below it.

    Args:
        hits: best hits so far.
        points: the points they come from, best first.
        limit: maximum number of hits.
        more: factor by which a recomputed score can exceed that of its point.
    """
    return len(hits) >= limit and round(more * points[-1].score, _DIGITS) < hits[limit - 1].score


_OFTEN = 16
_BATCH = 256


class TermWeights:
    """Monitors the mean chunk length of the collections that this process writes to."""

    def __init__(self, drift: float, known: KnownTotals) -> None:
        self._drift = drift
        self._known = known
        self._writes: dict[str, int] = {}
        self._documents: dict[str, int] = {}
        self._lock = threading.Lock()

    def after_write(self, place: QdrantCollection, documents: int = 1) -> None:
        """Recompute all weights if the mean length has drifted. Checks only now and then, depending on `documents`."""
        name = place.home
        with self._lock:
            self._writes[name] = self._writes.get(name, 0) + documents
            if self._writes[name] * _OFTEN < self._documents.get(name, 0):
                return
            self._writes[name] = 0
        place, _ = place_and_head(place, "")
        found = self._known.of(place)
        with self._lock:
            self._documents[name] = found.documents
        mean = found.mean
        if place.mean is None or mean is None:
            return
        if abs(mean / place.mean - 1.0) > self._drift:
            update_description(place.connection, place.home, {"mean": mean})
            place, _ = place_and_head(place, "")
            log_event(_logger, logging.INFO, "bm25_reweighed", collection=place.name, chunks=weigh(place))


def outdated_weights(place: QdrantCollection) -> models.Filter:
    """Match points whose weights are of another mean length or analyser than the collection's."""
    return models.Filter(must_not=[equals("weights", place.weights)])


def weigh(place: QdrantCollection) -> int:
    """Recompute outdated weights with the collection's mean length; return the number of points changed."""
    if place.mean is None:
        return 0
    done = 0
    points = place.connection.scroll(place.home, outdated_weights(place), ["words"])
    for batch in batches(points, _BATCH):
        vectors = [
            models.PointVectors(id=each.id, vector={BM25: weighted((each.payload or {})["words"].split(), place.mean)})
            for each in batch
        ]
        ids = [each.id for each in batch]
        operation = models.SetPayload(payload={"weights": place.weights}, points=ids)
        place.connection.write_present(
            place.home,
            [
                models.UpdateVectorsOperation(update_vectors=models.UpdateVectors(points=vectors)),
                models.SetPayloadOperation(set_payload=operation),
            ],
        )
        done += len(batch)
    return done


def index_again(place: QdrantCollection, analyser: Analyser) -> None:
    """Re-index terms and weights with an analyser newer than the collection's; only one of several processes does it.

    The new analyser version is recorded at the end, so that an interrupted run starts again. Its coming is announced
    first, followed by a wait until every older process has read it: from then on those search without the lexical leg
    and store nothing. The last process to announce it does the work, and the others wait while it makes progress.
    """
    while True:
        claim = secrets.token_hex(8)
        update_description(place.connection, place.home, {"coming": analyser.version, "indexer": claim})
        time.sleep(place.connection.config.known_seconds)
        now = look(place.connection, place.name)
        if now is None or not is_newer(analyser.version, now.analyser):
            return
        if now.indexer == claim:
            write_index(place, analyser, claim)
            return
        if _is_done_by_another(now, analyser):
            return


def _is_done_by_another(place: QdrantCollection, analyser: Analyser) -> bool:
    """Wait while another process indexes; return False if it shows no progress for `SILENCE` seconds."""
    seen, since = place.indexer, time.monotonic()
    while time.monotonic() - since < SILENCE:
        time.sleep(_LOOK_AGAIN)
        now = look(place.connection, place.name)
        if now is None or not is_newer(analyser.version, now.analyser):
            return True
        if now.indexer != seen:
            seen, since = now.indexer, time.monotonic()
    return False


def write_index(place: QdrantCollection, analyser: Analyser, claim: str) -> None:
    """Re-index a collection that this process has claimed, and record progress on the way."""
    for number, batch in enumerate(batches(place.connection.scroll(place.home, None, ["chunk"]), _BATCH)):
        update_description(place.connection, place.home, {"indexer": f"{claim} {number}"})
        operations: list[models.UpdateOperation] = []
        for each in batch:
            chunk = chunk_from_json((each.payload or {})["chunk"])
            words = analyser.document_terms(chunk.embedding_text)
            payload: dict[str, Any] = {
                "words": " ".join(words),
                "length": sum(term_counts(words).values()),
                "terms": defined([(one.term, one.aliases) for one in chunk.definitions], analyser) or None,
            }
            change = models.SetPayload(payload=payload, points=[each.id])
            operations.append(models.SetPayloadOperation(set_payload=change))
        place.connection.write_present(place.home, operations)
    _sum_lengths(place)
    mean = totals(heads(place)).mean
    count = weigh(replace(place, analyser=analyser.version, mean=mean))
    update_description(
        place.connection, place.home, {"analyser": analyser.version, **({} if mean is None else {"mean": mean})}
    )
    log_event(_logger, logging.INFO, "indexed_again", collection=place.name, analyser=analyser.version, chunks=count)


def _sum_lengths(place: QdrantCollection) -> None:
    """Recompute the total length of each document's chunks."""
    for head in heads(place):
        kept = all_of(equals("document_id", head.document_id), equals("generation", head.generation))
        points = place.connection.scroll(place.home, kept, ["length"])
        total = sum((each.payload or {})["length"] for each in points)
        change = models.SetPayload(payload={"length": total}, points=[head_id(head.document_id)])
        place.connection.write(place.records, [models.SetPayloadOperation(set_payload=change)])
