"""The one Knowledge of a process: opened once, warmed up in the background, closed whatever else happens."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

import pytest

from knowledge_mcp.model.errors import ConnectionFailedError, InternalError
from knowledge_mcp.ports import Knowledge
from knowledge_mcp.transports.shared.provider import KnowledgeProvider
from tests.fakes.knowledge import FakeKnowledge


class Stubborn(FakeKnowledge):
    """A Knowledge that cannot be closed."""

    def close(self) -> None:
        """Fail."""
        raise ConnectionFailedError("The store went away.")


def fail(name: str) -> None:
    """Fail, as one would when a model file is missing."""
    raise ConnectionFailedError(f"{name} is not possible.")


def crash(_: str) -> None:
    """Crash."""
    raise RuntimeError("unforeseen")


def test_many_threads_get_the_same_knowledge_made_once() -> None:
    made: list[FakeKnowledge] = []
    barrier = threading.Barrier(8)
    got: list[Knowledge] = []

    def factory() -> Knowledge:
        made.append(FakeKnowledge(()))
        return made[-1]

    provider = KnowledgeProvider(factory)

    def get() -> None:
        barrier.wait(10)
        got.append(provider.get())

    threads = [threading.Thread(target=get) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert len(made) == 1
    assert got == made * 8


def test_a_warm_up_runs_once_in_the_background_and_closing_waits_for_it() -> None:
    runs: list[str] = []
    may_go_on = threading.Event()

    def before(name: str) -> None:
        may_go_on.wait(10)
        runs.append(name)

    knowledge = FakeKnowledge((), before=before)
    provider = KnowledgeProvider(lambda: knowledge)
    provider.start_warm_up()
    provider.start_warm_up()
    assert not knowledge.warmed_up.is_set()
    may_go_on.set()
    provider.close()
    assert runs == ["warm_up"]
    assert knowledge.warmed_up.is_set()
    assert knowledge.closed


def test_a_warm_up_that_has_not_begun_is_called_off() -> None:
    knowledge = FakeKnowledge(())
    provider = KnowledgeProvider(lambda: knowledge)
    provider.start_warm_up(delay=30)
    provider.close()
    assert not knowledge.warmed_up.is_set()


def test_after_closing_there_is_no_knowledge_and_no_warm_up() -> None:
    provider = KnowledgeProvider(FakeKnowledge)
    provider.get()
    provider.close()
    provider.close()
    provider.start_warm_up()
    with pytest.raises(InternalError, match="shutting down"):
        provider.get()


@pytest.mark.parametrize(
    ("before", "logged"), [(fail, "warm-up failed: warm_up is not possible."), (crash, "warm-up crashed")]
)
def test_a_warm_up_that_fails_is_logged_and_harms_nobody(
    before: Callable[[str], None], logged: str, caplog: pytest.LogCaptureFixture
) -> None:
    knowledge = FakeKnowledge((), before=before)
    provider = KnowledgeProvider(lambda: knowledge)
    provider.start_warm_up()
    assert provider.get() is knowledge
    provider.close()
    assert logged in caplog.text


def test_a_knowledge_that_does_not_close_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    provider = KnowledgeProvider(lambda: Stubborn(()))
    provider.get()
    provider.close()
    assert "The store went away." in caplog.text


def test_closing_does_not_wait_for_ever_for_an_opening_that_hangs(caplog: pytest.LogCaptureFixture) -> None:
    opening, may_go_on = threading.Event(), threading.Event()

    def factory() -> Knowledge:
        opening.set()
        may_go_on.wait(10)
        return FakeKnowledge(())

    provider = KnowledgeProvider(factory)
    thread = threading.Thread(target=provider.get)
    thread.start()
    assert opening.wait(10)
    provider.close(patience=0.05)
    may_go_on.set()
    thread.join(10)
    assert "still being opened" in caplog.text
