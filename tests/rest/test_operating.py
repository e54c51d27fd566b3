"""Health, readiness, figures, the description, the console's files, traces; Host, Origin and browsers."""

from __future__ import annotations

import http.server
import json
import logging
import queue
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from starlette.types import Receive, Scope, Send

from knowledge_mcp.model.errors import ConnectionFailedError
from knowledge_mcp.model.query import Check, HealthReport
from knowledge_mcp.surfaces.contract import DATA_NOT_INSTRUCTIONS
from knowledge_mcp.transports.rest import executor as rest_executor
from knowledge_mcp.transports.shared.keys import KeyRing
from tests.fakes.library import FakeLibrary
from tests.rest.world import Options, events, keys_file, make_world
from tests.servers.running import served

pytestmark = pytest.mark.anyio

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


@pytest.mark.requirement("D-REQ-11.6")
async def test_health_answers_healthy_and_the_version_and_asks_nobody() -> None:
    asked: list[str] = []
    async with make_world(before=asked.append, key=None) as world:
        world.library.warmed_up.wait(10)
        asked.clear()
        answer = await world.client.get("/health")
        assert (answer.status_code, answer.json()) == (200, {"status": "healthy", "version": "9.9.9"})
        assert asked == []


async def test_readiness_tells_which_dependency_is_down_and_nothing_of_where_it_is(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    up, down = Check(up=True, latency_ms=3, message="OK"), Check(up=False, latency_ms=9, message="10.0.0.5 refused")
    reports = [HealthReport("healthy", up, up, ""), HealthReport("unhealthy", down, up, "")]

    def health(_: FakeLibrary) -> HealthReport:
        return reports[0]

    monkeypatch.setattr(FakeLibrary, "health", health)
    monkeypatch.setattr(rest_executor, "READY_CACHE_SECONDS", 0.0)
    async with make_world(key=None) as world:
        good = await world.client.get("/ready")
        assert (good.status_code, good.json()["status"], good.json()["health"]) == (200, "ready", "healthy")
        reports.pop(0)
        bad = await world.client.get("/ready")
        assert (bad.status_code, bad.json()["status"]) == (503, "not_ready")
        assert bad.json()["checks"]["vector_store"] == {"up": False, "message": "does not answer", "latency_ms": 9}
        assert bad.json()["checks"]["embedding_service"]["up"] is True
        assert "10.0.0.5" not in bad.text
        (changed,) = events(caplog, "dependency_changed")
        assert (changed["dependency"], changed["message"]) == ("vector_store", "10.0.0.5 refused")
        world.app.stopping = True
        stopping = await world.client.get("/ready")
        assert (stopping.status_code, stopping.json()["checks"]["server"]["up"]) == (503, False)
        assert (await world.client.get("/health")).status_code == 200


@pytest.mark.parametrize("error", [ConnectionFailedError("It is down."), ZeroDivisionError("a defect")])
async def test_a_library_that_cannot_be_asked_is_not_ready_and_its_jobs_are_not_counted(error: Exception) -> None:
    def before(method: str) -> None:
        if method in {"health", "job_counts"}:
            raise error

    async with make_world(before=before) as world:
        answer = await world.client.get("/ready")
        assert (answer.status_code, answer.json()["status"]) == (503, "not_ready")
        assert (await world.client.get("/metrics")).status_code == 200


async def test_readiness_is_asked_for_once_whoever_asks_how_often() -> None:
    asked: list[str] = []
    async with make_world(before=asked.append) as world:
        for _ in range(20):
            assert (await world.client.get("/ready")).status_code == 200
        assert asked.count("health") == 1


async def test_a_dependency_that_never_answers_is_not_ready_in_bounded_time(monkeypatch: pytest.MonkeyPatch) -> None:
    go = threading.Event()
    monkeypatch.setattr(rest_executor, "READY_SECONDS", 0.05)

    def before(method: str) -> None:
        if method == "health":
            go.wait(30)

    async with make_world(before=before) as world:
        for _ in range(3):
            assert (await world.client.get("/ready")).status_code == 503
        go.set()


async def test_the_figures_count_what_happened() -> None:
    async with make_world(degraded=("One leg failed.",)) as world:
        await world.bring(filename="a.md")
        await world.bring(filename="a.md")
        await world.client.post("/ingest", json={"text": "x", "wait": False})
        await world.client.post("/ingest_file", files={"file": ("a.md", b"\xff")})
        await world.client.post("/search", json={"query": "roll"})
        await world.client.post("/search", json={"query": "roll", "collection": "nowhere"})
        await world.client.get("/documents/0123456789abcdef")
        await world.client.request("BREW", "/health")
        answer = await world.client.get("/metrics")
        assert answer.headers["content-type"].startswith("text/plain; version=")
        lines = set(answer.text.splitlines())
        for line in (
            'rag_api_requests_total{method="POST",route="/ingest",status="200"} 2.0',
            'rag_api_requests_total{method="GET",route="/documents/{doc_id}",status="404"} 1.0',
            'rag_api_requests_total{method="other",route="/health",status="405"} 1.0',
            'rag_api_request_duration_seconds_count{method="POST",route="/search"} 2.0',
            'rag_api_ingests_total{outcome="ingested"} 1.0',
            'rag_api_ingests_total{outcome="unchanged"} 1.0',
            'rag_api_ingests_total{outcome="accepted"} 1.0',
            'rag_api_ingests_total{outcome="failed"} 1.0',
            "rag_api_chunks_ingested_total 2.0",
            'rag_api_searches_total{outcome="answered"} 1.0',
            'rag_api_searches_total{outcome="failed"} 1.0',
            "rag_api_degraded_answers_total 1.0",
            "rag_api_requests_in_flight 1.0",
            'rag_api_build_info{version="9.9.9"} 1.0',
        ):
            assert line in lines, line
        assert any(line.startswith("rag_api_jobs{state=") for line in lines)


async def test_the_description_names_every_route_with_its_failures_and_an_example() -> None:
    async with make_world() as world:
        document = (await world.client.get("/openapi.json")).json()
        assert DATA_NOT_INSTRUCTIONS in document["info"]["description"]
        operations = {
            (method.upper(), path): operation
            for path, each in document["paths"].items()
            for method, operation in each.items()
        }
        assert set(operations) == {
            ("POST", "/ingest"), ("POST", "/ingest_url"), ("POST", "/ingest_file"), ("POST", "/search"),
            ("GET", "/collections"), ("DELETE", "/collections/{name}"), ("GET", "/documents"),
            ("GET", "/documents/{doc_id}"), ("DELETE", "/documents/{doc_id}"), ("GET", "/jobs/{job_id}"),
            ("DELETE", "/jobs/{job_id}"), ("GET", "/jobs"), ("GET", "/documents/{doc_id}/outline"),
            ("GET", "/documents/{doc_id}/pages/{page}"), ("GET", "/changes"), ("GET", "/impact"), ("GET", "/trace"),
            ("GET", "/conflicts"),
            ("POST", "/trace/decisions"), ("GET", "/check"), ("POST", "/check/marks"),
            ("GET", "/health"), ("GET", "/ready"), ("GET", "/metrics"),
        }  # fmt: skip
        for (_, path), operation in operations.items():
            assert operation["description"]
            assert ("security" in operation) == (path not in {"/health", "/ready"})
            assert {"403", "405", "421"} <= set(operation["responses"])
        schemas = document["components"]["schemas"]
        for name in ("SearchRequest", "IngestRequest", "IngestUrlRequest", "IngestAnswer", "FailureAnswer"):
            assert schemas[name]["examples"], name


async def test_the_console_s_files_need_no_key_and_come_with_a_strict_policy() -> None:
    async with make_world(key=None) as world:
        for path, kind in (
            ("/", "text/html"),
            ("/console/console.js", "text/javascript"),
        ):
            answer = await world.client.get(path)
            assert (answer.status_code, answer.headers["content-type"]) == (200, f"{kind}; charset=utf-8")
            assert answer.headers["content-security-policy"] == POLICY
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert answer.headers["referrer-policy"] == "no-referrer"
            unchanged = await world.client.get(path, headers={"If-None-Match": answer.headers["etag"]})
            assert (unchanged.status_code, unchanged.content) == (304, b"")
        for path in ("..%2Frest.py", "nothing.js", "console", "a/b.js", "%00.js", ".js"):
            answer = await world.client.get(f"/console/{path}")
            assert answer.status_code in {404, 401}, path
            assert answer.json()["status_code"] == answer.status_code


async def test_answers_have_the_headers_that_keep_browsers_from_guessing() -> None:
    async with make_world() as world:
        for path in ("/collections", "/health", "/nowhere"):
            headers = (await world.client.get(path)).headers
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["cache-control"] == "no-store"
            assert headers["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'"
            assert "server" not in headers


async def test_a_foreign_host_or_origin_is_refused_on_every_route_and_our_own_page_is_not() -> None:
    async with make_world(options=Options(allowed_hosts=("rag.example",))) as world:
        for path in ("/health", "/ready", "/", "/collections", "/nowhere"):
            foreign = await world.client.get(path, headers={"Host": "evil.example"})
            assert (foreign.status_code, foreign.json()["error"]) == (421, "misdirected_request")
            for origin in ("https://evil.example", "null", "http://localhost.evil.example", "https://rag.example:1"):
                headers = {"Host": "rag.example", "Origin": origin}
                refused = await world.client.get(path, headers=headers)
                assert (refused.status_code, refused.json()["error"]) == (403, "forbidden")
        for origin in ("https://rag.example", "http://rag.example", "https://RAG.example"):
            own = {"Host": "rag.example", "Origin": origin}
            answer = await world.client.post("/search", json={"query": "x"}, headers=own)
            assert answer.status_code == 200
            assert "access-control-allow-origin" not in answer.headers


async def test_pages_of_configured_origins_get_cors_answers_and_their_preflight_needs_no_key() -> None:
    origin = {"Origin": "https://app.example"}
    async with make_world(key=None) as world:
        asked = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization"}
        preflight = await world.client.options("/search", headers={**origin, **asked})
        assert preflight.status_code == 200
        assert preflight.headers["access-control-allow-origin"] == "https://app.example"
        assert "POST" in preflight.headers["access-control-allow-methods"]
        assert preflight.headers["access-control-allow-headers"] == "authorization"
        failed = await world.client.post("/search", json={"query": "x"}, headers=origin)
        assert failed.status_code == 401
        assert failed.headers["access-control-allow-origin"] == "https://app.example"
        assert "X-Request-ID" in failed.headers["access-control-expose-headers"]
        assert failed.headers["vary"] == "Origin"
    async with make_world(options=Options(allowed_origins=())) as world:
        answer = await world.client.get("/health", headers={"Origin": "http://localhost:3000"})
        assert "access-control-allow-origin" not in answer.headers


class Mcp:
    """An app that says who asked it, and knows whether it lives."""

    def __init__(self) -> None:
        self.life: list[str] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer with the path and the client's name."""
        if scope["type"] == "lifespan":
            for kind in ("startup", "shutdown"):
                self.life.append(str((await receive())["type"]))
                await send({"type": f"lifespan.{kind}.complete"})
            return
        body = f"{scope['path']} {scope['user'].access_token.client_id}".encode()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": body})


async def test_mcp_stands_behind_the_same_keys_and_is_told_whose_it_is(tmp_path: Path) -> None:
    text = json.dumps({"keys": [{"name": "whole", "key": "k1"}, {"name": "part", "key": "k2", "write": []}]})
    mcp = Mcp()
    ring = KeyRing(path=keys_file(tmp_path, text))
    async with make_world(keys=ring, key=None, mcp_app=mcp) as world:
        assert mcp.life == ["lifespan.startup"]
        for path in ("/mcp", "/sse", "/messages/"):
            assert (await world.client.post(path)).status_code == 401
            whole = await world.client.post(path, headers={"Authorization": "Bearer k1"})
            assert whole.text == f"{path} whole"
            part = await world.client.post(path, headers={"Authorization": "Bearer k2"})
            assert part.text == f"{path} part"
    assert mcp.life == ["lifespan.startup", "lifespan.shutdown"]


@contextmanager
def collector() -> Generator[tuple[str, queue.Queue[ExportTraceServiceRequest]]]:
    """Run a collector of traces; yields its address and what comes in."""
    found: queue.Queue[ExportTraceServiceRequest] = queue.Queue()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                import gzip

                body = gzip.decompress(body)
            assert self.path == "/v1/traces"
            found.put(ExportTraceServiceRequest.FromString(body))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    with served(http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as server:
        yield f"http://127.0.0.1:{server.server_port}", found


async def test_a_request_s_span_and_its_work_s_are_sent_below_the_caller_s() -> None:
    with collector() as (address, found):
        async with make_world(options=Options(otel_endpoint=f"{address}/")) as world:
            parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
            await world.client.post("/search", json={"query": "hush"}, headers={"traceparent": parent})
        exported = found.get(timeout=10)
    (resource,) = exported.resource_spans
    names = {each.key: each.value.string_value for each in resource.resource.attributes}
    assert (names["service.name"], names["service.version"]) == ("rag-api", "9.9.9")
    spans = {span.name: span for scope in resource.scope_spans for span in scope.spans}
    request, work = spans["POST /search"], spans["library.search"]
    assert request.trace_id.hex() == "0af7651916cd43dd8448eb211c80319c"
    assert request.parent_span_id.hex() == "b7ad6b7169203331"
    assert work.parent_span_id == request.span_id
    message = {each.key: each.value for each in request.attributes}
    assert (message["http.route"].string_value, message["http.response.status_code"].int_value) == ("/search", 200)
    assert b"hush" not in exported.SerializeToString()


async def test_traces_that_are_asked_for_and_not_installed_are_reported_loudly(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)
    async with make_world(options=Options(otel_traces_endpoint="http://127.0.0.1:9/v1/traces")) as world:
        assert (await world.client.get("/health")).status_code == 200
    (result,) = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert "NO TRACES ARE SENT" in result.getMessage()
    assert "clausewise[otel]" in result.getMessage()
