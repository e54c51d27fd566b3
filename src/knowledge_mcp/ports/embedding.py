"""Ports for embedding: counting a text's tokens, and turning texts into vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from knowledge_mcp.model.chunk import Vector
from knowledge_mcp.model.collection import EmbeddingSpace, EmbeddingUsage


class TokenMeasure(Protocol):
    """Measure text in the tokens of one embedding model."""

    @property
    def max_tokens(self) -> int:
        """Return how many tokens of one text the model reads, without special tokens."""
        ...

    def count_tokens(self, text: str) -> int:
        """Count tokens without special tokens; nothing is truncated."""
        ...

    def token_spans(self, text: str) -> Sequence[tuple[int, int]]:
        """List each token's `[start, end)` in code points; nothing is truncated."""
        ...


class Embedder(TokenMeasure, Protocol):
    """Turn texts into unit-norm vectors; the same text always gives the same bits."""

    @property
    def space(self) -> EmbeddingSpace:
        """Identify the embedding space of the vectors."""
        ...

    @property
    def usage(self) -> EmbeddingUsage:
        """Count the use of the service since this embedder was created."""
        ...

    @property
    def price(self) -> float | None:
        """Return the price of a million tokens in USD: 0.0 if nothing is paid, None if unknown."""
        ...

    def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        """Embed passages, in order; an empty or blank text raises `InvalidInputError`.

        Raises:
            ContentRefusedError: the service refused some of the texts; contains the vectors of the others.
        """
        ...

    def documents_at_hand(self, texts: Sequence[str]) -> dict[str, Vector]:
        """Return the vectors cached by earlier calls, by text; calls no service and computes nothing."""
        ...

    def embed_query(self, text: str) -> Vector:
        """Embed one question."""
        ...

    def warm_up(self) -> None:
        """Load what the first call needs."""
        ...

    def close(self) -> None:
        """Free threads and memory; do not use it afterwards."""
        ...
