"""The calibration finds the model behind the outcomes, lets every set weigh the same, and judges a set without it."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from benchmarks.answerability import HeldBack, Row, draw, fitted, held_out, judged, kept_rows
from knowledge_mcp.engine.search.answerability import SIGNALS, Calibration
from knowledge_mcp.model.query import SearchQuery
from tests.engine.world import PUMPS, VALVES, World

TRUE = Calibration((4.0, 0.0, 6.0, 1.0, -2.0), -3.0)


def searches(name: str, count: int, *, model: Calibration = TRUE, seed: int = 1) -> list[Row]:
    """Draw searches whose outcomes a known model decides."""
    source = random.Random(f"{name}{seed}")
    rows: list[Row] = []
    for number in range(count):
        values = tuple(source.random() for _ in SIGNALS)
        answered = source.random() < model.probability(values)
        rows.append(Row(name, str(number), "ranks", not answered, answered, values))
    return rows


def test_the_fit_finds_the_model_behind_the_outcomes() -> None:
    found = fitted([*searches("a", 4_000), *searches("b", 4_000)])
    assert found.weights == pytest.approx(TRUE.weights, abs=0.45)
    assert found.constant == pytest.approx(TRUE.constant, abs=0.45)
    result = judged([(found.probability(row.signals), row.answered) for row in searches("new", 3_000)])
    assert result.error < 0.04


def test_a_large_set_weighs_no_more_than_a_small_one() -> None:
    against = Calibration(tuple(-each for each in TRUE.weights), -TRUE.constant)
    large, small = searches("large", 4_000, model=TRUE), searches("small", 400, model=against)
    assert abs(fitted([*large, *small]).weights[2]) < 1.5
    assert fitted(large).weights[2] > 5


def test_a_set_is_judged_by_a_model_that_never_saw_it() -> None:
    against = Calibration(tuple(-each for each in TRUE.weights), -TRUE.constant)
    rows = [*searches("a", 1_000), *searches("b", 1_000), *searches("odd", 1_000, model=against)]
    found = held_out(rows, "ranks")
    assert judged(found["odd"]).area < 0.35
    assert held_out(rows, "scores") == {}


def test_a_store_hides_what_is_held_back_and_finds_as_many_others(tmp_path: Path) -> None:
    world = World(tmp_path).holding({"pumps.md": PUMPS, "valves.md": VALVES})
    store = HeldBack(world.store)
    vector = world.embedder.embed_query("valve")
    whole = store.open("kb").search(vector=vector, text="valve", filter=None, limit=2)
    store.hide("kb", ["valves"])
    rest = store.open("kb").search(vector=vector, text="valve", filter=None, limit=2)
    names = {
        chunk.id: chunk.document_id
        for chunk in store.open("kb").chunks("id", [hit.chunk_id for hit in rest.dense or ()])
    }
    assert set(names.values()) == {"pumps"}
    assert len(rest.dense or ()) == len(whole.dense or ()) == 2
    assert world.knowledge.search(SearchQuery("valve")).hits[0].chunk.document_id == "valves"


def test_the_diagram_stands_alone_and_nothing_kept_is_no_error(tmp_path: Path) -> None:
    draw(held_out([*searches("x/a", 300), *searches("x/b", 300)], "ranks"), tmp_path / "plot.svg")
    result = (tmp_path / "plot.svg").read_text()
    assert result.startswith("<svg")
    assert "xmlns" in result
    assert "all: estimated" in result
    assert kept_rows(tmp_path / "none.json") == []
