"""Requirements asked for by identifier, by its beginning and by clause, and gathered as records."""

from __future__ import annotations

import pytest

from knowledge_mcp.engine.search.requirements import RequirementRecord, requirement_records
from knowledge_mcp.language.identifiers import clause_in_topic, identifier_key, identifiers_in_topic, is_below
from knowledge_mcp.model.chunk import Modality
from knowledge_mcp.model.query import RequirementHit, RequirementQuery
from tests.engine.world import PUMPS, World

LIFTS = """# Lift control requirements

## 4 Control

### 4.1 Doors

SRS-4.2 The doors shall obey the lift controller.

SRS-4.2.1 The doors shall open within 3 s. They will not open between floors.

SRS-4.2.2 The doors shall report the following:

- their place;
- their force.

Rationale: nobody shall be hurt.

SRS-4.20 The doors may be painted.

### 4.2 Cabin

[LIFT-7] The cabin shall hold ten persons. Rationale: the building is tall.

### AC-2 ALARMS

AC-2(3): The alarm shall be heard in the lobby.

The guard shall test SRS-4.2.1 weekly.

## 5 Numbers

LFT 1 - The lift shall have a lamp.

LFT 2 - The lift shall have a bell.

LFT 3 - The keys are kept in the lobby.

| Id | Text |
| --- | --- |
| LFT 10 | The lift shall be grey. |

| Requirement 1 | /req/lift/colour |
| --- | --- |
| A | The roof shall be black. |
"""


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Ingest two documents once."""
    return World(tmp_path_factory.mktemp("lifts")).holding({"pumps.md": PUMPS, "lifts.md": LIFTS})


def _asked(world: World, topic: str, limit: int = 10) -> tuple[RequirementHit, ...]:
    return world.knowledge.requirements(RequirementQuery(topic, limit=limit)).hits


@pytest.mark.requirement("A-REQ-TOOL-003")
@pytest.mark.parametrize(
    ("topic", "identifier"),
    [
        ("SRS-4.2.1", "SRS-4.2.1"),
        ("srs-4.2.1", "SRS-4.2.1"),
        ("SRS 4.2.1", "SRS-4.2.1"),
        ("[LIFT-7]", "LIFT-7"),
        ("AC-2(3)", "AC-2(3)"),
        ("LFT01", "LFT 1"),
        ("/req/lift/colour", "/req/lift/colour"),
        ("LFT 10", "LFT 10"),
        ("What does LFT 2 say?", "LFT 2"),
        ("LFT 3", "LFT 3"),
        ("SRS-4.20", "SRS-4.20"),
    ],
)
def test_an_identifier_finds_its_requirement_first_however_it_is_written(
    world: World, topic: str, identifier: str
) -> None:
    best = _asked(world, topic)[0]
    assert (best.statement.identifier, best.score) == (identifier, 1.0)
    assert best.citation.startswith("Lift control requirements")


@pytest.mark.requirement("A-REQ-TOOL-003")
def test_the_beginning_of_an_identifier_finds_what_lies_below_it_and_no_other_number(world: World) -> None:
    hits = [hit for hit in _asked(world, "SRS-4.2", 50) if hit.score >= 0.95]
    named = [hit.statement.identifier for hit in hits]
    assert named[0] == "SRS-4.2"
    assert set(named) == {"SRS-4.2", "SRS-4.2.1", "SRS-4.2.2"}
    assert {hit.statement.identifier for hit in _asked(world, "SRS-4", 50) if hit.score == 0.95} == {
        "SRS-4.2", "SRS-4.2.1", "SRS-4.2.2", "SRS-4.20",
    }  # fmt: skip


@pytest.mark.requirement("A-REQ-TOOL-003")
def test_a_clause_number_finds_the_mandatory_sentences_of_that_clause(world: World) -> None:
    best = _asked(world, "clause 3.2")[0]
    assert (best.statement.clause_number, best.score) == ("3.2", 1.0)
    assert best.statement.text.startswith("The controller shall report")


@pytest.mark.requirement("A-REQ-TOOL-003")
def test_what_is_about_an_identifier_comes_after_what_bears_it(world: World) -> None:
    hits = _asked(world, "SRS-4.2.1")
    mention = next(hit for hit in hits if hit.statement.text == "The guard shall test SRS-4.2.1 weekly.")
    assert mention.score <= 0.9 < hits[0].score


def test_an_identifier_that_nobody_bears_is_a_topic_like_others(world: World) -> None:
    assert all(hit.score < 1.0 or hit.statement.identifier is None for hit in _asked(world, "ISO 9001 battery"))
    assert _asked(world, "ISO 9001 battery")[0].statement.text.startswith("The station shall run on battery")


def test_an_identifier_is_looked_up_in_the_standard_that_is_named(world: World) -> None:
    answer = world.knowledge.requirements(RequirementQuery("SRS-4.2.1", standard="pumping"))
    assert {hit.chunk.document_id for hit in answer.hits} == {"pumps"}


@pytest.mark.parametrize(
    ("topic", "identifiers", "clause"),
    [
        ("battery life of pumps", [], None),
        ("5.3.1", [], "5.3.1"),
        ("Section a.2", [], "A.2"),
        ("A-REQ-TOOL-001", ["A-REQ-TOOL-001"], None),
        ("compare REQ-1 with REQ-2", ["REQ-1", "REQ-2"], None),
        ("load on 2 sides", [], None),
    ],
)
def test_what_looks_like_an_identifier_is_distinguished_from_other_words(
    topic: str, identifiers: list[str], clause: str | None
) -> None:
    assert (identifiers_in_topic(topic), clause_in_topic(topic)) == (identifiers, clause)


def test_identifiers_are_compared_word_by_word() -> None:
    assert identifier_key("FR01") == identifier_key("fr 1")
    assert not is_below(identifier_key("REQ-12"), identifier_key("REQ-1"))
    assert is_below(identifier_key("AC-2(3)"), identifier_key("AC-2"))


def _records(world: World, modalities: frozenset[Modality] | None = None) -> list[RequirementRecord]:
    knowledge = world.knowledge
    chunks, text = knowledge.document_chunks("lifts"), knowledge.document_text("lifts")
    return requirement_records(knowledge.document("lifts"), chunks, text, modalities=modalities)


@pytest.mark.requirement("A-REQ-TOOL-003")
def test_records_hold_all_the_words_of_one_identifier_and_no_reasons(world: World) -> None:
    found = {record.identifier: record for record in _records(world) if record.explicit}
    assert found["SRS-4.2.1"].text == "SRS-4.2.1 The doors shall open within 3 s. They will not open between floors."
    text = found["SRS-4.2.2"].text
    assert text.startswith("SRS-4.2.2 The doors shall report the following:")
    assert "their place" in text
    assert "their force" in text
    assert "hurt" not in text
    assert found["LIFT-7"].text == "[LIFT-7] The cabin shall hold ten persons."
    assert found["LFT 10"].text == "The lift shall be grey."
    assert found["SRS-4.20"].modality is Modality.PERMISSION
    assert found["LFT 3"].modality is Modality.REQUIREMENT


def test_records_say_where_they_stand(world: World) -> None:
    (record,) = [record for record in _records(world) if record.identifier == "SRS-4.2.1"]
    assert (record.clause, record.path[-1]) == ("4.1", "4.1 Doors")
    assert record.citation.startswith("Lift control requirements, 4.1 Doors, lines")
    assert (record.page, record.page_index) == ("", None)


def test_records_can_be_kept_to_one_force(world: World) -> None:
    assert [r.identifier for r in _records(world, frozenset({Modality.PERMISSION}))] == ["SRS-4.20"]


def test_a_statement_without_identifier_is_a_record_of_its_clause(world: World) -> None:
    knowledge = world.knowledge
    chunks, text = knowledge.document_chunks("pumps"), knowledge.document_text("pumps")
    found = requirement_records(knowledge.document("pumps"), chunks, text)
    assert [(r.identifier, r.explicit) for r in found] == [("3.1", False), ("3.2", False)]
