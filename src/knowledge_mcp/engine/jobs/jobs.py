"""Work that outlives the call that requested it: done on separate threads, recorded, resumed after a restart.

Several processes may share one journal: each is visible there while it lives, and a job whose process has ended is
resumed by the next one that checks, or failed if it was tried too often.
"""

from __future__ import annotations

import contextlib
import json
import logging
import math
import secrets
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from knowledge_mcp import __version__
from knowledge_mcp.engine.jobs.journal import Job, JobState, Journal
from knowledge_mcp.engine.jobs.running import KINDS, STATE, RunningJob
from knowledge_mcp.model.call import Call
from knowledge_mcp.model.chunk import text_key
from knowledge_mcp.model.errors import (
    CancelledError,
    InternalError,
    KnowledgeError,
    NotFoundError,
    RateLimitedError,
    SpaceMismatchError,
    UnreadableDocumentError,
    UnreadableReason,
    class_of,
    reason_of,
)
from knowledge_mcp.support.events import log_event
from knowledge_mcp.support.workers import FairQueue

RESULT = "content"
"""Key of the values that are stored next to a job, and not listed with it."""

_logger = logging.getLogger(__name__)
_RETENTION = timedelta(days=7)
_SWEPT_EVERY = 3600.0
"""Seconds between two searches of all finished jobs for old ones."""
_LOOKED_EVERY = 30.0
"""Seconds after a new job during which orphaned jobs are not searched again."""
_MOST_ATTEMPTS = 3
_WRITTEN_EVERY = 2.0
"""Seconds between two writes of a job's progress to the journal."""
_STOPPING = 5.0
"""Seconds for a job to notice that it must stop."""
_COUNTED_EVERY = 60.0
"""Seconds for which the count of finished jobs is cached."""
_JOB_ID = "0123456789abcdef"
_MOST_WAITING = 64
"""Maximum waiting reviews of one collection: they take minutes, and nobody waits for the next one."""


