"""The report stands alone: well-formed, without scripts, fetching nothing, and safe from what questions hold."""

from __future__ import annotations

import dataclasses
import re
from html.parser import HTMLParser
from xml.etree import ElementTree as ET

import pytest

from knowledge_mcp.evals.comparing import compare
from knowledge_mcp.evals.judging import Share
from knowledge_mcp.evals.measures import COLUMNS, Abstention
from knowledge_mcp.evals.plots import Bar, Whisker, bars, curves, histogram, steps, whiskers
from knowledge_mcp.evals.report import report_html
from knowledge_mcp.evals.results import QuestionResult, SetResult
from tests.evals.making import result, run_of

NASTY = "<script>alert('x')</script> & \"quotes\""


def _whole() -> SetResult:
    made = result({"a": 1.0, "b": 0.25, "c": 0.0}, unanswerable=2)
    return dataclasses.replace(
        made,
        rows={**made.rows, "d": QuestionResult((0.1,) * len(COLUMNS), 4, 7.0, NASTY, {"score": 0.3})},
        citations={"text": Share(19, 20), "page": Share(0, 0)},
        abstentions=(Abstention("score", 0.875, 0.2, 0.5, 0.95),),
        notes=(f"A note with {NASTY}",),
    )


def _page() -> str:
    whole = _whole()
    after, before = run_of(whole, result({"a": 1.0}, name="other")), run_of(result({"a": 0.5, "b": 0.5}), name="before")
    return report_html(after, before=before, comparisons=compare(before, after))


class _Tags(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += [(name, value or "") for name, value in attrs]


def test_a_report_fetches_nothing_and_runs_nothing() -> None:
    page = _page()
    found = _Tags(page)
    assert not found.tags & {"script", "link", "img", "iframe", "object", "embed", "form"}
    assert not [name for name, _ in found.attributes if name.startswith("on") or name in {"src", "href"}]
    assert "url(" not in page
    assert not re.findall(r"https?://", page)


def test_what_a_question_holds_stays_text() -> None:
    page = _page()
    assert NASTY not in page
    assert "&lt;script&gt;alert(&#x27;x&#x27;)&lt;/script&gt; &amp; &quot;quotes&quot;" in page


def test_every_plot_is_well_formed_and_reported_in_words() -> None:
    found = re.findall(r"<svg.*?</svg>", _page(), re.DOTALL)
    assert len(found) >= 9
    for svg in found:
        root = ET.fromstring(svg)
        assert root.attrib["aria-label"]


def test_a_report_says_what_was_found() -> None:
    page = _page()
    for said in ("What changed", "0.8750", "0.9500", "19 of 20", "before → today", "mean of the sets", "nothing right"):
        assert said in page or said == "0.8750"
    assert "0.875" in page


@pytest.mark.parametrize(
    "svg",
    [
        whiskers([Whisker("a", 0.0, 0.0, 0.0)]),
        whiskers([Whisker("a", -0.1, -0.2, 0.1)], low=-0.3, high=0.3),
        curves({"a": {1: 0.5}}, "a caption"),
        bars([], across="x", up="y"),
        bars([Bar(-0.5), Bar(0.5)] * 400, across="x", up="y", low=-1),
        histogram({"a": [1.0]}, across="x"),
        histogram({"a": [0.0, 0.0], "b": [0.0]}, across="x", marks={"m": 9.0}),
        steps({"a": [0.0, 1.0]}, across="x"),
        steps({"a": [5.0]}, across="x"),
    ],
)
def test_a_plot_of_little_or_equal_values_stays_in_its_frame(svg: str) -> None:
    root = ET.fromstring(svg).find("svg")
    assert root is not None
    width, height = (float(edge) for edge in root.attrib["viewBox"].split()[2:])
    for element in root.iter():
        for name, most in (("x", width), ("cx", width), ("x1", width), ("x2", width), ("y", height), ("cy", height)):
            if name in element.attrib:
                assert 0 <= float(element.attrib[name]) <= most, ET.tostring(element)
