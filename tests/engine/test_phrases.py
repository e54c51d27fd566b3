"""Quoted words stand together, a question printed word for word is first, a section headed by what is named as well."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from knowledge_mcp.language.phrases import VerbatimMatcher, phrases_in, runs_of_question
from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.model.query import Equals, SearchAnswer, SearchMode, SearchQuery
from knowledge_mcp.ports import Store
from knowledge_mcp.stores.memory import MemoryStore
from knowledge_mcp.stores.sqlite.store import SqliteStore
from tests.engine.world import World

HOURS = """# Site rules

## 1 Noise

Work is allowed from 6 am to 6 pm on weekdays.

## 2 Shifts

At 6 pm the shift ends; 6 am begins the next. The 6 workers of 6 am are told so at 6 pm, and those of 6 pm at 6 am.

## 3 Faults

### E1001 Overheat

Stop the motor, and let it cool.

### E1002 Undervoltage

Check the supply.

## 4 Operating

What the operator does on an error depends on its code, for instance E1001: the operator acts on every error.

## 5 Moving

The motor may be moved by two persons after it was let down, with belts that carry its whole weight at once.
"""


@pytest.fixture(params=["memory", "sqlite"])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    """Ingest one document into each kind of store."""
    store: Store = MemoryStore(EnglishAnalyser())
    if request.param == "sqlite":
        store = SqliteStore(tmp_path / "kb.sqlite", EnglishAnalyser())
    made = World(tmp_path / "files", store=store).holding({"rules.md": HOURS})
    yield made
    store.close()


def headings(answer: SearchAnswer) -> list[str]:
    """List the headings of what was found."""
    return [hit.chunk.section_title for hit in answer.hits]


BY_WORDS = (SearchMode.HYBRID, SearchMode.KEYWORD)


@pytest.mark.parametrize("mode", BY_WORDS)
def test_quoted_words_stand_together_in_all_that_is_found(world: World, mode: SearchMode) -> None:
    answer = world.knowledge.search(SearchQuery('"6 am to 6 pm"', mode=mode))
    assert headings(answer) == ["Noise"]
    assert (answer.note, answer.degraded) == ("", ())
    asked = world.knowledge.search(SearchQuery("When may one work, “6 am to 6 pm”?", mode=mode))
    assert headings(asked) == ["Noise"]


@pytest.mark.parametrize("mode", BY_WORDS)
def test_a_single_word_in_quotation_marks_within_a_sentence_excludes_nothing(world: World, mode: SearchMode) -> None:
    loosely = world.knowledge.search(
        SearchQuery('What does the operator do when a motor is "overheated" or "let" go?', mode=mode)
    )
    plainly = world.knowledge.search(
        SearchQuery("What does the operator do when a motor is overheated or let go?", mode=mode)
    )
    assert (headings(loosely), loosely.note) == (headings(plainly), "")
    assert headings(world.knowledge.search(SearchQuery('"belts"', mode=mode))) == ["Moving"]


def test_a_named_weight_ranks_only_what_says_the_quoted_words(world: World) -> None:
    assert headings(world.knowledge.search(SearchQuery('"6 pm at 6 am"', weight=0.7))) == ["Shifts"]


def test_quoted_words_that_no_passage_says_are_reported(world: World) -> None:
    result = 'No passage contains "6 am until 7 pm" word for word'
    by_both = world.knowledge.search(SearchQuery('work "6 am until 7 pm"'))
    assert len(by_both.hits) > 1
    assert by_both.note == f"{result}; the results match the separate words."
    by_words = world.knowledge.search(SearchQuery('work "6 am until 7 pm"', mode=SearchMode.KEYWORD))
    assert (by_words.hits, by_words.note) == ((), f"{result}.")


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("zebras", "No passage contains a word of the question; the results are the closest in meaning."),
        ("?", "The question has no word to search for; the results are the closest in meaning."),
        ("zebras on a shift", ""),
    ],
)
def test_results_that_say_no_word_of_the_question_are_called_so(world: World, question: str, expected: str) -> None:
    answer = world.knowledge.search(SearchQuery(question))
    assert (len(answer.hits) > 1, answer.note) == (True, expected)


@pytest.mark.parametrize("question", ["?", '"', "% &"])
def test_a_search_by_words_without_a_word_says_so(world: World, question: str) -> None:
    answer = world.knowledge.search(SearchQuery(question, mode=SearchMode.KEYWORD))
    assert (answer.hits, answer.note) == ((), "The question has no word to search for.")


def test_a_filter_holds_for_quoted_words_too(world: World) -> None:
    elsewhere = SearchQuery('"6 am to 6 pm"', filter=Equals("document_id", "other"))
    assert world.knowledge.search(elsewhere).hits == ()


@pytest.mark.parametrize("mode", BY_WORDS)
def test_a_question_that_is_printed_word_for_word_is_first(world: World, mode: SearchMode) -> None:
    assert headings(world.knowledge.search(SearchQuery("6 am to 6 pm", mode=mode)))[0] == "Noise"
    nearly = "The motor may be moved by three persons after it was let down, with belts that carry its weight"
    answer = world.knowledge.search(SearchQuery(nearly, mode=mode))
    assert headings(answer)[0] == "Moving"
    scores = [hit.score for hit in answer.hits]
    assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize("mode", BY_WORDS)
def test_a_section_that_an_identifier_heads_is_first_for_a_question_that_names_it(
    world: World, mode: SearchMode
) -> None:
    answer = world.knowledge.search(SearchQuery("What does the operator do on error E1001?", mode=mode))
    assert headings(answer)[:2] == ["E1001 Overheat", "Operating"]


def test_a_name_that_heads_many_sections_lifts_none_of_them(tmp_path: Path) -> None:
    world = World(tmp_path)
    sections = "".join(
        f"\n\n## {number + 1} Mice\n\n### IL-6 in case {number}\n\nIt was low in mice." for number in range(4)
    )
    world.write(
        "cases.md", f"# Cases{sections}\n\n## 9 Summary\n\nHow IL-6 responds to heat: it responds to heat much.\n"
    )
    world.ingest()
    assert headings(world.knowledge.search(SearchQuery("how does IL-6 respond to heat")))[0] == "Summary"


@pytest.mark.parametrize(
    ("question", "phrases"),
    [
        ('what is "duty pump" and «gate valve»', ["duty pump", "gate valve"]),
        ("„Nennweite“ is “nominal width”", ["nominal width"]),
        ("„Nennweite“, “width”?", ["Nennweite", "width"]),
        ('one "virtual" system', []),
        ('a 5" pipe and a 3" valve', []),
        ("the operator's pump isn't 'on'", []),
        ('"" "-" " a"', []),
        ('"Duty pump" "duty  pump"', ["duty  pump"]),
    ],
)
def test_phrases_stand_between_double_marks(question: str, phrases: list[str]) -> None:
    assert [each.text for each in phrases_in(question)] == phrases


def test_words_stand_together_within_one_text_whatever_blanks_and_marks_are_between() -> None:
    (phrase,) = phrases_in('"gate valve"')
    assert VerbatimMatcher("A Gate\nvalve.").holds(phrase)
    assert VerbatimMatcher("gate-valve").holds(phrase)
    assert not VerbatimMatcher("gate valves").holds(phrase)
    assert not VerbatimMatcher("the gate", "valve").holds(phrase)
    runs = runs_of_question("two three four five")
    assert VerbatimMatcher("one two three four").share(runs) == 0.5
    assert VerbatimMatcher("one two three four").share(runs, 0.4) == 0.5
    assert VerbatimMatcher("one two three four").share(runs, 0.5) == 0.0
    assert VerbatimMatcher("one two three").share(runs_of_question("one two three")) == 0.0
