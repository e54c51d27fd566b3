"""Demands that contradict or double each other are found, and what only looks alike is left alone."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knowledge_mcp.engine.tracing import conflicts as comparing
from knowledge_mcp.engine.tracing.conflicts import Meaning, conflicting_definitions, conflicts
from knowledge_mcp.engine.tracing.links import TraceItem
from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.model.errors import InvalidInputError
from tests.machine import examples

TERMS = EnglishAnalyser().document_terms
PUMP = "When the tank is full, the pump shall stop within 2 seconds."


def kinds(*texts: str) -> list[str]:
    items = [TraceItem(f"R-{place}", "", text, f"srs, {place}") for place, text in enumerate(texts, 1)]
    return [each.kind.value for each in conflicts(items, TERMS)]


@pytest.mark.parametrize(
    ("one", "other", "kind"),
    [
        (PUMP, "The pump shall stop within 5 s when the tank is full.", "limit"),
        (PUMP, "The pump must not stop when the tank is full.", "contradiction"),
        (PUMP, "When the tank is full, the pump should stop within 2 seconds.", "force"),
        (PUMP, "The pump must stop within 2000 ms when the tank is full.", "duplicate"),
        ("The door shall be locked at night.", "The door shall be unlocked at night.", "contradiction"),
        ("The log shall keep at least 30 days.", "The log shall keep at most 20 days.", "limit"),
        ("Guests may not open the cabinet.", "Guests shall not open the cabinet.", "force"),
        ("A user shall not wait more than 5 s.", "A user shall wait at most 5 seconds.", "duplicate"),
        ("A user shall not wait more than 5 s.", "A user shall wait at most 9 seconds.", "limit"),
        (
            "The gate shall be shut and the lamp shall be lit.",
            "The gate should be shut and the lamp shall be lit.",
            "force",
        ),
        (
            "The gate shall be shut and the lamp should be lit.",
            "The gate shall be shut and the lamp should not be lit.",
            "contradiction",
        ),
        ("The key shall have at least 8 letters.", "The key shall not have at least 8 letters.", "contradiction"),
        ("The cable shall be laid in the floor.", "The cable shall never be laid in the floor.", "contradiction"),
        ("The report shall be sent by 1 May 2026.", "The report shall be sent by 2026-06-01.", "limit"),
        ("The report shall be sent by 1 May 2026.", "The report shall be sent by 2026-05-01.", "duplicate"),
        ("The hall shall be kept at 20 °C ± 2 °C.", "The hall shall be kept at 24 °C to 26 °C.", "limit"),
        ("At least half of the doors shall be red.", "At most 40 % of the doors shall be red.", "limit"),
        ("A guest may wait at most 5 s at the gate.", "A guest shall wait at least 9 s at the gate.", "limit"),
        ("The scan shall take no longer than 5 s.", "The scan shall not take no longer than 5 s.", "contradiction"),
        ("The reply _MUST_ hold the header.", "The reply _MUST NOT_ hold the header.", "contradiction"),
        ("The reply _MUST_ hold the header.", "The reply shall hold a header.", "duplicate"),
        ("The pump shall move at least 10 l/min of water.", "The pump shall move at most 0.5 m³/h of water.", "limit"),
        ("The owner shall keep a log of each test.", "The owner need not keep a log of each test.", "force"),
        ("The filter shall be changed annually.", "The filter shall be changed every 6 months.", "limit"),
        ("The filter shall be changed twice a year.", "The filter shall be changed every 6 months.", "duplicate"),
        ("The pump supply shall be 230 V ± 10 %.", "The pump supply shall be 230 V ± 5 %.", "limit"),
        ("Doors shall be at least 900 x 2100 mm.", "Doors shall be at least 800 x 2100 mm.", "limit"),
        ("The slope of a ramp shall not exceed 1:12.", "The slope of a ramp shall not exceed 1:20.", "limit"),
        ("The rail shall be not less than 900 mm high.", "The rail shall be at least 90 cm high.", "duplicate"),
        ("The gap shall be 5-10 mm.", "The gap shall be between 5 mm and 10 mm.", "duplicate"),
        ("A lead level of 50 mg/l shall not be exceeded.", "A lead level of 60 mg/l shall not be exceeded.", "limit"),
        ("The motor shall give 12 kW at 20 °C.", "The motor shall give 15 kW at 20 °C.", "limit"),
        ("The pump shall start 12 times an hour.[^1]", "The pump shall start 12 times an hour.[^7]", "duplicate"),
    ],
)
def test_what_differs_names_the_conflict(one: str, other: str, kind: str) -> None:
    assert kinds(one, other) == [kind]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Pump A shall stop within 2 s.", "Pump B shall stop within 5 s."),
        ("Servers must only accept such tokens now.", "Servers must not only accept such tokens now."),
        ("The system shall assign tasks to persons.", "The system shall assign persons to tasks."),
        ("The pump shall stop within 2 s.", "If a filter is clogged, the pump shall stop within 5 s."),
        ("The door shall close before the test starts.", "The door shall close after the test starts."),
        ("The log shall keep at least 20 days.", "The log shall keep at most 30 days."),
        ("On a 56 kbps line it shall answer in 6 s.", "On a 112 kbps line it shall answer in 3 s."),
        ("SRS 17 - The library shall offer an iterator.", "SRS 18 - The library shall offer a reader."),
        ("The server shall return `maxItems` as a number.", "The server shall not return `minItems` as a number."),
        ("This property shall be a string value.", "This property shall not be a string value."),
        ("The array shall follow clause 4.2 exactly.", "The array shall follow clause 5.1 exactly."),
        ("Clients shall try in this order: 1. the host name", "Clients shall try in this order: 2. the host name"),
        ("It shall stop at once.", "It shall not stop at once."),
        ("Doors shall be at least 900 mm wide.", "Doors shall be at least 35.5 in. (900 mm) wide."),
        ("The owner need not keep a log of each test.", "The owner may keep a log of each test."),
        ("The owner shall not be required to log each test.", "The owner may log each test."),
        ("Type A pumps shall weigh at most 5 kg.", "Type B pumps shall weigh at most 9 kg."),
        ("The anchor load shall not exceed 5 kN per bolt.", "The anchor load shall not exceed 20 kN."),
        ("The pump supply shall be 24 V DC ± 10 %.", "The pump supply shall be 24 V AC ± 10 %."),
        ("The valve shall not be set to 5 bar.", "The valve shall be set to 4 bar."),
        ("The lifting gear shall comply with HXB 205:2019.", "The lifting gear shall comply with HXB 206:2012."),
        (
            "The wet well shall not be entered by one person alone.",
            "Nobody enters the wet well alone; two persons are required.",
        ),
    ],
)
def test_what_only_looks_alike_is_left_alone(one: str, other: str) -> None:
    assert kinds(one, other) == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The backup shall begin at 22:30 each day.", "The backup shall begin at 23:30 each day."),
        ("Workers shall wear helmets and gloves here.", "Workers shall wear helmets or gloves here."),
        ("The motor shall give 12 kW at 20 °C.", "The motor shall give 12 kW at 30 °C."),
        ("The base slab shall be of grade C25/30 concrete.", "The base slab shall be of grade C30/37 concrete."),
    ],
)
def test_what_differs_in_a_time_a_condition_or_an_alternative_says_not_the_same(one: str, other: str) -> None:
    assert kinds(one, other) == []


@pytest.mark.parametrize(
    ("one", "other", "why"),
    [
        ("Die Tür darf nachts verriegelt sein.", "Die Tür darf nachts nicht verriegelt sein.", "darf … nicht"),
        ("Die Tür darf verriegelt sein.", "Die Tür darf nicht verriegelt sein.", "darf nicht"),
        ("A visitor may enter the pit alone.", "A visitor shall never enter the pit alone.", "shall never"),
    ],
)
def test_a_denial_is_quoted_whole(one: str, other: str, why: str) -> None:
    items = [TraceItem(name, "", text, name) for name, text in (("R-1", one), ("R-2", other))]
    assert [each.why for each in conflicts(items, TERMS)] == [f"one is denied: “{why}”"]


def test_what_points_elsewhere_is_compared_in_its_own_place() -> None:
    items = [
        TraceItem("a", "", "This property shall be a string value.", "spec, 4.1"),
        TraceItem("b", "", "This property shall not be a string value.", "spec, 4.1"),
    ]
    assert [each.kind.value for each in conflicts(items, TERMS)] == ["contradiction"]


def test_what_stands_in_many_places_is_reported_once() -> None:
    items = [TraceItem(f"R-{place}", "", PUMP, f"srs, {place}") for place in range(4)]
    items.append(TraceItem("R-9", "", "The pump shall not stop when the tank is full.", "other, 1"))
    contradiction, duplicate = conflicts(items, TERMS)
    assert contradiction.other.id == "R-9"
    assert [each.id for each in contradiction.also_in] == ["R-1", "R-2", "R-3"]
    assert [duplicate.one.id, duplicate.other.id, *(each.id for each in duplicate.also_in)] == [
        "R-0",
        "R-1",
        "R-2",
        "R-3",
    ]


def test_a_sentence_of_several_is_compared_for_itself() -> None:
    first = "Every login shall be logged. Passwords shall have at least 8 characters."
    (found,) = conflicts(
        [
            TraceItem("A", "", first, "a, 1"),
            TraceItem("B", "", "Passwords shall have at least 12 characters.", "b, 7"),
        ],
        TERMS,
    )
    assert found.one.text == "Passwords shall have at least 8 characters."
    assert found.why == "at least 8 characters and at least 12 characters"


def test_thousands_of_requirements_take_few_comparisons() -> None:
    items = [
        TraceItem(str(place), "", f"The module m{place} shall send signal s{place} to unit u{place}.", "x")
        for place in range(3000)
    ]
    assert conflicts(items, TERMS) == []


@given(
    st.lists(
        st.tuples(
            st.lists(st.sampled_from("valve open close pump door before after heat log key".split()), max_size=7),
            st.sampled_from(("shall", "shall not", "should", "may")),
            st.sampled_from(("", "", " within 5 s", " within 9 s", " in `Code`", " if this fails")),
        ),
        max_size=40,
    )
)
@settings(max_examples=examples(60), deadline=None)
def test_no_pair_is_lost_that_comparing_all_with_all_would_find(
    sentences: list[tuple[list[str], str, str]],
) -> None:
    items = [
        TraceItem(f"R-{at}", "", f"The {' '.join(words)} {force} turn{rest}.", "srs")
        for at, (words, force, rest) in enumerate(sentences)
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(comparing, "_MOST_ALIKE", 2)
        quick = conflicts(items, TERMS)
        patch.setattr(comparing, "_alike", all_with_all)
        assert quick == conflicts(items, TERMS)


def all_with_all(heads: Sequence[Any], _progress: object) -> Iterator[tuple[int, int]]:
    """Compare as the plain way does: each with all before it that are not alike the first two."""
    weight = {
        term: math.log(1 + len(heads) / count)
        for term, count in Counter(term for head in heads for term in head.terms).items()
    }
    kin = [(head.context, head.terms, head.codes, head.modality, head.negated) for head in heads]
    for other, later in enumerate(heads):
        for one, first in enumerate(heads[:other]):
            shared = 2 * math.fsum(weight[term] for term in first.terms & later.terms)
            both = math.fsum(weight[term] for each in (first, later) for term in each.terms)
            is_part = first.terms <= later.terms or later.terms <= first.terms
            is_same = (first.context, first.codes) == (later.context, later.codes)
            if is_same and both and shared / both >= (0.8 - 1e-9 if is_part else 0.5) and kin[:one].count(kin[one]) < 2:
                yield one, other


def test_terms_with_two_meanings_are_reported_and_references_are_none() -> None:
    meanings = [
        Meaning("user", "user", "person who works with the system", "a, 3.1"),
        Meaning("user", "User", "Person who works with the system.", "b, 3.4"),
        Meaning("user", "user", "client of an interface", "c, 2"),
        Meaning("user", "user", "see end user", "d, 1"),
        Meaning("operator", "operator", "person in charge", "a, 3.2"),
    ]
    (found,) = conflicting_definitions(meanings)
    assert (found.one.citation, found.other.citation) == ("a, 3.1", "c, 2")
    assert [each.citation for each in found.also_in] == ["b, 3.4"]


def limited(count: int) -> list[TraceItem]:
    """Make sentences that differ in their limit alone."""
    return [TraceItem(f"R-{at}", "", f"The valve shall open within {at + 1} s.", f"srs, {at}") for at in range(count)]


@pytest.mark.slow
def test_a_long_list_of_limits_takes_no_square_of_pairs_and_loses_no_sentence() -> None:
    reported: list[tuple[int, int]] = []
    found = conflicts(limited(2000), TERMS, lambda done, of: reported.append((done, of)))
    assert len(found) == 20 * 19 // 2 + 1980 * 20
    assert {each.id for pair in found for each in (pair.one, pair.other)} == {f"R-{at}" for at in range(2000)}
    assert reported == [(0, 2000), (1000, 2000)]


def test_more_than_can_be_compared_or_reported_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparing, "MOST_ITEMS", 30)
    monkeypatch.setattr(comparing, "MOST_FOUND", 100)
    assert len(conflicts(limited(10), TERMS)) == 45
    with pytest.raises(InvalidInputError, match="More than 100 pairs conflict, one of them “The valve shall"):
        conflicts(limited(30), TERMS)
    with pytest.raises(InvalidInputError, match="more than 30 requirements"):
        conflicts(limited(31), TERMS)


@pytest.mark.parametrize(
    ("one", "other", "found"),
    [
        ("Work shall end by 1 March 2024.", "Work shall end by June 1, 2024.", ["limit"]),
        ("Work shall end by 1 March 2024.", "Work shall end by March 1st, 2024.", ["duplicate"]),
        ("The range shall be -20 °C to +50 °C here.", "The range shall be 0 °C to +40 °C here.", ["limit"]),
        ("Der Bericht muss am 1. Mai 2024 vorliegen.", "Der Bericht muss am 2. Juni 2024 vorliegen.", ["limit"]),
        ("Die Tür darf nicht verschlossen werden.", "Die Tür muss verschlossen werden.", ["contradiction"]),
        ("Der Fahrkorb muss beleuchtet sein.", "Der Fahrkorb sollte beleuchtet sein.", ["force"]),
        ("Nicht brennbare Stoffe müssen trocken sein.", "Brennbare Stoffe müssen trocken sein.", []),
        ("La porte ne doit pas être verrouillée.", "La porte doit être verrouillée.", ["contradiction"]),
        ("Le rapport doit partir le 1er mai 2024.", "Le rapport doit partir le 2 juin 2024.", ["limit"]),
    ],
)
def test_dates_ranges_and_demands_of_other_languages_are_compared(one: str, other: str, found: list[str]) -> None:
    assert kinds(one, other) == found


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("On start, the server shall: 1. Read the mask.", "On start, the server shall: 2. Write the log."),
        (
            "The tool shall provide a mechanism to disable an alarm.",
            "The tool shall provide a mechanism to enable an alarm.",
        ),
        ("The user shall be able to open the gate.", "The user shall be able to close the gate."),
        ("The owner may accept the device.", "The owner may reject the device."),
        (
            "The player must not apply moves to the puzzle at that time.",
            "The player must not apply any moves to one or more puzzles at that time.",
        ),
    ],
)
def test_items_of_one_list_and_ways_that_are_offered_do_not_contradict_each_other(one: str, other: str) -> None:
    assert kinds(one, other) == []


def test_limits_in_items_of_lists_are_compared() -> None:
    lead = "On start, the server shall:"
    assert kinds(f"{lead} 1. Wait at most 5 s.", f"{lead} 2. Wait at most 9 s.") == ["limit"]


def test_another_degree_of_protection_or_kind_of_current_goes_against_the_first() -> None:
    frame = "The enclosure of the pump controller shall have degree of protection {}."
    assert kinds(frame.format("IP54"), frame.format("IP65")) == ["limit"]
    supply = "The control voltage of the pump shall be 24 V {}."
    assert kinds(supply.format("DC"), supply.format("AC")) == ["contradiction"]
    pipes = "The {} pipes of the station shall be painted green on all sides."
    assert kinds(pipes.format("DN 50"), pipes.format("DN 80")) == []
    pipe = "The pipes of the station that lead to the well shall be of size {}."
    assert kinds(pipe.format("DN 50"), pipe.format("DN 80")) == ["limit"]


def test_what_permits_more_than_is_required_is_no_conflict_of_limits() -> None:
    assert "limit" not in kinds(
        "A guest may wait at most 9 s at the gate.", "A guest shall wait at least 5 s at the gate."
    )


@pytest.mark.parametrize(
    "frame",
    [
        "Debian {}2.04 LTS shall write a log of each failed login.",
        "The duties for the tasks of Requirement {} are assigned and understood.",
        "Roles of Part {} shall be described for the tasks in Part {}.",
        "[Withdrawn: moved to the clause AB-7({}).]",
        "Changes of the regulation of the union No {}/2014",
    ],
)
def test_numbers_in_names_are_no_limits(frame: str) -> None:
    assert kinds(frame.replace("{}", "1"), frame.replace("{}", "3")) == []


@pytest.mark.parametrize(
    ("frame", "found"),
    [
        ("Keep {} copies of each record of the plant.", ["limit"]),
        ("The number of copies of each record is set to {}.", ["limit"]),
        ("The keeper of the plant shall hold {} copies of each record.", ["limit"]),
        ("The keeper of the Harbour Plant shall hold {} copies.", ["limit"]),
    ],
)
def test_other_numbers_are_limits(frame: str, found: list[str]) -> None:
    assert kinds(frame.format(3), frame.format(5)) == found


@pytest.mark.parametrize(
    ("one", "other", "found"),
    [
        ("Internal scans of the plant are run.", "External scans of the plant are run.", []),
        ("The public keys of the hosts shall be kept.", "The private keys of the hosts shall be kept.", []),
        ("The tool shall log internal faults of it.", "The tool shall log external faults of it.", []),
        ("Set of the wall: Private: Logging: on", "Set of the wall: Public: Logging: on", []),
        ("The list of hosts shall be public.", "The list of hosts shall be private.", ["contradiction"]),
        ("If the gate is open, the lamp shall be lit.", "If the gate is closed, the lamp shall be lit.", []),
        ("Ensure that the remote log is enabled.", "Ensure that the remote log is disabled.", ["contradiction"]),
        ("The owner of /etc/gate is root here.", "The owner of /etc/gate- is root here.", []),
    ],
)
def test_opposite_words_that_tell_things_apart_contradict_nothing(one: str, other: str, found: list[str]) -> None:
    assert kinds(one, other) == found


@pytest.mark.parametrize(
    ("special", "found"),
    [
        ("The pass phrase of a grown user shall have at least 12 letters.", []),
        ("The pass phrase of a grown user shall have at least 6 letters.", ["limit"]),
        ("The pass phrase of a user other than that shall have at least 6 letters.", []),
        ("The pass phrase of a user shall have 9 letters.", []),
        ("The pass phrase of a user shall have 6 letters.", ["limit"]),
    ],
)
def test_a_special_case_contradicts_only_what_it_does_not_keep(special: str, found: list[str]) -> None:
    general = "The pass phrase of a user shall have at least 8 letters, and be kept in the safe of the plant."
    assert kinds(general, special.replace("letters.", "letters, and be kept in the safe of the plant.")) == found


def test_the_number_of_a_clause_before_its_words_is_no_limit() -> None:
    assert kinds("7.3 Ensure that logs of the plant exist.", "9.10 Ensure that logs of the plant exist.") == [
        "duplicate"
    ]
    assert kinds("5.5 kW shall be the power of the pump.", "7.5 kW shall be the power of the pump.") == ["limit"]


def test_a_demand_of_limits_alone_is_compared() -> None:
    assert kinds("5 mm to 9 mm", "5 mm to 9 mm") == ["duplicate"]
