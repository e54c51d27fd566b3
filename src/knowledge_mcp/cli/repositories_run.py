"""An indexing followed on the terminal, and what it came to."""

from __future__ import annotations

import dataclasses
import signal
import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

from knowledge_mcp.cli.failures import ExitCode, harmless, say
from knowledge_mcp.cli.progress import bars
from knowledge_mcp.cli.report import duration
from knowledge_mcp.cli.session import out, shown, write_json

if TYPE_CHECKING:
    from knowledge_mcp.engine.jobs import Line
    from knowledge_mcp.engine.repository_values import IndexResult

__all__ = ["followed", "index_code", "index_result"]

_EVERY = 1.0


@contextmanager
def followed() -> Generator[Line]:
    """Give a line that shows progress on stderr, as a bar on a terminal, and stops on SIGTERM."""
    from knowledge_mcp.engine.jobs import Line

    stopped = threading.Event()

    def stop(_number: int, _frame: FrameType | None) -> None:
        stopped.set()

    main = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGTERM, stop) if main else None
    try:
        if sys.stderr.isatty():
            with _bar() as progress:
                yield Line(progress, stopped.is_set)
        else:
            yield Line(_Lines().tell, stopped.is_set)
    finally:
        if main:
            signal.signal(signal.SIGTERM, before)


class _Lines:
    """Write a line now and then."""

    def __init__(self) -> None:
        self._at = 0.0

    def tell(self, done: float, total: float | None, message: str) -> None:
        """Write one, unless one was just written and this is not the last."""
        if time.monotonic() - self._at < _EVERY and done != total:
            return
        self._at = time.monotonic()
        say(f"{message} ({done:.0f}/{total:.0f})" if total else message)


@contextmanager
def _bar() -> Generator[_Bar]:
    from rich.console import Console

    moving = bars(Console(stderr=True))
    task = moving.add_task("Fetching and scanning", total=None)
    with moving:
        yield _Bar(lambda done, total, text: moving.update(task, completed=done, total=total, description=text))


class _Bar:
    """Move a bar."""

    def __init__(self, move: _Move) -> None:
        self._move = move

    def __call__(self, done: float, total: float | None, message: str) -> None:
        """Move it; a long path is cut at its beginning."""
        text = harmless(message)
        self._move(done, total, text if len(text) <= 60 else f"…{text[-59:]}")


if TYPE_CHECKING:
    from collections.abc import Callable

    _Move = Callable[[float, float | None, str], None]


def index_code(result: IndexResult) -> ExitCode:
    """Choose the exit code of an indexing."""
    return ExitCode.SUCCESS if result.status == "success" else ExitCode.FAILURE


def index_result(result: IndexResult, *, as_json: bool) -> None:
    """Show what an indexing came to."""
    if as_json:
        write_json(dataclasses.asdict(result))
        return
    from rich.table import Table

    table = Table(title=shown(f"{result.repository}: {result.status}"), show_header=False, title_justify="left")
    table.add_column("what")
    table.add_column("count", justify="right")
    rows = [
        ("Commit", result.commit[:12] or "none"),
        ("Found by", result.method.replace("_", " ")),
        ("Files indexed", f"{result.files_processed:,}"),
        ("Files unchanged", f"{result.files_unchanged:,}"),
        ("Files removed", f"{result.files_removed:,}"),
        ("Files left out", f"{result.files_skipped:,}"),
        ("Chunks", f"{result.chunks_created:,}"),
        ("  embedded", f"{result.chunks_embedded:,}"),
        ("  reused", f"{result.chunks_reused:,}"),
        ("Time", duration(result.duration_ms / 1000)),
    ]
    for row in rows:
        table.add_row(*row)
    console = out()
    console.print(table)
    for title, lines in (("Left out:", result.skipped), ("Failed:", result.errors)):
        if lines:
            console.print(title)
            for line in lines[:20]:
                console.print(shown(f"  {line}"), soft_wrap=True)
            if len(lines) > 20:
                console.print(f"  … and {len(lines) - 20} more (--json lists them)")
