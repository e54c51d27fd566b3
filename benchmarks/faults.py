"""Break an ingest of 200 documents in the middle, repair what was broken, run it again, compare with an unbroken run.

Usage: `python -m benchmarks.faults [--documents 200] [--only PLACE …] [--faults WORDS …]`

Each case runs the real `knowledge-ingest` as a process, embedding through the stand-in of OpenAI's service
(`tests.servers.openai_server`), into SQLite, a real `chroma run` server, or the stand-in of Qdrant's server.
When a third of the passages are embedded, something happens: the ingest or the store is killed (SIGKILL), the network
between them is cut (a proxy that drops everything), the disk is full (a small tmpfs; needs root, else a limit on the
size of files), the embedding service is gone. Then the first run must end with a clear message or by the signal. After
the repair the second run must succeed and leave, record for record, chunk for chunk, vector for vector, what an
undisturbed run leaves. Exit code 1 when any case differs.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import hashlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.product import environment
from knowledge_mcp.model.chunk import embedding_key
from knowledge_mcp.stores.shared.payload import chunk_to_json
from knowledge_mcp.testing.store_search import text_of
from tests.servers.openai_faults import dropped
from tests.servers.openai_server import OpenAIServer

BIN = Path(sys.executable).parent
Environ = dict[str, str]


class Proxy:
    """Carry bytes to a port of this machine until it is cut; a cut connection is closed, a new one refused."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._cut = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """Drop every connection and refuse new ones."""
        self._cut.set()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def repair(self) -> None:
        """Let connections through again, on the same port."""
        self._cut = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", self.port))
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while not self._cut.is_set():
            try:
                near, _ = self._listener.accept()
                far = socket.create_connection(("127.0.0.1", self._target), 5)
            except OSError:
                continue
            threading.Thread(target=self._carry, args=(near, far, self._cut), daemon=True).start()

    @staticmethod
    def _carry(near: socket.socket, far: socket.socket, cut: threading.Event) -> None:
        with near, far, contextlib.suppress(OSError):
            while not cut.is_set():
                for ready in select.select([near, far], [], [], 0.05)[0]:
                    data = ready.recv(65536)
                    if not data:
                        return
                    (far if ready is near else near).sendall(data)


@dataclass
class Place:
    """Hold what one case runs on: settings that choose the store, and how to break and repair it."""

    environ: Environ
    breaks: dict[str, tuple[Callable[[], None], Callable[[], None]]] = field(
        default_factory=dict[str, tuple[Callable[[], None], Callable[[], None]]]
    )
    file_limit: int | None = None


def write_documents(folder: Path, count: int) -> None:
    """Write handbooks of six clauses, each with words of its own."""
    folder.mkdir(parents=True)
    for number in range(count):
        lines = [f"# Handbook {number}\n"]
        for clause in range(1, 7):
            text = " ".join(
                f"Part {clause}.{item} of unit {number} shall be kept at level {number * item % 97}."
                for item in range(12)
            )
            lines.append(f"## {clause} Clause {clause} of {number}\n\n{text}\n")
        (folder / f"handbook-{number:03d}.md").write_text("\n".join(lines))


def base_environ(data: Path, service: OpenAIServer) -> Environ:
    """Choose the stand-in for embedding, in small batches so that there is a middle to break."""
    return {
        **environment(data), "EMBEDDING_PROVIDER": "openai", "OPENAI_API_KEY": service.key, "LOG_LEVEL": "WARNING",
        "OPENAI_BASE_URL": service.url, "EMBEDDING_DIMENSIONS": "256", "EMBEDDING_BATCH_SIZE": "20",
        "EMBEDDING_CONCURRENCY": "2",
    }  # fmt: skip


def start(files: Path, place: Place) -> subprocess.Popen[str]:
    """Start an ingest in a process group of its own."""
    limit = [] if place.file_limit is None else ["prlimit", f"--fsize={place.file_limit}"]
    return subprocess.Popen(
        [*limit, str(BIN / "knowledge-ingest"), str(files)],
        env=place.environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def contents(environ: Environ) -> dict[str, str]:
    """Hash every document: its record but for its times, its text, its chunks, their vectors."""
    from knowledge_mcp.settings import load_settings
    from knowledge_mcp.wiring import build_base

    base = build_base(load_settings(environ=environ))
    found: dict[str, str] = {}
    try:
        for record in base.store.open(base.collection).documents():
            timeless = dataclasses.replace(record, created_at="", updated_at="")
            chunks = base.store.open(base.collection).chunks("document", [record.id])
            keys = [embedding_key(chunk) for chunk in chunks]
            vectors = base.store.open(base.collection).vectors(keys)
            parts = [repr(timeless), text_of(base.store.open(base.collection), record.id) or ""]
            parts.extend(chunk_to_json(chunk) + vectors[key].hex() for chunk, key in zip(chunks, keys, strict=True))
            found[record.id] = hashlib.sha256("\n".join(parts).encode()).hexdigest()
        findings = base.store.open(base.collection).verify()
        if findings:
            found["findings"] = "; ".join(finding.message for finding in findings)
    finally:
        base.store.close()
        base.embedder.close()
    return found


# ---- places


@contextlib.contextmanager
def sqlite(folder: Path, service: OpenAIServer) -> Generator[Place]:
    """Keep everything in one file."""
    yield Place(base_environ(folder / "data", service))


@contextlib.contextmanager
def little_disk(folder: Path, service: OpenAIServer) -> Generator[Place]:
    """Keep everything in one file on a disk that is soon full."""
    data = folder / "data"
    data.mkdir()
    place = Place(base_environ(data, service) | {"EMBEDDING_CACHE": "false"})
    if (
        os.geteuid() == 0
        and not subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=2500k", "tmpfs", str(data)], capture_output=True, check=False
        ).returncode
    ):
        grow = ["mount", "-o", "remount,size=200m", str(data)]
        place.breaks["disk full (tmpfs)"] = (lambda: None, lambda: subprocess.run(grow, check=True) and None)
        try:
            yield place
        finally:
            subprocess.run(["umount", str(data)], check=True)
        return
    place.file_limit = 2_000_000

    def lift() -> None:
        place.file_limit = None

    place.breaks["disk full (file size limit)"] = (lambda: None, lift)
    yield place


@contextlib.contextmanager
def chroma(folder: Path, service: OpenAIServer) -> Generator[Place]:
    """Keep everything in a real ChromaDB server behind a proxy."""
    from tests.servers.chroma_server import ChromaServer

    with ChromaServer(folder / "chroma") as server:
        proxy = Proxy(server.port)
        environ = base_environ(folder / "data", service)
        more = {"VECTOR_STORE": "chromadb", "CHROMADB_HOST": "127.0.0.1", "CHROMADB_PORT": str(proxy.port)}
        place = Place(environ | more)
        place.breaks["store killed"] = (server.kill, server.start)
        place.breaks["network cut"] = (proxy.cut, proxy.repair)
        yield place


@contextlib.contextmanager
def qdrant(folder: Path, service: OpenAIServer) -> Generator[Place]:
    """Keep everything in the stand-in of Qdrant's server, behind a proxy; ChromaDB cannot be reached."""
    from tests.servers.qdrant_server import QdrantServer

    servers = [QdrantServer()]
    port = servers[0].port
    proxy = Proxy(port)
    environ = base_environ(folder / "data", service)
    nowhere = {"CHROMADB_HOST": "127.0.0.1", "CHROMADB_PORT": "1"}
    more = {"VECTOR_STORE": "qdrant", "QDRANT_URL": f"http://127.0.0.1:{proxy.port}", "QDRANT_GRPC": "off"}
    place = Place(environ | more | nowhere)
    place.breaks["store stopped"] = (
        servers[-1].stop,
        lambda: servers.append(QdrantServer(servers[0].local, port=port)),
    )
    place.breaks["network cut"] = (proxy.cut, proxy.repair)
    yield place
    servers[-1].stop()


