"""The comparison with peers: sets as all get them, one order of asking, tables, pins that the files name."""

from __future__ import annotations

import importlib
import json
import math
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from benchmarks.peers import library
from benchmarks.peers.compare import PEERS
from benchmarks.peers.encoder import Encoder
from benchmarks.peers.running import Answers, Engine, Ingest, Peer, Shop, answers, percentile, result_file, unlike_pins
from benchmarks.peers.sets import JudgedSet, ndcg, read_set
from benchmarks.peers.table import Scored, ingest_table, latency_table, quality_table, scored, verdicts

ROOT = Path(__file__).resolve().parent.parent.parent
NO_MODEL = cast("Encoder", SimpleNamespace(timed=True, variant="int8"))


def beir(folder: Path, documents: Sequence[Mapping[str, str]], judgements: Sequence[str]) -> JudgedSet:
    """Write and read a small set whose questions are `q1` and `q2`."""
    (folder / "qrels").mkdir()
    (folder / "qrels" / "test.tsv").write_text("\n".join(["query-id\tcorpus-id\tscore", *judgements, ""]))
    (folder / "corpus.jsonl").write_text("\n".join(map(json.dumps, documents)), encoding="utf-8")
    (folder / "queries.jsonl").write_text('{"_id": "q1", "text": "one"}\n{"_id": "q2", "text": "two"}\n')
    return read_set(folder.parent, folder.name)


def row(label: str, name: str, *values: float) -> Scored:
    """Make a scored way with one question a value."""
    return Scored(label, name, 3, {f"q{number}": value for number, value in enumerate(values)}, [1.0, 3.0], [2.0])


def test_a_document_has_its_title_in_front_and_a_blank_one_is_left_out(tmp_path: Path) -> None:
    documents = [{"_id": "a", "title": "Valve", "text": "It\u2028turns."}, {"_id": "b", "title": "", "text": " "}]
    assert beir(tmp_path, documents, ["q1\ta\t1"]).documents == {"a": "Valve\n\nIt\u2028turns."}


def test_a_question_without_a_relevant_document_is_not_asked(tmp_path: Path) -> None:
    chosen = beir(tmp_path, [{"_id": "a", "text": "x"}], ["q1\ta\t2", "q2\ta\t0", "q3\ta\t1"])
    assert chosen.questions == {"q1": "one"}
    assert chosen.grades["q1"] == {"a": 2}


def test_the_gain_of_a_grade_is_two_to_its_power_less_one() -> None:
    grades = {"a": 2, "b": 1}
    assert ndcg(["a", "b"], grades) == 1.0
    assert ndcg(["x", "a"], grades) == pytest.approx(3 / math.log2(3) / (3 + 1 / math.log2(3)))
    assert ndcg(["x"] * 10 + ["a"], grades) == 0.0


def test_documents_rank_by_their_best_passage_and_the_timed_search_is_the_short_one(tmp_path: Path) -> None:
    asked: list[tuple[str, int]] = []

    def search(question: str, limit: int) -> list[str]:
        asked.append((question, limit))
        return ["b", "a", "b", *(f"d{number}" for number in range(limit))]

    peer = Peer("fake", (), {"way": lambda _chosen, _shop: Engine(search)})
    chosen = JudgedSet("s", tmp_path, {"a": "x"}, {"q": "why"}, {"q": {"a": 1}})
    found = answers(peer, "way", chosen, Shop(NO_MODEL, tmp_path, keeps=False))
    assert found.rankings == {"q": ["b", "a", *(f"d{number}" for number in range(8))]}
    assert asked == [("why", 10), ("why", 10), ("why", 100)]
    assert len(found.wall_ms) == len(found.cpu_ms) == 1


def test_all_questions_are_judged_and_at_most_a_hundred_timed(tmp_path: Path) -> None:
    asked: list[int] = []

    def search(question: str, limit: int) -> list[str]:
        asked.append(limit)
        return [question]

    questions = {f"q{number}": f"what is {number}" for number in range(101)}
    chosen = JudgedSet("s", tmp_path, {"a": "x"}, questions, {})
    peer = Peer("fake", (), {"way": lambda _chosen, _shop: Engine(search)})
    found = answers(peer, "way", chosen, Shop(NO_MODEL, tmp_path, keeps=False))
    assert asked.count(100) == len(found.rankings) == 101
    assert len(found.wall_ms) == 51


