"""An ingest of a folder is the truth of that folder: what is gone is named, and removed where that is asked for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Command, held
from tests.cli.running import Finished

TEXTS = {
    "doors.md": "# Doors\n\nEach door shall close within four seconds of being let go by a person.\n",
    "ropes.md": "# Ropes\n\nA rope shall be greased with oil that is free of acid once every year.\n",
    "pits.md": "# Pits\n\nThe pit shall be dry and lit whenever somebody works beneath the car.\n",
}


@pytest.fixture
def shelf(home: Path, real_ingest: Command) -> Path:
    """Ingest a folder of three files."""
    folder = home / "docs"
    folder.mkdir()
    for name, text in TEXTS.items():
        (folder / name).write_text(text)
    assert real_ingest(str(folder)).code == 0
    return folder


def report(done: Finished) -> dict[str, Any]:
    """Read a report."""
    return json.loads(done.out)


def test_a_file_that_is_gone_is_named_and_still_answers(shelf: Path, real_ingest: Command, knowledge: Command) -> None:
    (shelf / "pits.md").unlink()
    done = real_ingest(str(shelf), "--json")
    assert report(done)["vanished"] == [
        {"document_id": "pits", "source_path": str(shelf / "pits.md"), "removed": False}
    ]
    assert "Pass --prune to remove" in done.err
    assert "pits" in held(knowledge)


def test_what_is_gone_is_known_by_a_path_that_goes_up_too(
    shelf: Path, real_ingest: Command, knowledge: Command
) -> None:
    (shelf / "pits.md").unlink()
    (shelf / "below").mkdir()
    done = real_ingest(str(shelf / "below" / ".."), "--prune", "--json")
    assert [each["removed"] for each in report(done)["vanished"]] == [True]
    assert "pits" not in held(knowledge)


def test_prune_removes_what_is_gone_and_nothing_else(
    shelf: Path, real_ingest: Command, knowledge: Command, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside = home / "other"
    outside.mkdir()
    (outside / "masts.md").write_text("# Masts\n\nA mast shall stand upright in any wind that may blow there.\n")
    real_ingest(str(outside))
    (outside / "masts.md").unlink()
    (shelf / "pits.md").unlink()
    assert report(real_ingest(str(shelf), "--prune", "--json"))["vanished"][0]["removed"] is True
    assert set(held(knowledge)) == {"doors", "ropes", "masts"}
    (shelf / "ropes.md").unlink()
    monkeypatch.setenv("PRUNE", "true")
    real_ingest(str(shelf))
    assert set(held(knowledge)) == {"doors", "masts"}


def test_a_dry_run_and_another_pattern_remove_nothing(shelf: Path, real_ingest: Command, knowledge: Command) -> None:
    (shelf / "pits.md").unlink()
    assert report(real_ingest(str(shelf), "--prune", "--dry-run", "--json"))["vanished"][0]["removed"] is False
    real_ingest(str(shelf), "--prune", "--pattern", "doors.md")
    assert set(held(knowledge)) == {"doors", "ropes"}


def test_a_folder_that_is_suddenly_empty_is_not_pruned_without_being_told(
    shelf: Path, real_ingest: Command, knowledge: Command
) -> None:
    for name in TEXTS:
        (shelf / name).unlink()
    done = real_ingest(str(shelf), "--prune")
    assert "no longer contains any file" in done.err
    assert len(held(knowledge)) == 3
    real_ingest(str(shelf), "--prune", "--prune-all")
    assert held(knowledge) == {}


@pytest.mark.parametrize("place", ["wells.md", "below/pits.md", "below/wells.md"])
def test_a_file_that_was_renamed_or_moved_keeps_its_document(
    shelf: Path, real_ingest: Command, knowledge: Command, place: str
) -> None:
    (shelf / "below").mkdir()
    (shelf / "pits.md").rename(shelf / place)
    done = report(real_ingest(str(shelf), "--json"))
    assert done["vanished"] == []
    assert done["chunks_embedded"] == 0
    assert held(knowledge) == {"doors": "doors.md", "ropes": "ropes.md", "pits": Path(place).name}
    assert all(each["unchanged"] for each in report(real_ingest(str(shelf), "--json"))["documents"])


def test_a_copy_of_a_file_that_is_still_there_is_a_document_of_its_own(
    shelf: Path, real_ingest: Command, knowledge: Command
) -> None:
    (shelf / "wells.md").write_text(TEXTS["pits.md"])
    real_ingest(str(shelf))
    assert held(knowledge) == {"doors": "doors.md", "ropes": "ropes.md", "pits": "pits.md", "wells": "wells.md"}


def test_several_files_and_folders_are_one_ingest(
    shelf: Path, real_ingest: Command, knowledge: Command, home: Path
) -> None:
    other = home / "other"
    other.mkdir()
    (other / "masts.md").write_text("# Masts\n\nA mast shall stand upright in any wind that may blow there.\n")
    (shelf / "doors.md").rename(other / "gates.md")
    (shelf / "pits.md").unlink()
    given = [str(shelf), str(other), str(other / "masts.md")]
    done = report(real_ingest(*given, "--prune", "--json"))
    assert (done["source"], done["sources"]) == (", ".join(given), given)
    assert len(done["documents"]) == 3, "a file below two of them is met once"
    assert [each["document_id"] for each in done["vanished"]] == ["pits"]
    assert held(knowledge) == {"doors": "gates.md", "ropes": "ropes.md", "masts": "masts.md"}

    (shelf / "ropes.md").unlink()
    (other / "masts.md").unlink()
    done = real_ingest(str(shelf), str(other), "--prune")
    assert "Some documents were not removed: a folder no longer contains any file" in done.err
    assert set(held(knowledge)) == {"doors", "ropes"}


def test_nothing_is_ingested_where_one_of_several_is_missing(
    shelf: Path, real_ingest: Command, knowledge: Command
) -> None:
    (shelf / "wells.md").write_text("# Wells\n\nA well shall be covered.\n")
    done = real_ingest(str(shelf), str(shelf / "no.pdf"), str(shelf / "none.pdf"))
    assert done.code == 2
    assert f"There is no file or folder '{shelf / 'no.pdf'}', '{shelf / 'none.pdf'}'" in done.err
    assert "wells" not in held(knowledge)


@pytest.mark.parametrize("prunes", [True, False])
def test_an_edition_that_is_removed_is_named_as_no_edition_any_more(
    home: Path, real_ingest: Command, knowledge: Command, prunes: bool
) -> None:
    folder = home / "lifts"
    folder.mkdir()

    def put(year: int) -> Path:
        file = folder / f"lifts-{year}.md"
        file.write_text(f"# ACME 100:{year} Lifts\n\n## 1 Doors\n\nEach door shall close within {year % 7} s.\n")
        return file

    first = put(2016)
    put(2018)
    real_ingest(str(folder))
    first.unlink()
    put(2023)
    done = real_ingest(str(folder), *(["--prune"] if prunes else []))
    others = "lifts-2018" if prunes else "lifts-2016, lifts-2018"
    assert f"the current one (others: {others})." in done.out
    knowledge("sources", "add", str(folder))
    (folder / "lifts-2018.md").unlink()
    put(2024)
    assert "the current one (others: lifts-2023)." in knowledge("sync").out


def test_many_that_are_gone_are_counted_and_the_first_are_named(
    home: Path, real_ingest: Command, knowledge: Command
) -> None:
    folder = home / "many"
    folder.mkdir()
    for number in range(50):
        (folder / f"n{number:02}.md").write_text(f"# Part {number}\n\nPart {number} shall weigh {number} kg.\n")
    real_ingest(str(folder))
    knowledge("sources", "add", str(folder))

    def remove(first: int) -> None:
        for number in range(first, first + 22):
            (folder / f"n{number:02}.md").unlink()

    remove(0)
    done = real_ingest(str(folder), "--prune")
    assert (done.err.count("File is gone: "), "… and 2 more; -v lists them all." in done.err) == (20, True)
    remove(22)
    assert real_ingest(str(folder), "-v").err.count("File is gone: ") == 22
    done = knowledge("sync")
    assert "22 removed." in done.out
    assert (done.out.count("  removed "), "… and 2 more; -v lists them all." in done.out) == (20, True)
