"""Sections and pages in each store: older data without any opens and works, lost parts are reported."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from qdrant_client import models

from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.model.collection import NO_STRUCTURE
from knowledge_mcp.model.errors import ConfigError, InternalError
from knowledge_mcp.ports import Store
from knowledge_mcp.stores.chroma.client import Address
from knowledge_mcp.stores.chroma.store import ChromaStore
from knowledge_mcp.stores.qdrant.connection import QdrantConfig
from knowledge_mcp.stores.qdrant.layout import point_id
from knowledge_mcp.stores.qdrant.store import QdrantStore
from knowledge_mcp.stores.sqlite import tables
from knowledge_mcp.stores.sqlite.store import SqliteStore
from knowledge_mcp.testing.store_search import put, structure_of, text_of
from knowledge_mcp.testing.store_values import SPACE, full_structure, structure
from tests.servers.qdrant_local import LocalQdrant
from tests.stores.plain_chroma import plain
from tests.stores.test_sqlite import raw

ANALYSER = EnglishAnalyser()


def works_with_what_was_there_before(store: Store) -> None:
    """Make sure that document `d`, published by an older program, is whole, and that newer ones stand beside it."""
    assert structure_of(store.open("c"), "d") == NO_STRUCTURE
    assert text_of(store.open("c"), "d") == "old text"
    assert [each.content for each in store.open("c").chunks("document", ["d"])] == ["old words"]
    assert store.open("c").verify() == []
    put(store, "e", ["new words"], structure=full_structure())
    assert structure_of(store.open("c"), "e") == full_structure()
    put(store, "d", ["old words"], structure=structure(2))
    assert structure_of(store.open("c"), "d") == structure(2)
    assert store.open("c").verify() == []


# SQLite


@pytest.fixture
def first_version(tmp_path: Path) -> Path:
    """Write a file as the first version of its tables had it."""
    path = tmp_path / "knowledge.db"
    store = SqliteStore(path, ANALYSER)
    store.create_collection("c", SPACE)
    put(store, "d", ["old words"], text="old text")
    store.close()
    raw(path, "DROP TABLE structures; UPDATE schema_version SET version = 1")
    return path


def test_a_sqlite_file_of_the_first_version_is_brought_to_this_one_in_place(first_version: Path) -> None:
    store = SqliteStore(first_version, ANALYSER)
    assert raw(first_version, "SELECT version FROM schema_version") == [(2,)]
    works_with_what_was_there_before(store)
    store.close()
    again = SqliteStore(first_version, ANALYSER)
    assert structure_of(again.open("c"), "d") == structure(2)
    again.close()


def test_an_older_program_refuses_a_sqlite_file_with_structures_and_leaves_it_whole(
    first_version: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    SqliteStore(first_version, ANALYSER).close()
    monkeypatch.setattr(tables, "SCHEMA_VERSION", 1)
    with pytest.raises(ConfigError, match="newer version"):
        SqliteStore(first_version, ANALYSER)
    monkeypatch.undo()
    store = SqliteStore(first_version, ANALYSER)
    works_with_what_was_there_before(store)
    store.close()


def test_a_structure_that_an_older_program_left_behind_is_swept(tmp_path: Path) -> None:
    path = tmp_path / "knowledge.db"
    store = SqliteStore(path, ANALYSER)
    store.create_collection("c", SPACE)
    put(store, "d", ["words"], structure=structure(3))
    raw(path, "INSERT INTO structures VALUES (9001, '')")
    assert [each.message for each in store.open("c").verify()] == ["1 structures without a document."]
    assert [each.repaired for each in store.open("c").verify(repair=True)] == [True]
    assert store.open("c").verify() == []
    assert structure_of(store.open("c"), "d") == structure(3)
    store.open("c").delete("d")
    assert raw(path, "SELECT count(*) FROM structures") == [(0,)]
    store.close()


# ChromaDB


def documents_of(client: Any) -> Any:
    (name,) = [each.name for each in client.list_collections() if each.name.startswith("c-pub.documents-")]
    return client.get_collection(name, embedding_function=None)


def test_chroma_documents_without_structure_open_and_lost_or_stray_parts_are_reported(folder: Path) -> None:
    store = ChromaStore(Address(folder), ANALYSER)
    store.create_collection("c-pub", SPACE)
    store.rename_collections({"c-pub": "c"})
    put(store, "d", ["old words"], text="old text")
    client = plain(folder)
    documents = documents_of(client)
    entry = 'document ["d"]'
    documents.update(ids=[entry], metadatas=[{"structure": None}])
    assert "structure" not in documents.get(ids=[entry])["metadatas"][0]
    works_with_what_was_there_before(store)

    (part,) = documents.get(where={"$and": [{"kind": "structure"}, {"document_id": "e"}]})["ids"]
    documents.delete(ids=[part])
    assert [each.message for each in store.open("c").verify()] == ["The sections and pages are missing."]
    with pytest.raises(InternalError, match="missing"):
        structure_of(store.open("c"), "e")
    stray = {"kind": "structure", "generation": "lost", "document_id": "e", "structure": "{}"}
    documents.add(ids=["structure lost 0"], embeddings=[[1.0]], metadatas=[stray], documents=[""])
    put(store, "e", ["new words"], structure=structure(1))
    assert documents.get(ids=["structure lost 0"])["ids"] == []
    assert store.open("c").verify() == []
    store.close()
    client.close()


# Qdrant


def test_qdrant_documents_without_structure_open_and_lost_parts_are_reported() -> None:
    local = LocalQdrant()
    store = QdrantStore(QdrantConfig("http://local"), ANALYSER, connect=lambda: local.client)
    store.create_collection("c", SPACE)
    put(store, "d", ["old words"], text="old text")
    local.client.delete_payload("c__records", ["shapes"], points=[point_id("document", "d")])
    works_with_what_was_there_before(store)
    shapes = models.FieldCondition(key="kind", match=models.MatchValue(value="structure"))
    local.client.delete("c__records", models.FilterSelector(filter=models.Filter(must=[shapes])))
    findings = store.open("c").verify()
    assert sorted((each.document_id or "", each.message) for each in findings) == [
        ("d", "The sections and pages are missing."),
        ("e", "The sections and pages are missing."),
    ]
    with pytest.raises(InternalError, match="structure of 'd'"):
        structure_of(store.open("c"), "d")
    store.open("c").delete("e")
    put(store, "d", ["old words"])
    assert store.open("c").verify() == []
    store.close()


def test_a_structure_larger_than_one_part_is_kept_in_several_points() -> None:
    local = LocalQdrant()
    store = QdrantStore(QdrantConfig("http://local"), ANALYSER, connect=lambda: local.client)
    store.create_collection("c", SPACE)
    put(store, "d", ["some words"], structure=structure(5_000))
    shapes = models.FieldCondition(key="kind", match=models.MatchValue(value="structure"))
    points = local.client.scroll("c__records", models.Filter(must=[shapes]), limit=99)[0]
    assert len(points) > 1
    assert all(len((each.payload or {})["structure"]) <= 200_000 for each in points)
    assert structure_of(store.open("c"), "d") == structure(5_000)
    put(store, "d", ["some words"], structure=structure(1))
    assert len(local.client.scroll("c__records", models.Filter(must=[shapes]), limit=99)[0]) == 1
    store.close()
