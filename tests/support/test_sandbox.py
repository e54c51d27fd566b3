"""The sandbox: a child process does the work, and whatever it does, its parent is informed and continues."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from knowledge_mcp.support import sandbox as sandbox_module
from knowledge_mcp.support import sandbox_worker as worker
from knowledge_mcp.support.sandbox import FailureKind, Limits, Refusal, Sandbox, SandboxFailure

JOBS = "tests.support.sandbox_jobs"
MIB = 1 << 20


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    made = Sandbox()
    yield made
    made.close()


def values(sandbox: Sandbox, name: str, limits: Limits | None = None, **arguments: Any) -> Generator[Any]:
    return sandbox.run(f"{JOBS}:{name}", arguments, limits=limits)


def failure(sandbox: Sandbox, name: str, limits: Limits | None = None, **arguments: Any) -> SandboxFailure:
    with pytest.raises(SandboxFailure) as caught:
        list(values(sandbox, name, limits, **arguments))
    return caught.value


def pid(sandbox: Sandbox) -> int:
    return int(next(iter(list(values(sandbox, "identity"))))["pid"])


def is_gone(process: int) -> bool:
    with suppress(ProcessLookupError):
        os.kill(process, 0)
        return False
    return True


def test_values_come_back_in_order(sandbox: Sandbox) -> None:
    assert list(values(sandbox, "count", to=2000)) == list(range(2000))


def test_a_child_that_did_its_job_is_used_again(sandbox: Sandbox) -> None:
    assert pid(sandbox) == pid(sandbox) != os.getpid()


def test_two_jobs_at_once_have_a_child_each(sandbox: Sandbox) -> None:
    meeting = threading.Barrier(2, timeout=20)

    def first_value(_: int) -> int:
        with closing(values(sandbox, "wait_for", path="/nonexistent/never")) as running:
            process = int(next(running))
            meeting.wait()
            return process

    with ThreadPoolExecutor(2) as pool:
        one, other = pool.map(first_value, range(2))
    assert one != other


def test_the_child_knows_no_secret_and_has_streams_of_its_own(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    (child,) = values(sandbox, "identity")
    result = {"HOME", "PYTHONPATH", "PYTHONUTF8", "TMPDIR"}
    by_the_package = {"ANONYMIZED_TELEMETRY", "DO_NOT_TRACK", "HF_HUB_DISABLE_TELEMETRY", "ORT_DISABLE_TELEMETRY"}
    assert set(child["environment"]) == result | by_the_package
    assert child["stdin"] == ""
    assert child["session"] != os.getsid(0)


def test_what_the_child_prints_does_not_disturb_its_values(sandbox: Sandbox, capfd: pytest.CaptureFixture[str]) -> None:
    assert list(values(sandbox, "chatter")) == [b"\x00\xff payload"]
    assert capfd.readouterr() == ("", "")


def test_a_refusal_keeps_its_words_and_the_child(sandbox: Sandbox) -> None:
    before = pid(sandbox)
    with pytest.raises(Refusal) as caught:
        list(values(sandbox, "refuse"))
    refusal = caught.value
    assert (refusal.reason, refusal.message, refusal.details) == ("empty", "There is nothing.", "0 pages")
    assert refusal.suggestion == "Try another."
    assert pid(sandbox) == before


@pytest.mark.parametrize(
    ("job", "kind", "said"),
    [
        ("fail", FailureKind.FAILED, "ZeroDivisionError: a bug"),
        ("crash", FailureKind.CRASHED, "SIGSEGV"),
        ("leave", FailureKind.CRASHED, "exit code 7"),
    ],
)
def test_a_job_that_breaks_is_reported_and_its_child_replaced(
    sandbox: Sandbox, job: str, kind: FailureKind, said: str
) -> None:
    before = pid(sandbox)
    result = failure(sandbox, job)
    assert result.kind is kind
    assert said in result.details
    assert is_gone(before)
    assert pid(sandbox) != before


def test_values_before_a_failure_are_delivered(sandbox: Sandbox) -> None:
    running = values(sandbox, "fail")
    assert next(running) == 1
    with pytest.raises(SandboxFailure):
        next(running)


def test_a_job_that_asks_for_too_much_memory_is_stopped(sandbox: Sandbox) -> None:
    result = failure(sandbox, "eat", Limits(memory=64 * MIB), size=512 * MIB)
    assert result.kind is FailureKind.OUT_OF_MEMORY
    assert list(values(sandbox, "eat", Limits(memory=64 * MIB), size=MIB)) == [MIB]


def test_the_memory_limit_of_one_job_does_not_bind_the_next(sandbox: Sandbox) -> None:
    assert list(values(sandbox, "eat", Limits(memory=64 * MIB), size=MIB)) == [MIB]
    assert list(values(sandbox, "eat", Limits(memory=1024 * MIB), size=200 * MIB)) == [200 * MIB]


@pytest.mark.parametrize("job", ["spin", "stall"])
def test_a_job_that_never_ends_is_stopped(sandbox: Sandbox, job: str) -> None:
    result = failure(sandbox, job, Limits(seconds=30, silence=0.3))
    assert result.kind is FailureKind.TOO_SLOW
    assert "without a sign of progress" in result.details


def test_time_in_all_is_limited_too(sandbox: Sandbox) -> None:
    result = failure(sandbox, "stall", Limits(seconds=0.4, silence=30))
    assert result.kind is FailureKind.TOO_SLOW
    assert "in all" in result.details


def test_a_value_larger_than_allowed_is_not_taken_in(sandbox: Sandbox) -> None:
    assert failure(sandbox, "wide", Limits(frame=1000), size=2000).kind is FailureKind.OUT_OF_MEMORY


def test_closing_the_generator_kills_the_child_before_it_continues(sandbox: Sandbox, tmp_path: Path) -> None:
    running = values(sandbox, "wait_for", path="/nonexistent/never")
    process = int(next(running))
    running.close()
    assert is_gone(process)


def test_a_child_that_grew_is_not_kept() -> None:
    with closing(Sandbox(retire_above=0)) as sandbox:
        assert pid(sandbox) != pid(sandbox)


def test_a_child_that_ended_while_idle_is_replaced_silently(sandbox: Sandbox) -> None:
    before = pid(sandbox)
    os.kill(before, signal.SIGKILL)
    assert pid(sandbox) != before


def test_closing_the_sandbox_ends_its_idle_children() -> None:
    sandbox = Sandbox()
    process = pid(sandbox)
    sandbox.close()
    assert is_gone(process)


def test_a_sandbox_that_is_dropped_takes_its_children_along() -> None:
    sandbox = Sandbox()
    process = pid(sandbox)
    del sandbox
    assert is_gone(process)


def serve(*lines: bytes) -> list[tuple[bytes, bytes]]:
    """Run the child's side in this process, without its limits, and collect its frames."""
    request_end, requests = os.pipe()
    replies, reply_end = os.pipe()
    os.write(requests, b"".join(lines))
    os.close(requests)
    worker.serve(request_end, reply_end, idle_seconds=5, confine=lambda memory, seconds: None)
    with os.fdopen(replies, "rb") as stream:
        data = stream.read()
    frames: list[tuple[bytes, bytes]] = []
    while data:
        kind, length = worker.HEADER.unpack_from(data)
        start = worker.HEADER.size
        frames.append((kind, data[start : start + length]))
        data = data[start + length :]
    return frames


