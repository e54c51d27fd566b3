"""Kill this process by SIGKILL, as a power failure would end it, before the so manieth call of what is named."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Mapping

from knowledge_mcp.sources.scan.files import RepositoryScan
from knowledge_mcp.stores.sqlite import writing
from knowledge_mcp.stores.sqlite.store import SqliteHandle, SqliteStore
from knowledge_mcp.testing.embedders import HashingEmbedder

_KILLABLE: Mapping[str, tuple[object, str]] = {
    "scan": (RepositoryScan, "_file"),
    "embed": (HashingEmbedder, "embed_documents"),
    "store": (SqliteHandle, "publish"),
    "write": (writing, "write_block"),
    "delete": (SqliteHandle, "delete"),
    "swap": (SqliteStore, "rename_collections"),
    "drop": (SqliteStore, "drop_collection"),
}
"""One file looked at, a batch embedded, a batch or a manifest stored, a file of it …"""


def kill_at(point: str) -> None:
    """Have this process killed at a point (`scan:3` is the third file looked at); at none where it is empty."""
    place, _, count = point.partition(":")
    if place:
        owner, name = _KILLABLE[place]
        setattr(owner, name, _dying(getattr(owner, name), int(count)))


def _dying(method: Callable[..., object], count: int) -> Callable[..., object]:
    left = [count]

    def call(*arguments: object, **named: object) -> object:
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return method(*arguments, **named)

    return call
