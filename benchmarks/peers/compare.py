"""Measure the product and its peers in one run: `python -m benchmarks.peers.compare [SET …] --python PEERS/bin/python`.

The peers want packages of their own, which are no part of this project:

    python -m venv PEERS
    PEERS/bin/pip install $(python -m benchmarks.peers.compare --requirements)

Every peer runs in a process of its own, one after another. Where quality is measured, each text of a document is
embedded once for all of them; questions that are timed are embedded by each. Ingest is timed apart, with every text
re-embedded, in rounds over all peers. With `--runtime library` the peers run the same weights by themselves. A peer
whose packages are missing, or that fails, is named at the end, and the exit code is 1. Times are worth something on a
machine that does nothing else.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.peers import ours
from benchmarks.peers.encoder import REQUIREMENTS
from benchmarks.peers.library import REQUIREMENTS as LIBRARY
from benchmarks.peers.running import Answers, Ingest, Peer, result_file
from benchmarks.peers.sets import data_folder, read_set
from benchmarks.peers.table import ingest_table, latency_table, quality_table, scored, verdicts

PEERS = ("ours", "llamaindex_peer", "haystack_peer", "txtai_peer", "chromadb_peer", "bm25s_peer")
SETS = (
    "ir/cranfield",
    "ir/medline",
    "ir/scifact",
    "qa/mtrag-un",
    "qa/xquad-en",
    "trace/obj2control-nist80053",
    "trace/req2req-warc",
    "code/cosqa-dev",
)


def peer_of(module: str) -> Peer:
    """Import what a file of a peer says; its packages are not needed for it."""
    peer: Peer = importlib.import_module(f"benchmarks.peers.{module}").PEER
    return peer


def main() -> None:
    """Run everything that was asked for and print the tables."""
    options = _options()
    if options.requirements:
        own = REQUIREMENTS if options.runtime == "product" else (*REQUIREMENTS, *LIBRARY)
        print("\n".join([*own, *(each for name in PEERS for each in peer_of(name).requirements)]))
        return
    if not options.data.is_dir():
        print(f"SKIPPED: no labelled sets in {options.data}; set KNOWLEDGE_EVAL_DATA")
        return
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(options.work or temporary) / ("" if options.runtime == "product" else options.runtime)
        work.mkdir(parents=True, exist_ok=True)
        failed = [] if options.show else _measure(options, work)
        _show(options, work)
    if failed:
        sys.exit("Left out because they failed: " + ", ".join(failed))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", default=list(SETS), metavar="SET")
    parser.add_argument("--data", type=Path, default=data_folder())
    parser.add_argument("--peers", nargs="+", choices=PEERS, default=list(PEERS))
    parser.add_argument("--python", default=sys.executable, help="interpreter that has the peers' packages")
    parser.add_argument("--ingest", nargs="*", default=["ir/cranfield"], metavar="SET", help="sets to time ingest on")
    parser.add_argument(
        "--runtime",
        choices=["product", "library"],
        default="product",
        help="whose way of running the weights the peers get; with `library` all have float32",
    )
    parser.add_argument("--rounds", type=int, default=3, help="rounds of timed ingest")
    parser.add_argument("--work", type=Path, help="keep vectors and results here; what is there is not measured again")
    parser.add_argument("--show", action="store_true", help="measure nothing, print what --work holds")
    parser.add_argument("--requirements", action="store_true", help="print the peers' pinned packages and end")
    return parser.parse_args()


def _measure(options: argparse.Namespace, work: Path) -> list[str]:
    """Start each peer on the sets that it has no answers to yet, then for each round of ingest; returns what failed."""
    failed: list[str] = []
    for turn in (None, *range(options.rounds)):
        for module in options.peers:
            expected = options.sets if turn is None else options.ingest
            missing = [name for name in expected if not result_file(work, peer_of(module), name, turn).is_file()]
            if missing and _run(module, missing, turn, options, work):
                failed.append(f"{module} ({'answers' if turn is None else f'ingest, round {turn + 1}'})")
    return failed


def _run(module: str, sets: Sequence[str], turn: int | None, options: argparse.Namespace, work: Path) -> int:
    python = sys.executable if module == "ours" else options.python
    command = [python, "-m", f"benchmarks.peers.{module}", *sets, "--data", str(options.data), "--into", str(work)]
    command += ["--runtime", "float32" if module == "ours" and options.runtime == "library" else options.runtime]
    command += ["--kept", str(work / "vectors.sqlite")] if turn is None else ["--ingest", "--turn", str(turn)]
    print(f"{datetime.now(UTC):%H:%M:%S} {' '.join(command[2:])}", file=sys.stderr, flush=True)
    return subprocess.run(command, env=_environment(), check=False).returncode


def _environment() -> dict[str, str]:
    """Let a peer's interpreter find the sources of this project, which it has not installed."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(["src", "."]), "TOKENIZERS_PARALLELISM": "false"}


def _show(options: argparse.Namespace, work: Path) -> None:
    """Print the tables of what is there; only peers that answered every set are compared."""
    peers = [peer_of(module) for module in options.peers]
    whole = [peer for peer in peers if all(result_file(work, peer, name).is_file() for name in options.sets)]
    rows = [
        scored(Answers(**each), read_set(options.data, name).grades)
        for name in options.sets
        for peer in whole
        for each in _read(result_file(work, peer, name))
    ]
    print(f"{datetime.now(UTC):%Y-%m-%d}, Python {platform.python_version()}, {os.cpu_count()} cores; ", end="")
    print(", ".join(each for peer in whole for each in peer.requirements) + "\n")
    main_way = f"{ours.PEER.name}, {ours.BLENDED}"
    if ours.PEER in whole:
        for lines in (quality_table(rows, main_way), verdicts(rows, main_way), latency_table(rows)):
            print("\n".join(lines) + "\n")
    for name in options.ingest:
        files = [result_file(work, peer, name, turn) for peer in peers for turn in range(options.rounds)]
        found = [Ingest(**each) for file in files if file.is_file() for each in _read(file)]
        if found:
            print(f"{name}: {found[0].documents} documents, median of the rounds\n")
            print("\n".join(ingest_table(found)) + "\n")


def _read(file: Path) -> Sequence[dict[str, Any]]:
    return json.loads(file.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
