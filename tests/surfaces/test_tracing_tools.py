"""The tools that hold documents against each other, over the real engine; and runs that outlive their call."""

from __future__ import annotations

import copy
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from knowledge_mcp.engine.jobs.jobs import Jobs, explain
from knowledge_mcp.engine.jobs.journal import FolderJournal, JobState
from knowledge_mcp.engine.tracing.conflicts import Conflict
from knowledge_mcp.engine.tracing.decisions import Decisions, MarkKind, Reviews, RowMark
from knowledge_mcp.engine.tracing.links import TraceItem
from knowledge_mcp.model.call import Call
from knowledge_mcp.model.errors import CancelledError, InvalidInputError, NotFoundError
from knowledge_mcp.model.evidence import QuoteQuery, QuoteVerdict
from knowledge_mcp.model.ingest import IngestOptions
from knowledge_mcp.model.rights import ALLOWED, Rights
from knowledge_mcp.sources.files import FileSource, LabelledSource
from knowledge_mcp.support.checkpoints import checkpoint
from knowledge_mcp.surfaces import comparing
from knowledge_mcp.surfaces.standards import SURFACE, tracing
from tests.engine.world import World
from tests.surfaces.calling import answer_of

SIDES = {"from": "pumps", "to": "manual"}

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
def world(tmp_path: Path) -> Iterator[World]:
    """Hold a standard and a manual."""
    world = World(tmp_path).holding({"pumps.md": PUMPS, "manual.md": MANUAL})
    keep_runs(world, tmp_path)
    yield world
    if world.knowledge.reviews is not None:
        world.knowledge.reviews.close()


def keep_runs(world: World, folder: Path) -> None:
    """Keep jobs and decisions in a folder, as a process does that begins."""
    jobs = Jobs(FolderJournal(folder / "runs"), partial(tracing.run_review, world.knowledge), explain=explain)
    world.knowledge.reviews = Reviews(jobs, partial(Decisions.about, folder))


def ask(world: World, name: str, call: Call | None = None, /, **arguments: Any) -> dict[str, Any]:
    return answer_of(SURFACE, name, world.knowledge, call, **arguments)


def test_each_obligation_has_a_row_with_a_quote_that_verifies(world: World) -> None:
    answer = ask(world, "knowledge_check", document="manual", standard="Pumps")
    assert answer["summary"] == {
        "obligation": 2, "conditional": 1, "evidence found": 1, "partial": 1, "none found": 1,
    }  # fmt: skip
    first, second, third = answer["rows"]
    assert [each["citation"] for each in answer["rows"]] == [
        f"Pumps, 1 Pump, line {line} [pumps.md]" for line in (5, 7, 9)
    ]
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
    assert answer["summary"]["from_with_declared"] == 0
    gaps = ask(world, "knowledge_trace", **{"from": "pumps", "to": "*"}, gaps=True)
    assert {"side": "from", "id": "1#3", "citation": "Pumps, 1 Pump, line 9 [pumps.md]"} in gaps["gaps"]
    assert "links" not in gaps


def test_conflicts_of_all_documents_are_listed_with_both_citations(world: World) -> None:
    answer = ask(world, "knowledge_conflicts")
    assert answer["summary"] == {"limit": 1}
    pair = answer["conflicts"][0]
    assert pair["why"] == "at most 8 s and at most 5 s"
    assert "manual.md" in pair["one_citation"]
    assert "pumps.md" in pair["other_citation"]
    nothing = ask(world, "knowledge_conflicts", documents="manual")
    assert nothing["total"] == 0
    assert re.match(r"None found among \d+ requirements?\. Advice only: ", nothing["message"])
    assert ask(world, "knowledge_conflicts", kind="limit")["conflicts"] == answer["conflicts"]
    other = ask(world, "knowledge_conflicts", kind="duplicate")
    assert (other["total"], other["summary"]) == (0, {"limit": 1})


