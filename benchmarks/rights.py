"""Random worlds of groups, documents and calls: does any answer reveal a document that its reader may not see?

`python -m benchmarks.rights [WORLDS] [CALLS]` (10,000 worlds of 4 calls by 4 readers) compares every answer with that
of a world in which the hidden documents were never stored, and ends with 1 at the first that differs.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.stores.memory import MemoryStore
from tests.signon.worlds import leaks


def main(worlds: int = 10_000, calls: int = 4) -> int:
    """Compare, and say how many answers there were; returns the exit code."""
    started = time.perf_counter()
    compared = 0
    for number in range(worlds):
        with tempfile.TemporaryDirectory() as folder:
            try:
                compared += leaks(f"benchmark {number}", Path(folder), lambda _: MemoryStore(EnglishAnalyser()), calls)
            except AssertionError as exc:
                print(f"world {number} leaks: {exc}")
                return 1
    print(f"{worlds} worlds, {compared} answers, none differs; {time.perf_counter() - started:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
