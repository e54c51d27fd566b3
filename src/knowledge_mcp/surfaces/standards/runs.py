"""Runs that outlive the call that began them: jobs, found by what was asked, whoever asks again."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from knowledge_mcp.engine.jobs.jobs import Jobs, error_of
from knowledge_mcp.engine.jobs.journal import Job, JobState
from knowledge_mcp.model.call import Call
from knowledge_mcp.model.collection import DocumentRecord
from knowledge_mcp.model.errors import CancelledError, NotFoundError
from knowledge_mcp.surfaces.following import watch

PATIENCE = 45.0
"""Seconds after which a caller is answered that a run goes on: many clients give up after a minute."""

_waiting = Counter[str]()
_lock = threading.Lock()


@dataclass(frozen=True, slots=True)
class UnderWay:
    """Tell how far a run is that goes on: its job, hundredths, and words."""

    job_id: str
    done: float
    words: str


def outcome(
    jobs: Jobs, request: Mapping[str, Any], records: Sequence[DocumentRecord], call: Call
) -> dict[str, Any] | UnderWay:
    """Return what came of a request over documents, started now unless it is known; how far it is after a while.

    A caller that gives up ends the run, unless another one waits for it. The next call starts a failed one again.

    Raises:
        CancelledError: the caller gave up, or somebody cancelled the job.
        KnowledgeError: as the work says.
    """
    job = jobs.once(request, list(records))
    due = time.monotonic() + PATIENCE

    def ended(seconds: float) -> bool:
        nonlocal job
        if not job.state.is_final:
            job = jobs.wait(job.id, seconds)
        return job.state.is_final or time.monotonic() >= due

    def give_up() -> CancelledError:
        with _lock:
            alone = _waiting[job.id] == 1
        if alone:
            jobs.cancel(job.id)
        return CancelledError("The caller gave up.")

    with _lock:
        _waiting[job.id] += 1
    try:
        watch(ended, lambda: _state(job), call, give_up=give_up, failed=lambda: job.state is not JobState.DONE)
    finally:
        with _lock:
            _waiting[job.id] -= 1
            if not _waiting[job.id]:
                del _waiting[job.id]
    if not job.state.is_final:
        return UnderWay(job.id, *_state(job))
    if job.state is not JobState.DONE:
        raise error_of(job)
    try:
        return jobs.result(job.id)
    except NotFoundError:
        jobs.forget(job.id)
        raise


def _state(job: Job) -> tuple[float, str]:
    return (100.0 * min(job.done / job.total, 1.0) if job.total else 0.0), job.message
