"""What Windows does otherwise, played on this machine: its locks, its jobs, its pipes and its missing calls.

Stand-ins take the place of the system's libraries; they keep to what those document. Nothing here shows that Windows
itself does so.
"""

from __future__ import annotations

import ctypes
import errno
import os
import select
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import pytest

from knowledge_mcp.support import locks, sandbox, sandbox_worker
from knowledge_mcp.support.files import NotRegularError, open_beneath, remove_folder, write_atomically
from knowledge_mcp.support.sandbox import FailureKind, Limits, Sandbox, SandboxFailure
from knowledge_mcp.support.system import processes, windows
from knowledge_mcp.support.system.locking import open_folder, release_folder, try_lock

JOBS = "tests.support.sandbox_jobs"
HOLDER = (
    "import fcntl, sys; held = open(sys.argv[1], 'r+b'); fcntl.lockf(held, fcntl.LOCK_EX, 1, 0x7FFFFFFE);"
    "print(1, flush=True); input()"
)


def _locking(descriptor: int, mode: int, count: int) -> None:
    """Lock bytes from where the file stands, as `msvcrt.locking` does: for one descriptor, without waiting."""
    import fcntl
    import struct

    assert mode == 2
    begin = os.lseek(descriptor, 0, os.SEEK_CUR)
    asked = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, begin, count, 0)
    try:
        fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, asked)
    except OSError as error:
        raise OSError(errno.EACCES, "Permission denied") from error


class Kernel:
    """Stand in for kernel32 and ntdll: keep jobs, and note what is asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.limits: dict[int, Any] = {}
        self.members: dict[int, int] = {}
        self.refused = ""
        self.exit_code = 259

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)

        def call(*arguments: Any) -> int:
            self.asked.append(name)
            if name == self.refused:
                return -1 if name.startswith("Nt") else 0
            special = getattr(type(self), f"_{name}", None)
            return 1 if special is None else special(self, *arguments)

        return call

    def _CreateJobObjectW(self, *_: Any) -> int:  # noqa: N802 - the system's names
        return 7 + len(self.limits)

    def _SetInformationJobObject(self, job: Any, kind: int, limits: Any, size: int) -> int:  # noqa: N802
        assert (kind, size) == (9, ctypes.sizeof(limits._obj))
        self.limits[job.value] = (limits._obj.flags, limits._obj.process_memory, limits._obj.processes)
        return 1

    def _AssignProcessToJobObject(self, job: Any, handle: Any) -> int:  # noqa: N802
        self.members[job.value] = handle.value
        return 1

    def _TerminateJobObject(self, job: Any, code: int) -> int:  # noqa: N802
        os.kill(self.members[job.value], 9)
        return code

    def _NtResumeProcess(self, _: Any) -> int:  # noqa: N802
        return 0

    def _GetExitCodeProcess(self, _: Any, result: Any) -> int:  # noqa: N802
        result._obj.value = self.exit_code
        return 1

    def _K32GetProcessMemoryInfo(self, handle: Any, result: Any, size: int) -> int:  # noqa: N802
        result._obj.committed, result._obj.peak_committed = 50 << 20, 60 << 20
        return size

    def _QueryInformationJobObject(self, job: Any, kind: int, result: Any, *_: Any) -> int:  # noqa: N802
        result._obj.process_peak = 70 << 20
        return kind

    def _GetSystemWindowsDirectoryW(self, name: Any, size: int) -> int:  # noqa: N802
        name.value = "C:\\Windows"
        return size


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> Kernel:
    """Play Windows in this process; the children that it starts are this machine's own."""
    made = Kernel()
    begun = subprocess.Popen

    def popen(*arguments: Any, creationflags: int = 0, **others: Any) -> Any:
        assert creationflags == 0x0800_0004  # without a window, and not running yet
        return begun(*arguments, **others)

    def library(_: str) -> Kernel:
        return made

    def handle_of(process: subprocess.Popen[bytes]) -> ctypes.c_void_p:
        return ctypes.c_void_p(process.pid)

    def has_input(pipe: int) -> bool:
        return bool(select.select([pipe], [], [], 0)[0])

    fake: Any = types.ModuleType("msvcrt")
    fake.LK_NBLCK, fake.locking = 2, _locking
    monkeypatch.setitem(sys.modules, "msvcrt", fake)
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(windows, "_library", library)
    monkeypatch.setattr(windows, "_handle_of", handle_of)
    monkeypatch.setattr(windows, "has_input", has_input)
    monkeypatch.setattr(processes.subprocess, "Popen", popen)
    return made


