"""The built-in embedded stores keep the contract that is shipped for all."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from knowledge_mcp.ports import Analyser, Store
from knowledge_mcp.stores.memory import MemoryStore
from knowledge_mcp.stores.sqlite.store import SqliteStore
from knowledge_mcp.testing.stores import StoreContract


class TestMemoryStore(StoreContract):
    def make_store(self, analyser: Analyser) -> Store:
        return MemoryStore(analyser)


class TestSqliteStore(StoreContract):
    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self.folder = tmp_path

    def make_store(self, analyser: Analyser) -> Store:
        return SqliteStore(Path(tempfile.mkdtemp(dir=self.folder)) / "deep" / "knowledge.db", analyser)

    def open_again(self, store: Store) -> Store | None:
        return SqliteStore(Path(store.identity.location), self.analyser)
