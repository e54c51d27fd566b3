"""The Qdrant store over the wire: faults of server and network, retries, secrets, settings and laziness."""

from __future__ import annotations

import logging
import ssl
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

import pytest

from knowledge_mcp.engine.core.base import counts_of
from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.model.errors import (
    AuthError,
    ConfigError,
    ConnectionFailedError,
    InternalError,
    InvalidInputError,
    KnowledgeError,
    RateLimitedError,
    TimedOutError,
)
from knowledge_mcp.model.query import LegResults
from knowledge_mcp.stores.qdrant.connection import QdrantConfig, plain_address
from knowledge_mcp.stores.qdrant.opening import from_options
from knowledge_mcp.stores.qdrant.store import QdrantStore
from knowledge_mcp.support.events import EVENT_FIELDS
from knowledge_mcp.support.retry import RetryPolicy
from knowledge_mcp.testing.store_search import put, text_of
from knowledge_mcp.testing.store_values import SPACE, embedded, unit_vector
from tests.servers.qdrant_local import LocalQdrant
from tests.servers.qdrant_routes import ROUTES, Request
from tests.servers.qdrant_server import Fault, QdrantServer

KEY = "a-very-secret-key"


@pytest.fixture
def server() -> Iterator[QdrantServer]:
    made = QdrantServer(api_key=KEY)
    yield made
    made.stop()


def config(server: QdrantServer, pauses: tuple[float, ...] = (0.0, 0.0, 0.0)) -> QdrantConfig:
    quick = RetryPolicy(pauses, sleep=lambda _: None)
    return QdrantConfig(server.url, api_key=KEY, grpc="off", retries=quick, query_seconds=1, write_seconds=1)


@pytest.fixture
def store(server: QdrantServer) -> Iterator[QdrantStore]:
    made = QdrantStore(config(server), EnglishAnalyser())
    made.create_collection("c", SPACE)
    put(made, "d", ["alpha words", "beta words"], text="the text")
    yield made
    made.close()


def search(store: QdrantStore) -> int:
    legs = store.open("c").search(vector=unit_vector("x"), text="words", filter=None, limit=5)
    assert legs.dense is not None
    assert legs.lexical is not None
    return len(legs.dense) + len(legs.lexical)


FAULTS: list[tuple[Fault, type[KnowledgeError]]] = [
    (Fault("drop"), ConnectionFailedError),
    (Fault("half"), ConnectionFailedError),
    (Fault("lose"), ConnectionFailedError),
    (Fault("garbage"), InternalError),
    (Fault("status", 500), InternalError),
    (Fault("status", 503), ConnectionFailedError),
    (Fault("status", 429), RateLimitedError),
    (Fault("status", 429, (("retry-after", "2"),)), RateLimitedError),
]


@pytest.mark.requirement("A-REQ-REL-002")
@pytest.mark.parametrize(("fault", "kind"), FAULTS, ids=lambda each: str(getattr(each, "kind", "")))
def test_a_fault_that_passes_is_not_seen_and_one_that_stays_is_reported(
    server: QdrantServer, store: QdrantStore, fault: Fault, kind: type[KnowledgeError]
) -> None:
    assert search(store) == 4
    server.faults.extend([fault] * 3)
    assert search(store) == 4
    assert not server.faults
    server.faults.extend([fault] * 4)
    with pytest.raises(kind) as result:
        store.open("c").documents()
    assert result.value.__cause__ is not None
    assert not server.faults, "it was not tried four times"
    assert search(store) == 4


@pytest.mark.requirement("A-REQ-REL-002")
def test_a_server_that_hangs_is_a_timeout(server: QdrantServer) -> None:
    store = QdrantStore(config(server, ()), EnglishAnalyser())
    store.create_collection("c", SPACE)
    server.faults.append(Fault("hang"))
    with pytest.raises(TimedOutError):
        store.open("c").documents()
    assert store.open("c").documents() == []
    store.close()


@pytest.mark.requirement("A-REQ-REL-002")
@pytest.mark.parametrize(
    ("status", "kind"), [(401, AuthError), (403, AuthError), (400, InvalidInputError), (413, InvalidInputError)]
)
def test_what_cannot_pass_is_not_tried_again(
    server: QdrantServer, store: QdrantStore, status: int, kind: type[KnowledgeError]
) -> None:
    server.faults.extend([Fault("status", status)] * 2)
    with pytest.raises(kind):
        store.open("c").documents()
    assert len(server.faults) == 1


