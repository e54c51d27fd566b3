"""Estimates are judged by what happened: bins, calibration error, Brier score, and the diagram of them."""

from __future__ import annotations

import dataclasses
import random
import re
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge_mcp.evals.measures import BINS, COLUMNS, reliability
from knowledge_mcp.evals.plots import Point, reliability_diagram
from knowledge_mcp.evals.report import report_html
from knowledge_mcp.evals.results import QuestionResult
from tests.evals.making import result, run_of


def _drawn(honest: bool) -> tuple[list[float], list[bool]]:
    source = random.Random(7)
    estimates = [source.random() for _ in range(4_000)]
    return estimates, [source.random() < (each if honest else each**3) for each in estimates]


def test_estimates_that_come_true_as_often_as_they_say_have_no_error() -> None:
    result = reliability(*_drawn(honest=True))
    assert result.error < 0.03
    assert result.brier == pytest.approx(1 / 6, abs=0.01)
    assert result.base_brier == pytest.approx(0.25, abs=0.01)
    assert result.area == pytest.approx(5 / 6, abs=0.02)
    assert all(each.low <= each.happened <= each.high for each in result.bins)
    assert sum(each.low <= each.estimated <= each.high for each in result.bins) >= 8
    assert [each.count for each in result.bins] == [400] * BINS


def test_estimates_that_promise_too_much_are_found_out() -> None:
    result = reliability(*_drawn(honest=False))
    assert result.error > 0.15
    assert all(each.happened < each.estimated for each in result.bins[1:-1])


def test_one_outcome_alone_says_nothing_of_the_order() -> None:
    result = reliability([0.9, 0.8], [True, True])
    assert (result.area, result.base_brier) == (0.5, 0.0)
    assert result.error == pytest.approx(0.15)


@given(st.lists(st.tuples(st.sampled_from([0.0, 0.25, 0.5, 1.0]), st.booleans()), min_size=1, max_size=60))
def test_equal_estimates_are_never_parted_and_none_is_lost(pairs: list[tuple[float, bool]]) -> None:
    result = reliability([each for each, _ in pairs], [each for _, each in pairs])
    assert sum(each.count for each in result.bins) == len(pairs) == result.count
    means = [each.estimated for each in result.bins]
    assert means == sorted(means)
    assert len(set(means)) == len(means)
    assert 0 <= result.error <= 1
    assert 0 <= result.brier <= 1


def test_the_diagram_is_well_formed_and_says_each_point_in_words() -> None:
    points = [Point(0.2, 0.1, 0.05, 0.2, 30), Point(0.9, 0.8, 0.7, 0.9, 60)]
    svg = re.findall(r"<svg.*?</svg>", reliability_diagram({"a <set>": points}, across="said", up="was"), re.DOTALL)[0]
    ET.fromstring(svg)
    assert "a &lt;set&gt;: estimated 0.20, happened 0.10 of 30" in svg
    assert "a &lt;set&gt;: estimated 0.90, happened 0.80 of 60" in svg


def test_a_report_shows_what_answers_say_of_themselves_where_they_do() -> None:
    made = result({"a": 1.0, "b": 0.0})
    rows = {
        query: QuestionResult(
            (float(first == 1),) * len(COLUMNS), first, 3.0, query, {"score": 0.5, "answerability": said}
        )
        for query, first, said in (("a", 1, 0.9), ("b", 40, 0.6), ("c", None, 0.2))
    }
    page = report_html(run_of(dataclasses.replace(made, rows=rows)))
    assert "What answers say of themselves" in page
    assert "What 3 answers say" in page
    assert "estimated 0.90, happened 1.00 of 1" in page
    assert "estimated 0.60, happened 0.00 of 1" in page, "a right passage at rank 40 is not among the first ten"
    assert "What answers say" not in report_html(run_of(made))
