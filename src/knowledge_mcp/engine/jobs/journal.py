"""The record of jobs: the journal's protocol, and one with a file for each job.

A journal knows which processes are alive by the owner name that each one holds; a job without a living owner is an
orphan.
"""

from __future__ import annotations

import contextlib
import json
import logging
import threading
import time
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol, TypeVar

from knowledge_mcp.model.errors import InternalError, NotFoundError, reason_of
from knowledge_mcp.support import locks
from knowledge_mcp.support.files import write_atomically

_logger = logging.getLogger(__name__)

T = TypeVar("T")


class JobState(StrEnum):
    """The state of a job."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_final(self) -> bool:
        """Return whether the state is final."""
        return self in {JobState.DONE, JobState.FAILED, JobState.CANCELLED}


@dataclass(frozen=True, slots=True)
class Job:
    """One job at one moment.

    Attributes:
        id: 16 hex digits.
        request: the work to do, plain JSON values.
        state: its state.
        created_at, updated_at: ISO 8601 UTC.
        attempts: how often it was started.
        done, total, message: its progress; `total` is None if unknown.
        result: its result, plain JSON values; None until then.
        owner: name held by its process.
    """

    id: str
    request: dict[str, Any]
    state: JobState
    created_at: str
    updated_at: str
    attempts: int = 0
    done: float = 0.0
    total: float | None = None
    message: str = ""
    result: dict[str, Any] | None = None
    owner: str = ""


def job_to_json(job: Job) -> str:
    """Write a job as JSON."""
    return json.dumps(asdict(job), ensure_ascii=False)


def job_from_json(text: str) -> Job:
    """Parse a job.

    Raises:
        ValueError, TypeError, KeyError: it is not a job.
    """
    values: dict[str, Any] = json.loads(text)
    values["state"] = JobState(values["state"])
    known = {each.name for each in fields(Job)}  # a later version may write more
    return Job(**{name: value for name, value in values.items() if name in known})


class Journal(Protocol):
    """Store jobs beyond the end of a process; several processes may share one journal. Thread-safe.

    Finished jobs are stored separately: a week of them costs nothing when jobs are started, followed or searched. A
    journal that cannot be written raises `InternalError`, or its store's error.
    """

    def hold(self, owner: str) -> Callable[[], None]:
        """Show that an owner's process is alive, until the returned function is called or the process ends."""
        ...

    def is_locked(self, owner: str) -> bool:
        """Return whether the process of an owner is alive."""
        ...

    def write(self, job: Job) -> None:
        """Write a job's state, replacing the previous one; a finished one is moved to the finished jobs."""
        ...

    def read(self, job_id: str) -> Job | None:
        """Return a job as last written, None if it is missing or unreadable."""
        ...

    def open(self) -> list[Job]:
        """List unfinished jobs by id; also those finished by an earlier version, until they are written again."""
        ...

    def ended(self) -> list[Job]:
        """List finished jobs by id: a week of them, so call this rarely."""
        ...

    def forget(self, job_id: str) -> None:
        """Remove a job with everything that belongs to it."""
        ...

    def ask_to_stop(self, job_id: str) -> None:
        """Request the job's process, whichever it is, to stop it."""
        ...

    def is_stop_requested(self, job_id: str) -> bool:
        """Return whether a stop was requested; called often."""
        ...

    def settled(self, job_id: str) -> None:
        """Remove the stop request, and other data of the job among the open ones: it has finished."""
        ...

    def keep_result(self, job_id: str, content: bytes) -> None:
        """Store the result of a job next to it, until the job is removed; replaces the previous one."""
        ...

    def result(self, job_id: str) -> bytes:
        """Return the stored result; NotFoundError if there is none."""
        ...

    def recovering(self) -> AbstractContextManager[bool]:
        """Allow one process at a time to resume orphans, if the journal can lock; yields False if it must not."""
        ...


