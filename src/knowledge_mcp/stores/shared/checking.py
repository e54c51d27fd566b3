"""What every store's check of itself says, in the same words."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from knowledge_mcp.model.errors import DamagedError
from knowledge_mcp.model.ingest import Finding

AGAIN = "Run `knowledge doctor --repair`."
INGEST = "Ingest the document again with --force."
_LONGEST, _SHORTEST = 1.1, 0.9
"""Norms that a vector of unit norm has, however coarse its numbers are."""


def repairable(message: str, document_id: str | None = None, *, repaired: bool) -> Finding:
    """Say what a repair sets right, or has."""
    return Finding(message, document_id, repaired=repaired, suggestion="" if repaired else AGAIN)


def of_damage(damage: DamagedError, document_id: str = "") -> Finding:
    """Say that something is not what was stored."""
    message = f"{damage.message} {damage.details}".strip()
    return Finding(message, damage.document_id or document_id or None, suggestion=damage.suggestion)


def of_index(wrong: Iterable[str], *, lost: bool, repaired: bool) -> list[Finding]:
    """Say what is wrong with what is made of the chunks; where some are lost, it cannot be made again."""
    if lost:
        return [Finding(message, suggestion=INGEST) for message in wrong]
    return [repairable(message, repaired=repaired) for message in wrong]


def vector_damage(
    document_id: str, chunk_id: str, numbers: NDArray[np.floating], dimensions: int
) -> DamagedError | None:
    """Tell whether a vector has another length, is no numbers, or is not of unit norm; None where it is sound."""
    norm = float(np.linalg.norm(numbers.astype(np.float64)))
    if len(numbers) == dimensions and _SHORTEST < norm < _LONGEST:
        return None
    why = f"It has {len(numbers)} components, its norm is {norm:.3g}."
    return DamagedError.of("vector", document_id, chunk_id, why=why)
