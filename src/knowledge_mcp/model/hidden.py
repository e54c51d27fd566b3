"""Text that a reader of the file does not see, and that is therefore no part of the document: why, and how much."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import TypeAlias

Hidden: TypeAlias = tuple[tuple[str, int], ...]
"""Characters left out by reason (`HiddenReason` values), in the order of the reasons' names."""


class HiddenReason(StrEnum):
    """Why text is not seen; the value is how people are told."""

    NOT_DISPLAYED = "not displayed"
    MARKED = "marked as hidden"
    INVISIBLE = "drawn invisibly"
    TRANSPARENT = "transparent"
    TOO_SMALL = "too small to see"
    COLOUR = "in the colour of its background"
    OFF_PAGE = "off the page"
    CLIPPED = "clipped away"
    TAGS = "Unicode tag characters"
    ZERO_WIDTH = "zero-width characters"
    DIRECTION = "direction marks"
    VARIATION = "variation selectors without a character"


def listed_hidden(counted: Mapping[str, int]) -> Hidden:
    """List counts by reason; those of nothing are left out."""
    return tuple(sorted((str(reason), count) for reason, count in counted.items() if count > 0))


def summed_hidden(parts: Iterable[Hidden]) -> Hidden:
    """Add up several counts."""
    total: Counter[str] = Counter()
    for part in parts:
        total.update(dict(part))
    return listed_hidden(total)


def hidden_sentence(hidden: Hidden) -> str:
    """Tell people how many characters were left out, and why; empty where none were."""
    total = sum(count for _, count in hidden)
    if not total:
        return ""
    told = ", ".join(f"{reason} {count:,}" for reason, count in hidden)
    return f"{total:,} hidden character{' was' if total == 1 else 's were'} left out: {told}."
