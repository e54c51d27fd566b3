"""Which state of a collection a thread sees: everything that an answer reads below its snapshot reads from that."""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager

from knowledge_mcp.model.collection import DocumentRecord, StoreStatistics
from knowledge_mcp.model.errors import NotFoundError
from knowledge_mcp.ports import Collection, Store


class _Held(threading.local):
    """Keep this thread's snapshots by store and name."""

    def __init__(self) -> None:
        self.collections: dict[tuple[int, str], Collection] = {}


_HELD = _Held()


def opened(store: Store, name: str) -> Collection:
    """Give this thread's snapshot of a collection, or a handle on it where there is none."""
    return _HELD.collections.get((id(store), name)) or store.open(name)


def record_of(collection: Collection, document_id: str) -> DocumentRecord | None:
    """Return a document's record, None where there is none."""
    return next(iter(collection.documents([document_id])), None)


def counts_of(collection: Collection) -> StoreStatistics:
    """Count what a collection holds.

    Raises:
        NotFoundError: there is no such collection.
    """
    info = collection.info(counted=True)
    if info is None or info.statistics is None:
        raise NotFoundError("There is no such collection.")
    return info.statistics


@contextmanager
def snapshot(store: Store, name: str) -> Generator[Collection]:
    """Let what this thread reads of a collection by `opened` be of one state until the context ends.

    Raises:
        NotFoundError: there is no such collection; where a server is asked, the first read says so.
    """
    key = (id(store), name)
    held = _HELD.collections.get(key)
    if held is not None:
        yield held
        return
    with store.open(name).snapshot() as collection:
        _HELD.collections[key] = collection
        try:
            yield collection
        finally:
            del _HELD.collections[key]
