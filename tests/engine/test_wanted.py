"""Every long look through what is stored ends soon after its caller has left, and threads that it began end with it."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import pytest

from knowledge_mcp.engine.core.documents import outline_of, read_document
from knowledge_mcp.engine.evidence.quote_finding import Searched, prepare_quote
from knowledge_mcp.engine.evidence.references import references_of
from knowledge_mcp.engine.evidence.targets import Targets
from knowledge_mcp.engine.search.lookup import definitions_in
from knowledge_mcp.engine.search.requirements import documents_named, requirement_records
from knowledge_mcp.model.chunk import Chunk
from knowledge_mcp.model.errors import CancelledError, InternalError, TimedOutError
from knowledge_mcp.model.evidence import ReferenceQuery
from knowledge_mcp.stores.memory import MemoryHandle
from knowledge_mcp.support.checkpoints import check_each, checkpoint, inherit_checkpoints
from knowledge_mcp.support.workers import WorkerPool
from knowledge_mcp.transports.shared.threads import run_until
from tests.engine.world import PUMPS, World

A = TypeVar("A")
T = TypeVar("T")

MANY = 5_000
LEFT_AFTER = 20
"""Items after which the caller leaves; what goes on for many more does not look."""


class Caller:
    """Somebody who leaves once so many items were given out, and counts those that are given all the same."""

    def __init__(self) -> None:
        self.given = 0

    def left(self) -> bool:
        return self.given >= LEFT_AFTER

    def gives(self, item: T) -> Iterator[T]:
        for _ in range(MANY):
            self.given += 1
            yield item

    def asks(self, function: Callable[[], object]) -> None:
        with pytest.raises(CancelledError):
            run_until(self.left, math.inf, function)
        assert self.given <= 2 * LEFT_AFTER


class Given(list[T]):
    """A list whose items are counted as they are read."""

    def __init__(self, caller: Caller, item: T) -> None:
        super().__init__([item])
        self._caller = caller

    def __iter__(self) -> Iterator[T]:
        return self._caller.gives(self[0])


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Ingest one document once."""
    return World(tmp_path_factory.mktemp("world")).holding({"pumps.md": PUMPS})


@pytest.fixture(scope="module")
def passage(world: World) -> Chunk:
    """Give a passage with a statement and a reference."""
    return next(each for each in world.store.open(world.collection).chunks("document", ["pumps"]) if each.links)


def test_the_requirements_of_a_document(world: World, passage: Chunk) -> None:
    caller, held = Caller(), read_document(world.base, "pumps")
    caller.asks(lambda: requirement_records(held.record, Given(caller, passage), held.text))


def test_the_documents_that_a_name_means(world: World) -> None:
    caller = Caller()
    (record,) = world.knowledge.documents()
    caller.asks(lambda: documents_named(Given(caller, record), "pumps"))


def test_the_sections_that_passages_tell_of(passage: Chunk) -> None:
    caller = Caller()
    each = replace(passage, section_hierarchy=("1 One",))

    def path(_: Chunk) -> Sequence[str]:
        caller.given += 1
        return ("1 One",)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("knowledge_mcp.engine.core.documents._path", path)
        caller.asks(lambda: outline_of([each] * MANY))


def test_the_definitions_in_passages(world: World, passage: Chunk) -> None:
    caller = Caller()
    definition = next(
        each.definitions[0]
        for each in world.store.open(world.collection).chunks("document", ["pumps"])
        if each.definitions
    )
    each = replace(passage, definitions=counting(caller, definition))
    caller.asks(lambda: definitions_in(world.base, [each] * MANY))


def counting(caller: Caller, item: A) -> tuple[A, ...]:
    """Make a tuple of one item that counts how often it is read."""

    class Counting(tuple[Any, ...]):
        __slots__ = ()

        def __iter__(self) -> Iterator[Any]:
            caller.given += 1
            return super().__iter__()

    return Counting((item,))


def _nobody(name: str, document_ids: Sequence[str]) -> tuple[Sequence[Chunk], tuple[str, ...]]:
    del name, document_ids
    return [], ()


def test_references_of_a_document(world: World, passage: Chunk) -> None:
    caller, held = Caller(), read_document(world.base, "pumps")
    each = replace(passage, links=counting(caller, passage.links[0]))
    targets = Targets([held.record], lambda _: replace(held, chunks=(each,) * MANY))
    caller.asks(lambda: references_of(targets, "pumps", ReferenceQuery("pumps"), _nobody))


def test_the_documents_that_references_may_lead_to(world: World) -> None:
    caller = Caller()
    (record,) = world.knowledge.documents()
    caller.asks(lambda: Targets(Given(caller, record), lambda _: read_document(world.base, "pumps")))


def test_the_places_where_a_quote_may_stand(monkeypatch: pytest.MonkeyPatch) -> None:
    caller, part = Caller(), prepare_quote("the pump shall not leak")
    assert part is not None
    searched = Searched("The pump, shall; not: leak? " * MANY)
    read = Searched.words

    def words(self: Searched, start: int, end: int) -> object:
        caller.given += 1
        return read(self, start, end)

    monkeypatch.setattr(Searched, "words", words)
    caller.asks(lambda: searched.equal(part, limit=MANY))


class Terms(dict[str, str]):
    """Terms of a store, counted as they are read."""

    def __init__(self, caller: Caller) -> None:
        super().__init__()
        self._caller = caller

    def items(self) -> Iterator[tuple[str, str]]:  # type: ignore[override] - all that a reader needs
        return self._caller.gives(("outagf", "outagf"))


def test_terms_that_are_spelled_alike(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    caller = Caller()

    def terms(_: MemoryHandle) -> Mapping[str, str]:
        return Terms(caller)

    monkeypatch.setattr(MemoryHandle, "defined_terms", terms)
    caller.asks(lambda: world.knowledge.lookup("outagg"))


def test_threads_that_a_call_began_end_with_it() -> None:
    left, workers = threading.Event(), WorkerPool(3, "search", lambda: InternalError("closed"))
    begun, ended = threading.Barrier(4), list[str]()

    def work(name: str) -> None:
        begun.wait(20)
        left.wait(20)
        try:
            checkpoint()
        except CancelledError:
            ended.append(name)
            raise

    def leave() -> None:
        begun.wait(20)
        left.set()

    leaving = threading.Thread(target=leave)
    leaving.start()
    try:
        with pytest.raises(CancelledError):
            run_until(left.is_set, math.inf, lambda: workers.map(inherit_checkpoints(work), ["a", "b", "c", "never"]))
    finally:
        left.set()
        leaving.join(20)
        workers.close()
    assert sorted(ended) == ["a", "b", "c"]


def test_a_thread_that_serves_another_call_next_does_not_keep_the_flag() -> None:
    gone = run_until(lambda: True, math.inf, lambda: inherit_checkpoints(str))
    with pytest.raises(CancelledError):
        gone(1)
    checkpoint()


def test_items_are_given_out_while_the_answer_is_wanted_and_the_time_is_not_over() -> None:
    assert list(check_each([1, 2])) == [1, 2]
    with pytest.raises(TimedOutError):
        run_until(lambda: False, -1.0, lambda: list(check_each([1, 2])))
