"""ChromaDB keeps the contract of all stores, embedded and over the wire of a real server."""

from __future__ import annotations

import itertools
import shutil
import tempfile
from collections.abc import Generator
from pathlib import Path

import pytest

from knowledge_mcp.ports import Analyser, Store
from knowledge_mcp.stores.chroma import ChromaStore
from knowledge_mcp.stores.chroma_client import Address
from knowledge_mcp.support.retry import RetryPolicy
from knowledge_mcp.testing.chroma_server import ChromaServer, quick_folder
from knowledge_mcp.testing.stores import StoreContract

QUICK = RetryPolicy((0.01, 0.02, 0.04))


@pytest.fixture(scope="module")
def folder() -> Generator[Path]:
    made = quick_folder()
    yield made
    shutil.rmtree(made)


@pytest.fixture(scope="module")
def server(folder: Path) -> Generator[ChromaServer]:
    with ChromaServer(folder / "server") as running:
        yield running


class TestEmbeddedChroma(StoreContract):
    @pytest.fixture(autouse=True)
    def _folder(self, folder: Path) -> None:
        self.folder = folder

    def make_store(self, analyser: Analyser) -> Store:
        return ChromaStore(Address(Path(tempfile.mkdtemp(dir=self.folder)) / "deep"), analyser)

    def open_again(self, store: Store) -> Store | None:
        return ChromaStore(Address(Path(store.location)), self.analyser)


class TestChromaServer(StoreContract):
    _numbers = itertools.count()

    @pytest.fixture(autouse=True)
    def _server(self, server: ChromaServer) -> None:
        self.server = server
        self.database = f"contract-{next(self._numbers)}"
        server.make_database(self.database)

    def make_store(self, analyser: Analyser) -> Store:
        return ChromaStore(self.server.address(self.database), analyser, policy=QUICK)

    def open_again(self, store: Store) -> Store | None:
        return ChromaStore(self.server.address(self.database), self.analyser, policy=QUICK)
