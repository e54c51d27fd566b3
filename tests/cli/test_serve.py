"""`knowledge-mcp` as an assistant or an administrator starts it: exit codes, streams, addresses, a clean stop."""

from __future__ import annotations

import http.client
import json
import signal
import socket
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.running import run, start
from tests.servers.postgres_server import free_port

pytestmark = pytest.mark.requirement("A-REQ-CLI-002")

INITIALIZE = json.dumps(
    {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        },
    }
)
LIST_TOOLS = '{"jsonrpc":"2.0","method":"notifications/initialized"}\n{"jsonrpc":"2.0","id":2,"method":"tools/list"}'


@contextmanager
def serving(cwd: Path, *arguments: str, **extra: str) -> Generator[tuple[subprocess.Popen[bytes], list[str]]]:
    """Start a server that runs until the test stops it; yields it and its log so far, up to `server_start`."""
    pipe = subprocess.PIPE
    process = start("knowledge-mcp", *arguments, cwd=cwd, stdin=pipe, stdout=pipe, stderr=pipe, **extra)
    try:
        assert process.stderr is not None
        lines: list[str] = []
        for line in process.stderr:
            lines.append(line.decode())
            if "server_start" in lines[-1]:
                break
        yield process, lines
    finally:
        process.kill()
        process.communicate()


@pytest.mark.requirement("A-REQ-IF-001")
def test_stdio_answers_and_ends_cleanly_with_its_client(tmp_path: Path) -> None:
    arguments = ("--log-level", "error")
    done = run("knowledge-mcp", *arguments, cwd=tmp_path, stdin=f"{INITIALIZE}\n{LIST_TOOLS}\n", LOG_LEVEL="DEBUG")
    assert (done.code, done.err) == (0, "")
    answers = [json.loads(line) for line in done.out.splitlines()]
    assert answers[0]["result"]["serverInfo"]["name"] == "knowledge-mcp"


@pytest.mark.requirement("A-REQ-MAINT-001")
def test_the_start_is_logged_as_json_on_stderr_with_what_was_chosen_and_without_secrets(tmp_path: Path) -> None:
    surfaces = ("--surface", "standards,planning")
    done = run("knowledge-mcp", *surfaces, cwd=tmp_path, stdin="", LOG_FORMAT="json", MCP_API_KEY="hush-hush")
    events = [json.loads(line) for line in done.err.splitlines()]
    start = next(each for each in events if each["message"] == "server_start")
    assert start["level"] == "info"
    event = start["data"]
    assert (event["vector_store"], event["vector_store_status"]) == ("memory", "healthy")
    assert (event["embedding_provider"], event["embedding_model"]) == ("local", "all-MiniLM-L6-v2")
    assert (event["transport"], event["surfaces"]) == ("stdio", "standards,planning")
    assert event["collection"] == "se_knowledge_base,application_docs"
    assert "hush" not in done.err


@pytest.mark.requirement("A-REQ-REL-003")
def test_all_configuration_errors_are_reported_together_with_exit_code_3(tmp_path: Path) -> None:
    done = run(
        "knowledge-mcp", "--surface", "standards,nope", "--transport", "http", "--host", "0.0.0.0",
        cwd=tmp_path, CHUNK_SIZE_MAX="5", QDRANT_URL="q.example.com", OPENAI_BASE_URL="localhost:8080/v1",
        MCP_API_KEYS_FILE="missing",
    )  # fmt: skip
    assert (done.code, done.out) == (3, "")
    for text in (
        "cannot start",
        "CHUNK_SIZE_MAX",
        "QDRANT_URL must start",
        "OPENAI_BASE_URL must start",
        "'nope'",
        "--allow-unauthenticated",
        "MCP_API_KEYS_FILE",
    ):
        assert text in done.err, done.err


@pytest.mark.requirement("CLARIFY-005")
def test_unreachable_stores_are_all_named_with_exit_code_3(tmp_path: Path) -> None:
    done = run("knowledge-mcp", cwd=tmp_path, QDRANT_COLLECTION="unreachable")
    assert done.code == 3
    assert "Qdrant does not answer." in done.err
    assert "ChromaDB does not answer." in done.err


def test_an_audit_log_that_cannot_be_written_is_found_before_the_first_request(tmp_path: Path) -> None:
    (tmp_path / "folder").write_text("a file")
    done = run("knowledge-mcp", cwd=tmp_path, AUDIT_LOG=str(tmp_path / "folder" / "audit.jsonl"))
    assert done.code == 3
    assert "audit.jsonl cannot be written" in done.err


@pytest.mark.parametrize("arguments", [["--transport", "carrier-pigeon"], ["--port", "0"], ["--nonsense"]])
def test_a_wrong_option_is_exit_code_3(tmp_path: Path, arguments: list[str]) -> None:
    done = run("knowledge-mcp", *arguments, cwd=tmp_path)
    assert (done.code, done.out) == (3, "")
    assert "--help" in done.err


def test_a_port_in_use_is_reported_with_exit_code_1(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        done = run("knowledge-mcp", "--transport", "http", "--port", port, cwd=tmp_path)
    assert done.code == 1
    assert f"127.0.0.1:{port} is already in use" in done.err


def test_a_signal_stops_stdio_cleanly(tmp_path: Path) -> None:
    with serving(tmp_path) as (process, _):
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(INITIALIZE.encode() + b"\n")
        process.stdin.flush()
        assert process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=30) == 0


@pytest.mark.parametrize(("transport", "number"), [("http", signal.SIGTERM), ("sse", signal.SIGINT)])
def test_http_serves_health_and_stops_cleanly(tmp_path: Path, transport: str, number: signal.Signals) -> None:
    port = free_port()
    with serving(tmp_path, "--transport", transport, DOCUMENT_STORE_PORT=str(port)) as (process, lines):
        assert any("only programs on this machine can connect" in line for line in lines)
        assert f"127.0.0.1:{port}" in lines[-1]
        assert _status(port, process) == 200
        process.send_signal(number)
        assert process.wait(timeout=30) == 0


def test_an_open_address_without_a_token_must_be_asked_for_and_warns(tmp_path: Path) -> None:
    port = str(free_port())
    arguments = ("--transport", "http", "--host", "0.0.0.0", "--port", port, "--allow-unauthenticated")
    with serving(tmp_path, *arguments) as (_, lines):
        assert any("WARNING" in line and "NO AUTHENTICATION" in line for line in lines)


def test_with_a_token_everybody_may_connect_who_shows_it(tmp_path: Path) -> None:
    port = free_port()
    with serving(tmp_path, "--transport", "http", "--port", str(port), MCP_API_KEY="letmein") as (process, lines):
        assert f"0.0.0.0:{port}" in lines[-1]
        assert _status(port, process) == 200
        assert _status(port, process, "/mcp") == 401


def _status(port: int, process: subprocess.Popen[bytes], path: str = "/health") -> int:
    """Ask once the server says that it is up."""
    assert process.stderr is not None
    if path == "/health":
        for line in process.stderr:
            if b"startup complete" in line:
                break
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request("GET", path)
        return connection.getresponse().status
    finally:
        connection.close()
