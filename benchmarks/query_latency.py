"""Measure a hybrid query over stdio, embedding included, at 100,000 and 500,000 chunks, with and without filters.

Usage: `python -m benchmarks.query_latency [--sizes 100000 500000] [--queries 200] [--keep FOLDER]`

Chunks are synthetic: words drawn by Zipf's law from the vocabulary of the examples and of made-up words, vectors made
like real ones (a real passage's, moved towards others). They are written through the store's own port, so that the
server opens the same file that an ingest would have left; it is read once before, so that the disk is not what is
measured. Latency is from the client's call to its parsed and validated answer.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from mcp import Client, StdioServerParameters

from benchmarks.product import environment
from benchmarks.synthetic import build_store, questions

FILTERS: dict[str, dict[str, Any]] = {
    "none": {},
    "document_type": {"document_type": "standard"},
    "chunk_type": {"chunk_type": "requirement"},
    "normative_only": {"normative_only": True},
    "document_id": {"document_id": "doc-000007"},
    "clause prefix": {"clause_number": "5.3"},
}


async def time_queries(data: Path, queries: int) -> dict[str, list[float]]:
    """Ask the same questions under each filter; returns milliseconds per filter."""
    server = StdioServerParameters(
        command=str(Path(sys.executable).parent / "knowledge-mcp"),
        args=["--log-level", "ERROR"],
        env=environment(data),
    )
    times: dict[str, list[float]] = {}
    async with Client(server) as client:
        await client.list_tools()
        for text in questions(5, seed=99):
            await client.call_tool("knowledge_search", {"query": text})
        for label, arguments in FILTERS.items():
            times[label] = []
            for text in questions(queries, seed=7):
                started = time.perf_counter()
                result = await client.call_tool("knowledge_search", {"query": text, **arguments})
                times[label].append(1000 * (time.perf_counter() - started))
                if result.is_error:
                    sys.exit(f"a query failed: {result.content}")
    return times


def read_once(data: Path) -> None:
    """Read the store's files from end to end, so that a cold disk is not what is measured."""
    for path in data.iterdir():
        with path.open("rb") as file:
            while file.read(1 << 24):
                pass


def main() -> None:
    """Build each size, measure, print one row per filter."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="*", default=[100_000, 500_000])
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    print("| chunks | filter | p50 ms | p95 ms | p95/p50 | mean ms |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as temporary:
        for size in options.sizes:
            data = (options.keep or Path(temporary)) / str(size)
            build_store(data, size)
            read_once(data)
            for label, times in asyncio.run(time_queries(data, options.queries)).items():
                half, most = np.percentile(times, [50, 95])
                print(
                    f"| {size:,} | {label} | {half:.1f} | {most:.1f} | {most / half:.2f} "
                    f"| {statistics.mean(times):.1f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
