"""Documents that nobody waits for: accepted, done, remembered, stopped, and taken up when a process is gone."""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import datetime, timedelta, tzinfo
from typing import Any, Self

import pytest

from knowledge_mcp.engine.core.base import record_of
from knowledge_mcp.engine.jobs import store_journal
from knowledge_mcp.engine.jobs.journal import Job, JobState, job_from_json, job_to_json
from knowledge_mcp.engine.jobs.store_journal import JOBS_COLLECTION, StoreJournal
from knowledge_mcp.engine.library.service import LibraryService
from knowledge_mcp.model.collection import WholeDocument
from knowledge_mcp.model.errors import (
    ConnectionFailedError,
    InternalError,
    KnowledgeError,
    NotFoundError,
    RateLimitedError,
    SpaceMismatchError,
    UnreadableDocumentError,
    UnreadableReason,
)
from knowledge_mcp.model.library import Deposit, IngestJob
from knowledge_mcp.support.events import EVENT_FIELDS
from knowledge_mcp.testing.embedders import HashingEmbedder
from tests.engine.shelf import DEADLINE, PUMPS, Held, Shelf, ended
from tests.waiting import wait_until


def begun(shelf: Shelf) -> tuple[Held, LibraryService, IngestJob]:
    """Begin a job whose embedder waits."""
    embedder = Held()
    service = shelf.open(embedder)
    accepted = service.submit(Deposit("alpha", "pumps.md", PUMPS))
    assert embedder.reached.wait(DEADLINE)
    return embedder, service, accepted


def test_a_deposit_that_nobody_waits_for_is_done_and_remembered(shelf: Shelf) -> None:
    service = shelf.open()
    accepted = service.submit(Deposit("alpha", "pumps.md", PUMPS, metadata=(("owner", "ada"),)))
    assert accepted.collection == "alpha"
    done = ended(service, accepted.id)
    assert (done.state, done.done, done.source) == ("done", 100.0, "pumps.md")
    assert done.result is not None
    assert service.record(done.result.document_id).title == "Pumps"
    assert service.job_counts() == {"done": 1}
    assert ended(shelf.open(), accepted.id).result == done.result  # another process gets the same
    kinds = {record.id.partition(":")[0] for record in shelf.store.open(JOBS_COLLECTION).documents()}
    assert "content" not in kinds  # what the job needed went with its end


def test_a_file_of_some_megabytes_waits_in_parts_and_comes_whole(shelf: Shelf) -> None:
    journal = shelf.journal()
    content = bytes(range(256)) * 20_000
    name = journal.put_content(content)
    assert journal.content(name) == content
    assert len(shelf.store.open(JOBS_COLLECTION).documents()) == 3
    journal.drop_content(name)
    assert shelf.store.open(JOBS_COLLECTION).documents() == []
    with pytest.raises(NotFoundError):
        journal.content(name)


def test_a_job_that_fails_says_why(shelf: Shelf) -> None:
    service = shelf.open()
    shelf.web.pages["https://example.com/a"] = ConnectionFailedError("example.com does not answer.")
    failed = ended(service, service.submit(Deposit("alpha", url="https://example.com/a")).id)
    assert (failed.state, failed.error, failed.message) == (
        "failed",
        "connection_error",
        "example.com does not answer.",
    )
    assert failed.suggestion
    with pytest.raises(NotFoundError):
        service.job("0123456789abcdef")
    with pytest.raises(UnreadableDocumentError):  # reported at once, even without waiting
        service.submit(Deposit("alpha", "a.xyz", content=b"a"))


def test_a_job_that_waits_for_its_turn_is_cancelled_at_once_and_stays_so(shelf: Shelf) -> None:
    embedder = Held()
    service = shelf.open(embedder)
    first, second, waits = (service.submit(Deposit("alpha", f"{name}.md", PUMPS)).id for name in "abc")
    assert embedder.reached.wait(DEADLINE)
    assert service.cancel_job(waits).state == "cancelled"
    assert (shelf.open().job(waits).state, service.job(waits).state) == ("cancelled", "cancelled")
    embedder.let.set()
    assert {ended(service, each).state for each in (first, second)} == {"done"}
    assert {record.source_path for record in service.records("alpha")} == {"a.md", "b.md"}
    kinds = {record.id.partition(":")[0] for record in shelf.store.open(JOBS_COLLECTION).documents()}
    assert not kinds & {"content", "stop", "job"}


def test_a_job_that_was_cancelled_is_not_taken_up_again_where_its_process_ends_first(shelf: Shelf) -> None:
    embedder, service, accepted = begun(shelf)
    service.cancel_job(accepted.id)
    record = record_of(shelf.store.open(JOBS_COLLECTION), f"job:{accepted.id}")
    assert record is not None
    gone = replace(job_from_json(dict(record.metadata)["job"]), owner="a process that is gone")
    shelf.journal().write(gone)  # as if it had been killed now
    second = shelf.open()
    second.warm_up()
    assert ended(second, accepted.id).state == "cancelled"
    embedder.let.set()
    assert ended(service, accepted.id).state == "cancelled"
    assert service.collections()[0].documents == 0


