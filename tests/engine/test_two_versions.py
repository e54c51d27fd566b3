"""What an older version tells of a collection that a newer one has indexed."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.model.errors import ConfigError
from knowledge_mcp.model.query import SearchMode, SearchQuery
from knowledge_mcp.stores.sqlite.store import SqliteStore
from knowledge_mcp.testing.embedders import HashingEmbedder
from tests.engine.world import PUMPS, VALVES, World


class Later(EnglishAnalyser):
    """The analyser of a version to come."""

    @property
    def version(self) -> str:
        return "english-9"


def test_the_older_version_answers_by_meaning_and_says_degraded_everywhere(tmp_path: Path) -> None:
    docs, file = tmp_path / "docs", tmp_path / "knowledge.db"
    with closing(SqliteStore(file, EnglishAnalyser())) as store:
        embedder = HashingEmbedder()
        world = World(docs, store=store, embedder=embedder).holding({"pumps.md": PUMPS})
        assert world.knowledge.health().status == "healthy"
        with closing(SqliteStore(file, Later())) as newer:
            newer.open("kb").defined_terms()  # the first use that needs the index
        stats, health = world.knowledge.stats(), world.knowledge.health()
        assert (stats.status, health.status) == ("degraded", "degraded")
        assert [note for note in stats.notes if "newer version" in note]
        assert "newer version" in health.vector_store.message
        answer = world.knowledge.search(SearchQuery("battery for eight hours"))
        assert answer.hits
        assert [note for note in answer.degraded if "newer version" in note]
        with pytest.raises(ConfigError, match="english-9"):
            world.knowledge.search(SearchQuery("battery", mode=SearchMode.KEYWORD))
        world.write("valves.md", VALVES)
        given = len(embedder.documents)
        with pytest.raises(ConfigError, match="english-9"):
            world.ingest()
        assert len(embedder.documents) == given, "passages were paid for that cannot be stored"
