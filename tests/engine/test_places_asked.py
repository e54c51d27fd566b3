"""A clause, table or annex is found by every usual form of its name, in the document that the question describes."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from pathlib import Path

import pytest

from knowledge_mcp.engine.core.base import Base
from knowledge_mcp.engine.core.designations import Directory
from knowledge_mcp.engine.search.search import search
from knowledge_mcp.language.names import names_in_question
from knowledge_mcp.model.query import SearchQuery
from tests.engine.world import World

HANDBOOK = """# KLM 4110:2025 Handbook for siting of masts

## 5 Foundations

### 5.2 Depth

A foundation is eighty centimetres deep.

Table 2 — Depth of foundations

| Ground | Depth |
| --- | --- |
| sand | 120 cm |
"""

GUIDE = """# KLM 4120:2025 Guide to quality control

## 5 Neighbours

### 5.2 Median

A value is compared with the median of its neighbours, unlike in table 2 of the handbook for siting.

Table 2 — Limits of a step

| Quantity | Step |
| --- | --- |
| wind | 15 m/s |

## Annex A (normative) Forms

The form is filled in twice.

### A.2 Copies

One copy stays with the observer.

### A.3 Storage

Forms are kept for ten years.
"""


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Ingest two documents with the same numbers of clauses and tables."""
    return World(tmp_path_factory.mktemp("shelf")).holding({"siting.md": HANDBOOK, "quality.md": GUIDE})


@pytest.mark.parametrize(
    ("question", "document", "words"),
    [
        ("table 2 of the siting handbook", "siting", "Depth of foundations"),
        ("What is in Tab. 2 of the quality control guide?", "quality", "Limits of a step"),
        ("siting handbook, Tabelle 2", "siting", "Depth of foundations"),
        ("section 5.2 of the guide", "quality", "median"),
        ("klm4110 sect. 5.2", "siting", "eighty"),
        ("4120 § 5.2", "quality", "median"),
        ("Abschnitt 5.2 KLM 4110", "siting", "eighty"),
        ("App. A of the quality control guide", "quality", "filled in twice"),
        ("Anhang A", "quality", "filled in twice"),
        ("Annex A2 of the quality control guide", "quality", "stays with the observer"),
        ("KLM 4120 A2", "quality", "stays with the observer"),
        ("clause A3", "quality", "kept for ten years"),
        ("section 2 of annex A", "quality", "stays with the observer"),
        ("section 2 of chapter 5 of the siting handbook", "siting", "eighty"),
        ("KLM 4120, Kapitel 5, Abschnitt 2", "quality", "median"),
    ],
)
def test_the_words_for_a_document_say_which_place_is_asked_for(
    shelf: World, question: str, document: str, words: str
) -> None:
    answer = shelf.knowledge.search(SearchQuery(question))
    first = answer.hits[0]
    assert (first.chunk.document_id, words in first.chunk.content) == (document, True)
    assert first.score > 0.93
    assert answer.notes == ()


@pytest.mark.parametrize("question", ["table 2 and the depth of water", "KLM handbook", "depth and median of 5.2"])
def test_words_that_name_no_single_document_limit_nothing(shelf: World, question: str) -> None:
    found = shelf.knowledge.search(SearchQuery(question)).hits
    assert {each.chunk.document_id for each in found} == {"siting", "quality"}
    assert shelf.knowledge.search(SearchQuery("table 7 of the siting handbook")).notes == (
        "table 7 was not found in the document in the question; the results match other words or parts of it.",
    )


@pytest.mark.parametrize(
    "forms", ["Table 3|tab. 3|Tab.3|Tabelle 3|TABLEAU 3", "Figure 1|fig 1|Abb. 1", "Annex B|App. B"]
)
def test_forms_of_one_name_are_the_same_name(forms: str) -> None:
    (first, *_), *others = [names_in_question(form).names for form in forms.split("|")]
    for (other,) in others:
        assert (other.key, bool(first.pattern.search(other.text))) == (first.key, True)


@pytest.mark.parametrize(
    ("question", "keys"),
    [
        ("section 5.2 of chapter 5", ["5.2"]),
        ("paragraph 2 of article 6", ["2", "6"]),
        ("Which paper is A2?", ["a2"]),
        ("Annex B23", ["b23", "b.23"]),
    ],
)
def test_a_place_by_two_numbers_or_without_its_dot_is_a_clause(question: str, keys: list[str]) -> None:
    assert [each.key for each in names_in_question(question).names] == keys


