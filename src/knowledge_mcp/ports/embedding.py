"""PORTS of embedding: text measured in tokens, texts turned into vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from knowledge_mcp.model.chunk import Vector
from knowledge_mcp.model.collection import EmbeddingSpace, EmbeddingUsage


class TokenMeasure(Protocol):
    """Measure text in the tokens of one embedding model."""

    @property
    def max_tokens(self) -> int:
        """Tell how many tokens of one text the model reads, special tokens not counted."""
        ...

    def count_tokens(self, text: str) -> int:
        """Count tokens, special tokens not counted, nothing truncated."""
        ...

    def token_spans(self, text: str) -> Sequence[tuple[int, int]]:
        """List each token's `[start, end)` in code points, nothing truncated."""
        ...


class Embedder(TokenMeasure, Protocol):
    """Turn texts into unit-norm vectors; the same text always gives the same bits."""

    @property
    def space(self) -> EmbeddingSpace:
        """Identify the space of the vectors."""
        ...

    @property
    def usage(self) -> EmbeddingUsage:
        """Count what was asked of the service since this embedder was made."""
        ...

    @property
    def price(self) -> float | None:
        """Tell what a million tokens cost in USD: 0.0 where nothing is paid, None where it is not known."""
        ...

    def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        """Embed passages, in order; an empty or blank text is an `InvalidInputError`.

        Raises:
            ContentRefusedError: the service refused some of the texts; it carries the vectors of the others.
        """
        ...

    def documents_at_hand(self, texts: Sequence[str]) -> dict[str, Vector]:
        """Look up the vectors that were kept of earlier calls, by text; asks no service and computes nothing."""
        ...

    def embed_query(self, text: str) -> Vector:
        """Embed one question."""
        ...

    def warm_up(self) -> None:
        """Load whatever the first call would have to load."""
        ...

    def close(self) -> None:
        """Free threads and memory; later calls are errors."""
        ...