def test_a_collection_is_dropped_on_a_server_over_its_quota_and_kept_whole_on_a_full_disk(
    server: QdrantServer, store: QdrantStore
) -> None:
    """A quota lets collections go; without any room a server would take names away and fail before the rest."""
    server.faults.extend([Fault("status", 500, only="/points/batch")] * 4)
    with pytest.raises(InternalError):
        store.drop_collection("c")
    assert search(store) == 4
    server.faults.append(Fault("status", 507, only="/points/batch"))
    assert store.drop_collection("c")
    assert not server.faults
    assert store.collections() == []
    assert server.local.client.get_collections().collections == []


@pytest.mark.requirement("A-REQ-MAINT-001")
def test_each_retry_is_reported_in_the_log(
    server: QdrantServer, store: QdrantStore, caplog: pytest.LogCaptureFixture
) -> None:
    server.faults.extend([Fault("drop"), Fault("status", 500)])
    with caplog.at_level(logging.WARNING):
        store.open("c").documents()
    retries = [getattr(each, EVENT_FIELDS) for each in caplog.records if each.getMessage() == "retry_attempt"]
    assert [(each["service"], each["attempt"]) for each in retries] == [("qdrant", 1), ("qdrant", 2)]
    assert KEY not in caplog.text


def test_a_write_whose_answer_was_lost_is_made_again_without_harm(server: QdrantServer, store: QdrantStore) -> None:
    for turn in range(16):  # each request of a publish in its turn
        server.faults.extend([Fault("none")] * turn + [Fault("lose")])
        put(store, "e", ["gamma words", "delta words"], text=f"text {turn}")
        server.faults.clear()
        assert [each.content for each in store.open("c").chunks("document", ["e"])] == ["gamma words", "delta words"]
        assert text_of(store.open("c"), "e") == f"text {turn}"
    assert store.open("c").verify() == []


def both(store: QdrantStore) -> LegResults:
    return store.open("c").search(vector=unit_vector("x"), text="words", filter=None, limit=5)


def test_a_dense_leg_that_the_server_refuses_leaves_the_other(server: QdrantServer, store: QdrantStore) -> None:
    whole = both(store)
    refused = Fault("status", 400, only="query/batch")
    server.faults.extend([refused, refused])  # both legs together, then the dense one alone
    legs = both(store)
    assert legs.dense is None
    assert "400" in legs.dense_error
    assert (legs.lexical, legs.lexical_error) == (whole.lexical, "")


@pytest.mark.requirement("A-REQ-SEARCH-002")
def test_a_sparse_leg_that_the_server_refuses_leaves_the_other_with_a_warning(
    server: QdrantServer, store: QdrantStore
) -> None:
    whole = both(store)
    refused = Fault("status", 400, only="query/batch")
    server.faults.extend([refused, Fault("none", only="query/batch"), refused])  # both legs, dense alone, sparse alone
    legs = both(store)
    assert (legs.dense, legs.dense_error) == (whole.dense, "")
    assert legs.lexical is None
    assert "400" in legs.lexical_error
    server.faults.extend([refused, refused])  # it looks whether the collection is another one by now, and asks again
    with pytest.raises(InvalidInputError):
        store.open("c").search(vector=None, text="words", filter=None, limit=5)


def test_a_search_of_which_nothing_works_is_an_error(server: QdrantServer, store: QdrantStore) -> None:
    both(store)
    for only in ("query/batch", "query/batch", "query/batch", "count"):
        server.faults.append(Fault("status", 400, only=only))
    server.faults.extend([Fault("status", 400)] * 12)
    with pytest.raises(InvalidInputError):
        both(store)


@pytest.mark.requirement("A-REQ-SEARCH-002")
def test_a_hybrid_search_is_one_round_trip(server: QdrantServer, store: QdrantStore) -> None:
    search(store)
    before = len(server.seen.paths)
    assert search(store) == 4
    assert server.seen.paths[before:] == ["POST /collections/c/points/query/batch"]


