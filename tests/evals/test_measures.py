"""Measures are what their definitions say, on rankings short enough to be worked out by hand."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge_mcp.evals.judging import Judged
from knowledge_mcp.evals.measures import COLUMNS, MEANINGS, measure, recall_curve


def _of(units: str, grades: dict[str, int], first: int | None = None) -> dict[str, float]:
    return dict(zip(COLUMNS, measure({"q": Judged(tuple(units), grades, first)})["q"], strict=True))


def test_every_measure_has_a_meaning_in_the_report() -> None:
    assert set(MEANINGS) == set(COLUMNS)


def test_a_ranking_with_two_grades_is_measured_by_hand() -> None:
    found = _of("xaby", {"a": 1, "b": 2, "c": 1}, first=2)
    gained = 1 / math.log2(3) + 3 / math.log2(4)
    best = 3 / math.log2(2) + 1 / math.log2(3) + 1 / math.log2(4)
    assert found["nDCG@10"] == pytest.approx(gained / best)
    assert found["R@5"] == found["R@100"] == pytest.approx(2 / 3)
    assert found["RR"] == 0.5
    assert (found["Success@1"], found["Success@5"], found["hit@5"]) == (0, 1, 1)


def test_what_comes_after_a_measures_depth_does_not_count() -> None:
    found = _of("123456789ab", {"b": 1}, first=11)
    assert found["R@10"] == found["nDCG@10"] == found["Success@5"] == found["hit@5"] == 0
    assert found["R@100"] == 1
    assert found["RR"] == pytest.approx(1 / 11)


def test_the_first_five_passages_count_as_they_come() -> None:
    assert _of("xa", {"a": 1}, first=6)["hit@5"] == 0
    assert _of("xa", {"a": 1}, first=6)["Success@5"] == 1


def test_a_question_without_any_hit_counts_as_nought() -> None:
    assert measure({"q": Judged((), {"a": 1}, None)}) == {"q": (0.0,) * len(COLUMNS)}
    both = measure({"q": Judged((), {"a": 1}, None), "r": Judged(("a",), {"a": 1}, 1)})
    assert both == {"q": (0.0,) * len(COLUMNS), "r": (1.0,) * len(COLUMNS)}


def test_recall_by_depth_is_the_mean_share_of_right_places() -> None:
    judged = {"q": Judged(("a", "x", "b"), {"a": 1, "b": 1}, 1), "r": Judged((), {"c": 1}, None)}
    curve = recall_curve(judged)
    assert (curve[1], curve[2], curve[3], curve[100]) == (0.25, 0.25, 0.5, 0.5)
    assert recall_curve({}) == {}


@given(st.permutations(list("abcdefghijkl")), st.sets(st.sampled_from("abcdefghijkl"), min_size=1))
def test_measures_agree_with_each_other(ranking: list[str], right: set[str]) -> None:
    first = next(rank for rank, unit in enumerate(ranking, 1) if unit in right)
    found = _of("".join(ranking), dict.fromkeys(right, 1), first)
    assert found["RR"] == pytest.approx(1 / first)
    assert found["Success@5"] == found["hit@5"] == float(first <= 5)
    assert 0 <= found["R@5"] <= found["R@10"] <= found["R@100"] == 1
    assert (found["nDCG@10"] == pytest.approx(1)) == (set(ranking[: min(10, len(right))]) <= right)
