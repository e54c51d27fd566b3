"""Measure the stores side by side: ingest, searches with and without filters, memory and disk; a table and a plot.

Usage: `python -m benchmarks.stores [--sizes 10000 100000] [--stores sqlite chromadb-embedded chromadb-server]
[--queries 100] [--plot docs/stores.svg] [--json FILE]`

Every store holds the same synthetic chunks (`benchmarks.synthetic`) with the same vectors, written and asked through
its port by a process of its own, one after the other in one run. `qdrant` is a server of your own on this machine
(`QDRANT_URL`, `QDRANT_API_KEY`); what was made there is dropped afterwards, its disk is not measured. Recall is
against the exact search of the same vectors. Latency is that of one search with its top 10, embedding not included;
memory is the resident set of the process that uses the store, and of the server where there is one.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from numpy.typing import NDArray

from benchmarks.product import environment
from benchmarks.synthetic import documents, questions
from knowledge_mcp.model.collection import EmbeddingSpace, WholeDocument
from knowledge_mcp.model.query import And, Equals, Filter, Prefix
from knowledge_mcp.ports import Store

SPACE = EmbeddingSpace("local", "benchmark", 384)
STORES = ("sqlite", "postgres", "chromadb-embedded", "chromadb-server", "qdrant")
NARROW: Filter = And((Equals("document_type", "standard"), Prefix("clause_number", "5.3")))
KINDS = ("dense", "keyword", "hybrid", "dense filtered", "hybrid filtered")


def base_vectors() -> NDArray[np.float32]:
    """Make cluster centres with members around them, unit norm."""
    draw = np.random.default_rng(5)
    centres = draw.normal(size=(200, SPACE.dimensions)) + 0.5
    found = centres[draw.integers(0, 200, 4000)] + draw.normal(0.0, 0.8, (4000, SPACE.dimensions))
    return (found / np.linalg.norm(found, axis=1, keepdims=True)).astype(np.float32)


def query_vectors(count: int) -> NDArray[np.float32]:
    """Make vectors near the base ones."""
    draw = np.random.default_rng(11)
    base = base_vectors()
    found = base[draw.integers(0, len(base), count)] + draw.normal(0, 0.02, (count, SPACE.dimensions))
    return (found / np.linalg.norm(found, axis=1, keepdims=True)).astype(np.float32)


@contextmanager
def served(name: str, folder: Path) -> Generator[tuple[dict[str, str], psutil.Process | None]]:
    """Run the server that a kind of store needs; gives the settings that name the store, and the server's process.

    A Qdrant server is yours, and so is PostgreSQL's where `DATABASE_URL` is set. Else its files are kept in memory,
    where the machine has a file system for that.
    """
    if name == "qdrant" or (name == "postgres" and "DATABASE_URL" in os.environ):
        url, usual = ("QDRANT_URL", 6333) if name == "qdrant" else ("DATABASE_URL", 5432)
        named = {each: os.environ[each] for each in (url, "QDRANT_API_KEY") if each in os.environ}
        yield {**named, "VECTOR_STORE": name}, _process_on(urllib.parse.urlsplit(named[url]).port or usual)
    elif name == "chromadb-server":
        from tests.servers.chroma_server import ChromaServer

        with ChromaServer(folder / "chroma-server") as server:
            place = {"CHROMADB_HOST": "127.0.0.1", "CHROMADB_PORT": str(server.port)}
            yield {**place, "VECTOR_STORE": "chromadb"}, _process_on(server.port)
    elif name == "postgres":
        from tests.servers.postgres_server import PostgresServer

        with PostgresServer("shared_buffers=512MB", "max_wal_size=1GB") as postgres:
            place = {"DATABASE_URL": postgres.make_database("bench")}
            yield {**place, "VECTOR_STORE": "postgres"}, psutil.Process(postgres.pid)
    elif name == "chromadb-embedded":
        yield {"VECTOR_STORE": "chromadb", "CHROMADB_PATH": str(folder / "chroma")}, None
    else:
        yield {"VECTOR_STORE": name}, None


@contextmanager
def opened(name: str, folder: Path) -> Generator[tuple[Any, psutil.Process | None]]:
    """Open one kind of store below a folder; gives the store and its server's process."""
    from knowledge_mcp.settings import load_settings
    from knowledge_mcp.wiring import build_store

    with served(name, folder) as (more, server):
        store = build_store(load_settings(environ=environment(folder) | more), more["VECTOR_STORE"])
        there = {each.name for each in store.collections()}
        yield store, server
        if name == "qdrant":
            for made in {each.name for each in store.collections()} - there:
                store.drop_collection(made)
        store.close()


