"""Kill ingests at random moments, and let several servers and an ingest work on one store at once.

Usage: `python -m benchmarks.crash [kills|crowd …] [--kills 50] [--seconds 120]`

- kills: an ingest of forty documents is killed (SIGKILL, all its processes) at a random moment, over and over on the
  same store; after each kill every visible document must be whole (all its chunks, all of one version), a search must
  answer, and the verification must find nothing but the passages that the unfinished run left for the next one; at the
  end one undisturbed run must leave exactly what a run on an empty store leaves.
- crowd: four stdio servers answer searches while `knowledge-ingest --force` runs again and again on the same store.
  Every answer must be well formed; at the end the store must be whole.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters

from benchmarks.product import environment, open_knowledge
from knowledge_mcp.engine.core.health import verify
from knowledge_mcp.model.query import SearchQuery
from knowledge_mcp.settings import load_settings
from knowledge_mcp.wiring import build_base

BIN = Path(sys.executable).parent
DOCUMENTS = 40


def write_version(folder: Path, version: int) -> None:
    """Write all documents in one version; every clause says which."""
    folder.mkdir(exist_ok=True)
    for number in range(DOCUMENTS):
        lines = [f"# Handbook {number}\n"]
        for clause in range(1, 13):
            text = " ".join(f"Item {clause}.{part} of edition {version} shall be kept." for part in range(20))
            lines.append(f"## {clause} Clause {clause}\n\n{text}\n")
        (folder / f"handbook-{number:02d}.md").write_text("\n".join(lines))


def start_ingest(files: Path, data: Path, *more: str) -> subprocess.Popen[bytes]:
    """Start an ingest in a process group of its own."""
    return subprocess.Popen(
        [str(BIN / "knowledge-ingest"), str(files), *more],
        env=environment(data),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def contents(data: Path) -> dict[str, list[tuple[str, str]]]:
    """Map each visible document to its chunks' ids and content."""
    knowledge = open_knowledge(data)
    try:
        return {
            record.id: [(chunk.id, chunk.content) for chunk in knowledge.document_chunks(record.id)]
            for record in knowledge.documents()
        }
    finally:
        knowledge.close()


def faults(data: Path) -> list[str]:
    """List what is wrong with a store: mixed or half documents, findings of the verification, a search that fails."""
    knowledge = open_knowledge(data)
    found: list[str] = []
    try:
        for record in knowledge.documents():
            chunks = knowledge.document_chunks(record.id)
            if len(chunks) != record.chunk_count:
                found.append(f"{record.id}: {len(chunks)} of {record.chunk_count} chunks")
            editions = {word for chunk in chunks for word in _editions(chunk.content)}
            if len(editions) != 1:
                found.append(f"{record.id}: editions {sorted(editions)} mixed")
        if knowledge.documents() and not knowledge.search(SearchQuery("item of an edition")).hits:
            found.append("a search found nothing")
    finally:
        knowledge.close()
    with closing(build_base(load_settings(environ=environment(data)))) as base:
        found.extend(
            f"verify: {finding.message}"
            for finding in verify(base)
            if "was not finished" not in finding.message  # what the kill left to be reused; searches never see it
        )
    return found


def _editions(text: str) -> set[str]:
    words = text.replace(".", " ").split()
    return {words[place + 1] for place, word in enumerate(words[:-1]) if word == "edition"}


def doctor(data: Path) -> int:
    """Run `knowledge doctor`; returns its exit code."""
    return subprocess.run(
        [str(BIN / "knowledge"), "doctor"], env=environment(data), capture_output=True, check=False
    ).returncode


def kills(count: int) -> int:
    """Kill `count` ingests; returns the number of faults."""
    draw, bad = random.Random(5), 0
    with tempfile.TemporaryDirectory() as temporary:
        files, data = Path(temporary) / "files", Path(temporary) / "data"
        write_version(files, 0)
        started = time.perf_counter()
        start_ingest(files, data).wait()
        whole = time.perf_counter() - started
        killed = 0
        for turn in range(1, count + 1):
            write_version(files, turn)
            process, began = start_ingest(files, data), time.perf_counter()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=draw.uniform(0.2, whole))
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                killed += 1
            else:
                whole = min(whole, time.perf_counter() - began)
            for fault in faults(data):
                bad += 1
                print(f"after kill {turn}: {fault}")
        write_version(files, count + 1)
        code = start_ingest(files, data).wait()
        fresh = Path(temporary) / "fresh"
        start_ingest(files, fresh).wait()
        equal = contents(data) == contents(fresh)
        bad += (code != 0) + (not equal) + (doctor(data) != 0)
        print(
            f"{killed} of {count} ingests killed in flight; final run exit {code}; "
            f"equal to an undisturbed store: {equal}; doctor exit {doctor(data)}; faults: {bad}"
        )
    return bad


async def ask_until(data: Path, end: float, seed: int, log: list[str], counts: list[int]) -> None:
    """Ask one server until the end; note every error."""
    draw = random.Random(seed)
    server = StdioServerParameters(
        command=str(BIN / "knowledge-mcp"), args=["--log-level", "ERROR"], env=environment(data)
    )
    async with Client(server) as client:
        while time.monotonic() < end:
            arguments: dict[str, Any] = {"query": f"item {draw.randint(1, 12)}.{draw.randint(0, 19)} of an edition"}
            result = await client.call_tool("knowledge_search", arguments)
            counts[seed] += 1
            if result.is_error:
                log.append(f"server {seed}: {result.content}")


def crowd(seconds: float) -> int:
    """Run four servers and an ingest loop together; returns the number of faults."""
    log: list[str] = []
    counts, runs = [0] * 4, 0
    with tempfile.TemporaryDirectory() as temporary:
        files, data = Path(temporary) / "files", Path(temporary) / "data"
        write_version(files, 0)
        start_ingest(files, data).wait()
        end = time.monotonic() + seconds

        async def all_servers() -> None:
            await asyncio.gather(*(ask_until(data, end, seed, log, counts) for seed in range(4)))

        asking = threading.Thread(target=lambda: asyncio.run(all_servers()))
        asking.start()
        while time.monotonic() < end:
            runs += 1
            write_version(files, runs)
            done = subprocess.run(
                [str(BIN / "knowledge-ingest"), str(files)],
                env=environment(data),
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode or "locked" in done.stderr:
                log.append(f"ingest {runs} ended with {done.returncode}: {done.stderr[-500:]}")
        asking.join()
        log.extend(faults(data))
        for line in log[:20]:
            print(line)
        print(
            f"{sum(counts)} searches by 4 servers, {runs} ingests in {seconds:.0f} s, "
            f"doctor exit {doctor(data)}, faults: {len(log)}"
        )
    return len(log)


def main() -> None:
    """Run the parts named, all by default; the exit code is 1 where anything was wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", default=["kills", "crowd"])
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=120)
    options = parser.parse_args()
    bad = kills(options.kills) if "kills" in options.parts else 0
    bad += crowd(options.seconds) if "crowd" in options.parts else 0
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
