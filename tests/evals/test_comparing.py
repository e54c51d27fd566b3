"""Two runs are compared on the questions that both have, and a gate falls only for what is large and not chance."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from knowledge_mcp.evals.comparing import compare, list_fallen
from knowledge_mcp.evals.measures import COLUMNS
from knowledge_mcp.evals.results import read_run, run_as_json
from knowledge_mcp.model.errors import InvalidInputError, NotFoundError
from tests.evals.making import result, run_of

GOOD = {f"q{number}": 0.8 for number in range(30)}
BAD = {query: value - (0.3 if number % 2 else 0.1) for number, (query, value) in enumerate(GOOD.items())}


def test_what_got_worse_falls_and_the_way_back_does_not() -> None:
    down = compare(run_of(result(GOOD)), run_of(result(BAD)))
    assert len(list_fallen(down)) == len(COLUMNS)
    assert list_fallen(down)[0].startswith("pumps (hybrid): nDCG@10 fell from 0.8000 to 0.6000 (-0.2000, p = 0.0")
    assert list_fallen(compare(run_of(result(BAD)), run_of(result(GOOD)))) == []
    assert list_fallen(compare(run_of(result(GOOD)), run_of(result(GOOD)))) == []


def test_a_fall_within_the_tolerance_is_let_through() -> None:
    down = compare(run_of(result(GOOD)), run_of(result(dict.fromkeys(GOOD, 0.79))))
    assert list_fallen(down, tolerance=0.02) == []
    assert list_fallen(down, tolerance=0.005)


def test_a_large_fall_of_one_question_in_thirty_may_be_chance() -> None:
    down = compare(run_of(result(GOOD)), run_of(result(GOOD | {"q3": 0.0})))
    assert down[0].changes[0].change.mean < -0.02
    assert list_fallen(down) == []


def test_questions_are_listed_by_how_they_changed() -> None:
    (found,) = compare(run_of(result({"a": 1.0, "b": 0.5, "c": 0.2})), run_of(result({"b": 0.5, "c": 0.9, "a": 0.0})))
    assert [each.question for each in found.each] == ["a", "b", "c"]
    assert [each.question for each in found.losses] == ["a"]
    assert [(each.question, each.text, each.first_before) for each in found.wins] == [("c", "What is c?", 1)]


def test_only_questions_of_both_runs_are_compared() -> None:
    (found,) = compare(run_of(result({"a": 1.0, "b": 1.0}, unanswerable=2)), run_of(result({"b": 1.0, "c": 0.0})))
    assert (found.questions, found.only_before, found.only_after) == (1, 1, 1)


def test_sets_meet_by_name_and_mode_and_two_modes_of_one_set_may_be_compared() -> None:
    before = run_of(result(GOOD, name="a"), result(GOOD, name="a", mode="keyword"), result(GOOD, name="b"))
    after = run_of(result(GOOD, name="a", mode="keyword"), result(BAD, name="b", mode="semantic"))
    assert [each.label for each in compare(before, after)] == ["a (keyword)", "b (hybrid → semantic)"]


def test_runs_without_anything_in_common_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="no question in common"):
        compare(run_of(result(GOOD, name="a")), run_of(result(GOOD, name="b")))


def test_a_run_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    run = run_of(result({"a": 1.0, "@rows1@": 0.25}, unanswerable=1), result(GOOD, mode="keyword"))
    path = tmp_path / "run.json"
    path.write_text(run_as_json(run))
    again = read_run(path)
    assert again.results[0].rows == run.results[0].rows
    assert (again.name, again.commit, again.configuration) == (run.name, run.commit, run.configuration)
    assert run_as_json(again) == path.read_text()


def test_a_small_baseline_holds_values_alone_and_compares_like_the_whole(tmp_path: Path) -> None:
    run = run_of(result(GOOD, unanswerable=1))
    path = tmp_path / "run.json"
    path.write_text(run_as_json(run, compact=True))
    content = json.loads(path.read_text())
    assert content["results"][0]["rows"]["q1"] == [0.8] * len(COLUMNS)
    assert "What is" not in path.read_text()
    assert len(path.read_text()) < len(run_as_json(run))
    assert list_fallen(compare(read_run(path), run_of(result(BAD)))) == list_fallen(compare(run, run_of(result(BAD))))


@pytest.mark.parametrize("kept_first", [True, False])
def test_a_run_is_no_better_or_worse_than_its_own_file(tmp_path: Path, kept_first: bool) -> None:
    run = run_of(result({"a": 1 / 3, "b": 2 / 3, "c": 0.1}))
    path = tmp_path / "run.json"
    path.write_text(run_as_json(run))
    kept = read_run(path)
    (found,) = compare(kept, run) if kept_first else compare(run, kept)
    assert (found.losses, found.wins) == ([], [])
    assert {(each.change.mean, each.change.wins, each.change.losses) for each in found.changes} == {(0.0, 0, 0)}


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"format": "other"}', '{"format": "knowledge-eval/1"}', "{"])
def test_what_is_no_result_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "run.json"
    path.write_text(content)
    with pytest.raises(InvalidInputError, match=r"run\.json is not a result"):
        read_run(path)
    with pytest.raises(NotFoundError):
        read_run(tmp_path / "other.json")
