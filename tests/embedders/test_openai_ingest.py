"""Ingests through the paid embedder with faults in the middle: no chunk is lost, doubled or paid for twice."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from knowledge_mcp.engine import knowledge
from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.model.errors import AuthError, ConnectionFailedError, KnowledgeError, QuotaExceededError
from knowledge_mcp.ports import Store
from knowledge_mcp.stores.memory import MemoryStore
from tests.embedders.remote_world import openai_embedder
from tests.engine.world import PUMPS, VALVES, World
from tests.servers import openai_faults as faults
from tests.servers.openai_faults import Fault
from tests.servers.openai_server import OpenAIServer

DOCUMENTS = 30
PASSING: list[Callable[[], Fault]] = [
    faults.rate_limited,
    faults.server_error,
    faults.cut_off,
    faults.dropped,
    lambda: faults.server_error(503),
    lambda: faults.text('{"object": '),
    lambda: faults.text("<html>", content_type="text/html"),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "documents"
    folder.mkdir()
    for number in range(DOCUMENTS):
        text = (
            (PUMPS if number % 2 else VALVES)
            .replace("station", f"station {number}")
            .replace("valve", f"valve {number}")
        )
        (folder / f"document-{number}.md").write_text(text)
    return folder


def _world(
    server: OpenAIServer, folder: Path, cache: Path, store: Store | None = None, *, concurrency: int = 3
) -> World:
    embedder = openai_embedder(
        server,
        embedding_cache=True,
        data_folder=cache,
        embedding_batch_size=5,
        embedding_concurrency=concurrency,
        embedding_dimensions=256,
    )
    return World(folder, store=store or MemoryStore(EnglishAnalyser()), embedder=embedder)


def _content(world: World) -> dict[str, list[tuple[str, bytes]]]:
    """Give every passage that a search could find, and make sure that its vector finds it."""
    found: dict[str, list[tuple[str, bytes]]] = {}
    for record in world.store.open(world.collection).documents():
        chunks = world.store.open(world.collection).chunks("document", [record.id])
        assert len(chunks) == record.chunk_count
        embedded = {
            chunk.id: world.store.open(world.collection).search(
                vector=world.embedder.embed_query(chunk.embedding_text),
                text=None,
                filter=None,
                limit=1,
            )
            for chunk in chunks
        }
        for legs in embedded.values():
            assert legs.dense is not None
            assert legs.dense[0].score == pytest.approx(1.0, abs=1e-5), "each chunk has the vector of its own text"
        found[record.id] = [(chunk.content, chunk.content_hash.encode()) for chunk in chunks]
    return found


def _undisturbed(
    server: OpenAIServer, folder: Path, cache: Path
) -> tuple[dict[str, list[tuple[str, bytes]]], set[str]]:
    world = _world(server, folder, cache)
    assert len(world.ingest().documents) == DOCUMENTS
    content = _content(world)
    world.embedder.close()
    texts = set(server.texts)
    assert Counter(server.texts) == Counter(texts)
    server.requests.clear()
    server.answered.clear()
    return content, texts


@pytest.fixture(autouse=True)
def _measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Count passages only, whether or not this process has measured the space's unit, which is embedded once."""
    monkeypatch.setattr(knowledge, "measure_once", id)


@pytest.mark.requirement("A-REQ-REL-002")
def test_failures_that_pass_leave_the_store_as_an_undisturbed_run_does(
    server: OpenAIServer, folder: Path, tmp_path: Path
) -> None:
    expected, texts = _undisturbed(server, folder, tmp_path / "one")
    kinds = itertools.cycle(PASSING)
    for _ in range(9):
        server.faults.extend([None, next(kinds)(), None])
    # one request at a time: side by side, one could meet by chance more faults than it has tries
    world = _world(server, folder, tmp_path / "two", concurrency=1)
    assert len(world.ingest().documents) == DOCUMENTS
    assert not server.faults, "every fault was met"
    assert server.answered == Counter(texts), "each text was paid for once"
    assert _content(world) == expected
    world.embedder.close()


@pytest.mark.requirement("CLARIFY-002")
@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (faults.quota_used_up, QuotaExceededError),
        (faults.unauthorized, AuthError),
        (faults.dropped, ConnectionFailedError),
    ],
)
def test_a_run_that_ends_in_the_middle_is_finished_by_the_next_one_and_nothing_is_paid_twice(
    server: OpenAIServer, folder: Path, tmp_path: Path, fault: Callable[[], Fault], kind: type[KnowledgeError]
) -> None:
    expected, texts = _undisturbed(server, folder, tmp_path / "one")
    server.faults.extend([None] * 8)
    server.always = fault()
    world = _world(server, folder, tmp_path / "two")
    with pytest.raises(kind):
        world.ingest()
    assert 0 < len(server.answered) < len(texts)
    world.embedder.close()
    server.always = None
    later = _world(server, folder, tmp_path / "two", world.store)
    assert len(later.ingest().documents) == DOCUMENTS
    assert server.answered == Counter(texts)
    assert _content(later) == expected
    later.embedder.close()
