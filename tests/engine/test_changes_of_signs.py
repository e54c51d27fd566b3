"""Signs that say something, and limits that turn around, are changes; how they are set is none."""

from __future__ import annotations

import re

import pytest

from knowledge_mcp.engine.changes import marking
from tests.engine.test_changes import compared


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("The fee is $500 a year.", "The fee is €500 a year.", [("number", "$500", "€500")]),
        ("Stop the pump if p ≤ q.", "Stop the pump if p ≥ q.", [("words", "≤", "≥")]),
        ("Write this part in C only.", "Write this part in C++ only.", [("words", "C", "C++")]),
        ("| Guard | ✓ | ✗ |", "| Guard | ✗ | ✗ |", [("words", "✓", "✗")]),
        ("| Power (mW) | Remark |", "| Power (MW) | Remark |", [("words", "(mW)", "(MW)")]),
        ("● The pump has a valve.", "■ The pump has a valve.", []),
        ("The pump uses 60 °C − 5 K.", "The pump uses 60°C - 5 K.", []),
        ("It weighs 5 μg or ≥ 3 g.", "It weighs 5 µg or >= 3 g.", []),
    ],
)
def test_a_sign_that_says_something_is_a_change(old: str, new: str, found: list[tuple[str, str, str]]) -> None:
    assert _changes_in(old, new) == found


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("It has at least 10 bar.", "It has at most 10 bar.", [("number", "at least 10 bar", "at most 10 bar")]),
        ("It is not less than 9 m.", "It is less than 9 m.", [("number", "not less than 9 m", "less than 9 m")]),
        ("It is within 9 m of it.", "It is 9 m of it.", [("number", "within 9 m", "9 m")]),
        ("A minimum of 5 V is used.", "A maximum of 5 V is used.", [("number", "minimum of 5 V", "maximum of 5 V")]),
        (
            "The minimum clear width is 9 m.",
            "The maximum clear width is 9 m.",
            [("number", "at least 9 m", "at most 9 m")],
        ),
        ("It shall run up to 9 m.", "It shall not run up to 9 m.", [("force", "shall", "shall not")]),
        ("It is ½ of that.", "It is ¼ of that.", [("number", "½", "¼")]),
        ("It costs 5 million now.", "It costs 5 billion now.", [("number", "5 million", "5 billion")]),
        (
            "Answer within thirty (30) days.",
            "Answer within sixty (60) days.",
            [("number", "thirty (30)", "sixty (60)")],
        ),
        (
            "Answer within 30 (thirty) days.",
            "Answer within 60 (sixty) days.",
            [("number", "30 (thirty)", "60 (sixty)")],
        ),
        ("Answer within ten (10) days.", "Answer within ten (12) days.", [("number", "ten (10)", "ten (12)")]),
        ("It has twenty-five doors.", "It has twenty-six doors.", [("number", "twenty-five", "twenty-six")]),
        ("It has two thirds of it.", "It has one third of it.", [("number", "two thirds", "one third")]),
        ("It has not more than 9 W.", "It has 9 W or less.", [("words", "not more than … W.", "W or less.")]),
        ("It bears 2 kN/m² now.", "It bears 2 kN/m now.", [("number", "2 kN/m²", "2 kN/m")]),
        ("It goes at 3 m/s then.", "It goes at 3 m/s² then.", [("number", "3 m/s", "3 m/s²")]),
        ("It fails 1 × 10-6 an hour.", "It fails 1 × 10-7 an hour.", [("number", "1 × 10-6", "1 × 10-7")]),
        ("It fails 1e-6 an hour.", "It fails 1e-7 an hour.", [("number", "1e-6", "1e-7")]),
        ("It is 1/2 of that.", "It is 1/3 of that.", [("number", "1/2", "1/3")]),
        ("It takes 5 Nm there.", "It takes 5 N·m there.", [("words", "Nm", "N·m")]),
    ],
)
def test_a_limit_that_turns_around_is_reported_as_printed(
    old: str, new: str, found: list[tuple[str, str, str]]
) -> None:
    assert _changes_in(old, new) == found


def _changes_in(old: str, new: str) -> list[tuple[str, str, str]]:
    """Tell what changed between two clauses that have only these words."""
    (only,) = compared(f"# 4 Pumps\n\n{old}\n", f"# 4 Pumps\n\n{new}\n")
    return [(each.name, each.before, each.after) for each in only.changes]


def test_dates_of_other_languages_are_reported_whole() -> None:
    german = "Die Prüfung ist bis zum 31. Dezember 2020 abzuschließen."
    assert _changes_in(german, german.replace("31. Dezember 2020", "30. Juni 2025")) == [
        ("number", "31. Dezember 2020", "30. Juni 2025")
    ]
    french = "Le contrat prend effet le 1er janvier 2020."
    assert _changes_in(french, french.replace("janvier 2020", "juin 2025")) == [
        ("number", "1er janvier 2020", "1er juin 2025")
    ]


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        (
            "| P-1 | Pipes shall be marked. | Test |",
            "| P-1 | Pipes shall be marked. Valves shall be 2 m apart. | Test |",
            [("requirement added", "", "Valves shall be 2 m apart.")],
        ),
        (
            "| P-1 | Pipes shall be marked. Valves shall be closed. | Test |",
            "| P-1 | Pipes should be marked. | Test |",
            [("force", "shall", "should"), ("requirement withdrawn", "Valves shall be closed.", "")],
        ),
        (
            "| P-1 | Pipes shall be marked. | Test |",
            "| P-1 | Pipes shall be marked. | Review |",
            [("words", "Test", "Review")],
        ),
        ("It may stop.¹ It runs.\n\n¹ As told.", "It may stop.[^2] It runs.\n\n[^2] As told.", []),
    ],
)
def test_a_sentence_that_came_into_a_cell_is_a_requirement_added(
    old: str, new: str, found: list[tuple[str, str, str]]
) -> None:
    assert _changes_in(old, new) == found


def test_what_denies_is_looked_for_once_in_a_sentence_however_many_words_of_force_it_has(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Once:
        """Stand in for the pattern of what denies, which has nothing to find here from one place on."""

        looked = 0

        def finditer(self, _: str) -> list[re.Match[str]]:
            Once.looked += 1
            return []

    monkeypatch.setattr(marking, "DENIES_BEHIND", Once())
    assert _changes_in("It shall not run, and shall not stop at 5 V.", "It shall not run, and shall not stop at 6 V.")
    assert Once.looked == 2
