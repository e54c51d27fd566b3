"""`pk-mcp` with the faults that `benchmarks.code_faults` asks for: `python -m benchmarks.faulty_repositories …`.

Everything is the product's own, put together by its own wiring, but for three parts: clones may come from this machine
by plain http, embeddings come from a fast stand-in (what is broken is not the model), and the process ends by SIGKILL,
as a power failure would end it, before the so manieth call of what `FAULTY_KILL` names (`scan:3`).
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Mapping, Sequence

from knowledge_mcp import registry
from knowledge_mcp.cli.repositories import main as run
from knowledge_mcp.model.chunk import Vector
from knowledge_mcp.settings import Settings
from knowledge_mcp.sources.git import GitClones
from knowledge_mcp.sources.git_options import from_options
from knowledge_mcp.sources.scan import RepositoryScan
from knowledge_mcp.stores import sqlite_writing
from knowledge_mcp.stores.sqlite import SqliteStore
from knowledge_mcp.testing.hashing_embedder import HashingEmbedder

__all__ = ["KILLABLE", "clones", "embedder"]

KILLABLE: Mapping[str, tuple[object, str]] = {
    "scan": (RepositoryScan, "_file"),
    "embed": (HashingEmbedder, "embed_documents"),
    "store": (SqliteStore, "publish_whole"),
    "write": (sqlite_writing, "write_document"),
    "publish": (SqliteStore, "publish"),
    "swap": (SqliteStore, "rename_collections"),
    "drop": (SqliteStore, "drop_collection"),
}
"""What a process can be killed at: one file looked at, a batch embedded, a batch stored, a file of it, a manifest …"""


def clones(settings: Settings, *, environment: Mapping[str, str] | None = None) -> GitClones:
    """Clone from this machine too."""
    return from_options(settings, environment=environment, loopback_http=True)


def embedder(settings: Settings) -> HashingEmbedder:
    """Embed in microseconds, and remember nothing of 100,000 files."""
    del settings
    return _Forgetful()


class _Forgetful(HashingEmbedder):
    def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        try:
            return super().embed_documents(texts)
        finally:
            self.documents.clear()


def _dying(method: Callable[..., object], count: int) -> Callable[..., object]:
    left = [count]

    def call(*arguments: object, **named: object) -> object:
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return method(*arguments, **named)

    return call


def main() -> None:
    """Run `pk-mcp` with what the environment asks for."""
    place, _, count = os.environ.get("FAULTY_KILL", "").partition(":")
    if place:
        owner, name = KILLABLE[place]
        setattr(owner, name, _dying(getattr(owner, name), int(count)))
    registry.SOURCES["git"] = "benchmarks.faulty_repositories:clones"
    registry.EMBEDDERS["local"] = "benchmarks.faulty_repositories:embedder"
    run()


if __name__ == "__main__":
    main()
