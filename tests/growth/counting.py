"""What counts: a store what is asked of it and what its answers hold, and a tracer the lines that are run."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Generator, Sized
from contextlib import contextmanager
from types import FrameType, ModuleType
from typing import Any, Self, cast

from knowledge_mcp.ports import Collection, Store


class Counting:
    """Wrap a store: `calls` by method's name, `given` counts what lists and maps of its answers held.

    Opening a handle asks nothing and is no call; what is asked of the handle is.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self.calls: Counter[str] = Counter()
        self.given = 0

    def open(self, name: str) -> Collection:
        """Give a handle whose calls are counted."""
        return cast("Collection", _Handle(self, self._store.open(name)))

    def __getattr__(self, name: str) -> Any:
        return self.counted(self._store, name)

    def counted(self, wrapped: object, name: str) -> Any:
        """Give an attribute of the store or of a handle; a method is counted when it is called."""
        found = getattr(wrapped, name)
        if not callable(found):
            return found

        def call(*arguments: Any, **named: Any) -> Any:
            self.calls[name] += 1
            answer: Any = found(*arguments, **named)
            held = cast("Sized", answer) if isinstance(answer, (list, dict)) else ()
            self.given += len(held)
            return cast("Any", answer)

        return call

    @property
    def store(self) -> Store:
        """Return this as what it wraps."""
        return cast("Store", self)


class WrappedHandle:
    """Pass everything on to a store's handle; a subclass looks at or changes some of it."""

    def __init__(self, wrapped: Collection) -> None:
        self.wrapped = wrapped

    @contextmanager
    def snapshot(self) -> Generator[Self]:
        under = self.wrapped
        with under.snapshot() as held:
            self.wrapped = held
            try:
                yield self
            finally:
                self.wrapped = under

    def __getattr__(self, name: str) -> Any:
        return getattr(self.wrapped, name)


class _Handle(WrappedHandle):
    def __init__(self, store: Counting, wrapped: Collection) -> None:
        super().__init__(wrapped)
        self._store = store

    @contextmanager
    def snapshot(self) -> Generator[Self]:
        self._store.calls["snapshot"] += 1
        with super().snapshot() as held:
            yield held

    def __getattr__(self, name: str) -> Any:
        return self._store.counted(self.wrapped, name)


def counted(store: Counting, ask: Callable[[], object]) -> tuple[dict[str, int], int]:
    """Count the calls by name of one question, and what they gave."""
    store.calls.clear()
    store.given = 0
    ask()
    return dict(sorted(store.calls.items())), store.given


def lines(work: Callable[[], object], module: ModuleType) -> int:
    """Count the lines of a module that work runs, those of its loops and comprehensions each time."""
    counted = 0

    def within(_frame: FrameType, event: str, _argument: Any) -> Any:
        nonlocal counted
        counted += event == "line"
        return within

    def entered(frame: FrameType, _event: str, _argument: Any) -> Any:
        return within if frame.f_code.co_filename == module.__file__ else None

    before = sys.gettrace()
    sys.settrace(entered)
    try:
        work()
    finally:
        sys.settrace(before)
    return counted
