"""Load the REST service as many users at once: throughput, latency, errors, memory, by replicas; kill one on the way.

Usage: `python -m benchmarks.rag_load [--documents 10000] [--chunks 70] [--stores sqlite postgres] [--users 10 100]
[--replicas 1 3] [--seconds 20] [--kill] [--keep FOLDER [--fill-only]] [--plot docs/rag-load.svg] [--json FILE]`

The collection is synthetic (`benchmarks.synthetic`), its vectors are made, not embedded, and written through the
store's own port; questions are embedded by the default local model of each replica. Every user asks its next question
when the last one is answered, with no pause between, which is more than a person asks: ten such users stand for some
hundreds of people. The balancer is in the client: each user goes to the next replica at each request, and to the one
after it when a replica does not answer or says that it cannot now (502, 503, 504), as a load balancer with health
checks does. With `--kill`, an ingest and searches run on, one replica is killed by SIGKILL in their middle, and
afterwards every document that was accepted must be there. Servers and users share the machine's cores. The stores are
those of `benchmarks.stores`: PostgreSQL begins empty each time, a Qdrant server is your own (`QDRANT_URL`).
"""

from __future__ import annotations

import argparse
import http.client
import itertools
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Generator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import numpy as np
import psutil

from benchmarks.product import environment
from benchmarks.stores import STORES, served
from benchmarks.synthetic import documents, questions

KEY = "key-of-the-load-test"
COLLECTION = "load"
RETRIED = {502, 503, 504}
TOO_MANY = 429


@dataclass
class Replica:
    """One running service."""

    url: str
    process: subprocess.Popen[bytes]

    def memory(self) -> int:
        """Return the resident bytes of the process and its children."""
        try:
            own = psutil.Process(self.process.pid)
            return sum(each.memory_info().rss for each in (own, *own.children(recursive=True)))
        except psutil.NoSuchProcess:
            return 0


@dataclass
class Tally:
    """What one run counted; the lock is held for each change."""

    times: list[float] = field(default_factory=list[float])
    retries: int = 0
    failures: list[str] = field(default_factory=list[str])
    lock: threading.Lock = field(default_factory=threading.Lock)


