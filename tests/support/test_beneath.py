"""Files opened beneath a folder: links never lead out of it, by the kernel's call and step by step alike."""

from __future__ import annotations

import ctypes
import errno
import os
import stat
from pathlib import Path

import pytest

from knowledge_mcp.support import files
from knowledge_mcp.support.files import NotRegularError, identity_of, open_beneath, open_same


@pytest.fixture(params=["at once", "step by step", "refused by the kernel"], autouse=True)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Open by `openat2`, where it is missing, and where a container's filter refuses it."""

    def refused(*_: object) -> int:
        ctypes.set_errno(errno.EPERM)
        return -1

    if request.param == "step by step":
        monkeypatch.setattr(files, "_system_call", lambda: None)
    elif request.param == "refused by the kernel":
        monkeypatch.setattr(files, "_system_call", lambda: refused)
    return request.param


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "root" / "deep" / "er").mkdir(parents=True)
    (tmp_path / "root" / "deep" / "er" / "a.txt").write_text("inside")
    (tmp_path / "out" / "er").mkdir(parents=True)
    (tmp_path / "out" / "er" / "a.txt").write_text("outside")
    return tmp_path / "root"


def test_a_file_beneath_the_root_is_opened(root: Path) -> None:
    for place in (root, None, root / "deep" / "er" / "a.txt"):
        with open_beneath(place, root / "deep" / "er" / "a.txt") as stream:
            assert stream.read() == b"inside"
    (root / "b.txt").write_text("at the top")
    with open_beneath(root, root / "b.txt") as stream:
        assert stream.read() == b"at the top"


@pytest.mark.parametrize("link", ["deep", "deep/er", "deep/er/a.txt"])
def test_no_link_on_the_way_is_followed(root: Path, link: str) -> None:
    (root / link).rename(root / "moved")
    (root / link).symlink_to(root.parent / "out" / Path(link).relative_to("deep"))
    with pytest.raises(OSError, match=r"links|directory"):
        open_beneath(root, root / "deep" / "er" / "a.txt")


def test_no_step_upwards_is_taken(root: Path) -> None:
    with pytest.raises(OSError, match="cross-device"):
        open_beneath(root, root / "deep" / ".." / ".." / "out" / "er" / "a.txt")


def test_only_regular_files_are_opened(root: Path) -> None:
    os.mkfifo(root / "pipe")
    (root / "link").symlink_to(root / "deep" / "er" / "a.txt")
    for name in ("pipe", "deep"):
        with pytest.raises(NotRegularError):
            open_beneath(root, root / name)
    with pytest.raises(NotRegularError):
        open_beneath(None, Path("/dev/zero"))
    with pytest.raises(OSError, match="links"):
        open_beneath(root, root / "link")
    with pytest.raises(FileNotFoundError):
        open_beneath(root, root / "none" / "a.txt")


def test_a_folder_that_may_be_entered_but_not_listed_is_no_obstacle(root: Path) -> None:
    (root / "deep").chmod(stat.S_IXUSR)
    with open_beneath(root, root / "deep" / "er" / "a.txt") as stream:
        assert stream.read() == b"inside"
    (root / "deep").chmod(stat.S_IRWXU)


def test_another_file_in_its_place_is_not_the_same(root: Path) -> None:
    path = root / "deep" / "er" / "a.txt"
    with open_beneath(root, path) as stream:
        identity = identity_of(stream)
    with open_same(root, path, identity) as stream:
        assert stream.read() == b"inside"
    path.unlink()
    path.write_text("another")
    with pytest.raises(OSError, match="replaced or changed"):
        open_same(root, path, identity)


def test_no_descriptor_is_left_open(root: Path) -> None:
    path = root / "deep" / "er" / "a.txt"
    before = len(list(Path("/dev/fd").iterdir()))
    for _ in range(20):
        open_beneath(root, path).close()
        for wrong in (root / "deep" / "er" / "none", root / "none" / "a.txt", root / "deep"):
            with pytest.raises(OSError, match=r"No such|regular"):
                open_beneath(root, wrong)
    assert len(list(Path("/dev/fd").iterdir())) == before
