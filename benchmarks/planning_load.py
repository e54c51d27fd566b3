"""Load the planning server over HTTP with many clients while it ingests: calls, latency, errors.

Usage: `python -m benchmarks.planning_load [--clients 50] [--seconds 120] [--documents 400] [--json FILE]`

A real `knowledge-mcp --surface planning` with a token; half of the clients speak Streamable HTTP and half SSE, by the
Python SDK; where Node.js and its clients are installed (`tools/node_clients.sh`), four of them are TypeScript ones,
both versions of its SDK over both transports. Each asks its next question when the last one is answered. All the while
one more client ingests PDFs made here, text and scans by turns, one after the other. Server, clients and ingest share
the machine's cores.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import json
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import httpx2
from mcp import Client
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client

from benchmarks.product import environment

TOKEN = "token-of-the-load-test"
REFERENCE = "26/00417/FUL"
QUESTIONS = (
    "traffic on the access road",
    "height of the ridge",
    "noise at night",
    "trees to be felled",
    "flood storage",
)
WORDS = (
    "The access road carries traffic of the morning peak. The ridge stands nine metres above the yard. Noise at night "
    "stays below the limit at the nearest window. Two trees are felled and six are planted. Flood storage is kept "
    "below the car park."
)


@dataclass
class Tally:
    """Count one kind of client's calls."""

    milliseconds: list[float] = field(default_factory=list[float])
    errors: list[str] = field(default_factory=list[str])

    def row(self, name: str, seconds: float) -> str:
        """Write a line of the table."""
        taken = sorted(self.milliseconds)
        if len(taken) < 2:
            return f"| {name} | {len(taken)} | | | | {len(self.errors)} |"
        p95 = statistics.quantiles(taken, n=20)[18]
        rate = len(taken) / seconds
        figures = f"{len(taken):,} | {rate:.1f} | {statistics.median(taken):,.0f} | {p95:,.0f}"
        return f"| {name} | {figures} | {len(self.errors)} |"


def make_documents(folder: Path, count: int) -> list[Path]:
    """Write PDFs, each of two pages; every fourth is a scan."""
    from PIL import Image, ImageDraw, ImageFont
    from reportlab.lib import utils
    from reportlab.lib.pagesizes import A4
    from reportlab.pdfgen.canvas import Canvas

    library: Any = utils

    made: list[Path] = []
    for number in range(count):
        path = folder / f"statement-{number:03d}.pdf"
        sheet: Any = Canvas(str(path), pagesize=A4)
        for page in (1, 2):
            text = f"{number}.{page} Statement {number}, page {page}. " + WORDS * 3
            if number % 4:
                for at, line in enumerate(library.simpleSplit(text, "Helvetica", 11, 450)):
                    sheet.drawString(70, 770 - 16 * at, line)
            else:
                picture = Image.new("L", (1240, 1754), 255)
                lines = "\n".join(library.simpleSplit(text, "Helvetica", 11, 450))
                ImageDraw.Draw(picture).multiline_text((140, 140), lines, fill=0, font=ImageFont.load_default(24))
                data = io.BytesIO()
                picture.save(data, "PNG")
                sheet.drawImage(library.ImageReader(data), 0, 0, *A4)
            sheet.showPage()
        sheet.save()
        made.append(path)
    return made


@asynccontextmanager
async def connected(url: str, transport: str) -> AsyncGenerator[Client]:
    """Connect the Python SDK's client, with the token."""
    headers = {"Authorization": f"Bearer {TOKEN}"}
    if transport == "sse":
        async with Client(sse_client(f"{url}/sse", headers=headers)) as client:
            yield client
        return
    async with (
        httpx2.AsyncClient(headers=headers, timeout=120) as web,
        Client(streamable_http_client(f"{url}/mcp", http_client=web)) as client,
    ):
        yield client


async def ask(url: str, transport: str, number: int, end: float, tally: Tally) -> None:
    """Ask until the time is over."""
    async with connected(url, transport) as client:
        place = number
        while time.monotonic() < end:
            arguments = {"query": QUESTIONS[place % len(QUESTIONS)], "application_ref": REFERENCE}
            place += 1
            started = time.perf_counter()
            try:
                answer = await client.call_tool("search_application_docs", arguments)
            except Exception as exc:  # noqa: BLE001 - every kind of failure counts
                tally.errors.append(f"{type(exc).__name__}: {exc}")
                continue
            tally.milliseconds.append((time.perf_counter() - started) * 1000)
            said: Any = answer.structured_content
            if answer.is_error or said.get("status") == "error":
                tally.errors.append(str(said)[:300])


