"""Whether estimated probabilities mean what they say: of what is called 70 % likely, seven in ten should be so."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from knowledge_mcp.evals.statistics import area_under_curve

__all__ = ["BINS", "Bin", "Reliability", "reliability"]

BINS = 10
"""Groups that estimates are parted into, each with about as many as the others."""

_Z = 1.959964
"""Standard deviations to each side that hold 95 % of a normal distribution."""


@dataclass(frozen=True, slots=True)
class Bin:
    """Hold estimates that lie near each other.

    Attributes:
        estimated: their mean.
        happened: share of those that were so, with its 95 % interval (Wilson) in `low`, `high`.
        count: how many.
    """

    estimated: float
    happened: float
    low: float
    high: float
    count: int


@dataclass(frozen=True, slots=True)
class Reliability:
    """Judge probabilities by what happened.

    Attributes:
        bins: by estimate.
        error: expected calibration error: mean distance of `estimated` and `happened`, weighted by count.
        brier: mean square of estimate minus outcome (0 or 1); always saying the share that happened gives `base_brier`.
        base_brier: see there; a smaller `brier` is worth something.
        area: under the ROC curve; 0.5 where only one outcome was seen.
        count: how many estimates.
    """

    bins: tuple[Bin, ...]
    error: float
    brier: float
    base_brier: float
    area: float
    count: int


def reliability(estimates: Sequence[float], outcomes: Sequence[bool]) -> Reliability:
    """Judge estimates, 0..1, at least one, by their outcomes in the same order; equal estimates share a bin."""
    pairs = sorted(zip(estimates, outcomes, strict=True))
    count = len(pairs)
    bins = tuple(_bin(part) for part in _parts(pairs))
    share = sum(outcomes) / count
    right = [estimate for estimate, outcome in pairs if outcome]
    wrong = [estimate for estimate, outcome in pairs if not outcome]
    return Reliability(
        bins=bins,
        error=sum(each.count * abs(each.estimated - each.happened) for each in bins) / count,
        brier=sum((estimate - outcome) ** 2 for estimate, outcome in pairs) / count,
        base_brier=share * (1 - share),
        area=area_under_curve(right, wrong) if right and wrong else 0.5,
        count=count,
    )


def _parts(pairs: Sequence[tuple[float, bool]]) -> list[Sequence[tuple[float, bool]]]:
    """Cut into about equal parts, never between equal estimates."""
    parts: list[Sequence[tuple[float, bool]]] = []
    start = 0
    for number in range(1, BINS + 1):
        end = round(number * len(pairs) / BINS)
        while 0 < end < len(pairs) and pairs[end][0] == pairs[end - 1][0]:
            end += 1
        if end > start:
            parts.append(pairs[start:end])
            start = end
    return parts


def _bin(pairs: Sequence[tuple[float, bool]]) -> Bin:
    count = len(pairs)
    share = sum(outcome for _, outcome in pairs) / count
    middle = (share + _Z * _Z / (2 * count)) / (1 + _Z * _Z / count)
    reach = _Z * math.sqrt(share * (1 - share) / count + (_Z / (2 * count)) ** 2) / (1 + _Z * _Z / count)
    low, high = max(0.0, middle - reach), min(1.0, middle + reach)
    return Bin(sum(estimate for estimate, _ in pairs) / count, share, min(low, share), max(high, share), count)
