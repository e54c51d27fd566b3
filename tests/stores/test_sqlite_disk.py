"""The SQLite store on its disk: only its owner reads it, and a closed one is read where nothing can be written."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.model.errors import ConnectionFailedError
from knowledge_mcp.stores.sqlite.backup import copy_store
from knowledge_mcp.stores.sqlite.store import SqliteStore
from knowledge_mcp.support.files import make_private_folder
from knowledge_mcp.testing.store_search import put
from knowledge_mcp.testing.store_values import SPACE, unit_vector


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def filled(path: Path) -> SqliteStore:
    store = SqliteStore(path, EnglishAnalyser())
    store.create_collection("c", SPACE)
    put(store, "d", ["alpha"])
    return store


def found(store: SqliteStore) -> list[str]:
    legs = store.open("c").search(vector=unit_vector("alpha"), text="alpha", filter=None, limit=5)
    return [each.content for each in store.open("c").chunks("id", [hit.chunk_id for hit in legs.lexical or ()])]


def test_new_files_and_folders_are_their_owners_only(tmp_path: Path) -> None:
    store = filled(tmp_path / "new" / "data" / "knowledge.sqlite")
    assert [mode(tmp_path / "new"), mode(tmp_path / "new" / "data")] == [0o700, 0o700]
    files = list((tmp_path / "new" / "data").iterdir())
    assert len(files) == 3, "the log and its index too"
    assert {mode(each) for each in files} == {0o600}
    store.close()


def test_a_folder_that_the_platform_shares_stays_shared_and_others_stay_as_they_are(tmp_path: Path) -> None:
    volume = tmp_path / "volume"
    volume.mkdir()
    volume.chmod(0o2770)
    store = filled(volume / "data" / "knowledge.sqlite")
    assert mode(volume) == 0o2770
    assert mode(volume / "data") & 0o777 == 0o770
    assert mode(volume / "data" / "knowledge.sqlite") == 0o660
    store.close()
    mine = tmp_path / "mine"
    mine.mkdir()
    mine.chmod(0o755)
    store = filled(mine / "knowledge.sqlite")
    assert (mode(mine), mode(mine / "knowledge.sqlite")) == (0o755, 0o600)
    store.close()


def test_what_is_no_folder_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(OSError, match="exists"):
        make_private_folder(tmp_path / "file")


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """Mount a file system of its own."""
    place = tmp_path / "disk"
    place.mkdir()
    line = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(place)]
    if os.geteuid() != 0 or subprocess.run(line, capture_output=True, check=False).returncode:
        pytest.skip("mounting a file system is not permitted here")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_closed_store_on_a_read_only_disk_is_searched(disk: Path) -> None:
    filled(disk / "knowledge.sqlite").close()
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    store = SqliteStore(disk / "knowledge.sqlite", EnglishAnalyser())
    assert found(store) == ["alpha"]
    assert store.open("c").verify() == []
    with pytest.raises(ConnectionFailedError, match=r"^'knowledge\.sqlite' cannot be opened for writing"):
        put(store, "e", ["beta"])
    subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)
    put(store, "e", ["alpha"])
    assert found(store) == ["alpha", "alpha"], "what is written after all is seen"
    store.close()


def test_a_copy_that_has_no_space_names_itself_and_not_the_store(disk: Path, tmp_path: Path) -> None:
    filled(tmp_path / "knowledge.sqlite").close()
    with (disk / "fill").open("wb") as stream:
        stream.truncate(1)
        os.posix_fallocate(stream.fileno(), 0, shutil.disk_usage(disk).free - 16 * 1024)
    with pytest.raises(ConnectionFailedError, match=r"^There is no space left to write to 'monday\.tar'"):
        copy_store(tmp_path / "knowledge.sqlite", disk / "monday.tar", lambda done, pages: None)


def test_a_closed_store_on_a_full_disk_is_searched(disk: Path) -> None:
    filled(disk / "knowledge.sqlite").close()
    with (disk / "fill").open("wb", buffering=0) as stream:
        try:
            while stream.write(bytes(4096)):
                pass
        except OSError:
            pass
    store = SqliteStore(disk / "knowledge.sqlite", EnglishAnalyser())
    assert found(store) == ["alpha"]
    with pytest.raises(ConnectionFailedError, match="no space left"):
        put(store, "e", ["beta"])
    (disk / "fill").unlink()
    put(store, "e", ["alpha"])
    assert found(store) == ["alpha", "alpha"]
    store.close()