def _process_on(port: int) -> psutil.Process:
    """Find the process that listens on a port of the loopback."""
    for each in psutil.net_connections("inet"):
        if each.status == psutil.CONN_LISTEN and each.laddr and each.laddr[1] == port:
            return psutil.Process(each.pid)
    raise RuntimeError(f"nothing listens on port {port}")


def timed(call: Callable[[int], object], count: int) -> dict[str, float]:
    """Call with 0 … count-1; returns the median and the 95th percentile in milliseconds."""
    times: list[float] = []
    for number in range(count):
        started = time.perf_counter()
        call(number)
        times.append(1000 * (time.perf_counter() - started))
    return {"p50": statistics.median(times), "p95": statistics.quantiles(times, n=20)[-1]}


def fill(store: Store, size: int) -> float:
    """Write all documents; returns seconds spent in the store."""
    spent = 0.0
    store.create_collection("bench", SPACE)
    for record, text, chunks in documents(size, SPACE, base_vectors()):
        started = time.perf_counter()
        store.open("bench").publish([WholeDocument(record, text, chunks)], lambda _: None)
        spent += time.perf_counter() - started
    return spent


def exact(size: int, expected: NDArray[np.float32]) -> list[set[str]]:
    """Find the true ten nearest chunks of each vector."""
    ids: list[str] = []
    rows: list[NDArray[np.float32]] = []
    for _, _, chunks in documents(size, SPACE, base_vectors()):
        ids.extend(each.chunk.id for each in chunks)
        rows.append(np.stack([np.frombuffer(each.vector, "<f4") for each in chunks]))
    scores = expected @ np.concatenate(rows).T
    return [{ids[place] for place in np.argpartition(-row, 10)[:10]} for row in scores]


def measure(name: str, size: int, queries: int, folder: Path) -> dict[str, Any]:
    """Fill one store and ask it; runs in a process of its own."""
    texts, vectors = questions(queries, seed=7), query_vectors(queries)
    with opened(name, folder) as (store, server):
        seconds = fill(store, size)
        before = time.perf_counter()

        def ask(number: int, *, dense: bool, words: bool, kept: Filter | None) -> Any:
            vector = vectors[number].tobytes() if dense else None
            text = texts[number] if words else None
            return store.open("bench").search(vector=vector, text=text, filter=kept, limit=10)

        ask(0, dense=True, words=True, kept=None)
        first = time.perf_counter() - before
        legs = {
            "dense": (True, False, None), "keyword": (False, True, None), "hybrid": (True, True, None),
            "dense filtered": (True, False, NARROW), "hybrid filtered": (True, True, NARROW),
        }  # fmt: skip
        latency = {
            kind: timed(lambda number, leg=leg: ask(number, dense=leg[0], words=leg[1], kept=leg[2]), queries)
            for kind, leg in legs.items()
        }
        answers = [ask(number, dense=True, words=False, kept=None).dense for number in range(queries)]
        resident = psutil.Process().memory_info().rss
        served = server.memory_info().rss if server is not None else 0
    truth = exact(size, vectors)
    found = [{hit.chunk_id for hit in answer} for answer in answers]
    return {
        "store": name,
        "chunks": size,
        "chunks_per_second": size / seconds,
        "first_query_ms": 1000 * first,
        "latency_ms": latency,
        "recall": statistics.mean(len(mine & true) / 10 for mine, true in zip(found, truth, strict=True)),
        "memory_mb": resident / 1e6,
        "server_mb": served / 1e6,
        "disk_mb": sum(each.stat().st_size for each in folder.rglob("*") if each.is_file()) / 1e6,
    }


