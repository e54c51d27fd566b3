"""Searching, looking up, requirements, statistics and health, over documents that were really ingested."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from knowledge_mcp.engine.core.health import EmbeddingProbe, health, verify
from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.model.chunk import Chunk, Vector
from knowledge_mcp.model.collection import CollectionInfo
from knowledge_mcp.model.errors import (
    ConfigError,
    ConnectionFailedError,
    InvalidInputError,
    NotFoundError,
    SpaceMismatchError,
)
from knowledge_mcp.model.query import And, Equals, Filter, In, Prefix, RequirementQuery, SearchMode, SearchQuery
from knowledge_mcp.testing.embedders import HashingEmbedder
from tests.engine.overridden import OverriddenStore
from tests.engine.world import VALVES, World


@pytest.mark.requirement("A-REQ-SEARCH-001", "A-REQ-SEARCH-002")
@pytest.mark.parametrize("mode", list(SearchMode))
def test_each_mode_finds_the_passage_and_cites_its_clause(world: World, mode: SearchMode) -> None:
    answer = world.knowledge.search(SearchQuery("battery hours of the station", mode=mode))
    best = answer.hits[0]
    assert best.chunk.clause_number == "3.1"
    assert best.citation.startswith("Pumping stations (2nd edition), 3.1 Power, line")
    assert all(0.0 <= hit.score <= 1.0 for hit in answer.hits)
    assert answer.mode is mode
    assert answer.degraded == ()


@pytest.mark.requirement("A-REQ-SEARCH-002")
@pytest.mark.parametrize(("weight", "alone"), [(1.0, SearchMode.SEMANTIC), (0.0, SearchMode.KEYWORD)])
def test_a_weight_at_its_end_ranks_as_that_leg_alone(world: World, weight: float, alone: SearchMode) -> None:
    hybrid = world.knowledge.search(SearchQuery("outage of a valve", weight=weight))
    single = world.knowledge.search(SearchQuery("outage of a valve", mode=alone))
    assert [hit.chunk.id for hit in hybrid.hits] == [hit.chunk.id for hit in single.hits]


FILTERS: list[tuple[Filter, Callable[[Chunk], bool]]] = [
    (Equals("document_id", "valves"), lambda c: c.document_id == "valves"),
    (In("document_id", ("pumps", "nothing")), lambda c: c.document_id == "pumps"),
    (Equals("normative", True), lambda c: c.normative),
    (Equals("chunk_type", "definition"), lambda c: c.chunk_type == "definition"),
    (Prefix("clause_number", "3"), lambda c: (c.clause_number or "").split(".")[0] == "3"),
    (And((Equals("document_id", "pumps"), Prefix("clause_number", "3.2"))), lambda c: c.clause_number == "3.2"),
]


@pytest.mark.requirement("A-REQ-SEARCH-003")
@pytest.mark.parametrize(("filter_", "right"), FILTERS)
@pytest.mark.parametrize("mode", list(SearchMode))
def test_filters_hold_in_every_mode(
    world: World, filter_: Filter, right: Callable[[Chunk], bool], mode: SearchMode
) -> None:
    query = SearchQuery("valve pump outage battery station operator", mode=mode, filter=filter_)
    hits = world.knowledge.search(query).hits
    assert hits
    assert all(right(hit.chunk) for hit in hits)


def test_a_blank_question_is_an_error_and_an_empty_base_is_an_empty_answer(world: World, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError):
        world.knowledge.search(SearchQuery("  "))
    empty = World(tmp_path).knowledge
    assert empty.search(SearchQuery("anything")).hits == ()
    assert empty.search(SearchQuery("anything")).searched_documents == 0
    assert empty.lookup("anything").definitions == ()
    assert empty.requirements(RequirementQuery("anything")).hits == ()
    assert empty.stats().statistics.chunks == 0
    assert empty.documents() == []
    assert verify(World(tmp_path).base) == []


def test_a_failing_embedding_service_degrades_a_hybrid_search_and_says_so(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    broken = World(world.folder, store=world.store, embedder=HashingEmbedder(failure=ConnectionFailedError("no route")))
    answer = broken.knowledge.search(SearchQuery("battery"))
    assert answer.mode is SearchMode.KEYWORD
    assert answer.hits
    assert "no route" in answer.degraded[0]
    assert [record.levelname for record in caplog.records if record.message == "search_degraded"] == ["WARNING"]
    with pytest.raises(ConnectionFailedError):
        broken.knowledge.search(SearchQuery("battery", mode=SearchMode.SEMANTIC))


def test_a_wrong_setting_is_never_a_degraded_answer(world: World) -> None:
    broken = World(world.folder, store=world.store, embedder=HashingEmbedder(failure=ConfigError("no model")))
    with pytest.raises(ConfigError):
        broken.knowledge.search(SearchQuery("battery"))
    other = World(world.folder, store=world.store, embedder=HashingEmbedder(model="other"))
    with pytest.raises(SpaceMismatchError):
        other.knowledge.search(SearchQuery("battery"))


def test_hybrid_switched_off_is_semantic_with_a_word_about_it(world: World) -> None:
    plain = World(world.folder, store=world.store, hybrid=False)
    answer = plain.knowledge.search(SearchQuery("battery"))
    assert answer.mode is SearchMode.SEMANTIC
    assert "QDRANT_HYBRID_SEARCH" in answer.degraded[0]


@pytest.mark.requirement("A-REQ-TOOL-002")
@pytest.mark.parametrize("term", ["outage", "Outages", "OUTAGE", " duty  pump", "duty-pump"])
def test_a_term_is_found_whatever_its_spelling_case_or_number(world: World, term: str) -> None:
    answer = world.knowledge.lookup(term)
    assert answer.definitions
    assert "water" in answer.definitions[0].definition.text or "load" in answer.definitions[0].definition.text
    assert "2." in answer.definitions[0].citation
    assert answer.similar_terms == ()


@pytest.mark.requirement("CLARIFY-003")
def test_a_typing_error_leads_to_the_term_that_was_meant(world: World) -> None:
    answer = world.knowledge.lookup("outagge")
    assert answer.definitions == ()
    assert answer.similar_terms[0] == "outage"
    assert world.knowledge.lookup("zzzzqqqq").similar_terms == ()


def test_terms_within_the_one_that_is_asked_for_are_named(world: World) -> None:
    for term in ("what is an outage", "outage and load", "the outages of pumps"):
        assert "outage" in world.knowledge.lookup(term).similar_terms


class Nearest(HashingEmbedder):
    """An embedder to which a question means what it is told to mean."""

    meaning = ""

    def embed_query(self, text: str) -> Vector:
        return super().embed_query(self.meaning or text)


TERMS = """# Terms

