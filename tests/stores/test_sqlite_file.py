"""What may happen to the SQLite store's file behind its back: removed, replaced, damaged inside."""

from __future__ import annotations

import errno
import os
import re
from pathlib import Path
from typing import Any

import apsw
import pytest

from knowledge_mcp.engine.core.base import counts_of
from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.model.errors import ConnectionFailedError, InternalError
from knowledge_mcp.stores.shared import checking
from knowledge_mcp.stores.sqlite import verify
from knowledge_mcp.stores.sqlite.store import SqliteStore
from knowledge_mcp.testing.store_search import put
from knowledge_mcp.testing.store_values import SPACE, SamplePassage, unit_vector

ANALYSER = EnglishAnalyser()


def filled(path: Path, word: str) -> SqliteStore:
    store = SqliteStore(path, ANALYSER)
    store.create_collection("c", SPACE)
    put(store, "d", [SamplePassage(f"{word} words", id=word)])
    return store


def found(store: SqliteStore, text: str) -> list[str]:
    legs = store.open("c").search(vector=unit_vector(text), text=text, filter=None, limit=9)
    assert legs.dense is not None
    assert [hit.chunk_id for hit in legs.dense] == [each.id for each in store.open("c").chunks("document", ["d"])]
    return [hit.chunk_id for hit in legs.lexical or ()]


def remove(path: Path) -> None:
    for each in path.parent.glob(f"{path.name}*"):
        each.unlink()


@pytest.mark.requirement("A-REQ-REL-001")
def test_a_store_that_was_removed_is_an_error_and_never_answered_from_memory(tmp_path: Path) -> None:
    path = tmp_path / "knowledge.db"
    store = filled(path, "alpha")
    assert found(store, "alpha") == ["alpha"]
    remove(path)
    for ask in (
        store.collections,
        lambda: found(store, "alpha"),
        lambda: counts_of(store.open("c")),
        lambda: put(store, "e", ["x"]),
    ):
        with pytest.raises(ConnectionFailedError, match=r"^The store 'knowledge\.db' was removed or emptied"):
            ask()
    assert list(tmp_path.iterdir()) == [], "nobody may find an empty store there and take it for the true one"
    store.close()


def test_a_store_that_was_replaced_is_taken_up_without_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "knowledge.db"
    store = filled(path, "alpha")
    assert found(store, "alpha") == ["alpha"]
    remove(path)
    other = filled(path, "beta")
    assert found(store, "beta") == ["beta"]
    assert found(store, "alpha") == []
    put(store, "d", [SamplePassage("gamma words", id="gamma")])
    assert found(other, "gamma") == ["gamma"]
    store.close()
    other.close()


@pytest.mark.parametrize("bad", ["CAST(x'7baaaa7d' AS TEXT)", "'{not json'"])
def test_a_record_that_is_damaged_inside_is_reported_as_damage(tmp_path: Path, bad: str) -> None:
    path = tmp_path / "knowledge.db"
    store = filled(path, "alpha")
    connection: Any = apsw.Connection(str(path))
    connection.execute(f"UPDATE documents SET record = {bad}").fetchall()
    connection.close()
    with pytest.raises(InternalError, match="damaged") as caught:
        store.open("c").documents()
    assert "--force" in caught.value.suggestion
    store.close()


def test_what_a_finding_tells_to_run_is_a_command_that_exists() -> None:
    source = "".join(Path(str(each.__file__)).read_text(encoding="utf-8") for each in (checking, verify))
    documented = (Path(__file__).resolve().parents[2] / "docs" / "cli.md").read_text(encoding="utf-8")
    result = re.findall(r"`(knowledge [a-z]+ --[a-z]+)`", source)
    assert result
    assert [command for command in result if command not in documented] == []


def test_a_store_that_was_emptied_is_an_error_and_never_an_empty_store(tmp_path: Path) -> None:
    path = tmp_path / "knowledge.db"
    filled(path, "alpha").close()
    path.write_bytes(b"")
    for _ in range(2):
        with pytest.raises(InternalError, match=r"^'knowledge\.db' is empty \(0 bytes\)") as caught:
            SqliteStore(path, ANALYSER)
        assert "knowledge restore" in caught.value.suggestion
    assert path.read_bytes() == b""


def test_a_store_that_is_emptied_in_use_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "knowledge.db"
    store = filled(path, "alpha")
    os.truncate(path, 0)
    with pytest.raises(ConnectionFailedError, match=r"^The store 'knowledge\.db' was removed or emptied"):
        found(store, "alpha")
    store.close()


def test_a_log_without_its_store_is_kept_and_reported(tmp_path: Path) -> None:
    path, log = tmp_path / "knowledge.db", tmp_path / "knowledge.db-wal"
    store = filled(path, "alpha")
    content = log.read_bytes()
    assert content, "what was stored is still in the log"
    remove(path)
    log.write_bytes(content)
    with pytest.raises(InternalError, match=r"^There is a log 'knowledge\.db-wal', but not its store") as caught:
        SqliteStore(path, ANALYSER)
    assert "remove 'knowledge.db-wal'" in caught.value.suggestion
    assert log.read_bytes() == content
    assert not path.exists()
    store.close()


def test_a_new_store_is_never_an_empty_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    path = tmp_path / "knowledge.db"
    link = os.link

    def watch(part: Path, place: Path) -> None:
        link(part, place)
        sizes.append(place.stat().st_size)

    monkeypatch.setattr(os, "link", watch)
    filled(path, "alpha").close()
    assert sizes == [8192]
    assert [each.name for each in tmp_path.iterdir() if each.suffix == ".part"] == []


def test_a_new_store_needs_no_file_system_with_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_part: Path, _place: Path) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    store = filled(tmp_path / "knowledge.db", "alpha")
    assert found(store, "alpha") == ["alpha"]
    store.close()
