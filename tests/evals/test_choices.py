"""A result says whether its set took part in a choice, as the benchmarks that made the choice name their sets."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.answerability import DEFAULT_SETS
from benchmarks.prepared import SCORED
from knowledge_mcp.evals.running import choices_by


@pytest.mark.parametrize(
    ("sets", "what"),
    [(SCORED, "the blend of both legs"), (DEFAULT_SETS, "answerability")],
    ids=["blend", "answerability"],
)
def test_the_sets_of_the_benchmarks_that_chose_constants_are_named(sets: tuple[str, ...], what: str) -> None:
    named = {each for each in {*SCORED, *DEFAULT_SETS} if what in choices_by(Path(each).name)}
    assert named == set(sets)


def test_a_set_that_nothing_was_chosen_with_is_reported_as_such() -> None:
    assert choices_by("swe-lite-flask").startswith("No constant")
    assert "finance" in choices_by("financebench")
