"""Weighted reciprocal rank fusion: the formula, its ends, its order."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge_mcp.model.query import LegHit, LegScore
from knowledge_mcp.ranking.fusion import fuse

names = st.lists(st.text("abcdefgh", min_size=1, max_size=3), unique=True, max_size=30)
weights = st.floats(0.0, 1.0)


def leg(chunk_ids: list[str], top: float = 1.0) -> list[LegHit]:
    return [LegHit(chunk_id, top - place / 100) for place, chunk_id in enumerate(chunk_ids)]


@pytest.mark.requirement("A-REQ-SEARCH-002")
def test_the_score_is_the_weighted_sum_of_reciprocal_ranks_over_its_greatest_value() -> None:
    fused = fuse(leg(["a", "b"]), leg(["b", "c"], 9.0), 0.7, 10)
    scores = {chunk_id: score for chunk_id, score, _, _ in fused}
    assert scores["a"] == pytest.approx(0.7 / 61 * 61)
    assert scores["b"] == pytest.approx((0.7 / 62 + 0.3 / 61) * 61)
    assert scores["c"] == pytest.approx(0.3 / 62 * 61)
    assert [chunk_id for chunk_id, *_ in fused] == ["b", "a", "c"]


def test_places_and_raw_scores_of_both_legs_travel_with_each_hit() -> None:
    fused = {hit[0]: hit[2:] for hit in fuse([LegHit("a", 0.9), LegHit("b", 0.8)], [LegHit("b", 12.5)], 0.5, 10)}
    assert fused["a"] == (LegScore(1, 0.9), None)
    assert fused["b"] == (LegScore(2, 0.8), LegScore(1, 12.5))


@pytest.mark.requirement("A-REQ-SEARCH-002")
@given(names, names)
def test_weight_one_is_the_dense_leg_and_weight_nought_the_lexical_one(dense: list[str], lexical: list[str]) -> None:
    assert [hit[0] for hit in fuse(leg(dense), leg(lexical), 1.0, 100)] == dense
    assert [hit[0] for hit in fuse(leg(dense), leg(lexical), 0.0, 100)] == lexical


@given(names, names, weights, st.integers(0, 40))
def test_scores_fall_within_nought_and_one_and_equal_ones_go_by_id(
    dense: list[str], lexical: list[str], weight: float, limit: int
) -> None:
    fused = fuse(leg(dense), leg(lexical), weight, limit)
    assert len(fused) <= limit
    assert all(0.0 < score <= 1.0 for _, score, _, _ in fused)
    assert fused == sorted(fused, key=lambda hit: (-hit[1], hit[0]))
    assert len({hit[0] for hit in fused}) == len(fused)
    assert {hit[0] for hit in fused} <= {*dense, *lexical}


@given(names, names, weights)
def test_the_first_of_both_legs_is_first_and_has_score_one(dense: list[str], lexical: list[str], weight: float) -> None:
    both = fuse(leg(["first", *dense]), leg(["first", *lexical]), weight, 5)
    assert both[0][0] == "first"
    assert both[0][1] == pytest.approx(1.0)


@given(names)
def test_a_single_leg_keeps_its_order(chunk_ids: list[str]) -> None:
    assert [hit[0] for hit in fuse(leg(chunk_ids), None, 0.7, 100)] == chunk_ids
    assert [hit[0] for hit in fuse(None, leg(chunk_ids, 20.0), 0.7, 100)] == chunk_ids


def test_a_single_legs_scores_are_the_cosine_cut_at_nought_or_the_squashed_sum() -> None:
    dense = fuse([LegHit("a", 0.75), LegHit("b", -0.2), LegHit("c", 1.0000001)], None, 0.7, 10)
    assert [hit[1] for hit in dense] == [0.75, 0.0, 1.0]
    assert [hit[3] for hit in dense] == [None, None, None]
    lexical = fuse(None, [LegHit("a", 30.0), LegHit("b", 10.0), LegHit("c", 0.0)], 0.7, 10)
    assert [hit[1] for hit in lexical] == [0.75, 0.5, 0.0]


@given(st.lists(st.floats(0.0, 1000.0), min_size=2, max_size=20))
def test_squashing_keeps_the_order_of_the_sums(sums: list[float]) -> None:
    ordered = sorted(sums, reverse=True)
    fused = fuse(None, [LegHit(str(place), score) for place, score in enumerate(ordered)], 0.7, 100)
    scores = [hit[1] for hit in fused]
    assert scores == sorted(scores, reverse=True)
    assert all(0.0 <= score < 1.0 for score in scores)


def test_no_leg_gives_nothing_and_a_weight_outside_is_refused() -> None:
    assert fuse(None, None, 0.7, 10) == []
    assert fuse([], [], 0.7, 10) == []
    for weight in (-0.1, 1.1, float("nan")):
        with pytest.raises(ValueError, match="weight"):
            fuse([], [], weight, 10)
