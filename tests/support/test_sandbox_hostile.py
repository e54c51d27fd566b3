"""A child that a hostile file has taken over: what it tries comes to nothing, here and with its parent."""

from __future__ import annotations

import fcntl
import io
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from knowledge_mcp.support.sandbox import FailureKind, InputFile, Limits, Sandbox, SandboxFailure
from tests.support.test_sandbox import is_gone

JOBS = "benchmarks.attacks.sandbox_jobs"


def protections() -> dict[str, str]:
    made = Sandbox(keep=0)
    (held,) = made.run("knowledge_mcp.support.sandbox_worker:protections", {})
    return held


HELD = protections() if sys.platform == "linux" else {"files": "no Linux", "system calls": "no Linux"}
needs_landlock = pytest.mark.skipif(bool(HELD["files"]), reason=f"files are not confined here: {HELD['files']}")
needs_seccomp = pytest.mark.skipif(
    bool(HELD["system calls"]), reason=f"system calls are not filtered here: {HELD['system calls']}"
)


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    made = Sandbox()
    yield made
    made.close()


def attempt(sandbox: Sandbox, what: str, target: object = "") -> str:
    (said,) = sandbox.run(f"{JOBS}:attempt", {"what": what, "target": str(target)})
    return str(said)


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    path = tmp_path / "secret.txt"
    path.write_text("sk-secret")
    return path


@needs_landlock
def test_no_file_outside_is_read(sandbox: Sandbox, secret: Path) -> None:
    places = ["/etc/passwd", "/etc/shadow", secret, f"/proc/{os.getpid()}/environ", f"/proc/{os.getpid()}/mem"]
    for place in (*places, f"/proc/self/root{secret}", "/proc/self/environ"):
        assert attempt(sandbox, "read", place).startswith("refused"), place
    assert attempt(sandbox, "list", secret.parent).startswith("refused")


@needs_seccomp
@pytest.mark.parametrize("what", ["write", "change rights", "remove", "rename", "make folder", "link"])
def test_nothing_is_written_or_changed(sandbox: Sandbox, secret: Path, what: str) -> None:
    assert attempt(sandbox, what, secret).startswith("refused")
    assert [each.name for each in secret.parent.iterdir()] == ["secret.txt"]
    assert secret.read_text() == "sk-secret"


