"""The records of a collection, read once for each state that it is in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from knowledge_mcp.engine.core.editions import Editions
from knowledge_mcp.model.collection import DocumentRecord
from knowledge_mcp.model.errors import NotFoundError, leave_out, noticing
from knowledge_mcp.ports import Collection

_MOST_KEPT = 50_000
"""Records that are kept, at about a kilobyte each; a collection of more is read each time."""


@dataclass(frozen=True, slots=True)
class _Reading:
    """Hold what was read of one state, and what was looked for in it since."""

    state: str = ""
    records: tuple[DocumentRecord, ...] = ()
    labelled: dict[str, dict[str, list[DocumentRecord]]] = field(
        default_factory=dict[str, dict[str, list[DocumentRecord]]]
    )

    def by_label(self, name: str, value: str) -> Sequence[DocumentRecord]:
        found = self.labelled.get(name)
        if found is None:
            found = dict[str, list[DocumentRecord]]()
            for each in self.records:
                found.setdefault(each.label(name), []).append(each)
            self.labelled[name] = found
        return found.get(value, ())


class KnownRecords:
    """List the records of one collection, asking the store no more than its state while nothing changes. Thread-safe.

    A reading that met damage is not kept: each answer has to name it.
    """

    def __init__(self) -> None:
        self._kept: _Reading | None = None
        self._editions: tuple[str, Editions] | None = None

    def all(self, collection: Collection) -> tuple[DocumentRecord, ...]:
        """List all records by id."""
        return self._read(collection).records

    def labelled(self, collection: Collection, name: str, value: str) -> Sequence[DocumentRecord]:
        """List the records whose metadata has a value under a name, by id."""
        return self._read(collection).by_label(name, value)

    def editions(self, collection: Collection) -> Editions:
        """Give the families among the records; they are kept however many records there are."""
        state = _state_of(collection)
        known = self._editions
        if known is None or known[0] != state:
            known = state, Editions(self._read(collection).records)
            self._editions = known
        return known[1]

    def _read(self, collection: Collection) -> _Reading:
        state = _state_of(collection)
        kept = self._kept
        if kept is not None and kept.state == state:
            return kept
        with noticing() as damage:
            reading = _Reading(state, tuple(collection.documents()))
        for each in damage:
            leave_out(each)
        # what changed meanwhile may be in the records, but not in the name
        if not damage and len(reading.records) <= _MOST_KEPT and _state_of(collection) == state:
            self._kept = reading
        return reading


def _state_of(collection: Collection) -> str:
    """Name the state of a collection's documents.

    Raises:
        NotFoundError: there is no such collection any more.
    """
    info = collection.info()
    if info is None:
        raise NotFoundError("The collection has just been dropped.", suggestion="Ask again.")
    return info.state
