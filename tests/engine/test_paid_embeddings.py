"""An embedding service that takes money, refuses texts, and must not be asked in vain."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from knowledge_mcp.engine import knowledge
from knowledge_mcp.engine.core.health import PAID_PROBE_SECONDS, EmbeddingProbe, health, verify
from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.model.collection import CollectionInfo, DocumentStatus
from knowledge_mcp.model.errors import ConfigError, ConnectionFailedError, QuotaExceededError
from knowledge_mcp.model.ingest import IngestOptions
from knowledge_mcp.testing.embedders import HashingEmbedder
from tests.engine.overridden import OverriddenStore
from tests.engine.world import PUMPS, VALVES, World


def world_of(tmp_path: Path, embedder: HashingEmbedder) -> World:
    """Make a folder with two documents for an embedder."""
    world = World(tmp_path, embedder=embedder)
    world.write("pumps.md", PUMPS)
    world.write("valves.md", VALVES)
    return world


@pytest.fixture(autouse=True)
def _measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Count passages only, whether or not this process has measured the space's unit, which is embedded once."""
    monkeypatch.setattr(knowledge, "measure_once", id)


@pytest.mark.requirement("CLARIFY-002", "A-REQ-IF-002")
def test_a_refused_passage_is_left_out_and_reported_with_its_place_and_its_id(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    whole = World(tmp_path, embedder=HashingEmbedder()).holding({"pumps.md": PUMPS})
    everything = whole.knowledge.document_chunks("pumps")
    (refused,) = [chunk for chunk in everything if "run on battery" in chunk.content]
    with caplog.at_level(logging.ERROR):
        world = world_of(tmp_path, HashingEmbedder(refused="run on battery"))
        report = world.ingest()
    assert [each.record.id for each in report.documents] == ["pumps", "valves"]
    assert report.failed == ()
    record = world.knowledge.document("pumps")
    assert record.status is DocumentStatus.PARTIAL
    assert "clause 3.1" in record.warnings[-1]
    assert "content filter" in record.warnings[-1]
    assert record.chunk_count == len(everything) - 1
    assert record.token_count == sum(chunk.token_count for chunk in everything) - refused.token_count
    assert world.knowledge.document_chunks("pumps") == [chunk for chunk in everything if chunk.id != refused.id]
    assert refused.id in caplog.text
    assert world.knowledge.document("valves").status is DocumentStatus.READY
    assert verify(world.base) == []


@pytest.mark.requirement("CLARIFY-002")
def test_a_document_of_which_everything_is_refused_fails_and_the_others_are_stored(tmp_path: Path) -> None:
    world = world_of(tmp_path, HashingEmbedder(refused="Valve guide"))
    report = world.ingest()
    assert [each.record.id for each in report.documents] == ["pumps"]
    ((failed),) = report.failed
    assert failed.source.endswith("valves.md")
    assert "refused" in failed.message
    assert [each.id for each in world.knowledge.documents()] == ["pumps"]


def test_the_report_counts_the_billed_tokens_and_what_they_cost(tmp_path: Path) -> None:
    embedder = HashingEmbedder(price=20.0)
    report = world_of(tmp_path, embedder).ingest()
    billed = sum(embedder.count_tokens(text) for text in embedder.documents)
    assert report.billed_tokens == billed > 0
    assert report.cost == pytest.approx(billed * 20.0 / 1e6)
    free = World(tmp_path)
    assert free.ingest().cost == 0.0


def test_a_run_stops_before_it_costs_more_than_it_may_and_continues_with_a_higher_limit(tmp_path: Path) -> None:
    embedder = HashingEmbedder(price=1e6)  # one USD a token
    world = world_of(tmp_path, embedder)
    with pytest.raises(QuotaExceededError, match="limit of 50") as caught:
        world.ingest(IngestOptions(max_cost=50.0))
    assert "--max-cost" in caught.value.suggestion
    assert embedder.usage.tokens <= 50
    report = world.ingest(IngestOptions(max_cost=5000.0))
    assert len(report.documents) == 2


def test_a_limit_without_a_known_price_is_refused_before_anything_is_asked(tmp_path: Path) -> None:
    embedder = HashingEmbedder(price=None)
    with pytest.raises(ConfigError, match="price"):
        world_of(tmp_path, embedder).ingest(IngestOptions(max_cost=1.0))
    assert embedder.documents == []
    assert world_of(tmp_path, embedder).ingest().cost is None


@pytest.mark.requirement("A-REQ-TOOL-006")
def test_a_paid_service_is_asked_for_its_health_once_a_minute_at_most(tmp_path: Path) -> None:
    embedder = HashingEmbedder(price=0.02)
    now = [1000.0]
    probe = EmbeddingProbe(World(tmp_path, embedder=embedder).base, lambda: now[0])
    first = probe.check(500)
    assert (first.up, len(embedder.queries)) == (True, 1)
    now[0] += PAID_PROBE_SECONDS - 1
    second = probe.check(500)
    assert (second.up, second.latency_ms, len(embedder.queries)) == (True, first.latency_ms, 1)
    assert "59 s ago" in second.message
    now[0] += 2
    probe.check(500)
    assert len(set(embedder.queries)) == 2, "asked again, with a text that no cache has seen"


class AwayStore(OverriddenStore):
    """A store that answers when it is let."""

    away = True

    def info(self, collection: str, *, counted: bool = False) -> CollectionInfo | None:
        if self.away:
            raise ConnectionFailedError("nobody there")
        return super().info(collection, counted=counted)


def test_a_store_that_was_away_is_not_told_of_a_paid_service_for_a_minute(tmp_path: Path) -> None:
    store = AwayStore(EnglishAnalyser())
    base = World(tmp_path, store=store, embedder=HashingEmbedder(price=0.02)).base
    probe = EmbeddingProbe(base, lambda: 1000.0)
    assert not health(base, probe, threshold_ms=60_000).vector_store.up
    store.away = False
    report = health(base, probe, threshold_ms=60_000)
    assert (report.status, report.embedding_service.up) == ("healthy", True)


def test_warming_up_pays_nothing(tmp_path: Path) -> None:
    embedder = HashingEmbedder(price=0.02)
    world = world_of(tmp_path, embedder)
    world.ingest()
    billed = embedder.usage.tokens
    world.knowledge.warm_up()
    assert (embedder.usage.tokens, embedder.loads) == (billed, 1)
