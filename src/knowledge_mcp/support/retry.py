"""Retries of external requests (A-REQ-REL-002): at most three, with growing pauses, each logged."""

from __future__ import annotations

import logging
import math
import random
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TypeVar

from knowledge_mcp.support.events import log_event

_logger = logging.getLogger(__name__)

_MAX_PAUSE = 60.0
"""Maximum pause in seconds, even if a service asks for a longer one."""
_MOST_REASON = 500

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and when to repeat a failed call.

    Attributes:
        pauses: seconds before each retry; the number of pauses is the number of retries.
        sleep: waits for the given seconds; tests pass their own, a server passes one that ends with the server.
        jitter: maximum share of a pause that is added to it at random, so that many clients that failed together do not
            return together; a pause never gets shorter.
        chance: returns a random number from 0 to 1.
    """

    pauses: tuple[float, ...] = (1.0, 2.0, 4.0)
    sleep: Callable[[float], object] = time.sleep
    jitter: float = 0.0
    chance: Callable[[], float] = random.random


SPECIFIED = RetryPolicy()
"""Three retries after 1, 2 and 4 seconds."""


def doubling_pauses(retries: int) -> tuple[float, ...]:
    """List the pauses before a number of retries: 1, 2, 4 ... seconds, at most a minute."""
    return tuple(min(2.0**number, _MAX_PAUSE) for number in range(retries))


def requested_pause(header: str) -> float | None:
    """Read a `Retry-After`, in seconds or as a date; None if it is neither."""
    import email.utils  # rarely needed, and slow to load

    try:
        seconds = float(header)
    except ValueError:
        try:
            return max(0.0, email.utils.parsedate_to_datetime(header).timestamp() - time.time())
        except (ValueError, OverflowError):
            return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None


_ONCE: ContextVar[bool] = ContextVar("once", default=False)


@contextmanager
def without_retries() -> Generator[None]:
    """Disable retries in this context: a health check must not wait until a service recovers."""
    before = _ONCE.set(True)
    try:
        yield
    finally:
        _ONCE.reset(before)


def call_with_retries(
    call: Callable[[], T], *, service: str, may_pass: Callable[[Exception], bool], policy: RetryPolicy = SPECIFIED
) -> T:
    """Call, and retry after a pause while the failure may be temporary; the last failure is raised unchanged.

    Each retry is logged as `retry_attempt` at WARNING with `service`, `attempt` (from 1), `reason` and `pause_s`. An
    error with a `retry_after` (seconds) gets at least that pause, up to a minute.

    Args:
        call: one attempt, with its own time limit.
        service: name of the service, for the log.
        may_pass: whether the same call may succeed a little later.
        policy: how often and when to retry.
    """
    for attempt, pause in enumerate(() if _ONCE.get() else policy.pauses, 1):
        try:
            return call()
        except Exception as exc:
            if not may_pass(exc):
                raise
            wait = _wait(max(pause, min(_pause_of(exc), _MAX_PAUSE)), policy)
            log_event(
                _logger, logging.WARNING, "retry_attempt",
                service=service, attempt=attempt, reason=_reason(exc), pause_s=wait,
            )  # fmt: skip
        policy.sleep(wait)
    return call()


def _wait(pause: float, policy: RetryPolicy) -> float:
    """Lengthen a pause at random, up to the limit of a minute."""
    return max(pause, min(pause * (1.0 + policy.jitter * policy.chance()), _MAX_PAUSE))


def _pause_of(exc: Exception) -> float:
    seconds: float | None = getattr(exc, "retry_after", None)
    return seconds or 0.0


def _reason(exc: Exception) -> str:
    details: str = getattr(exc, "details", "")
    return f"{exc} {details}".strip()[:_MOST_REASON] or type(exc).__name__