class Jobs:
    """Run jobs, record them, and resume those whose process has ended. Thread-safe.

    Jobs of different collections take turns, as in `FairQueue`, and reviews run separately from the others: a thousand
    comparisons of one user delay no document of another.

    Args:
        journal: the record of jobs.
        work: executes a request and returns plain JSON values; those under `RESULT` may be large; a KnowledgeError
            fails the job, `CancelledError` cancels it.
        explain: creates the result of a failed job from its error.
        workers: maximum jobs of one kind at the same time; the others wait.
    """

    def __init__(
        self,
        journal: Journal,
        work: Callable[[Mapping[str, Any], Call], Mapping[str, Any]],
        *,
        explain: Callable[[KnowledgeError], Mapping[str, Any]],
        workers: int = 2,
    ) -> None:
        self._journal = journal
        self._work = work
        self._explain = explain
        self._pools = {kind: ThreadPoolExecutor(workers, thread_name_prefix=kind) for kind in KINDS}
        self._turns = {kind: FairQueue[RunningJob](workers) for kind in KINDS}
        self._lock = threading.Lock()
        self._rescuing = threading.Lock()
        self._asking = threading.Lock()
        self._running: dict[str, RunningJob] = {}
        self._owner = secrets.token_hex(8)
        self._free: Callable[[], None] | None = None
        self._closing = False
        self._looked = self._swept = self._counted_at = -math.inf
        self._counted = Counter[str]()
        self._idle = threading.Condition(self._lock)

    def submit(
        self, request: Mapping[str, Any], *, journaled: bool, is_abandoned: Callable[[], bool] = bool
    ) -> RunningJob:
        """Start a job as soon as a worker is free.

        Args:
            request: plain JSON values.
            journaled: whether to record it, so that it can be looked up by id and resumed after a restart. A request
                that is already running is not started twice: its job is returned.
            is_abandoned: whether the waiting caller has gone, which stops it.

        Raises:
            CancelledError: the process is about to end.
            InternalError: the journal cannot be written.
        """
        if journaled:
            if time.monotonic() - self._looked >= _LOOKED_EVERY:
                self.recover()
            with self._lock:
                for running in self._running.values():
                    has_ended = running.stop.is_set() or running.finished.is_set()
                    if running.journaled and running.job.request == request and not has_ended:
                        return running
        now = _now()
        job = Job(secrets.token_hex(8), dict(request), JobState.QUEUED, now, now, owner=self._owner)
        return self._start(RunningJob(job, journaled, is_abandoned=is_abandoned))

    def once(self, request: Mapping[str, Any], *state: object) -> Job:
        """Return the job of a request: running, finished within the last week, or started now.

        Args:
            request: of the job; equal requests are the same job.
            state: what its result depends on, compared by `repr`; a different state is a different job.

        Raises:
            CancelledError, InternalError: as for `submit`.
            RateLimitedError: too many are already waiting for that collection.
        """
        digest = text_key(repr((__version__, *state)))
        request = {**request, STATE: digest}
        text = json.dumps(request, sort_keys=True, ensure_ascii=True)
        job_id = text_key(text)[:16]
        with self._asking:
            try:
                job = self.look_up(job_id)
            except NotFoundError:
                job = None
            if job is not None and job.state not in {JobState.FAILED, JobState.CANCELLED}:
                return job
            if job is not None:
                self._journal.forget(job_id)
            now = _now()
            begun = RunningJob(Job(job_id, request, JobState.QUEUED, now, now, owner=self._owner), journaled=True)
            if self._turns[begun.kind].waiting(begun.asker) >= _MOST_WAITING:
                raise RateLimitedError(
                    f"{_MOST_WAITING} comparisons are already waiting.", suggestion="Try again later.", retry_after=30.0
                )
            return self._start(begun).job

    def wait(self, job_id: str, seconds: float) -> Job:
        """Wait for a job, also of another process, up to a time limit; return its state then.

        Raises:
            NotFoundError: as for `look_up`.
        """
        with self._lock:
            running = self._running.get(job_id)
        if running is not None:
            running.wait(seconds)
            return running.job
        job = self.look_up(job_id)
        if not job.state.is_final:
            time.sleep(seconds)  # another process runs it, and its end is not signalled here
        return job

    def result(self, job_id: str) -> Any:
        """Return the work's `RESULT` of a job; NotFoundError if it gave none."""
        return json.loads(self._journal.result(job_id))

    def look_up(self, job_id: str, may_see: Callable[[Job], bool] | None = None) -> Job:
        """Return the state of a job, also of another process.

        Raises:
            NotFoundError: the id is unknown, the job was removed after a week, or `may_see` refuses it.
        """
        with self._lock:
            running = self._running.get(job_id)
            if running is not None and (may_see is None or may_see(running.job)):
                return running.job
        job = self._journal.read(job_id) if _is_id(job_id) else None
        # the journal may be behind for a job that runs here; it is read anyway, as for an unknown one
        if running is not None or job is None or not (may_see is None or may_see(job)):
            raise NotFoundError(f"Job not found: {job_id}", suggestion="A job is removed a week after it ends.")
        if not job.state.is_final and self._is_orphan(job):
            with self._journal.recovering() as may:
                if may:
                    self._rescue(job)
            with self._lock:
                running = self._running.get(job_id)
            return running.job if running is not None else self._journal.read(job_id) or job
        return job

    def listed(self) -> list[Job]:
        """List the known jobs, also those of other processes, newest first."""
        by_id = {job.id: job for job in (*self._journal.ended(), *self._journal.open())}
        with self._lock:
            by_id |= {job_id: running.job for job_id, running in self._running.items() if running.journaled}
        return sorted(by_id.values(), key=lambda job: (job.created_at, job.id), reverse=True)

    def cancel(self, job_id: str) -> Job:
        """Cancel a job, also of another process, and return its state; one that waits here has then ended.

        The request is also recorded in the journal, so that it persists if the process ends before the job does.

        Raises:
            NotFoundError: as for `look_up`.
            KnowledgeError: the request could not be recorded; a job of this process stops anyway.
        """
        with self._lock:
            running = self._running.get(job_id)
        job = running.job if running is not None else self.look_up(job_id)
        if running is not None:
            running.is_cancelled = True
            with self._lock:
                waited = self._turns[running.kind].remove(running.asker, running)
            if waited:
                running.error = CancelledError("The job was cancelled.")
                self._change(running, state=JobState.CANCELLED, message=running.error.message)
                self._end(running)
                return running.job
        try:
            if not job.state.is_final and (running is None or running.journaled):
                self._journal.ask_to_stop(job_id)
        finally:
            if running is not None:
                running.stop.set()
        return job

    def recover(self) -> int:
        """Resume the jobs whose process has ended; return how many. Those started three times are failed instead.

        Results that could not be written at their end are written now: their process lives, so no other resumes them.
        """
        self._looked = time.monotonic()
        self._write_left()
        taken_up = 0
        with self._journal.recovering() as may:
            for job in self._journal.open() if may else ():
                if job.state.is_final:  # by an earlier version, or by a process killed while writing
                    self._journal.write(job)
                elif self._is_orphan(job):
                    taken_up += self._rescue(job)
        if time.monotonic() - self._swept >= _SWEPT_EVERY:
            self.forget_old()
        return taken_up

    def forget(self, job_id: str) -> None:
        """Remove a finished job, with its result."""
        self._journal.forget(job_id)

    def forget_old(self) -> None:
        """Remove the jobs that finished a week ago."""
        self._swept = time.monotonic()
        for job in self._journal.ended():
            if _is_old(job):
                self._journal.forget(job.id)

    def counts(self) -> Mapping[str, int]:
        """Count the known jobs by state; the count of finished ones may be a minute old."""
        now = time.monotonic()
        if now - self._counted_at >= _COUNTED_EVERY:
            self._counted_at, self._counted = now, Counter(job.state.value for job in self._journal.ended())
        return self._counted + Counter(job.state.value for job in self._journal.open() if not job.state.is_final)

    def close(self, patience: float = 10.0) -> None:
        """Wait for running jobs up to a time limit, then stop them; recorded jobs are resumed by the next start."""
        with self._lock:
            self._closing = True
        for pool in self._pools.values():
            pool.shutdown(wait=False, cancel_futures=True)
        with self._idle:
            self._idle.wait_for(lambda: not self._busy(), timeout=patience)
            for running in self._running.values():
                running.stop.set()
            self._idle.wait_for(lambda: not self._busy(), timeout=_STOPPING)
        self._write_left()
        with self._lock:
            left = list(self._running.values())
            free, self._free = self._free, None
        for running in left:
            running.error = running.error or CancelledError("The server is stopping.")
            running.finished.set()
        if free is not None:
            free()

    # ---- one job

    def _busy(self) -> bool:
        return any(running.job.state is JobState.RUNNING for running in self._running.values())

    def _start(self, running: RunningJob) -> RunningJob:
        with self._lock:
            if self._closing:
                raise CancelledError("The server is stopping.", suggestion="Try again when it is running again.")
            self._running[running.job.id] = running
        try:
            if running.journaled:
                self._show_life()
                self._journal.write(running.job)
            with self._lock:
                self._turns[running.kind].put(running.asker, running)
            self._pools[running.kind].submit(self._run_next, running.kind)
        except (KnowledgeError, RuntimeError) as exc:
            with self._lock:
                self._turns[running.kind].remove(running.asker, running)
                self._running.pop(running.job.id, None)
            if isinstance(exc, KnowledgeError):
                raise
            raise InternalError(f"The job could not be started. {reason_of(exc)}") from exc
        return running

    def _run_next(self, kind: str) -> None:
        """Run the job whose turn it is, and then continue with the next."""
        with self._lock:
            taken = None if self._closing else self._turns[kind].take()
        if taken is None:
            return
        try:
            self._run(taken[1])
        finally:
            with self._lock:
                self._turns[kind].give_back(taken[0])
            with contextlib.suppress(RuntimeError):  # the executor is closing
                self._pools[kind].submit(self._run_next, kind)

    def _run(self, running: RunningJob) -> None:
        ended = self._ended_elsewhere(running)
        if ended is None:
            changed = self._outcome(running)
            ended = self._ended_elsewhere(running) if changed["state"] is JobState.FAILED else None
            if ended is None:
                self._change(running, **changed)
        if ended is not None:
            running.job, running.error = ended, None
        self._end(running)

    def _end(self, running: RunningJob) -> None:
        self._let_go(running)
        running.finished.set()
        job = running.job
        level, reason = (logging.ERROR, {"reason": job.message}) if job.state is JobState.FAILED else (logging.INFO, {})
        log_event(_logger, level, "job_end", job_id=job.id, state=job.state.value, **reason)

    def _let_go(self, running: RunningJob) -> None:
        """Drop a finished job, unless its end was not recorded: the journal would list it as open."""
        is_final = running.job.state.is_final
        if running.journaled and is_final and not running.is_unwritten:
            with contextlib.suppress(KnowledgeError):
                self._journal.settled(running.job.id)
        with self._idle:
            if not (is_final and running.is_unwritten):
                self._running.pop(running.job.id, None)
            self._idle.notify_all()

    def _write_left(self) -> None:
        with self._lock:
            left = [each for each in self._running.values() if each.is_unwritten and each.finished.is_set()]
        for running in left:
            self._change(running)
            self._let_go(running)

    def _ended_elsewhere(self, running: RunningJob) -> Job | None:
        """Return a job that was resumed here, but ended by the process that had started it: that one was slow."""
        if not running.taken_up:
            return None
        try:
            job = self._journal.read(running.job.id)
        except KnowledgeError:
            return None
        return job if job is not None and job.state.is_final and job.owner != self._owner else None

    def _outcome(self, running: RunningJob) -> dict[str, Any]:
        """Do the work and determine what to record."""
        if not running.stop.is_set():
            self._change(running, state=JobState.RUNNING, attempts=running.job.attempts + 1)
        call = Call(
            lambda done, total, message: self._report(running, done, total, message), lambda: self._is_stopped(running)
        )
        try:
            if self._is_stopped(running):
                raise CancelledError("The job was cancelled.")
            result = dict(self._work(running.job.request, call))
            content = result.pop(RESULT, None)
            if content is not None:
                encoded = json.dumps(content, ensure_ascii=False).encode("utf-8", "replace")
                self._journal.keep_result(running.job.id, encoded)
            return {"state": JobState.DONE, "result": result}
        except CancelledError as exc:
            running.error = exc
            # stopped because the process ends: it will be resumed
            interrupted = self._closing and running.journaled and not running.is_cancelled
            if interrupted:
                attempts = max(running.job.attempts - 1, 0)
                message = "The server stopped; this job continues when it is running again."
                return {"state": JobState.QUEUED, "message": message, "attempts": attempts}
            return {"state": JobState.CANCELLED, "message": exc.message}
        except KnowledgeError as exc:
            running.error = exc
            return {"state": JobState.FAILED, "message": exc.message, "result": dict(self._explain(exc))}
        except Exception as exc:
            _logger.exception("a job crashed")
            running.error = exc
            # the caller may not be the server's operator: the exception's text is only logged
            hint = "See the server's log for the reason."
            error = InternalError(f"The job failed ({type(exc).__name__}).", suggestion=hint)
            return {"state": JobState.FAILED, "message": error.message, "result": dict(self._explain(error))}

    def _report(self, running: RunningJob, done: float, total: float | None, message: str) -> None:
        running.job = replace(running.job, done=done, total=total, message=message, updated_at=_now())
        now = time.monotonic()
        if running.journaled and now - running.written >= _WRITTEN_EVERY:
            running.written = now
            self._change(running)  # for callers that ask another process

    def _is_stopped(self, running: RunningJob) -> bool:
        is_left = running.stop.is_set() or running.is_abandoned()
        return is_left or (running.journaled and self._journal.is_stop_requested(running.job.id))

    def _change(self, running: RunningJob, **changed: Any) -> None:
        running.job = replace(running.job, updated_at=_now(), **changed)
        if running.journaled:
            try:
                self._journal.write(running.job)
                running.is_unwritten = False
            except KnowledgeError:
                running.is_unwritten = True
                _logger.exception("the job's state could not be written down")

    # ---- the journal

    def _rescue(self, job: Job) -> int:
        """Resume a job whose process has ended; it may have finished or been resumed since it was read."""
        with self._rescuing:
            now = self._journal.read(job.id)
            if now is None:
                return 0
            if now.state.is_final:
                self._journal.write(now)
                return 0
            return self._take_up(now) if self._is_orphan(now) else 0

    def _take_up(self, job: Job) -> int:
        if job.attempts >= _MOST_ATTEMPTS:
            error = InternalError(f"The job was started {job.attempts} times, and the server stopped each time.")
            with contextlib.suppress(KnowledgeError):
                self._journal.write(
                    replace(job, state=JobState.FAILED, message=error.message, result=dict(self._explain(error)))
                )
            return 0
        try:
            self._start(
                RunningJob(replace(job, state=JobState.QUEUED, owner=self._owner), journaled=True, taken_up=True)
            )
        except CancelledError:
            return 0
        log_event(_logger, logging.INFO, "job_taken_up", job_id=job.id, attempts=job.attempts)
        return 1

    def _is_orphan(self, job: Job) -> bool:
        return job.owner != self._owner and not self._journal.is_locked(job.owner)

    def _show_life(self) -> None:
        with self._lock:
            if self._free is None:
                self._free = self._journal.hold(self._owner)


