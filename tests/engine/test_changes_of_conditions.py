"""A condition or exception that comes or goes changes whom a requirement binds, and is told as such."""

from __future__ import annotations

import pytest

from tests.engine.test_changes import compared

GERMAN = "Dieser Abschnitt gilt für die Pumpen der Anlage und für ihre Teile, die der Hersteller liefert."


def _changes_in(old: str, new: str, lead: str = "Each pump is red.") -> list[tuple[str, str, str]]:
    (only,) = compared(f"# 4 Pumps\n\n{old}\n\n{lead}\n", f"# 4 Pumps\n\n{new}\n\n{lead}\n")
    return [(each.name, each.before, each.after) for each in only.changes]


@pytest.mark.parametrize(
    ("rule", "limited", "condition"),
    [
        ("All doors shall be locked.", "All doors shall be locked, except fire doors.", "except fire doors"),
        (
            "The valve shall be closed.",
            "Where a sprinkler is installed, the valve shall be closed.",
            "Where a sprinkler is installed",
        ),
        (
            "The pump must have a gauge.",
            "The pump must have a gauge, provided that it is driven by a motor.",
            "provided that it is driven by a motor",
        ),
        (
            "Visitors shall not enter the plant.",
            "Visitors shall not enter the plant except with an escort.",
            "except with an escort",
        ),
        (
            "| R1 | Doors shall be locked. | Test |",
            "| R1 | Doors shall be locked, unless a guard is there. | Test |",
            "unless a guard is there",
        ),
        (
            "No tool shall be used in the tank.",
            "No tool other than a mop shall be used in the tank.",
            "other than a mop",
        ),
        (
            "- Doors shall be locked;",
            "- Doors shall be locked, except where a guard is there;",
            "except where a guard is there",
        ),
        ("The lamp shall be lit.", "The lamp shall be lit. This does not apply by day.", "This does not apply by day."),
        ("Each room shall have a lamp.", "Each room shall have a lamp. Exception: Cellars.", "Exception: Cellars."),
    ],
)
def test_a_condition_narrows_a_requirement_and_widens_it_when_it_goes(rule: str, limited: str, condition: str) -> None:
    assert _changes_in(rule, limited) == [("requirement narrowed", "", condition)]
    assert _changes_in(limited, rule) == [("requirement widened", condition, "")]


@pytest.mark.parametrize(
    ("rule", "limited", "condition"),
    [
        (
            "Türen müssen verriegelt sein.",
            "Türen müssen verriegelt sein, es sei denn, sie führen ins Freie.",
            "es sei denn, sie führen ins Freie",
        ),
        (
            "Türen müssen verriegelt sein.",
            "Türen müssen außer in Fluchtwegen verriegelt sein.",
            "außer in Fluchtwegen",
        ),
        (
            "Die Anlage muss jährlich geprüft werden.",
            "Die Anlage muss jährlich geprüft werden, sofern sie im Freien steht.",
            "sofern sie im Freien steht",
        ),
        (
            "Die Anlage muss jährlich geprüft werden.",
            "Die Anlage muss jährlich geprüft werden. Dies gilt nicht für kleine Anlagen.",
            "Dies gilt nicht für kleine Anlagen.",
        ),
    ],
)
def test_german_conditions_are_read_too(rule: str, limited: str, condition: str) -> None:
    assert _changes_in(rule, limited, GERMAN) == [("requirement narrowed", "", condition)]
    assert _changes_in(limited, rule, GERMAN) == [("requirement widened", condition, "")]


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        (
            "The valve shall be closed if the pump runs.",
            "The valve shall be closed unless the pump runs.",
            ("if the pump runs", "unless the pump runs"),
        ),
        ("The pump shall run.", "The pump shall run even if the lid is open.", ("", "even if the lid is open")),
        ("The pump shall run.", "The pump shall run where it can be seen.", ("", "where it can be seen")),
        ("The pump may be red.", "The pump may be red, provided that it is seen.", ("", "provided that it is seen")),
        (
            "Visitors shall not enter except with a guide.",
            "Visitors shall not enter except with a guide, if they are minors.",
            ("", "if they are minors"),
        ),
        (
            "All of the red marks in the margin shall be of the same size.",
            "All of the marks other than dots in the margin shall be of the same size.",
            ("", "other than dots"),
        ),
    ],
)
def test_where_the_way_is_not_certain_it_is_not_told(old: str, new: str, found: tuple[str, str]) -> None:
    changes = _changes_in(old, new)
    assert ("condition", *found) in changes
    assert not any(name.startswith("requirement") for name, _, _ in changes)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The pump is red.", "The pump is red, except in mines."),
        ("The lamp current falls below 1 A and shall be told.", "The lamp current falls below 1 A and shall be shown."),
        ("If a leak is found, the pump shall be stopped.", "The pump shall be stopped if a leak is found."),
        ("The pump shall be stopped if it is not full.", "The pump shall be stopped unless it is full."),
        (
            "In the case of entering the tank with tools, the owner shall keep the key.",
            "For entering the tank with tools, the owner shall keep the key.",
        ),
        (
            "The tank may be used provided the owner keeps the key of the room in a safe place.",
            "The tank may be used provided that the owner keeps the key of the room in a safe place.",
        ),
    ],
)
def test_other_words_of_a_condition_and_statements_are_words(old: str, new: str) -> None:
    assert {name for name, _, _ in _changes_in(old, new)} == {"words"}


def test_a_limit_that_changed_beside_a_condition_is_told_too() -> None:
    old, new = "Files shall be kept for 5 years.", "Files shall be kept for 3 years, unless a court asks for more."
    assert _changes_in(old, new) == [
        ("number", "5", "3"),
        ("requirement narrowed", "", "unless a court asks for more"),
    ]


def test_an_item_of_a_list_of_exceptions_is_an_exception() -> None:
    old = "Each room shall have a lamp.\n\nExceptions:\n\n1. Cellars."
    assert _changes_in(old, f"{old}\n\n2. Sheds.") == [("requirement narrowed", "", "2. Sheds.")]


def test_a_ban_in_other_german_words_keeps_its_force() -> None:
    old, new = "Ringe sind an den Händen nicht erlaubt.", "Ringe sind an den Händen verboten."
    assert [name for name, _, _ in _changes_in(old, new, GERMAN)] == ["words"]


def test_a_condition_in_the_plural_is_the_same_condition() -> None:
    old = "All orders shall name one valve and one pump of the plant, unless it is a repair order (Section 8.3)."
    new = 'All orders shall name one "valve" and one pump of the plant, unless they are repair orders (Section 8.5).'
    assert not {name for name, _, _ in _changes_in(old, new)} & {"condition", "requirement widened"}
