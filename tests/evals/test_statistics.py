"""Intervals hold the mean, tests find what is there and not what is not, and both say the same each time."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge_mcp.evals.measures import area_under_curve, difference, holm, interval, percentile

SHARES = st.lists(st.floats(0, 1), min_size=1, max_size=40)


@given(SHARES)
def test_an_interval_holds_its_mean_and_lies_among_the_values(values: list[float]) -> None:
    found = interval(values)
    slack = 1e-9
    assert min(values) - slack <= found.low <= found.mean + slack
    assert found.mean - slack <= found.high <= max(values) + slack
    assert interval(values) == found


def test_an_interval_is_as_wide_as_theory_says() -> None:
    source = random.Random(3)
    found = interval([source.gauss(0.5, 0.1) for _ in range(400)])
    assert found.high - found.low == pytest.approx(2 * 1.96 * 0.1 / 20, rel=0.15)


@given(SHARES)
def test_a_run_compared_with_itself_shows_no_difference(values: list[float]) -> None:
    found = difference(values, values)
    assert (found.mean, found.p, found.wins, found.losses, found.ties) == (0, 1.0, 0, 0, len(values))


def test_few_questions_are_tested_with_all_signs() -> None:
    found = difference([0.0] * 5 + [0.5], [1.0] * 5 + [0.5])
    assert found.p == pytest.approx(2 / 2**5)
    assert (found.wins, found.losses, found.ties) == (5, 0, 1)


def test_a_true_difference_is_found_and_chance_is_not() -> None:
    source = random.Random(7)
    before = [source.random() for _ in range(200)]
    noise = [min(1.0, max(0.0, value + source.gauss(0, 0.1))) for value in before]
    worse = [max(0.0, value - 0.05) for value in noise]
    assert difference(before, noise).p > 0.05
    found = difference(before, worse)
    assert found.p < 0.001
    assert found.high < 0


def test_probabilities_looked_at_together_are_adjusted_step_by_step() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


@pytest.mark.parametrize(
    ("share", "value"), [(0.5, 2.0), (0.95, 4.0), (0.0, 1.0), (0.25, 1.0), (0.26, 2.0), (1.0, 4.0)]
)
def test_a_percentile_is_one_of_the_values(share: float, value: float) -> None:
    assert percentile([3.0, 1.0, 2.0, 4.0], share) == value
    assert percentile([], share) == 0.0


@given(st.lists(st.integers(0, 5), min_size=1, max_size=12), st.lists(st.integers(0, 5), min_size=1, max_size=12))
def test_the_area_is_the_share_of_pairs_in_the_right_order(right: list[int], wrong: list[int]) -> None:
    pairs = [1.0 if one > other else 0.5 if one == other else 0.0 for one in right for other in wrong]
    assert area_under_curve(right, wrong) == pytest.approx(sum(pairs) / len(pairs))
