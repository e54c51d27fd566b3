"""One budget for what all stores of a process hold of their collections for searches."""

from __future__ import annotations

import logging
import threading
import weakref
from collections import OrderedDict
from collections.abc import Hashable
from typing import Protocol

from knowledge_mcp.support.events import log_event

DEFAULT_LIMIT = 1024 << 20
"""Bytes, unless the settings say otherwise."""

_logger = logging.getLogger(__name__)


class IndexOwner(Protocol):
    """Hold indexes that can be read again from what is stored."""

    def drop_index(self, key: Hashable) -> None:
        """Let an index go; searches that use it now go on with it."""
        ...


class IndexMemory:
    """Keep the sum of all indexes below a limit: the one that was not used for longest goes first.

    Owners are held weakly; what one that is gone had no longer counts. The index in use just now always stays.

    Args:
        limit: bytes of all indexes together.
    """

    def __init__(self, limit: int = DEFAULT_LIMIT) -> None:
        self.limit = limit
        self._lock = threading.Lock()
        self._sizes: OrderedDict[tuple[weakref.ref[IndexOwner], Hashable], int] = OrderedDict()
        self._sum = 0
        self._told = False

    def used(self, owner: IndexOwner, key: Hashable, size: int) -> None:
        """Note that an index of so many bytes is used now, and let others go where all together are too large.

        No lock is held while an owner drops its index, so it may take its own; the caller must not hold that.
        """
        entry = (weakref.ref(owner), key)
        with self._lock:
            self._sum += size - self._sizes.get(entry, 0)
            self._sizes[entry] = size
            self._sizes.move_to_end(entry)
            if self._sum <= self.limit:
                return
            dropped = self._excess()
            tell = self._sum > self.limit and not self._told
            self._told = self._told or tell
        for held, name in dropped:
            known = held()
            if known is not None:
                known.drop_index(name)
        if tell:
            log_event(_logger, logging.WARNING, "index_memory_exceeded", bytes=size, limit=self.limit)

    def forget(self, owner: IndexOwner, key: Hashable | None = None) -> None:
        """Count an index no longer, all of an owner's where none is named."""
        reference = weakref.ref(owner)
        with self._lock:
            for entry in [each for each in self._sizes if each[0] == reference and key in (None, each[1])]:
                self._sum -= self._sizes.pop(entry)

    def usage(self) -> tuple[int, int]:
        """Return the bytes of all indexes and how many they are."""
        with self._lock:
            self._clean()
            return self._sum, len(self._sizes)

    def _excess(self) -> list[tuple[weakref.ref[IndexOwner], Hashable]]:
        """Take out what is to go; the last one used stays."""
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
