"""The cost of a run's embeddings, and its limit."""

from __future__ import annotations

from collections.abc import Sequence

from knowledge_mcp.model.errors import ConfigError, QuotaExceededError
from knowledge_mcp.ports import Embedder
from knowledge_mcp.support.wording import how_many


class Budget:
    """Count what one run was billed, and stop it before it exceeds its limit.

    Args:
        embedder: its usage and price are used.
        limit: USD, None for no limit.

    Raises:
        ConfigError: there is a limit, and the price is unknown.
    """

    def __init__(self, embedder: Embedder, limit: float | None) -> None:
        if limit is not None and embedder.price is None:
            raise ConfigError(
                f"The price of {embedder.space.label} is not known, so --max-cost cannot be applied.",
                suggestion="Set EMBEDDING_PRICE to the price in USD per million tokens.",
            )
        self._embedder = embedder
        self._limit = limit
        self._before = embedder.usage.tokens

    @property
    def billed_tokens(self) -> int:
        """Return the tokens billed by the service since the beginning."""
        return self._embedder.usage.tokens - self._before

    def check(self, texts: Sequence[str]) -> None:
        """Check that these texts are within the limit.

        Raises:
            QuotaExceededError: they could exceed the limit; says what was spent.
        """
        price = self._embedder.price
        if self._limit is None or not price:
            return
        spent = self.billed_tokens * price / 1e6
        coming = sum(self._embedder.count_tokens(text) for text in texts) * price / 1e6
        if spent + coming > self._limit:
            raise QuotaExceededError(
                f"The limit of {self._limit:.4f} USD would be exceeded: {spent:.4f} USD are spent, and the next "
                f"{how_many(len(texts), 'passage costs', 'passages cost')} up to {coming:.4f} USD.",
                suggestion="Run again with a higher --max-cost; what was embedded is kept and not paid for again.",
            )