def test_a_job_whose_process_was_told_to_end_waits_for_the_next_and_says_so(shelf: Shelf) -> None:
    embedder, service, accepted = begun(shelf)
    jobs = service._jobs  # pyright: ignore[reportPrivateUsage] - the service itself closes the store, which is shared
    closing = threading.Thread(target=jobs.close, args=(0.0,))
    closing.start()
    wait_until(lambda: all(each.stop.is_set() for each in jobs._running.values()))  # pyright: ignore[reportPrivateUsage]
    embedder.let.set()
    closing.join(DEADLINE)
    left = shelf.journal().read(accepted.id)
    assert left is not None
    assert (left.state, left.attempts, "cancel" in left.message) == (JobState.QUEUED, 0, False)
    assert ended(shelf.open(), accepted.id).state == "done"


def test_a_job_that_was_cancelled_as_its_process_was_told_to_end_is_cancelled(shelf: Shelf) -> None:
    embedder, service, accepted = begun(shelf)
    service.cancel_job(accepted.id)
    jobs = service._jobs  # pyright: ignore[reportPrivateUsage] - the service itself closes the store, which is shared
    closing = threading.Thread(target=jobs.close)
    closing.start()
    wait_until(lambda: jobs._closing)  # pyright: ignore[reportPrivateUsage] - nothing else shows it
    embedder.let.set()
    closing.join(DEADLINE)
    assert shelf.open().job(accepted.id).state == "cancelled"


@pytest.mark.parametrize(
    "failure",
    [
        UnreadableDocumentError("It is damaged.", reason=UnreadableReason.TOO_LARGE, source="a", details="9 GB"),
        InternalError("The service failed.", recoverable=True),
        SpaceMismatchError("Another model."),
        RateLimitedError("Slow down.", suggestion="Wait."),
        ConnectionFailedError("No answer."),
    ],
)
def test_a_failed_job_has_the_error_that_a_request_would_have_had(
    shelf: Shelf, failure: KnowledgeError, caplog: pytest.LogCaptureFixture
) -> None:
    service = shelf.open()
    shelf.web.pages["https://example.com/a"] = failure
    job_id = service.submit(Deposit("alpha", url="https://example.com/a")).id
    ended(service, job_id)
    result = shelf.open().job(job_id).failure
    assert type(result) is type(failure)
    assert vars(result) == vars(failure)
    wait_until(lambda: "job_end" in caplog.messages)
    [line] = [each for each in caplog.records if each.getMessage() == "job_end"]
    assert (line.levelname, vars(line)[EVENT_FIELDS]["reason"]) == ("ERROR", failure.message)


