"""How moving a collection shows that it moves: a bar on a terminal, plain lines elsewhere; all on stderr."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Protocol

from knowledge_mcp.cli.failures import harmless, say
from knowledge_mcp.cli.progress import bars
from knowledge_mcp.engine.carry import MoveEvent, MoveEventKind

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["MoveBar", "MoveLines", "MoveProgress", "move_progress"]

_COUNTED = {
    MoveEventKind.STORED: "Stored",
    MoveEventKind.FAILED: "Failed",
    MoveEventKind.REMOVED: "Removed",
    MoveEventKind.PRESENT: "Already there:",
    MoveEventKind.COMPARED: "Compared",
}


class MoveProgress(Protocol):
    """Show events as they come."""

    def show(self, event: MoveEvent) -> None:
        """Show one event."""
        ...

    def close(self) -> None:
        """Leave the terminal."""
        ...


class MoveLines:
    """Write a line for each document that is stored, removed or failed; with `verbose` for every step."""

    def __init__(self, *, verbose: bool) -> None:
        self._verbose = verbose

    def show(self, event: MoveEvent) -> None:
        """Write the event's line, where it has one."""
        quiet = event.kind in {MoveEventKind.PRESENT, MoveEventKind.COMPARED}
        if event.kind in _COUNTED and (self._verbose or not quiet):
            place = f" ({event.done}/{event.total})" if event.done else ""
            why = f": {event.message}" if event.message else ""
            say(f"{_COUNTED[event.kind]} {event.document_id}{place}{why}")
        elif event.kind == MoveEventKind.STAGED and self._verbose:
            say(f"Chunk {event.done}/{event.total} of {event.document_id}")
        elif event.kind == MoveEventKind.SWAPPED:
            say(f"The new collection is now '{event.collection}'; the old one is '{event.message}'.")

    def close(self) -> None:
        """Nothing is in the way."""


class MoveBar:
    """Show one bar for the documents, with the current one's name and chunks."""

    def __init__(self, console: Console) -> None:
        self._bars = bars(console)
        self._bar = self._bars.add_task("", total=None)
        self._running = False

    def show(self, event: MoveEvent) -> None:
        """Move the bar."""
        if not self._running:
            self._bars.start()
            self._running = True
        if event.kind == MoveEventKind.STAGED:
            text = f"{event.collection}: {event.document_id}, chunk {event.done}/{event.total}"
            self._bars.update(self._bar, description=harmless(text))
        elif event.kind == MoveEventKind.COMPARED:
            self._bars.update(
                self._bar, description=f"Comparing {harmless(event.collection)}", completed=event.done,
                total=event.total,
            )  # fmt: skip
        elif event.kind in {MoveEventKind.STORED, MoveEventKind.FAILED, MoveEventKind.PLANNED}:
            text = f"Copying {event.collection}"
            self._bars.update(self._bar, description=harmless(text), completed=event.done, total=event.total or None)

    def close(self) -> None:
        """Take the bar off the terminal."""
        if self._running:
            self._bars.stop()
            self._running = False


def move_progress(*, verbose: bool) -> MoveProgress:
    """Choose a bar on a terminal, lines elsewhere."""
    if sys.stderr.isatty() and not verbose:
        from rich.console import Console

        return MoveBar(Console(stderr=True))
    return MoveLines(verbose=verbose)
