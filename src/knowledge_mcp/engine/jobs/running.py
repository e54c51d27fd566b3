"""A job of this process: its progress, who waits for it, and whose turn it uses."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from knowledge_mcp.engine.jobs.journal import Job

STATE = "state"
"""Key in a request of what a review was made of."""
KINDS = ("job", "review")
"""Jobs that ingest, and jobs that compare documents."""


@dataclass(eq=False)
class RunningJob:
    """A job of this process.

    Attributes:
        taken_up: another process had started it.
        is_abandoned: whether the waiting caller has gone.
        is_cancelled: it was cancelled; `stop` is also set if only this process ends.
        is_unwritten: its present state could not be recorded.
    """

    job: Job
    journaled: bool
    taken_up: bool = False
    is_abandoned: Callable[[], bool] = bool
    is_cancelled: bool = False
    is_unwritten: bool = False
    stop: threading.Event = field(default_factory=threading.Event)
    finished: threading.Event = field(default_factory=threading.Event)
    error: BaseException | None = None
    written: float = 0.0

    def wait(self, seconds: float) -> bool:
        """Wait until it is done, up to a time limit; return whether it is."""
        return self.finished.wait(seconds)

    @property
    def asker(self) -> str:
        """Return the name that takes turns: its collection, empty if its request has none."""
        return str(self.job.request.get("collection", ""))

    @property
    def kind(self) -> str:
        """Return its kind: jobs with a state compare documents."""
        return "review" if STATE in self.job.request else "job"
