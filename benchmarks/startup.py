"""Measure the start: from spawning a stdio server to its answer to `initialize`, ours against a bare SDK server.

Usage: `python -m benchmarks.startup [--runs 21] [--command "knowledge-mcp"]`

The bare server is the SDK's `MCPServer` with one tool that adds two numbers. Both are spawned in turns, so that a busy
moment of the machine falls on both. With `--command` our side is that command instead of a server over a fake
Knowledge. The tool list is timed too: from the answer to `initialize` to the answer to `tools/list`. Beside the time on
the clock stands the processor time of the server, in which other work of the machine counts less; the figures are the
ratios of the medians, and the bar of 1.15 holds for that of processor time.
"""

from __future__ import annotations

import argparse
import json
import shlex
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

ROOT = Path(__file__).resolve().parent.parent
BAR = 1.15
BARE = """
from mcp.server import MCPServer
server = MCPServer("bare")
@server.tool()
def add(a: int, b: int) -> int:
    return a + b
server.run("stdio")
"""
OURS = """
from knowledge_mcp.transports.mcp.server import build_server, run_stdio
def knowledge(_):
    from tests.fakes.knowledge import FakeKnowledge
    return FakeKnowledge()
run_stdio(build_server(knowledge, ["standards"], version="1"))
"""
HELLO: dict[str, object] = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "benchmark", "version": "1"},
}


@dataclass
class Times:
    """Milliseconds of each run, on the clock and of the processor: to `initialize`, and from there to the tool list."""

    initialize: list[float] = field(default_factory=list[float])
    tools: list[float] = field(default_factory=list[float])
    initialize_cpu: list[float] = field(default_factory=list[float])
    tools_cpu: list[float] = field(default_factory=list[float])


def processor_time(process: int) -> float:
    """Read how many milliseconds a process has run so far; 0 where the system does not tell in this way."""
    result = Path(f"/proc/{process}/schedstat")
    return int(result.read_text().split()[0]) / 1e6 if result.exists() else 0.0


def ask(stdin: IO[str], stdout: IO[str], number: int, method: str, params: dict[str, object]) -> None:
    """Send one request and wait for its answer."""
    stdin.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\n")
    stdin.flush()
    answer = json.loads(stdout.readline())
    if "result" not in answer:
        raise RuntimeError(f"{method} was answered with {answer}")


def run_once(command: Sequence[str], times: Times) -> None:
    """Spawn a server, ask both questions, and let it end."""
    start = time.perf_counter()
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        ask(process.stdin, process.stdout, 1, "initialize", dict(HELLO))
        initialized, started_for = time.perf_counter(), processor_time(process.pid)
        ask(process.stdin, process.stdout, 2, "tools/list", {})
        listed, listed_for = time.perf_counter(), processor_time(process.pid)
        process.stdin.close()
        process.wait(30)
    times.initialize.append((initialized - start) * 1000)
    times.tools.append((listed - initialized) * 1000)
    times.initialize_cpu.append(started_for)
    times.tools_cpu.append(listed_for - started_for)


def main() -> int:
    """Print the table; exit 1 above the bar."""
    parser = argparse.ArgumentParser(description="Measure spawn to initialize, ours against a bare SDK server.")
    parser.add_argument("--runs", type=int, default=21, help="runs of each, after one that is thrown away")
    parser.add_argument("--command", help="our side as a command, e.g. 'knowledge-mcp'")
    arguments = parser.parse_args()
    ours = shlex.split(arguments.command) if arguments.command else [sys.executable, "-c", OURS]
    commands = {"bare": [sys.executable, "-c", BARE], "ours": ours}
    for command in commands.values():
        run_once(command, Times())
    measured = {name: Times() for name in commands}
    for _ in range(arguments.runs):
        for name, command in commands.items():
            run_once(command, measured[name])
    print(f"{'server':8} {'initialize: best, median, processor':>36} {'then tools/list: median, processor':>36}")
    for name, times in measured.items():
        print(
            f"{name:8} {min(times.initialize):12.0f} {statistics.median(times.initialize):11.0f} "
            f"{statistics.median(times.initialize_cpu):11.0f} {statistics.median(times.tools):24.1f} "
            f"{statistics.median(times.tools_cpu):11.1f}"
        )
    clock = statistics.median(measured["ours"].initialize) / statistics.median(measured["bare"].initialize)
    bare = statistics.median(measured["bare"].initialize_cpu)
    ratio = statistics.median(measured["ours"].initialize_cpu) / bare if bare else clock
    print(f"ratio of medians {clock:.3f} by the clock, {ratio:.3f} of processor time, bar {BAR}")
    return 0 if ratio <= BAR else 1


if __name__ == "__main__":
    sys.exit(main())
