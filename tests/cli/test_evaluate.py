"""`knowledge eval`: measures, writes, compares, gates and drafts, from the command line."""

from __future__ import annotations

import io
import json
import sys
from functools import partial
from pathlib import Path

import pytest

from knowledge_mcp.cli.evaluate import evaluate
from knowledge_mcp.evals import run_as_json
from tests.cli.conftest import Command
from tests.cli.running import Finished
from tests.evals.making import beir, jsonl, result, run_of
from tests.fakes.knowledge import FakeKnowledge
from tests.ranking.cross_encoder import make_cross_encoder

CORPUS = {"x": "Each valve shall be turned once a year.", "y": "A pump runs for eight hours on battery."}
QUESTIONS = [
    {"id": "plan", "question": "verification plan for every widget", "document": "example-standard", "clause": "5.3.1"},
    {"id": "review", "question": "review of the plan finds faults", "document": "example-handbook"},
    {"id": "none", "question": "price of zeppelins", "unanswerable": True},
]
GOOD = {f"q{number}": 0.8 for number in range(30)}


@pytest.fixture
def measured(call: Command, fake: FakeKnowledge) -> Command:
    """Run `knowledge eval` over a knowledge base in memory."""
    del fake
    return partial(call, lambda: evaluate.app(prog_name="knowledge eval"))


def _run(command: Command, *arguments: object) -> Finished:
    return command(*map(str, arguments))


def test_a_set_may_be_named_without_the_word_run(measured: Command, home: Path) -> None:
    folder = beir(home / "water", CORPUS, {"q": "valve turned once"}, ["q x 1"])
    done = _run(measured, folder, "--out", "run.json", "--html", "report.html", "--pin", "pinned")
    assert done.code == 0, done.err
    assert "nDCG@10" in done.out
    assert "1.0000 [1.000, 1.000]" in done.out
    content = json.loads((home / "run.json").read_text())
    assert content["results"][0]["set"] == "water"
    assert content["results"][0]["rows"]["q"]["first"] == 1
    assert (home / "report.html").read_text().startswith("<!doctype html>")
    (pinned,) = (home / "pinned").iterdir()
    assert pinned.name.startswith("water-")
    assert json.loads(pinned.read_text())["results"][0]["rows"] == {"q": [1.0] * 8}


def test_ones_own_questions_are_asked_of_the_present_base_in_every_mode_named(measured: Command, home: Path) -> None:
    path = jsonl(home / "mine.jsonl", QUESTIONS)
    done = _run(measured, "run", path, "--mode", "keyword", "--mode", "semantic", "--json")
    assert done.code == 0, done.err
    content = json.loads(done.out)
    assert [each["mode"] for each in content["results"]] == ["keyword", "semantic"]
    assert content["results"][0]["measures"]["Success@1"]["mean"] == 1
    assert content["results"][0]["unanswerable"] == 1
    assert content["results"][0]["documents"] == 2
    assert content["configuration"]["collection"] == "se_knowledge_base"


def test_a_collection_without_documents_is_not_measured(call: Command, home: Path) -> None:
    path = jsonl(home / "mine.jsonl", QUESTIONS)
    done = call(lambda: evaluate.app(prog_name="knowledge eval"), str(path), "--collection", "typo")
    assert done.code == 1
    assert "The collection 'typo' has no documents to ask." in done.err


def test_a_gate_lets_the_same_through_and_stops_what_fell(measured: Command, home: Path) -> None:
    names = [f"q{number}" for number in range(12)]
    folder = beir(home / "water", CORPUS, dict.fromkeys(names, "valve turned"), [f"{name} x 1" for name in names])
    assert _run(measured, folder, "--pin", "pins").code == 0
    (pinned,) = (home / "pins").iterdir()
    same = _run(measured, folder, "--gate", pinned)
    assert same.code == 0, same.err
    assert "Note:" not in same.err
    (folder / "qrels" / "test.tsv").write_text("".join(f"{name}\ty\t1\n" for name in names))
    fell = _run(measured, folder, "--gate", pinned)
    assert fell.code == 1
    assert "Fell: water (hybrid): nDCG@10 fell from 1.0000" in fell.err
    assert _run(measured, folder, "--gate", pinned, "--tolerance", 1).code == 0


