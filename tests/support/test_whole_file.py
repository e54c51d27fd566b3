"""A file is read or written as a whole or not at all."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from knowledge_mcp.support.files import NotRegularError, read_whole, read_whole_text, write_atomically


@pytest.mark.parametrize("durable", [False, True])
def test_a_file_is_made_with_its_folder_and_replaced_as_a_whole(tmp_path: Path, durable: bool) -> None:
    path = tmp_path / "folder" / "state.json"
    write_atomically(path, b"first", durable=durable)
    write_atomically(path, b"second", durable=durable)
    assert path.read_bytes() == b"second"
    assert list(path.parent.iterdir()) == [path], "nothing is left beside it"


def test_a_write_that_fails_leaves_nothing_beside_what_is_there(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    path.mkdir()
    with pytest.raises(OSError, match=r"state\.json"):
        write_atomically(path, b"content")
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_is_read_whole_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(b"\xef\xbb\xbfone\r\ntwo\n")
    (tmp_path / "link").symlink_to("real")
    assert read_whole(tmp_path / "link") == b"\xef\xbb\xbfone\r\ntwo\n"
    assert read_whole_text(tmp_path / "link") == "one\ntwo\n"


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such files on Windows")
@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_what_could_be_read_without_end_is_not_opened(tmp_path: Path, kind: str) -> None:
    path = Path("/dev/zero") if kind == "device" else tmp_path / "pipe"
    if kind == "pipe":
        os.mkfifo(path)
    with pytest.raises(NotRegularError, match="not a regular file"):
        read_whole(path)


def test_a_file_larger_than_the_limit_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "large"
    with path.open("wb") as stream:
        stream.truncate(1 << 40)  # no byte of it is on the disk
    with pytest.raises(OSError, match="more than 3 MiB"):
        read_whole(path, most=3 << 20)


def test_a_folder_is_named_as_one(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        read_whole(tmp_path)