class FolderJournal:
    """Store one JSON file for each job in a local folder.

    Args:
        folder: created when the first job is written.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def hold(self, owner: str) -> Callable[[], None]:
        return self._mapped(lambda: locks.acquire(self._folder / "locks", owner))

    def is_locked(self, owner: str) -> bool:
        return not locks.is_free(self._folder / "locks", owner)

    def write(self, job: Job) -> None:
        file = self._ended_path(job.id) if job.state.is_final else self._file(job.id)
        self._mapped(lambda: write_atomically(file, job_to_json(job).encode(), private=True))
        if job.state.is_final:
            self._file(job.id).unlink(missing_ok=True)

    def read(self, job_id: str) -> Job | None:
        open_one = self._read(self._file(job_id))
        return self._read(self._ended_path(job_id)) or open_one  # it is written there before it is removed here

    def open(self) -> list[Job]:
        return self._all(self._folder)

    def ended(self) -> list[Job]:
        return self._all(self._folder / "ended")

    def forget(self, job_id: str) -> None:
        self._mark(job_id).unlink(missing_ok=True)
        self._file(job_id).unlink(missing_ok=True)
        self._ended_path(job_id).unlink(missing_ok=True)
        self._result(job_id).unlink(missing_ok=True)

    def keep_result(self, job_id: str, content: bytes) -> None:
        self._mapped(lambda: write_atomically(self._result(job_id), content, private=True))

    def result(self, job_id: str) -> bytes:
        try:
            return self._mapped(self._result(job_id).read_bytes)
        except InternalError as exc:
            raise NotFoundError("The result of this job no longer exists.", suggestion="Start the job again.") from exc

    def ask_to_stop(self, job_id: str) -> None:
        self._mapped(lambda: self._mark(job_id).touch())

    def is_stop_requested(self, job_id: str) -> bool:
        return self._mark(job_id).exists()

    def settled(self, job_id: str) -> None:
        self._mark(job_id).unlink(missing_ok=True)
        if self._ended_path(job_id).exists():
            self._file(job_id).unlink(missing_ok=True)

    @contextlib.contextmanager
    def recovering(self) -> Generator[bool]:
        if not self._folder.is_dir():
            yield False
            return
        # one process at a time, otherwise two would resume the same job
        with locks.hold_lock(self._folder / "locks", "recovery"):
            yield True

    def _file(self, job_id: str) -> Path:
        return self._folder / f"{job_id}.json"

    def _ended_path(self, job_id: str) -> Path:
        return self._folder / "ended" / f"{job_id}.json"

    def _result(self, job_id: str) -> Path:
        return self._folder / "results" / job_id

    def _all(self, folder: Path) -> list[Job]:
        jobs = (self._read(path) for path in sorted(folder.glob("*.json")))
        return [job for job in jobs if job is not None]

    def _mark(self, job_id: str) -> Path:
        return self._folder / f"{job_id}.cancel"

    @staticmethod
    def _mapped(do: Callable[[], T]) -> T:
        try:
            return do()
        except OSError as exc:
            raise InternalError(f"The job journal cannot be written. {reason_of(exc)}") from exc

    def _read(self, path: Path) -> Job | None:
        try:
            return job_from_json(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError, KeyError) as exc:
            _logger.warning("the journal's %s cannot be read: %s", path.name, exc)
            return None


class HeartbeatWatch:
    """Watch heartbeats; thread-safe.

    A heartbeat seen for the first time counts as fresh: only if it stays unchanged is it old.

    Args:
        silence: seconds without a change after which an owner counts as dead.
        clock: monotonic seconds.
    """

    def __init__(self, silence: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._silence = silence
        self._clock = clock
        self._lock = threading.Lock()
        self._seen: dict[str, tuple[str, float]] = {}

    def is_alive(self, name: str, sign: str) -> bool:
        """Record an owner's present heartbeat, and return whether it has changed recently."""
        now = self._clock()
        with self._lock:
            last, since = self._seen.get(name, (None, now))
            if last != sign:
                self._seen[name] = sign, now
                return True
            return now - since < self._silence

    def forget(self, name: str) -> None:
        """Stop watching an owner."""
        with self._lock:
            self._seen.pop(name, None)
