"""Limits are compared by what they allow, however they are worded; an equal limit in other words is no change of it."""

from __future__ import annotations

import pytest

from knowledge_mcp.language.quantities.reading import quantities
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
        ("At least half of the doors shall close.", "At least 50 % of the doors shall close."),
        ("No more than 1/3 of the bolts may be loose.", "No more than a third of the bolts may be loose."),
        ("It shall be registered by 2026-05-01.", "It shall be registered by 1 May 2026."),
        ("It shall end not later than 2026-05-01.", "It shall end not later than May 1, 2026."),
        ("The tank shall hold 10,000 l.", "The tank shall hold 10 000 l."),
        ("The shaft shall be 20 mm +0.1/-0.1 mm.", "The shaft shall be (20 ± 0.1) mm."),
        ("The shaft shall be 20 mm +0.1 -0.1.", "The shaft shall be 20 mm ± 0.1 mm."),
        ("The gap shall be 10 mm ± 2 mm.", "The gap shall be 8 mm to 12 mm."),
        ("The gap of each hinge shall be 8 mm to 12 mm.", "The gap of each hinge shall be (10 ± 2) mm."),
        ("Runs of more than 45 m are not permitted.", "Runs shall not exceed 45 m."),
        ("Smoking is not allowed in the room.", "Smoking is prohibited in the room."),
        ("Der Tank muss für die Anlage 1.000 l fassen.", "Der Tank muss für die Anlage 1000 l fassen."),
        ("Es muss mindestens die Hälfte der Türen zufallen.", "Es müssen mindestens 50 % der Türen zufallen."),
        ("Der Bau muss bis 01.05.2026 gemeldet werden.", "Der Bau muss bis 1. Mai 2026 gemeldet werden."),
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
        (
            "At least half of the doors shall close by themselves.",
            "At least two thirds of the doors shall close by themselves.",
            ("half", "two thirds"),
        ),
        (
            "At least half of the doors shall close by themselves.",
            "At most half of the doors shall close by themselves.",
            ("At least half", "At most half"),
        ),
        (
            "La moitié des portes de la salle doit se fermer.",
            "Un tiers des portes de la salle doit se fermer.",
            ("La moitié", "Un tiers"),
        ),
        (
            "It shall be registered by 2026-05-01.",
            "It shall be registered by 2026-06-01.",
            ("2026-05-01", "2026-06-01"),
        ),
        (
            "It shall be open not before 1 May 2026.",
            "It shall be open not before 2026-06-01.",
            ("1 May 2026", "2026-06-01"),
        ),
        ("The gap shall be 10 mm ± 2 mm.", "The gap shall be 8 mm to 13 mm.", ("10 mm ± 2 mm", "8 mm to 13 mm")),
        ("The fee is EUR 1.500,00 per year.", "The fee is EUR 1.600,00 per year.", ("EUR 1.500,00", "EUR 1.600,00")),
        ("Der Spalt darf 5 mm nicht überschreiten.", "Der Spalt darf 4 mm nicht überschreiten.", ("5 mm", "4 mm")),
        (
            "The clear gap of any hinge shall not exceed 5 mm there.",
            "The gap of a hinge must be at most 4 mm.",
            ("5 mm", "4 mm"),
        ),
        (
            "Passwords that users choose shall have at least 12 letters (after blanks were joined).",
            "Passwords that users choose shall have at least 8 letters although a minimum of 15 letters is advisable.",
            ("12", "8"),
        ),
    ],
)
def test_another_limit_is_a_number_that_changed(old: str, new: str, found: tuple[str, str]) -> None:
    weighty = [each for each in _changes_in(old, new) if each[0] in WEIGHTY]
    assert weighty == [("number", *found)]


def test_a_number_that_may_be_a_thousand_in_english_is_another_number() -> None:
    assert _changes_in("The gap shall be 1.000 mm.", "The gap shall be 1000 mm.") == [("number", "1.000 mm", "1000 mm")]


def test_the_edition_of_a_document_in_iso_notation_is_no_limit() -> None:
    old, new = "Clients support protocol 2025-06-18.", "Clients support protocol 2025-11-25."
    assert {name for name, _, _ in _changes_in(old, new)} <= {"words", "reference"}


def test_what_need_not_be_done_is_no_requirement() -> None:
    rule = "Landings need not be lit when the building is closed."
    assert _changes_in("Each stair is wide.", f"Each stair is wide. {rule}") == [("words", "", rule)]


def test_the_upper_half_of_a_thing_is_no_share() -> None:
    assert not quantities("The upper half of the door shall be glazed.")
    assert [(each.value, each.unit) for each in quantities("In half of the doors, glass is used.")] == [(50.0, "%")]


@pytest.mark.parametrize(
    "limit",
    [
        "at least 8 signs although a longer word is advisable",
        "at most 8 letters although a longer word is advisable",
        "at least 12 letters although at least 15 letters are advisable",
    ],
)
def test_a_limit_of_something_else_or_beside_the_old_one_is_no_other_limit(limit: str) -> None:
    old = "Passwords that users choose shall have at least 12 letters (after blanks were joined)."
    (found,) = _changes_in(old, f"Passwords that users choose shall have {limit}.")
    assert found[0] == "words"
    assert all(found)


def test_numbers_of_references_are_no_limits() -> None:
    one = "[P1] Smith, J.: Pumps of wells and their motors, series 12, May 2019."
    other = "[P1] Smith, J.: Pumps of wells and their motors, series 14, DOI 10.1234/p, May 2023."
    frame = "# Pumps\n\nAll pumps.\n\n## {}\n\n{}\n"
    for title, is_limit in (("References", False), ("Design", True)):
        found = compared(frame.format(title, one), frame.format(title, other))
        names = {change.name for each in found for change in each.changes}
        assert ("number" in names) is is_limit
        assert names


def test_words_of_force_in_quotation_marks_are_named_and_not_used() -> None:
    old = 'The key words "MUST", "SHOULD" and "MAY" are to be interpreted as described in the guide to such words.'
    new = old.replace('and "MAY"', '"NOT RECOMMENDED" and "MAY"').replace(".", " when, and only when, in capitals.")
    assert {name for name, _, _ in _changes_in(old, new)} == {"words"}


def test_verbs_that_only_join_a_limit_are_no_other_change() -> None:
    old, new = "The rise shall not exceed 190 mm.", "The rise shall be no more than 180 mm."
    assert _changes_in(old, new) == [("number", "190 mm", "180 mm")]


def test_a_long_exception_is_no_new_requirement() -> None:
    old = "The door shall open outwards."
    new = "The door shall open outwards, except where it serves a single dwelling."
    assert _changes_in(old, new) == [("requirement narrowed", "", "except where it serves a single dwelling")]
    assert [name for name, _, _ in _changes_in(f"Where it serves one dwelling only, {old.lower()}", old)] == [
        "requirement widened"
    ]
