"""How long chunks are: the ranges of A-REQ-INGEST-005, and what a model's own limit makes of them."""

from __future__ import annotations

from dataclasses import dataclass

from knowledge_mcp.model.errors import ConfigError

__all__ = ["ChunkSizes"]

_MINIMUM = (50, 500)
_MAXIMUM = (200, 2000)
_OVERLAP = (0, 500)


@dataclass(frozen=True, slots=True)
class ChunkSizes:
    """Hold sizes in tokens: smallest wanted, largest allowed, and what parts of one clause may share.

    Raises:
        ConfigError: values outside their ranges, or contradicting; all problems in one message.
    """

    minimum: int
    maximum: int
    overlap: int
    checked: bool = True

    def __post_init__(self) -> None:
        if not self.checked:
            return
        problems = [
            f"{name} is {value}, which is outside {low}..{high}"
            for name, value, (low, high) in (
                ("CHUNK_SIZE_MIN", self.minimum, _MINIMUM),
                ("CHUNK_SIZE_MAX", self.maximum, _MAXIMUM),
                ("CHUNK_OVERLAP", self.overlap, _OVERLAP),
            )
            if not low <= value <= high
        ]
        if self.overlap >= self.minimum:
            problems.append(f"CHUNK_OVERLAP ({self.overlap}) is not less than CHUNK_SIZE_MIN ({self.minimum})")
        if self.minimum > self.maximum:
            problems.append(f"CHUNK_SIZE_MIN ({self.minimum}) is more than CHUNK_SIZE_MAX ({self.maximum})")
        if problems:
            raise ConfigError(
                "The chunk sizes do not fit: " + "; ".join(problems) + ".",
                suggestion="Set CHUNK_SIZE_MIN, CHUNK_SIZE_MAX and CHUNK_OVERLAP to values that fit together.",
            )

    def capped(self, limit: int) -> ChunkSizes:
        """Return sizes that a model which reads `limit` tokens can see whole; these sizes where it sees them anyhow."""
        if limit >= self.maximum:
            return self
        maximum = max(1, limit)
        minimum = self.minimum if self.minimum <= maximum else maximum // 2
        return ChunkSizes(minimum, maximum, min(self.overlap, maximum // 4), checked=False)
