"""ChromaDB keeps the contract of all stores, embedded and over the wire of a real server."""

from __future__ import annotations

import contextlib
import shutil
import ssl
import tempfile
import threading
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from knowledge_mcp.model.errors import InternalError
from knowledge_mcp.ports import Analyser, Store
from knowledge_mcp.stores.chroma.client import Address
from knowledge_mcp.stores.chroma.profiles import PLANNING
from knowledge_mcp.stores.chroma.store import ChromaStore
from knowledge_mcp.support.retry import RetryPolicy
from knowledge_mcp.testing.store_search import put
from knowledge_mcp.testing.store_values import SPACE, SamplePassage
from knowledge_mcp.testing.stores import StoreContract
from tests.servers.chroma_server import ChromaServer, quick_folder
from tests.stores import plain_chroma
from tests.stores.chroma_checked import Checked

QUICK = RetryPolicy((0.01, 0.02, 0.04))
COPIED = {"c": PLANNING}


@pytest.fixture(scope="module")
def folder() -> Generator[Path]:
    made = quick_folder()
    yield made
    shutil.rmtree(made)


class TestEmbeddedChroma(StoreContract):
    """With a copy as a specification wants it; whatever a test does, that is right when the store is closed."""

    @pytest.fixture(autouse=True)
    def _folder(self, folder: Path) -> None:
        self.folder = folder

    def make_store(self, analyser: Analyser) -> Store:
        return Checked(Address(Path(tempfile.mkdtemp(dir=self.folder)) / "deep"), analyser, profiles=COPIED)

    def open_again(self, store: Store) -> Store | None:
        return Checked(Address(Path(store.identity.location)), self.analyser, profiles=COPIED)


@pytest.mark.slow  # the contract again, as without a server
class TestChromaServer(StoreContract):
    @pytest.fixture(autouse=True)
    def _server(self, chroma_database: Address) -> None:
        self.address = chroma_database

    def make_store(self, analyser: Analyser) -> Store:
        return ChromaStore(self.address, analyser, policy=QUICK)

    def open_again(self, store: Store) -> Store | None:
        return ChromaStore(self.address, self.analyser, policy=QUICK)


@pytest.mark.slow
def test_a_server_without_tls_is_opened_without_reading_certificates(
    chroma_database: Address, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[object] = []

    def note(*files: object, **_: object) -> None:
        read.append(files)

    monkeypatch.setattr(ssl.SSLContext, "load_verify_locations", note)
    store = ChromaStore(chroma_database, StoreContract.analyser, policy=QUICK)
    assert store.collections() == []
    store.close()
    assert read == []


@pytest.mark.requirement("document-store-api:FR-008")
@pytest.mark.slow
def test_a_server_shows_what_is_specified_after_two_writers_at_once(
    chroma: ChromaServer, chroma_database: Address
) -> None:
    import chromadb
    from chromadb.config import Settings

    name = "application_docs"
    earlier = Checked(chroma_database, StoreContract.analyser, policy=QUICK)
    earlier.create_collection(name, SPACE)
    put(earlier, "d", [SamplePassage("old words", id="d_001_000")], collection=name)
    earlier.close()

    def publish(store: Store, turns: range) -> None:
        for turn in turns:
            passages = [
                SamplePassage(f"turn {turn} place {place}", id=f"d_001_{place:03d}") for place in range(1 + turn % 4)
            ]
            with contextlib.suppress(InternalError):  # the other writer has discarded or replaced what was staged
                put(store, "d", passages, collection=name)

    stores = [Checked(chroma_database, StoreContract.analyser, policy=QUICK) for _ in range(2)]
    threads = [threading.Thread(target=publish, args=(store, range(first, 8, 2))) for first, store in enumerate(stores)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    client: Any = chromadb.HttpClient(
        "127.0.0.1", chroma.port, database=chroma_database.database, settings=Settings(anonymized_telemetry=False)
    )
    found = client.get_collection(name, embedding_function=None).get()
    registry = client.get_collection("document_registry", embedding_function=None).get()
    assert registry["ids"] == ["d"]
    assert len({text.split(" place ")[0] for text in found["documents"]}) == 1, "chunks of two versions"
    assert len(found["ids"]) == registry["metadatas"][0]["chunk_count"]
    assert not [each for each in stores[0].open(name).verify() if "specification" in each.message]
    for store in stores:
        store.close()
    plain_chroma.close(client)