def explain(error: KnowledgeError) -> dict[str, Any]:
    """Describe why a job failed, so that `error_of` can rebuild the error."""
    fields: dict[str, Any] = {
        "error": error.code.value,
        "message": error.message,
        "details": error.details,
        "suggestion": error.suggestion,
        "recoverable": error.recoverable,
        "space_differs": isinstance(error, SpaceMismatchError),
    }
    if isinstance(error, UnreadableDocumentError):
        fields.update(reason=error.reason.value, source=error.source)
    return fields


def error_of(job: Job) -> KnowledgeError:
    """Rebuild a job's error from what `explain` stored."""
    if job.state is JobState.CANCELLED:
        return CancelledError("The job was cancelled.", suggestion="Send the same request to start it again.")
    fields = job.result or {}
    words: dict[str, Any] = {"details": str(fields.get("details", "")), "suggestion": fields.get("suggestion") or None}
    if "reason" in fields:
        return UnreadableDocumentError(
            job.message, reason=UnreadableReason(fields["reason"]), source=fields["source"], **words
        )
    kind = SpaceMismatchError if fields.get("space_differs") else class_of(str(fields.get("error")))
    error = kind(job.message, **words)
    error.recoverable = bool(fields.get("recoverable", error.recoverable))
    return error


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _is_old(job: Job) -> bool:
    return datetime.now(UTC) - datetime.fromisoformat(job.updated_at) > _RETENTION


def _is_id(text: str) -> bool:
    return len(text) == 16 and all(sign in _JOB_ID for sign in text)
