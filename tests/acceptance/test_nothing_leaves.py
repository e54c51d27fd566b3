"""Nothing leaves the machine: the real commands run under strace, and their calls tell what they send."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from mcp import Client, StdioServerParameters

from knowledge_mcp.embedders.model_folders import default_cache
from tests.acceptance.commands import EXAMPLES, command, environment
from tests.machine import needs

WATCHED_SECONDS = 60.0
QUESTION = {"query": "What does a station switch off first when its battery runs low?"}
_ADDRESS = re.compile(r'inet_addr\("([^"]+)"\)|inet_pton\(AF_INET6, "([^"]+)"')
_PORT = re.compile(r"sin6?_port=htons\((\d+)\)")
_NAME_SERVICES = re.compile(r'sun_path="[^"]*(?:nscd|resolve)')


def sent_elsewhere(trace: str) -> list[str]:
    """List the traced calls that reach for another machine or look a name up."""
    return [line for line in trace.splitlines() if _leaves(line)]


def _leaves(line: str) -> bool:
    if _NAME_SERVICES.search(line):  # one that is not there answers nothing, and is asked for users as well
        return "= -1" not in line
    address = _ADDRESS.search(line)
    if address is None:
        return False
    looks_up = (port := _PORT.search(line)) is not None and port[1] == "53"
    here = (address[1] or "").startswith("127.") or address[2] in {"::1", "::ffff:127.0.0.1"}
    bound = re.search(r"\b(?:bind|getsockname|getpeername|accept4?)\(", line) is not None
    return looks_up or not (here or bound)


@pytest.mark.parametrize(
    "line",
    [
        'connect(9, {sa_family=AF_INET, sin_port=htons(443), sin_addr=inet_addr("192.0.2.1")}, 16) = -1 EINPROGRESS',
        'connect(9, {sa_family=AF_INET, sin_port=htons(53), sin_addr=inet_addr("127.0.0.53")}, 16) = 0',
        'connect(9, {sa_family=AF_INET6, sin6_port=htons(443), inet_pton(AF_INET6, "2001:db8::1", &a)}, 28) = 0',
        'sendto(9, "..", 32, 0, {sa_family=AF_INET, sin_port=htons(53), sin_addr=inet_addr("192.0.2.1")}, 16) = 32',
        'connect(9, {sa_family=AF_UNIX, sun_path="/var/run/nscd/socket"}, 110) = 0',
    ],
)
def test_a_call_that_reaches_for_another_machine_is_seen(line: str) -> None:
    assert sent_elsewhere(f"4711 {line}\n") == [f"4711 {line}"]


@pytest.mark.parametrize(
    "line",
    [
        'connect(9, {sa_family=AF_INET, sin_port=htons(6333), sin_addr=inet_addr("127.0.0.1")}, 16) = 0',
        'connect(9, {sa_family=AF_INET6, sin6_port=htons(80), inet_pton(AF_INET6, "::1", &sin6_addr)}, 28) = 0',
        'bind(9, {sa_family=AF_INET, sin_port=htons(3002), sin_addr=inet_addr("127.0.0.1")}, 16) = 0',
        'connect(9, {sa_family=AF_UNIX, sun_path="/var/run/nscd/socket"}, 110) = -1 ENOENT',
    ],
)
def test_a_call_that_stays_on_this_machine_is_no_finding(line: str) -> None:
    assert sent_elsewhere(f"4711 {line}\n") == []


@pytest.mark.slow
def test_the_servers_and_an_ingest_send_nothing_and_write_nowhere_but_in_their_folder(tmp_path: Path) -> None:
    strace, home, data = needs("strace"), tmp_path / "home", tmp_path / "data"
    home.mkdir()
    surroundings = {
        **environment(data),
        "HOME": str(home),
        "MODELS_PATH": os.environ.get("MODELS_PATH") or str(default_cache()),
        **{name: str(home / "unset") for name in ("XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME")},
    }
    watch = [strace, "-f", "-qq", "-e", "trace=%network", "-e", "signal=none"]
    ingested = subprocess.run(
        [*watch, "-o", str(tmp_path / "ingest"), command("knowledge-ingest"), str(EXAMPLES)],
        env=surroundings, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert ingested.returncode == 0, ingested.stderr[-2000:]
    with ExitStack() as stack:
        port = stack.enter_context(_http_server([*watch, "-o", str(tmp_path / "http")], surroundings))
        stdio = StdioServerParameters(
            command=watch[0], args=[*watch[1:], "-o", str(tmp_path / "stdio"), command("knowledge-mcp")],
            env=surroundings,
        )  # fmt: skip
        anyio.run(_ask_and_wait, stdio, f"http://127.0.0.1:{port}/mcp")
    found = {
        each: sent_elsewhere((tmp_path / each).read_text(errors="replace")) for each in ("ingest", "http", "stdio")
    }
    assert found == {"ingest": [], "http": [], "stdio": []}
    assert [str(each.relative_to(home)) for each in home.rglob("*") if each.is_file()] == []


async def _ask_and_wait(stdio: StdioServerParameters, address: str) -> None:
    """Search over both transports, then leave the servers alone for as long as a report would take to be sent."""
    async with Client(stdio) as one, Client(address) as other:
        for client in (one, other):
            found = await client.call_tool("knowledge_search", QUESTION)
            assert not found.is_error
            assert found.structured_content is not None
            assert found.structured_content["results"]
        with anyio.move_on_after(WATCHED_SECONDS):
            await anyio.sleep_forever()


@contextmanager
def _http_server(watch: list[str], surroundings: dict[str, Any]) -> Generator[int]:
    """Run the server over HTTP until the block is left; yields its port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    started = [*watch, command("knowledge-mcp"), "--transport", "http", "--port", str(port)]
    with subprocess.Popen(started, env=surroundings, stdin=subprocess.DEVNULL, start_new_session=True) as process:
        try:
            _until_it_answers(f"http://127.0.0.1:{port}/health", process)
            yield port
        finally:
            os.killpg(process.pid, signal.SIGTERM)


def _until_it_answers(address: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < deadline:
        try:
            if httpx.get(address, trust_env=False).status_code == 200:
                return
        except httpx.TransportError:
            continue
    raise AssertionError(f"no answer at {address}")
