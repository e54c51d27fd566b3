"""A fake Knowledge that fails on request: the query's text says how."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

from knowledge_mcp.model.chunk import ChunkType
from knowledge_mcp.model.errors import ConnectionFailedError
from knowledge_mcp.model.query import SearchAnswer, SearchQuery
from tests.fakes.knowledge import FakeKnowledge
from tests.fakes.passages import SAMPLE, FakeDocument, FakePassage

SECRET = "token=abc123"


def long_document(passages: int, characters: int) -> FakeDocument:
    """Describe a document of many passages, each of so many characters and all of them about cranes."""
    text = ("crane " * (characters // 6 + 1))[:characters]
    made = tuple(
        FakePassage(f"7.{number}", f"Crane {number}", f"{number} {text}", ChunkType.GUIDANCE)
        for number in range(passages)
    )
    return FakeDocument("crane-guide", "Guide to Cranes", made, "guide")


class TroubledKnowledge(FakeKnowledge):
    """Search for `crash`, `offline` or `slow` and it crashes, is offline, or waits for `release`.

    A search for `until PATH` waits until there is something at the path.
    """

    def __init__(self, documents: Sequence[FakeDocument] = SAMPLE) -> None:
        super().__init__(documents)
        self.release = threading.Event()
        self.entered = threading.Event()
        self.ended = threading.Event()

    def search(self, query: SearchQuery) -> SearchAnswer:
        """Fail as the query says, or search."""
        if query.text.startswith("until "):
            there, waiting = Path(query.text.removeprefix("until ")), threading.Event()
            while not there.exists():
                waiting.wait(0.02)
        match query.text:
            case "crash":
                raise RuntimeError(f"cannot open /etc/passwd with {SECRET}")
            case "offline":
                raise ConnectionFailedError("The vector store does not answer.", details="connection refused")
            case "slow":
                self.entered.set()
                self.release.wait(60)
                self.ended.set()
            case _:
                pass
        return super().search(query)

    def close(self) -> None:
        """Let whoever waits go on."""
        self.release.set()
        super().close()
