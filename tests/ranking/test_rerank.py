"""Rerankers: another order within the time that there is, or the old one and why."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from knowledge_mcp import registry, wiring
from knowledge_mcp.embedders.local.model_folders import MS_MARCO
from knowledge_mcp.engine.core.base import Base
from knowledge_mcp.engine.search.search import candidates, reranked
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
from knowledge_mcp.model.query import Hit
from knowledge_mcp.ports import Reranker
from knowledge_mcp.ranking.fusion import fuse
from knowledge_mcp.ranking.rerankers import ApiReranker, CrossEncoder, from_local_options, reorder
from knowledge_mcp.settings import load_settings, read_settings
from knowledge_mcp.stores.memory import MemoryStore
from knowledge_mcp.testing.embedders import HashingEmbedder
from knowledge_mcp.testing.store_values import embedded
from tests.ranking.cross_encoder import make_cross_encoder
from tests.servers.running import served

TEXTS = ("a hook", "crane crane crane", "a load of crane")


def hits_of(*texts: str) -> list[Hit]:
    """Make hits, best first."""
    made = embedded("d", texts)
    return [
        Hit(chunk=each.chunk, score=1.0 - place / len(texts), citation=f"place {place}")
        for place, each in enumerate(made)
    ]


def in_time() -> float:
    """Return a deadline that is far away."""
    return time.monotonic() + 30


def citations(hits: Sequence[Hit]) -> list[str]:
    """Name the hits by their first places."""
    return [hit.citation for hit in hits]


@pytest.mark.parametrize("outputs", [1, 2])
def test_a_cross_encoder_from_a_folder_orders_by_its_scores(tmp_path: Path, outputs: int) -> None:
    reranker = CrossEncoder(make_cross_encoder(tmp_path, outputs=outputs), threads=2)
    done = reranker.rerank("which crane", hits_of(*TEXTS), deadline=in_time())
    assert citations(done) == ["place 1", "place 2", "place 0"]
    assert [round(hit.score, 3) for hit in done] == [0.881, 0.5, 0.269]  # 4, 2 and 1 cranes, less two
    reranker.close()


def test_a_long_passage_is_cut_for_the_model_and_the_question_is_not(tmp_path: Path) -> None:
    reranker = CrossEncoder(make_cross_encoder(tmp_path))
    long = "hook " * 50 + "crane " * 50
    done = reranker.rerank("crane", hits_of(long, "crane"), deadline=in_time())
    assert citations(done) == ["place 1", "place 0"]
    reranker.close()


def test_a_deadline_that_is_over_is_reported_as_such(tmp_path: Path) -> None:
    reranker = CrossEncoder(make_cross_encoder(tmp_path))
    with pytest.raises(TimedOutError):
        reranker.rerank("crane", hits_of(*["hook " * 400] * 200), deadline=time.monotonic() - 1)
    assert len(reranker.rerank("crane", hits_of(*TEXTS), deadline=in_time())) == 3, "it works afterwards"
    reranker.close()


def _another_kind_of_model(folder: Path) -> None:
    make_cross_encoder(folder, inputs=("pixels",))


SPOILERS: dict[str, Callable[[Path], object]] = {
    "no model": lambda folder: (folder / "model.onnx").unlink(),
    "no tokenizer": lambda folder: (folder / "tokenizer.json").unlink(),
    "a damaged model": lambda folder: (folder / "model.onnx").write_bytes(b"no model"),
    "a damaged tokenizer": lambda folder: (folder / "tokenizer.json").write_text("{}"),
    "another kind of model": _another_kind_of_model,
}


@pytest.mark.parametrize("spoiler", sorted(SPOILERS))
def test_a_folder_without_a_usable_model_is_a_configuration_error(tmp_path: Path, spoiler: str) -> None:
    SPOILERS[spoiler](make_cross_encoder(tmp_path))
    with pytest.raises(ConfigError, match=str(tmp_path)):
        CrossEncoder(tmp_path).warm_up()


def test_a_model_of_three_outputs_is_no_reranker(tmp_path: Path) -> None:
    reranker = CrossEncoder(make_cross_encoder(tmp_path, outputs=3))
    with pytest.raises(ConfigError, match="3 numbers"):
        reranker.rerank("crane", hits_of(*TEXTS), deadline=in_time())
    reranker.close()


@pytest.mark.parametrize("scores", [[0.5], [0.5, float("nan")], [0.5, 1.5]])
def test_scores_that_are_none_are_refused(scores: list[float]) -> None:
    with pytest.raises(InternalError):
        reorder(hits_of("a", "b"), scores)


class Service:
    """What a rerank service heard, and what it answers."""

    def __init__(self) -> None:
        self.heard: list[tuple[dict[str, Any], str | None]] = []
        self.status = 200
        self.answer: Callable[[dict[str, Any]], Any] = self._by_cranes
        self.hold = threading.Event()
        self.hold.set()

    @staticmethod
    def _by_cranes(asked: dict[str, Any]) -> Any:
        counts = [text.count("crane") / 10 for text in asked["documents"]]
        results = [{"index": place, "relevance_score": score} for place, score in enumerate(counts)]
        return {"results": sorted(results, key=lambda each: -float(each["relevance_score"]))}


@contextmanager
def serving() -> Generator[tuple[Service, str]]:
    """Run a rerank service on loopback."""
    service = Service()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            service.heard.append((asked, self.headers["Authorization"]))
            service.hold.wait(20)
            result = service.answer(asked)
            body = result if isinstance(result, bytes) else json.dumps(result).encode()
            self.send_response(service.status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    with served(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as server:
        yield service, f"http://127.0.0.1:{server.server_address[1]}/v1/rerank"
        service.hold.set()


def test_a_service_is_asked_once_and_orders_by_its_scores() -> None:
    with serving() as (service, url):
        reranker = ApiReranker(url, SecretStr("hush"), "model-x")
        done = reranker.rerank("which", hits_of(*TEXTS), deadline=in_time())
        reranker.close()
    assert citations(done) == ["place 1", "place 2", "place 0"]
    ((asked, authorization),) = service.heard
    assert asked == {"query": "which", "documents": list(TEXTS), "top_n": 3, "model": "model-x"}
    assert authorization == "Bearer hush"


def test_a_service_that_dawdles_is_not_waited_for() -> None:
    with serving() as (service, url):
        service.hold.clear()
        reranker = ApiReranker(url)
        with pytest.raises(TimedOutError):
            reranker.rerank("which", hits_of(*TEXTS), deadline=time.monotonic() + 0.2)
        service.hold.set()
        reranker.close()


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (401, AuthError), (403, AuthError), (429, RateLimitedError), (404, InvalidInputError), (302, InvalidInputError),
        (500, ConnectionFailedError),
    ],
)  # fmt: skip
def test_a_refusal_is_reported_by_its_kind_and_without_the_key(status: int, kind: type[KnowledgeError]) -> None:
    with serving() as (service, url):
        service.status = status
        reranker = ApiReranker(url, SecretStr("hush"))
        with pytest.raises(kind) as caught:
            reranker.rerank("which", hits_of(*TEXTS), deadline=in_time())
        reranker.close()
    assert "hush" not in f"{caught.value!r} {caught.value.details} {caught.value.suggestion}"


@pytest.mark.parametrize(
    "answer",
    [
        b"not json", [1], {"results": None}, {"results": [{"index": 0}]}, {"results": []},
        {"results": [{"index": 0, "relevance_score": 0.5}]},
        {"results": [{"index": place, "relevance_score": 7} for place in range(3)]},
        {"results": [{"index": place + 1, "relevance_score": 0.1} for place in range(3)]},
    ],
)  # fmt: skip
def test_an_answer_of_another_form_is_an_error_and_no_order(answer: Any) -> None:
    with serving() as (service, url):
        service.answer = lambda _: answer
        reranker = ApiReranker(url)
        with pytest.raises(InternalError):
            reranker.rerank("which", hits_of(*TEXTS), deadline=in_time())
        reranker.close()


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/rerank", "http://[broken/rerank"])
def test_a_service_that_is_not_there_is_reported(url: str) -> None:
    reranker = ApiReranker(url)
    with pytest.raises(ConnectionFailedError):
        reranker.rerank("which", hits_of(*TEXTS), deadline=in_time())
    reranker.close()


class Backwards:
    """Turn the order round, or fail."""

    def __init__(self, error: KnowledgeError | None = None) -> None:
        self._error = error
        self.seen = 0

    def rerank(self, query: str, hits: Sequence[Hit], *, deadline: float) -> list[Hit]:
        """Turn the order round."""
        del query
        assert deadline > time.monotonic()
        self.seen = len(hits)
        if self._error is not None:
            raise self._error
        return reorder(hits, [place / 100 for place in range(len(hits))])

    def warm_up(self) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


def base_with(reranker: Reranker | None, top: int = 20) -> Base:
    """Put a base together that has nothing but a reranker."""
    analyser = EnglishAnalyser()
    return Base(
        MemoryStore(analyser),
        "c",
        HashingEmbedder(),
        analyser,
        fuse,
        reranker=reranker,
        rerank_top=top,
        rerank_seconds=5,
    )


def test_only_the_best_are_looked_at_and_the_others_follow_them() -> None:
    reranker = Backwards()
    base = base_with(reranker, top=3)
    degraded: list[str] = []
    done = reranked(base, "q", hits_of("a", "b", "c", "d", "e"), degraded)
    assert citations(done) == ["place 2", "place 1", "place 0", "place 3", "place 4"]
    assert reranker.seen == 3
    assert [hit.score for hit in done] == sorted((hit.score for hit in done), reverse=True)
    assert degraded == []
    assert (candidates(base, 2), candidates(base, 10)) == (3, 10)
    assert candidates(base_with(None), 2) == 2


@pytest.mark.parametrize("error", [TimedOutError("It was late."), InternalError("It broke.")])
def test_a_reranker_that_fails_leaves_the_order_and_the_answer_says_so(error: KnowledgeError) -> None:
    degraded: list[str] = []
    given = hits_of("a", "b")
    assert reranked(base_with(Backwards(error)), "q", given, degraded) == tuple(given)
    assert len(degraded) == 1
    assert error.message in degraded[0]


def test_the_settings_choose_the_reranker_and_the_surfaces_that_use_it(tmp_path: Path) -> None:
    environ = {
        "RERANKER": "local", "RERANKER_MODEL_PATH": str(tmp_path), "RERANKER_TOP": "7", "RERANKER_BUDGET_MS": "250",
        "EMBEDDING_PROVIDER": "local", "DATA_PATH": str(tmp_path / "data"),
    }  # fmt: skip
    settings = read_settings(environ=environ).settings
    base = wiring.build_base(settings)
    assert isinstance(base.reranker, CrossEncoder)
    assert (base.rerank_top, base.rerank_seconds) == (7, 0.25)
    assert wiring.build_base(settings, surface="planning").reranker is None
    assert set(registry.RERANKERS) == {"local", "api"}


def test_without_a_folder_the_one_fetched_by_name_is_used_and_missed_with_the_command_that_fetches_it(
    tmp_path: Path,
) -> None:
    environ = {"RERANKER": "local", "MODELS_PATH": str(tmp_path), "EMBEDDING_PROVIDER": "local"}
    reranker = from_local_options(read_settings(environ=environ).settings)
    with pytest.raises(ConfigError) as caught:
        reranker.warm_up()
    assert f"knowledge models fetch {MS_MARCO.name}" in caught.value.suggestion
    make_cross_encoder(tmp_path / MS_MARCO.name)
    reranker.warm_up()
    assert citations(reranker.rerank("crane", hits_of(*TEXTS), deadline=in_time())) == ["place 1", "place 2", "place 0"]
    reranker.close()


def test_a_knowledge_base_loads_its_reranker_beforehand_and_frees_it() -> None:
    messages: list[str] = []

    class Loaded(Backwards):
        def warm_up(self) -> None:
            messages.append("loaded")

        def close(self) -> None:
            messages.append("freed")

    base = base_with(Loaded())
    base.warm_up()
    base.close()
    assert messages == ["loaded", "freed"]


@pytest.mark.parametrize(
    ("environ", "missing"),
    [
        ({"EMBEDDING_PROVIDER": "local", "EMBEDDING_MODEL": "cross-encoder/ms-marco-MiniLM-L12-v2"}, "is a reranker"),
        ({"RERANKER": "api"}, "RERANKER_URL"),
        ({"RERANKER": "api", "RERANKER_URL": "rerank.example"}, "RERANKER_URL"),
    ],
)
def test_what_a_reranker_lacks_is_reported_at_the_start(environ: dict[str, str], missing: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_settings(environ=environ, folder=Path("/"))
    assert missing in f"{caught.value.message} {caught.value.details}"