PLACES = {"sqlite": sqlite, "sqlite, little disk": little_disk, "chromadb server": chroma, "qdrant stand-in": qdrant}


# ---- a case


@dataclass
class Outcome:
    """Tell how one case went."""

    case: str
    first: str
    told: str
    second: int
    equal: bool
    again: int


def wait_for(texts: int, service: OpenAIServer, run: subprocess.Popen[str], seen: int) -> None:
    """Wait until so many texts more were sent, or the run has ended."""
    deadline = time.monotonic() + 300
    while len(service.texts) - seen < texts and run.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)


def run_case(
    name: str, files: Path, place: Place, service: OpenAIServer, fault: str, expected: dict[str, str]
) -> Outcome:
    """Break one run, repair, run again, compare."""
    seen, third = len(service.texts), len(list(files.iterdir())) * 6 // 3
    run = start(files, place)
    undo: Callable[[], None] = lambda: None  # noqa: E731 - replaced below
    if fault == "ingest killed":
        wait_for(third, service, run, seen)
        os.killpg(run.pid, signal.SIGKILL)
    elif fault == "embedding service gone":
        wait_for(third, service, run, seen)
        service.always = dropped()

        def undo() -> None:
            service.always = None
    else:
        cause, undo = place.breaks[fault]
        if not fault.startswith("disk"):
            wait_for(third, service, run, seen)
        cause()
    said, _ = run.communicate(timeout=600)
    undo()
    result = next((line for line in said.splitlines() if line.startswith(("Error", "Ingestion failed"))), "")
    sent = len(service.texts)
    second = start(files, place)
    last, _ = second.communicate(timeout=600)
    if second.returncode:
        print(last[-3000:], file=sys.stderr)
    found = contents(place.environ)
    case = f"{name}: {fault}"
    differing = sorted(each for each in found.keys() | expected.keys() if found.get(each) != expected.get(each))
    if differing:
        print(f"{case}: {len(differing)} differ: {differing[:5]} {found.get('findings', '')}", file=sys.stderr)
    ended = f"signal {-run.returncode}" if run.returncode < 0 else f"exit {run.returncode}"
    return Outcome(case, ended, result, second.returncode, found == expected, len(service.texts) - sent)


