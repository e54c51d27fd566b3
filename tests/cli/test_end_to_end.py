"""From a folder to an answer with the real parts, all but the model: `knowledge-ingest`, then `knowledge`."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from knowledge_mcp import registry
from knowledge_mcp.cli import ingest as ingest_command
from knowledge_mcp.settings import Settings
from knowledge_mcp.testing.embedders import HashingEmbedder
from tests.cli.conftest import Command

STANDARD = """\
# Widget Standard

## 3 Terms and definitions

### 3.1 widget

smallest part of a system that can be replaced

## 5 Process

### 5.1 Planning

The supplier shall keep a verification plan for every widget. The plan should name the people who carry it out.
"""


def hashing(_settings: Settings) -> HashingEmbedder:
    """Embed by hashing words, which needs no model."""
    return HashingEmbedder()


@pytest.fixture
def real(call: Command, home: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """Run `knowledge-ingest` over a real store in the test's folder."""
    monkeypatch.setitem(registry.EMBEDDERS, "local", f"{__name__}:hashing")
    loader: Callable[[str], Any] = registry.load

    def load(target: str) -> Any:
        return hashing if target.endswith(":hashing") else loader(target)

    monkeypatch.setattr(registry, "load", load)
    docs = home / "docs"
    docs.mkdir()
    (docs / "widget.md").write_text(STANDARD)
    return partial(call, ingest_command.main)


@pytest.mark.requirement("A-REQ-CLI-001")
def test_what_is_ingested_is_found_and_removed_again(home: Path, real: Command, knowledge: Command) -> None:
    planned = json.loads(real("--dry-run", "--json", "docs").out)
    assert [each["document_id"] for each in planned["planned"]] == ["widget"]
    assert real("docs").code == 0
    found = json.loads(knowledge("search", "verification plan", "--json").out)
    assert "shall keep a verification plan" in found["results"][0]["content"]
    assert json.loads(knowledge("requirements", "plan", "--json").out)["results"][0]["requirement_id"] == "5.1"
    assert knowledge("doctor", "--json").code == 0
    assert knowledge("documents", "remove", "widget", "--yes").code == 0
    assert json.loads(knowledge("stats", "--json").out)["knowledge_base"]["total_chunks"] == 0


@pytest.mark.requirement("A-REQ-CLI-001")
def test_a_second_run_changes_nothing_and_succeeds(real: Command) -> None:
    first, second = json.loads(real("--json", "docs").out), json.loads(real("--json", "docs").out)
    assert (first["files_processed"], first["files_unchanged"]) == (1, 0)
    assert (second["files_processed"], second["files_unchanged"], second["exit_code"]) == (0, 1, 0)
    forced = json.loads(real("--json", "--force", "docs").out)
    assert forced["files_processed"] == 1
    assert forced["chunks_embedded"] == forced["chunks_created"] == first["chunks_created"]


@pytest.mark.requirement("CLARIFY-001")
def test_a_damaged_file_is_skipped_logged_and_listed(home: Path, real: Command) -> None:
    (home / "docs" / "bad.pdf").write_bytes(b"%PDF-1.7\nthis goes nowhere")
    done = real("docs")
    assert done.code == 1
    assert "bad.pdf" in done.out
    assert any(" ERROR " in line and "bad.pdf" in line for line in done.err.splitlines())


def test_another_embedding_space_is_refused_with_exit_code_3(real: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    assert real("docs").code == 0

    def other(_settings: Settings) -> HashingEmbedder:
        return HashingEmbedder(model="other")

    monkeypatch.setitem(globals(), "hashing", other)
    done = real("--force", "docs")
    assert done.code == 3
    assert "hashing" in done.err
    assert "other" in done.err


def test_collections_are_kept_apart(home: Path, real: Command, knowledge: Command) -> None:
    assert real("--collection", "mine", "docs").code == 0
    assert json.loads(knowledge("documents", "list", "--json").out)["total"] == 0
    assert json.loads(knowledge("documents", "list", "--json", "--collection", "mine").out)["total"] == 1
    shutil.rmtree(home / ".local")
    assert json.loads(knowledge("documents", "list", "--json", "--collection", "mine").out)["total"] == 0