def test_the_layouts_are_those_of_a_64_bit_system() -> None:
    layouts = vars(windows)
    assert ctypes.sizeof(layouts["_Limits"]) == 144
    assert ctypes.sizeof(layouts["_Memory"]) == 72


def test_a_lock_is_held_by_one_at_a_time_and_its_file_stays_readable(kernel: Kernel, tmp_path: Path) -> None:
    with locks.hold_lock(tmp_path, "thing") as mine:
        assert mine
        assert not locks.is_free(tmp_path, "thing")
        with locks.hold_lock(tmp_path, "thing", give_up=lambda: True) as other:
            assert not other
        (file,) = tmp_path.iterdir()
        assert file.read_bytes() == b""
    assert locks.is_free(tmp_path, "thing")
    assert list(tmp_path.iterdir()) == []


def test_a_lock_of_another_process_is_seen_and_goes_with_it(kernel: Kernel, tmp_path: Path) -> None:
    file = tmp_path / "held"
    file.touch()
    descriptor = os.open(file, os.O_RDWR)
    with _holder(file) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"1\n"
        assert not try_lock(descriptor)
        other.kill()
    assert try_lock(descriptor)
    os.close(descriptor)


def _holder(file: Path) -> subprocess.Popen[bytes]:
    command, pipe = [sys.executable, "-c", HOLDER, str(file)], subprocess.PIPE
    return subprocess.Popen(command, creationflags=0x0800_0004, stdin=pipe, stdout=pipe)


