"""Whether a demand holds on a condition, and which section it asks for."""

from __future__ import annotations

import pytest

from knowledge_mcp.language.demands import condition_of, limits, section_demanded, without_own_label


@pytest.mark.parametrize(
    ("sentence", "condition"),
    [
        ("Where a guard is fitted, the supplier shall test it.", "Where a guard is fitted"),
        ("If the mains fail, the pump shall stop.", "If the mains fail"),
        ("SRS-1: Unless a key is turned, the unit shall start.", "Unless a key is turned"),
        ("When required, the guard shall be locked.", "When required"),
        ("The file shall be deleted unless the owner objects; see 5.3.", "unless the owner objects"),
        ("The marking shall be repeated where applicable.", "where applicable"),
    ],
)
def test_a_condition_is_reported_in_its_words(sentence: str, condition: str) -> None:
    assert condition_of(sentence) == condition


@pytest.mark.parametrize(
    "sentence",
    [
        "The pump shall stop when the tank is full.",
        "When the tank is full, the pump shall stop.",
        "The operator shall check if the valve is open.",
        "The plan shall be kept as appropriate.",
        "The unit shall act as if it were new.",
    ],
)
def test_a_moment_a_question_and_a_manner_are_no_condition(sentence: str) -> None:
    assert condition_of(sentence) == ""


@pytest.mark.parametrize(
    ("sentence", "section"),
    [
        ("The plan shall contain a section on risk management that names owners.", "risk management"),
        ("The report shall include a section titled “Test results”.", "Test results"),
        ("The plan shall include a risk management section.", "risk management"),
        ("The manual shall have an annex listing the tools.", "tools"),
        ("The document shall have a section.", ""),
        ("The section shall be short.", ""),
    ],
)
def test_a_section_that_is_asked_for_is_named(sentence: str, section: str) -> None:
    assert section_demanded(sentence) == section


def test_a_label_in_front_is_left_out() -> None:
    assert without_own_label("FR 12 - The pump shall stop.") == "The pump shall stop."
    assert without_own_label("The pump shall stop.") == "The pump shall stop."


def test_a_uuid_is_no_number() -> None:
    sentence = 'The "guid" is "11111111-1111-1111-8888-111111111111" and holds for 30 s.'
    assert [mark.text for mark in limits(sentence)] == ["30 s"]


@pytest.mark.parametrize(
    ("sentence", "numbers"),
    [
        ("Hold for 5 s[^3] at the rail.", ["5 s"]),
        ("Hold for 5¹ m above 10⁶ Hz.", ["5¹ m", "10⁶ Hz"]),
        ("Each set of 10 in the box has a rod 4 in long.", ["10", "4 in"]),
        ("It waits five (5) days.", ["five (5)"]),
        ("It is (1) red, (2) dry and (3) at most 3 m long.", ["3 m"]),
        ("A pressure of up to 5 kPa 1) holds.", ["5 kPa"]),
        ("The range (from 5 to 8) is read.", ["5", "8"]),
        ("For example 13 of them are read.", ["13"]),
        ("As Sections 4.1, 4.2 and 7 apply, 3 stay.", ["3"]),
        ("The office shall issue 3 copies.", ["3"]),
        ("Modified on: 2024-01-01T00:00:00Z, 2024-01-01T08:15:30.000+02:00.", []),
        ("See pull request 2506 and doi:10.1000/182.", []),
    ],
)
def test_marks_and_names_are_no_limits_and_what_looks_like_them_is(sentence: str, numbers: list[str]) -> None:
    assert [each.text for each in limits(sentence)] == numbers
