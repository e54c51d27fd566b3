"""What the crash and concurrency tests run in processes of their own: writers and readers of one store.

    python -m tests.stores.processes write|read <file or address> <seed> [<seconds>]

Every generation of a document carries its turn in each chunk, in its text and in its record's hash: any mix shows.
A writer says `<document> <turn>` after each publish; a reader says how often it looked, or fails.
"""

from __future__ import annotations

import itertools
import random
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.ports import Collection, Store
from knowledge_mcp.stores.sqlite.store import SqliteStore
from knowledge_mcp.testing.store_search import put
from knowledge_mcp.testing.store_values import SPACE, SamplePassage, unit_vector

DOCUMENTS = 4
CHUNKS = 25


def say(line: str) -> None:
    """Tell the test at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def generation(document_id: str, turn: int) -> list[SamplePassage]:
    """Make the passages of one turn; their number changes with it."""
    return [
        SamplePassage(
            f"alpha words of turn{turn} place {place}", id=f"{document_id}/{turn}/{place}", direction=f"{place}"
        )
        for place in range(1 + turn % CHUNKS)
    ]


def write(store: Store, seed: int, seconds: float) -> None:
    """Publish one generation after the other, two at least."""
    dice = random.Random(seed)
    deadline = time.monotonic() + seconds
    first = seed * 100_000 + 1
    for turn in itertools.count(first):
        if turn > first + 1 and time.monotonic() >= deadline:
            return
        document_id = f"d{dice.randrange(DOCUMENTS)}-{seed}"
        put(store, document_id, generation(document_id, turn), text=f"text of {turn}", sha256=str(turn))
        say(f"{document_id} {turn}")


def ended(
    writers: Sequence[subprocess.Popen[str]], readers: Sequence[subprocess.Popen[str]], seconds: float = 120
) -> tuple[int, list[int]]:
    """Wait for processes, fail where one of them did; return how much was written, and how often each reader looked."""
    said: list[list[str]] = []
    for process in [*writers, *readers]:
        heard, complaints = process.communicate(timeout=seconds)
        assert complaints == ""
        assert process.returncode == 0
        said.append(heard.splitlines())
    return sum(len(lines) - 1 for lines in said[: len(writers)]), [int(lines[-1]) for lines in said[len(writers) :]]


def check(store: Store) -> None:
    """Look once as it comes and once in a snapshot, in every way, and fail on any mix of generations."""
    _look(store.open("c"))
    with store.open("c").snapshot() as held:
        _look(held)
        _look(held)


def _look(handle: Collection) -> None:
    legs = handle.search(vector=unit_vector("3"), text="alpha", filter=None, limit=10_000)
    for leg in (legs.dense, legs.lexical):
        assert leg is not None, (legs.dense_error, legs.lexical_error)
        turns: dict[str, dict[str, int]] = {}
        for hit in leg:
            document_id, turn, _ = hit.chunk_id.split("/")
            seen = turns.setdefault(document_id, {})
            seen[turn] = seen.get(turn, 0) + 1
        for document_id, seen in turns.items():
            assert len(seen) == 1, f"{document_id} is seen in turns {seen}"
            (turn, count), *_ = seen.items()
            assert count == 1 + int(turn) % CHUNKS, f"{document_id} is seen with {count} chunks in turn {turn}"
    for kept in handle.documents():
        chunks = handle.chunks("document", [kept.id])
        assert len({each.id.split("/")[1] for each in chunks}) == 1


def read(store: Store, seconds: float) -> None:
    """Look again and again."""
    deadline = time.monotonic() + seconds
    looks = 0
    while time.monotonic() < deadline:
        check(store)
        looks += 1
    say(str(looks))


def opened(address: str) -> Store:
    """Open the store of a file or of a PostgreSQL database."""
    if address.startswith("postgresql:"):
        from knowledge_mcp.stores.postgres.store import PostgresStore

        return PostgresStore(address, EnglishAnalyser())
    return SqliteStore(Path(address), EnglishAnalyser())


def main() -> None:
    """Play the part that the arguments name."""
    part, address, seed, *rest = sys.argv[1:]
    seconds = float(rest[0]) if rest else 60.0
    store = opened(address)
    store.create_collection("c", SPACE)
    say("ready")
    if part == "write":
        write(store, int(seed), seconds)
    else:
        read(store, seconds)
    store.close()


if __name__ == "__main__":
    main()
