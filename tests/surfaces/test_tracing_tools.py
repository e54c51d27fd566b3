"""The tools that hold documents against each other, over the real engine; and runs that outlive their call."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from knowledge_mcp.model.call import Call, Progress
from knowledge_mcp.model.errors import CancelledError, InvalidInputError, NotFoundError
from knowledge_mcp.model.evidence import QuoteQuery, QuoteVerdict
from knowledge_mcp.surfaces.arguments import output_schema, parse
from knowledge_mcp.surfaces.standards import SURFACE
from knowledge_mcp.surfaces.standards.runs import Runs, UnderWay
from tests.engine.world import World

TOOLS = {tool.name: tool for tool in SURFACE.tools}

PUMPS = """# Pumps

## 1 Pump

The pump shall stop within 5 s once the tank is full.

If a guard is fitted, the supplier shall test the guard.

Invoices shall be archived by the accounting department.
"""
MANUAL = """# Manual

## 1 Pump

The pump shall stop within 8 s once the tank is full.

The supplier shall test the guard before it is used.
"""


@pytest.fixture
def world(tmp_path: Path) -> World:
    """Hold a standard and a manual."""
    world = World(tmp_path)
    world.write("pumps.md", PUMPS)
    world.write("manual.md", MANUAL)
    world.ingest()
    return world


def ask(world: World, name: str, call: Call | None = None, /, **arguments: Any) -> dict[str, Any]:
    """Call a tool as a transport does."""
    tool = TOOLS[name]
    assert tool.run_long is not None
    answer = tool.run_long(world.knowledge, parse(tool.request, arguments), call or Call())
    payload = answer.model_dump(mode="json", exclude_unset=True)
    jsonschema.validate(payload, output_schema(tool.response, SURFACE.error_model))
    return payload


def test_each_obligation_has_a_row_with_a_quote_that_verifies(world: World) -> None:
    answer = ask(world, "knowledge_check", document="manual", standard="Pumps")
    assert answer["summary"] == {
        "obligation": 2, "conditional": 1, "evidence found": 1, "partial": 1, "none found": 1,
    }  # fmt: skip
    first, second, third = answer["rows"]
    assert first["verdict"] == "partial"
    assert "limit not met: at most 5 s / within 8 s" in first["checks"]
    assert (second["kind"], second["condition"]) == ("conditional", "If a guard is fitted")
    assert "quote" not in third
    for row in (first, second):
        verified = world.knowledge.verify_quote(QuoteQuery(row["quote"], "manual"))
        assert verified.verdict is QuoteVerdict.EXACT
    only = ask(world, "knowledge_check", document="manual", standard="pumps", verdict="none found")
    assert (only["total"], only["rows"]) == (1, [third])


def test_links_and_what_has_none_are_listed(world: World) -> None:
    answer = ask(world, "knowledge_trace", **{"from": "pumps", "to": "manual"})
    best = answer["links"][0]
    assert (best["from"], best["to"], best["verdict"]) == ("1#1", "1#1", "likely")
    assert "tank" in best["words"]
    gaps = ask(world, "knowledge_trace", **{"from": "pumps", "to": "*"}, gaps=True)
    assert {"side": "from", "id": "1#3", "citation": "pumps, 1"} in gaps["gaps"]
    assert "links" not in gaps


def test_conflicts_of_all_documents_are_listed_with_both_citations(world: World) -> None:
    answer = ask(world, "knowledge_conflicts")
    assert answer["summary"] == {"limit": 1}
    pair = answer["conflicts"][0]
    assert pair["why"] == "at most 8 s and at most 5 s"
    assert "manual.md" in pair["one_citation"]
    assert "pumps.md" in pair["other_citation"]
    assert ask(world, "knowledge_conflicts", documents="manual")["total"] == 0


def test_pages_follow_one_another_without_another_run(world: World, tmp_path: Path) -> None:
    demands = "\n\n".join(f"Valve {number} shall be turned once in year {2000 + number}." for number in range(120))
    (tmp_path / "many.md").write_text(f"# Many\n\n## 1 Valves\n\n{demands}\n")
    world.ingest()
    rows: list[str] = []
    answer: dict[str, Any] = {"next_cursor": 0}
    while (cursor := answer.get("next_cursor")) is not None:
        answer = ask(world, "knowledge_check", document="manual", standard="many", cursor=cursor)
        rows += [each["row"] for each in answer["rows"]]
    assert rows == [f"1#{number}" for number in range(1, 121)]
    assert answer["total"] == 120
    assert "warning" not in answer


def test_progress_is_told_while_texts_are_embedded(world: World) -> None:
    told: list[str] = []
    ask(world, "knowledge_trace", Call(lambda _, __, words: told.append(words)), **{"from": "manual", "to": "pumps"})
    assert told[-1] == "done"


def test_names_that_lead_nowhere_are_refused_with_near_ones(world: World) -> None:
    with pytest.raises(NotFoundError, match="no document 'manuel'") as caught:
        ask(world, "knowledge_check", document="manuel", standard="pumps")
    assert "manual" in caught.value.suggestion
    with pytest.raises(InvalidInputError, match="against itself"):
        ask(world, "knowledge_check", document="manual", standard="manual")
    with pytest.raises(InvalidInputError, match="to itself"):
        ask(world, "knowledge_trace", **{"from": "manual", "to": "manual"})


# ---- runs


def test_a_run_that_takes_longer_than_its_caller_waits_is_found_again() -> None:
    runs: Runs[str] = Runs(patience=0.05)
    goes_on, begun = threading.Event(), list[int]()

    def work(progress: Progress) -> str:
        begun.append(1)
        progress(1, 4, "a quarter")
        goes_on.wait()
        return "result"

    under_way = runs.of("key", work, Call())
    assert isinstance(under_way, UnderWay)
    assert under_way == UnderWay(25.0, "a quarter")
    goes_on.set()
    patient: Runs[str] = runs
    found: str | UnderWay = under_way
    while isinstance(found, UnderWay):
        found = patient.of("key", work, Call())
    assert (found, begun) == ("result", [1])


def test_a_caller_that_gives_up_ends_a_run_that_nobody_else_waits_for() -> None:
    runs: Runs[str] = Runs()
    stopped = threading.Event()

    def work(progress: Progress) -> str:
        from knowledge_mcp.support.checkpoints import checkpoint

        try:
            while True:
                checkpoint()
                progress(0, None, "working")
        except CancelledError:
            stopped.set()
            raise

    with pytest.raises(CancelledError):
        runs.of("key", work, Call(cancelled=lambda: True))
    assert stopped.wait(10)


def test_a_run_that_failed_is_begun_anew() -> None:
    runs: Runs[str] = Runs()
    answers = iter([InvalidInputError("no"), "yes"])

    def work(_: Progress) -> str:
        found = next(answers)
        if isinstance(found, Exception):
            raise found
        return found

    with pytest.raises(InvalidInputError):
        runs.of("key", work, Call())
    assert runs.of("key", work, Call()) == "yes"