@needs_seccomp
def test_nothing_is_connected_to(sandbox: Sandbox, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as named:
        named.bind(str(tmp_path / "named"))
        assert attempt(sandbox, "connect", server.getsockname()[1]).startswith("refused")
        assert attempt(sandbox, "send by name", tmp_path / "named").startswith("refused")
        assert select.select([server, named], [], [], 0)[0] == []
    assert attempt(sandbox, "listen").startswith("refused")


@needs_seccomp
@pytest.mark.parametrize("what", ["execute", "fork"])
def test_no_program_and_no_process_is_started(sandbox: Sandbox, what: str) -> None:
    assert attempt(sandbox, what, "/bin/true").startswith("refused")


@needs_seccomp
@pytest.mark.parametrize("what", ["trace", "read memory", "signal", "limit another"])
def test_its_parent_is_out_of_reach(sandbox: Sandbox, what: str) -> None:
    assert attempt(sandbox, what, os.getpid()).startswith("refused")


@needs_seccomp
@pytest.mark.parametrize("what", ["raise limits", "outlive"])
def test_no_limit_is_raised(sandbox: Sandbox, what: str) -> None:
    assert attempt(sandbox, what).startswith("refused")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux hides a process's memory")
def test_a_process_with_children_hides_its_memory(sandbox: Sandbox) -> None:
    list(sandbox.run(f"{JOBS}:environment", {}))
    import ctypes

    assert ctypes.CDLL(None).prctl(3, 0, 0, 0, 0) == 0


def test_the_environment_is_made_from_nothing(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    with closing(Sandbox()) as fresh:
        (environment,) = fresh.run(f"{JOBS}:environment", {})
    assert "sk-secret" not in environment.values()
    assert environment["ORT_DISABLE_TELEMETRY"] == "1"


def test_a_child_opens_no_more_than_a_few_files_at_once(sandbox: Sandbox) -> None:
    (count,) = sandbox.run(f"{JOBS}:fill_descriptors", {})
    assert count < 256


@pytest.mark.skipif(sys.platform != "linux", reason="threads are counted by /proc")
def test_a_child_that_starts_threads_without_end_is_stopped(sandbox: Sandbox) -> None:
    with pytest.raises(SandboxFailure, match="threads") as caught:
        list(sandbox.run(f"{JOBS}:threads", {"count": 600}, limits=Limits(silence=20.0)))
    assert caught.value.kind is FailureKind.CRASHED


def test_a_file_is_handed_over_by_its_bytes_and_gone_after_the_job(secret: Path) -> None:
    with closing(Sandbox()) as fresh:
        files: dict[str, InputFile] = {"target": InputFile(io.BytesIO(b"given"), ".txt")}
        (said,) = fresh.run(f"{JOBS}:attempt", {"what": "read"}, files=files)
        assert said == "got through: b'given'"
        (environment,) = fresh.run(f"{JOBS}:environment", {})
        folder = Path(environment["HOME"])
        assert list(folder.iterdir()) == []
    assert not folder.exists()


@needs_landlock
def test_a_child_cannot_read_what_another_was_given() -> None:
    with closing(Sandbox()) as fresh:
        held = fresh.run(f"{JOBS}:linger", {}, files={})
        process = next(held)
        other = Path(os.fsdecode(Path(f"/proc/{process}/environ").read_bytes().split(b"HOME=")[1].split(b"\0")[0]))
        (other / "document").write_text("of somebody else")
        (said,) = fresh.run(f"{JOBS}:attempt", {"what": "read", "target": str(other / "document")})
        held.close()
    assert said.startswith("refused")


ORPHANED = """
import os, sys, threading
sys.path.insert(0, os.getcwd())
from knowledge_mcp.support.sandbox import Sandbox
sandbox = Sandbox()
def start():
    global running
    running = sandbox.run("benchmarks.attacks.sandbox_jobs:linger", {})
    print(next(running), flush=True)
thread = threading.Thread(target=start)
thread.start()
thread.join()
threading.Event().wait()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a thread of the child sees that its parent is gone")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_no_child_outlives_its_parent_whatever_it_is_doing(how: signal.Signals) -> None:
    with subprocess.Popen([sys.executable, "-c", ORPHANED], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        assert not is_gone(child)  # it lives, though the thread that asked for it has ended
        watched = os.pidfd_open(child)
        parent.send_signal(how)
        assert select.select([watched], [], [], 20)[0]
        os.close(watched)


def test_an_idle_child_ends_by_itself_and_leaves_nothing() -> None:
    with closing(Sandbox(idle_seconds=0.05)) as fresh:
        (environment,) = fresh.run(f"{JOBS}:environment", {})
        folder = Path(environment["HOME"])
        with closing(Sandbox(idle_seconds=0.05)) as other:
            running = other.run(f"{JOBS}:linger", {})
            process = next(running)
            running.close()
            assert is_gone(process)
        ended = threading.Event()
        while folder.exists() and not ended.wait(0.05):
            fresh.reap()
    assert not folder.exists()


def test_what_a_killed_parent_left_is_cleared_away_by_the_next(tmp_path: Path) -> None:
    left, young, held = (tmp_path / f"knowledge-reading-{name}" for name in ("left", "young", "held"))
    for folder in (left, young, held):
        folder.mkdir()
        (folder / "path.pdf").write_bytes(b"of somebody")
    for folder in (left, held):
        os.utime(folder, (0, 0))
    lock = os.open(held, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_SH)
    script = "from knowledge_mcp.support.sandbox import Sandbox; list(Sandbox().run('json:loads', {'s': '[]'}))"
    subprocess.run([sys.executable, "-c", script], env={**os.environ, "TMPDIR": str(tmp_path)}, check=True, timeout=60)
    os.close(lock)
    assert sorted(tmp_path.iterdir()) == [held, young]
