"""The health check of the container: it needs no shell, no curl and none of our code."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Generator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.deploy.manifests import DEPLOY
from tests.servers.running import served


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200 if self.path == "/health" else 503)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        del format, args


@pytest.fixture
def port() -> Generator[int]:
    """Serve 200 at /health and 503 elsewhere."""
    with served(ThreadingHTTPServer(("127.0.0.1", 0), _Handler)) as server:
        yield server.server_port


def _check(*arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-I", str(DEPLOY / "healthcheck.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=30, env=environ)


def test_a_server_that_answers_is_healthy(port: int) -> None:
    assert _check(f"http://127.0.0.1:{port}/health").returncode == 0


def test_a_proxy_for_the_outside_is_not_asked(port: int) -> None:
    address = f"http://127.0.0.1:{port}/health"
    assert _check(address, http_proxy="http://127.0.0.1:9").returncode == 0


def test_another_status_is_not_healthy(port: int) -> None:
    finished = _check(f"http://127.0.0.1:{port}/ready")
    assert finished.returncode == 1
    assert "503" in finished.stderr


def test_nobody_there_is_not_healthy(port: int) -> None:
    del port
    finished = _check("http://127.0.0.1:9/health")
    assert (finished.returncode, "Traceback" in finished.stderr) == (1, False)


@pytest.mark.parametrize("arguments", [[], ["http://example.com/health"], ["http://127.0.0.1:1/health", "more"]])
def test_it_asks_this_container_only(arguments: list[str]) -> None:
    finished = _check(*arguments)
    assert (finished.returncode, "usage" in finished.stderr) == (1, True)