def in_child(name: str, size: int, queries: int) -> dict[str, Any]:
    """Measure in a fresh process, so that no store's memory is another's."""
    with tempfile.TemporaryDirectory(prefix="stores-") as folder:
        command = [sys.executable, "-m", "benchmarks.stores", "--one", name, str(size), str(queries), folder]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=dict(os.environ))
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def table(results: list[dict[str, Any]]) -> str:
    """Write the results as a Markdown table; latencies are p50 / p95 in milliseconds."""
    head = ["store", "chunks", "chunks/s", *KINDS, "recall@10", "first query", "memory (+ server)", "disk"]
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    for each in results:
        latency = [f"{each['latency_ms'][kind]['p50']:.1f} / {each['latency_ms'][kind]['p95']:.1f}" for kind in KINDS]
        server = f" + {each['server_mb']:.0f}" if each["server_mb"] else ""
        cells = [
            each["store"], f"{each['chunks']:,}", f"{each['chunks_per_second']:,.0f}", *latency,
            f"{each['recall']:.3f}", f"{each['first_query_ms']:.0f} ms", f"{each['memory_mb']:.0f}{server} MB",
            f"{each['disk_mb']:.0f} MB",
        ]  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def plot(results: list[dict[str, Any]], path: Path) -> None:
    """Draw the median and the 95th percentile of each kind of search, one panel per size."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "stores"
    from matplotlib import pyplot as plt

    sizes = sorted({each["chunks"] for each in results})
    names = list(dict.fromkeys(each["store"] for each in results))
    figure: Any
    figure, axes = plt.subplots(1, len(sizes), figsize=(5.5 * len(sizes), 4), sharey=True, squeeze=False)
    width = 0.8 / len(names)
    for axis, size in zip(axes[0], sizes, strict=True):
        for place, name in enumerate(names):
            mine = [each for each in results if each["store"] == name and each["chunks"] == size]
            if not mine:
                continue
            medians = [mine[0]["latency_ms"][kind]["p50"] for kind in KINDS]
            highest = [mine[0]["latency_ms"][kind]["p95"] for kind in KINDS]
            at = np.arange(len(KINDS)) + place * width - 0.4 + width / 2
            axis.bar(at, medians, width, label=name, color=f"C{place}")
            axis.vlines(at, medians, highest, color=f"C{place}", linewidth=1.5)
        axis.set_yscale("log")
        axis.set_xticks(np.arange(len(KINDS)), [kind.replace(" ", "\n") for kind in KINDS])
        axis.set_title(f"{size:,} chunks")
        axis.grid(axis="y", alpha=0.3)
        axis.spines[["top", "right"]].set_visible(False)
    axes[0][0].set_ylabel("milliseconds a search: median (bar), p95 (line)")
    handles, labels = axes[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, frameon=False, fontsize=8, loc="lower center", ncols=len(names))
    figure.tight_layout(rect=(0, 0.06, 1, 1))
    figure.savefig(path, format="svg", metadata={"Date": None})


def main() -> None:
    """Measure, print the table, draw the plot."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument(
        "--stores",
        nargs="+",
        choices=STORES,
        default=[each for each in STORES if each != "qdrant" or "QDRANT_URL" in os.environ],
    )
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--one", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        name, size, queries, folder = options.one
        print(json.dumps(measure(name, int(size), int(queries), Path(folder))))
        return
    results: list[dict[str, Any]] = []
    for size in options.sizes:
        for name in options.stores:
            results.append(in_child(name, size, options.queries))
            print(table(results[-1:]).splitlines()[-1], file=sys.stderr)
    print(table(results))
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n")
    if options.plot:
        plot(results, options.plot)


if __name__ == "__main__":
    main()
