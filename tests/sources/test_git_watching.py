"""What a remote sends without end: it is read to a bound, and takes neither the memory nor the disk of this machine."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from knowledge_mcp.model.errors import InternalError, InvalidInputError
from knowledge_mcp.sources.git import process, watching
from knowledge_mcp.sources.git.process import git_error
from knowledge_mcp.sources.git.source import GitClones
from knowledge_mcp.support.system.processes import end_tree, start_tree
from tests.servers.git_server import GitServer, MadeRepository

TALKS = (
    "import sys\nfor n in range(200):\n    sys.stderr.write('y' * 100_000)\nsys.stderr.write('the end')\nprint('done')"
)
NEVER_ENDS = "import sys\nwhile True:\n    sys.stdout.write('refs/heads/x\\n' * 1000)"


@pytest.fixture
def started() -> Generator[list[subprocess.Popen[bytes]]]:
    processes: list[subprocess.Popen[bytes]] = []
    yield processes
    for each in processes:
        end_tree(each)
        each.wait(20)
        for stream in (each.stdout, each.stderr):
            assert stream is not None
            stream.close()


def _start(program: str, started: list[subprocess.Popen[bytes]]) -> subprocess.Popen[bytes]:
    command, pipe = [sys.executable, "-c", program], subprocess.PIPE
    started.append(start_tree(command, env=dict(os.environ), stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe))
    return started[-1]


def test_of_what_a_remote_says_for_hours_the_end_is_kept(started: list[subprocess.Popen[bytes]]) -> None:
    """Twenty megabytes were kept of this, and a gigabyte of fifteen seconds of it."""
    output, said = watching.read_all(_start(TALKS, started), "it", lambda: None)
    assert output.strip() == b"done"
    assert len(said) == 64 * 1024
    assert said.endswith(b"the end")


def test_an_answer_that_does_not_end_is_given_up(
    started: list[subprocess.Popen[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "_MOST_OUTPUT", 100_000)
    with pytest.raises(InvalidInputError, match="more references or files than can be listed"):
        watching.read_all(_start(NEVER_ENDS, started), "it", lambda: None)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a process is not limited from outside")
def test_git_gets_so_much_memory_and_no_more(
    started: list[subprocess.Popen[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "_MEMORY", 300 * 1024 * 1024)
    process = _start("import time\ntime.sleep(1)\nbytes(10**9)", started)
    watching.bound(process)
    _, said = watching.read_all(process, "it", lambda: None)
    assert b"MemoryError" in said
    error = git_error("fatal: Out of memory, realloc failed", what="It")
    assert isinstance(error, InvalidInputError)
    assert "more memory" in error.message


def test_a_clone_leaves_some_of_the_disk_to_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    MadeRepository(tmp_path / "served" / "someone" / "large").commit({"a.txt": "a\n"})
    monkeypatch.setattr(watching, "_LEFT", 2.0)  # twice of what is free: there is never enough
    with GitServer(tmp_path / "served") as server:
        clones = GitClones(tmp_path / "clones", loopback_http=True)
        with pytest.raises(InternalError, match="not enough disk space"):
            clones.clone(server.url("someone/large"))
    assert [each.name for each in (tmp_path / "clones").iterdir() if not each.name.endswith(".lock")] == []


def test_an_update_that_would_fill_the_disk_leaves_the_clone_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A clone was bounded, and an update was not: the tree that it checks out may be of any size."""
    made = MadeRepository(tmp_path / "served" / "someone" / "growing")
    first = made.commit({"a.txt": "a\n"})
    with GitServer(tmp_path / "served") as server:
        clones = GitClones(tmp_path / "clones", loopback_http=True)
        folder = clones.clone(server.url("someone/growing")).folder
        made.commit({"b.txt": "b\n"})

        def is_full_with_it(writes: Path | None, what: str) -> Callable[[], None]:
            def look() -> None:
                if writes is not None and (folder / "b.txt").exists():
                    raise InternalError(f"There is not enough disk space for {what}.")

            return look

        monkeypatch.setattr(process, "watch_disk", is_full_with_it)
        with pytest.raises(InternalError, match="not enough disk space"):
            clones.update("growing")
        found = clones.open("growing")
    assert found.commit == first
    assert sorted(each.name for each in folder.iterdir()) == [".git", "a.txt"]


@pytest.mark.parametrize("last", [(9, 100), (100, 9)])
def test_bytes_and_file_entries_of_a_disk_both_run_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, last: tuple[int, int]
) -> None:
    free = iter([(100, 100), (10, 10), last])

    def free_now(_: Path) -> tuple[int, int]:
        return next(free)

    monkeypatch.setattr(watching, "_free", free_now)
    look = watching.watch_disk(tmp_path, "a clone")
    look()
    with pytest.raises(InternalError, match="not enough disk space"):
        look()
