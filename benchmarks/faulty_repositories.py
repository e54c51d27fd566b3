"""`pk-mcp` with the faults that `benchmarks.code_faults` asks for: `python -m benchmarks.faulty_repositories …`.

Everything is the product's own, put together by its own wiring, but for three parts: clones may come from this machine
by plain http, embeddings come from a fast stand-in (what is broken is not the model), and the process ends by SIGKILL,
as a power failure would end it, before the so manieth call of what `FAULTY_KILL` names (`scan:3`).
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from benchmarks.killing import kill_at
from knowledge_mcp import registry
from knowledge_mcp.cli.repositories.repositories import main as run
from knowledge_mcp.model.chunk import Vector
from knowledge_mcp.settings import Settings
from knowledge_mcp.sources.git import source
from knowledge_mcp.sources.git.source import GitClones, from_options
from knowledge_mcp.testing.embedders import HashingEmbedder


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


def main() -> None:
    """Run `pk-mcp` with what the environment asks for."""
    kill_at(os.environ.get("FAULTY_KILL", ""))
    source.from_options = clones
    registry.EMBEDDERS["local"] = "benchmarks.faulty_repositories:embedder"
    run()


if __name__ == "__main__":
    main()
