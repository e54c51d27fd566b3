"""`knowledge sync --watch`: folders are followed by what the system tells of them, everything else by its interval."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from knowledge_mcp.cli.shared.failures import say
from knowledge_mcp.model.syncing import SourceKind, SourceStatus

if TYPE_CHECKING:
    from knowledge_mcp.cli.knowledge.sources.running import Synced, Syncing
    from knowledge_mcp.settings import Settings

__all__ = ["follow"]

_LONGEST = 60.0
"""Seconds after which the list is read again: sources are added and removed by other processes."""
_AGAIN = 60.0
"""Seconds, at least, between two tries of a source that fails."""


def follow(run: Syncing, settings: Settings, names: Sequence[str], tell: Callable[[Synced], None]) -> None:
    """Sync all, then each as it changes or is due, until the process is ended.

    Args:
        run: syncs one source.
        settings: what was read; the data folder lies in no source.
        names: which sources; none for all, those that are registered later too.
        tell: told how each went.
    """
    for name in [each.spec.name for each in _listed(run, names)]:
        tell(run.run(name))
    say("Following the sources; Ctrl-C ends it.")
    while True:
        listed = _listed(run, names)
        due = [each for each in listed if _seconds_left(each) <= 0]
        for each in due:
            tell(run.run(each.spec.name))
        if due:
            continue
        pause = min([_LONGEST, *(_seconds_left(each) for each in listed)])
        folders = [Path(each.spec.location) for each in listed if each.spec.kind is SourceKind.FOLDER]
        for place in _changed(folders, settings.data_folder.absolute(), pause):
            for each in listed:
                if each.spec.kind is SourceKind.FOLDER and place == Path(each.spec.location):
                    tell(run.run(each.spec.name))


def _listed(run: Syncing, names: Sequence[str]) -> list[SourceStatus]:
    return [each for each in run.listed.all() if not names or each.spec.name in names]


def _seconds_left(status: SourceStatus) -> float:
    """Tell when a source is due: after its interval, and after a failure sooner."""
    tried = status.state.last_tried
    if not tried:
        return 0.0
    passed = (datetime.now(UTC) - datetime.fromisoformat(tried)).total_seconds()
    return (min(status.spec.every, _AGAIN) if status.state.last_error else status.spec.every) - passed


def _changed(folders: Sequence[Path], data: Path, seconds: float) -> Iterator[Path]:
    """Yield the folders below which something changes, for so long; what the program itself writes does not count."""
    import watchfiles

    there = [each for each in folders if each.is_dir()]
    if not there:
        threading.Event().wait(seconds)
        return
    milliseconds = max(1, int(seconds * 1000))
    for changes in watchfiles.watch(*there, rust_timeout=milliseconds, yield_on_timeout=True):
        if not changes:
            return
        places = [Path(path) for _, path in changes]
        outside = [place for place in places if not place.is_relative_to(data)]
        yield from (each for each in there if any(place.is_relative_to(each) for place in outside))
