"""What a view of a ChromaDB collection consists of: blocks of slots, and arrays over all of them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from knowledge_mcp.model.query import Filter
from knowledge_mcp.stores.chroma_layout import Index

__all__ = ["Block", "State"]


@dataclass
class Block:
    """One visible generation of one document, at slots `first` and following."""

    document_id: str
    token: str
    first: int
    index: Index
    kinds: NDArray[np.uint32]
    clauses: NDArray[np.uint32]
    vectors: NDArray[np.float32] | None = None
    alive: bool = True

    @property
    def size(self) -> int:
        return len(self.index.ids)


@dataclass
class State:
    """Arrays over all slots, made anew when something was published."""

    alive: NDArray[np.bool_]
    norms: NDArray[np.float64]
    chunks: int
    kinds: NDArray[np.uint32]
    clauses: NDArray[np.uint32]
    vectors: NDArray[np.float32] | None = None
    masks: dict[Filter, NDArray[np.bool_]] = field(default_factory=dict[Filter, NDArray[np.bool_]])
