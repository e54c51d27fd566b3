"""Jobs: done beside their callers, written down, taken up or failed after a restart, stopped without a trace."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from knowledge_mcp.engine.jobs.jobs import Jobs
from knowledge_mcp.engine.jobs.journal import FolderJournal, Job, JobState
from knowledge_mcp.engine.planning.values import PlanningError, explain
from knowledge_mcp.model.call import Call
from knowledge_mcp.model.errors import CancelledError, NotFoundError
from knowledge_mcp.support.locks import acquire, hold_lock, is_free
from knowledge_mcp.surfaces.following import HEARTBEAT
from knowledge_mcp.testing.embedders import HashingEmbedder
from tests.planning.world import REF, Gate, World, report

Work = Callable[[Mapping[str, Any], Call], Mapping[str, Any]]


def echo(request: Mapping[str, Any], line: Call) -> Mapping[str, Any]:
    line.progress(50.0, 100.0, "half way")
    return {"status": "success", "echo": request["n"]}


def until_cancelled(begun: threading.Event) -> Work:
    """Work until it is cancelled, on page 2 of 5."""

    def work(_: Mapping[str, Any], line: Call) -> Mapping[str, Any]:
        line.progress(40.0, 100.0, "reading page 2 of 5")
        begun.set()
        while not line.cancelled():
            threading.Event().wait(0.01)
        raise CancelledError("It was cancelled.")

    return work


def jobs_in(folder: Path, work: Work = echo, workers: int = 2) -> Jobs:
    return Jobs(FolderJournal(folder), work, explain=explain, workers=workers)


def test_a_job_ends_with_its_result_and_is_found_by_its_id_in_another_process_s_view(tmp_path: Path) -> None:
    jobs = jobs_in(tmp_path)
    running = jobs.submit({"n": 1}, journaled=True)
    assert running.wait(10)
    assert running.job.state is JobState.DONE
    assert running.job.result == {"status": "success", "echo": 1}
    assert (running.job.done, running.job.message) == (50.0, "half way")
    assert jobs_in(tmp_path).look_up(running.job.id) == running.job
    jobs.close()


def test_what_a_job_has_become_is_not_reported_by_a_journal_that_has_not_heard_of_it(tmp_path: Path) -> None:
    ended, written = threading.Event(), threading.Event()

    class Slow(FolderJournal):
        def write(self, job: Job) -> None:
            if job.state.is_final:
                ended.set()
                assert written.wait(10)
            super().write(job)

    jobs = Jobs(Slow(tmp_path), echo, explain=explain)
    running = jobs.submit({"n": 1}, journaled=True)
    assert ended.wait(10)
    assert jobs.look_up(running.job.id).state is JobState.DONE
    with pytest.raises(NotFoundError):  # the journal still says that it runs, and of whose document it would not know
        jobs.look_up(running.job.id, lambda job: job.result is None)
    written.set()
    jobs.close()


def test_a_job_stops_when_who_waits_for_it_has_gone(tmp_path: Path) -> None:
    begun, gone = threading.Event(), threading.Event()

    def work(_: Mapping[str, Any], line: Call) -> Mapping[str, Any]:
        begun.set()
        assert gone.wait(10)
        if line.cancelled():
            raise CancelledError("It was cancelled.")
        return {}

    jobs = jobs_in(tmp_path, work)
    running = jobs.submit({}, journaled=False, is_abandoned=gone.is_set)
    assert begun.wait(10)
    gone.set()
    assert running.wait(10)
    assert running.job.state is JobState.CANCELLED
    jobs.close()


def test_a_failed_job_keeps_the_error_that_its_caller_would_have_got(tmp_path: Path) -> None:
    def fail(_: Mapping[str, Any], __: Call) -> Mapping[str, Any]:
        raise PlanningError("no_content", "There is nothing in it.")

    def crash(_: Mapping[str, Any], __: Call) -> Mapping[str, Any]:
        raise RuntimeError("secret")

    failed = jobs_in(tmp_path / "a", fail).submit({}, journaled=True)
    assert failed.wait(10)
    assert failed.job.state is JobState.FAILED
    assert failed.job.result == {"status": "error", "error_type": "no_content", "message": "There is nothing in it."}
    crashed = jobs_in(tmp_path / "b", crash).submit({}, journaled=True)
    assert crashed.wait(10)
    assert "secret" not in json.dumps(dict(crashed.job.result or {}))
    assert (crashed.job.result or {})["error_type"] == "internal_error"


def test_jobs_beyond_the_workers_wait_for_their_turn(tmp_path: Path) -> None:
    let_go = threading.Event()
    begun = threading.Semaphore(0)

    def wait(_: Mapping[str, Any], __: Call) -> Mapping[str, Any]:
        begun.release()
        assert let_go.wait(20)
        return {}

    jobs = jobs_in(tmp_path, wait, workers=1)
    first, second = jobs.submit({"n": 1}, journaled=False), jobs.submit({"n": 2}, journaled=False)
    assert begun.acquire(timeout=10)
    assert not begun.acquire(timeout=0.1)
    assert (first.job.state, second.job.state) == (JobState.RUNNING, JobState.QUEUED)
    let_go.set()
    assert first.wait(10)
    assert second.wait(10)
    assert not list(tmp_path.glob("*.json"))  # what nobody can ask for is not written down
    jobs.close()


def test_a_job_is_stopped_where_it_stands(tmp_path: Path) -> None:
    begun = threading.Event()
    jobs = jobs_in(tmp_path, until_cancelled(begun))
    running = jobs.submit({}, journaled=True)
    assert begun.wait(10)
    jobs.cancel(running.job.id)
    assert running.wait(10)
    assert jobs.look_up(running.job.id).state is JobState.CANCELLED
    with pytest.raises(NotFoundError):
        jobs.cancel("0123456789abcdef")
    jobs.close()


def test_a_job_of_another_process_is_stopped_by_a_mark_and_its_progress_is_seen(tmp_path: Path) -> None:
    begun = threading.Event()
    first, second = jobs_in(tmp_path, until_cancelled(begun)), jobs_in(tmp_path)
    running = first.submit({}, journaled=True)
    assert begun.wait(10)
    seen = second.look_up(running.job.id)
    assert (seen.done, seen.message) == (40.0, "reading page 2 of 5")
    second.cancel(running.job.id)
    assert running.wait(10)
    assert second.look_up(running.job.id).state is JobState.CANCELLED
    assert not list(tmp_path.glob("*.cancel"))
    first.close()
    second.close()


def test_a_job_whose_process_is_gone_is_taken_up_by_the_next_one(tmp_path: Path) -> None:
    begun = threading.Event()
    first = jobs_in(tmp_path, until_cancelled(begun))
    job_id = first.submit({"n": 7}, journaled=True).job.id
    assert begun.wait(10)
    second = jobs_in(tmp_path)
    assert second.recover() == 0  # its process lives
    assert second.look_up(job_id).state is JobState.RUNNING
    first.close(patience=0.0)
    assert second.recover() == 1
    while not (job := second.look_up(job_id)).state.is_final:
        threading.Event().wait(0.01)
    assert (job.state, dict(job.result or {})) == (JobState.DONE, {"status": "success", "echo": 7})
    second.close()


def after(let_go: threading.Event) -> Callable[[Mapping[str, Any], Call], Mapping[str, Any]]:
    """Make work that is slow: it answers once it is let go."""

    def slow(request: Mapping[str, Any], line: Call) -> Mapping[str, Any]:
        assert let_go.wait(20)
        return echo(request, line)

    return slow


class Deaf(FolderJournal):
    """Hear no sign of life: a process that could not write it in time is taken for gone."""

    def is_locked(self, owner: str) -> bool:
        del owner
        return False


@pytest.mark.parametrize("began", [True, False])
def test_a_job_that_a_slow_process_ends_after_all_stays_as_it_ended_it(tmp_path: Path, *, began: bool) -> None:
    let_go, taken_up = threading.Event(), threading.Event()

    first = jobs_in(tmp_path, after(let_go))
    running = first.submit({"n": 7}, journaled=True)

    def work(_: Mapping[str, Any], __: Call) -> Mapping[str, Any]:
        assert taken_up.wait(10)
        let_go.set()
        assert running.wait(10)
        if began:
            raise NotFoundError("The document of this job no longer exists.")
        return {}

    second = Jobs(Deaf(tmp_path), work, explain=explain, workers=1)
    if not began:
        second.submit({"n": 8}, journaled=False)  # the only worker is busy until the first process is done
    assert second.recover() == 1
    taken_up.set()
    while not second.look_up(running.job.id).state.is_final:
        threading.Event().wait(0.01)
    second.close()
    job = jobs_in(tmp_path).look_up(running.job.id)
    assert (job.state, dict(job.result or {})) == (JobState.DONE, {"status": "success", "echo": 7})
    first.close()


def test_a_job_that_ends_while_its_process_is_looked_for_is_not_taken_up(tmp_path: Path) -> None:
    let_go = threading.Event()

    first = jobs_in(tmp_path, after(let_go))
    running = first.submit({"n": 7}, journaled=True)

    class Late(FolderJournal):
        def is_locked(self, owner: str) -> bool:
            let_go.set()
            assert running.wait(10)
            first.close()
            return super().is_locked(owner)

    second = Jobs(Late(tmp_path), echo, explain=explain, workers=1)
    assert second.recover() == 0
    assert dict(second.look_up(running.job.id).result or {}) == {"status": "success", "echo": 7}
    second.close()


def test_a_job_that_two_threads_find_left_at_once_is_taken_up_once(tmp_path: Path) -> None:
    together = threading.Barrier(2)
    calls: list[int] = []

    class Unlocked(FolderJournal):
        """Let everybody recover at any time, as the journal in a store does."""

        @contextlib.contextmanager
        def recovering(self) -> Generator[bool]:
            yield True

        def is_locked(self, owner: str) -> bool:
            if owner == "gone":
                with contextlib.suppress(threading.BrokenBarrierError):
                    together.wait(1)
            return False

    def count(request: Mapping[str, Any], line: Call) -> Mapping[str, Any]:
        calls.append(1)
        if len(calls) > 1:
            raise NotFoundError("The document of this job no longer exists.")
        return echo(request, line)

    journal = Unlocked(tmp_path)
    at = "2026-01-01T00:00:00+00:00"
    journal.write(Job("00112233445566ff", {"n": 1}, JobState.QUEUED, at, at, owner="gone"))
    jobs = Jobs(journal, count, explain=explain, workers=1)
    looking = [threading.Thread(target=jobs.look_up, args=("00112233445566ff",)) for _ in range(2)]
    for thread in looking:
        thread.start()
    for thread in looking:
        thread.join()
    while not (job := jobs.look_up("00112233445566ff")).state.is_final:
        threading.Event().wait(0.01)
    jobs.close()
    assert (job.state, len(calls)) == (JobState.DONE, 1)


def test_a_job_that_took_its_process_down_three_times_is_failed(tmp_path: Path) -> None:
    jobs = jobs_in(tmp_path)
    running = jobs.submit({"n": 1}, journaled=True)
    assert running.wait(10)
    jobs.close()
    path = tmp_path / f"{running.job.id}.json"
    (tmp_path / "ended" / path.name).rename(path)
    fields = json.loads(path.read_text())
    path.write_text(json.dumps({**fields, "state": "running", "attempts": 3, "result": None}))
    later = jobs_in(tmp_path)
    assert later.recover() == 0
    job = later.look_up(running.job.id)
    assert job.state is JobState.FAILED
    assert (job.result or {})["error_type"] == "internal_error"


def test_old_jobs_are_forgotten_and_damaged_ones_do_no_harm(tmp_path: Path) -> None:
    jobs = jobs_in(tmp_path)
    running = jobs.submit({"n": 1}, journaled=True)
    assert running.wait(10)
    path = tmp_path / "ended" / f"{running.job.id}.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "updated_at": "2020-01-01T00:00:00+00:00"}))
    (tmp_path / "ffffffffffffffff.json").write_text("{")
    jobs.recover()
    jobs.forget_old()
    assert not path.exists()
    with pytest.raises(NotFoundError):
        jobs.look_up("ffffffffffffffff")
    jobs.close()
    with pytest.raises(CancelledError):
        jobs.submit({"n": 2}, journaled=False)


# ---- through the tools


def test_signs_of_life_come_at_least_every_five_seconds() -> None:
    assert HEARTBEAT <= 5.0


def test_a_cancelled_ingest_leaves_neither_chunks_nor_locks_and_the_earlier_version_whole(world: World) -> None:
    path = world.paper("a.pdf", *report(topic="Old. "))
    old = world.ingest(path)
    world.paper("a.pdf", *report(topic="New. ", pages=4))
    gate = Gate()
    world.reader.hooks.append(gate)
    gone = threading.Event()
    caught: list[BaseException] = []

    def ask() -> None:
        try:
            world.ingest(path, line=Call(cancelled=gone.is_set))
        except CancelledError as exc:
            caught.append(exc)

    asking = threading.Thread(target=ask)
    asking.start()
    assert gate.reached.wait(10)
    gone.set()
    asking.join(10)
    gate.open.set()
    world.service.jobs.close()
    assert caught
    assert world.chunks() == old["chunks_created"]
    assert not list((world.data / "locks").glob("*.lock"))


def test_cancelling_while_another_ingest_holds_the_document_ends_the_wait(world: World) -> None:
    path = world.paper("a.pdf")
    gate = Gate()
    world.reader.hooks.append(gate)
    first = world.service.jobs.submit({"file_path": path, "application_ref": REF}, journaled=False)
    assert gate.reached.wait(10)
    with pytest.raises(CancelledError):
        world.ingest(path, line=Call(cancelled=lambda: True))
    gate.open.set()
    assert first.wait(10)
    assert first.job.state is JobState.DONE


def test_two_callers_at_once_make_one_document(world: World) -> None:
    path = world.paper("a.pdf")
    messages: list[str] = []
    callers = [threading.Thread(target=lambda: messages.append(world.ingest(path)["status"])) for _ in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(30)
    assert sorted(messages) == ["already_ingested"] * 3 + ["success"]


def test_one_file_for_two_applications_at_once_is_embedded_once(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(world.embedder, HashingEmbedder)
    path, embed, both = world.paper("a.pdf"), world.embedder.embed_documents, threading.Barrier(2)

    def wait_for_the_other(texts: Sequence[str]) -> Sequence[bytes]:
        with contextlib.suppress(threading.BrokenBarrierError):
            both.wait(0.5)
        return embed(texts)

    monkeypatch.setattr(world.embedder, "embed_documents", wait_for_the_other)
    callers = [threading.Thread(target=world.ingest, args=(path, ref)) for ref in (REF, "24/00001/FUL")]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(30)
    texts = [chunk.content for chunk in world.service.document_chunks(world.service.documents_of(REF)[0].id)]
    assert world.chunks() == 2 * len(texts)
    assert sorted(world.embedder.documents) == sorted(texts)


def test_a_job_can_be_asked_for_and_cancelled_by_its_id(world: World) -> None:
    path = world.paper("a.pdf")
    gate = Gate()
    world.reader.hooks.append(gate)
    accepted = world.ingest(path, wait=False)
    assert accepted["status"] == "accepted"
    assert gate.reached.wait(10)
    asked = world.call("ingest_status", job_id=accepted["job_id"])
    assert (asked["state"], asked["file_path"], asked["application_ref"]) == ("running", path, REF)
    world.call("cancel_ingest", job_id=accepted["job_id"])
    gate.open.set()
    state = asked
    while state["state"] == "running":
        state = world.call("ingest_status", job_id=accepted["job_id"])
    assert state["state"] == "cancelled"
    assert "result" not in state
    assert world.chunks() == 0


def test_a_wrong_path_is_reported_at_once_also_to_who_does_not_wait(world: World) -> None:
    with pytest.raises(PlanningError):
        world.ingest(str(world.papers / "nowhere.pdf"), wait=False)
    assert not (world.data / "jobs").exists()


# ---- locks


def test_a_lock_has_one_holder_and_leaves_no_file(tmp_path: Path) -> None:
    inside = 0
    most = 0
    count = threading.Lock()

    def work() -> None:
        nonlocal inside, most
        for _ in range(20):
            with hold_lock(tmp_path, "x") as mine:
                assert mine
                with count:
                    inside += 1
                    most = max(most, inside)
                with count:
                    inside -= 1

    workers = [threading.Thread(target=work) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert most == 1
    assert not list(tmp_path.iterdir())


def test_whoever_gives_up_does_not_get_the_lock(tmp_path: Path) -> None:
    free = acquire(tmp_path, "x")
    assert not is_free(tmp_path, "x")
    assert is_free(tmp_path, "y")
    with hold_lock(tmp_path, "x", give_up=lambda: True) as mine:
        assert not mine
    free()
    free()
    assert is_free(tmp_path, "x")
    with hold_lock(tmp_path, "x") as mine:
        assert mine
