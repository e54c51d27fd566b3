"""What the test of a rolling upgrade runs in processes of its own: one replica of one version on one store.

    python -m tests.stores.versions <file or address> <version>

It searches until its input has a line, says `answers` once it has answered often enough, and `degraded` at the first
answer without its keyword leg; last it says, as JSON, what it did.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable

from knowledge_mcp.lexical import analyser
from knowledge_mcp.model.errors import ConfigError
from knowledge_mcp.stores.postgres import verify as postgres
from knowledge_mcp.stores.sqlite import verify as sqlite
from knowledge_mcp.testing.store_search import put
from knowledge_mcp.testing.store_values import SamplePassage, unit_vector
from tests.stores.processes import opened, say

ANSWERS = 30


def main() -> None:
    """Search until told to stop."""
    address, version = sys.argv[1:]
    analyser._VERSION = version  # pyright: ignore[reportPrivateUsage] - this process is that version
    indexed = 0

    def counted(honest: Callable[..., None]) -> Callable[..., None]:
        def index(*values: object) -> None:
            nonlocal indexed
            indexed += 1
            honest(*values)

        return index

    sqlite.rebuild_index, postgres.rebuild_index = counted(sqlite.rebuild_index), counted(postgres.rebuild_index)
    store = opened(address)
    stop = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.readline(), stop.set()), daemon=True).start()
    searches = whole = degraded = written = refused = 0
    slowest = 0.0
    while not stop.is_set():
        began = time.perf_counter()
        legs = store.open("c").search(vector=unit_vector("1"), text="verified", filter=None, limit=50)
        slowest = max(slowest, time.perf_counter() - began)
        searches += 1
        assert legs.dense, legs.dense_error
        if legs.lexical is not None:
            assert len(legs.lexical) >= 20, f"{len(legs.lexical)} of 20 passages were found"
            whole += 1
        else:
            assert "newer version" in legs.lexical_error
            degraded += 1
            if degraded == 1:
                say("degraded")
        if searches % 10 == 0:
            try:
                put(store, f"own-{os.getpid()}", [SamplePassage("verified once more", id=f"own {os.getpid()}")])
                written += 1
            except ConfigError:
                refused += 1
        if searches == ANSWERS:
            say("answers")
    health = store.open("c").info()
    store.close()
    result = {"searches": searches, "whole": whole, "degraded": degraded, "written": written, "refused": refused}
    result["slowest_ms"] = round(1000 * slowest)
    say(json.dumps({**result, "indexed": indexed, "info": health.degraded if health else ""}))


if __name__ == "__main__":
    main()