## 1 requirement

condition that is to be met

## 2 system requirement

statement of what a whole does

## 3 functional requirement

statement of a function that a whole performs

## 4 milestone

date by which work ends
"""


def _terms(folder: Path) -> World:
    return World(folder, embedder=Nearest()).holding(
        {"terms.md": TERMS.replace("# Terms", "# 3 Terms and definitions").replace("## ", "### 3.")}
    )


@pytest.mark.requirement("CLARIFY-003")
def test_similar_terms_are_typing_errors_first_then_what_is_near_in_meaning_each_once(tmp_path: Path) -> None:
    world = _terms(tmp_path)
    assert isinstance(world.embedder, Nearest)
    world.embedder.meaning = "Terms and definitions system requirement functional requirement statement of a whole"
    near = world.knowledge.lookup("requiremnt").similar_terms
    assert near[0] == "requirement"
    assert set(near) == {"requirement", "system requirement", "functional requirement"}
    assert len(near) == 3


@pytest.mark.requirement("CLARIFY-003")
def test_fewer_than_three_terms_near_in_meaning_are_filled_up_by_spelling(tmp_path: Path) -> None:
    world = _terms(tmp_path)
    assert isinstance(world.embedder, Nearest)
    world.embedder.meaning = "3.4 milestone date by which work ends"
    assert world.knowledge.lookup("requiremnt").similar_terms == ("requirement", "milestone")


@pytest.mark.requirement("CLARIFY-003")
def test_what_is_no_nearer_than_a_half_is_no_similar_term(tmp_path: Path) -> None:
    world = _terms(tmp_path)
    assert isinstance(world.embedder, Nearest)
    world.embedder.meaning = "unrelated words altogether"
    assert world.knowledge.lookup("requiremnt").similar_terms == ("requirement",)


@pytest.mark.requirement("A-REQ-TOOL-003")
def test_requirements_are_single_sentences_with_their_clause_outside_notes(world: World) -> None:
    answer = world.knowledge.requirements(RequirementQuery("report an outage to the operator"))
    best = answer.hits[0]
    assert best.statement.text.startswith("The controller shall report every outage")
    assert best.statement.clause_number == "3.2"
    assert all("shall not be woken" not in hit.statement.text for hit in answer.hits)
    assert all("should" not in hit.statement.text for hit in answer.hits)


@pytest.mark.requirement("A-REQ-TOOL-003")
@pytest.mark.parametrize(
    ("standard", "documents"), [("valve guide", {"valves"}), ("PUMPING", {"pumps"}), ("none", set[str]())]
)
def test_requirements_can_be_kept_to_one_standard(world: World, standard: str, documents: set[str]) -> None:
    answer = world.knowledge.requirements(RequirementQuery("shall", standard=standard))
    assert {hit.chunk.document_id for hit in answer.hits} == documents
    assert set(answer.documents or ()) == documents


def test_an_id_or_a_whole_title_is_not_a_part_of_another_title(tmp_path: Path) -> None:
    boats = "# Canal boats\n\nBoats shall float.\n"
    handbook = "# Handbook of canal boats\n\nBoats shall have a crew of two.\n"
    made = World(tmp_path).holding({"canal-boats.md": boats, "handbook.md": handbook})
    for name, documents in (("canal-boats", 1), ("Canal boats", 1), ("canal", 2)):
        answer = made.knowledge.requirements(RequirementQuery("boats", standard=name))
        assert len(answer.documents or ()) == documents, name


@pytest.mark.requirement("A-REQ-TOOL-005")
def test_statistics_count_what_was_ingested(world: World) -> None:
    stats = world.knowledge.stats()
    assert stats.statistics.documents == len(stats.documents) == 2
    assert stats.statistics.chunks == sum(record.chunk_count for record in stats.documents)
    assert (stats.backend, stats.status, stats.hybrid_enabled) == ("memory", "healthy", True)


class DownStore(OverriddenStore):
    """A store that nobody reaches."""

    def info(self, collection: str, *, counted: bool = False) -> CollectionInfo | None:
        raise ConnectionFailedError("nobody there")


@pytest.mark.requirement("A-REQ-TOOL-006", "CLARIFY-007")
@pytest.mark.parametrize(
    ("slow_ms", "status"), [(0, "healthy"), (499, "healthy"), (500, "degraded"), (900, "degraded")]
)
def test_health_follows_latency_against_the_threshold(world: World, slow_ms: int, status: str) -> None:
    times = iter([0.0, slow_ms / 1000, 0.0, 0.0, 0.001])
    report = health(
        world.base, EmbeddingProbe(world.base, lambda: next(times)), threshold_ms=500, clock=lambda: next(times)
    )
    assert report.status == status
    assert report.vector_store.latency_ms == slow_ms


@pytest.mark.requirement("A-REQ-TOOL-006", "CLARIFY-007")
def test_health_is_unhealthy_when_anything_is_down(world: World, tmp_path: Path) -> None:
    without_store = World(tmp_path, store=DownStore(EnglishAnalyser())).knowledge
    assert without_store.health().status == "unhealthy"
    assert without_store.health().vector_store.message == "nobody there"
    assert without_store.stats().status == "unavailable"
    assert without_store.health().embedding_service.up, "it is the store that does not answer"
    broken = World(world.folder, store=world.store, embedder=HashingEmbedder(failure=ConnectionFailedError("no route")))
    report = broken.knowledge.health()
    assert (report.status, report.vector_store.up, report.embedding_service.up) == ("unhealthy", True, False)


def test_unknown_documents_and_passages_are_not_found_with_a_hint(world: World) -> None:
    with pytest.raises(NotFoundError) as caught:
        world.knowledge.document("valve")
    assert "valves" in caught.value.suggestion
    with pytest.raises(NotFoundError):
        world.knowledge.chunk("00000000-0000-0000-0000-000000000000")
    with pytest.raises(NotFoundError):
        world.knowledge.document_text("valve")


def test_a_chunk_is_found_by_its_id_and_a_removed_document_is_gone(tmp_path: Path) -> None:
    world = World(tmp_path).holding({"valves.md": VALVES})
    first = world.knowledge.document_chunks("valves")[0]
    assert world.knowledge.chunk(first.id)[0] == first
    assert world.knowledge.remove("valves") == 2
    assert world.knowledge.documents() == []
    with pytest.raises(NotFoundError):
        world.knowledge.remove("valves")