def test_results_of_a_set_and_of_a_round_of_ingest_lie_apart(tmp_path: Path) -> None:
    peer = Peer("Peer", (), {})
    names = {result_file(tmp_path, peer, "x/a", turn).name for turn in (None, 0, 1)}
    assert names == {"answers x-a Peer.json", "ingest-0 x-a Peer.json", "ingest-1 x-a Peer.json"}


@pytest.mark.parametrize(("share", "value"), [(0.5, 2.0), (0.95, 4.0), (0.0, 1.0), (1.0, 4.0)])
def test_a_percentile_is_one_of_the_values(share: float, value: float) -> None:
    assert percentile([4.0, 1.0, 2.0, 3.0], share) == value


def test_the_table_of_quality_marks_the_best_and_what_chance_does_not_explain() -> None:
    better, worse = [0.9] * 20, [0.1] * 20
    rows = [row("ours", "x/a", *better), row("peer", "x/a", *worse), row("even", "x/a", *better)]
    assert quality_table(rows, "ours")[2:] == [
        "| ours | **0.900** | 0.900 |",
        "| peer | 0.100 + | 0.100 |",
        "| even | **0.900** | 0.900 |",
    ]


def test_a_set_counts_as_ahead_near_or_far_behind() -> None:
    rows = [row("ours", name, value) for name, value in (("x/a", 0.5), ("x/b", 0.5), ("x/c", 0.5))]
    rows += [row("peer", name, value) for name, value in (("x/a", 0.4), ("x/b", 0.505), ("x/c", 0.52))]
    assert verdicts(rows, "ours")[2:] == ["| peer | 1 of 3 | 1 | 1 | -0.020 | c |"]


def test_the_rankings_of_a_peer_are_scored_by_the_grades_of_its_set() -> None:
    found = Answers("peer", "way", "x/a", 2, {"q": ["a"], "r": ["b"]}, [1.0], [1.0])
    assert scored(found, {"q": {"a": 1}, "r": {"a": 1}}).ndcg == 0.5


def test_times_are_shown_for_each_set_and_way() -> None:
    assert latency_table([row("ours", "x/a", 1.0)])[2:] == ["| ours | 1.0 / 3.0 | 2.0 |"]


def test_ingest_is_the_median_of_its_rounds_beside_the_model_alone() -> None:
    rounds = [Ingest("p", "w", "s", 100, 120, wall, wall, 5.0, 10.0) for wall in (20.0, 10.0, 40.0)]
    rounds.append(Ingest("words", "w", "s", 100, 0, 2.0, 2.0, 0.0, 0.0))
    assert ingest_table(rounds)[2:] == [
        "| p, w | 5 | 5 | 120 | 4.00 | 2.00 |",
        "| words, w | 50 | 50 | 100 | no model | no model |",
    ]


@pytest.mark.parametrize("module", [name for name in PEERS if name != "ours"])
def test_the_file_of_a_peer_names_its_pinned_packages(module: str) -> None:
    file = importlib.import_module(f"benchmarks.peers.{module}")
    requirements: tuple[str, ...] = file.PEER.requirements
    assert requirements
    assert all("==" in each and each in (file.__doc__ or "") for each in requirements)


def test_the_libraries_that_run_the_weights_are_pinned_and_reported_where_they_are_wanted() -> None:
    assert all(each in (library.__doc__ or "") for each in library.REQUIREMENTS)
    reported: list[set[str]] = []
    for runtime in ("product", "library"):
        code = "import sys; from benchmarks.peers.compare import main; main(); sys.exit('torch' in sys.modules)"
        command = [sys.executable, "-c", code, "--requirements", "--runtime", runtime]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        reported.append(set(done.stdout.split()))
    assert reported[1] - reported[0] == set(library.REQUIREMENTS)


def test_the_pins_are_reported_and_no_package_of_a_peer_is_imported_for_it() -> None:
    code = (
        "import sys; sys.argv = ['compare', '--requirements']; from benchmarks.peers.compare import main; main(); "
        "found = {'llama_index', 'haystack', 'txtai', 'chromadb', 'bm25s', 'torch'} & set(sys.modules); "
        "sys.exit(f'imported: {found}' if found else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert {"txtai", "chromadb", "onnxruntime"} <= {line.partition("==")[0] for line in done.stdout.splitlines()}


def test_a_package_in_another_version_or_missing_is_reported() -> None:
    assert unlike_pins(["pytest==0.0.1", f"pytest=={pytest.__version__}", "no-such-package==1"]) == [
        f"pytest==0.0.1, but {pytest.__version__} is installed",
        "no-such-package==1, but nothing is installed",
    ]
