"""How a document is written to ChromaDB: in few calls, by one token, and what was written before is still read."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Generator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.model.errors import InternalError
from knowledge_mcp.stores.chroma import writing
from knowledge_mcp.stores.chroma.client import Address, ChromaTable
from knowledge_mcp.stores.chroma.places import ChromaCollection
from knowledge_mcp.stores.chroma.store import ChromaStore
from knowledge_mcp.testing.store_search import MANY, make_document, put, text_of
from knowledge_mcp.testing.store_values import SPACE, structure

UNFINISHED = "An ingest of this document was not finished, or is still running."


@pytest.fixture
def store(folder: Path) -> Generator[ChromaStore]:
    made = opened(folder)
    made.create_collection("c", SPACE)
    yield made
    made.close()


def opened(folder: Path) -> ChromaStore:
    return ChromaStore(Address(folder), EnglishAnalyser())


def place_of(store: ChromaStore) -> ChromaCollection:
    return store.look_up("c").place


def documents_of(store: ChromaStore) -> ChromaTable:
    return place_of(store).documents


def test_a_small_document_is_written_in_few_calls(store: ChromaStore, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[str] = []
    write, remove = ChromaTable._write, ChromaTable.remove  # pyright: ignore[reportPrivateUsage] - what is counted

    def counted(self: ChromaTable, rows: Sequence[Any]) -> None:
        written.append(f"{len(rows)} entries")
        write(self, rows)

    def removed(self: ChromaTable, ids: Sequence[str]) -> None:
        written.extend(["removed"] if ids else [])
        remove(self, ids)

    monkeypatch.setattr(ChromaTable, "_write", counted)
    monkeypatch.setattr(ChromaTable, "remove", removed)
    put(store, "d", MANY[:5], text="text", structure=structure(2))
    assert written == ["2 entries", "5 entries", "5 entries", "removed"]
    written.clear()
    put(store, "d", MANY[:5], text="x" * 2_000_000, structure=structure(2))
    assert written[2:4] == ["4 entries", "2 entries"], "a large text comes before the record, not with it"
    assert len(text_of(store.open("c"), "d") or "") == 2_000_000


def test_many_small_documents_are_written_in_as_few_calls_as_one(
    store: ChromaStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[str] = []
    write = ChromaTable._write  # pyright: ignore[reportPrivateUsage] - what is counted

    def counted(self: ChromaTable, rows: Sequence[Any]) -> None:
        written.append(f"{len(rows)} entries")
        write(self, rows)

    monkeypatch.setattr(ChromaTable, "_write", counted)
    messages: list[str] = []
    store.open("c").publish([make_document(f"d{n}", MANY[:2]) for n in range(20)], messages.append)
    assert written == ["40 entries", "40 entries", "61 entries"], "holders, vectors; chunks; the rest, records"
    assert messages == [f"d{n}" for n in range(20)]
    assert store.open("c").verify() == []
    written.clear()
    large = make_document("large", MANY[:2], text="x" * 2_000_000)
    store.open("c").publish([make_document("a", ["one"]), large, make_document("b", ["two"])], messages.append)
    assert len(written) == 3 + 4 + 3, "a large document is made visible by a call of its own"
    assert store.open("c").verify() == []
    written.clear()
    store.open("c").publish([make_document("a", ["three"]), make_document("a", ["four"])], messages.append)
    assert [each.content for each in store.open("c").chunks("document", ["a"])] == ["four"], (
        "named twice: the last one holds"
    )
    assert store.open("c").verify() == []


@pytest.mark.parametrize("moment", ["before its record", "with its record"])
def test_what_another_writer_discards_meanwhile_is_written_again(
    folder: Path, store: ChromaStore, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    other = opened(folder)
    write = ChromaTable._write  # pyright: ignore[reportPrivateUsage] - a moment between two calls

    def disturbed(self: ChromaTable, rows: Sequence[Any]) -> None:
        write(self, rows)
        if rows[0].vector is not None:
            monkeypatch.setattr(ChromaTable, "_write", write)
            writing.discard_unfinished(place_of(other), ["d"])

    def robbed(self: ChromaTable, rows: Sequence[Any]) -> None:
        if any(row.uri for row in rows):  # the other one looked what is visible just before
            monkeypatch.setattr(ChromaTable, "_write", write)
            documents = documents_of(other)
            (holder,) = documents.rows(where={"$and": [{"kind": {"$eq": "staged"}}, {"document_id": {"$eq": "d"}}]})
            documents.remove([holder.id])
            write(self, rows)
            chunks = place_of(other).chunks
            chunks.remove(chunks.ids({"generation": {"$eq": holder.metadata["generation"]}}))
        else:
            write(self, rows)

    put(store, "d", ["old"])
    monkeypatch.setattr(ChromaTable, "_write", disturbed if moment == "before its record" else robbed)
    messages: list[str] = []
    store.open("c").publish([make_document("d", ["new"]), make_document("e", ["more"])], messages.append)
    assert sorted(messages) == ["d", "e"]
    assert [each.content for each in store.open("c").chunks("document", ["d"])] == ["new"]
    assert [each.content for each in store.open("c").chunks("document", ["e"])] == ["more"]
    assert store.open("c").verify() == []
    other.close()


def test_of_two_processes_that_write_a_document_whole_none_takes_the_other_ones_away(
    folder: Path, store: ChromaStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = opened(folder)
    write = ChromaTable._write  # pyright: ignore[reportPrivateUsage] - a moment between two calls
    calls = 0

    def disturbed(self: ChromaTable, rows: Sequence[Any]) -> None:
        nonlocal calls
        write(self, rows)
        if rows[0].vector is not None:
            monkeypatch.setattr(ChromaTable, "_write", write)
            other.open("c").publish([make_document("d", ["theirs"])], lambda _: None)
            monkeypatch.setattr(ChromaTable, "_write", disturbed)
        calls += 1

    monkeypatch.setattr(ChromaTable, "_write", disturbed)
    store.open("c").publish([make_document("d", ["ours"])], lambda _: None)
    assert calls == 3, "written once"
    assert [each.content for each in other.open("c").chunks("document", ["d"])] == ["ours"]
    assert store.open("c").verify() == []
    other.close()


def killed_writer(store: ChromaStore, process: int) -> list[str]:
    """Leave what a writer leaves that is killed before its commit; returns the entries that hold it."""

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(writing, "_commit", killed)
        patch.setattr(os, "getpid", lambda: process)
        with pytest.raises(KeyboardInterrupt):
            store.open("c").publish([make_document("d", ["killed"])], lambda _: None)
    holders = documents_of(store).ids({"kind": {"$eq": "staged"}})
    assert len(holders) == 1
    return holders


@pytest.mark.parametrize("way", ["the document is written again", "the collection is repaired"])
def test_what_a_killed_writer_left_goes(store: ChromaStore, way: str) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    killed_writer(store, ended.pid)
    if way == "the document is written again":
        store.open("c").publish([make_document("d", ["new"])], lambda _: None)
    else:
        assert all(each.repaired for each in store.open("c").verify(repair=True) if each.message != UNFINISHED)
    assert documents_of(store).ids({"kind": {"$eq": "staged"}}) == []
    assert len(documents_of(store).ids({"kind": {"$eq": "vectors"}})) == (way == "the document is written again")
    assert store.open("c").verify() == []


def test_what_a_writer_left_that_was_killed_after_its_commit_goes_with_any_other_document(store: ChromaStore) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()

    sweep = writing.sweep

    def killed(*arguments: Any, **named: Any) -> dict[str, int]:
        if "finished" in named:
            raise KeyboardInterrupt
        return sweep(*arguments, **named)

    put(store, "d", ["old"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(writing, "sweep", killed)
        patch.setattr(os, "getpid", lambda: ended.pid)
        with pytest.raises(KeyboardInterrupt):
            store.open("c").publish([make_document("d", ["new"])], lambda _: None)
    assert [each.content for each in store.open("c").chunks("document", ["d"])] == ["new"]
    assert len(documents_of(store).ids({"kind": {"$eq": "vectors"}})) == 2
    store.open("c").publish([make_document("e", ["other"])], lambda _: None)
    assert len(documents_of(store).ids({"kind": {"$eq": "vectors"}})) == 2, "of d and of e"
    assert store.open("c").verify() == []


def test_a_writer_that_may_be_at_work_is_left_alone_until_it_is_late(
    store: ChromaStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    holders = killed_writer(store, os.getpid())
    store.open("c").publish([make_document("d", ["soon after"])], lambda _: None)
    assert documents_of(store).ids({"kind": {"$eq": "staged"}}) == holders
    assert [each.message for each in store.open("c").verify(repair=True)] == [UNFINISHED]
    monkeypatch.setattr(writing, "_LONGEST_SECONDS", -1.0)
    store.open("c").publish([make_document("d", ["long after"])], lambda _: None)
    assert store.open("c").verify() == []
    assert [each.content for each in store.open("c").chunks("document", ["d"])] == ["long after"]


@pytest.mark.parametrize("hours", [-3, 3])
def test_a_writer_on_another_machine_is_at_work_whatever_its_clock_says_until_it_was_watched(
    store: ChromaStore, monkeypatch: pytest.MonkeyPatch, hours: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(writing.platform, "node", lambda: "elsewhere")
        patch.setattr(writing.time, "time", lambda: datetime.now(UTC).timestamp() + 3600 * hours)
        holders = killed_writer(store, os.getpid())
    for _ in range(2):
        store.open("c").publish([make_document("e", ["other"])], lambda _: None)
        assert documents_of(store).ids({"kind": {"$eq": "staged"}}) == holders
    later = time.monotonic() + 121
    monkeypatch.setattr(writing.time, "monotonic", lambda: later)
    store.open("c").publish([make_document("e", ["another"])], lambda _: None)
    assert documents_of(store).ids({"kind": {"$eq": "staged"}}) == []
    assert store.open("c").verify() == []


def test_what_was_left_days_ago_needs_no_watching(store: ChromaStore) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(writing.platform, "node", lambda: "elsewhere")
        patch.setattr(writing.time, "time", lambda: datetime.now(UTC).timestamp() - 3 * 86_400)
        killed_writer(store, os.getpid())
    store.open("c").publish([make_document("e", ["other"])], lambda _: None)
    assert documents_of(store).ids({"kind": {"$eq": "staged"}}) == []


def test_a_process_of_somebody_else_counts_as_running(store: ChromaStore, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise PermissionError

    holders = killed_writer(store, os.getpid())
    monkeypatch.setattr(os, "kill", refused)
    store.open("c").publish([make_document("d", ["new"])], lambda _: None)
    assert documents_of(store).ids({"kind": {"$eq": "staged"}}) == holders


def test_what_is_discarded_each_time_is_reported_and_what_was_there_stays(
    folder: Path, store: ChromaStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = opened(folder)
    write = ChromaTable._write  # pyright: ignore[reportPrivateUsage] - a moment between two calls

    def disturbed(self: ChromaTable, rows: Sequence[Any]) -> None:
        write(self, rows)
        if rows[0].vector is not None:
            writing.discard_unfinished(place_of(other), ["d"])

    put(store, "d", ["old"])
    monkeypatch.setattr(ChromaTable, "_write", disturbed)
    messages: list[str] = []
    with pytest.raises(InternalError, match="'d' has 0 chunks, but its record states 1"):
        store.open("c").publish([make_document("d", ["new"]), make_document("e", ["more"])], messages.append)
    assert messages == ["e"]
    assert [each.content for each in store.open("c").chunks("document", ["d"])] == ["old"]
    assert [each.content for each in store.open("c").chunks("document", ["e"])] == ["more"]
    assert store.open("c").verify() == []
    other.close()


def test_a_collection_that_is_dropped_amid_documents_takes_those_with_it_that_were_reported(
    folder: Path, store: ChromaStore
) -> None:
    other = opened(folder)
    messages: list[str] = []

    def published(document_id: str) -> None:
        messages.append(document_id)
        if messages == ["a"]:
            other.drop_collection("c")
            other.create_collection("c", SPACE)

    store.open("c").publish([make_document("a", ["one"]), make_document("b", ["two"], text="x" * 700_000)], published)
    assert messages == ["a", "b"]
    assert [each.id for each in store.open("c").documents()] == ["b"]
    assert store.open("c").verify() == []
    other.close()