def test_the_end_of_a_job_that_could_not_be_written_is_written_later(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    away = threading.Event()
    write = StoreJournal.write

    def fail(journal: StoreJournal, job: Job) -> None:
        if away.is_set():
            raise ConnectionFailedError("The store does not answer.")
        write(journal, job)

    monkeypatch.setattr(StoreJournal, "write", fail)
    embedder = Held()
    service, other = shelf.open(embedder), shelf.open()
    accepted = service.submit(Deposit("alpha", "pumps.md", PUMPS))
    assert embedder.reached.wait(DEADLINE)
    away.set()
    embedder.let.set()
    assert ended(service, accepted.id).state == "done"
    assert [job.state for job in service.jobs()] == ["done"]
    assert other.job(accepted.id).state == "running"
    away.clear()

    def looked() -> bool:
        service._jobs.recover()  # pyright: ignore[reportPrivateUsage] - nobody waits half a minute in a test
        return other.job(accepted.id).state == "done"

    wait_until(looked)
    assert service.job(accepted.id).state == "done"


def test_a_job_is_stopped_by_another_process(shelf: Shelf) -> None:
    embedder = Held()
    service, other = shelf.open(embedder), shelf.open()
    accepted = service.submit(Deposit("alpha", "pumps.md", PUMPS))
    assert embedder.reached.wait(DEADLINE)
    other.cancel_job(accepted.id)
    shelf.ask_again(service)
    embedder.let.set()
    assert ended(service, accepted.id).state == "cancelled"
    assert service.collections()[0].documents == 0


def test_the_job_of_a_process_that_is_gone_is_taken_up_by_another(shelf: Shelf) -> None:
    journal = shelf.journal()
    content_id = journal.put_content(PUMPS.encode())
    request: dict[str, Any] = {
        "collection": "alpha", "filename": "pumps.md", "url": None, "media_type": None, "metadata": [],
        "force": False, "is_text": True, "content_id": content_id,
    }  # fmt: skip
    at = "2020-01-01T00:00:00+00:00"
    journal.write(
        Job("00112233445566ff", request, JobState.RUNNING, at, at, attempts=1, owner="a process that is gone")
    )
    second = shelf.open()
    second.warm_up()
    done = ended(second, "00112233445566ff")
    assert done.result is not None
    assert second.find(done.result.document_id).record.title == "Pumps"


def test_a_job_that_ended_its_process_three_times_is_failed(shelf: Shelf) -> None:
    service = shelf.open()
    at = "2020-01-01T00:00:00+00:00"
    shelf.journal().write(Job("00112233445566ff", {}, JobState.RUNNING, at, at, attempts=3, owner="gone"))
    found = service.job("00112233445566ff")
    assert (found.state, "3 times" in found.message) == ("failed", True)


def wait_for_a_sign(shelf: Shelf, owner: str) -> None:
    """Wait for an owner's next sign of life."""
    before = shelf.store.open(JOBS_COLLECTION).documents([f"owner:{owner}"])
    wait_until(lambda: shelf.store.open(JOBS_COLLECTION).documents([f"owner:{owner}"]) != before)


def test_owners_that_still_give_signs_of_life_keep_their_jobs(shelf: Shelf) -> None:
    journal = StoreJournal(shelf.store, HashingEmbedder().space, beat=0.02, dead=timedelta(seconds=30))
    assert not journal.is_locked("me")
    free = journal.hold("me")
    assert journal.is_locked("me")
    wait_for_a_sign(shelf, "me")
    free()
    assert not journal.is_locked("me")


def test_a_job_of_the_journal_that_cannot_be_read_is_left_out(shelf: Shelf, caplog: pytest.LogCaptureFixture) -> None:
    journal = shelf.journal()
    job = Job("00112233445566ff", {}, JobState.QUEUED, "2026-01-01T00:00:00+00:00", "2026-01-01T00:00:00+00:00")
    journal.write(job)
    assert journal.read(job.id) == job
    assert journal.open() == [job]
    record = record_of(shelf.store.open(JOBS_COLLECTION), f"job:{job.id}")
    assert record is not None
    damaged = replace(record, metadata=(("job", job_to_json(job)[:-5]),))
    shelf.store.open(JOBS_COLLECTION).publish([WholeDocument(damaged, "-", ())], lambda _: None)
    assert journal.open() == []
    assert "cannot be read" in caplog.text


class SetClock(datetime):
    """A wall clock that is set forward and back."""

    off = timedelta()

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> Self:
        return cls.fromisoformat((datetime.now(tz) + cls.off).isoformat())


@pytest.mark.parametrize("jump", [timedelta(hours=1), timedelta(hours=-1), timedelta(days=3), timedelta(days=-3)])
def test_a_clock_that_jumps_takes_no_job_from_who_works_at_it(
    shelf: Shelf, jump: timedelta, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_journal, "datetime", SetClock)
    space, time = HashingEmbedder().space, [0.0]
    worker = StoreJournal(shelf.store, space, beat=0.01)
    observer = StoreJournal(shelf.store, space, dead=timedelta(seconds=60), clock=lambda: time[0])
    free = worker.hold("worker")
    try:
        for off in (timedelta(), jump, timedelta(), -jump):
            content = observer.put_content(b"needed soon")
            monkeypatch.setattr(SetClock, "off", off)
            time[0] += 59
            assert observer.is_locked("worker")
            wait_for_a_sign(shelf, "worker")
            time[0] += 3600
            assert observer.is_locked("worker"), "a new sign of life was not seen"
            with observer.recovering():
                assert observer.content(content) == b"needed soon", "what a job is about to need was swept"
    finally:
        free()


def test_a_process_that_gives_no_sign_for_long_is_gone_whatever_the_clocks_say(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_journal, "datetime", SetClock)
    monkeypatch.setattr(SetClock, "off", timedelta(hours=5))  # the clock of the one that died was ahead
    space, time = HashingEmbedder().space, [0.0]
    dying = StoreJournal(shelf.store, space, beat=3600.0)
    dying.hold("dying")
    monkeypatch.setattr(SetClock, "off", timedelta())
    observer = StoreJournal(shelf.store, space, dead=timedelta(seconds=60), clock=lambda: time[0])
    assert observer.is_locked("dying")
    time[0] = 59.0
    assert observer.is_locked("dying")
    time[0] = 61.0
    assert not observer.is_locked("dying")


def test_a_job_that_a_later_version_wrote_is_read_by_this_one(shelf: Shelf) -> None:
    job = Job("00112233445566ff", {}, JobState.QUEUED, "2026-01-01T00:00:00+00:00", "2026-01-01T00:00:00+00:00")
    assert job_from_json(job_to_json(job)[:-1] + ', "of_a_later_version": 1}') == job
