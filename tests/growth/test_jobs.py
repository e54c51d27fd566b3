"""What a job costs does not grow with the jobs that have ended."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from knowledge_mcp.engine.jobs.jobs import Jobs
from knowledge_mcp.engine.jobs.journal import FolderJournal, Job, JobState, Journal, job_from_json
from knowledge_mcp.engine.jobs.store_journal import ENDED_COLLECTION, JOBS_COLLECTION, StoreJournal
from knowledge_mcp.engine.planning.values import explain
from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.stores.memory import MemoryStore
from knowledge_mcp.testing.embedders import HashingEmbedder
from tests.growth.counting import Counting, counted

AT = "2026-01-01T00:00:00+00:00"
LATER = "2999-01-01T00:00:00+00:00"


def job(number: int, state: JobState = JobState.DONE, owner: str = "gone") -> Job:
    return Job(f"{number:016x}", {"n": number}, state, AT, LATER, owner=owner, result={})


def nothing(*_: object) -> dict[str, Any]:
    return {}


def jobs_over(journal: Journal, work: Callable[..., dict[str, Any]] = nothing) -> Jobs:
    return Jobs(journal, work, explain=explain, workers=1)  # a second job waits, and adds no calls of its own


def costs_with(ended: int) -> list[tuple[dict[str, int], int]]:
    """Count what beginning, polling, cancelling, looking for orphans and counting cost beside jobs that have ended."""
    store = Counting(MemoryStore(EnglishAnalyser()))
    journal = StoreJournal(store.store, HashingEmbedder().space, beat=3600.0)
    for number in range(ended):
        journal.write(job(number))
    begun, let = threading.Event(), threading.Event()

    def work(*_: object) -> dict[str, Any]:
        begun.set()
        assert let.wait(30)
        return {}

    jobs, other = jobs_over(journal, work), jobs_over(journal)
    jobs.recover()
    jobs.counts()
    other.recover()
    running = jobs.submit({"n": -1}, journaled=True)
    assert begun.wait(30)
    costs = [
        counted(store, ask)
        for ask in (
            lambda: jobs.look_up(running.job.id),
            lambda: other.look_up(running.job.id),
            lambda: other.look_up(f"{0:016x}"),
            jobs.recover,
            other.recover,
            jobs.counts,
            lambda: other.cancel(running.job.id),
            lambda: journal.settled(running.job.id),
            lambda: journal.write(replace(running.job, done=1.0)),
            lambda: (jobs.submit({"n": -2}, journaled=True), jobs.submit({"n": -2}, journaled=True)),
        )
    ]
    let.set()
    jobs.close()
    other.close()
    return costs


def test_what_is_done_with_jobs_costs_the_same_beside_ten_times_as_many_that_have_ended() -> None:
    assert costs_with(5) == costs_with(50)


@pytest.fixture(params=["folder", "store"])
def journal(request: pytest.FixtureRequest, tmp_path: Path) -> Journal:
    if request.param == "folder":
        return FolderJournal(tmp_path)
    return StoreJournal(MemoryStore(EnglishAnalyser()), HashingEmbedder().space)


def test_a_job_that_has_ended_is_kept_apart_and_still_read(journal: Journal) -> None:
    running = job(1, JobState.RUNNING)
    journal.write(running)
    assert (journal.open(), journal.ended(), journal.read(running.id)) == ([running], [], running)
    done = replace(running, state=JobState.DONE)
    journal.write(done)
    assert (journal.open(), journal.ended(), journal.read(running.id)) == ([], [done], done)
    journal.write(running)  # by a process that was slow
    assert journal.read(running.id) == done
    journal.settled(running.id)
    assert journal.open() == []
    journal.forget(running.id)
    assert (journal.ended(), journal.read(running.id)) == ([], None)


def test_jobs_that_an_earlier_version_ended_are_put_with_the_others(tmp_path: Path) -> None:
    folder = FolderJournal(tmp_path)
    folder.write(job(1))
    (tmp_path / "ended" / f"{1:016x}.json").rename(tmp_path / f"{1:016x}.json")
    assert [each.id for each in folder.open()] == [f"{1:016x}"]
    jobs = jobs_over(folder)
    assert jobs.recover() == 0
    assert (folder.open(), folder.ended()) == ([], [job(1)])
    assert jobs.look_up(f"{1:016x}") == job(1)
    jobs.close()


def test_a_job_that_ended_beside_a_late_note_of_its_progress_is_not_done_again() -> None:
    store = MemoryStore(EnglishAnalyser())
    journal = StoreJournal(store, HashingEmbedder().space)
    journal.write(job(1))
    journal.write(job(1, JobState.RUNNING))
    jobs = jobs_over(journal)
    assert jobs.recover() == 0
    assert store.open(JOBS_COLLECTION).documents() == []
    (kept,) = store.open(ENDED_COLLECTION).documents()
    assert job_from_json(dict(kept.metadata)["job"]) == job(1)
    jobs.close()


def test_what_has_ended_is_counted_at_most_once_a_minute() -> None:
    store = Counting(MemoryStore(EnglishAnalyser()))
    journal = StoreJournal(store.store, HashingEmbedder().space)
    journal.write(job(1))
    jobs = jobs_over(journal)
    assert jobs.counts() == {"done": 1}
    journal.write(job(2, JobState.QUEUED))
    _, given = counted(store, lambda: jobs.counts() == {"done": 1, "queued": 1})
    assert given == 1
    jobs.close()
