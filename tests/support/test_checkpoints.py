"""A checkpoint deep inside long work ends it where it is told to, and does nothing where nobody watches."""

from __future__ import annotations

import threading

import pytest

from knowledge_mcp.support.checkpoints import check_each, checkpoint, watch_for_stop


class StopError(Exception):
    """What ends the work in these tests."""


def stop() -> None:
    raise StopError


def test_a_checkpoint_does_nothing_where_nobody_watches() -> None:
    checkpoint()
    assert list(check_each("abc")) == ["a", "b", "c"]


def test_a_checkpoint_below_a_watch_raises_what_the_watch_raises() -> None:
    with pytest.raises(StopError), watch_for_stop(stop):
        checkpoint()
    checkpoint()


def test_items_are_checked_one_by_one() -> None:
    seen: list[int] = []
    result = threading.Event()

    def look() -> None:
        if result.is_set():
            raise StopError

    def work() -> None:
        for item in check_each(range(10)):
            seen.append(item)
            if item == 3:
                result.set()

    with watch_for_stop(look, every=0.0), pytest.raises(StopError):
        work()
    assert seen == [0, 1, 2, 3]


def test_a_watch_of_one_thread_stops_no_other() -> None:
    ended: list[str] = []

    def other() -> None:
        checkpoint()
        ended.append("went on")

    with watch_for_stop(stop):
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert ended == ["went on"]
