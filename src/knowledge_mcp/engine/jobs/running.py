"""A job of this process: how far it is, who waits for it, and whose turn it takes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from knowledge_mcp.engine.jobs.journal import Job

STATE = "state"
"""Name in a request of what a comparison was made of."""
KINDS = ("job", "review")
"""Jobs that take in, and those that hold documents against each other."""


@dataclass(eq=False)
class RunningJob:
    """Follow a job of this process.

    Attributes:
        taken_up: another process had begun it.
        is_abandoned: whether who waited for it has gone.
        is_cancelled: somebody cancelled it; `stop` is set too where only this process ends.
        is_unwritten: its present state could not be written down.
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
        """Wait until it is done, at most so long; tells whether it is."""
        return self.finished.wait(seconds)

    @property
    def asker(self) -> str:
        """Name for whom it has its turn: its collection, empty where its request has none."""
        return str(self.job.request.get("collection", ""))

    @property
    def kind(self) -> str:
        """Tell of which kind it is: those with a state hold documents against each other."""
        return "review" if STATE in self.job.request else "job"
