"""What a specification wants to find in ChromaDB is there after whatever was done to the store, or is repaired."""

from __future__ import annotations

import contextlib
import logging
import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.model.collection import WholeDocument
from knowledge_mcp.model.errors import ConfigError
from knowledge_mcp.stores.chroma.client import Address, ChromaTable
from knowledge_mcp.stores.chroma.store import ChromaStore
from knowledge_mcp.testing.store_search import put, text_of
from knowledge_mcp.testing.store_values import SPACE, SamplePassage, embedded, record, unit_vector
from tests.stores.chroma_checked import Checked
from tests.stores.plain_chroma import plain

NAME = "application_docs"


def opened(folder: Path, *, older: bool = False) -> ChromaStore:
    """Open the store, or open it as a program before there were copies did."""
    if older:
        return ChromaStore(Address(folder), EnglishAnalyser(), profiles={})
    return Checked(Address(folder), EnglishAnalyser())


def shown(client: Any) -> tuple[dict[str, str], list[str]]:
    """Give what a plain client finds: contents of chunks by id, and documents."""
    found = client.get_collection(NAME, embedding_function=None).get()
    registry = client.get_collection("document_registry", embedding_function=None).get()
    return dict(zip(found["ids"], found["documents"], strict=True)), sorted(registry["ids"])


def names(client: Any) -> set[str]:
    return {each.name for each in client.list_collections()}


def test_both_collections_are_there_with_the_collection_and_go_with_it(folder: Path) -> None:
    store = opened(folder)
    store.create_collection("others", SPACE)
    client = plain(folder)
    assert not {NAME, "document_registry"} & names(client)
    store.create_collection(NAME, SPACE)
    assert {NAME, "document_registry"} <= names(client)
    assert shown(client) == ({}, [])
    put(store, "d", [SamplePassage("alpha", id="1")], collection=NAME)
    assert shown(client) == ({"1": "alpha"}, ["d"])
    store.drop_collection(NAME)
    assert not {NAME, "document_registry"} & names(client)
    store.create_collection("document_registry", SPACE)
    store.create_collection(NAME, SPACE)
    put(store, "d", [SamplePassage("beta", id="1")], collection="document_registry")
    assert shown(client) == ({}, [])
    store.close()
    client.close()


def test_a_folder_without_the_copies_answers_and_its_collection_is_left_as_it_is(folder: Path) -> None:
    store = opened(folder, older=True)
    store.create_collection(NAME, SPACE)
    put(store, "d", [SamplePassage("alpha words", id="1")], collection=NAME, text="text")
    store.close()
    store = ChromaStore(Address(folder), EnglishAnalyser())
    assert text_of(store.open(NAME), "d") == "text"
    assert [each.content for each in store.open(NAME).chunks("document", ["d"])] == ["alpha words"]
    (finding,) = store.open(NAME).verify(repair=True)
    assert f"'{NAME}' was created" in finding.message
    store.close()
    client = plain(folder)
    assert client.get_collection(NAME).metadata["pair"]
    client.close()


def test_the_collections_of_another_program_are_refused_and_left_as_they_are(folder: Path) -> None:
    client = plain(folder)
    theirs = client.create_collection("document_registry", metadata={"mine": "yes"}, embedding_function=None)
    theirs.add(ids=["1"], embeddings=[[1.0, 0.0]], documents=["kept"])
    store = ChromaStore(Address(folder), EnglishAnalyser())
    with pytest.raises(ConfigError, match="document_registry"):
        store.create_collection(NAME, SPACE)
    store.create_collection("c", SPACE)
    with pytest.raises(ConfigError, match="document_registry"):
        store.rename_collections({"c": NAME})
    assert [each.name for each in store.collections()] == ["c"]
    assert theirs.get()["documents"] == ["kept"]
    store.close()
    client.close()


