"""`knowledge conflicts`: files, folders and ingested documents; a table, JSON, CSV."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from tests.cli.conftest import Command

STANDARD = """# Pumps

## 1 Terms and definitions

**tank**: vessel that holds water

## 2 Stopping

When the tank is full, the pump shall stop within 2 seconds.

Each pump shall have a label with its number.
"""
HANDBOOK = """# Handbook

## 1 Terms and definitions

**tank**: any container

## 4 Operation

The pump shall stop within 5 s when the tank is full.

Each pump must have a label with its number.
"""


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    """Write two documents that do not go together."""
    folder = tmp_path / "documents"
    folder.mkdir()
    (folder / "standard.md").write_text(STANDARD)
    (folder / "handbook.md").write_text(HANDBOOK)
    (folder / "drawing.dwg").write_bytes(b"\0")
    return folder


def test_json_has_kind_reason_and_both_citations(knowledge: Command, documents: Path) -> None:
    done = knowledge("conflicts", str(documents), "--json")
    found = {each["kind"]: each for each in json.loads(done.out)["conflicts"]}
    assert set(found) == {"limit", "duplicate", "definition"}
    limit = found["limit"]
    assert limit["why"] == "at most 5 s and at most 2 seconds"
    assert {limit["one"]["citation"], limit["other"]["citation"]} == {"handbook.md, 4", "standard.md, 2"}
    assert limit["other"]["text"] == "When the tank is full, the pump shall stop within 2 seconds."
    terms = {found["definition"][side]["citation"] for side in ("one", "other")}
    assert terms == {"standard.md, 1 Terms and definitions, line 5", "handbook.md, 1 Terms and definitions, line 5"}
    assert f"Not compared in {documents}: drawing.dwg." in done.err


def test_the_table_and_the_kinds(knowledge: Command, documents: Path) -> None:
    done = knowledge("conflicts", str(documents / "standard.md"), str(documents / "handbook.md"), "--kind", "duplicate")
    assert "they demand the same" in done.out
    assert "limit" not in done.out
    assert "1 duplicate, among 4 requirements" in done.err


def test_csv_is_harmless_in_a_spreadsheet(knowledge: Command, tmp_path: Path) -> None:
    items, table = tmp_path / "items.csv", tmp_path / "out.csv"
    items.write_text(
        "id,text\n=A1,The door shall be locked at night.\n=A2,The door shall be unlocked at night.\n", encoding="utf-8"
    )
    knowledge("conflicts", str(items), "--csv", str(table))
    (row,) = csv.DictReader(io.StringIO(table.read_text()))
    assert (row["kind"], row["one"], row["other"]) == ("contradiction", "'=A1", "'=A2")


def test_nothing_to_compare_is_an_error_with_a_next_step(knowledge: Command, tmp_path: Path) -> None:
    (tmp_path / "story.md").write_text("# Story\n\nOnce upon a time.\n")
    done = knowledge("conflicts", str(tmp_path / "story.md"))
    assert done.code == 1
    assert f"no requirements or definitions in {tmp_path / 'story.md'}." in done.err


def test_nothing_found_says_so_and_is_no_error(knowledge: Command, tmp_path: Path) -> None:
    (tmp_path / "one.md").write_text("# One\n\nThe pump shall stop.\n\nThe lamp shall be green at night.\n")
    done = knowledge("conflicts", str(tmp_path / "one.md"))
    assert done.code == 0
    assert "None found, among 2 requirements" in done.err
