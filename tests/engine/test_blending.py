"""Legs blended by their scores: what the formula says, what it never does, and the question moved towards the best."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge_mcp.engine.core.base import Passages
from knowledge_mcp.engine.search import search as searching
from knowledge_mcp.engine.search.blending import WORDS, blend, feedback, words_in_full
from knowledge_mcp.engine.search.search import search
from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.model.chunk import Vector
from knowledge_mcp.model.errors import ConnectionFailedError
from knowledge_mcp.model.query import Equals, LegHit, LegScore, SearchMode, SearchQuery
from knowledge_mcp.ports import Embedder
from tests.engine.overridden import OverriddenStore
from tests.engine.world import PUMPS, World

legs = st.dictionaries(st.text("abcdefgh", min_size=1, max_size=2), st.floats(-1.0, 1.0), max_size=12)


def _leg(scores: dict[str, float], times: float = 1.0) -> list[LegHit]:
    hits = [LegHit(chunk_id, times * score) for chunk_id, score in scores.items()]
    return sorted(hits, key=lambda hit: (-hit.score, hit.chunk_id))


def test_the_score_grows_with_cosine_and_with_the_share_of_the_words() -> None:
    ranked = blend([LegHit("a", 0.5), LegHit("b", 0.4)], [LegHit("b", 6.0)], 12.0, 10, cut=False)
    assert [hit[0] for hit in ranked] == ["b", "a"]
    total = 0.4 + WORDS * 0.5
    assert ranked[0][1] == pytest.approx(total / (total + 0.6))
    assert ranked[1][1] == pytest.approx(0.5 / 1.1)
    assert ranked[0][2:] == (LegScore(2, 0.4), LegScore(1, 6.0))
    assert ranked[1][2:] == (LegScore(1, 0.5), None)


def test_a_long_question_of_which_little_is_said_is_answered_by_meaning() -> None:
    dense, lexical = [LegHit("meant", 0.7), LegHit("said", 0.3)], [LegHit("said", 9.0)]
    short, long = words_in_full(3, 1000), words_in_full(60, 1000)
    assert blend(dense, lexical, short, 1, cut=False)[0][0] == "said"
    assert blend(dense, lexical, long, 1, cut=False)[0][0] == "meant"


def test_what_a_full_leg_does_not_name_may_hold_as_many_words_as_its_last() -> None:
    dense, lexical = [LegHit("a", 0.9), LegHit("b", 0.1)], [LegHit("b", 5.0), LegHit("c", 4.0)]
    scores = {hit[0]: hit[1] for hit in blend(dense, lexical, 10.0, 10, cut=True)}
    assert scores["a"] > {hit[0]: hit[1] for hit in blend(dense, lexical, 10.0, 10, cut=False)}["a"]


@given(legs, legs, st.integers(0, 30), st.booleans())
def test_scores_lie_within_nought_and_one_and_equal_ones_go_by_id(
    dense: dict[str, float], lexical: dict[str, float], limit: int, cut: bool
) -> None:
    said = {chunk_id: abs(score) for chunk_id, score in lexical.items()}
    ranked = blend(_leg(dense), _leg(said, 30.0), words_in_full(4, 100), limit, cut=cut)
    assert len(ranked) <= limit
    assert all(0.0 <= hit[1] < 1.0 for hit in ranked)
    assert ranked == sorted(ranked, key=lambda hit: (-hit[1], hit[0]))
    assert {hit[0] for hit in ranked} <= {*dense, *lexical}


@given(legs.filter(bool), st.integers(0, 40), st.integers(0, 100_000))
def test_without_words_the_order_is_that_of_meaning(scores: dict[str, float], terms: int, chunks: int) -> None:
    dense = _leg({chunk_id: round(abs(score), 3) for chunk_id, score in scores.items()})
    ranked = blend(dense, [], words_in_full(terms, chunks), 100)
    order = [hit[2].rank for hit in ranked if hit[2] is not None]
    by_rank = {hit.rank: hit.score for hit in (each[2] for each in ranked) if hit is not None}
    assert [by_rank[rank] for rank in order] == sorted(by_rank.values(), reverse=True)


def test_a_weight_that_is_named_is_ranked_by_the_specified_formula(world: World) -> None:
    answer = search(world.base, SearchQuery("outage of a pump station", weight=0.6))
    for hit in answer.hits:
        dense = 0.6 / (60 + hit.dense.rank) if hit.dense else 0.0
        lexical = 0.4 / (60 + hit.lexical.rank) if hit.lexical else 0.0
        assert hit.score == pytest.approx((dense + lexical) * 61)


def test_the_usual_ranking_tells_the_places_in_the_legs_as_they_were_asked(world: World) -> None:
    question = "report an outage to the operator"
    meant = search(world.base, SearchQuery(question, mode=SearchMode.SEMANTIC)).hits
    alone = {hit.chunk.id: hit.dense for hit in meant}
    answer = search(world.base, SearchQuery(question))
    assert answer.hits[0].chunk.clause_number == "3.2"
    assert all(hit.dense == alone[hit.chunk.id] for hit in answer.hits if hit.dense is not None)
    scores = [hit.score for hit in answer.hits]
    assert scores == sorted(scores, reverse=True)


def test_feedback_moves_the_question_towards_the_best_passages(world: World) -> None:
    vector = world.embedder.embed_query("valve")
    chunk = next(each for each in world.store.open("kb").chunks("document", ["pumps"]) if each.clause_number == "3.1")
    first = world.base.search(vector=vector, text=None, filter=None, limit=50).dense or ()
    before = {hit.chunk_id: hit.score for hit in first}
    again = feedback(world.base, Passages(world.base), vector, [chunk.id], None, 50)
    assert again is not None
    moved, found = again
    assert moved != vector
    after = {hit.chunk_id: hit.score for hit in found}
    assert after[chunk.id] > before[chunk.id]
    among = feedback(world.base, Passages(world.base), vector, [chunk.id], Equals("document_id", "valves"), 50)
    assert among is not None
    _, kept = among
    valves = {each.id for each in world.store.open("kb").chunks("document", ["valves"])}
    assert kept
    assert {hit.chunk_id for hit in kept} <= valves


class _Forgetful(OverriddenStore):
    forgets = False

    def vectors(self, collection: str, embedding_keys: Sequence[str]) -> dict[str, Vector]:
        if self.forgets:
            raise ConnectionFailedError("gone")
        return super().vectors(collection, embedding_keys)


def test_without_the_vectors_of_the_best_passages_the_first_ranking_stands(tmp_path: Path) -> None:
    store = _Forgetful(EnglishAnalyser())
    world = World(tmp_path, store=store).holding({"pumps.md": PUMPS})
    store.forgets = True
    answer = world.knowledge.search(SearchQuery("battery of the station"))
    assert answer.hits[0].chunk.clause_number == "3.1"
    assert answer.degraded == ()


def test_the_full_sum_of_words_is_above_nought_even_for_nothing() -> None:
    assert words_in_full(0, 0) > 0.0
    assert words_in_full(5, 1000) == pytest.approx(6 * math.log(1002))


def test_words_weigh_less_where_a_models_cosines_lie_closer(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    question = SearchQuery("battery of the station")
    base = dataclasses.replace(world.base, blends=True)

    def scores(unit: float) -> dict[str, float]:
        def result(_: Embedder) -> float:
            return unit

        monkeypatch.setattr(searching, "cosine_unit", result)
        return {hit.chunk.id: hit.score for hit in search(base, question).hits if hit.lexical is not None}

    usual, close = scores(1.0), scores(0.3)
    assert usual
    assert all(close[each] < usual[each] for each in usual)
