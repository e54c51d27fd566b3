"""Nothing heavy is imported before it is needed: an assistant waits for the server to start."""

from __future__ import annotations

import subprocess
import sys

import pytest

ROOMS = (
    "model", "ports", "support", "sources", "readers", "ocr", "language", "lexical", "chunking", "embedders", "stores",
    "ranking", "engine", "remote",
)  # fmt: skip
HEAVY = {
    "PIL", "Stemmer", "apsw", "chromadb", "docx", "huggingface_hub", "liteparse", "lxml", "markdown_it", "numpy",
    "onnx", "onnxruntime", "openai", "psycopg", "psycopg_pool", "pypdfium2", "qdrant_client", "tree_sitter", "rich",
    "tokenizers", "uvicorn", "yaml",
}  # fmt: skip
SCRIPT = "import importlib, sys; importlib.import_module(sys.argv[1]); print(*sys.modules)"


def loaded_by(module: str) -> set[str]:
    """Return the names that a fresh interpreter has loaded after importing `module`."""
    command = [sys.executable, "-c", SCRIPT, module]
    finished = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    return set(finished.stdout.split())


@pytest.mark.parametrize("room", ROOMS)
def test_importing_a_room_loads_nothing_heavy(room: str) -> None:
    assert loaded_by(f"knowledge_mcp.{room}") & HEAVY == set()


def test_a_heavy_import_would_be_seen() -> None:
    assert "yaml" in loaded_by("yaml") & HEAVY


def test_the_rest_service_starts_without_the_sdk_of_mcp_and_without_what_compares_documents() -> None:
    names = loaded_by("knowledge_mcp.transports.rest.app")
    assert names.isdisjoint({"mcp", "mcp_types", "knowledge_mcp.surfaces.viewing", "knowledge_mcp.surfaces.comparing"})