def test_with_replicas_too_a_read_asks_any_one_of_them(server: QdrantServer) -> None:
    # a real server takes `consistency`, and then refuses reads while a replica is down: nobody here understands it
    store = QdrantStore(replace(config(server), replication_factor=2), EnglishAnalyser())
    store.create_collection("c", SPACE)
    put(store, "d", ["alpha words"])
    assert search(store) == 2
    assert [each.id for each in store.open("c").documents()] == ["d"]
    store.close()


def test_a_wrong_key_is_refused_and_shown_nowhere(server: QdrantServer, caplog: pytest.LogCaptureFixture) -> None:
    wrong = QdrantStore(replace(config(server), api_key="wrong-secret"), EnglishAnalyser())
    with caplog.at_level(logging.DEBUG), pytest.raises(AuthError) as refused:
        wrong.collections()
    assert (
        "wrong-secret" not in f"{refused.value.message} {refused.value.details} {wrong.identity.location} {caplog.text}"
    )
    assert "wrong-secret" not in repr(replace(config(server), api_key="wrong-secret"))
    wrong.close()


@pytest.mark.parametrize(("version", "refused"), [("1.15.5", True), ("1.16.0-dev", False), ("2.0", False)])
def test_a_server_that_would_ignore_the_condition_of_a_write_is_refused(
    monkeypatch: pytest.MonkeyPatch, version: str, refused: bool
) -> None:
    def root(_: Request) -> Any:
        return {"title": "q", "version": version}

    monkeypatch.setitem(cast("Any", ROUTES), ("GET", "/"), (frozenset(), root))
    server = QdrantServer(LocalQdrant(indexed=False))
    store = QdrantStore(QdrantConfig(server.url, grpc="off"), EnglishAnalyser())
    if refused:
        for call in (store.collections, lambda: store.create_collection("c", SPACE)):
            with pytest.raises(ConfigError, match=r"1\.15\.5; 1\.16 or newer"):
                call()
        assert set(server.seen.paths) == {"GET /"}, "nothing else was asked of it"
    else:
        assert store.collections() == []
    store.close()
    server.stop()


def test_a_server_that_was_not_there_at_first_is_asked_for_its_version_once_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def root(_: Request) -> Any:
        return {"title": "q", "version": "1.15.5"}

    monkeypatch.setitem(cast("Any", ROUTES), ("GET", "/"), (frozenset(), root))
    gone = QdrantServer(LocalQdrant(indexed=False))
    gone.stop()
    store = QdrantStore(config(gone, ()), EnglishAnalyser())
    with pytest.raises(ConnectionFailedError):
        store.collections()
    server = QdrantServer(LocalQdrant(indexed=False), port=gone.port)
    with pytest.raises(ConfigError, match=r"1\.15\.5; 1\.16 or newer"):
        store.collections()
    store.close()
    server.stop()


def test_a_server_that_is_not_there_is_a_failed_connection() -> None:
    gone = QdrantServer()
    gone.stop()
    store = QdrantStore(config(gone, ()), EnglishAnalyser())
    with pytest.raises(ConnectionFailedError) as failed:
        store.collections()
    assert gone.url in failed.value.message
    assert "QDRANT_URL" in failed.value.suggestion
    store.close()


def test_a_server_killed_and_started_again_has_what_was_acknowledged() -> None:
    first = QdrantServer()
    store = QdrantStore(QdrantConfig(first.url, grpc="off", retries=RetryPolicy(())), EnglishAnalyser())
    store.create_collection("c", SPACE)
    put(store, "d", ["alpha words"])
    first.stop()
    with pytest.raises(ConnectionFailedError):
        put(store, "e", ["beta words"])
    second = QdrantServer(first.local, port=first.port)
    assert [each.id for each in store.open("c").documents()] == ["d"]
    put(store, "e", ["beta words"])
    assert store.open("c").verify() == []
    store.close()
    second.stop()


def test_requests_are_bounded_in_bytes_and_points(server: QdrantServer, store: QdrantStore) -> None:
    long = "word " * 60_000
    put(store, "big", [f"{long}{number}" for number in range(20)], text="t" * 500_000)
    assert 4_000_000 < server.seen.largest < 9_000_000
    assert counts_of(store.open("c")).chunks == 22
    assert text_of(store.open("c"), "big") == "t" * 500_000


