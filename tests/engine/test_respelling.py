"""Words that no passage contains are searched as passages spell them, and the answer says so."""

from __future__ import annotations

import pytest

from knowledge_mcp.engine.search.respelling import respell
from knowledge_mcp.model.query import SearchMode, SearchQuery
from tests.engine.world import World

STATION = """# Stations

## 1 Batteries

A battery may weigh fifteen kilograms at most.

## 2 Clocks

A time stamp states the end of the period; the data logger keeps the clock.

## 3 Gauges

The gauge is levelled, and its windspeed is corrected.

## 4 Radio

Messages are repeated until they have been received.
"""


@pytest.fixture(scope="module")
def station(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Ingest one document."""
    return World(tmp_path_factory.mktemp("station")).holding({"station.md": STATION})


@pytest.mark.parametrize(
    ("question", "clause", "pairs"),
    [
        ("how heavy may a battrey be", "1", {"battrey": "battery"}),
        ("Guage", "3", {"Guage": "gauge"}),
        ("timestamp", "2", {"timestamp": "time stamp"}),
        ("dataloggers", "2", {"dataloggers": "data logger"}),
        ("mesages repeeted", "4", {"mesages": "messages", "repeeted": "repeated"}),
    ],
)
def test_a_word_that_no_passage_contains_is_respelt(
    station: World, question: str, clause: str, pairs: dict[str, str]
) -> None:
    answer = station.knowledge.search(SearchQuery(question))
    assert answer.hits[0].chunk.clause_number == clause
    assert answer.hits[0].lexical is not None
    notes = [f'No passage contains "{word}"; "{other}" was searched instead.' for word, other in pairs.items()]
    assert list(answer.notes) == notes


@pytest.mark.parametrize(
    "question",
    [
        "how heavy may a battery be",
        "batteries",
        "levelling",
        "the colour of the door",  # nothing resembles it
        "BATREY",  # an abbreviation
        'the "battrey" of a station',  # quoted
        "one two three four five six seven eight nine ten eleven twelve battrey",  # long
    ],
)
def test_other_words_stay_as_they_are(station: World, question: str) -> None:
    assert not any("searched instead" in note for note in station.knowledge.search(SearchQuery(question)).notes)


def test_a_search_by_words_uses_exactly_the_given_ones(station: World) -> None:
    answer = station.knowledge.search(SearchQuery("battrey", mode=SearchMode.KEYWORD))
    assert (answer.hits, answer.notes) == ((), ())


def test_only_whole_words_are_replaced() -> None:
    assert respell("clok, clok_speed and clok()", {"clok": "clock"}) == "clock, clok_speed and clok()"
