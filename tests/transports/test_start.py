"""Starting: what the server imports before its first answer, and that it does not touch the log's set-up."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.transports.spawned import ROOT

HEAVY = {
    "Stemmer", "apsw", "chromadb", "docx", "fastapi", "huggingface_hub", "liteparse", "lxml", "markdown_it", "numpy",
    "onnx", "onnxruntime", "openai", "psycopg", "psycopg_pool", "pypdfium2", "qdrant_client", "rich", "structlog",
    "tokenizers", "typer", "yaml",
}  # fmt: skip
BARE = """
import sys
sys.modules["rich"] = None
from mcp.server import MCPServer
MCPServer("bare")
del sys.modules["rich"]
print(*sorted({name.partition(".")[0] for name in sys.modules}))
"""
OURS = """
import logging
import sys
logging.basicConfig(level="ERROR", stream=sys.stderr)
import anyio
from mcp import Client
before = {name.partition(".")[0] for name in sys.modules}
from knowledge_mcp.transports.mcp.server import build_server

def factory(_):
    raise AssertionError("the knowledge base was opened")

async def main():
    server = build_server(factory, ["standards"], version="1")
    server.providers.start_warm_up = lambda **_: None
    async with Client(server) as client:
        await client.list_tools()

anyio.run(main)
print(f"level={logging.getLogger().level}", f"handlers={len(logging.getLogger().handlers)}", *sys.modules)
"""


def loaded(script: str) -> set[str]:
    """Return the modules of which a script tells that a fresh interpreter has loaded them."""
    finished = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60
    )
    return set(finished.stdout.split())


@pytest.fixture(scope="module")
def modules() -> set[str]:
    """List what is loaded after `initialize` and `tools/list`, and what became of the log that was set up before."""
    return loaded(OURS)


@pytest.mark.requirement("A-REQ-IF-001")
def test_initialize_and_the_tool_list_load_nothing_heavy_and_open_nothing(modules: set[str]) -> None:
    ours = {name.partition(".")[0] for name in modules if "=" not in name}
    assert ours & HEAVY == set()
    beyond = {name for name in ours - loaded(BARE) if not name.startswith("_")} - set(sys.stdlib_module_names)
    # The in-memory client brings the rest in this process; over stdio it is the client's.
    assert beyond <= {"knowledge_mcp"} | {"httpx2", "httpcore2", "jsonschema", "rpds"}


def test_initialize_and_the_tool_list_do_not_load_what_the_tools_run_on(modules: set[str]) -> None:
    assert "knowledge_mcp.transports.mcp.listing" in modules
    heavy = ("knowledge_mcp.surfaces.standards", "knowledge_mcp.engine", "knowledge_mcp.settings")
    assert [name for name in modules if name.startswith(heavy)] == []


def test_building_a_server_leaves_an_existing_log_set_up_alone(modules: set[str]) -> None:
    assert {each for each in modules if "=" in each} == {"level=40", "handlers=1"}
    assert "rich" not in modules
