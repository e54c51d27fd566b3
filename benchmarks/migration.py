"""Carry a synthetic collection through a chain of stores, kill the copying on the way, and compare both ends.

Usage: `python -m benchmarks.migration [--chain sqlite,qdrant,chromadb,sqlite] [--chunks 50000] [--kills 2]`

Every hop is `knowledge migrate` in a process of its own; embedded stores get a folder each, servers a collection of a
name of its own (their addresses come from the environment: QDRANT_URL, CHROMADB_HOST). A kill is SIGKILL when a part of
a hop's documents is stored; the same command is then run again. The exit code is 1 where the content hash at the end is
not that of the beginning, or any hop says that source and target differ.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.synthetic import documents
from knowledge_mcp.engine.transfer.copying import CollectionPlace
from knowledge_mcp.engine.transfer.move import content_hash
from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.model.collection import EmbeddingSpace, WholeDocument
from knowledge_mcp.ports import Store
from knowledge_mcp.registry import STORES, load
from knowledge_mcp.settings import Settings, load_settings

BIN = Path(sys.executable).parent


@dataclass(frozen=True, slots=True)
class Station:
    """Name one store of the chain: which kind, in which folder (None for a server), which collection."""

    backend: str
    folder: Path | None
    collection: str


def stations(chain: list[str], below: Path, run: str) -> list[Station]:
    """Give every store of the chain a place of its own."""
    found: list[Station] = []
    for number, backend in enumerate(chain):
        served = backend == "qdrant" or (backend == "chromadb" and "CHROMADB_HOST" in os.environ)
        found.append(Station(backend, None if served else below / f"{number}-{backend}", f"bench-{run}-{number}"))
    return found


def open_station(station: Station) -> Any:
    """Open a store in this process."""
    where: dict[str, Any] = {}
    if station.folder is not None:
        where = {"data_path": station.folder, "chromadb_path": station.folder, "chromadb_host": None}
    settings: Settings = load_settings()
    settings = settings.model_copy(update={"vector_store": station.backend, **where})
    return load(STORES[station.backend])(settings, EnglishAnalyser())


def fill(station: Station, chunks: int, dimensions: int) -> float:
    """Write the synthetic collection; returns the seconds it took."""
    space = EmbeddingSpace("local", "synthetic", dimensions, variant="made", pooling="mean")
    draw = np.random.default_rng(7)
    base = draw.normal(0, 1, (2000, dimensions)).astype(np.float32)
    base /= np.linalg.norm(base, axis=1, keepdims=True)
    store: Store = open_station(station)
    started = time.perf_counter()
    store.create_collection(station.collection, space)
    for record, text, made in documents(chunks, space, base):
        store.open(station.collection).publish([WholeDocument(record, text, made)], lambda _: None)
    seconds = time.perf_counter() - started
    store.close()
    return seconds


def command(source: Station, target: Station) -> list[str]:
    """Write the command line of one hop."""
    line = [str(BIN / "knowledge"), "migrate", "--from", source.backend, "--to", target.backend]
    line += ["--collection", source.collection, "--to-collection", target.collection, "--yes", "--json"]
    if source.folder is not None:
        line += ["--from-path", str(source.folder)]
    if target.folder is not None:
        line += ["--to-path", str(target.folder)]
    return line


def kill_one(line: list[str], after: int) -> int:
    """Start a hop and kill it once so many documents are stored; returns how many it told of."""
    stored = 0
    with subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        for said in process.stderr:
            stored += said.startswith("Stored ")
            if stored >= after:
                process.kill()
                break
    return stored


def hop(line: list[str]) -> dict[str, Any]:
    """Run a hop to its end; returns its report of the one collection."""
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    if not done.stdout.strip():
        sys.exit(f"{' '.join(line)} ended with {done.returncode}:\n{done.stderr[-2000:]}")
    report: dict[str, Any] = json.loads(done.stdout)
    if "collections" not in report:
        sys.exit(f"{' '.join(line)} ended with {done.returncode}:\n{done.stderr[-2000:]}")
    return report["collections"][0]


def main() -> None:
    """Run the chain and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chain", default="sqlite,qdrant,chromadb,sqlite")
    parser.add_argument("--chunks", type=int, default=50_000)
    parser.add_argument("--dimensions", type=int, default=384)
    parser.add_argument("--kills", type=int, default=2)
    options = parser.parse_args()
    chain: list[str] = options.chain.split(",")
    good = True
    with tempfile.TemporaryDirectory() as temporary:
        places = stations(chain, Path(temporary), uuid.uuid4().hex[:6])
        seconds = fill(places[0], options.chunks, options.dimensions)
        store = open_station(places[0])
        first = content_hash(CollectionPlace(store, places[0].collection))
        store.close()
        print(
            f"{chain[0]} filled: {first.documents} documents, {first.chunks} chunks in {seconds:.1f} s; {first.sha256}"
        )
        print("| hop | kills | docs/s | chunks/s copied | copying s | comparing s | equal | overlap dense / words |")
        print("|---|---|---|---|---|---|---|---|")
        for number, (source, target) in enumerate(itertools.pairwise(places)):
            line = command(source, target)
            kills = sum(1 for each in range(options.kills) if each % (len(chain) - 1) == number)
            for each in range(kills):
                kill_one(line, max(1, first.documents * (each + 1) // (3 * (kills + 1))))
            report = hop(line)
            comparison, spent = report["comparison"], max(report["seconds"], 1e-9)
            queries = comparison["sampled_queries"]
            good &= comparison["equal"] and comparison["target"]["sha256"] == first.sha256
            print(
                f"| {source.backend} to {target.backend} | {kills} | {report['documents_copied'] / spent:.1f} | "
                f"{report['chunks_copied'] / spent:.0f} | {spent:.1f} | {comparison['seconds']:.1f} | "
                f"{comparison['equal']} | {queries['dense']:.3f} / {queries['lexical']:.3f} |"
            )
            sys.stdout.flush()
        store = open_station(places[-1])
        last = content_hash(CollectionPlace(store, places[-1].collection))
        store.close()
        for place in places:
            if place.folder is None:
                store = open_station(place)
                store.drop_collection(place.collection)
                store.close()
        good &= last.sha256 == first.sha256
        print(f"{chain[-1]} at the end: {last.documents} documents, {last.chunks} chunks; {last.sha256}")
        print(f"equal to the beginning: {last.sha256 == first.sha256}")
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
