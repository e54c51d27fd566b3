"""The bars of an ingest say what is done, and a dry run's move as its files are read."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from knowledge_mcp.cli.shared.progress import BarProgress, WorkBar
from knowledge_mcp.model.ingest import IngestEvent, IngestEventKind
from tests.cli.conftest import Command


@pytest.mark.parametrize(
    ("dry_run", "last", "said"),
    [
        (True, IngestEventKind.CHUNKED, "Reading files, storing nothing"),
        (False, IngestEventKind.STORED, "Ingesting files"),
    ],
)
def test_the_files_bar_says_what_is_done_and_moves(dry_run: bool, last: IngestEventKind, said: str) -> None:
    terminal = Console(file=io.StringIO(), force_terminal=True, width=120)
    bars = BarProgress(terminal, dry_run=dry_run)
    files = ("a.pdf", "b.pdf")
    for name in files:
        bars.show(IngestEvent(IngestEventKind.FOUND, name))
        bars.show(IngestEvent(IngestEventKind.CHECKED, name))
    for number, name in enumerate(files, 1):
        bars.show(IngestEvent(IngestEventKind.READING, name))
        bars.show(IngestEvent(last, name))
        (task, _) = vars(bars)["_bars"].tasks
        assert (task.description, task.completed, task.total) == (said, number, len(files))
    bars.pause()


@pytest.mark.usefixtures("linker")
@pytest.mark.parametrize(
    ("command", "said"), [("trace", "Tracing 1 item to 1 item …"), ("compare", "Comparing one.md with two.md …")]
)
def test_what_may_take_long_shows_that_it_runs(
    knowledge: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, said: str
) -> None:
    shown: list[str] = []

    def show(_: WorkBar, text: str) -> None:
        shown.append(text)

    monkeypatch.setattr(WorkBar, "show", show)
    for name in ("one.md", "two.md"):
        (tmp_path / name).write_text("# Pumps\n\nThe pump shall stop.\n")
    assert knowledge(command, str(tmp_path / "one.md"), str(tmp_path / "two.md")).code == 0
    assert shown == [said]
