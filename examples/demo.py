"""The first minutes of a user in one command: model, ingest, server, questions over MCP, cited answers."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters
from mcp.types import TextContent

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
DATA = ROOT / ".demo"

QUESTIONS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("knowledge_search", {"query": "What does a station switch off first when its battery runs low?", "n_results": 2}),
    ("knowledge_lookup", {"term": "gust"}),
    ("knowledge_requirements", {"topic": "recalibration of sensors", "standard": "FSC 4100", "n_results": 2}),
    ("knowledge_keyword_search", {"query": "tipping bucket", "n_results": 2}),
)


def say(text: str = "") -> None:
    """Print one line at once, so that it stands before what a child process prints next."""
    print(text, flush=True)


def run(*command: str) -> None:
    """Show a command, run it, and stop the demo where it fails."""
    say(f"\n$ {' '.join([Path(command[0]).name, *command[1:]])}")
    environment = {**os.environ, "DATA_PATH": str(DATA), "EMBEDDING_PROVIDER": "local"}
    done = subprocess.run(command, env=environment, cwd=ROOT, check=False)
    if done.returncode:
        sys.exit(f"the command failed with exit code {done.returncode}")


def show(tool: str, answer: dict[str, Any]) -> bool:
    """Print what a tool answered, each piece with where it stands; tell whether there was any."""
    found = [*answer.get("results", []), *answer.get("definitions", [])]
    keys = ("requirement_text", "definition", "content")
    pieces = [(next(each[key] for key in keys if each.get(key)), each["source"]["citation"]) for each in found]
    for text, citation in pieces:
        words = " ".join(text.split())
        say(f"   “{words[:230]}{'…' if len(words) > 230 else ''}”")
        say(f"      — {citation}")
    if not pieces:
        say(f"   {tool}: {answer.get('message', 'nothing found')}")
    return bool(pieces)


async def ask() -> int:
    """Start the server as an assistant does, over stdio, and put the questions to it; count the answers."""
    server = StdioServerParameters(
        command=str(BIN / "knowledge-mcp"),
        args=["--log-level", "ERROR"],
        env={**os.environ, "DATA_PATH": str(DATA), "EMBEDDING_PROVIDER": "local"},
        cwd=ROOT,
    )
    answered = 0
    async with Client(server) as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        say(f"\nThe server is up, protocol {client.protocol_version}, tools: {', '.join(names)}")
        for tool, arguments in QUESTIONS:
            say(f"\n> {tool}({json.dumps(arguments)[1:-1]})")
            result = await client.call_tool(tool, arguments)
            first = result.content[0]
            if result.is_error or not isinstance(first, TextContent):
                sys.exit(f"{tool} failed: {first}")
            answered += show(tool, json.loads(first.text))
    return answered


def main() -> None:
    """Run the whole demo."""
    run(str(BIN / "knowledge"), "models", "fetch")
    run(str(BIN / "knowledge-ingest"), "examples/documents")
    answered = asyncio.run(ask())
    if answered < len(QUESTIONS):
        sys.exit(f"only {answered} of {len(QUESTIONS)} questions were answered")
    say(f"\n{answered} of {len(QUESTIONS)} questions answered with citations. The knowledge base is in {DATA.name}/.")
    command = f"DATA_PATH={DATA.name} {BIN.relative_to(ROOT) if BIN.is_relative_to(ROOT) else BIN}/knowledge"
    say("Ask on, or add this knowledge base to your assistants:")
    say(f'   {command} search "…"')
    say(f"   {command} install --dry-run")


if __name__ == "__main__":
    main()