def request(name: str, **arguments: Any) -> bytes:
    import json

    job = {"function": f"{JOBS}:{name}", "arguments": arguments, "memory": MIB, "seconds": 1}
    return json.dumps(job).encode() + b"\n"


def test_the_worker_serves_jobs_until_its_input_ends() -> None:
    kinds = [kind for kind, _ in serve(request("count", to=2), request("chatter"), request("refuse"))]
    accepted, value, done = worker.ACCEPTED, worker.VALUE, worker.DONE
    assert kinds == [accepted, value, value, done, accepted, worker.BYTES, done, accepted, value, worker.REFUSED]


def test_the_worker_takes_no_job_after_one_that_broke_it() -> None:
    kinds = [kind for kind, _ in serve(request("fail"), request("count", to=1))]
    assert kinds == [worker.ACCEPTED, worker.VALUE, worker.FAILED]


def test_half_a_request_is_no_request() -> None:
    assert serve(request("count", to=1)[:-5]) == []


def test_a_worker_without_work_ends() -> None:
    request_end, requests = os.pipe()
    replies, reply_end = os.pipe()
    worker.serve(request_end, reply_end, idle_seconds=0, confine=lambda memory, seconds: None)
    os.close(requests)
    assert os.read(replies, 1) == b""
    os.close(replies)


def confined(setup: str, then: str) -> int:
    """Confine an interpreter to 64 MiB and two seconds of processor time, and return its exit code."""
    script = f"""
import threading
from knowledge_mcp.support import sandbox as sandbox_module
from knowledge_mcp.support import sandbox_worker as worker
{setup}
worker.confine({64 * MIB}, 1.0)
{then}
"""
    return subprocess.run([sys.executable, "-c", script], check=False, timeout=60, stderr=subprocess.DEVNULL).returncode


def test_a_confined_process_gets_no_more_memory_than_allowed() -> None:
    assert confined("", f"worker.confine({64 * MIB}, 1.0); bytearray({16 * MIB})") == 0
    assert confined("", f"bytearray({256 * MIB})") == 1


def test_where_the_system_has_no_limit_a_watch_ends_the_process() -> None:
    without = "worker._START['mapped'] = None"
    assert confined(without, f"held = bytearray({256 * MIB}); threading.Event().wait(50)") == worker.MEMORY_EXIT


@pytest.mark.slow
def test_a_confined_process_gets_no_more_processor_time_than_allowed() -> None:
    assert confined("", "while True: pass") == -signal.SIGXCPU


LARGE_PARENT = """
import os, sys
sys.path.insert(0, os.getcwd())
from knowledge_mcp.support.sandbox import Limits, Sandbox, SandboxFailure
weight = b"x" * (500 << 20)
sandbox = Sandbox(Limits(memory=512 << 20))
first, second = (list(sandbox.run("tests.support.sandbox_jobs:identity", {}))[0]["pid"] for _ in range(2))
print("same" if first == second else "another")
try:
    list(sandbox.run("tests.support.sandbox_jobs:crash", {}))
except SandboxFailure as failure:
    print(failure.kind.value, len(weight) >> 20)
sandbox.close()
"""


def test_the_size_of_a_large_parent_is_not_taken_for_its_childs() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LARGE_PARENT], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.stdout.split() == ["same", "crashed", "500"], done.stderr


def test_children_start_after_a_sweep_that_failed(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    failed = threading.Event()

    def sweep() -> None:
        failed.set()
        raise OSError("no folder can be read")

    monkeypatch.setattr(sandbox_module, "_SWEEP", 0.01)
    monkeypatch.setattr(sandbox_module, "_sweep", sweep)
    starter = sandbox_module._Starter()  # pyright: ignore[reportPrivateUsage]
    for _ in range(2):
        with starter.start(lambda: subprocess.Popen([sys.executable, "-c", ""])) as child:
            assert child.wait(20) == 0
        assert failed.wait(20)
        failed.clear()
    assert "could not be cleared away" in caplog.text
