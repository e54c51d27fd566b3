"""Random worlds of groups, documents and calls: does any answer reveal what its reader may not see?

`python -m benchmarks.rights [WORLDS] [CALLS]` (10,000 worlds of 4 calls by 4 readers) compares every answer of a
knowledge base with that of a world in which the hidden documents were never stored; `--library` does the same with
worlds of collections, documents and jobs, over REST and the tools of `rag`. It ends with 1 at the first that differs;
the same worlds are drawn each time, and `--first` goes on with the one of that number.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from hypothesis import settings

from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.stores.memory import MemoryStore
from tests.rest.test_rights_worlds import DRAWING, WORLDS, compare_worlds
from tests.signon.worlds import leaks


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare, and say how many answers there were; returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("worlds", nargs="?", type=int, default=10_000)
    parser.add_argument("calls", nargs="?", type=int, default=4)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--library", action="store_true")
    asked = parser.parse_args(arguments)
    started = time.perf_counter()
    try:
        result = _library(asked.worlds) if asked.library else _knowledge(asked.first, asked.worlds, asked.calls)
    except AssertionError as exc:
        print(f"a world leaks: {exc}")
        return 1
    print(f"{asked.worlds} worlds, {result}none differs; {time.perf_counter() - started:.0f} s")
    return 0


def _knowledge(first: int, worlds: int, calls: int) -> str:
    compared = 0
    for number in range(first, first + worlds):
        with tempfile.TemporaryDirectory() as folder:
            compared += leaks(f"benchmark {number}", Path(folder), lambda _: MemoryStore(EnglishAnalyser()), calls)
        if number % 100 == 99:
            print(f"worlds {first} to {number}, {compared} answers, none differs", file=sys.stderr, flush=True)
    return f"{compared} answers, "


def _library(worlds: int) -> str:
    settings(DRAWING, max_examples=worlds)(WORLDS(compare_worlds))()
    return "6 to 14 answers each, "


if __name__ == "__main__":
    sys.exit(main())
