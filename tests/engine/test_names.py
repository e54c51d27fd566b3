"""Identifiers of a question are distinguished from its words, and passages with them come first."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from knowledge_mcp.engine.core.base import Passages
from knowledge_mcp.engine.search.by_name import names_asked, pinned
from knowledge_mcp.language import names
from knowledge_mcp.language.glossary.questions import term_in_question
from knowledge_mcp.language.names import Exactness, exactness, names_in_question
from knowledge_mcp.model.chunk import Chunk
from knowledge_mcp.model.query import Equals, RequirementQuery, SearchMode, SearchQuery
from knowledge_mcp.surfaces.standards.passages import doubt_about_topic
from tests.engine.world import World

TRACED = """# Traced requirements

## 5 Alarms

### 5.3 Reports

Reports are sent by radio, see 5.3.1 and REQ-12.

### 5.3.1 Outages

REQ-12 The controller shall report every outage.

REQ-1 The controller shall have a clock.

### 5.3.10 Clocks

The clock of REQ-1.2 shall be exact to 99.9 percent; `sync_clock` sets it as REQ-12 needs.
"""

CLOSING = """# FR 1

The valve shall close.
"""

OPENING = """# FR 11

The valve shall open, unlike FR 1 says, and FR 1 says much.
"""


TERMS = """# Words of stations

## 1 Terms and definitions

### 1.1 outage

period in which nothing is moved by the works, for whatever cause

### 1.2 duty pump

machine that runs under normal load

## 2 Abbreviations

| Abbreviation | Meaning |
| --- | --- |
| OC | outage clerk |
| DP | duty pump |

## 3 Outage reports

An outage is told by the outage clerk; each outage has a number, and an outage without one is no outage.
"""


PLANT = """# ABC 4100:2025 Plants

ABC 4100:2025 is the first edition.

## 6 Supply

### 6.3 Batteries

A cell weighs 15 kg at most, as ABC 4120:2025, 6.3 repeats; see ABC 4120.

## 7 Data

The rates of table 2 are those of Table 2, and Table 2 tells no other.

## Annex A (normative) Test of batteries

The cell is emptied for a day.
"""

GUIDE = """# ABC 4120:2025 Guide

## 6 Results

### 6.3 Batteries

A cell is weighed as ABC 4100:2025, 6.3 and Annex A demand, and as Table 2 tells of batteries.

Table 2 Weights

