"""What became of each planned document: one outcome each, and none without."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from knowledge_mcp.model.errors import InternalError

__all__ = ["CANCELLED", "Outcomes"]

CANCELLED = "cancelled"
"""Reason of a skipped file that a cancelled ingest did not come to."""

_MOST_NAMED = 20


class Outcomes:
    """Hold which planned documents have no outcome yet; a source that is planned twice has two."""

    def __init__(self) -> None:
        self._open: Counter[str] = Counter()

    def plan(self, sources: Iterable[str]) -> None:
        """Wait for an outcome of each of these."""
        self._open.update(sources)

    def settle(self, source: str) -> None:
        """Note the outcome of one."""
        self._open[source] -= 1

    @property
    def left(self) -> list[str]:
        """List the sources without an outcome, in the order in which they were planned."""
        return list((+self._open).elements())

    def check(self) -> None:
        """Make sure that every planned document has exactly one outcome.

        Raises:
            InternalError: some have none, or more than one; names them.
        """
        wrong = [source for source, count in self._open.items() if count]
        if wrong:
            named = ", ".join(repr(source) for source in wrong[:_MOST_NAMED])
            more = f" and {len(wrong) - _MOST_NAMED} more" if len(wrong) > _MOST_NAMED else ""
            raise InternalError(
                f"The ingest has lost count of {len(wrong)} documents: {named}{more}.",
                details="each planned document must end as exactly one of stored, unchanged, skipped and failed",
                suggestion="Run the ingest again; what was stored is kept. Please report this.",
            )
