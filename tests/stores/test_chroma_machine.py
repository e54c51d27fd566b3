"""Any sequence of operations on ChromaDB, embedded and over the wire, equals the memory store."""

from __future__ import annotations

import atexit
import itertools
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from knowledge_mcp.ports import Analyser, Store
from knowledge_mcp.stores.chroma.client import Address
from knowledge_mcp.stores.chroma.profiles import PLANNING
from knowledge_mcp.stores.chroma.store import ChromaStore
from knowledge_mcp.testing.store_machine import store_machine
from tests.servers.chroma_server import ChromaServer, quick_folder
from tests.stores.chroma_checked import Checked

pytestmark = pytest.mark.slow

ROOT = quick_folder()
atexit.register(shutil.rmtree, ROOT, ignore_errors=True)  # a process that collects this module may run none of it
SERVER = ChromaServer(ROOT / "server")
NUMBERS = itertools.count()
COPIED = {"c": PLANNING}
FEW = settings(max_examples=5, stateful_step_count=14, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def setup_module() -> None:
    SERVER.start()


def teardown_module() -> None:
    SERVER.kill()


def embedded_store(analyser: Analyser) -> Store:
    return Checked(Address(Path(tempfile.mkdtemp(dir=ROOT))), analyser, profiles=COPIED)


def embedded_again(store: Store, analyser: Analyser) -> Store:
    return Checked(Address(Path(store.identity.location)), analyser, profiles=COPIED)


def server_store(analyser: Analyser) -> Store:
    database = f"machine-{next(NUMBERS)}"
    SERVER.make_database(database)
    return ChromaStore(SERVER.address(database), analyser)


def server_again(store: Store, analyser: Analyser) -> Store:
    assert isinstance(store, ChromaStore)
    return ChromaStore(store.address, analyser)


TestEmbeddedChromaMachine = store_machine(embedded_store, open_again=embedded_again).TestCase
TestEmbeddedChromaMachine.settings = FEW
TestChromaServerMachine = store_machine(server_store, open_again=server_again).TestCase
TestChromaServerMachine.settings = FEW
