"""Measure `semantic_search` over many repositories, over MCP, embedding and the state of each working copy included.

Usage: `python -m benchmarks.many_repositories [--repositories 30] [--queries 40] [--stores sqlite chromadb server]`

Each repository is a git repository of six modules of Python's standard library, their first 120 lines. `server` is a
ChromaDB server of its own process. Latency is from the client's call to its answer; half a second passes between
calls, as between the questions of an assistant, so that every tenth or so finds that git has to be asked again.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Generator
from pathlib import Path

from mcp import Client, StdioServerParameters

from benchmarks.product import environment
from knowledge_mcp import wiring
from knowledge_mcp.engine.repositories.values import IndexRequest
from knowledge_mcp.settings import load_settings
from tests.servers.chroma_server import ChromaServer
from tests.servers.git_server import MadeRepository

QUESTIONS = (
    "how are temporary files removed",
    "parse command line arguments",
    "where is `HTTPConnection` defined",
    "wait until a thread has ended",
    "compress bytes with a dictionary",
    "which function quotes a string for the shell",
)
MODULES = 6
LINES = 120


def make(folder: Path, count: int) -> list[Path]:
    """Make the repositories, each with one commit."""
    modules = sorted(Path(os.__file__).parent.glob("*.py"))
    made: list[Path] = []
    for number in range(count):
        files = {
            f"lib/{each.name}": "\n".join(each.read_text(encoding="utf-8").split("\n")[:LINES]) + "\n"
            for each in (modules[(MODULES * number + place) % len(modules)] for place in range(MODULES))
        }
        repository = MadeRepository(folder / f"repository-{number:03}")
        repository.commit(files)
        made.append(repository.folder)
    return made


@contextlib.contextmanager
def store_variables(store: str, data: Path) -> Generator[dict[str, str]]:
    """Yield the environment of a store; its server runs until the end."""
    if store != "server":
        yield {**environment(data), "VECTOR_STORE": store, "CHROMADB_PATH": str(data / "chromadb")}
        return
    with ChromaServer(data / "server") as server:
        yield {
            **environment(data),
            "VECTOR_STORE": "chromadb",
            "CHROMADB_HOST": "127.0.0.1",
            "CHROMADB_PORT": str(server.port),
        }


async def ask(variables: dict[str, str], queries: int) -> list[float]:
    """Ask one question after the other; returns milliseconds."""
    server = StdioServerParameters(
        command=str(Path(sys.executable).parent / "knowledge-mcp"),
        args=["--surface", "repositories", "--log-level", "ERROR"],
        env=variables,
    )
    times: list[float] = []
    async with Client(server) as client:
        await client.list_tools()
        await client.call_tool("semantic_search", {"query": QUESTIONS[0], "threshold": 0.0})
        for number in range(queries):
            await asyncio.sleep(0.5)
            started = time.perf_counter()
            arguments = {"query": QUESTIONS[number % len(QUESTIONS)], "threshold": 0.0}
            result = await client.call_tool("semantic_search", arguments)
            times.append(1000 * (time.perf_counter() - started))
            if result.is_error:
                sys.exit(f"a query failed: {result.content}")
    return times


def main() -> None:
    """Index the repositories in each store, ask, and print one row per store."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repositories", type=int, default=30)
    parser.add_argument("--queries", type=int, default=40)
    parser.add_argument("--stores", nargs="+", choices=["sqlite", "chromadb", "server"], default=["sqlite", "chromadb"])
    options = parser.parse_args()
    print("| store | repositories | chunks | p50 ms | p95 ms |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as temporary:
        folders = make(Path(temporary) / "repositories", options.repositories)
        for store in options.stores:
            data = Path(temporary) / store
            data.mkdir()
            with store_variables(store, data) as variables:
                settings = load_settings(environ=variables, surface="repositories")
                service = wiring.build_repositories(settings)
                chunks = sum(service.index(IndexRequest(str(each))).chunks_created for each in folders)
                service.close()
                times = sorted(asyncio.run(ask(variables, options.queries)))
            p95 = times[int(0.95 * len(times))]
            print(f"| {store} | {len(folders)} | {chunks} | {statistics.median(times):.0f} | {p95:.0f} |", flush=True)


if __name__ == "__main__":
    main()
