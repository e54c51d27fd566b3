"""Which store is opened when the configured one does not answer (clarification 5)."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from knowledge_mcp.engine.core.opening import StoreCandidate, open_first
from knowledge_mcp.engine.ingest.plan import Pipeline
from knowledge_mcp.engine.knowledge import LocalKnowledge
from knowledge_mcp.engine.search.search import search
from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.model.collection import StoreIdentity
from knowledge_mcp.model.errors import AuthError, ConfigError, ConnectionFailedError, KnowledgeError, TimedOutError
from knowledge_mcp.model.evidence import QuoteQuery, ReadQuery
from knowledge_mcp.model.query import RequirementQuery, SearchQuery
from knowledge_mcp.stores.memory import MemoryHandle, MemoryStore
from knowledge_mcp.support.workers import MadeOnce
from tests.engine.world import World


class Named(MemoryStore):
    """A store that says what it is and fails its first round trip when told to."""

    def __init__(self, name: str, failure: KnowledgeError | None = None) -> None:
        super().__init__(EnglishAnalyser())
        self.name = name
        self._failure = failure
        self.closed = False

    @property
    def identity(self) -> StoreIdentity:
        return StoreIdentity(self.name, "here")

    def open(self, name: str) -> MemoryHandle:
        if self._failure is not None:
            raise self._failure
        return super().open(name)

    def close(self) -> None:
        self.closed = True


def candidates(*stores: Named) -> list[StoreCandidate]:
    """Offer stores in an order."""
    return [
        StoreCandidate(store.identity.backend, lambda store=store: store, (f"{store.identity.backend.upper()}_URL",))
        for store in stores
    ]


@pytest.mark.requirement("CLARIFY-005", "A-REQ-IF-003")
def test_the_configured_store_is_used_when_it_answers() -> None:
    first, second = Named("qdrant"), Named("chromadb")
    assert open_first(candidates(first, second), "kb") == (first, "")


@pytest.mark.requirement("CLARIFY-005", "A-REQ-IF-003")
@pytest.mark.parametrize("failure", [ConnectionFailedError("connection refused"), TimedOutError("no answer in 10 s")])
def test_the_fallback_is_used_with_a_warning_when_it_does_not(
    failure: KnowledgeError, caplog: pytest.LogCaptureFixture
) -> None:
    first, second = Named("qdrant", failure), Named("chromadb")
    with caplog.at_level(logging.WARNING):
        store, reason = open_first(candidates(first, second), "kb")
    assert store is second
    assert first.closed
    assert failure.message in reason
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert "vector_store_fallback" in caplog.text


@pytest.mark.requirement("CLARIFY-005")
def test_no_store_at_all_is_a_connection_error_with_stores_reasons_and_variables() -> None:
    stores = (Named("qdrant", ConnectionFailedError("refused")), Named("chromadb", TimedOutError("too slow")))
    with pytest.raises(ConnectionFailedError) as caught:
        open_first(candidates(*stores), "kb")
    message = f"{caught.value.message} {caught.value.details} {caught.value.suggestion}"
    for word in ("qdrant", "chromadb", "refused", "too slow", "QDRANT_URL", "CHROMADB_URL"):
        assert word in message
    assert all(store.closed for store in stores)


@pytest.mark.parametrize("failure", [AuthError("wrong key"), ConfigError("another layout")])
def test_a_store_that_refuses_is_not_passed_over(failure: KnowledgeError) -> None:
    with pytest.raises(type(failure)):
        open_first(candidates(Named("qdrant", failure), Named("chromadb")), "kb")


def test_a_fallback_that_is_not_installed_counts_as_one_that_cannot_be_had() -> None:
    stores = (Named("qdrant", ConnectionFailedError("refused")), Named("chromadb", ConfigError("not installed")))
    with pytest.raises(ConnectionFailedError, match="qdrant and chromadb"):
        open_first(candidates(*stores), "kb")


@pytest.mark.requirement("CLARIFY-005", "A-REQ-TOOL-005", "A-REQ-TOOL-006")
def test_stats_and_health_say_that_it_is_the_fallback_and_why(tmp_path: Path) -> None:
    from dataclasses import replace

    from knowledge_mcp.engine.core.health import EmbeddingProbe, health, stats

    base = replace(World(tmp_path).base, degraded="qdrant does not answer (refused); chromadb is used instead.")
    assert stats(base).status == "degraded"
    assert stats(base).notes == (base.degraded,)
    report = health(base, EmbeddingProbe(base), threshold_ms=60_000)
    assert (report.status, report.vector_store.up, report.vector_store.message) == ("degraded", True, base.degraded)


ASKED: list[Callable[[LocalKnowledge], object]] = [
    lambda knowledge: knowledge.search(SearchQuery("pumps", collections=("plant",))),
    lambda knowledge: knowledge.search(SearchQuery("pumps")),
    lambda knowledge: knowledge.lookup("pump"),
    lambda knowledge: knowledge.requirements(RequirementQuery("pumps")),
    lambda knowledge: knowledge.verify_quote(QuoteQuery("A pump is greased.")),
    lambda knowledge: knowledge.read(ReadQuery("pumps")),
    lambda knowledge: knowledge.chunk("5e0e2d4c"),
    lambda knowledge: knowledge.documents(),
]


@pytest.mark.parametrize("ask", ASKED)
def test_nothing_in_the_fallback_is_an_error_and_not_an_empty_answer(
    tmp_path: Path, ask: Callable[[LocalKnowledge], object]
) -> None:
    base = replace(World(tmp_path).base, degraded="qdrant does not answer; memory is used instead.")
    with pytest.raises(ConnectionFailedError, match="qdrant does not answer"):
        ask(LocalKnowledge(base, MadeOnce(lambda: cast("Pipeline", None))))


def test_what_the_fallback_has_is_answered_with_the_reason(tmp_path: Path) -> None:
    world = World(tmp_path).holding({"a.md": "# Terms\n\n**pump**: machine that moves a fluid\n"})
    base = replace(world.base, degraded="qdrant does not answer; memory is used instead.")
    found = LocalKnowledge(base, MadeOnce(lambda: cast("Pipeline", None))).lookup("pump")
    assert found.definitions
    assert found.degraded == (base.degraded,)


def test_a_search_says_that_another_store_answers(tmp_path: Path) -> None:
    world = World(tmp_path)
    base = replace(world.base, degraded="qdrant does not answer; memory is used instead.")
    assert search(base, SearchQuery("pumps")).degraded == (base.degraded,), "before anything is there"
    world.write("a.md", "# Pumps\n\nA pump is greased.\n")
    world.ingest()
    found = search(base, SearchQuery("pumps"))
    assert found.hits
    assert found.degraded == (base.degraded,)
    assert search(world.base, SearchQuery("pumps")).degraded == ()
