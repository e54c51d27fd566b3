"""What leaves the machine: the real commands run under strace, and their calls tell what they send."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import anyio
import httpx
from mcp import Client, StdioServerParameters

from benchmarks.attacks import Attack, Outcome
from knowledge_mcp.embedders.local.model_files import fetch
from knowledge_mcp.embedders.local.model_folders import default_cache

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "documents"
_QUESTION = {"query": "What does a station switch off first when its battery runs low?"}
_ADDRESS = re.compile(r'inet_addr\("([^"]+)"\)|inet_pton\(AF_INET6, "([^"]+)"')
_PORT = re.compile(r"sin6?_port=htons\((\d+)\)")
_NAME_SERVICES = re.compile(r'sun_path="[^"]*(?:nscd|resolve)')
_PASSIVE = re.compile(r"\b(?:bind|getsockname|getpeername|accept4?)\(")


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
    return looks_up or not (here or _PASSIVE.search(line))


def watched(strace: str, folder: Path, *, seconds: float) -> tuple[dict[str, list[str]], list[str]]:
    """Ingest, search over stdio and HTTP, then leave the servers alone, all under strace.

    Args:
        strace: the program.
        folder: an empty one, for the home folder, the store and the traces.
        seconds: how long the servers are watched after their answers.

    Returns:
        What each of the three sent elsewhere, and the files that appeared in the home folder.

    Raises:
        RuntimeError: a command failed.
    """
    home = folder / "home"
    home.mkdir()
    surroundings = _surroundings(folder, home)
    watch = [strace, "-f", "-qq", "-e", "trace=%network", "-e", "signal=none"]
    ingest = [*watch, "-o", str(folder / "ingest"), _command("knowledge-ingest"), str(EXAMPLES)]
    done = subprocess.run(ingest, env=surroundings, capture_output=True, text=True, check=False, timeout=300)
    if done.returncode != 0:
        raise RuntimeError(done.stderr[-2000:])
    stdio = StdioServerParameters(
        command=strace, args=[*watch[1:], "-o", str(folder / "stdio"), _command("knowledge-mcp")], env=surroundings
    )
    with _http_server([*watch, "-o", str(folder / "http")], surroundings) as port:
        anyio.run(_ask_and_wait, stdio, f"http://127.0.0.1:{port}/mcp", seconds)
    traces = ("ingest", "http", "stdio")
    sent = {each: sent_elsewhere((folder / each).read_text(errors="replace")) for each in traces}
    return sent, [str(each.relative_to(home)) for each in home.rglob("*") if each.is_file()]


def _surroundings(folder: Path, home: Path) -> dict[str, str]:
    """Take over the environment, with an empty home and a store of its own; the model is had before, and stays."""
    models = os.environ.get("MODELS_PATH") or str(default_cache())
    fetch(cache=Path(models))
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "OPENAI_", "QDRANT_"))}
    own = {"HOME": str(home), "DATA_PATH": str(folder / "data"), "MODELS_PATH": models}
    return {**kept, **own, "EMBEDDING_PROVIDER": "local"}


def _command(name: str) -> str:
    return str(Path(sys.executable).parent / name)


async def _ask_and_wait(stdio: StdioServerParameters, address: str, seconds: float) -> None:
    async with Client(stdio) as one, Client(address) as other:
        for client in (one, other):
            found = await client.call_tool("knowledge_search", _QUESTION)
            if found.is_error or found.structured_content is None or not found.structured_content["results"]:
                raise RuntimeError(f"no answer: {found}")
        await anyio.sleep(seconds)


@contextmanager
def _http_server(watch: Sequence[str], surroundings: Mapping[str, str]) -> Generator[int]:
    """Run the server over HTTP until the block is left; yields its port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    started = [*watch, _command("knowledge-mcp"), "--transport", "http", "--port", str(port), "--log-level", "ERROR"]
    with subprocess.Popen(started, env=surroundings, stdin=subprocess.DEVNULL, start_new_session=True) as process:
        try:
            _wait_for(f"http://127.0.0.1:{port}/health", process)
            yield port
        finally:
            os.killpg(process.pid, signal.SIGTERM)


def _wait_for(address: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < deadline:
        try:
            if httpx.get(address, trust_env=False).status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.1)
    raise RuntimeError(f"no answer at {address}")


def _reports(folder: Path) -> Outcome:
    strace = shutil.which("strace")
    if strace is None:
        return Outcome(skipped="strace is not installed")
    sent, files = watched(strace, folder, seconds=20)
    found = [f"{name}: {line}" for name, lines in sent.items() for line in lines]
    return Outcome(tried=len(sent), through=(*found, *(f"wrote {each}" for each in files)), note="watched for 20 s")


ATTACKS = (Attack("network", "a library reports to its maker while servers and an ingest run", _reports),)
