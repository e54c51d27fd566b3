"""A few of the random lives of `benchmarks.syncing`, and that its check finds what it is there for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.syncing import Life, Tally, check, live


@pytest.mark.parametrize("seed", [*range(12), 55, 120, 141, 149, 169, 187])
def test_store_and_folder_are_equal_after_whatever_happened(tmp_path: Path, seed: int) -> None:
    life = Life(tmp_path, seed)
    try:
        assert live(life, Tally()) == []
    finally:
        life.close()


def test_the_check_finds_lost_ids_lost_files_and_files_too_many(tmp_path: Path) -> None:
    life = Life(tmp_path, 1)
    try:
        (life.files / "doors.md").write_text("# Doors\n\nClose them.\n")
        (life.files / "ropes.md").write_text("# Ropes\n\nGrease them.\n")
        life.sync()
        records = life.world.knowledge.documents()
        files = life.there()
    finally:
        life.close()
    assert check(records, records, files, whole=True) == []
    assert check(records, [replace(records[0], id="other"), records[1]], files, whole=True)
    assert check(records, records[:1], files, whole=True)
    assert check(records, records, files[:1], whole=True)
    moved = files[0].rename(files[0].with_name("gates.md"))
    fresh = replace(records[0], id="gates", source_path=str(moved))
    assert check(records, [fresh, records[1]], [moved, files[1]], whole=True)
    assert check(records, [replace(fresh, id=records[0].id), records[1]], [moved, files[1]], whole=True) == []
