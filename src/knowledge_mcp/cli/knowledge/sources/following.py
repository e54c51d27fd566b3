"""`knowledge sync --watch`: folders are followed by what the system tells of them, everything else by its interval."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from knowledge_mcp.model.syncing import SourceKind, SourceStatus

if TYPE_CHECKING:
    from knowledge_mcp.cli.knowledge.sources.running import Synced, Syncing
    from knowledge_mcp.settings import Settings

_LOOK = 1.0
"""Seconds between two looks at the list, and at what is due: sources are added and removed by other processes."""
_AGAIN = 60.0
"""Seconds, at least, between two tries of a source that fails."""


def follow(run: Syncing, settings: Settings, names: Sequence[str], tell: Callable[[Synced], None]) -> None:
    """Sync all, then each as it changes or is due, until the process is ended.

    Args:
        run: syncs one source.
        settings: what was read; what is written in the data folder is no change.
        names: which sources; none for all, those that are registered later too.
        tell: told how each went.
    """
    watch = _Watch(settings.data_folder.absolute())
    known: set[str] = set()
    while True:
        listed = [each for each in run.listed.all() if not names or each.spec.name in names]
        changed = watch.changed({Path(each.spec.location) for each in listed if each.spec.kind is SourceKind.FOLDER})
        for each in listed:
            is_new = each.spec.name not in known
            if is_new or _is_due(each) or Path(each.spec.location) in changed:
                known.add(each.spec.name)
                tell(run.run(each.spec.name))


def _is_due(status: SourceStatus) -> bool:
    """Tell whether a source's interval is over; after a failure it is tried again sooner."""
    tried = status.state.last_tried
    if not tried:
        return True
    passed = (datetime.now(UTC) - datetime.fromisoformat(tried)).total_seconds()
    return passed >= (min(status.spec.every, _AGAIN) if status.state.last_error else status.spec.every)


class _Watch:
    """Tell below which folders something changed since it was asked last; nothing is missed between two questions.

    Args:
        data: what the program itself writes there does not count.
    """

    def __init__(self, data: Path) -> None:
        self._data = data
        self._folders: set[Path] = set()
        self._told: Iterator[set[tuple[Any, str]]] | None = None

    def changed(self, folders: set[Path]) -> set[Path]:
        """Wait for a change, a second at the most; folders that were not watched before count as changed."""
        import watchfiles

        there = {each for each in folders if each.is_dir()}
        if there != self._folders or (there and self._told is None):
            self._folders = there
            self._told = watchfiles.watch(*there, rust_timeout=int(_LOOK * 1000), yield_on_timeout=True)
            if there:
                next(self._told)  # the watch begins here, before anybody looks at the files
            return there
        if self._told is None or not there:
            threading.Event().wait(_LOOK)
            return set()
        places = [Path(path) for _, path in next(self._told)]
        outside = [place for place in places if not place.is_relative_to(self._data)]
        return {each for each in there if any(place.is_relative_to(each) for place in outside)}
