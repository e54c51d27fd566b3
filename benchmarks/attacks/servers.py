"""Attacks on a running server: stopped while it reads hostile documents, killed with jobs queued, asked without end."""

from __future__ import annotations

import contextlib
import http.client
import io
import json
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.attacks import Attack, Outcome
from benchmarks.attacks.connections import Served, served
from tests.servers.openai_server import OpenAIServer

_KEY = "a-key-of-the-owner-with-enough-characters"
_GRACE = 25.0
_LEEWAY = 5.0
"""Seconds for a process to end after its grace, and for the machine to be busy."""
_JOBS, _KILLS = 120, 6
_REQUESTS, _CLIENTS = 20_000, 4
_SESSIONS = 400
_MOST_OF_A_KEY = 250
_INITIALIZE = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}  # fmt: skip
_BOTH = {"Accept": "application/json, text/event-stream"}


@contextmanager
def _service(folder: Path, embedding: OpenAIServer) -> Generator[Served]:
    settings = {
        "EMBEDDING_PROVIDER": "openai", "OPENAI_API_KEY": embedding.key, "OPENAI_BASE_URL": embedding.url,
        "RAG_API_KEY": _KEY,
    }  # fmt: skip
    with served(folder, ["rag-api", "--with-mcp"], settings) as server:
        yield server


def _ask(server: Served, method: str, path: str, body: object = None, more: dict[str, str] | None = None) -> str:
    """Send one request; returns the answer's body, and fails where it is no success."""
    headers = {"Authorization": f"Bearer {_KEY}", "Content-Type": "application/json", **(more or {})}
    data = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)) as connection:
        connection.request(method, path, data, headers)
        answer = connection.getresponse()
        text = answer.read().decode("utf-8", "replace")
        if answer.status >= 300:
            raise RuntimeError(f"{method} {path}: {answer.status} {text[:200]}")
        return text


def _upload(server: Served, name: str, data: bytes) -> None:
    """Send a file to be ingested as a job."""
    mark = "----0123456789"
    fields = {"collection": "docs", "wait": "false"}
    parts = [
        f'--{mark}\r\nContent-Disposition: form-data; name="{key}"\r\n\r\n{value}\r\n' for key, value in fields.items()
    ]
    head = f'--{mark}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'
    whole = "".join(parts).encode() + head.encode() + data + f"\r\n--{mark}--\r\n".encode()
    _ask(server, "POST", "/ingest_file", whole, {"Content-Type": f"multipart/form-data; boundary={mark}"})


def _pdf() -> bytes:
    from reportlab.pdfgen.canvas import Canvas

    buffer = io.BytesIO()
    canvas = Canvas(buffer)
    for page in range(400):
        for line in range(50):
            canvas.drawString(
                50, 800 - 15 * line, f"{page}.{line} The pump {page} shall run {line} hours by battery, and be watched."
            )
        canvas.showPage()
    canvas.save()
    return buffer.getvalue()


_HOSTILE: dict[str, Callable[[], bytes]] = {
    "items.md": lambda: b"# Items\n\n" + b"".join(b"- Item %d shall be kept.\n" % each for each in range(30_000)),
    "keys.json": lambda: json.dumps({f"key{each}": {"value": each} for each in range(300_000)}).encode(),
    "line.txt": lambda: b"word " * 4_000_000,
    "pages.pdf": _pdf,
}


def _stopping(folder: Path) -> Outcome:
    """Tell a server to stop while it reads a document that takes long; its grace must hold, and its store be whole."""
    through: list[str] = []
    seconds: list[str] = []
    with OpenAIServer() as embedding:
        for name, make in _HOSTILE.items():
            place = folder / name
            with _service(place, embedding) as server:
                _upload(server, name, make())
                time.sleep(1.5)
                began = time.monotonic()
                server.process.send_signal(signal.SIGTERM)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    server.process.wait(_GRACE + _LEEWAY)
                took = time.monotonic() - began
                seconds.append(f"{name} {took:.1f} s")
                if server.process.poll() is None:
                    through.append(f"{name}: still running after {took:.0f} s")
                    server.process.kill()
            through += [f"{name}: {each}" for each in _doctor(place)]
    return Outcome(len(_HOSTILE), tuple(through), note=", ".join(seconds))