def test_a_folder_without_the_copies_is_written_to_and_doctor_tells_that_none_are_made(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = opened(folder, older=True)
    store.create_collection(NAME, SPACE)
    put(store, "d", [SamplePassage("alpha words", id="1")], collection=NAME)
    store.close()
    store = ChromaStore(Address(folder), EnglishAnalyser())
    with caplog.at_level(logging.WARNING):
        put(store, "e", [SamplePassage("beta words", id="2")], collection=NAME)
    assert "chroma_copy_failed" in caplog.messages
    assert len(store.open(NAME).chunks("id", ["1", "2"])) == 2
    (finding,) = store.open(NAME).verify()
    assert NAME in finding.message
    store.close()


def test_a_collection_that_takes_the_name_is_what_is_shown_whatever_its_space(folder: Path) -> None:
    store = opened(folder)
    store.create_collection(NAME, SPACE)
    put(store, "d", [SamplePassage("old", id="1")], collection=NAME)
    wide = replace(SPACE, model="wide", dimensions=32)
    store.create_collection("next", wide)
    chunks = [replace(each, vector=unit_vector("x", 32)) for each in embedded("d", [SamplePassage("new", id="1")])]
    store.open("next").publish([WholeDocument(record("d", chunks), "", chunks)], lambda _: None)
    store.rename_collections({NAME: "old", "next": NAME})
    client = plain(folder)
    assert shown(client) == ({"1": "new"}, ["d"])
    put(store, "e", [SamplePassage("unseen", id="2")], collection="old")
    assert shown(client) == ({"1": "new"}, ["d"])
    store.rename_collections({NAME: "next", "old": NAME})
    assert shown(client) == ({"1": "old", "2": "unseen"}, ["d", "e"])
    store.rename_collections({NAME: "old"})
    assert not {NAME, "document_registry"} & names(client)
    assert len(store.open("old").documents()) == 2
    store.close()
    client.close()


def test_what_others_changed_there_is_reported_and_copied_again(folder: Path) -> None:
    store = opened(folder)
    store.create_collection(NAME, SPACE)
    put(store, "d", [SamplePassage("alpha", id="1"), SamplePassage("beta", id="2")], collection=NAME)
    put(store, "e", [SamplePassage("gamma", id="3")], collection=NAME)
    client = plain(folder)
    docs = client.get_collection(NAME, embedding_function=None)
    docs.delete(ids=["1"])
    docs.add(ids=["9"], embeddings=[unit("x")], documents=["stray"], metadatas=[{"document_id": "gone"}])
    client.get_collection("document_registry", embedding_function=None).delete(ids=["e"])
    assert [each.document_id for each in store.open(NAME).verify()] == ["d", "e", "gone"]
    assert {each.repaired for each in store.open(NAME).verify(repair=True)} == {True}
    assert shown(client) == ({"1": "alpha", "2": "beta", "3": "gamma"}, ["d", "e"])
    assert store.open(NAME).verify() == []
    client.delete_collection("document_registry")
    put(store, "e", [SamplePassage("delta", id="3")], collection=NAME)
    put(store, "f", [SamplePassage("zeta", id="4")], collection=NAME)
    assert shown(client)[1] == ["d", "e", "f"], "one that is lost is made again by the next change"
    store.close()
    client.close()


def unit(seed: str) -> list[float]:
    return list(struct.unpack("<16f", unit_vector(seed)))


class Killed(BaseException):
    """Stands for the end of the process."""


@pytest.mark.slow
def test_a_kill_anywhere_leaves_a_copy_that_the_next_opening_makes_right(folder: Path) -> None:
    old = [SamplePassage("old words", id="1"), SamplePassage("same words", id="2")]
    new = [SamplePassage("same words", id="2"), SamplePassage("new words", id="3")]
    finished = step = 0
    while finished < 2:
        store = opened(folder / str(step))
        store.create_collection(NAME, SPACE)
        put(store, "d", old, collection=NAME)
        left = step

        def counted(name: str, patch: pytest.MonkeyPatch) -> None:
            plainly = getattr(ChromaTable, name)

            def call(self: ChromaTable, *args: Any, **named: Any) -> Any:
                nonlocal left
                left -= 1
                if left < 0:
                    raise Killed
                return plainly(self, *args, **named)

            patch.setattr(ChromaTable, name, call)

        with pytest.MonkeyPatch.context() as patch:
            counted("put", patch)
            counted("remove", patch)
            with contextlib.suppress(Killed):
                if step % 2:
                    put(store, "d", new, collection=NAME)
                else:
                    store.open(NAME).delete("d")
                finished += left >= 0
        ChromaStore.close(store)
        other = opened(folder / str(step))
        other.open(NAME).documents()
        other.close()  # compares
        step += 1
    assert step > 8
