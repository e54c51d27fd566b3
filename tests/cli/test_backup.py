"""`knowledge backup` and `knowledge restore`: one file with one whole state, and never a store that is half one."""

from __future__ import annotations

import io
import json
import os
import stat
import tarfile
from pathlib import Path
from typing import Any

import apsw
import pytest

from knowledge_mcp.engine.core.base import counts_of
from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.model.errors import InternalError
from knowledge_mcp.stores.sqlite.backup import check_copy, copy_store, put_in_place
from knowledge_mcp.stores.sqlite.store import SqliteStore
from knowledge_mcp.testing.store_search import put
from knowledge_mcp.testing.store_values import SPACE, unit_vector
from tests.cli.conftest import Command


@pytest.fixture
def store(home: Path, monkeypatch: pytest.MonkeyPatch) -> SqliteStore:
    monkeypatch.setenv("DATA_PATH", str(home / "data"))
    made = opened(home)
    made.create_collection("c", SPACE)
    put(made, "d", ["alpha one"])
    (home / "data" / "repositories.json").write_text('{"version": 1}')
    return made


def opened(home: Path) -> SqliteStore:
    return SqliteStore(home / "data" / "knowledge.sqlite", EnglishAnalyser())


def contents(store: SqliteStore) -> list[str]:
    legs = store.open("c").search(vector=unit_vector("alpha one"), text="alpha", filter=None, limit=9)
    return sorted(each.content for each in store.open("c").chunks("id", [hit.chunk_id for hit in legs.lexical or ()]))


def test_a_backup_is_restored_into_a_store_that_is_in_use(store: SqliteStore, home: Path, knowledge: Command) -> None:
    assert contents(store) == ["alpha one"]
    (home / "data" / "decisions").mkdir()
    (home / "data" / "decisions" / "check-1.json").write_text("[]")
    assert knowledge("backup", "a.tar").code == 0
    put(store, "d", ["alpha two"])
    put(store, "e", ["alpha three"])
    (home / "data" / "repositories.json").write_text("{}")
    (home / "data" / "decisions" / "check-1.json").unlink()
    assert contents(store) == ["alpha three", "alpha two"]
    refused = knowledge("restore", "a.tar")
    assert refused.code == 1
    assert "--force" in refused.err
    done = json.loads(knowledge("restore", "a.tar", "--force", "--json").out)
    assert (done["documents"], done["chunks"]) == (1, 1)
    assert contents(store) == ["alpha one"], "what was held in memory of the state before is forgotten"
    assert store.open("c").verify() == []
    assert (home / "data" / "repositories.json").read_text() == '{"version": 1}'
    put(store, "f", ["alpha four"])
    assert contents(store) == ["alpha four", "alpha one"]
    store.close()
    assert sorted(each.name for each in (home / "data").iterdir()) == [
        "decisions",
        "knowledge.sqlite",
        "repositories.json",
    ]
    assert (home / "data" / "decisions" / "check-1.json").read_text() == "[]"


@pytest.mark.usefixtures("no_model")
def test_registered_sources_come_back_as_they_stood(store: SqliteStore, home: Path, knowledge: Command) -> None:
    (home / "specs").mkdir()
    (home / "specs" / "doors.md").write_text("# Doors\n\nDoors shall close within 5 s.\n")
    assert knowledge("sources", "add", "specs", "--name", "doors").code == 0
    assert knowledge("sources", "sync", "doors").code == 0
    lists = home / "data" / "sources" / "se_knowledge_base"
    (lists / "page.visited").write_text("{}")
    (lists / "clones").mkdir(exist_ok=True)
    (lists / "clones" / "big.json").write_text("{}")
    stood = knowledge("sources", "list", "--json").out
    assert json.loads(stood)["sources"][0]["name"] == "doors"
    assert knowledge("backup", "a.tar").code == 0
    with tarfile.open("a.tar") as archive:
        held = {name for name in archive.getnames() if name.startswith("sources")}
    names = ("doors.json", "doors.mounts", "page.visited")
    assert held == {f"sources/se_knowledge_base/{name}" for name in names}
    assert knowledge("sources", "remove", "doors", "--yes").code == 0
    (lists / "page.visited").unlink()
    assert knowledge("restore", "a.tar", "--force").code == 0
    assert knowledge("sources", "list", "--json").out == stood
    assert (lists / "page.visited").read_text() == "{}"
    assert stat.S_IMODE((lists / "doors.json").stat().st_mode) == 0o600
    store.close()


def test_only_the_owner_reads_a_backup_and_it_is_not_replaced_unasked(store: SqliteStore, knowledge: Command) -> None:
    assert knowledge("backup", "a.tar").code == 0
    assert stat.S_IMODE(Path("a.tar").stat().st_mode) == 0o600
    assert knowledge("backup", "a.tar").code == 1
    assert knowledge("backup", "a.tar", "--force").code == 0
    store.close()