def test_a_result_tells_how_it_was_ranked_and_a_gate_where_that_was_otherwise(
    measured: Command, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = beir(home / "water", CORPUS, {"q": "valve turned once"}, ["q x 1"])
    assert _run(measured, folder, "--pin", "pins").code == 0
    (pinned,) = (home / "pins").iterdir()
    monkeypatch.setenv("HYBRID_FUSION", "ranks")
    monkeypatch.setenv("RERANKER", "local")
    monkeypatch.setenv("RERANKER_MODEL_PATH", str(make_cross_encoder(home / "crane")))
    done = _run(measured, folder, "--gate", pinned, "--out", "run.json")
    configuration = json.loads((home / "run.json").read_text())["configuration"]
    assert (configuration["fusion"], configuration["reranker"]) == ("ranks", "crane, 20 hits in 1500 ms")
    assert "Note: fusion: scores before, ranks after." in done.err
    assert "Note: reranker: none before, crane, 20 hits in 1500 ms after." in done.err


def test_a_missing_baseline_is_reported_before_anything_is_measured(measured: Command, home: Path) -> None:
    folder = beir(home / "water", CORPUS, {"q": "valve"}, ["q x 1"])
    done = _run(measured, folder, "--gate", "gone.json")
    assert done.code == 1
    assert "There is no file gone.json" in done.err
    assert "Asking" not in done.err


def test_two_results_are_compared_and_only_the_gate_changes_the_exit_code(call: Command, home: Path) -> None:
    command = partial(call, lambda: evaluate.app(prog_name="knowledge eval"))
    (home / "a.json").write_text(run_as_json(run_of(result(GOOD))))
    (home / "b.json").write_text(run_as_json(run_of(result(dict.fromkeys(GOOD, 0.5)))))
    done = _run(command, "compare", "a.json", "b.json", "--html", "difference.html")
    assert done.code == 0
    assert "worse" in done.out
    assert "Lost: q0 0.800 → 0.500" in done.out
    assert "What changed" in (home / "difference.html").read_text()
    assert _run(command, "compare", "a.json", "b.json", "--gate").code == 1
    assert _run(command, "compare", "b.json", "a.json", "--gate").code == 0
    output = json.loads(_run(command, "compare", "a.json", "b.json", "--json").out)
    assert len(output["fell"]) == 8
    assert len(output["sets"][0]["lost"]) == 30
    assert _run(command, "report", "a.json", "a.html").code == 0
    assert "Evaluation: today" in (home / "a.html").read_text()


def test_drafts_go_to_stdout_or_to_a_file_that_can_be_asked(measured: Command, home: Path) -> None:
    done = _run(measured, "draft", "--document", "example-standard")
    assert done.code == 0, done.err
    rows = [json.loads(line) for line in done.out.splitlines()]
    assert {row["kind"] for row in rows} >= {"definition", "requirement"}
    assert all(row["draft"] and row["document"] == "example-standard" for row in rows)
    written = _run(measured, "draft", "--out", "drafts.jsonl")
    assert "Review each one before you use it" in written.err
    assert _run(measured, "drafts.jsonl").code == 0


def test_documents_named_for_ones_own_questions_are_ingested_for_them(
    measured: Command, fake: FakeKnowledge, home: Path
) -> None:
    (home / "docs").mkdir()
    (home / "docs" / "gauges.md").write_text("A gauge is read every morning.")
    path = jsonl(home / "mine.jsonl", [{"question": "gauge read every morning", "document": "gauges"}])
    done = _run(measured, path, "--docs", "docs", "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["results"][0]["measures"]["Success@1"]["mean"] == 1
    assert "gauges" in {record.id for record in fake.documents()}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("gone",), "There is no file or folder gone"),
        (("water", "--collection", "kb"), "--collection cannot be used with water"),
        (("water", "water"), "Two sets have the same name"),
        (("water", "--docs", "docs"), "--docs says nothing"),
        (("water", "--out", "water/corpus.jsonl/run.json"), "cannot be written"),
    ],
)
def test_what_does_not_go_together_is_refused(
    measured: Command, home: Path, arguments: tuple[str, ...], said: str
) -> None:
    beir(home / "water", CORPUS, {"q": "valve"}, ["q x 1"])
    done = _run(measured, *arguments)
    assert done.code == 1
    assert said in done.err


@pytest.mark.parametrize("command", ["run", "compare", "report", "draft"])
def test_every_command_shows_examples_in_its_help(measured: Command, command: str) -> None:
    done = _run(measured, command, "--help")
    assert done.code == 0
    assert f"knowledge eval {'scifact/' if command == 'run' else command} " in done.out


def test_without_the_extra_the_line_that_installs_it_is_shown(
    measured: Command, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ir_measures", None)
    done = _run(measured, beir(home / "water", CORPUS, {"q": "valve"}, ["q x 1"]))
    assert done.code == 3
    assert 'pip install "clausewise[eval]"' in done.err
    assert "Asking" not in done.err  # before anything is ingested and asked


def test_a_bar_is_shown_on_a_terminal_and_taken_away(monkeypatch: pytest.MonkeyPatch) -> None:
    class Screen(io.StringIO):
        def isatty(self) -> bool:
            return True

    from knowledge_mcp.cli.shared.progress import WorkBar

    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    progress = WorkBar()
    progress.step("Asking \x1b[2J", 3, 10)
    progress.close()
    progress.close()
    assert "Asking" in screen.getvalue()
    assert "\x1b[2J" not in screen.getvalue()
