"""Ingest real documents by the command, then ask over stdio with the official client; every answer against its schema.

Usage: `python -m benchmarks.real_input [--keep FOLDER]`

Reads `docs/pdf`, `docs/docx` and `docs/md` below `$KNOWLEDGE_EVAL_DATA`, else `../shared/data`; says so where they are
missing.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import jsonschema
from mcp import Client, StdioServerParameters

from benchmarks.product import environment

BIN = Path(sys.executable).parent
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("knowledge_search", {"query": "trust algorithm inputs of a policy engine"}),
    ("knowledge_search", {"query": "software requirements", "document_type": "standard"}),
    ("knowledge_search", {"query": "software requirements", "chunk_type": "requirement"}),
    ("knowledge_search", {"query": "software requirements", "normative_only": True}),
    ("knowledge_search", {"query": "software requirements", "document_id": "mil-std-498"}),
    ("knowledge_search", {"query": "software requirements", "clause_number": "5"}),
    ("knowledge_search", {"query": "software requirements", "use_hybrid": False}),
    ("knowledge_search", {"query": "software requirements", "hybrid_weight": 0.0, "n_results": 100}),
    ("knowledge_lookup", {"term": "zero trust"}),
    ("knowledge_lookup", {"term": "behavoir"}),
    ("knowledge_requirements", {"topic": "memory allocation"}),
    ("knowledge_requirements", {"topic": "traceability", "standard": "498"}),
    ("knowledge_keyword_search", {"query": "result.message"}),
    ("knowledge_stats", {}),
    ("knowledge_health", {}),
]


def ingest(folder: Path, data: Path) -> bool:
    """Ingest one folder; prints its outcome and tells whether the exit code is 0, or 1 with a reason per file."""
    command = [str(BIN / "knowledge-ingest"), str(folder), "--pattern", "*.pdf,*.docx,*.md,*.mdx", "--json"]
    done = subprocess.run(command, env=environment(data), capture_output=True, text=True, check=False)
    try:
        report = json.loads(done.stdout)
    except ValueError:
        print(f"{folder.name}: exit {done.returncode}, no report\n{done.stderr[-1500:]}")
        return False
    print(f"{folder.name}: exit {done.returncode}, {json.dumps(report)[:600]}")
    return done.returncode in {0, 1}


async def ask(data: Path) -> int:
    """Put every call to a stdio server; returns how many answers were errors or broke their schema."""
    command = str(BIN / "knowledge-mcp")
    server = StdioServerParameters(command=command, args=["--log-level", "ERROR"], env=environment(data))
    bad = 0
    async with Client(server) as client:
        schemas = {tool.name: tool.output_schema for tool in (await client.list_tools()).tools}
        for name, arguments in CALLS:
            result = await client.call_tool(name, arguments)
            answer: dict[str, Any] = result.structured_content or {}
            try:
                jsonschema.validate(answer, schemas[name] or {})
                verdict = "error" if result.is_error else "valid"
            except jsonschema.ValidationError as exc:
                verdict = f"INVALID {exc.message[:200]}"
            bad += verdict != "valid"
            found: list[Any] = answer.get("results", answer.get("definitions", []))
            first = found[0]["source"]["citation"] if found else answer.get("message", answer.get("status", ""))
            similar = answer.get("similar_terms", "")
            print(f"{verdict} | {name} {json.dumps(arguments)} | {len(found)} | {first} {similar}")
    return bad


def main() -> None:
    """Ingest and ask; exit code 1 where anything was wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    documents = Path(os.environ.get("KNOWLEDGE_EVAL_DATA", "../shared/data")) / "docs"
    if not documents.is_dir():
        print(f"SKIPPED: no documents in {documents}; set KNOWLEDGE_EVAL_DATA")
        return
    with tempfile.TemporaryDirectory() as temporary:
        data = options.keep or Path(temporary)
        fine = [ingest(documents / name, data) for name in ("pdf", "docx", "md")]
        bad = asyncio.run(ask(data))
    sys.exit(0 if all(fine) and not bad else 1)


if __name__ == "__main__":
    main()