def test_older_editions_are_left_out_unless_they_are_named(world: World) -> None:
    for year, limit in (("2018", 20), ("2023", 30)):
        text = PUMPS.replace("# Pumps", f"# ACME 7:{year} Sluices").replace("within 5 s", f"within {limit} s")
        world.write(f"sluices-{year}.md", text)
    world.ingest()
    every = ask(world, "knowledge_conflicts")
    assert "1 older edition is omitted" in every["message"]
    assert not any("2018" in f"{each['one_citation']}{each['other_citation']}" for each in every["conflicts"])
    named = ask(world, "knowledge_conflicts", documents=["sluices-2018", "sluices-2023"])
    assert "omitted" not in named["message"]
    assert {"limit"} <= named["summary"].keys()
    linked = ask(world, "knowledge_trace", **{"from": "pumps", "to": "*"})
    assert {each["to"].split(":")[0] for each in linked["links"]} <= {"manual", "sluices-2023"}
    assert "1 older edition is omitted" in linked["message"]


def test_what_demands_nothing_has_no_conflicts_to_look_for(world: World, tmp_path: Path) -> None:
    (tmp_path / "tale.md").write_text("# Tale\n\nOnce there was a pump.\n")
    world.ingest()
    with pytest.raises(InvalidInputError, match="no requirements or definitions"):
        ask(world, "knowledge_conflicts", documents="tale")


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


def test_progress_is_reported_while_texts_are_embedded(world: World) -> None:
    messages: list[str] = []
    ask(
        world, "knowledge_trace", Call(lambda _, __, words: messages.append(words)), **{"from": "manual", "to": "pumps"}
    )
    assert messages[-1] == "done"


def test_names_that_lead_nowhere_are_refused_with_near_ones(world: World) -> None:
    with pytest.raises(NotFoundError, match="no document 'manuel'") as caught:
        ask(world, "knowledge_check", document="manuel", standard="pumps")
    assert "manual" in caught.value.suggestion
    with pytest.raises(InvalidInputError, match="compared with itself"):
        ask(world, "knowledge_check", document="manual", standard="manual")
    with pytest.raises(InvalidInputError, match="to itself"):
        ask(world, "knowledge_trace", **{"from": "manual", "to": "manual"})


# ---- runs