def _doctor(place: Path) -> list[str]:
    program = str(Path(sys.executable).with_name("knowledge"))
    environment = {
        "DATA_PATH": str(place / "data"),
        "EMBEDDING_PROVIDER": "local",
        "PATH": "/usr/bin:/bin",
        "HOME": str(place),
    }
    done = subprocess.run([program, "doctor", "--json"], env=environment, capture_output=True, text=True, check=False)
    if "consistent" in done.stdout or "is empty" in done.stdout or "holds nothing" in done.stdout:
        return []
    return [f"the doctor says {done.stdout[-300:]} {done.stderr[-200:]}"]


def _jobs(folder: Path) -> Outcome:
    """Queue jobs, and kill the server again and again; every job must end, and every document be there whole."""
    chance = random.Random(3)
    through: list[str] = []
    jobs: list[str] = []
    with OpenAIServer() as embedding:
        for turn in range(_KILLS):
            with _service(folder, embedding) as server:
                for _ in range(_JOBS // _KILLS):
                    number = len(jobs)
                    text = f"# Notes {number}\n\n" + "".join(
                        f"## {part} Part\n\nPump {number} shall run {part} hours.\n\n" for part in range(1, 6)
                    )
                    body = {
                        "text": text,
                        "metadata": {"collection": "docs", "filename": f"notes{number}.md"},
                        "wait": False,
                    }
                    jobs.append(str(json.loads(_ask(server, "POST", "/ingest", body))["job_id"]))
                if turn + 1 < _KILLS:
                    time.sleep(chance.uniform(0.0, 0.6))
                    server.process.kill()
                    server.process.wait()
                    continue
                ended = _ended(server, jobs)
                through += [f"job {number}: {each}" for number, each in enumerate(ended) if each["state"] != "done"]
                through += _missing(server, len(jobs))
    return Outcome(len(jobs), tuple(through), note=f"{_KILLS - 1} kills")


def _ended(server: Served, jobs: list[str]) -> list[dict[str, Any]]:
    """Wait until every job has ended, two minutes at most."""
    deadline = time.monotonic() + 120
    while True:
        found = [json.loads(_ask(server, "GET", f"/jobs/{job}")) for job in jobs]
        if all(each["state"] in {"done", "failed", "cancelled"} for each in found) or time.monotonic() > deadline:
            return found
        time.sleep(0.5)


def _missing(server: Served, count: int) -> list[str]:
    found: list[str] = []
    for number in range(count):
        answer = json.loads(
            _ask(server, "POST", "/search", {"query": f"pump {number} shall run", "collection": "docs", "top_k": 20})
        )
        own = [each for each in answer["results"] if each["metadata"]["filename"] == f"notes{number}.md"]
        if any(f"Pump {number} " not in each["text"] for each in own):
            found.append(f"notes{number}.md has words of another document")
    listed = json.loads(_ask(server, "GET", f"/documents?collection=docs&limit={count + 10}"))
    names = sorted(each["filename"] for each in listed["documents"])
    if names != sorted(f"notes{number}.md" for number in range(count)):
        found.append(f"{len(names)} documents are there, of {count}")
    return found


def _memory(server: Served) -> int:
    """Read the resident memory of a server, in kilobytes."""
    status = Path(f"/proc/{server.process.pid}/status").read_text(encoding="utf-8")
    return int(status.split("VmRSS:")[1].split()[0])


def _steady(folder: Path) -> Outcome:
    """Ask without end; no request may fail, and memory must stay where it was after the first ones."""
    if not Path("/proc/self/status").exists():
        return Outcome(skipped="this system does not tell a process's memory")
    failed: list[str] = []
    paths = ("/health", "/collections", "/documents?collection=docs&limit=5", "/search")

    def client(port: int, count: int) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        for number in range(count):
            path = paths[number % len(paths)]
            body = json.dumps({"query": f"pump {number % 50}", "collection": "docs"}) if path == "/search" else None
            headers = {"Authorization": f"Bearer {_KEY}", "Content-Type": "application/json"}
            try:
                connection.request("POST" if body else "GET", path, body, headers)
                answer = connection.getresponse()
                answer.read()
                if answer.status != 200:
                    failed.append(f"{path}: {answer.status}")
            except (OSError, http.client.HTTPException) as exc:
                failed.append(f"{path}: {type(exc).__name__}")
                connection.close()
        connection.close()

    def all_clients(server: Served, count: int) -> None:
        threads = [threading.Thread(target=client, args=(server.port, count // _CLIENTS)) for _ in range(_CLIENTS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    with OpenAIServer() as embedding, _service(folder, embedding) as server:
        for number in range(50):
            body = {
                "text": f"# N\n\nThe pump {number} shall run.",
                "metadata": {"collection": "docs", "filename": f"n{number}.md"},
            }
            _ask(server, "POST", "/ingest", body)
        all_clients(server, _REQUESTS // 10)
        before = _memory(server)
        all_clients(server, _REQUESTS)
        after = _memory(server)
    if after > before * 1.1:
        failed.append(f"memory grew from {before:,} to {after:,} kB")
    return Outcome(_REQUESTS, tuple(failed[:5]), note=f"{before // 1024} MB, then {after // 1024} MB")


def _many_sessions(folder: Path) -> Outcome:
    """Open more MCP sessions than a key may have; the newest must work, and memory must stay bounded."""
    through: list[str] = []
    with OpenAIServer() as embedding, _service(folder, embedding) as server:
        opened: list[str] = []
        for _ in range(_SESSIONS):
            with contextlib.closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)) as connection:
                headers = {"Authorization": f"Bearer {_KEY}", "Content-Type": "application/json", **_BOTH}
                connection.request("POST", "/mcp", json.dumps(_INITIALIZE), headers)
                answer = connection.getresponse()
                answer.read()
                opened.append(answer.getheader("mcp-session-id") or "")
        alive = sum(_lives(server, each) for each in opened)
        if alive > _MOST_OF_A_KEY:
            through.append(f"{alive} sessions of one key are alive")
        if not _lives(server, opened[-1]):
            through.append("the newest session is not served")
    return Outcome(_SESSIONS, tuple(through), note=f"{alive} of {_SESSIONS} are kept")


def _lives(server: Served, session: str) -> bool:
    listing: dict[str, object] = {"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {}}
    try:
        return "tools" in _ask(server, "POST", "/mcp", listing, {**_BOTH, "Mcp-Session-Id": session})
    except RuntimeError:
        return False


def _file_modes(folder: Path) -> Outcome:
    """Look at every file of a store after an ingest under a careless umask: nobody else may read it."""
    source, home = folder / "papers", folder / "home"
    source.mkdir()
    (source / "a.md").write_text("# A\n\nThe pump shall run.", encoding="utf-8")
    program = shutil.which("knowledge-ingest", path=str(Path(sys.executable).parent)) or "knowledge-ingest"
    script = 'umask 000; exec "$@"'
    environment = {"DATA_PATH": str(home / "data"), "PATH": "/usr/bin:/bin", "HOME": str(Path.home())}
    subprocess.run(["sh", "-c", script, "sh", program, str(source)], env=environment, capture_output=True, check=True)
    files = [home / "data", *(home / "data").rglob("*")]
    open_to_others = [f"{each.name}: {each.stat().st_mode & 0o777:o}" for each in files if each.stat().st_mode & 0o077]
    return Outcome(len(files), tuple(open_to_others))


ATTACKS: tuple[Attack, ...] = (
    Attack("stopping", "a server told to stop while it reads documents that take long", _stopping),
    Attack("jobs", "a server killed again and again with jobs queued", _jobs),
    Attack("steady", "very many requests of a few clients", _steady),
    Attack("sessions", "more MCP sessions than a key may have", _many_sessions),
    Attack("file modes", "the files of a store under a careless umask", _file_modes),
)
