"""What other processes do to the embedding cache in its tests; arguments: file, name, count."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

from knowledge_mcp.embedders.cache_file import CacheFile

SPACE = "f" * 64
DIMENSIONS = 256


def key_of(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


def vector_of(text: str) -> bytes:
    """Give bytes of a vector's length that depend on the text."""
    return hashlib.shake_256(text.encode()).digest(4 * DIMENSIONS)


def _main(file: Path, name: str, count: int) -> None:
    cache = CacheFile(file, SPACE, DIMENSIONS, most_bytes=2**30)
    wrong = 0
    for number in range(count):
        texts = [f"{name} {number}", f"shared {number}"]
        cache.put({key_of(text): vector_of(text) for text in texts})
        found = cache.get([key_of(f"shared {each}") for each in range(number + 1)])
        wrong += found != {key_of(f"shared {each}"): vector_of(f"shared {each}") for each in range(number + 1)}
    cache.close()
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    _main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
