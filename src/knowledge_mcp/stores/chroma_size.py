"""How many bytes a ChromaDB store takes."""

from __future__ import annotations

import contextlib
import math
import os
import time
from collections.abc import Iterator
from pathlib import Path

from knowledge_mcp.stores.chroma_client import Connection

__all__ = ["StorageSize"]

_KNOWN_SECONDS = 5.0


class StorageSize:
    """Count the bytes of a store, which every search would otherwise do: they are known for some seconds."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._known = (-math.inf, 0)

    def bytes(self, chunks: int, dimensions: int) -> int:
        """Return the bytes of the whole folder; a server does not tell its own, which are estimated."""
        if not self._connection.embedded:
            return chunks * (12 * dimensions + 6_000) + 1
        counted, known = self._known
        if time.monotonic() - counted > _KNOWN_SECONDS:
            known = sum(_sizes(self._connection.address.path))
            self._known = (time.monotonic(), known)
        return known


def _sizes(folder: Path | None) -> Iterator[int]:
    for place, _, files in os.walk(folder or ""):
        for file in files:
            with contextlib.suppress(OSError):
                yield (Path(place) / file).stat().st_size
