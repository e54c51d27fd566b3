"""Progress of the commands on stderr: bars on a terminal, otherwise plain lines."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import TYPE_CHECKING, Literal, Self
from urllib.parse import unquote

from knowledge_mcp.cli.shared.failures import notify, one_line, sanitize
from knowledge_mcp.model.ingest import IngestEvent, IngestEventKind
from knowledge_mcp.support.wording import how_many

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as Bars

Unit = Literal["count", "percent", "bytes"]
"""Figures shown next to a bar: count of total, share, or bytes."""


class WorkBar:
    """Show progress on a terminal as one bar that is removed at the end; without a terminal, show nothing.

    Args:
        unit: the figures shown next to the bar.
        shown: False to show nothing on a terminal too.
    """

    def __init__(self, unit: Unit = "count", *, shown: bool = True) -> None:
        self._unit: Unit = unit
        self.is_shown = shown and sys.stderr.isatty()
        self._bars: Bars | None = None
        self._begun: set[str] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def show(self, text: str, done: float | None = None, total: float | None = None) -> None:
        """Update the bar, if there is one; None leaves it unchanged, and a total of 0 is unknown."""
        if not self.is_shown:
            return
        if self._bars is None:
            from rich.console import Console

            self._bars = bars(Console(stderr=True), self._unit)
            self._bars.add_task("", total=None)
            self._bars.start()
        task = self._bars.task_ids[0]
        self._bars.update(task, description=sanitize(text), completed=done, total=total or None)

    def step(self, text: str, done: float | None = None, total: float | None = None) -> None:
        """Update the bar; if there is none, write a line when a step begins."""
        self.show(text, done, total)
        if not self.is_shown and text not in self._begun:
            notify(f"{text}...")
            self._begun.add(text)

    def write(self, line: str) -> None:
        """Write a line above the bar, or directly if there is none."""
        if self._bars is None:
            notify(line)
        else:
            self._bars.console.print(sanitize(line), markup=False)

    def close(self) -> None:
        """Remove the bar from the terminal; idempotent."""
        if self._bars is not None:
            self._bars.stop()
            self._bars = None


@dataclass(slots=True)
class IngestTally:
    """Collect from the events what a run has done, for a run that ends before its report.

    Attributes:
        found: files seen. unchanged, stored: sources finished.
        failed_at: per source that failed on the way: chunks stored before, chunks in all.
    """

    found: int = 0
    checked: int = 0
    unchanged: list[str] = field(default_factory=list[str])
    stored: list[str] = field(default_factory=list[str])
    failed_at: dict[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])
    failures: dict[str, str] = field(default_factory=dict[str, str])

    def note(self, event: IngestEvent) -> None:
        """Count one event."""
        match event.kind:
            case IngestEventKind.FOUND:
                self.found += 1
            case IngestEventKind.CHECKED:
                self.checked += 1
            case IngestEventKind.UNCHANGED:
                self.unchanged.append(event.source)
            case IngestEventKind.STORED:
                self.stored.append(event.source)
            case IngestEventKind.FAILED:
                self.failed_at[event.source] = (event.done, event.total)
                self.failures[event.source] = event.message
            case _:
                pass


def _file_name(source: str) -> str:
    """Return the last part of a path, or of an address without escapes, for display."""
    name = PurePath(source).name
    return one_line(unquote(name) if "://" in source else name)


class LineProgress:
    """Write a line for each step; with `verbose` also for each checked file and every few pages read."""

    def __init__(self, *, verbose: bool) -> None:
        self._verbose = verbose

    def show(self, event: IngestEvent) -> None:
        """Write the line of an event, if it has one."""
        name = _file_name(event.source)
        line = ""
        match event.kind:
            case IngestEventKind.EMBEDDED:
                line = f"Processing chunk {event.done}/{event.total}... ({name})"
            case IngestEventKind.READING if not event.total:
                line = f"Reading {name}..."
            case IngestEventKind.STORED:
                line = f"Stored {name}: {how_many(event.total, 'chunk')}"
            case IngestEventKind.READING if self._verbose and event.done:
                line = f"Reading {name}: page {event.done}/{event.total}"
            case IngestEventKind.CHUNKED if self._verbose:
                line = f"Split {name} into {how_many(event.total, 'chunk')}"
            case IngestEventKind.CHECKED if self._verbose:
                line = f"Checked {name}" + (f": {how_many(event.total, 'page')}" if event.total else "")
            case IngestEventKind.UNCHANGED if self._verbose:
                line = f"Unchanged {name}"
            case _:
                pass
        if line:
            notify(line)

    def pause(self) -> None:
        """Do nothing: lines do not block the terminal."""


def bars(console: Console, unit: Unit = "count") -> Bars:
    """Create the bars of all commands: text, bar, amount in a unit, time; removed at the end."""
    from rich import progress

    amounts: dict[Unit, progress.ProgressColumn] = {
        "count": progress.MofNCompleteColumn(),
        "percent": progress.TextColumn("{task.percentage:>3.0f} %"),
        "bytes": progress.DownloadColumn(),
    }
    return progress.Progress(
        progress.SpinnerColumn(),
        progress.TextColumn("{task.description}", markup=False),
        progress.BarColumn(bar_width=24),
        amounts[unit],
        progress.TimeElapsedColumn(),
        console=console,
        transient=True,
    )


class BarProgress:
    """Show one bar for the files and one for the current file's pages or chunks.

    Args:
        console: where they are drawn.
        dry_run: files are only read and split; nothing is stored.
    """

    def __init__(self, console: Console, *, dry_run: bool = False) -> None:
        self._bars = bars(console)
        self._dry_run = dry_run
        self._files = self._bars.add_task("Checking files", total=None)
        self._step = self._bars.add_task("", total=None, visible=False)
        self._to_do = 0
        self._working = False
        self._running = False

    def show(self, event: IngestEvent) -> None:
        """Update the bars."""
        if not self._running:
            self._bars.start()
            self._running = True
        match event.kind:
            case IngestEventKind.FOUND:
                self._bars.update(self._files, advance=1)
            case IngestEventKind.CHECKED:
                self._to_do += 1
            case IngestEventKind.READING:
                self._work()
                self._step_to(f"Reading {_file_name(event.source)}", event)
            case IngestEventKind.CHUNKED if self._dry_run:
                self._work()
                self._bars.update(self._files, advance=1)
            case IngestEventKind.CHUNKED | IngestEventKind.EMBEDDED:
                self._work()
                self._step_to(f"Processing chunk {event.done}/{event.total}...", event)
            case IngestEventKind.STORED | IngestEventKind.FAILED:
                self._bars.update(self._files, advance=1)
            case _:
                pass

    def _work(self) -> None:
        """Switch the first bar from the checked files to those that will be ingested."""
        if not self._working:
            self._working = True
            doing = "Reading files, storing nothing" if self._dry_run else "Ingesting files"
            self._bars.update(self._files, description=doing, completed=0, total=self._to_do or None)

    def _step_to(self, description: str, event: IngestEvent) -> None:
        self._bars.update(
            self._step, description=description, completed=event.done, total=event.total or None, visible=True
        )

    def pause(self) -> None:
        """Remove the bars from the terminal until the next event."""
        if self._running:
            self._bars.stop()
            self._running = False


ProgressBars = LineProgress | BarProgress
"""Shows events; `pause` frees the terminal: at the end, or for a question until the next event."""


def ingest_progress(*, verbose: bool, dry_run: bool = False, may_draw: bool = True) -> ProgressBars:
    """Choose bars on a terminal; lines without one, with `verbose`, or where another may be drawing bars."""
    if verbose or not may_draw or not sys.stderr.isatty():
        return LineProgress(verbose=verbose)
    from rich.console import Console

    return BarProgress(Console(stderr=True), dry_run=dry_run)
