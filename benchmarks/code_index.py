"""Index a large repository with the default local model: rates, one changed file, queries over stdio, true locations.

Usage: `python -m benchmarks.code_index [--files 2000] [--largest 12000] [--queries 100] [--locations 500] [--json F]`

The repository is made of the sources of the packages that are installed beside this program, as many files as are asked
for, none larger than `--largest` bytes: installed packages hold many that are generated or long. Printed: files and
chunks a second, the share of the time that is spent in embedding, how long a refresh after one changed file takes and
how much of that is embedding, p50 and p95 of `semantic_search` over stdio with the client's validation, and for as many
results as asked whether the lines at the commit are the snippet's source.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from mcp import Client, StdioServerParameters

from benchmarks.product import environment
from knowledge_mcp import wiring
from knowledge_mcp.engine.repositories.service import RepositoryService
from knowledge_mcp.engine.repositories.values import IndexRequest
from knowledge_mcp.settings import load_settings


def make_repository(folder: Path, count: int, largest: int) -> int:
    """Copy so many Python sources into a new repository with one commit; returns how many there were."""
    packages = Path(sysconfig.get_paths()["purelib"])
    found = sorted(path for path in packages.rglob("*.py") if 200 < path.stat().st_size <= largest)
    random.Random(3).shuffle(found)
    for path in found[:count]:
        target = folder / path.relative_to(packages)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(path.read_bytes())
    git(folder, "init", "--quiet")
    commit(folder, "all")
    return min(count, len(found))


def git(folder: Path, *arguments: str) -> str:
    """Run Git in a folder; returns what it says."""
    line = ["git", "-c", "user.name=bench", "-c", "user.email=bench@example.com", *arguments]
    return subprocess.run(line, cwd=folder, check=True, capture_output=True, text=True).stdout


def commit(folder: Path, message: str) -> None:
    """Commit everything, ignored files too."""
    git(folder, "add", "--all", "--force")
    git(folder, "commit", "--quiet", "--message", message)


def spent_embedding(service: RepositoryService) -> float:
    """Return the seconds that all embeddings of this service have taken so far."""
    return service.metrics.snapshot().histograms["embedding_duration_ms"].sum / 1000


def questions(folder: Path, count: int) -> list[str]:
    """Take sentences of docstrings as questions."""
    draw = random.Random(5)
    files = sorted(folder.rglob("*.py"))
    found: list[str] = []
    while len(found) < count:
        lines = draw.choice(files).read_text(encoding="utf-8", errors="ignore").split('"""')
        text = " ".join(lines[1].split())[:150] if len(lines) > 2 else ""
        if len(text.split()) > 4:
            found.append(text)
    return found


async def ask(data: Path, texts: list[str]) -> tuple[list[float], list[dict[str, Any]]]:
    """Ask over stdio; returns milliseconds, and all results."""
    server = StdioServerParameters(
        command=str(Path(sys.executable).parent / "knowledge-mcp"),
        args=["--surface", "repositories", "--log-level", "ERROR"],
        env=environment(data),
    )
    times: list[float] = []
    results: list[dict[str, Any]] = []
    async with Client(server) as client:
        await client.list_tools()
        await client.call_tool("semantic_search", {"query": "warm up"})
        for text in texts:
            started = time.perf_counter()
            answer = await client.call_tool("semantic_search", {"query": text, "limit": 10, "threshold": 0.0})
            times.append(1000 * (time.perf_counter() - started))
            response: Any = answer.structured_content
            if answer.is_error:
                sys.exit(f"a query failed: {response}")
            results.extend(response["results"])
    return times, results


def true_locations(folder: Path, results: list[dict[str, Any]], count: int) -> tuple[int, int]:
    """Check so many results against the files at their commit; returns true ones and all."""
    random.Random(7).shuffle(results)
    true = 0
    for each in results[:count]:
        text = git(folder, "show", f"{each['commit']}:{each['file_path']}").replace("\r\n", "\n")
        place = "\n".join(text.split("\n")[each["start_line"] - 1 : each["end_line"]])
        good = place.startswith(each["content_snippet"])
        true += good
        if not good:
            print(f"wrong: {each['file_path']}:{each['start_line']}-{each['end_line']}", file=sys.stderr)
    return true, min(count, len(results))


def main() -> None:
    """Make, index, change, ask, check; print one row each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=2000)
    parser.add_argument("--largest", type=int, default=12_000)
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--locations", type=int, default=500)
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder, data = Path(temporary) / "code", Path(temporary) / "data"
        folder.mkdir()
        count = make_repository(folder, chosen.files, chosen.largest)
        settings = load_settings(environ=environment(data))
        service = wiring.build_repositories(settings)
        done = service.index(IndexRequest(str(folder)))
        seconds, embedding = done.duration_ms / 1000, spent_embedding(service)
        changed = min(folder.rglob("*.py"), key=lambda path: abs(path.stat().st_size - 4000))
        changed.write_text(f"{changed.read_text(encoding='utf-8')}\n\ndef added():\n    return 417\n", encoding="utf-8")
        commit(folder, "one")
        again = service.refresh("code")
        once = spent_embedding(service) - embedding
        service.close()
        times, results = asyncio.run(ask(data, questions(folder, chosen.queries)))
        true, checked = true_locations(folder, results, chosen.locations)
    half, most = np.percentile(times, [50, 95])
    result = {
        "files": count,
        "chunks": done.chunks_created,
        "files a second": round(done.files_processed / seconds, 1),
        "chunks a second": round(done.chunks_created / seconds, 1),
        "share of embedding": round(embedding / seconds, 3),
        "one changed file, seconds": again.duration_ms / 1000,
        "of which embedding": round(once, 3),
        "query p50 ms": round(float(half), 1),
        "query p95 ms": round(float(most), 1),
        "true locations": f"{true} of {checked}",
    }
    print("| what | figure |\n|---|---|")
    for name, value in result.items():
        print(f"| {name} | {value} |")
    if chosen.json:
        chosen.json.write_text(json.dumps(result, indent=1), encoding="utf-8")
    if true < checked:
        sys.exit(1)


if __name__ == "__main__":
    main()
