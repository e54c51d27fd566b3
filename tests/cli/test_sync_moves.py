"""A file that moves from one registered folder into another keeps its document, as far as that is certain."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.cli.conftest import Command
from tests.cli.test_sync import TEXTS, held, put

MASTS = {"masts.md": "# Masts\n\nA mast shall stand upright in any wind that may blow there.\n"}


@pytest.fixture
def nested(home: Path, real_ingest: Command, knowledge: Command) -> Path:
    """Register a folder, and one inside it that is synced before it."""
    folder = put(home / "docs")
    put(folder / "inner", MASTS)
    assert knowledge("sources", "add", str(folder), "--name", "outer").code == 0
    assert knowledge("sources", "add", str(folder / "inner"), "--name", "inner").code == 0
    assert knowledge("sync").code == 0
    return folder


@pytest.mark.parametrize("order", [("inner", "outer"), ("outer", "inner")])
@pytest.mark.parametrize("name", ["doors.md", "gates.md"])
def test_into_a_folder_that_is_a_source_of_its_own(
    nested: Path, knowledge: Command, order: tuple[str, str], name: str
) -> None:
    (nested / "doors.md").rename(nested / "inner" / name)
    for each in (*order, *order):
        assert knowledge("sync", each).code == 0
    assert held(knowledge) == {"doors": name, "masts": "masts.md", "pits": "pits.md", "ropes": "ropes.md"}


def test_edited_on_its_way(nested: Path, knowledge: Command) -> None:
    text = TEXTS["doors.md"] * 12
    put(nested, {"doors.md": text})
    knowledge("sync")
    (nested / "doors.md").unlink()
    put(nested / "inner", {"gates.md": text + "\nA gate shall be painted.\n"})
    assert "moved from" in knowledge("sync", "inner").out
    knowledge("sync")
    assert held(knowledge)["doors"] == "gates.md"


def test_a_copy_takes_nothing_from_a_file_that_is_there_or_only_cannot_be_seen(
    nested: Path, knowledge: Command, home: Path
) -> None:
    put(nested / "inner", {"gates.md": TEXTS["doors.md"]})
    knowledge("sync", "inner")
    assert held(knowledge)["doors"] == "doors.md"
    away = put(home / "away", {"wells.md": "# Wells\n\nA well shall be covered.\n"})
    knowledge("sources", "add", str(away))
    knowledge("sync", "away")
    shutil.move(away, home / "elsewhere")
    put(nested / "inner", {"holes.md": "# Wells\n\nA well shall be covered.\n"})
    knowledge("sync", "inner")
    assert held(knowledge)["wells"] == "wells.md", "the folder may come back"
    away.mkdir()
    put(nested / "inner", {"pools.md": "# Wells\n\nA well shall be covered.\n"})
    knowledge("sync", "inner")
    assert held(knowledge)["wells"] == "wells.md", "an empty folder is not believed"
