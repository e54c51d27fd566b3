"""The unit in the header of a column belongs to its values."""

from __future__ import annotations

import pytest

from tests.engine.test_changes import compared


def _told(*tables: tuple[str, str, str]) -> set[tuple[str, str, str]]:
    old, new = (
        f"# Sizes\n\n| Size | Width {unit} | Load |\n|---|---|---|\n| A | {one} | 3 |\n| B | {other} | 4 |\n\nMore.\n"
        for unit, one, other in tables
    )
    return {(each.name, each.before, each.after) for found in compared(old, new) for each in found.changes}


def test_another_unit_above_the_same_values_changes_all_of_them() -> None:
    assert _told(("(mm)", "50", "70"), ("(m)", "50", "70")) == {("number", "Width (mm)", "Width (m)")}
    assert _told(("in mm", "50", "70"), ("in cm", "50", "70")) == {("number", "Width in mm", "Width in cm")}


def test_converted_values_are_no_change_and_others_are() -> None:
    converted = _told(("[mm]", "50", "70"), ("[cm]", "5", "7"))
    assert {name for name, _, _ in converted} == {"words"}
    partly = _told(("[mm]", "50", "70"), ("[cm]", "5", "8"))
    assert {each for each in partly if each[0] == "number"} == {("number", "70 mm", "8 cm")}
    left = _told(("(min)", "60", "30"), ("(h)", "1", "30"))
    assert {each for each in left if each[0] == "number"} == {("number", "30 min", "30 h")}


def test_a_row_that_came_is_told_as_printed() -> None:
    old = "# Sizes\n\n| Size | Width (mm) |\n|---|---|\n| A | 50 |\n| B | 70 |\n"
    new = old.replace("(mm)", "(cm)").replace("| 50 |", "| 5 |").replace("| B | 70 |", "| B | 8 |\n| C | 9 |")
    found = [(each.name, each.before, each.after) for change in compared(old, new) for each in change.changes]
    assert ("words", "", "| C | 9 |") in found


@pytest.mark.parametrize("unit", ["in mm", "(mm)", "[mm]"])
def test_another_notation_of_the_unit_changes_no_value(unit: str) -> None:
    assert {name for name, _, _ in _told(("/ mm", "50", "70"), (unit, "50", "70"))} <= {"words"}


def test_a_value_in_a_row_whose_other_cells_were_rewritten_is_a_number() -> None:
    old = "# Rates\n\n| Place | Agent | Time |\n|---|---|---|\n| Sink | Beta blue | 30 min |\n| Hall | Beta | 5 min |\n"
    new = old.replace("Beta blue | 30 min", "Gamma green | 1 h")
    found = [(each.name, each.before, each.after) for change in compared(old, new) for each in change.changes]
    assert ("number", "30 min", "1 h") in found