@pytest.fixture
def goes_on(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Let runs wait for an event where they begin; callers wait for them a moment only."""
    event = threading.Event()
    work = comparing.conflicts

    def slow(
        demands: Sequence[TraceItem], terms: Callable[[str], Sequence[str]], progress: Callable[[int, int], None]
    ) -> list[Conflict]:
        while not event.wait(0.01):
            checkpoint()
        return work(demands, terms, progress)

    monkeypatch.setattr(comparing, "conflicts", slow)
    monkeypatch.setattr(tracing, "PATIENCE", 0.3)
    return event


def test_a_run_that_takes_longer_than_its_caller_waits_is_a_job_and_found_again(
    world: World, goes_on: threading.Event
) -> None:
    answer = ask(world, "knowledge_conflicts")
    assert answer["running"] is True
    assert world.knowledge.reviews is not None
    [job] = world.knowledge.reviews.jobs.listed()
    assert f"2 of 2 documents read. Job {job.id} is still running" in answer["message"]
    goes_on.set()
    assert world.knowledge.reviews.jobs.wait(job.id, 20).state is JobState.DONE
    assert ask(world, "knowledge_conflicts")["total"] == 1
    assert len(world.knowledge.reviews.jobs.listed()) == 1


def test_a_run_whose_process_ended_is_done_by_the_next_and_found_there(
    world: World, goes_on: threading.Event, tmp_path: Path
) -> None:
    assert ask(world, "knowledge_conflicts")["running"] is True
    before = world.knowledge.reviews
    assert before is not None
    before.close()
    keep_runs(world, tmp_path)
    assert world.knowledge.reviews is not None
    jobs = world.knowledge.reviews.jobs
    assert [job.state for job in jobs.listed()] == [JobState.QUEUED]
    goes_on.set()
    world.knowledge.reviews.warm_up()
    [job] = jobs.listed()
    assert jobs.wait(job.id, 20).state is JobState.DONE
    assert ask(world, "knowledge_conflicts")["total"] == 1
    assert [each.id for each in jobs.listed()] == [job.id]


def test_a_result_is_kept_over_the_end_of_the_process(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = ask(world, "knowledge_check", document="manual", standard="pumps")
    assert world.knowledge.reviews is not None
    world.knowledge.reviews.close()
    keep_runs(world, tmp_path)
    monkeypatch.setattr(world.knowledge, "embed", no_more)
    assert ask(world, "knowledge_check", document="manual", standard="pumps") == first


def no_more(_: Sequence[str]) -> list[bytes]:
    """Refuse to embed."""
    raise AssertionError("it was run again")


def test_what_changed_since_is_run_again(world: World) -> None:
    assert ask(world, "knowledge_conflicts")["total"] == 1
    world.write("manual.md", MANUAL.replace("8 s", "5 s"))
    world.ingest()
    assert "limit" not in ask(world, "knowledge_conflicts")["summary"]


def test_a_caller_that_gives_up_ends_a_run_that_nobody_else_waits_for(world: World, goes_on: threading.Event) -> None:
    with pytest.raises(CancelledError):
        ask(world, "knowledge_conflicts", Call(cancelled=lambda: True))
    assert world.knowledge.reviews is not None
    jobs = world.knowledge.reviews.jobs
    [job] = jobs.listed()
    assert jobs.wait(job.id, 20).state is JobState.CANCELLED
    goes_on.set()
    assert ask(world, "knowledge_conflicts")["total"] == 1


def test_a_run_that_failed_is_reported_and_begun_again(world: World) -> None:
    world.write("empty.md", "# Nothing\n\nNothing is asked for here.\n")
    world.ingest()
    for _ in range(2):
        with pytest.raises(InvalidInputError, match="no obligations in 'empty'"):
            ask(world, "knowledge_check", document="manual", standard="empty")


def test_what_a_person_decided_is_respected_by_the_tools(world: World) -> None:
    reviews = world.knowledge.reviews
    assert reviews is not None
    reviews.decisions("trace", "pumps", "manual").decide({("1#1", "1#1"): False, ("1#3", "1#2"): True})
    links = {(each["from"], each["to"]): each for each in ask(world, "knowledge_trace", **SIDES)["links"]}
    assert ("1#1", "1#1") not in links
    assert links["1#3", "1#2"]["verdict"] == "declared"
    several = ask(world, "knowledge_trace", **{"from": "pumps", "to": "*"})["links"]
    assert ("1#1", "1#1") not in {(each["from"], each["to"]) for each in several}
    [first, *_] = ask(world, "knowledge_check", document="manual", standard="pumps")["rows"]
    mark = RowMark(first["row"], first["requirement"], MarkKind.NOT_APPLICABLE, "no tank")
    reviews.decisions("check", "manual", "pumps").mark([mark])
    [first, *_] = ask(world, "knowledge_check", document="manual", standard="pumps")["rows"]
    assert (first["kind"], first["note"]) == ("not-applicable", "no tank")


def test_runs_of_others_rights_are_kept_apart(world: World) -> None:
    source = LabelledSource(FileSource(world.folder / "manual.md"), ((ALLOWED, "design"),))
    world.knowledge.ingest(source, IngestOptions(force=True))
    assert ask(world, "knowledge_conflicts")["total"] == 1
    seen = copy.copy(world)
    seen.knowledge = world.knowledge.seen_by(Rights(groups=("sales",)))
    assert ask(seen, "knowledge_conflicts")["total"] == 0


def test_without_a_place_for_jobs_the_tools_answer_all_the_same(world: World) -> None:
    world.knowledge.reviews = None
    assert ask(world, "knowledge_conflicts")["total"] == 1
