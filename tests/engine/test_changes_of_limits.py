"""Limits are compared by what they allow, however they are worded; an equal limit in other words is no change of it."""

from __future__ import annotations

import pytest

from tests.engine.test_changes import compared

WEIGHTY = {"force", "number", "requirement added", "requirement withdrawn", "requirement rewritten"}


def _changes_in(old: str, new: str) -> list[tuple[str, str, str]]:
    (only,) = compared(f"# 4 Stairs\n\n{old}\n\nEach stair is lit.\n", f"# 4 Stairs\n\n{new}\n\nEach stair is lit.\n")
    return [(each.name, each.before, each.after) for each in only.changes]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The rise shall not exceed 190 mm.", "The rise shall be no more than 190 mm."),
        ("The gap shall not exceed 5 mm.", "The gap shall be ≤ 5 mm."),
        ("The width shall be not less than 1 100 mm.", "The width shall be at least 1,100 mm."),
        ("Guards shall resist a line load of 0.74 kN/m.", "Guards shall resist a line load of 740 N/m."),
        ("The pressure shall be 5 bar.", "The pressure shall be 0.5 MPa."),
        ("The test shall last 60 seconds.", "The test shall last 1 minute."),
        ("The room shall be kept at 20 °C ± 2 °C.", "The room shall be kept at (20 ± 2) °C."),
        ("Stairs shall be inspected every 12 months.", "Stairs shall be inspected annually."),
        ("The fee is 1 500 EUR per year.", "The fee is €1,500 per year."),
        ("It applies from 1 January 2024.", "It applies from January 1, 2024."),
        ("The share is 0.5 of the floor.", "The share is 0,5 of the floor."),
        ("It shall hold twice the rated load.", "It shall hold two times the rated load."),
        ("Der Spalt darf nicht mehr als 5 mm betragen.", "Der Spalt darf höchstens 5 mm betragen."),
        ("La largeur ne doit pas dépasser 2,5 m.", "La largeur doit être inférieure ou égale à 2,5 m."),
    ],
)
def test_the_same_limit_in_other_words_only_changes_words(old: str, new: str) -> None:
    names = {name for name, _, _ in _changes_in(old, new)}
    assert names <= {"words"}


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("The rise shall not exceed 190 mm.", "The rise shall be no more than 180 mm.", ("190 mm", "180 mm")),
        ("The gap shall not exceed 5 mm.", "The gap shall be ≤ 4 mm.", ("5 mm", "≤ 4 mm")),
        ("The noise shall not exceed 45 dB(A).", "The noise shall not exceed 40 dB(A).", ("45 dB(A)", "40 dB(A)")),
        ("The heat shall not exceed 60 °C.", "The heat shall not exceed 60 K.", ("60 °C", "60 K")),
        ("It shall be tested annually.", "It shall be tested quarterly.", ("annually", "quarterly")),
        ("Speed shall be below 30 km/h.", "Speed shall be at most 30 km/h.", ("below 30 km/h", "at most 30 km/h")),
        (
            "Records are kept for five years.",
            "Records are kept for at least 5 years.",
            ("five years", "at least 5 years"),
        ),
        (
            "It shall end in 30 seconds at each step.",
            "It shall end in 2 minutes at each step.",
            ("30 seconds", "2 minutes"),
        ),
        ("The fee is EUR 1.500,00 per year.", "The fee is EUR 1.600,00 per year.", ("EUR 1.500,00", "EUR 1.600,00")),
        ("Der Spalt darf 5 mm nicht überschreiten.", "Der Spalt darf 4 mm nicht überschreiten.", ("5 mm", "4 mm")),
        (
            "The clear gap of any hinge shall not exceed 5 mm there.",
            "The gap of a hinge must be at most 4 mm.",
            ("5 mm", "4 mm"),
        ),
    ],
)
def test_another_limit_is_a_number_that_changed(old: str, new: str, found: tuple[str, str]) -> None:
    weighty = [each for each in _changes_in(old, new) if each[0] in WEIGHTY]
    assert weighty == [("number", *found)]


def test_verbs_that_only_join_a_limit_are_no_other_change() -> None:
    old, new = "The rise shall not exceed 190 mm.", "The rise shall be no more than 180 mm."
    assert _changes_in(old, new) == [("number", "190 mm", "180 mm")]


def test_a_long_exception_is_no_new_requirement() -> None:
    old = "The door shall open outwards."
    new = "The door shall open outwards, except where it serves a single dwelling."
    assert _changes_in(old, new) == [("words", "outwards.", "outwards, except where it serves a single dwelling.")]
    assert [name for name, _, _ in _changes_in(f"Where it serves one dwelling only, {old.lower()}", old)] == ["words"]
