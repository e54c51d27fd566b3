"""Findings that the `verify` methods of all stores report, in the same words."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from knowledge_mcp.model.errors import DamagedError
from knowledge_mcp.model.ingest import Finding
from knowledge_mcp.support.wording import how_many

AGAIN = "Run `knowledge doctor --repair`."
INGEST = "Ingest the document again with --force."
_LONGEST, _SHORTEST = 1.1, 0.9
"""Accepted range for the norm of a unit vector; wide enough for coarsely quantised vectors."""


def repairable(message: str, document_id: str | None = None, *, repaired: bool) -> Finding:
    """Return a finding that a repair can fix, or has just fixed."""
    return Finding(message, document_id, repaired=repaired, suggestion="" if repaired else AGAIN)


def of_damage(damage: DamagedError, document_id: str = "") -> Finding:
    """Return the finding for stored data that is damaged."""
    message = f"{damage.message} {damage.details}".strip()
    return Finding(message, damage.document_id or document_id or None, suggestion=damage.suggestion)


def miscounted(stated: int, found: int, document_id: str) -> Finding:
    """Return the finding for a document with another number of chunks than its record states."""
    message = f"The record states {how_many(stated, 'chunk')}, the store contains {found}."
    return Finding(message, document_id, suggestion=INGEST)


def of_index(wrong: Iterable[str], *, lost: bool, repaired: bool) -> list[Finding]:
    """Return findings about an index that is derived from chunks.

    If chunks are lost, the index cannot be rebuilt from them, and the document has to be ingested again.
    """
    if lost:
        return [Finding(message, suggestion=INGEST) for message in wrong]
    return [repairable(message, repaired=repaired) for message in wrong]


def vector_damage(
    document_id: str, chunk_id: str, numbers: NDArray[np.floating], dimensions: int
) -> DamagedError | None:
    """Check that a vector has the right length, finite components and unit norm.

    Returns:
        The damage, or None if the vector is sound.
    """
    norm = float(np.linalg.norm(numbers.astype(np.float64)))
    if len(numbers) == dimensions and _SHORTEST < norm < _LONGEST:
        return None
    why = f"It has {len(numbers)} components, its norm is {norm:.3g}."
    return DamagedError.of("vector", document_id, chunk_id, why=why)