@pytest.mark.parametrize(
    "question", ["a new tab", "the app a user has", "how many tables are there", "pictures of 3 figs"]
)
def test_words_that_only_resemble_such_names_are_none(question: str) -> None:
    assert names_in_question(question).names == ()


def test_a_question_about_a_clause_that_is_found_has_no_answerability(shelf: World) -> None:
    answer = shelf.knowledge.search(SearchQuery("What does clause A.3 cover?"))
    assert answer.hits[0].chunk.clause_number == "A.3"
    assert answer.answerability is None


@dataclass(frozen=True)
class _Counting(Base):
    """Counts how often a search looks up what a question names."""

    looked_up: list[int] = field(default_factory=list[int], compare=False)

    def directory(self) -> Directory:
        self.looked_up.append(1)
        return super().directory()


def test_what_a_question_names_is_determined_once_in_a_search(shelf: World) -> None:
    parts = {each.name: getattr(shelf.base, each.name) for each in fields(Base) if each.init}
    base = _Counting(**parts)
    assert search(base, SearchQuery("table 2 of the siting handbook")).hits[0].chunk.document_id == "siting"
    assert len(base.looked_up) == 1


def test_a_clause_without_its_dot_that_no_passage_has_is_reported_once(shelf: World) -> None:
    assert shelf.knowledge.search(SearchQuery("clause A9")).notes == (
        "No passage contains a word of the question; the results are the closest in meaning.",
        "A9 was not found in the searched documents; the results match other words or parts of it.",
    )


def test_a_requirement_named_after_its_document_is_found_whole(tmp_path: Path) -> None:
    text = "# APP.3.2 Web server\n\n## 3.1 Basic\n\n### APP.3.2.A11 Encryption\n\nThe server MUST offer TLS.\n"
    world = World(tmp_path).holding({"server.md": text, "other.md": "# APP.4 Files\n\nThe server stores files.\n"})
    answer = world.knowledge.search(SearchQuery("APP.3.2.A11"))
    assert answer.hits[0].chunk.section_title.endswith("Encryption")
    assert answer.notes == ()


def test_a_number_below_the_name_of_its_document_is_found_apart_from_it(tmp_path: Path) -> None:
    rows = "| Id | Demand |\n|---|---|\n| 9.4(c) | Limit access. |\n| 9.4(d) | Check who enters. |\n"
    world = World(tmp_path).holding({"a.md": f"# Companion to WABC\n\n{rows}", "b.md": "# Cells\n\nAccess is free.\n"})
    assert world.knowledge.search(SearchQuery("access by WABC 9.4(c)")).notes == ()
    (note,) = world.knowledge.search(SearchQuery("access by WABC 9.7(c)")).notes
    assert note.startswith("WABC 9.7 was not found")


@pytest.mark.parametrize("question", ["control 7.3", "What is the coverage of control 7.3?", "controls 7.3"])
def test_a_control_heads_its_page_and_begins_its_row(tmp_path: Path, question: str) -> None:
    pages = (
        "# Guide\n\n## Control 7.2\n\nCoverage: none.\n\n## Control 7.3\n\nCoverage: whole.\n\n## Version 7.3\n\nOld.\n"
    )
    rows = "# Controls\n\n| Id | Coverage |\n|---|---|\n| 7.2 | none |\n| 7.3 | whole |\n"
    world = World(tmp_path).holding(
        {"guide.md": pages, "sheet.md": rows, "cells.md": "# Cells\n\nCoverage of 7.3 m.\n"}
    )
    answer = world.knowledge.search(SearchQuery(question))
    first, second = answer.hits[:2]
    assert {first.chunk.section_title, second.chunk.section_title} == {"Control 7.3", "Controls"}
    assert answer.notes == ()
    assert world.knowledge.search(SearchQuery("control 9.9")).notes[-1].startswith("control 9.9 was not found")


def test_a_designation_without_its_first_word_is_the_name_of_a_stored_document(tmp_path: Path) -> None:
    world = World(tmp_path).holding({"nist_800-63b_part5.md": "# 5 Secrets\n\nSecrets SHALL have eight characters.\n"})
    assert world.knowledge.search(SearchQuery("What does SP 800-63B say about secrets?")).notes == ()
    (note,) = world.knowledge.search(SearchQuery("What does SP 800-64C say about secrets?")).notes
    assert note.startswith("SP 800-64C was not found")