def test_a_damaged_backup_is_refused_and_the_store_stays(store: SqliteStore, home: Path, knowledge: Command) -> None:
    knowledge("backup", "a.tar")
    whole = Path("a.tar").read_bytes()
    for wrong in (whole[: len(whole) // 2], whole.replace(b"alpha", b"alphb", 1), b"", b"x" * 20_000):
        Path("wrong.tar").write_bytes(wrong)
        done = knowledge("restore", "wrong.tar", "--force")
        assert done.code == 1
        assert "not a complete backup" in done.err
    assert contents(store) == ["alpha one"]
    store.close()
    assert sorted(each.name for each in (home / "data").iterdir()) == ["knowledge.sqlite", "repositories.json"]


def test_a_backup_that_names_another_place_writes_nothing(store: SqliteStore, home: Path, knowledge: Command) -> None:
    store.close()
    (home / "evil").write_text("x")
    for name in (
        "../evil.json",
        "/tmp/evil.json",
        "jobs/../../evil.json",
        "jobs/.x.json",
        "sources/../x.json",
        "sources/a/b/x.json",
        "other.txt",
    ):
        with tarfile.open("evil.tar", "w") as archive:
            archive.add(home / "evil", name)
        assert knowledge("restore", "evil.tar", "--force").code == 1
    assert not (home / "evil.json").exists()


@pytest.mark.parametrize(
    "listed", ["[]", "{}", "[" * 100_000, '{"form": "knowledge-mcp backup 1"}', '{"form": 1, "files": [[]]}']
)
def test_a_backup_whose_list_is_something_else_is_refused(home: Path, knowledge: Command, listed: str) -> None:
    with tarfile.open("a.tar", "w") as archive:
        for name, content in (("knowledge.sqlite", b"text"), ("backup.json", listed.encode())):
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    assert "not a complete backup" in knowledge("restore", "a.tar").err


@pytest.mark.parametrize("name", ["jobs/a\\..\\..\\b.json", "jobs/C:a.json"])
def test_a_name_that_leads_elsewhere_on_another_system_does_not_belong_in_a_backup(
    home: Path, knowledge: Command, name: str
) -> None:
    with tarfile.open("a.tar", "w") as archive:
        archive.addfile(tarfile.TarInfo(name))
    assert "does not belong" in knowledge("restore", "a.tar").err


def test_a_sparse_file_in_a_backup_is_not_unpacked(home: Path, knowledge: Command) -> None:
    entry = tarfile.TarInfo("jobs/a.json")
    entry.type = tarfile.GNUTYPE_SPARSE
    head = bytearray(entry.tobuf(tarfile.GNU_FORMAT))
    head[483:495] = b"37777777777\0"  # eight gigabytes of zeros, of which no byte is in the archive
    head[148:156] = b" " * 8
    head[148:156] = f"{sum(head):06o}\0 ".encode()
    Path("a.tar").write_bytes(bytes(head) + bytes(1024))
    refused = knowledge("restore", "a.tar")
    assert "does not belong" in refused.err


def test_a_store_that_cannot_be_opened_is_replaced(store: SqliteStore, home: Path, knowledge: Command) -> None:
    knowledge("backup", "a.tar")
    store.close()
    (home / "data" / "knowledge.sqlite").write_bytes(b"no store at all" * 1000)
    assert knowledge("restore", "a.tar", "--force").code == 0
    again = opened(home)
    assert contents(again) == ["alpha one"]
    again.close()


@pytest.mark.parametrize("damage", ["UPDATE texts SET text = 'other'", "UPDATE vectors SET vector = x'00'", ""])
def test_a_damaged_store_is_not_called_a_backup(store: SqliteStore, knowledge: Command, damage: str) -> None:
    connection: Any = apsw.Connection(store.identity.location)
    if damage:
        connection.execute(damage).fetchall()
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    (size,), (page,) = (
        connection.execute(each).fetchone()
        for each in ("PRAGMA page_size", "SELECT rootpage FROM sqlite_schema WHERE name = 'generations'")
    )
    connection.close()
    if not damage:  # a page that is none
        with Path(store.identity.location).open("r+b") as file:
            file.seek((page - 1) * size)
            file.write(b"?" * size)
    done = knowledge("backup", "a.tar")
    assert done.code == 1
    assert "The store is damaged" in done.err
    assert not Path("a.tar").exists()
    store.close()


def test_a_server_is_not_backed_up_into_a_file(home: Path, knowledge: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VECTOR_STORE", "qdrant")
    monkeypatch.setenv("QDRANT_URL", "http://127.0.0.1:6333")
    done = knowledge("backup", "a.tar")
    assert done.code == 3
    assert "snapshots" in done.err
    assert not (home / "a.tar").exists()


def test_a_copy_is_of_one_state_whatever_is_written_between_its_steps(store: SqliteStore, home: Path) -> None:
    put(store, "e", [f"alpha {number} {'word ' * 2000}" for number in range(400)])
    steps: list[int] = []

    def write(done: int, _total: int) -> None:
        steps.append(done)
        put(store, f"later{len(steps)}", ["alpha later"])

    copy_store(home / "data" / "knowledge.sqlite", home / "copy", write)
    assert len(steps) > 1
    assert check_copy(home / "copy") == {"documents": 2, "chunks": 401}
    put_in_place(home / "copy", home / "data" / "knowledge.sqlite")
    assert counts_of(store.open("c")).documents == 2
    store.close()
    (home / "copy").write_bytes(b"")
    with pytest.raises(InternalError, match="damaged"):
        check_copy(damaged(home))


def damaged(home: Path) -> Path:
    """Write a store with one wrong word."""
    path = home / "data" / "knowledge.sqlite"
    connection: Any = apsw.Connection(os.fspath(path))
    connection.execute("UPDATE chunks SET payload = replace(payload, 'alpha one', 'alpha two')").fetchall()
    connection.close()
    return path