def test_whether_a_process_runs_is_asked_without_sending_it_anything(
    kernel: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    def kill(*_: Any) -> None:
        raise AssertionError("it would send Ctrl-C")

    monkeypatch.setattr(os, "kill", kill)
    assert processes.is_running(4)
    kernel.exit_code = 0
    assert not processes.is_running(4)
    kernel.refused = "OpenProcess"
    for error, runs in ((5, True), (87, False)):
        monkeypatch.setattr(ctypes, "get_last_error", lambda error=error: error, raising=False)
        assert processes.is_running(4) == runs


def test_a_folder_goes_with_files_that_may_not_be_written(
    kernel: Kernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, other = tmp_path / "clone", tmp_path / "other"
    (folder / "objects").mkdir(parents=True)
    packed = folder / "objects" / "pack"
    for file in (packed, other):
        file.touch(mode=0o444)
    (folder / "link").symlink_to(other)
    unlink = os.unlink

    def remove(path: Any, *, dir_fd: int | None = None) -> None:
        if not os.stat(path, dir_fd=dir_fd, follow_symlinks=False).st_mode & 0o200:
            raise PermissionError(errno.EACCES, "Access is denied")
        unlink(path, dir_fd=dir_fd)

    monkeypatch.setattr(os, "unlink", remove)
    remove_folder(folder)
    assert not folder.exists()
    assert other.stat().st_mode & 0o777 == 0o444


def test_another_error_of_a_lock_is_not_taken_for_a_holder(kernel: Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> None:
        raise OSError(errno.EBADF, "Bad file descriptor")

    monkeypatch.setattr(sys.modules["msvcrt"], "locking", broken)
    with open(os.devnull, "rb") as opened, pytest.raises(OSError, match="Bad file descriptor"):  # noqa: PTH123
        try_lock(opened.fileno())


def test_a_folder_is_locked_by_a_file_beside_it_that_goes_with_it(kernel: Kernel, tmp_path: Path) -> None:
    folder = tmp_path / "reading"
    folder.mkdir()
    held = open_folder(folder, new=True)
    assert try_lock(held)
    other = open_folder(folder)
    assert not try_lock(other)
    os.close(other)
    folder.rmdir()
    release_folder(held, folder)
    assert list(tmp_path.iterdir()) == []


def test_jobs_run_in_a_child_that_the_system_s_job_limits(kernel: Kernel) -> None:
    made = Sandbox()
    assert list(made.run(f"{JOBS}:count", {"to": 300}, limits=Limits(memory=10 << 20))) == list(range(300))
    (result,) = kernel.limits.values()
    assert result == (0x2000 | 0x400 | 0x100 | 0x8, 60 << 20, 1)  # ends with us, no dialog, memory, alone
    assert kernel.asked.index("AssignProcessToJobObject") < kernel.asked.index("NtResumeProcess")
    made.close()
    assert "TerminateJobObject" in kernel.asked


def test_a_job_that_never_ends_is_stopped_by_ending_its_tree(kernel: Kernel) -> None:
    made = Sandbox()
    with pytest.raises(SandboxFailure) as caught:
        list(made.run(f"{JOBS}:stall", {}, limits=Limits(silence=0.5)))
    assert caught.value.kind is FailureKind.TOO_SLOW
    assert "TerminateJobObject" in kernel.asked


def test_a_crash_near_the_memory_limit_is_reported_as_that(kernel: Kernel) -> None:
    made = Sandbox()
    with pytest.raises(SandboxFailure) as caught:
        list(made.run(f"{JOBS}:leave", {}, limits=Limits(memory=80 << 20)))
    assert caught.value.kind is FailureKind.OUT_OF_MEMORY


@pytest.mark.parametrize(
    "refused", ["CreateJobObjectW", "SetInformationJobObject", "AssignProcessToJobObject", "NtResumeProcess"]
)
def test_nothing_is_read_where_the_system_refuses_the_job(
    kernel: Kernel, refused: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel.refused = refused
    monkeypatch.setattr(ctypes, "get_last_error", lambda: 5, raising=False)
    with pytest.raises(OSError, match="Windows refused"):
        list(Sandbox().run(f"{JOBS}:count", {"to": 1}))
    assert "NtResumeProcess" not in kernel.asked or refused == "NtResumeProcess"


def test_a_worker_without_limits_of_its_own_still_serves_jobs() -> None:
    code = (
        "import sys, importlib; sys.modules['resource'] = None; sys.platform = 'win32';"
        "from knowledge_mcp.support.system import windows; windows.has_input = lambda _: True;"
        "windows.own_peak = lambda: 5;"
        "from knowledge_mcp.support.sandbox_worker import main; main(5.0, 1, 'tests.support.sandbox_jobs', '.')"
    )
    job = b'{"function": "tests.support.sandbox_jobs:count", "arguments": {"to": 2}, "memory": 1000, "seconds": 5}\n'
    done = subprocess.run([sys.executable, "-c", code], input=job, capture_output=True, timeout=60, check=True)
    kinds = [kind for kind, _ in _frames(done.stdout)]
    assert kinds == [sandbox_worker.ACCEPTED, sandbox_worker.VALUE, sandbox_worker.VALUE, sandbox_worker.DONE]
    assert _frames(done.stdout)[-1][1] == b'{"peak":5}'


def _frames(stream: bytes) -> list[tuple[bytes, bytes]]:
    found: list[tuple[bytes, bytes]] = []
    while stream:
        kind, length = sandbox_worker.HEADER.unpack(stream[: sandbox_worker.HEADER.size])
        stream = stream[sandbox_worker.HEADER.size :]
        found.append((kind, stream[:length]))
        stream = stream[length:]
    return found


def test_a_file_is_opened_beneath_its_root_and_no_link_leads_out(kernel: Kernel, tmp_path: Path) -> None:
    root, secret = tmp_path / "root", tmp_path / "secret"
    root.mkdir()
    secret.mkdir()
    (secret / "key.md").write_bytes(b"secret")
    (root / "plain.md").write_bytes(b"plain")
    (root / "link.md").symlink_to(secret / "key.md")
    (root / "folder").symlink_to(secret)
    with open_beneath(root, root / "plain.md") as stream:
        assert stream.read() == b"plain"
    for name in ("link.md", "folder/key.md"):
        with pytest.raises(OSError, match="symbolic links"):
            open_beneath(root, root / name)
    with pytest.raises(NotRegularError):
        open_beneath(root, secret.parent / "root")


def test_a_file_is_written_whole_without_asking_for_its_folder(kernel: Kernel, tmp_path: Path) -> None:
    write_atomically(tmp_path / "made" / "one", b"whole", durable=True, private=True)
    assert (tmp_path / "made" / "one").read_bytes() == b"whole"


def test_the_interpreter_of_the_child_is_the_one_behind_the_environment(
    kernel: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "_base_executable", "C:\\Python\\python.exe", raising=False)
    assert processes.interpreter() == "C:\\Python\\python.exe"
    assert not processes.ran_out_of_time(-24)
    assert sandbox.Refusal is sandbox_worker.Refusal