def free_port() -> int:
    """Name a port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def replica(environ: dict[str, str], folder: Path) -> Generator[Replica]:
    """Run one service until the block ends; it is ready when `/ready` says so."""
    port = free_port()
    line = [str(Path(sys.executable).parent / "rag-api"), "--host", "127.0.0.1", "--port", str(port)]
    with (folder / f"replica-{port}.log").open("wb") as log:
        process = subprocess.Popen(line, env=environ, stderr=log, stdout=log)
        url = f"http://127.0.0.1:{port}"
        try:
            give_up = time.monotonic() + 300
            while time.monotonic() < give_up:
                try:
                    if httpx.get(f"{url}/ready", timeout=60).status_code == 200:
                        break
                except httpx.TransportError:
                    time.sleep(0.2)
            else:
                sys.exit(f"a replica did not become ready: {(folder / f'replica-{port}.log').read_text()[-2000:]}")
            yield Replica(url, process)
        finally:
            if process.poll() is None:
                process.terminate()
            process.wait(60)


@contextmanager
def place_for(store: str, kept: Path | None) -> Generator[Path]:
    """Give a store its folder, which is gone afterwards unless it is to be kept."""
    if kept is not None:
        folder = kept.absolute() / store
        folder.mkdir(parents=True, exist_ok=True)
        yield folder
        return
    with tempfile.TemporaryDirectory(prefix="rag-load-") as temporary:
        yield Path(temporary)


@contextmanager
def filled(store: str, folder: Path, chunks: int, per_document: int, *, is_kept: bool) -> Generator[dict[str, str]]:
    """Write the collection into a store; gives the environment that names it."""
    from knowledge_mcp.model.collection import WholeDocument
    from knowledge_mcp.settings import load_settings
    from knowledge_mcp.wiring import build_base, build_store

    with served(store, folder) as (named, _):
        environ = {**environment(folder), **named, "RAG_API_KEY": KEY, "LOG_LEVEL": "WARNING"}
        settings = load_settings(environ=environ)
        base = build_base(settings, surface="rag")
        draw = np.random.default_rng(5)
        vectors = draw.normal(0, 1, (4000, base.embedder.space.dimensions)).astype(np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        started = time.perf_counter()
        base.store.create_collection(COLLECTION, base.embedder.space)
        there = {record.id for record in base.store.open(COLLECTION).documents()}
        written = 0
        for record, text, made in documents(chunks, base.embedder.space, vectors, per_document=per_document):
            if record.id not in there:
                base.store.open(COLLECTION).publish([WholeDocument(record, text, made)], lambda _: None)
                written += len(made)
        print(f"{store}: {written:,} chunks written in {time.perf_counter() - started:.0f} s", file=sys.stderr)
        base.store.close()
        base.embedder.close()
        yield environ
        if store == "qdrant" and not is_kept:
            with closing(build_store(settings, store)) as server:
                server.drop_collection(COLLECTION)


@dataclass
class Answer:
    """What a replica answered."""

    status: int
    text: str
    retry_after: float = 0.0

    def json(self) -> Any:
        """Read the text as JSON."""
        return json.loads(self.text)


class User:
    """Send requests over one connection to each replica.

    Users and servers share the cores, and httpx took as much of them as a server; `http.client` takes 1 to 2 ms.
    """

    def __init__(self) -> None:
        self._connections: dict[str, http.client.HTTPConnection] = {}

    def send(self, url: str, method: str, path: str, body: object = None) -> Answer:
        """Send one request and read the answer.

        Raises:
            OSError, http.client.HTTPException: the replica does not answer.
        """
        connection = self._connections.setdefault(url, http.client.HTTPConnection(urlsplit(url).netloc, timeout=60))
        headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
        try:
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            wait = float(answer.headers.get("Retry-After", 0))
            return Answer(answer.status, answer.read().decode(), wait)
        except (OSError, http.client.HTTPException):
            connection.close()  # the next request opens it again
            raise

    def close(self) -> None:
        """Close the connections."""
        for each in self._connections.values():
            each.close()


def ask(user: User, urls: list[str], start: int, method: str, path: str, body: object = None) -> tuple[Answer, int]:
    """Send one request to a replica, to the next one where it fails in passing; returns the answer and the retries.

    Who is told to come back later does so when it was told to.
    """
    last: Exception | str = ""
    waits = 0
    for attempt in range(2 * len(urls) + 1):
        try:
            answer = user.send(urls[(start + attempt) % len(urls)], method, path, body)
            while answer.status == TOO_MANY:
                waits += 1
                time.sleep(answer.retry_after)
                answer = user.send(urls[(start + attempt + waits) % len(urls)], method, path, body)
        except (OSError, http.client.HTTPException) as exc:
            last = exc
        else:
            if answer.status not in RETRIED:
                return answer, attempt + waits
            last = answer.text
        if attempt >= len(urls):
            time.sleep(0.1)
    raise RuntimeError(f"no replica answered {method} {path}: {last}")


def search_for(seconds: float, users: int, urls: list[str]) -> Tally:
    """Let so many users ask for so long."""
    tally = Tally()
    asked = questions(500, seed=7)
    ends = time.monotonic() + seconds

    def user(number: int) -> None:
        with closing(User()) as client:
            for turn in itertools.count():
                if time.monotonic() >= ends:
                    return
                body = {"query": asked[(number * 31 + turn) % len(asked)], "collection": COLLECTION, "top_k": 5}
                began = time.perf_counter()
                try:
                    answer, retries = ask(client, urls, number + turn, "POST", "/search", body)
                except RuntimeError as exc:
                    with tally.lock:
                        tally.failures.append(str(exc))
                    continue
                taken = time.perf_counter() - began
                with tally.lock:
                    tally.retries += retries
                    if answer.status == 200 and len(answer.json()["results"]) == 5:
                        tally.times.append(1000 * taken)
                    else:
                        tally.failures.append(f"{answer.status}: {answer.text[:200]}")

    threads = [threading.Thread(target=user, args=(number,)) for number in range(users)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    return tally


def kill_under_load(replicas: list[Replica], users: int, seconds: float) -> dict[str, Any]:
    """Ingest and search, kill one replica in the middle, and look whether anything that was accepted is missing."""
    urls = [each.url for each in replicas]
    accepted: dict[str, str] = {}
    waiting: list[str] = []
    failures: list[str] = []
    ends = time.monotonic() + seconds

    def ingest() -> None:
        with closing(User()) as client:
            for number in itertools.count():
                if time.monotonic() >= ends:
                    return
                text = f"# Notice {number}\n\nThe watchword of notice {number} is watchword{number}."
                body = {
                    "text": text,
                    "metadata": {"filename": f"notice-{number}.md", "collection": "notices"},
                    "wait": number % 2 == 0,
                }
                try:
                    answer, _ = ask(client, urls, number, "POST", "/ingest", body)
                except RuntimeError as exc:
                    failures.append(str(exc))
                    continue
                if answer.status == 200:
                    accepted[answer.json()["doc_id"]] = f"watchword{number}"
                elif answer.status == 202:
                    waiting.append(answer.json()["job_id"])
                else:
                    failures.append(f"{answer.status}: {answer.text[:200]}")

    writer = threading.Thread(target=ingest)
    writer.start()
    timer = threading.Timer(seconds / 2, lambda: os.kill(replicas[0].process.pid, signal.SIGKILL))
    timer.start()
    tally = search_for(seconds, users, urls)
    writer.join()
    timer.join()
    left = urls[1:]
    lost: list[str] = []
    with closing(User()) as client:
        for job in waiting:
            state = wait_for(client, left, job)
            if state.get("state") != "done":
                lost.append(f"job {job}: {state}")
            else:
                accepted[state["result"]["doc_id"]] = ""
        for document, word in accepted.items():
            answer, _ = ask(client, left, 0, "GET", f"/documents/{document}?text=true")
            if answer.status != 200 or word not in answer.json()["text"]:
                lost.append(f"document {document}: {answer.status}")
    return {
        "searches": len(tally.times),
        "retried": tally.retries,
        "failed": [*tally.failures, *failures][:10],
        "accepted": len(accepted),
        "of these later": len(waiting),
        "lost": lost[:10],
    }


def wait_for(client: User, urls: list[str], job: str) -> dict[str, Any]:
    """Ask for a job until it has ended, at most two minutes: those of the dead replica are taken up after one."""
    state: dict[str, Any] = {}
    ends = time.monotonic() + 180
    while time.monotonic() < ends:
        answer, _ = ask(client, urls, 0, "GET", f"/jobs/{job}")
        state = answer.json()
        if state.get("state") in {"done", "failed", "cancelled"}:
            return state
        time.sleep(0.5)
    return state


def measure(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Run every combination; prints one row for each."""
    rows: list[dict[str, Any]] = []
    print(
        "| store | chunks | replicas | users | searches/s | p50 ms | p95 ms | errors | retries | memory MB a replica |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|")
    for store in options.stores:
        with place_for(store, options.keep) as folder:
            chunks = options.documents * options.chunks
            with filled(store, folder, chunks, options.chunks, is_kept=options.keep is not None) as environ:
                for count in () if options.fill_only else options.replicas:
                    with ExitStack() as stack:
                        running = [stack.enter_context(replica(environ, folder)) for _ in range(count)]
                        urls = [each.url for each in running]
                        search_for(5, 2 * count, urls)  # files and models are read once before
                        for users in options.users:
                            tally = search_for(options.seconds, users, urls)
                            half, most = np.percentile(tally.times or [0.0], [50, 95])
                            row = {
                                "store": store, "chunks": chunks, "replicas": count, "users": users,
                                "rate": len(tally.times) / options.seconds, "p50": half, "p95": most,
                                "errors": len(tally.failures), "retries": tally.retries,
                                "memory": sum(each.memory() for each in running) / count / 1e6,
                            }  # fmt: skip
                            rows.append(row)
                            print(
                                f"| {store} | {chunks:,} | {count} | {users} | {row['rate']:.1f} | {half:.0f} | "
                                f"{most:.0f} | {row['errors']} | {row['retries']} | {row['memory']:.0f} |",
                                flush=True,
                            )
                            for failure in tally.failures[:3]:
                                print(f"  failure: {failure}", file=sys.stderr)
                if options.kill:
                    with ExitStack() as stack:
                        running = [stack.enter_context(replica(environ, folder)) for _ in range(3)]
                        killed = kill_under_load(running, 10, options.seconds)
                        print(f"\n{store}, one of three replicas killed: {json.dumps(killed)}\n", flush=True)
                        rows.append({"store": store, "killed": killed})
    return rows


