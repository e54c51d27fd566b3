"""The manifest and the marks agree, in both directions."""

from __future__ import annotations

from pathlib import Path

from tests.requirements.manifest import BY_ID, REQUIREMENTS, summary
from tests.requirements.marks import Mark, findings, marks_in, marks_under
from tests.requirements.model import Priority, Requirement, Specification, Status

TESTS = Path(__file__).resolve().parent.parent

BUILT = Requirement("X-1", "something", Specification.RAG, Priority.MUST, Status.BUILT)
PLANNED = Requirement("X-2", "something else", Specification.RAG, Priority.MUST, Status.PLANNED)


def test_every_built_requirement_is_shown_and_every_mark_names_one() -> None:
    assert findings(REQUIREMENTS, marks_under(TESTS)) == []


def test_a_built_requirement_without_a_test_is_found() -> None:
    assert findings([BUILT], []) == ["X-1 is built, but no test is marked with it: something"]


def test_a_built_requirement_with_a_test_is_no_finding() -> None:
    assert findings([BUILT, PLANNED], [Mark("X-1", "test_x.py:1")]) == []


def test_a_mark_that_names_no_requirement_is_found() -> None:
    assert findings([], [Mark("X-9", "test_x.py:7")]) == ["test_x.py:7: X-9 is no requirement"]


def test_a_mark_whose_id_is_computed_is_found() -> None:
    marks = list(marks_in("@pytest.mark.requirement(NAME)\ndef test_x() -> None: ...\n", "test_x.py"))
    assert findings([], marks) == ["test_x.py:1: a requirement mark needs its ids as plain strings"]


def test_a_requirement_that_stands_twice_is_found() -> None:
    assert findings([PLANNED, PLANNED], []) == ["X-2 stands twice in the manifest"]


def test_marks_are_read_from_decorators_modules_and_parameters() -> None:
    source = """
import pytest
pytestmark = pytest.mark.requirement("X-1")

@pytest.mark.requirement("X-2", "X-3")
@pytest.mark.parametrize("n", [pytest.param(1, marks=pytest.mark.requirement("X-4"))])
def test_x(n: int) -> None: ...
"""
    assert {mark.id for mark in marks_in(source, "test_x.py")} == {"X-1", "X-2", "X-3", "X-4"}


def test_all_thirty_eight_numbered_requirements_of_standards_are_there() -> None:
    assert sum(requirement.specification is Specification.STANDARDS for requirement in REQUIREMENTS) == 38
    assert {f"CLARIFY-00{number}" for number in range(1, 8)} <= BY_ID.keys()


def test_titles_and_deviations_are_single_lines_of_text() -> None:
    texts = [text for one in REQUIREMENTS for text in (one.title, one.deviation) if text is not None]
    assert [text for text in texts if not text.strip() or "\n" in text] == []


def test_the_summary_counts_every_requirement_exactly_once() -> None:
    *parts, whole = [[int(word) for word in line.split() if word.isdigit()][:2] for line in summary()]
    assert [sum(column) for column in zip(*parts, strict=True)] == whole
    assert sum(whole) == len(REQUIREMENTS)
