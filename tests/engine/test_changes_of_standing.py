"""What binds is told although the words of a sentence stay: notes, items of lists, denials inside a sentence."""

from __future__ import annotations

import pytest

from knowledge_mcp.engine.changes.side_by_side import side_by_side
from tests.engine.test_changes import compared

LEAD, VALVE, PLUG = "The pump shall have:", "a) a relief valve;", "c) a drain plug."


def _changes_in(old: str, new: str) -> list[tuple[str, str, str]]:
    (only,) = compared(f"# 4 Pumps\n\n{old}\n\nEach pump is red.\n", f"# 4 Pumps\n\n{new}\n\nEach pump is red.\n")
    return [(each.name, each.before, each.after) for each in only.changes]


@pytest.mark.parametrize("label", ["NOTE", "NOTE 1", "EXAMPLE"])
def test_a_note_that_became_a_rule_is_told_as_such(label: str) -> None:
    rule = "The seal is replaced every two years."
    assert _changes_in(f"{label} {rule}", rule)[0] == ("force", "informative", "normative")
    assert _changes_in(rule, f"{label} {rule}")[0] == ("force", "normative", "informative")


def test_a_note_whose_force_changed_with_it_is_told_once() -> None:
    found = _changes_in("NOTE The seal should be replaced.", "The seal shall be replaced.")
    assert [each for each in found if each[0] == "force"] == [("force", "should", "shall")]


def test_only_what_a_whole_clause_became_has_a_row_of_its_own() -> None:
    old, new = "# 4 Pumps\n\nNOTE The seal is red.\n", "# 4 Pumps\n\nThe seal is red.\n"
    (only,) = compared(old, new)
    assert len(list(side_by_side(only))) == 1


def test_an_item_that_a_binding_sentence_demands_is_a_requirement() -> None:
    gauge = "b) a pressure gauge;"
    short, long = f"{LEAD}\n\n{VALVE}\n\n{PLUG}", f"{LEAD}\n\n{VALVE}\n\n{gauge}\n\n{PLUG}"
    assert _changes_in(short, long) == [("requirement added", "", gauge)]
    assert _changes_in(long, short) == [("requirement withdrawn", gauge, "")]


def test_an_item_of_a_free_list_and_one_behind_another_sentence_are_no_requirements() -> None:
    free = "The pump can have:"
    apart = f"{LEAD}\n\n{VALVE}\n\nOther parts are usual:\n\n{PLUG}"
    assert _changes_in(f"{free}\n\n{VALVE}", f"{free}\n\n{VALVE}\n\n{PLUG}") == [("words", "", PLUG)]
    assert _changes_in(apart, f"{apart}\n\nd) a lamp.") == [("words", "", "d) a lamp.")]


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        (
            "The owner shall ensure that the valve does not open at night.",
            "The owner shall ensure that the valve opens at night.",
            ("does not open", "opens"),
        ),
        (
            "If the valve is not locked, the owner shall close it.",
            "If the valve is locked, the owner shall close it.",
            ("not", ""),
        ),
        (
            "Der Betreiber muss dafür sorgen, dass das Ventil nicht in der Nacht öffnet.",
            "Der Betreiber muss dafür sorgen, dass das Ventil in der Nacht öffnet.",
            ("nicht", ""),
        ),
    ],
)
def test_a_denial_inside_a_requirement_changes_its_force(old: str, new: str, found: tuple[str, str]) -> None:
    assert _changes_in(old, new) == [("force", *found)]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The owner shall close the valve if it is not locked.", "The owner shall close the valve if it is unlocked."),
        ("The owner shall close it if it is not locked.", "The owner shall close it unless it is locked."),
        (
            "The owner shall ensure that the valve is not open at night.",
            "The owner shall ensure that the valve is closed at night.",
        ),
        ("The valve is not open at night.", "The valve is open at night."),
    ],
)
def test_a_denial_in_other_words_or_outside_a_requirement_changes_words(old: str, new: str) -> None:
    assert {name for name, _, _ in _changes_in(old, new)} == {"words"}


def test_the_introduction_of_a_list_does_not_show_that_clauses_belong_together() -> None:
    lead = "The following holds for each panel:"
    items = (
        "• the panel should resist dust at the lamp;",
        "• the panel shall not carry wear at the shaft of the rail;",
    )
    others = ("• the panel shall resist wear at the rail;", "• the panel should carry dust at the lid of the lever;")
    old = f"# 2 Rails\n\n## 2.1 Panel rail\n\n{lead}\n\n{items[0]}\n\n{items[1]}\n\n## 2.2 Doors\n\nDoors are wide.\n"
    new = f"# 2 Rails\n\n## 2.2 Doors\n\nDoors are wide.\n\n# 3 Coils\n\n## 3.1 Panel coil\n\n{lead}\n\n"
    new += f"{others[0]}\n\n{others[1]}\n"
    found = [change.name for each in compared(old, new) for change in each.changes]
    assert "force" not in found
