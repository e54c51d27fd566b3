"""Cosines of unit vectors in double precision; a vector's is the same whichever others it is worked out with."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from knowledge_mcp.model.chunk import Vector

_AT_ONCE = 1024
"""Rows worked out at once: they stay in the processor's cache."""


def products(matrix: NDArray[np.float32], rows: NDArray[Any], vector: Vector) -> NDArray[np.float64]:
    """Multiply some rows of a matrix, `[n, dimensions]`, with a vector."""
    query = np.frombuffer(vector, "<f4").astype(np.float64)
    found = np.empty(len(rows), np.float64)
    for start in range(0, len(rows), _AT_ONCE):
        some = matrix[rows[start : start + _AT_ONCE]].astype(np.float64)
        np.einsum("ij,j->i", some, query, out=found[start : start + _AT_ONCE])
    return found
