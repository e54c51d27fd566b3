"""How a document is written to ChromaDB: in few calls, by one token, and what was written before is still read."""

from __future__ import annotations

import shutil
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

import pytest

from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.stores.chroma import ChromaStore
from knowledge_mcp.stores.chroma_client import Address, Row, Table
from knowledge_mcp.testing.chroma_server import quick_folder
from knowledge_mcp.testing.store_search import MANY, put
from knowledge_mcp.testing.store_values import SPACE, embedded, record, structure


@pytest.fixture
def folder() -> Generator[Path]:
    made = quick_folder()
    yield made
    shutil.rmtree(made)


@pytest.fixture
def store(folder: Path) -> Generator[ChromaStore]:
    made = opened(folder)
    made.create_collection("c", SPACE)
    yield made
    made.close()


def opened(folder: Path) -> ChromaStore:
    return ChromaStore(Address(folder), EnglishAnalyser())


def documents_of(store: ChromaStore) -> Table:
    return store._look_up("c")[0].documents  # pyright: ignore[reportPrivateUsage] - what is written there is looked at


def test_a_text_as_it_was_written_before_is_read(store: ChromaStore) -> None:
    put(store, "d", ["one"], text="the canonical text")
    documents = documents_of(store)
    (entry,) = documents.rows(where={"kind": {"$eq": "text"}})
    documents.put([Row(entry.id, {**entry.metadata, "text": None}, document="the text of an older version")])
    assert store.document_text("c", "d") == "the text of an older version"
    assert store.verify("c") == []
    put(store, "d", ["two"], text="new", generation="g2")
    assert store.document_text("c", "d") == "new"


def test_a_small_document_is_written_in_few_calls(store: ChromaStore, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[str] = []
    write, remove = Table._write, Table.remove  # pyright: ignore[reportPrivateUsage] - what is counted

    def counted(self: Table, rows: Sequence[Any], replace: bool) -> None:
        written.append(f"{len(rows)} entries")
        write(self, rows, replace)

    def removed(self: Table, ids: Sequence[str]) -> None:
        written.extend(["removed"] if ids else [])
        remove(self, ids)

    monkeypatch.setattr(Table, "_write", counted)
    monkeypatch.setattr(Table, "remove", removed)
    put(store, "d", MANY[:5], text="text", structure=structure(2))
    assert written == ["2 entries", "5 entries", "5 entries", "removed"]
    written.clear()
    put(store, "d", MANY[:5], text="x" * 2_000_000, structure=structure(2), generation="g2")
    assert written[2:4] == ["4 entries", "2 entries"], "a large text comes before the record, not with it"
    assert len(store.document_text("c", "d") or "") == 2_000_000


def test_of_two_processes_that_begin_a_generation_one_gives_it_its_token(
    folder: Path, store: ChromaStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = opened(folder)
    chunks = embedded("d", ["one", "two"])
    write = Table._write  # pyright: ignore[reportPrivateUsage] - a moment between two calls

    def late(self: Table, rows: Sequence[Any], replace: bool) -> None:
        if not replace:
            monkeypatch.setattr(Table, "_write", write)
            other.stage("c", "d", "g", chunks[:1])
        write(self, rows, replace)

    monkeypatch.setattr(Table, "_write", late)
    store.stage("c", "d", "g", chunks[1:])
    store.publish("c", record("d", chunks), "text", "g")
    assert [each.content for each in store.document_chunks("c", "d")] == ["one", "two"]
    assert store.verify("c") == []
    assert len(store.vectors("c", [each.embedding_key for each in chunks])) == 2
    entries = documents_of(store).ids({"kind": {"$eq": "vectors"}})
    tokens = {each.split(" ")[1] for each in entries}
    assert len(entries) == 2
    assert len(tokens) == 1, "the loser's vectors have the winner's token"
    other.close()
