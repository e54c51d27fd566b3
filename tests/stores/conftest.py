"""What tests of stores share: servers for all of them, and empty stores for each."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from knowledge_mcp.stores.chroma.client import Address
from tests.servers.chroma_server import ChromaServer, quick_folder, temporary_server
from tests.servers.postgres_server import PostgresServer
from tests.servers.qdrant_server import QdrantServer

_names = (f"test{number}" for number in itertools.count())


@pytest.fixture(scope="session")
def postgres() -> Generator[PostgresServer]:
    """Run a server whose new databases have pgvector."""
    with PostgresServer() as made:
        made.execute("CREATE EXTENSION vector", "template1")
        yield made


@pytest.fixture
def database(postgres: PostgresServer) -> Callable[[], str]:
    """Return a function that makes an empty database and gives its address."""
    return lambda: postgres.make_database(next(_names), extension=False)


@pytest.fixture(scope="session")
def chroma() -> Generator[ChromaServer]:
    """Run a ChromaDB server."""
    with temporary_server() as made:
        yield made


@pytest.fixture
def chroma_database(chroma: ChromaServer) -> Address:
    """Make an empty database of it."""
    chroma.make_database(name := next(_names))
    return chroma.address(name)


@pytest.fixture
def folder() -> Generator[Path]:
    """Make an empty folder for an embedded ChromaDB."""
    made = quick_folder()
    yield made
    shutil.rmtree(made)


@pytest.fixture
def server() -> Generator[QdrantServer]:
    """Run a stand-in for a Qdrant server."""
    made = QdrantServer()
    yield made
    made.stop()
