"""A store that counts what is asked of it, and how many records and chunks its answers hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sized
from typing import Any, cast

from knowledge_mcp.ports import Store

__all__ = ["Counting", "counted"]


class Counting:
    """Wrap a store: `calls` by method's name, `given` counts what lists and maps of its answers held."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.calls: Counter[str] = Counter()
        self.given = 0

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
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


def counted(store: Counting, ask: Callable[[], object]) -> tuple[dict[str, int], int]:
    """Count the calls by name of one question, and what they gave."""
    store.calls.clear()
    store.given = 0
    ask()
    return dict(sorted(store.calls.items())), store.given
