"""Many processes on one file, and processes that are killed: nothing half seen, nothing acknowledged lost."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.stores.sqlite.store import SqliteStore
from knowledge_mcp.testing.store_search import text_of
from knowledge_mcp.testing.store_values import SPACE
from tests.stores.killing import killed, start
from tests.stores.processes import check, ended


@pytest.mark.slow
def test_a_writer_killed_at_any_moment_leaves_whole_generations_and_loses_none_acknowledged(tmp_path: Path) -> None:
    path = tmp_path / "knowledge.db"
    dice = random.Random(11)
    acknowledged: dict[str, int] = {}
    for attempt in range(12):
        acknowledged |= killed(start("write", path, attempt, 60.0), dice)
        store = SqliteStore(path, EnglishAnalyser())
        check(store)
        kept = {each.id: int(each.sha256) for each in store.open("c").documents()}
        for document_id, turn in acknowledged.items():
            assert kept[document_id] >= turn, f"{document_id} fell back from turn {turn}"
            assert text_of(store.open("c"), document_id) == f"text of {kept[document_id]}"
        leftovers = [each for each in store.open("c").verify() if "not finished" not in each.message]
        assert leftovers == []
        store.close()
    assert len(acknowledged) > 4, "no writer came far enough to show anything"
    store = SqliteStore(path, EnglishAnalyser())
    assert store.open("c").verify() == []
    store.close()


@pytest.mark.slow
def test_four_readers_and_two_writers_share_one_file_without_a_lock_error(tmp_path: Path) -> None:
    path = tmp_path / "knowledge.db"
    writers = [start("write", path, seed, 2.0) for seed in (1, 2)]
    readers = [start("read", path, 0, 2.0) for _ in range(4)]
    written, looked = ended(writers, readers)
    assert min(looked) > 0, "a reader never got to look"
    assert written > 2
    store = SqliteStore(path, EnglishAnalyser())
    assert store.open("c").verify() == []
    check(store)
    store.close()


def test_processes_that_all_make_the_file_at_once_all_get_it(tmp_path: Path) -> None:
    path = tmp_path / "new" / "knowledge.db"
    made = [start("read", path, 0, 0.0) for _ in range(4)]
    for process in made:
        said, complaints = process.communicate(timeout=60)
        assert (said.splitlines(), complaints) == (["ready", "0"], "")
    store = SqliteStore(path, EnglishAnalyser())
    assert [each.space for each in store.collections()] == [SPACE]
    store.close()
