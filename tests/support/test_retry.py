"""Retries: how often, after which pauses, of which failures, and what the log says; no test waits."""

from __future__ import annotations

import email.utils
import logging
from dataclasses import dataclass, field
from typing import Any

import pytest

from knowledge_mcp.model.errors import (
    AuthError,
    ConfigError,
    ConnectionFailedError,
    InternalError,
    InvalidInputError,
    KnowledgeError,
    NotFoundError,
    QuotaExceededError,
    RateLimitedError,
    TimedOutError,
    may_pass,
)
from knowledge_mcp.support.events import EVENT_FIELDS
from knowledge_mcp.support.retry import SPECIFIED, RetryPolicy, call_with_retries, requested_pause


@dataclass
class Service:
    """Fail with these errors, one a call, then answer; remembers how often it was asked and how long it was left."""

    errors: list[Exception]
    asked: int = 0
    pauses: list[float] = field(default_factory=list[float])

    def answer(self) -> str:
        self.asked += 1
        if self.errors:
            raise self.errors.pop(0)
        return "answer"

    def ask(self) -> str:
        policy = RetryPolicy(SPECIFIED.pauses, self.pauses.append)
        return call_with_retries(self.answer, service="the service", may_pass=may_pass, policy=policy)


def _fields(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    assert {(record.levelno, record.getMessage()) for record in caplog.records} <= {(logging.WARNING, "retry_attempt")}
    return [getattr(record, EVENT_FIELDS) for record in caplog.records]


@pytest.mark.requirement("A-REQ-REL-002")
@pytest.mark.requirement("A-REQ-MAINT-001")
def test_a_failure_that_passes_is_retried_after_1_2_and_4_seconds_and_each_retry_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    away, late = ConnectionFailedError("It is away.", details="refused"), TimedOutError("Too late.")
    service = Service([away, late, InternalError("It failed.", details="503", recoverable=True)])
    assert service.ask() == "answer"
    assert (service.asked, service.pauses) == (4, [1.0, 2.0, 4.0])
    assert [(each["service"], each["attempt"], each["reason"]) for each in _fields(caplog)] == [
        ("the service", 1, "It is away. refused"),
        ("the service", 2, "Too late."),
        ("the service", 3, "It failed. 503"),
    ]


@pytest.mark.requirement("A-REQ-REL-002")
def test_a_failure_that_stays_is_raised_as_it_came_after_three_retries() -> None:
    service = Service([ConnectionFailedError(f"try {number}") for number in range(9)])
    with pytest.raises(ConnectionFailedError, match="try 3"):
        service.ask()
    assert (service.asked, service.pauses) == (4, [1.0, 2.0, 4.0])


@pytest.mark.requirement("A-REQ-REL-002")
@pytest.mark.parametrize(
    "error",
    [
        AuthError("refused"),
        ConfigError("wrong"),
        InvalidInputError("wrong"),
        NotFoundError("nothing"),
        QuotaExceededError("used up"),
        InternalError("a defect"),
        ConnectionFailedError("no such package", recoverable=False),
        ValueError("a defect"),
    ],
)
def test_what_does_not_pass_is_raised_at_once(error: Exception, caplog: pytest.LogCaptureFixture) -> None:
    service = Service([error])
    with pytest.raises(type(error)):
        service.ask()
    assert (service.asked, service.pauses, caplog.records) == (1, [], [])


@pytest.mark.parametrize(("asked", "pause"), [(None, 1.0), (0.5, 1.0), (7.0, 7.0), (3600.0, 60.0)])
def test_a_pause_that_the_service_asks_for_is_kept_up_to_a_minute(asked: float | None, pause: float) -> None:
    service = Service([RateLimitedError("slower", retry_after=asked)])
    assert service.ask() == "answer"
    assert service.pauses == [pause]


@pytest.mark.requirement("A-REQ-REL-002")
@pytest.mark.parametrize(
    ("chance", "asked", "pause"),
    [(0.0, None, 1.0), (0.4, None, 1.1), (1.0, None, 1.25), (1.0, 8.0, 10.0), (1.0, 58.0, 60.0), (1.0, 3600.0, 60.0)],
)
def test_jitter_lengthens_a_pause_by_chance_and_never_shortens_it(
    chance: float, asked: float | None, pause: float
) -> None:
    service = Service([RateLimitedError("slower", retry_after=asked)])
    policy = RetryPolicy(sleep=service.pauses.append, jitter=0.25, chance=lambda: chance)
    assert call_with_retries(service.answer, service="x", may_pass=may_pass, policy=policy) == "answer"
    assert service.pauses == [pytest.approx(pause)]


def test_the_pauses_of_many_clients_are_spread_over_their_jitter() -> None:
    pauses: list[float] = []
    for _ in range(200):
        policy = RetryPolicy((1.0,), pauses.append, jitter=0.5)
        service = Service([TimedOutError("late")])
        assert call_with_retries(service.answer, service="x", may_pass=may_pass, policy=policy) == "answer"
    assert 1.0 <= min(pauses) < 1.2
    assert 1.3 < max(pauses) <= 1.5


def test_what_succeeds_at_once_neither_waits_nor_logs(caplog: pytest.LogCaptureFixture) -> None:
    service = Service([])
    assert service.ask() == "answer"
    assert (service.asked, service.pauses, caplog.records) == (1, [], [])


def test_an_interrupt_is_never_retried() -> None:
    def interrupted() -> str:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        call_with_retries(
            interrupted, service="x", may_pass=lambda _: True, policy=RetryPolicy((0.0,), _refuse_to_sleep)
        )


def test_every_kind_of_error_says_whether_it_may_pass() -> None:
    def kinds(of: type[KnowledgeError]) -> set[type[KnowledgeError]]:
        return {of}.union(*(kinds(each) for each in of.__subclasses__()))

    with_more = {"ContentRefusedError", "UnreadableDocumentError"}  # their makers take more than a message
    ours = {each for each in kinds(KnowledgeError) if each.__module__ == KnowledgeError.__module__}
    plain = {each for each in ours if each.__name__ not in with_more}
    assert {each for each in plain if may_pass(each("x"))} == {ConnectionFailedError, TimedOutError, RateLimitedError}


def _refuse_to_sleep(_: float) -> None:
    pytest.fail("it waited")


def test_retry_after_is_read_in_seconds_and_as_a_date() -> None:
    assert requested_pause("7") == 7.0
    assert requested_pause("0.5") == 0.5
    assert requested_pause(email.utils.format_datetime(email.utils.localtime())) == pytest.approx(0, abs=5)
    assert requested_pause("Wed, 21 Oct 2015 07:28:00 GMT") == 0.0
    for nonsense in ("", "soon", "nan", "-3", "inf"):
        assert requested_pause(nonsense) is None
