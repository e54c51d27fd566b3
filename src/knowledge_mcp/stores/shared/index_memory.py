"""One memory budget for the search indexes that all stores of a process hold."""

from __future__ import annotations

import logging
import threading
import weakref
from collections import OrderedDict
from collections.abc import Hashable
from typing import Protocol

from knowledge_mcp.support.events import log_event

DEFAULT_LIMIT = 1024 << 20
"""Default limit in bytes."""

_logger = logging.getLogger(__name__)


class IndexOwner(Protocol):
    """An object that holds indexes which can be rebuilt from stored data."""

    def drop_index(self, key: Hashable) -> None:
        """Release an index. Searches that are using it keep their own reference."""
        ...


class IndexMemory:
    """Keep the total size of all indexes below a limit by evicting the least recently used.

    Owners are referenced weakly; the indexes of an owner that no longer exists are not counted. The index in use is
    never evicted.

    Args:
        limit: bytes for all indexes together.
    """

    def __init__(self, limit: int = DEFAULT_LIMIT) -> None:
        self.limit = limit
        self._lock = threading.Lock()
        self._sizes: OrderedDict[tuple[weakref.ref[IndexOwner], Hashable], int] = OrderedDict()
        self._sum = 0
        self._warned = False

    def used(self, owner: IndexOwner, key: Hashable, size: int) -> None:
        """Record that an index of `size` bytes is in use, and evict others if the total exceeds the limit.

        No lock is held while an owner drops its index, so `drop_index` may take the owner's lock; the caller must not
        hold that lock.
        """
        entry = (weakref.ref(owner), key)
        with self._lock:
            self._sum += size - self._sizes.get(entry, 0)
            self._sizes[entry] = size
            self._sizes.move_to_end(entry)
            if self._sum <= self.limit:
                return
            dropped = self._excess()
            warn = self._sum > self.limit and not self._warned
            self._warned = self._warned or warn
        for reference, name in dropped:
            alive = reference()
            if alive is not None:
                alive.drop_index(name)
        if warn:
            log_event(_logger, logging.WARNING, "index_memory_exceeded", bytes=size, limit=self.limit)

    def forget(self, owner: IndexOwner, key: Hashable | None = None) -> None:
        """Stop counting an index, or all indexes of an owner if no key is given."""
        reference = weakref.ref(owner)
        with self._lock:
            for entry in [each for each in self._sizes if each[0] == reference and key in (None, each[1])]:
                self._sum -= self._sizes.pop(entry)

    def usage(self) -> tuple[int, int]:
        """Return the total bytes of all indexes, and their number."""
        with self._lock:
            self._clean()
            return self._sum, len(self._sizes)

    def _excess(self) -> list[tuple[weakref.ref[IndexOwner], Hashable]]:
        """Remove and return the entries to evict; the most recently used one stays."""
        self._clean()
        dropped: list[tuple[weakref.ref[IndexOwner], Hashable]] = []
        while self._sum > self.limit and len(self._sizes) > 1:
            entry, size = self._sizes.popitem(last=False)
            self._sum -= size
            dropped.append(entry)
        return dropped

    def _clean(self) -> None:
        for entry in [each for each in self._sizes if each[0]() is None]:
            self._sum -= self._sizes.pop(entry)
