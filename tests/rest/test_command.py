"""`rag-api` as an administrator starts it: exit codes, addresses, a clean stop; and what it reads to connect."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

import httpx
import pytest

from knowledge_mcp import wiring
from knowledge_mcp.cli.serve import rest
from knowledge_mcp.embedders.local.model_folders import default_cache
from knowledge_mcp.settings import Settings, load_settings
from knowledge_mcp.support.retry import without_retries
from knowledge_mcp.transports.rest.app import build_rest_app
from knowledge_mcp.transports.shared.keys import KeyRing
from knowledge_mcp.transports.shared.provider import KnowledgeProvider
from tests.cli.running import environment
from tests.readers.pdf_files import standard
from tests.rest.world import DEPLOYING, KEY
from tests.servers.openai_server import OpenAIServer
from tests.servers.qdrant_server import QdrantServer

pytestmark = pytest.mark.usefixtures("logging_restored")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty working folder, with no setting of ours in the environment."""
    expected = environment(tmp_path, {"DATA_PATH": str(tmp_path / "data")})
    for name in set(os.environ) - set(expected):
        monkeypatch.delenv(name)
    for name, value in expected.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@contextmanager
def serving(folder: Path, *arguments: str, **extra: str) -> Generator[tuple[subprocess.Popen[str], int, list[str]]]:
    """Start the command; yields it, its port and its log so far, up to `server_start`."""
    command = [sys.executable, "-m", "knowledge_mcp.cli.serve.rest", "--port", "0", *arguments]
    # the user's own cache of models, as in tests/embedders: a stop waits for a model that is being fetched
    kept = {"DATA_PATH": str(folder / "data"), "MODELS_PATH": str(default_cache())}
    env = environment(folder, {**kept, **extra})
    with subprocess.Popen(
        command, cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stderr is not None
            lines: list[str] = []
            for line in process.stderr:
                lines.append(line)
                if "server_start" in line:
                    break
            found = re.search(r"address=\S+:(\d+)", lines[-1])
            assert found, "".join(lines)
            yield process, int(found[1]), lines
        finally:
            process.kill()


def test_all_configuration_problems_are_reported_together_with_exit_code_3(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RAG_API_PORT", "many")
    monkeypatch.setenv("QDRANT_URL", "q.example.com")
    monkeypatch.setenv("RAG_API_KEYS_FILE", "missing.json")
    assert rest.main(["--engine", "nonsense"]) == 3
    output = capsys.readouterr()
    assert output.out == ""
    for name in ("RAG_API_PORT", "QDRANT_URL", "RAG_API_KEYS_FILE", "--engine"):
        assert name in output.err


def test_a_store_is_tried_once_where_the_settings_are_wrong(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("QDRANT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("CHROMADB_HOST", "127.0.0.1")
    monkeypatch.setenv("CHROMADB_PORT", "9")
    assert rest.main(["--engine", "nonsense"]) == 3
    output = capsys.readouterr().err
    assert "http://127.0.0.1:9 cannot be reached" in output
    assert "retry_attempt" not in output


@pytest.mark.requirement("D-REQ-10.3")
def test_an_unreachable_qdrant_is_reported_by_its_variables_with_exit_code_3(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("QDRANT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("CHROMADB_HOST", "127.0.0.1")
    monkeypatch.setenv("CHROMADB_PORT", "9")
    monkeypatch.setenv("RAG_API_KEY", "hush-hush")
    with without_retries():
        assert rest.main([]) == 3
    output = capsys.readouterr().err
    assert "QDRANT_URL" in output
    assert "hush-hush" not in output


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1"])
def test_an_address_that_others_reach_needs_a_key_or_the_word(
    host: str, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert rest.main(["--host", host]) == 3
    assert "--allow-unauthenticated" in capsys.readouterr().err
    monkeypatch.setenv("RAG_API_HOST", host)
    assert rest.main([]) == 3


@pytest.mark.parametrize("arguments", [["--port", "many"], ["--nonsense"], ["--grace", "-1"], ["--log-level", "loud"]])
def test_a_wrong_option_is_exit_code_3_and_names_the_help(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        rest.main(arguments)
    assert caught.value.code == 3
    assert "rag-api --help" in capsys.readouterr().err


def test_the_help_has_examples_and_the_version_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    for argument, result in (("--help", "examples:\n  rag-api\n"), ("--version", "rag-api ")):
        with pytest.raises(SystemExit) as caught:
            rest.main([argument])
        assert caught.value.code == 0
        assert result in capsys.readouterr().out


def test_a_port_in_use_is_exit_code_1(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert rest.main(["--port", str(port)]) == 1
    assert str(port) in capsys.readouterr().err


def test_a_missing_extra_is_reported_with_the_line_that_installs_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    assert rest.main([]) == 3
    assert "clausewise[api]" in capsys.readouterr().err


def test_a_defect_at_the_start_is_exit_code_1(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(settings: Settings, **_: object) -> NoReturn:
        raise ZeroDivisionError("a defect")

    monkeypatch.setattr(wiring, "try_start", broken)
    assert rest.main([]) == 1
    assert "ZeroDivisionError" in capsys.readouterr().err


@pytest.mark.slow
def test_without_a_key_only_this_machine_is_served_and_a_signal_is_a_clean_stop(tmp_path: Path) -> None:
    with serving(tmp_path, "--engine", "none") as (process, port, lines):
        assert any("only programs on this machine can connect" in line for line in lines)
        assert f"127.0.0.1:{port}" in lines[-1]
        assert httpx.get(f"http://127.0.0.1:{port}/collections", timeout=30).status_code == 200
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
        assert process.stdout is not None
        assert process.stdout.read() == ""


@pytest.mark.slow
def test_pages_of_what_was_ingested_are_drawn_for_this_machine_alone_and_for_others_below_named_folders(
    tmp_path: Path,
) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "cranes.pdf").write_bytes(standard(bookmarks=True))
    models = {"DATA_PATH": str(tmp_path / "data"), "MODELS_PATH": str(default_cache())}
    subprocess.run(
        [sys.executable, "-m", "knowledge_mcp.cli.ingest", str(tmp_path / "elsewhere")],
        cwd=tmp_path, env=environment(tmp_path, models), check=True, capture_output=True,
    )  # fmt: skip
    elsewhere = str(tmp_path / "elsewhere")
    for extra, status in (
        ({}, 200),
        ({"RAG_API_KEY": KEY}, 404),
        ({"RAG_API_KEY": KEY, "ALLOWED_ROOTS": elsewhere}, 200),
    ):
        with serving(tmp_path, "--engine", "none", **extra) as (_, port, _):
            headers = {"Authorization": f"Bearer {KEY}"} if extra else {}
            page = f"http://127.0.0.1:{port}/documents/cranes/pages/1"
            answer = httpx.get(page, headers=headers, timeout=60)
            assert answer.status_code == status, answer.text


@pytest.mark.slow
@pytest.mark.requirement("D-REQ-6.3")
def test_with_a_key_all_addresses_are_served_and_mcp_beside_the_service(tmp_path: Path) -> None:
    with serving(tmp_path, "--with-mcp", "--drain", "0", RAG_API_KEY=KEY) as (process, port, lines):
        assert f"0.0.0.0:{port}" in lines[-1]
        assert KEY not in "".join(lines)
        headers = {"Authorization": f"Bearer {KEY}", "Accept": "application/json, text/event-stream"}
        hello = {
            "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
                "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
        }  # fmt: skip
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:
            assert client.get("/collections").status_code == 401
            assert client.post("/mcp", json=hello).status_code == 401
            assert "knowledge-mcp" in client.post("/mcp", json=hello, headers=headers).text
            stats = client.post("/engine/standards/stats", json={}, headers=headers)
            assert stats.json()["result"]["backend"] == "sqlite"
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0


@pytest.mark.requirement("D-REQ-10.3")
@pytest.mark.requirement("D-REQ-10.4")
@pytest.mark.requirement("D-REQ-10.5")
@pytest.mark.requirement("D-REQ-10.6")
@pytest.mark.requirement("D-REQ-10.7")
@pytest.mark.anyio
async def test_the_variables_of_qdrant_and_azure_are_what_the_service_connects_by(tmp_path: Path) -> None:
    qdrant = QdrantServer(api_key="qdrant-secret")
    try:
        with OpenAIServer(key="azure-secret", deployments={"our-embeddings": "text-embedding-3-small"}) as azure:
            environ = {
                "QDRANT_URL": qdrant.url,
                "QDRANT_API_KEY": "qdrant-secret",
                "AZURE_OPENAI_ENDPOINT": azure.endpoint,
                "AZURE_OPENAI_KEY": "azure-secret",
                "AZURE_OPENAI_EMBEDDING_DEPLOYMENT": "our-embeddings",
                "EMBEDDING_MODEL": "text-embedding-3-small",
                "DATA_PATH": str(tmp_path),
            }
            settings = load_settings(surface="rag", environ=environ, folder=tmp_path)
            start = wiring.try_start(settings, surfaces=["rag"])
            assert (start.problems, start.backend, start.degraded) == ((), "qdrant", "")
            library = KnowledgeProvider(lambda: wiring.build_library(settings, start=start))
            app = build_rest_app(library, KeyRing(KEY), options=settings, version="9.9.9")
            headers = {"Authorization": f"Bearer {KEY}"}
            async with httpx.AsyncClient(
                transport=httpx.ASGITransport(app), base_url="http://localhost", headers=headers, timeout=60
            ) as client:
                body = {"text": DEPLOYING, "metadata": {"filename": "deploy.md", "collection": "ops"}}
                done = await client.post("/ingest", json=body)
                assert done.status_code == 200, done.text
                found = await client.post("/search", json={"query": "roll back", "collection": "ops"})
                assert "Roll back" in found.json()["results"][0]["text"]
                assert found.json()["results"][0]["metadata"]["page"] in {1, 2}
                listed = (await client.get("/collections")).json()["collections"]
                assert any("azure" in each["embedding_model"] for each in listed)
            assert azure.texts
            library.close()
    finally:
        qdrant.stop()
