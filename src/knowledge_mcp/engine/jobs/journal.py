"""Where jobs are written down: what a journal must do, and the one that keeps a file for each job.

A journal knows which processes are alive by the owner each of them holds; a job whose owner is gone is an orphan.
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
    """Where a job is."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_final(self) -> bool:
        """Tell whether it will not change any more."""
        return self in {JobState.DONE, JobState.FAILED, JobState.CANCELLED}


@dataclass(frozen=True, slots=True)
class Job:
    """Describe one job at one moment.

    Attributes:
        id: 16 hex digits.
        request: what is to be done, plain JSON values.
        state: where it is.
        created_at, updated_at: ISO 8601 UTC.
        attempts: how often it was begun.
        done, total, message: how far it is; `total` is None where that is not known.
        result: what came of it, plain JSON values; None until then.
        owner: name that its process holds.
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
    """Read a job again.

    Raises:
        ValueError, TypeError, KeyError: it is no job.
    """
    values: dict[str, Any] = json.loads(text)
    values["state"] = JobState(values["state"])
    known = {each.name for each in fields(Job)}  # a later version may write more
    return Job(**{name: value for name, value in values.items() if name in known})


class Journal(Protocol):
    """Keep jobs over the end of a process; several processes may share one. Thread-safe.

    Jobs that have ended are kept apart: a week of them costs nothing when one is begun, followed or looked for. A
    journal that cannot be written raises `InternalError`, or what its store says.
    """

    def hold(self, owner: str) -> Callable[[], None]:
        """Show that an owner's process is alive, until the function returned is called or the process ends."""
        ...

    def is_locked(self, owner: str) -> bool:
        """Tell whether the process of an owner is alive."""
        ...

    def write(self, job: Job) -> None:
        """Write a job's state in place of the one before; one that has ended goes to where these are kept."""
        ...

    def read(self, job_id: str) -> Job | None:
        """Return a job as it was last written, None where there is none that can be read."""
        ...

    def open(self) -> list[Job]:
        """List the jobs by id that have not ended; also those that an earlier version ended, until they are written."""
        ...

    def ended(self) -> list[Job]:
        """List the jobs by id that have ended: a week of them, so this is asked seldom."""
        ...

    def forget(self, job_id: str) -> None:
        """Remove a job with all that belongs to it."""
        ...

    def ask_to_stop(self, job_id: str) -> None:
        """Leave word for the job's process, whichever it is, that it is to stop."""
        ...

    def is_stop_requested(self, job_id: str) -> bool:
        """Tell whether that word was left; asked often."""
        ...

    def settled(self, job_id: str) -> None:
        """Take that word away, and what else is left of the job where open ones are kept: it has ended."""
        ...

    def keep_result(self, job_id: str, content: bytes) -> None:
        """Keep what came of a job beside it, until it is forgotten; in place of what was kept before."""
        ...

    def result(self, job_id: str) -> bytes:
        """Return what was kept; NotFoundError where nothing was."""
        ...

    def recovering(self) -> AbstractContextManager[bool]:
        """Let one process at a time take up orphans, where that can be had; yields False where it has nothing to do."""
        ...


class FolderJournal:
    """Keep one JSON file for each job in a folder of this machine.

    Args:
        folder: made when the first job is written.
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
        return self._read(self._ended_path(job_id)) or open_one  # it is written there before it goes from here

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
            raise NotFoundError("What came of this job is gone.", suggestion="Ask for it again.") from exc

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
        # one process at a time, or two would take up the same job
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
            raise InternalError(f"The journal of jobs cannot be written. {reason_of(exc)}") from exc

    def _read(self, path: Path) -> Job | None:
        try:
            return job_from_json(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError, KeyError) as exc:
            _logger.warning("the journal's %s cannot be read: %s", path.name, exc)
            return None


class SignsOfLife:
    """Watch signs of life; thread-safe.

    One that is seen for the first time counts as fresh: that it is old shows by its staying as it is.

    Args:
        silence: seconds without a change after which somebody counts as gone.
        clock: seconds that only ever grow.
    """

    def __init__(self, silence: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._silence = silence
        self._clock = clock
        self._lock = threading.Lock()
        self._seen: dict[str, tuple[str, float]] = {}

    def is_alive(self, name: str, sign: str) -> bool:
        """Note somebody's present sign of life, and tell whether it has changed lately."""
        now = self._clock()
        with self._lock:
            last, since = self._seen.get(name, (None, now))
            if last != sign:
                self._seen[name] = sign, now
                return True
            return now - since < self._silence

    def forget(self, name: str) -> None:
        """Watch somebody no longer."""
        with self._lock:
            self._seen.pop(name, None)