def faults_of(place: Place) -> list[str]:
    """List what can be broken there."""
    if any(name.startswith("disk") for name in place.breaks):
        return list(place.breaks)
    return ["ingest killed", "embedding service gone", *place.breaks]


def main() -> int:
    """Run all cases and print one line for each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--documents", type=int, default=200)
    parser.add_argument("--only", nargs="+", choices=sorted(PLACES), default=list(PLACES))
    parser.add_argument("--faults", nargs="+", help="words of the faults to try, all by default")
    options = parser.parse_args()
    outcomes: list[Outcome] = []
    with tempfile.TemporaryDirectory(prefix="faults-") as root, OpenAIServer() as service:
        files = Path(root) / "files"
        write_documents(files, options.documents)
        undisturbed = Place(base_environ(Path(root) / "undisturbed", service))
        assert start(files, undisturbed).wait(600) == 0
        expected = contents(undisturbed.environ)
        for name in options.only:
            number, total = 0, 1
            while number < total:
                folder = Path(root) / f"{name.replace(' ', '-')}-{number}"
                folder.mkdir()
                with PLACES[name](folder, service) as place:
                    kinds = faults_of(place)
                    total = len(kinds)
                    required = options.faults is None or any(word in kinds[number] for word in options.faults)
                    if required:
                        outcomes.append(run_case(name, files, place, service, kinds[number], expected))
                        print(json.dumps(dataclasses.asdict(outcomes[-1])), flush=True)
                number += 1
    print("\n| case | first run | told | second run | equal to an undisturbed run | texts sent by the second run |")
    print("|---|---|---|---|---|---|")
    for each in outcomes:
        equal = "yes" if each.equal else "NO"
        print(f"| {each.case} | {each.first} | {each.told} | exit {each.second} | {equal} | {each.again} |")
    return 0 if all(each.equal and each.second == 0 and each.first != "exit 0" for each in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