def plot(rows: list[dict[str, Any]], path: Path) -> None:
    """Draw throughput and the 95th percentile by users, one line for each store and number of replicas."""
    import matplotlib as mpl

    mpl.use("svg")
    from matplotlib import pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.9), layout="constrained")
    measured = [row for row in rows if "rate" in row]
    for store, replicas in dict.fromkeys((row["store"], row["replicas"]) for row in measured):
        mine = [row for row in measured if (row["store"], row["replicas"]) == (store, replicas)]
        label = f"{store}, {replicas} replica{'s' if replicas > 1 else ''}"
        left.plot([row["users"] for row in mine], [row["rate"] for row in mine], marker="o", label=label)
        right.plot([row["users"] for row in mine], [row["p95"] for row in mine], marker="o", label=label)
    for axes, title in ((left, "searches a second"), (right, "95th percentile, ms")):
        axes.set_xscale("log")
        axes.set_xlabel("users asking without a pause")
        axes.set_title(title)
        axes.grid(alpha=0.3)
    left.set_ylim(bottom=0)
    right.set_yscale("log")
    lines, labels = left.get_legend_handles_labels()
    place: Any = {"loc": "outside lower center", "ncols": 4, "fontsize": "small"}
    figure.legend(lines, labels, **place)  # pyright: ignore[reportUnknownMemberType] - untyped keywords
    figure.savefig(path, metadata={"Date": None})  # pyright: ignore[reportUnknownMemberType] - untyped keywords


def main() -> int:
    """Measure and print; exit code 1 where anything failed or was lost."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=10_000)
    parser.add_argument("--chunks", type=int, default=70, help="passages of a document")
    parser.add_argument("--stores", nargs="+", choices=STORES, default=["sqlite", "postgres"])
    parser.add_argument("--users", type=int, nargs="+", default=[10, 100])
    parser.add_argument("--replicas", type=int, nargs="+", default=[1, 3])
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--kill", action="store_true")
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--keep", type=Path, help="keep the stores here, and go on filling those that are there")
    parser.add_argument("--fill-only", action="store_true", help="end when the stores are filled")
    options = parser.parse_args()
    rows = measure(options)
    if options.json is not None:
        options.json.write_text(json.dumps(rows, indent=1))
    if options.plot is not None:
        plot(rows, options.plot)
    bad = [
        row
        for row in rows
        if row.get("errors") or row.get("killed", {}).get("lost") or row.get("killed", {}).get("failed")
    ]
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