| Cell | Weight |
| --- | --- |
| large | 15 kg |
"""


@pytest.fixture(scope="module")
def named(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Ingest two documents that cite each other by designation."""
    return World(tmp_path_factory.mktemp("named")).holding({"plant.md": PLANT, "guide.md": GUIDE})


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Ingest four documents once."""
    return World(tmp_path_factory.mktemp("world")).holding(
        {"traced.md": TRACED, "closing.md": CLOSING, "opening.md": OPENING, "terms.md": TERMS}
    )


@pytest.mark.parametrize(
    ("question", "identifiers"),
    [
        ("5.3.1", ["5.3.1"]),
        ("clause 5", ["5"]),
        ("§ 4.2", ["4.2"]),
        ("What does REQ-12 require?", ["REQ-12"]),
        ("(AC-2(3))", ["AC-2(3)"]),
        ("FR 1", ["FR 1"]),
        ("show me SRS5.12.2.1.", ["SRS5.12.2.1"]),
        ("where is sync_clock defined", ["sync_clock"]),
        ("Desk.search()", ["Desk.search()"]),
    ],
)
def test_a_question_that_asks_for_nothing_but_a_name_is_reported(question: str, identifiers: list[str]) -> None:
    asked = names_in_question(question)
    assert [each.text for each in asked.names] == identifiers
    assert asked.alone


@pytest.mark.parametrize(
    "question",
    ["flow at Mach number 2.5 in tubes", "how many points", "fix compile error from #2572", "what is it about", ""],
)
def test_numbers_and_plain_words_are_no_names(question: str) -> None:
    assert names_in_question(question).names == ()


def test_among_other_words_a_number_counts_only_as_that_of_a_clause() -> None:
    asked = names_in_question("does section 3.2 apply at 4.5 bar and REQ-7?")
    assert [each.text for each in asked.names] == ["3.2", "REQ-7"]
    assert not asked.alone


@pytest.mark.slow
@given(st.one_of(st.text(max_size=60), st.text("aAb120_-.:/()[]#>$ \u0130\u00df\u0663\u2010", max_size=9)))
@example("a$3()")
@example("b0_()")
@example("A/_2")
@example("\u01303a")  # folded, it has a mark of its own between its parts
@example("AC-2(3)(a)")
def test_any_question_can_be_read(question: str) -> None:
    asked = names_in_question(question)
    assert len(asked.names) <= 3
    assert all(each.pattern.search(each.key) for each in asked.names)


@pytest.mark.parametrize("text", ["as AC-2(3)(a) says", "see ac-2(3)(a).", "of AC 2 3 a"])
def test_a_name_with_a_part_in_brackets_after_another_is_found(text: str) -> None:
    (name,) = names_in_question("AC-2(3)(a)").names
    assert name.pattern.search(text)
    assert not name.pattern.search("of AC-2(3) alone")


def _by_clause(world: World, number: str) -> Chunk:
    chunks = world.store.open("kb").chunks("document", ["traced"])
    return next(chunk for chunk in chunks if chunk.clause_number == number)


def test_how_a_passage_bears_a_name_is_distinguished(world: World) -> None:
    (clause,) = names_in_question("5.3.1").names
    assert exactness(_by_clause(world, "5.3.1"), clause) is Exactness.OWN
    assert exactness(_by_clause(world, "5.3"), clause) is Exactness.MENTIONED
    assert exactness(_by_clause(world, "5.3.10"), clause) is Exactness.ABSENT
    (requirement,) = names_in_question("REQ-12").names
    assert exactness(_by_clause(world, "5.3.1"), requirement) is Exactness.OWN
    assert exactness(_by_clause(world, "5.3.10"), requirement) is Exactness.MENTIONED
    (shorter,) = names_in_question("REQ-1").names
    assert exactness(_by_clause(world, "5.3.1"), shorter) is Exactness.OWN
    assert exactness(_by_clause(world, "5.3.10"), shorter) is Exactness.ABSENT
    headed = dataclasses.replace(_by_clause(world, "5.3"), section_title="REQ-12 Reports")
    assert exactness(headed, requirement, Exactness.HEADING) is Exactness.HEADING
    about = dataclasses.replace(headed, document_title="The stations of REQ-12")  # any section may begin with it
    assert exactness(about, requirement, Exactness.HEADING) is Exactness.ABSENT
    called = dataclasses.replace(headed, context="REQ-12: Stations > 5 Alarms\nREQ-99 | REQ-98")
    assert exactness(called, requirement, Exactness.HEADING) is Exactness.ABSENT
    (beside,) = names_in_question("REQ-99").names
    headed = dataclasses.replace(called, section_title="REQ-99 Clocks")
    assert exactness(headed, beside, Exactness.HEADING) is Exactness.HEADING


@pytest.mark.parametrize("mode", [SearchMode.HYBRID, SearchMode.KEYWORD])
@pytest.mark.parametrize(
    ("question", "clause"), [("5.3.1", "5.3.1"), ("clause 5.3.10", "5.3.10"), ("What does REQ-12 say?", "5.3.1")]
)
def test_the_passage_that_is_asked_for_by_name_comes_first(
    world: World, question: str, clause: str, mode: SearchMode
) -> None:
    hits = world.knowledge.search(SearchQuery(question, mode=mode)).hits
    assert hits[0].chunk.clause_number == clause
    assert hits[0].score == 1.0
    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True)
    assert len({hit.chunk.id for hit in hits}) == len(hits)


def test_a_title_that_is_the_name_goes_before_one_that_begins_like_it(world: World) -> None:
    hits = world.knowledge.search(SearchQuery("FR 1")).hits
    assert [hit.chunk.document_title for hit in hits[:2]] == ["FR 1", "FR 11"]
    assert world.knowledge.search(SearchQuery("FR01")).hits[0].chunk.document_title == "FR 1"
    assert world.knowledge.search(SearchQuery("FR 11")).hits[0].chunk.document_title == "FR 11"


def test_a_name_keeps_within_the_filter_and_the_limit(world: World) -> None:
    hits = world.knowledge.search(SearchQuery("5.3.1", filter=Equals("document_id", "closing"))).hits
    assert all(hit.chunk.document_id == "closing" for hit in hits)
    assert len(world.knowledge.search(SearchQuery("5.3.1", limit=2)).hits) == 2


def test_a_question_without_a_name_keeps_its_ranking(world: World) -> None:
    ranked, asked = [("a", 0.5, None, None)], names_asked(world.base, "who reports an outage")
    assert pinned(world.base, Passages(world.base), asked, None, ranked, 10) == ranked


def test_beside_other_words_only_the_owner_of_a_name_is_put_first(world: World) -> None:
    first = world.knowledge.search(SearchQuery("how exact is the clock that REQ-12 asks for")).hits[0]
    assert first.chunk.clause_number == "5.3.1"


@pytest.mark.parametrize("mode", [SearchMode.HYBRID, SearchMode.KEYWORD])
@pytest.mark.parametrize(("others", "first"), [(2, "XP-7 at a glance"), (12, "Currents")])
def test_a_heading_with_a_name_of_which_every_passage_speaks_is_not_put_first(
    tmp_path: Path, others: int, first: str, mode: SearchMode
) -> None:
    parts = [f"## Part {number}\n\nRegister {number} of the XP-7 holds a byte." for number in range(others)]
    text = "\n\n".join(
        ["# Clock", "## XP-7 at a glance", "A clock for boards.", "## Currents", "Standby current of 200 uA.", *parts]
    )
    world = World(tmp_path).holding({"clock.md": text})
    hits = world.knowledge.search(SearchQuery("XP-7 standby current", mode=mode)).hits
    assert hits[0].chunk.section_title == first


is_coded: re.Pattern[str] = vars(names)["_CODED"]
OLD_CODED = re.compile(r"(?=.*\d)(?=.*[A-Za-z])\w+(?:[-_.:/‐‑]\w+|\(\w{1,4}\))*")


@pytest.mark.slow
@settings(max_examples=2000, deadline=None)
@given(st.text("a1_-.:/()‐é", max_size=9))
def test_the_same_words_are_identifiers_as_before_the_pattern_was_made_linear(token: str) -> None:
    assert (is_coded.fullmatch(token) is None) == (OLD_CODED.fullmatch(token) is None)


@pytest.mark.slow
@pytest.mark.parametrize("word", ["a1" + "_" * 50_000 + "!", "REQ_" + "_1" * 25_000 + "(", ")" * 50_000, "a-0" * 99])
def test_a_question_of_one_endless_word_is_read_at_once(word: str) -> None:
    for name in names_in_question(word).names:
        assert name.pattern.search("a" + "0" * 50_000 + "x") is None


@pytest.mark.parametrize(
    ("question", "term"),
    [
        ("What is an outage?", "outage"),
        ("what does “duty pump” mean?", "duty pump"),
        ("What's the definition of the term outage?", "outage"),
        ("Define duty pump.", "duty pump"),
        ("What is meant by a duty pump?", "duty pump"),
        ("Was bedeutet der Begriff Böe?", "Böe"),
        ("Qu’est-ce qu’une rafale ?", "rafale"),
        ("¿Qué significa ráfaga?", "ráfaga"),
        ("What is the outage?", "the outage"),
        ("How is an outage reported?", ""),
    ],
)
def test_the_term_of_a_question_for_its_meaning_is_reported(question: str, term: str) -> None:
    assert term_in_question(question) == term


@pytest.mark.parametrize("mode", [SearchMode.HYBRID, SearchMode.KEYWORD])
def test_the_passage_that_defines_a_term_comes_before_those_that_only_use_it(world: World, mode: SearchMode) -> None:
    named = world.knowledge.search(SearchQuery("What are outages?", mode=mode)).hits
    assert (named[0].chunk.clause_number, named[0].score) == ("1.1", 1.0)
    assert all(hit.score < 0.93 for hit in named[1:])
    assert len({hit.chunk.id for hit in named}) == len(named)
    using = world.knowledge.search(SearchQuery("outage reports", mode=mode)).hits
    assert using[0].chunk.clause_number == "3"
    assert using[0].score < 0.93


def test_a_definition_keeps_within_the_filter_and_waits_where_a_weight_is_named(world: World) -> None:
    elsewhere = SearchQuery("What is an outage?", filter=Equals("document_id", "traced"))
    assert {hit.chunk.document_id for hit in world.knowledge.search(elsewhere).hits} == {"traced"}
    weighed = world.knowledge.search(SearchQuery("What is an outage?", weight=0.0)).hits
    assert weighed[0].chunk.clause_number == "3"
    assert len(world.knowledge.search(SearchQuery("What is an outage?", limit=1)).hits) == 1


def test_an_abbreviation_is_recognised_by_its_list_and_what_it_stands_for_is_not(world: World) -> None:
    hits = world.knowledge.search(SearchQuery("What does OC stand for?")).hits
    assert (hits[0].chunk.clause_number, hits[0].score) == ("2", 1.0)
    assert world.knowledge.search(SearchQuery("What is an outage clerk?")).hits[0].score < 1.0


@pytest.mark.parametrize(
    ("question", "document", "clause"),
    [
        ("ABC 4100:2025, 6.3", "plant", "6.3"),
        ("ABC 4120:2025, 6.3", "guide", "6.3"),
        ("What does ABC 4100, 6.3 require of batteries?", "plant", "6.3"),
        ("clause 6.3 of ABC 4120", "guide", "6.3"),
        ("Annex A", "plant", "A"),
        ("Is Annex A of ABC 4100 normative?", "plant", "A"),
        ("table 2 of ABC 4100", "plant", "7"),
    ],
)
def test_a_clause_is_that_of_the_document_named_beside_it(
    named: World, question: str, document: str, clause: str
) -> None:
    first = named.knowledge.search(SearchQuery(question)).hits[0]
    assert (first.chunk.document_id, first.chunk.clause_number) == (document, clause)
    assert first.score > 0.93


def test_a_document_asked_for_by_designation_alone_begins_with_its_opening(named: World) -> None:
    for question in ("ABC 4120", "ABC 4120:2025"):
        hits = named.knowledge.search(SearchQuery(question)).hits
        assert (hits[0].chunk.document_id, hits[0].chunk.index) == ("guide", 0)


def test_a_table_asked_for_by_its_number_is_the_one_with_that_caption(named: World) -> None:
    captioned, mentioning = named.knowledge.search(SearchQuery("table 2")).hits[:2]
    assert "Table 2 Weights" in captioned.chunk.content
    assert mentioning.chunk.clause_number == "7"
    assert captioned.score > mentioning.score


def test_a_clause_that_the_named_document_has_not_is_not_taken_from_another(named: World) -> None:
    assert named.knowledge.search(SearchQuery("ABC 4120:2025, 7")).hits[0].score < 0.93


NOWHERE = "was not found in the searched documents; the results match other words or parts of it."


@pytest.mark.parametrize("mode", [SearchMode.HYBRID, SearchMode.KEYWORD])
@pytest.mark.parametrize(
    ("question", "missing"),
    [
        ("REQ-9999", ["REQ-9999"]),
        ("What does REQ-2 say of the clock?", ["REQ-2"]),
        ("Is REQ-12 like REQ-99 or QRS-7?", ["REQ-99", "QRS-7"]),
        ("ABC 99999 reports", ["ABC 99999"]),
        ("what clause 5.4 says", ["Clause 5.4"]),
        ("what clause 9 says of the clock", ["Clause 9"]),
        ("What does clause 99.9 require?", ["Clause 99.9"]),
        ("99.9", []),
        ("reports of table 7", ["table 7"]),
        ("sync_valve of the clock", ["sync_valve"]),
        ("REQ-1", []),
        ("the clock of REQ-1.2", []),
        ("FR01 of the valve", []),
        ("what clause 5 says of reports", []),
        ("clause 5.3.10", []),
        ("sync_clock", []),
        ("a 24-hour clock in FY2023 and Q2", []),
        ("who reports an outage", []),
    ],
)
def test_an_identifier_that_stands_nowhere_is_reported(
    world: World, question: str, missing: list[str], mode: SearchMode
) -> None:
    answer = world.knowledge.search(SearchQuery(question, mode=mode))
    assert answer.hits
    assert answer.notes == tuple(f"{each} {NOWHERE}" for each in missing)


@pytest.mark.parametrize("question", [".NET 4.8.1", "NET 4.8.1", "What is -RPT-77 for?", "RPT-77"])
def test_an_identifier_behind_a_dot_or_a_dash_is_found(tmp_path: Path, question: str) -> None:
    world = World(tmp_path).holding({"net.md": "# Platforms\n\nThe report -RPT-77 is written with .NET 4.8.1 only.\n"})
    assert world.knowledge.search(SearchQuery(question)).notes == ()
    assert world.knowledge.search(SearchQuery("T-77")).notes == (f"T-77 {NOWHERE}",)


@pytest.mark.parametrize("question", ["__init__", "What does __init__() return?", "valve.__init__"])
def test_a_name_keeps_its_double_underscores(tmp_path: Path, question: str) -> None:
    world = World(tmp_path).holding({"code.md": "# Code\n\nThe method `valve.__init__` returns nothing at all.\n"})
    assert world.knowledge.search(SearchQuery(question)).notes == ()


def test_an_identifier_is_looked_for_within_the_filter_and_beside_a_weight(world: World) -> None:
    closing = Equals("document_id", "closing")
    for weight in (None, 0.7):
        query = SearchQuery("REQ-12 of the valve", filter=closing, weight=weight)
        assert world.knowledge.search(query).notes == (f"REQ-12 {NOWHERE}",)
    assert world.knowledge.search(SearchQuery("REQ-12 of the valve", weight=0.7)).notes == ()
    nothing = world.knowledge.search(SearchQuery("QRS-9999", mode=SearchMode.KEYWORD))
    assert (nothing.hits, nothing.note) == ((), "QRS-9999 was not found in the searched documents.")


def test_a_designation_is_held_by_its_document_and_begins_longer_ones(named: World) -> None:
    for held in ("ABC 4100", "what ABC 4120:2025 says of cells", "ABC 4100:2025, 6.3", "clause 6.3 of ABC 4120"):
        assert named.knowledge.search(SearchQuery(held)).notes == ()
    other = named.knowledge.search(SearchQuery("what ABC 4100:2031 says of cells"))
    assert other.notes == (f"ABC 4100:2031 {NOWHERE}",)
    (result,) = named.knowledge.search(SearchQuery("ABC 4120:2025, 7")).notes
    assert result.startswith("Clause 7 was not found in the document in the question;")


@pytest.mark.parametrize(
    ("question", "first", "missing"),
    [
        ("ABC.3.2 A11", "encrypted", ""),
        ("What does A1 of ABC.3.2 say?", "configured", ""),
        ("ABC.3.2 A12", "", "A12"),
        ("Regulation (EU) 2031/77 Article 9(4)(c)", "limit access", ""),
        ("Regulation (EU) 2031/77 Article 9(4)(x)", "", "9(4)(x)"),
        ("ISO 4120 A.8.24", "cryptography", ""),
        ("ISO 4120 Annex A 8.24", "cryptography", ""),
        ("ISO 4120 A.8.25", "", "Clause A.8.25"),
        ("ABC SP 77 DE-2 (1)", "by itself", ""),
    ],
)
def test_a_place_that_has_no_heading_is_found_in_the_document_named(
    tmp_path: Path, question: str, first: str, missing: str
) -> None:
    world = World(tmp_path).holding(
        {
            "abc32.md": "# ABC.3.2 Servers\n\n## ABC.3.2.A1 Setup\n\nServers shall be configured.\n\n"
            "## ABC.3.2.A11 Keys\n\nTraffic shall be encrypted.\n",
            "law.md": "# Regulation (EU) 2031/77\n\n## Article 9 Protection\n\n4. Banks shall:\n\n(b) plan;\n\n"
            "(c) limit access to their vaults.\n",
            "iso.md": "# ISO 4120:2031 Security\n\n## Annex A Controls\n\n| No. | Control |\n|---|---|\n"
            "| 8.24 | Rules of cryptography shall be set. |\n",
            "sp.md": "# ABC SP 77 Controls\n\n## DE-2 Accounts\n\nAccounts shall be listed.\n\n"
            "### DE-2(1) Automation\n\nThe list shall be kept by itself.\n",
        }
    )
    answer = world.knowledge.search(SearchQuery(question))
    assert first in answer.hits[0].chunk.content
    assert [each.partition(" was not found")[0] for each in answer.notes] == ([missing] if missing else [])


def test_a_topic_with_an_identifier_that_no_requirement_has_says_so(world: World) -> None:
    known = world.knowledge.requirements(RequirementQuery("REQ-12"))
    assert known.notes == ()
    answer = world.knowledge.requirements(RequirementQuery("REQ-77"))
    assert answer.hits
    message, suggestions = doubt_about_topic("REQ-77", answer)
    assert message == f"REQ-77 {NOWHERE}"
    assert suggestions
