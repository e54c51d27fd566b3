"""Any sequence of operations on the SQLite store equals the memory store."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from knowledge_mcp.ports import Analyser, Store
from knowledge_mcp.stores.sqlite.store import SqliteStore
from knowledge_mcp.testing.store_machine import store_machine

pytestmark = pytest.mark.slow
ROOT = Path(tempfile.mkdtemp())
FEW = settings(max_examples=25, stateful_step_count=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def teardown_module() -> None:
    shutil.rmtree(ROOT, ignore_errors=True)


def make_store(analyser: Analyser) -> Store:
    return SqliteStore(Path(tempfile.mkdtemp(dir=ROOT)) / "knowledge.db", analyser)


def open_again(store: Store, analyser: Analyser) -> Store:
    return SqliteStore(Path(store.identity.location), analyser)


TestSqliteMachine = store_machine(make_store, open_again=open_again).TestCase
TestSqliteMachine.settings = FEW
