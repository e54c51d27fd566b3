"""What tells a definition from other text under a term's heading, and what entries that point elsewhere become."""

from __future__ import annotations

import pytest

from knowledge_mcp.language.glossary.definitions import find_definitions
from knowledge_mcp.language.glossary.entries import is_defining, is_meaning, without_pointers
from knowledge_mcp.model.chunk import Definition
from knowledge_mcp.model.document import BlockKind, Span
from tests.fakes.documents import Part, build_document


@pytest.mark.requirement("A-REQ-INGEST-003")
@pytest.mark.parametrize(
    ("term", "words"),
    [
        ("pump", "machine that moves water"),
        ("Pump", "A machine that moves water. It is loud."),
        ("Pump", "A pump is a machine."),
        ("Pumps", "In this guide, a pump is a machine."),
        ("Meta-pumps", "A pump that moves pumps is called a meta-pump."),
        ("Pump", "When capitalised, the word “Pump” refers to a machine."),
        ("Pump stroke", "A pump stroke (PS) describes one turn of the wheel."),
        ("Pump", "The machine which is used to move water."),
    ],
)
def test_a_definition_says_what_the_term_is_or_could_stand_in_its_place(term: str, words: str) -> None:
    assert is_defining(term, words)


@pytest.mark.parametrize(
    ("term", "words"),
    [
        ("Colours", "This guide deems all colours alike."),
        ("Pump sizes", "Pump size tables are spread over three clauses."),
        ("Two pumps", "It is possible to run two pumps, where each has its own wheel."),
        ("Lamp codes", "The lamp codes are used to tell what happened."),
        ("Noise", "Operators should wear ear muffs."),
    ],
)
def test_other_text_under_a_heading_defines_nothing(term: str, words: str) -> None:
    assert not is_defining(term, words)


@pytest.mark.parametrize(
    ("words", "meaning"),
    [("#pump", False), ("https://example.org/p", False), ("=", False), ("a 5", False), ("old pump", True)],
)
def test_signs_numbers_and_links_are_no_meanings(words: str, meaning: bool) -> None:
    assert is_meaning(words) is meaning


def _entry(term: str, text: str, at: int) -> Definition:
    return Definition(term, text, Span(at, at + 1))


def test_an_entry_that_points_at_another_becomes_its_other_name() -> None:
    found = without_pointers(
        [
            _entry("AWP", "See Automatic water pump.", 0),
            _entry("automatic water pump", "pump that starts by itself", 1),
            _entry("hose", "see garden tools", 2),
            _entry("tap", "See tap.", 3),
        ]
    )
    assert [(each.term, each.aliases) for each in found] == [
        ("automatic water pump", ("AWP",)),
        ("hose", ()),
        ("tap", ()),
    ]


def test_entries_that_point_at_each_other_stay() -> None:
    pair = [_entry("tap", "See cock.", 0), _entry("cock", "See tap.", 1)]
    assert without_pointers(pair) == pair


def _glossary(count: int) -> list[Part]:
    parts = [Part(BlockKind.HEADING, "Glossary", 1)]
    for number in range(count):
        parts += [Part(BlockKind.HEADING, f"Word {chr(97 + number)}", 2)]
        parts += [Part(BlockKind.PARAGRAPH, "Operators should wear ear muffs.")]
    return parts


def test_many_headings_of_a_glossary_are_entries_whatever_stands_below_them() -> None:
    assert find_definitions(build_document(_glossary(3))) == []
    assert len(find_definitions(build_document(_glossary(16)))) == 16


def test_a_term_that_begins_like_a_clause_number_is_read_whole_among_terms_without_numbers() -> None:
    parts = [Part(BlockKind.HEADING, "Glossary", 1)]
    for number, title in ((None, "pump"), ("X.5", "pump"), (None, "tap")):
        parts += [Part(BlockKind.HEADING, title, 2, number), Part(BlockKind.PARAGRAPH, "thing that moves water")]
    assert [d.term for d in find_definitions(build_document(parts))] == ["pump", "X.5 pump", "tap"]
