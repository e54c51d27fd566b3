"""Parts of units, shares, dozens and days with slashes are read with their values."""

from __future__ import annotations

import pytest

from knowledge_mcp.language.quantities.dates import days_in
from knowledge_mcp.language.quantities.reading import quantities
from knowledge_mcp.language.requirements.conditions import ConditionKind, conditions_in, is_exception
from knowledge_mcp.language.sentences import sentence_spans


@pytest.mark.parametrize(
    ("text", "language", "value", "unit"),
    [
        ("lasts a quarter of an hour", "en", 900, "s"),
        ("lasts three quarters of an hour", "en", 2700, "s"),
        ("lasts an hour and a half", "en", 5400, "s"),
        ("half a metre above the floor", "en", 0.5, "m"),
        ("a dozen samples", "en", 12, "sample"),
        ("two dozen samples", "en", 24, "sample"),
        ("half a dozen samples", "en", 6, "sample"),
        ("1 in 10 welds", "en", 10, "%"),
        ("one in ten welds", "en", 10, "%"),
        ("every tenth weld", "en", 10, "%"),
        ("every 5th weld", "en", 20, "%"),
        ("2 von 10 Proben", "de", 20, "%"),
        ("jede zehnte Naht", "de", 10, "%"),
        ("eine Viertelstunde", "de", 900, "s"),
        ("eine Dreiviertelstunde", "de", 2700, "s"),
        ("eine halbe Stunde", "de", 1800, "s"),
        ("anderthalb Stunden", "de", 5400, "s"),
        ("einen halben Meter", "de", 0.5, "m"),
        ("ein Dutzend Proben", "de", 12, "proben"),
    ],
)
def test_a_quantity_in_words_has_its_value(text: str, language: str, value: float, unit: str) -> None:
    (found,) = quantities(f"It is {text}." if language == "en" else f"Es ist {text}.", language)
    assert (pytest.approx(found.value), found.unit) == (value, unit)


@pytest.mark.parametrize(
    ("text", "value", "unit"),
    [
        ("a slope of 1 in 12", 1 / 12, "ratio"),
        ("a slope of 1:12", 1 / 12, "ratio"),
        ("every third year", 36, "month"),
        ("1 in 10 days", 0.1, "ratio"),
    ],
)
def test_slopes_and_intervals_are_no_shares(text: str, value: float, unit: str) -> None:
    (found,) = quantities(f"It is {text}.", "en")
    assert (pytest.approx(found.value), found.unit) == (value, unit)


def test_a_day_with_slashes_has_two_readings_unless_its_numbers_tell() -> None:
    march, april = 2025 * 1200 + 304, 2025 * 1200 + 403
    assert [(each.number, each.other) for each in days_in("by 03/04/2025")] == [(march, april)]
    assert [(each.number, each.other) for each in days_in("by 25/04/2025 or 04/25/2025")] == [(april + 22, 0)] * 2
    assert [(each.number, each.other) for each in days_in("by 05/05/2025")] == [(march + 201, 0)]
    assert days_in("form 12/34/2025, or 1/2/3/2025") == []


@pytest.mark.parametrize(
    ("text", "kind", "words"),
    [
        ("The pump shall stop unless it is empty.", ConditionKind.EXCEPTION, "unless it is empty"),
        ("If it leaks, the pump shall stop.", ConditionKind.CONDITION, "If it leaks"),
        ("REQ-7: If it leaks, the pump shall stop.", ConditionKind.CONDITION, "If it leaks"),
        ("The pump shall only run if it is full.", ConditionKind.CONDITION, "if it is full"),
        ("The pump shall run when it is full.", ConditionKind.OPEN, "when it is full"),
        ("Die Pumpe muss laufen, falls sie voll ist.", ConditionKind.CONDITION, "falls sie voll ist"),
        ("The pump shall, if it leaks, stop at once.", ConditionKind.CONDITION, "if it leaks"),
        ("It has a label or, where applicable, a leaflet in it.", ConditionKind.CONDITION, "where applicable"),
        ("Two factors (where available) are used for all.", ConditionKind.CONDITION, "where available"),
        (
            "It may be sold, provided that, in time, all is paid.",
            ConditionKind.CONDITION,
            "provided that, in time, all is paid",
        ),
        ("The plan, where applicable, shall name the staff.", ConditionKind.CONDITION, "where applicable"),
        ("The pump shall stop if it leaks, smokes or burns.", ConditionKind.CONDITION, "if it leaks, smokes or burns"),
    ],
)
def test_a_condition_is_read_with_its_kind(text: str, kind: ConditionKind, words: str) -> None:
    (found,) = conditions_in(text)
    assert (found.kind, found.text) == (kind, words)


@pytest.mark.parametrize(
    "text",
    [
        "Check if the pump runs.",
        "The current falls below 1 A.",
        "The pump is außer Betrieb.",
        "The lid shall be other than red.",
        "Close the valve, if any.",
    ],
)
def test_what_only_looks_like_a_condition_is_none(text: str) -> None:
    assert conditions_in(text) == []


def test_a_sentence_that_excepts_something_is_an_exception() -> None:
    for text in (
        "Exception: Cellars.",
        "This does not apply to cellars.",
        "Dies gilt nicht für Keller.",
        "2. Ausnahme: Keller.",
    ):
        assert is_exception(text)
    for text in ("Exceptional care shall be taken.", "The rule applies to cellars.", "Dies gilt für Keller."):
        assert not is_exception(text)


def test_a_unit_of_time_after_a_number_ends_a_sentence() -> None:
    text = "The pump shall stop within 500 ms. The valve shall close within 10 min. The lamp is lit by Ms. Smith."
    assert [span.of(text).split()[1] for span in sentence_spans(text)] == ["pump", "valve", "lamp"]
