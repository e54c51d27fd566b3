"""A file is written as a whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from knowledge_mcp.support.files import write_atomically


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
