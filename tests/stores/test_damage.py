"""In every store a passage, a text and a record that are not what was stored are refused, or left out and noticed."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Generator
from dataclasses import replace
from pathlib import Path
from typing import Any

import apsw
import pytest

from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.model.errors import DamagedError, noticing
from knowledge_mcp.ports import Store
from knowledge_mcp.stores.chroma.client import Address
from knowledge_mcp.stores.chroma.store import ChromaStore
from knowledge_mcp.stores.memory import MemoryStore
from knowledge_mcp.stores.postgres.store import PostgresStore
from knowledge_mcp.stores.qdrant.connection import QdrantConfig
from knowledge_mcp.stores.qdrant.layout import point_id
from knowledge_mcp.stores.qdrant.store import QdrantStore
from knowledge_mcp.stores.sqlite.store import SqliteStore
from knowledge_mcp.testing.store_search import put, text_of
from knowledge_mcp.testing.store_values import SPACE, SamplePassage
from tests.servers.chroma_server import quick_folder
from tests.servers.qdrant_local import LocalQdrant
from tests.stores.test_postgres import rows

ANALYSER = EnglishAnalyser()
Forge = Callable[[str], None]


def in_memory(_: Path) -> Generator[tuple[Store, Forge]]:
    store = MemoryStore(ANALYSER)

    def forge(part: str) -> None:
        document: Any = store._collections["c"].documents["d"]  # pyright: ignore[reportPrivateUsage] - what is damaged
        if part == "text":
            document.text = document.text.replace("shall", "could")
        else:
            first = document.chunks[0]
            document.chunks[0] = replace(first, chunk=replace(first.chunk, content="alpha could"))

    yield store, forge
    store.close()


def in_sqlite(folder: Path) -> Generator[tuple[Store, Forge]]:
    store = SqliteStore(folder / "knowledge.db", ANALYSER)

    def forge(part: str) -> None:
        table, column = {"text": ("texts", "text"), "record": ("documents", "record")}.get(part, ("chunks", "payload"))
        word, other = ("Title", "Tutle") if part == "record" else ("shall", "could")
        connection: Any = apsw.Connection(store.identity.location)
        connection.execute(f"UPDATE {table} SET {column} = replace({column}, '{word}', '{other}')").fetchall()
        connection.close()

    yield store, forge
    store.close()


def in_chroma(_: Path) -> Generator[tuple[Store, Forge]]:
    folder = quick_folder()
    store = ChromaStore(Address(folder), ANALYSER)

    def forge(part: str) -> None:
        def change(client: Any) -> None:
            names = [each.name for each in client.list_collections()]
            (name,) = [each for each in names if ".documents-" in each]
            documents = client.get_collection(name, embedding_function=None)
            chunks = client.get_collection(name.partition(".")[0], embedding_function=None)
            if part == "chunk":
                found = chunks.get(where={"chunk_id": {"$eq": "1"}}, include=["embeddings"])
                chunks.update(ids=found["ids"], embeddings=found["embeddings"], documents=["alpha could"])
                return
            kind = "text" if part == "text" else "document"
            found = documents.get(where={"kind": {"$eq": kind}})
            metadata = dict(found["metadatas"][0])
            field, word, other = ("text", "shall", "could") if part == "text" else ("record", "Title", "Tutle")
            metadata[field] = metadata[field].replace(word, other)
            documents.update(ids=found["ids"][:1], metadatas=[metadata])

        store.connection.call(change)

    yield store, forge
    store.close()
    shutil.rmtree(folder)


def in_qdrant(_: Path) -> Generator[tuple[Store, Forge]]:
    local = LocalQdrant()
    store = QdrantStore(QdrantConfig("http://local"), ANALYSER, connect=lambda: local.client)

    def forge(part: str) -> None:
        client: Any = local.client
        if part == "chunk":
            for point in client.scroll("c", limit=99)[0]:
                if point.payload["chunk_id"] == "1":
                    changed = point.payload["chunk"].replace("shall", "could")
                    client.set_payload("c", {"chunk": changed}, points=[point.id])
        elif part == "record":
            (point,) = client.retrieve("c__records", [point_id("document", "d")])
            changed = point.payload["record"].replace("Title", "Tutle")
            client.set_payload("c__records", {"record": changed}, points=[point.id])
        else:
            for point in client.scroll("c__records", limit=99)[0]:
                if point.payload.get("kind") == "text":
                    changed = point.payload["text"].replace("shall", "could")
                    client.set_payload("c__records", {"text": changed}, points=[point.id])

    yield store, forge
    store.close()


def in_postgres(url: str) -> Generator[tuple[Store, Forge]]:
    store = PostgresStore(url, ANALYSER)

    def forge(part: str) -> None:
        column = "payload" if part == "chunk" else part
        table = "payloads" if part == "chunk" else "documents"
        word, other = ("Title", "Tutle") if part == "record" else ("shall", "could")
        changed = f"replace(convert_from({column}, 'UTF8'), '{word}', '{other}')"
        rows(url, f"UPDATE knowledge_mcp.{table} SET {column} = convert_to({changed}, 'UTF8')")

    yield store, forge
    store.close()


STORES = {"memory": in_memory, "sqlite": in_sqlite, "chromadb": in_chroma, "qdrant": in_qdrant}


@pytest.fixture(params=[*STORES, "postgres"])
def made(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[tuple[Store, Forge]]:
    if request.param == "postgres":
        generator = in_postgres(request.getfixturevalue("database")())
    else:
        generator = STORES[request.param](tmp_path)
    store, forge = next(generator)
    store.create_collection("c", SPACE)
    put(store, "d", [SamplePassage("alpha shall", id="1"), SamplePassage("beta", id="2")], text="alpha shall\nbeta")
    yield store, forge
    next(generator, None)


def test_an_altered_passage_is_refused_or_left_out_and_noticed(made: tuple[Store, Forge]) -> None:
    store, forge = made
    assert [each.id for each in store.open("c").chunks("id", ["1", "2"])] == ["1", "2"]
    forge("chunk")
    with pytest.raises(DamagedError, match="passage 1 of document 'd'"):
        store.open("c").chunks("id", ["1", "2"])
    with pytest.raises(DamagedError):
        store.open("c").chunks("document", ["d"])
    with noticing() as damage:
        assert [each.id for each in store.open("c").chunks("id", ["1", "2"])] == ["2"]
        assert [each.id for each in store.open("c").chunks("document", ["d"])] == ["2"]
    assert [(each.document_id, each.chunk_id) for each in damage] == [("d", "1")]


def test_an_altered_text_is_refused_or_left_out_and_noticed(made: tuple[Store, Forge]) -> None:
    store, forge = made
    assert text_of(store.open("c"), "d") == "alpha shall\nbeta"
    forge("text")
    with pytest.raises(DamagedError, match="canonical text of document 'd'"):
        text_of(store.open("c"), "d")
    with noticing() as damage:
        assert text_of(store.open("c"), "d") is None
    assert [each.document_id for each in damage] == ["d"]


def test_an_altered_record_is_refused_or_left_out_and_noticed(made: tuple[Store, Forge]) -> None:
    store, forge = made
    if store.identity.backend == "memory":  # its records are values that nobody can change
        return
    forge("record")
    with pytest.raises(DamagedError, match="record of document 'd'"):
        store.open("c").documents(["d"])
    with pytest.raises(DamagedError):
        store.open("c").documents()
    with noticing() as damage:
        assert store.open("c").documents(["d"]) == []
        assert store.open("c").documents() == []
    assert [each.document_id for each in damage] == ["d"]
    put(store, "d", [SamplePassage("alpha shall", id="1")], text="alpha shall")
    assert store.open("c").documents(["d"])