def test_a_vector_that_very_many_chunks_share_is_read_without_reading_all_of_them(
    server: QdrantServer, store: QdrantStore
) -> None:
    chunks = embedded("many", ["the same"] * 700 + ["another"])
    put(store, "many", ["the same"] * 700 + ["another"])
    before = len(server.seen.paths)
    found = store.open("c").vectors([chunks[0].embedding_key, chunks[-1].embedding_key, "unknown"])
    assert found == {each.embedding_key: each.vector for each in (chunks[0], chunks[-1])}
    scrolls = [path for path in server.seen.paths[before:] if path.endswith("/scroll")]
    assert len(scrolls) == 2


@dataclass(frozen=True)
class _Secret:
    value: str

    def get_secret_value(self) -> str:
        return self.value


@dataclass
class _Options:
    qdrant_url: str | None = "https://name:word@cloud.example:6333/base/?token=x"
    qdrant_api_key: _Secret | None = _Secret(KEY)
    qdrant_grpc: Literal["auto", "on", "off"] = "auto"
    qdrant_grpc_port: int = 6334
    qdrant_shards: int | None = 3
    qdrant_replication_factor: int | None = 2
    qdrant_write_consistency: int | None = 2
    qdrant_on_disk: bool = True
    qdrant_quantization: Literal["none", "scalar", "binary"] = "scalar"


@pytest.mark.requirement("A-REQ-IF-003")
def test_the_store_that_the_settings_name_connects_at_its_first_use_only() -> None:
    store = from_options(_Options(), EnglishAnalyser())
    assert store.identity.backend == "qdrant"
    assert store.identity.location == "https://cloud.example:6333/base"
    store.close()
    with pytest.raises(ConfigError, match="QDRANT_URL"):
        from_options(_Options(qdrant_url=None), EnglishAnalyser())


@pytest.mark.parametrize(("scheme", "times"), [("http", 0), ("https", 1)])
def test_certificates_are_read_for_a_connection_that_needs_them(
    scheme: str, times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[object] = []

    def note(*files: object, **_: object) -> None:
        read.append(files)

    monkeypatch.setattr(ssl.SSLContext, "load_verify_locations", note)
    store = QdrantStore(QdrantConfig(f"{scheme}://127.0.0.1:1", grpc="off", retries=RetryPolicy(())), EnglishAnalyser())
    with pytest.raises(ConnectionFailedError):
        store.collections()
    store.close()
    assert len(read) == times


def test_addresses_are_shown_without_secrets() -> None:
    assert plain_address("localhost:6333") == "http://localhost:6333"
    assert plain_address("http://[::1]:6333/") == "http://[::1]:6333"
    assert plain_address("https://user:pass@host?api_key=x#y") == "https://host"


def test_grpc_is_tried_once_and_rest_taken_where_it_is_not_spoken(server: QdrantServer) -> None:
    store = QdrantStore(replace(config(server), grpc="auto", grpc_port=server.port), EnglishAnalyser())
    assert store.collections() == []
    store.close()
    closed = QdrantServer()
    closed.stop()
    other = QdrantStore(replace(config(server), grpc="auto", grpc_port=closed.port), EnglishAnalyser())
    assert other.collections() == []
    other.close()


SETTINGS_SHOWN = """
import sys
from knowledge_mcp.stores.qdrant.opening import from_options
from knowledge_mcp.lexical.analyser import EnglishAnalyser
heavy = {"qdrant_client", "grpc", "numpy", "pydantic", "httpx"} & set(sys.modules)
assert not heavy, heavy
sys.modules["qdrant_client"] = None
from knowledge_mcp.model.errors import ConfigError
class Options:
    qdrant_url = "http://127.0.0.1:9"
    def __getattr__(self, name):
        return None
try:
    from_options(Options(), EnglishAnalyser())
except ConfigError as exc:
    assert 'pip install "clausewise[qdrant]"' in exc.suggestion, exc.suggestion
else:
    raise AssertionError("no error")
"""


def test_nothing_heavy_is_imported_to_read_the_settings_and_a_missing_client_is_named() -> None:
    finished = subprocess.run([sys.executable, "-c", SETTINGS_SHOWN], capture_output=True, text=True, check=False)
    assert finished.stderr == ""
    assert finished.returncode == 0
