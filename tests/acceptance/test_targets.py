"""The specified times and memory, far from their limits, so that only a change of kind can fail here.

Finer figures, which a busy machine would blur, are the benchmarks'.
"""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path
from typing import Any

import anyio
import psutil
import pytest
from mcp import Client

from tests.acceptance.commands import command, environment, stdio_server
from tests.readers.pdf_files import SENTENCE, sheet

MEGABYTE = 1_000_000


def _document(path: Path, pages: int) -> None:
    """Write a PDF of numbered clauses, one and about 300 words a page."""
    file = sheet(title="Long standard")
    for number in range(1, pages + 1):
        file.heading(f"{number} Duty number {number}")
        for line in range(20):
            file.line(f"{SENTENCE} See clause {1 + (number * 7 + line) % pages}.")
        if number < pages:
            file.next_page()
    path.write_bytes(file.done())


def _ingest(data: Path, *arguments: str) -> tuple[dict[str, Any], int]:
    """Run `knowledge-ingest --json`; returns its report and the most bytes that it and its children held together."""
    call = [command("knowledge-ingest"), "--json", *arguments]
    with (data / "report.json").open("w+") as out, (data / "log.txt").open("w+") as log:
        process = psutil.Popen(call, env=environment(data), stdin=subprocess.DEVNULL, stdout=out, stderr=log)
        peak, running = 0, True
        while running:
            peak = max(peak, _resident(process))
            try:
                process.wait(timeout=0.05)
                running = False
            except psutil.TimeoutExpired:
                pass
        out.seek(0)
        log.seek(0)
        assert process.returncode == 0, log.read()[-2000:]
        return json.load(out), peak


def _resident(process: psutil.Process) -> int:
    total = 0
    try:
        for each in (process, *process.children(recursive=True)):
            total += each.memory_info().rss
    except psutil.NoSuchProcess:
        pass
    return total


@pytest.mark.slow
@pytest.mark.requirement("A-REQ-PERF-003")
@pytest.mark.requirement("A-REQ-INGEST-001")
def test_a_thousand_pages_are_read_page_by_page_below_500_megabytes(tmp_path: Path) -> None:
    _document(tmp_path / "long.pdf", 1000)
    report, peak = _ingest(tmp_path, "--dry-run", str(tmp_path / "long.pdf"))
    (planned,) = report["planned"]
    assert planned["pages"] == 1000
    assert planned["chunks"] >= 1000
    assert 20 * MEGABYTE < peak < 500 * MEGABYTE


@pytest.mark.slow
@pytest.mark.requirement("A-REQ-PERF-002")
@pytest.mark.requirement("A-REQ-PERF-003")
def test_a_hundred_pages_are_ingested_within_two_minutes_and_below_500_megabytes(tmp_path: Path) -> None:
    _document(tmp_path / "long.pdf", 100)
    started = time.monotonic()
    report, peak = _ingest(tmp_path, str(tmp_path / "long.pdf"))
    assert time.monotonic() - started < 120
    assert report["documents"][0]["pages"] == 100
    assert report["chunks_embedded"] >= 100
    assert 20 * MEGABYTE < peak < 500 * MEGABYTE


@pytest.mark.requirement("A-REQ-PERF-001")
@pytest.mark.slow
def test_each_tool_answers_within_the_longest_time_allowed(examples_data: Path) -> None:
    asked: list[tuple[str, dict[str, Any], float]] = [
        ("knowledge_search", {"query": "power supply", "n_results": 10, "use_hybrid": False}, 5.0),
        ("knowledge_search", {"query": "power supply", "n_results": 10}, 5.0),
        ("knowledge_keyword_search", {"query": "battery", "n_results": 10}, 3.0),
        ("knowledge_lookup", {"term": "gust"}, 2.0),
        ("knowledge_stats", {}, 1.0),
    ]

    async def session() -> list[tuple[str, float, float]]:
        async with Client(stdio_server(examples_data)) as client:
            await client.call_tool("knowledge_search", {"query": "load the model"})
            times: list[tuple[str, float, float]] = []
            for name, arguments, target in asked:
                started = time.monotonic()
                result = await client.call_tool(name, arguments)
                times.append((name, time.monotonic() - started, target))
                assert not result.is_error
            return times

    assert [each for each in anyio.run(session) if each[1] >= each[2]] == []
