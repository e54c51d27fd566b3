"""What the reads of one thread go by while it holds a snapshot (`Store.snapshot`)."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Generator
from typing import Generic, TypeVar

__all__ = ["Held"]

T = TypeVar("T")


class Held(threading.local, Generic[T]):
    """Keep one value for each collection that this thread holds a snapshot of."""

    def __init__(self) -> None:
        self._values: dict[str, T] = {}

    def get(self, collection: str) -> T | None:
        """Return what is held of a collection, None outside of a snapshot of it."""
        return self._values.get(collection)

    def drop(self, collection: str) -> None:
        """Forget a collection before its snapshot ends, since it has gone; reads look it up again."""
        self._values.pop(collection, None)

    @contextlib.contextmanager
    def holding(self, collection: str, value: T) -> Generator[None]:
        """Hold a value until the context ends, and what was held before then."""
        before = self._values.get(collection)
        self._values[collection] = value
        try:
            yield
        finally:
            if before is None:
                self._values.pop(collection, None)
            else:
                self._values[collection] = before
