"""WorkerPool: threads that share one list of work."""

from __future__ import annotations

import threading

import pytest

from knowledge_mcp.support.workers import FairQueue, WorkerPool


class ClosedError(Exception):
    """The owner of the workers is closed."""


def closed() -> Exception:
    return ClosedError("It is closed.")


def test_results_come_in_the_order_of_the_items_whoever_is_first() -> None:
    workers = WorkerPool(3, "test", closed)
    first_may_end = threading.Event()

    def work(item: int) -> int:
        if item == 0:
            assert first_may_end.wait(30)
        elif item == 5:
            first_may_end.set()
        return 10 * item

    assert workers.map(work, range(6)) == [0, 10, 20, 30, 40, 50]
    assert workers.map(work, [7]) == [70]
    assert workers.map(work, []) == []
    workers.close()


def test_one_lane_works_on_the_thread_of_its_caller() -> None:
    workers = WorkerPool(1, "test", closed)
    assert set(workers.map(lambda _: threading.get_ident(), range(5))) == {threading.get_ident()}
    workers.close()


def test_the_first_failure_stops_the_other_lanes() -> None:
    workers, done = WorkerPool(2, "test", closed), list[int]()

    def work(item: int) -> int:
        if item == 3:
            raise ValueError("three")
        done.append(item)
        return item

    with pytest.raises(ValueError, match="three"):
        workers.map(work, range(100_000))
    assert len(done) < 100_000
    assert workers.map(work, [7, 8, 9]) == [7, 8, 9]
    workers.close()


def test_closing_in_the_middle_of_the_work_is_an_error_of_that_work() -> None:
    workers, begun, go_on = WorkerPool(2, "test", closed), threading.Event(), threading.Event()
    failures: list[BaseException] = []

    def work(item: int) -> int:
        begun.set()
        assert go_on.wait(30)
        return item

    def run() -> None:
        try:
            workers.map(work, range(4))
        except ClosedError as error:
            failures.append(error)

    worker = threading.Thread(target=run)
    worker.start()
    assert begun.wait(30)
    closer = threading.Thread(target=workers.close)
    closer.start()
    go_on.set()
    closer.join(30)
    worker.join(30)
    assert not worker.is_alive()
    with pytest.raises(ClosedError, match="closed"):
        workers.map(work, range(4))


def test_closing_ends_a_list_whose_lanes_still_wait_for_a_thread() -> None:
    """A list whose workers are queued behind another one is refused, and does not wait for ever."""
    workers, begun, go_on = WorkerPool(2, "test", closed), threading.Barrier(3), threading.Event()
    refused: list[ClosedError] = []

    def hold(item: int) -> int:
        begun.wait(30)
        assert go_on.wait(30)
        return item

    def second() -> None:
        try:
            workers.map(str, range(2))
        except ClosedError as error:
            refused.append(error)

    holding = threading.Thread(target=workers.map, args=(hold, range(2)), daemon=True)
    holding.start()
    begun.wait(30)
    waiting = threading.Thread(target=second, daemon=True)
    waiting.start()
    waiting.join(0.2)  # seconds: enough to be queued; too few, and it is refused all the same
    closer = threading.Thread(target=workers.close, daemon=True)
    closer.start()
    closer.join(0.2)  # seconds: it waits for the two items that are held
    go_on.set()
    waiting.join(10)
    assert len(refused) == 1


def test_who_waits_is_served_in_turn_however_often_another_asked() -> None:
    turns = FairQueue[int](2)
    for number in range(4):
        turns.put("a", number)
    turns.put("b", 9)
    assert turns.take() == ("a", 0)
    assert turns.take() == ("b", 9)
    assert turns.take() is None
    turns.give_back("b")
    assert turns.take() is None  # the last place is for somebody else
    turns.give_back("a")
    assert turns.take() == ("a", 1)
    assert turns.waiting("a") == 2


def test_what_waits_can_be_taken_back_once() -> None:
    turns = FairQueue[str](1)
    turns.put("a", "one")
    assert turns.remove("a", "one")
    assert not turns.remove("a", "one")
    assert turns.take() is None


def test_whoever_has_no_name_may_hold_all_places() -> None:
    turns = FairQueue[int](2)
    for number in range(3):
        turns.put("", number)
    assert (turns.take(), turns.take(), turns.take()) == (("", 0), ("", 1), None)
    assert turns.taken == 2


def test_one_place_is_for_each_in_turn() -> None:
    turns = FairQueue[int](1)
    for number in range(2):
        turns.put("a", number)
    assert turns.take() == ("a", 0)
    turns.give_back("a")
    assert turns.take() == ("a", 1)
