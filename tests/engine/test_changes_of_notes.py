"""Notes are compared with what refers to them, whatever page they stand on; what only counts on is no change."""

from __future__ import annotations

from dataclasses import replace

import pytest

from knowledge_mcp.engine.changes.aligning import align
from knowledge_mcp.engine.changes.clauses import edition_of
from knowledge_mcp.engine.changes.differences import changes_of
from knowledge_mcp.engine.changes.kinds import LinkKind
from knowledge_mcp.lexical.analyser import EnglishAnalyser
from tests.engine.test_changes import compared, heading_of, inside, part_of

_MANUAL = """# Pump Manual

## 1 Capacity

Each pump shall convey the flow of the station in dry weather.[^1]

## 2 Vibration

The vibration of each pump shall stay within limits on all its bearings.

## 3 Handover

The drawings shall be handed over to the operator as they were built.

[^1]: pumps of the maker have 6 starts per hour
"""


def test_a_note_at_the_end_is_reported_with_the_clause_that_refers_to_it() -> None:
    old = _MANUAL.replace("[^1]:", "[^1]")
    found = compared(old, old.replace("6 starts", "4 starts"))
    assert [heading_of(each) for each in found if each.changes] == ["Capacity"]
    assert inside(found) == [("number", "6", "4")]


def test_an_annex_in_front_of_the_notes_is_added_and_split_off_nothing() -> None:
    old = _MANUAL.replace("[^1]:", "[^1]")
    new = old.replace("[^1] pumps", "## Annex Examples\n\nA station in the north has three wells.\n\n[^1] pumps")
    assert [each.link.kind for each in compared(old, new) if each.link.old is None] == [LinkKind.ADDED]


def test_a_raised_number_is_the_mark_of_the_note_of_its_clause() -> None:
    old = "# Pump Manual\n\n## 1 Vibration\n\nIt shall stay below 2.8 mm/s² at the bearing.\n\n² with a sensor\n"
    found = inside(compared(old, old.replace("mm/s²", "mm/s").replace("\n\n² with a sensor", "")))
    assert found == [("words", "² with a sensor", "")]
    power = old.replace("mm/s²", "mm/s and the area of 4 mm²").replace("the bearing", "it.²")
    assert inside(compared(power, power.replace("4 mm²", "4 mm"))) == [("number", "4 mm²", "4 mm")]


def test_the_title_is_one_whether_it_is_marked_as_a_heading_or_not() -> None:
    marked = part_of("# Pump Manual\n\n## 1 Scope\n\nThis manual is about pumps of all kinds.\n", "manual.md")
    text = "Pump Manual\n\n# 1 Scope\n\nThis manual is about pumps of all kinds.\n"
    bare = replace(part_of(text, "manual.docx"), title="Pump Manual")
    old, new = edition_of("old", [marked]), edition_of("new", [bare])
    found = changes_of(align(old, new, EnglishAnalyser().document_terms), old, new)
    assert {each.link.kind for each in found} == {LinkKind.SAME}


_STEPS = ["Switch the pump off and lock it.", "Wait until the wheel stands still.", "Open the lid of the housing."]


def _listed(*steps: str) -> str:
    items = "\n\n".join(f"{mark}) {step}" for mark, step in zip("abcdef", steps, strict=False))
    return f"# Pump Manual\n\n## 1 Cleaning\n\nTo clean the pump do as follows:\n\n{items}\n"


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        ([_STEPS[0], "Remove the key.", *_STEPS[1:]], [("words", "", "b) Remove the key.")]),
        (_STEPS[1:], [("words", f"a) {_STEPS[0]}", "")]),
        ([_STEPS[1], _STEPS[0], _STEPS[2]], [("words", "a)", "b)")]),
        ([_STEPS[2], *_STEPS[:2]], [("words", "c)", "a)")]),
    ],
)
def test_items_that_only_count_on_are_no_change_and_such_that_moved_are(
    new: list[str], expected: list[tuple[str, str, str]]
) -> None:
    assert inside(compared(_listed(*_STEPS), _listed(*new))) == expected


def test_a_permission_that_goes_is_no_requirement() -> None:
    old = _MANUAL.replace("on all its bearings.", "on all its bearings. Fans may be off. Doors may not be open.")
    new = old.replace(" Fans may be off. Doors may not be open.", "")
    found = [(change.requirement, change.before) for each in compared(old, new) for change in each.changes]
    assert found == [("withdrawn", "Doors may not be open."), ("", "Fans may be off.")]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("The ramp rises 1:12 at most.", "The ramp rises 1:15 at most.", ("1:12", "1:15")),
        ("The backup begins at 22:30 each day.", "The backup begins at 23:30 each day.", ("22:30", "23:30")),
        (
            "The supply is 400 V +5/-10 % here.",
            "The supply is 400 V +5/-5 % here.",
            ("400 V +5/-10 %", "400 V +5/-5 %"),
        ),
        ("The supply is 400 V ± 10 % here.", "The supply is 400 V +5/-10 % here.", ("400 V ± 10 %", "400 V +5/-10 %")),
    ],
)
def test_a_ratio_a_time_and_a_tolerance_are_one_number_each(old: str, new: str, expected: tuple[str, str]) -> None:
    text = "# Pump Manual\n\n## 1 Site\n\n{}\n"
    assert inside(compared(text.format(old), text.format(new))) == [("number", *expected)]
