"""What a view of a ChromaDB collection consists of: blocks of slots, arrays over all of them, who wants them still."""

from __future__ import annotations

import functools
import threading
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from knowledge_mcp.model.query import Filter
from knowledge_mcp.stores.chroma.layout import Index
from knowledge_mcp.stores.chroma.places import ChromaCollection

_CHUNK = 900
"""Bytes that a chunk's id, key, kinds and clause take with what maps them, roughly."""
_TERM = 70
"""Bytes of a term in the list of its document, roughly."""


@dataclass(frozen=True, slots=True)
class ViewLimits:
    """Say how much memory one collection may take in one process, in bytes.

    Attributes:
        postings: above it there is no keyword search.
        vectors: above it the dense leg asks ChromaDB's index.
    """

    postings: int = 512 * 1024 * 1024
    vectors: int = 64 * 1024 * 1024


@dataclass
class SlotBlock:
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

    @property
    def bytes(self) -> int:
        """Estimate what this takes of memory, with its chunks' places in the maps of a view, without vectors."""
        index = self.index
        arrays = (self.kinds, self.clauses, index.lengths, index.ends, index.places, index.counts)
        return sum(each.nbytes for each in arrays) + _CHUNK * self.size + _TERM * len(index.terms)

    @functools.cached_property
    def places(self) -> dict[str, int]:
        """Map chunk ids to their slots."""
        return {chunk_id: slot for slot, chunk_id in enumerate(self.index.ids, start=self.first)}

    def vector(self, key: str) -> bytes:
        """Give the vector that is held of an embedding key of this block, empty where none is."""
        return b"" if self.vectors is None else self.vectors[self.index.keys.index(key)].tobytes()


@dataclass
class SlotState:
    """Arrays over all slots, rebuilt when something was published."""

    alive: NDArray[np.bool_]
    norms: NDArray[np.float64]
    chunks: int
    kinds: NDArray[np.uint32]
    clauses: NDArray[np.uint32]
    vectors: NDArray[np.float32] | None = None
    masks: dict[Filter, NDArray[np.bool_]] = field(default_factory=dict[Filter, NDArray[np.bool_]])

    @property
    def bytes(self) -> int:
        """Count what the arrays take; the vectors twice, for the blocks have them too."""
        vectors = 0 if self.vectors is None else 2 * self.vectors.nbytes
        arrays = self.norms.nbytes + self.kinds.nbytes + self.clauses.nbytes + vectors
        return arrays + (1 + len(self.masks)) * self.alive.nbytes


class Still(threading.local):
    """Whether this thread wants one state for all that it reads, and whether a refresh has brought it."""

    asked = False
    brought = False


def scaled_vectors(place: ChromaCollection, block: SlotBlock) -> dict[str, bytes]:
    """Read vectors by key as ChromaDB has them, where the exact ones are missing: they differ in the last bit."""
    found: dict[str, Any] = place.chunks.vectors([f"{block.token} {each}" for each in block.index.ids])
    return {
        key: np.asarray(found[f"{block.token} {chunk_id}"], "<f4").tobytes()
        for chunk_id, key in zip(block.index.ids, block.index.keys, strict=True)
        if f"{block.token} {chunk_id}" in found
    }
