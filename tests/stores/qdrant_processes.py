"""What the Qdrant concurrency test runs in a process of its own: a writer that shares its documents with the test.

    python -m tests.stores.qdrant_processes <url>

It says `ready`, writes until its input has a line, and says last how often it published.
"""

from __future__ import annotations

import random
import sys
import threading

from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.model.errors import InternalError
from knowledge_mcp.stores.qdrant.connection import QdrantConfig
from knowledge_mcp.stores.qdrant.store import QdrantStore
from knowledge_mcp.testing.store_search import put
from knowledge_mcp.testing.store_values import SPACE
from tests.stores.processes import generation, say


def write_once(store: QdrantStore, dice: random.Random, turn: int) -> bool:
    """Publish one generation of one of two documents; tell whether no other writer was faster."""
    document_id = f"d{dice.randrange(2)}"
    try:
        put(store, document_id, generation(document_id, turn), text=f"text of {turn}", sha256=str(turn))
    except InternalError:
        return False
    return True


def main() -> None:
    """Write until told to stop."""
    store = QdrantStore(QdrantConfig(sys.argv[1], grpc="off"), EnglishAnalyser())
    store.create_collection("c", SPACE)
    stop = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.readline(), stop.set()), daemon=True).start()
    say("ready")
    dice = random.Random(1)
    turn = written = 0
    while not stop.is_set():
        turn += 1
        written += write_once(store, dice, turn)
    store.close()
    say(str(written))


if __name__ == "__main__":
    main()