async def ingest(url: str, paths: list[Path], end: float, tally: Tally) -> None:
    """Ingest one file after the other until the time is over."""
    async with connected(url, "http") as client:
        for path in paths:
            if time.monotonic() >= end:
                return
            started = time.perf_counter()
            arguments = {"file_path": str(path), "application_ref": REFERENCE}
            answer = await client.call_tool("ingest_document", arguments, read_timeout_seconds=300)
            said: Any = answer.structured_content
            if said.get("status") != "success":
                tally.errors.append(str(said)[:300])
            tally.milliseconds.append((time.perf_counter() - started) * 1000)


async def ask_by_node(folder: Path, node: str, library: str, transport: str, url: str, seconds: float) -> Tally:
    """Run a TypeScript client to its end."""
    address = f"{url}/mcp" if transport == "http" else f"{url}/sse"
    arguments = json.dumps({"query": QUESTIONS[0], "application_ref": REFERENCE})
    line = [node, str(folder / "load.mjs"), library, transport, address, TOKEN, f"{seconds}", "search_application_docs"]
    process = await asyncio.create_subprocess_exec(*line, arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out, err = await process.communicate()
    if process.returncode:
        return Tally(errors=[err.decode()[-500:] or f"exit code {process.returncode}"])
    said = json.loads(out)
    return Tally(said["milliseconds"], said["errors"])


def node_clients() -> tuple[str, Path] | None:
    """Find Node.js and the folder of its clients; None, reported on stderr, if they are not available."""
    root = Path(__file__).resolve().parents[1]
    found = [
        subprocess.run([root / "tools" / name], capture_output=True, text=True, check=False)
        for name in ("node22.sh", "node_clients.sh")
    ]
    for each in found:
        if each.returncode:
            print(f"without TypeScript clients: {each.stderr.strip()}", file=sys.stderr)
            return None
    return found[0].stdout.strip(), Path(found[1].stdout.strip())


async def load(url: str, paths: list[Path], clients: int, seconds: float) -> dict[str, Tally]:
    """Run everything at once."""
    node = node_clients()
    kinds = [("sdk1", "http"), ("sdk1", "sse"), ("client2", "http"), ("client2", "sse")] if node is not None else []
    tallies = {name: Tally() for name in ("ingest", "Python, Streamable HTTP", "Python, SSE")}
    end = time.monotonic() + seconds
    async with asyncio.TaskGroup() as group:
        group.create_task(ingest(url, paths, end, tallies["ingest"]))
        for number in range(clients - len(kinds)):
            transport = ("http", "sse")[number % 2]
            tally = tallies["Python, SSE" if transport == "sse" else "Python, Streamable HTTP"]
            group.create_task(ask(url, transport, number, end, tally))
        started = {
            (library, transport): group.create_task(
                ask_by_node(node[1], node[0], library, transport, url, end - time.monotonic())
            )
            for library, transport in kinds
            if node is not None
        }
    for (library, transport), task in started.items():
        tallies[f"TypeScript {'1.x' if library == 'sdk1' else '2.x'}, {transport}"] = task.result()
    return tallies


def main() -> None:
    """Start the server, load it, print the table."""
    parser = argparse.ArgumentParser(description="Load the planning server with many clients while it ingests.")
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--documents", type=int, default=400)
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="planning-load-"))
    (folder / "in").mkdir()
    paths = make_documents(folder / "in", chosen.documents)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environ = environment(folder / "data") | {"ALLOWED_ROOTS": str(folder / "in"), "MCP_API_KEY": TOKEN}
    line = [sys.executable, "-m", "knowledge_mcp.cli.serve.mcp", "--surface", "planning"]
    log = (folder / "server.log").open("wb")
    process = subprocess.Popen([*line, "--transport", "http", "--port", str(port)], env=environ, stderr=log)
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(300):
            try:
                httpx.get(f"{url}/health", timeout=5)
                break
            except httpx.TransportError:
                time.sleep(0.1)  # the server is starting; nothing is measured yet
        started = time.monotonic()
        tallies = asyncio.run(load(url, paths, chosen.clients, chosen.seconds))
        taken = time.monotonic() - started
    finally:
        process.terminate()
        code = process.wait(60)
    print(f"{chosen.clients} clients for {taken:.0f} s while documents are ingested; the server ended with {code}\n")
    print("| client | calls | calls/s | p50 ms | p95 ms | errors |\n|---|---|---|---|---|---|")
    for name, tally in tallies.items():
        print(tally.row(name, taken))
    for name, tally in tallies.items():
        for error in tally.errors[:5]:
            print(f"{name}: {error}", file=sys.stderr)
    if chosen.json:
        result = {name: {"milliseconds": each.milliseconds, "errors": each.errors} for name, each in tallies.items()}
        chosen.json.write_text(json.dumps(result), encoding="utf-8")
    shutil.rmtree(folder)
    if any(each.errors for each in tallies.values()):
        sys.exit(1)


if __name__ == "__main__":
    main()
