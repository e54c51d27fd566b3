"""Chance in an evaluation: intervals by bootstrap, differences of two runs by a test of randomised signs.

Every draw has a fixed seed: the same values give the same figures.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["LEVEL", "Difference", "Interval", "area_under_curve", "difference", "holm", "interval", "percentile"]

LEVEL = 0.95
"""Share of the resamples that an interval holds; one minus it is what counts as significant."""

_SEED = 20261122
_RESAMPLES = 5_000
_SIGNS = 10_000
_EXACT = 14
_TIE = 1e-9


@dataclass(frozen=True, slots=True)
class Interval:
    """Hold a mean with the interval of `LEVEL` around it."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Difference:
    """Compare two runs on the same questions: second minus first.

    Attributes:
        mean: of the differences, with its bootstrap interval in `low`, `high`.
        p: two-sided probability of a mean this far from 0 if the runs were alike (signs of the differences drawn at
            random; all of them tried where at most 14 differ).
        wins, losses, ties: questions on which the second is better, worse, equal.
    """

    mean: float
    low: float
    high: float
    p: float
    wins: int
    losses: int
    ties: int


def interval(values: Sequence[float]) -> Interval:
    """Estimate the mean of values, at least one, with a percentile bootstrap."""
    import numpy as np

    data = np.asarray(values, dtype=np.float64)
    means = _resampled_means(data)
    edge = 100 * (1 - LEVEL) / 2
    low, high = np.percentile(means, [edge, 100 - edge])
    return Interval(float(data.mean()), float(low), float(high))


def difference(first: Sequence[float], second: Sequence[float]) -> Difference:
    """Compare two runs question by question; both hold at least one value, and as many as each other."""
    import numpy as np

    data = np.asarray(second, dtype=np.float64) - np.asarray(first, dtype=np.float64)
    around = interval([float(each) for each in data])
    wins, losses = int((data > _TIE).sum()), int((data < -_TIE).sum())
    changed = data[np.abs(data) > _TIE]
    return Difference(
        around.mean, around.low, around.high, _randomised(changed), wins, losses, len(data) - wins - losses
    )


def holm(chances: Sequence[float]) -> list[float]:
    """Adjust several probabilities for having been looked at together (Holm's step-down); order and length stay."""
    order = sorted(range(len(chances)), key=lambda place: chances[place])
    adjusted = [0.0] * len(chances)
    least = 0.0
    for rank, place in enumerate(order):
        least = max(least, min(1.0, chances[place] * (len(chances) - rank)))
        adjusted[place] = least
    return adjusted


def percentile(values: Sequence[float], share: float) -> float:
    """Return the smallest value that is not below `share` (0..1) of all; 0.0 where there is none."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else 0.0


def area_under_curve(right: Sequence[float], wrong: Sequence[float]) -> float:
    """Compute how often a value of `right` is above one of `wrong`, ties half: the area under the ROC curve."""
    ordered = sorted([(value, 1) for value in right] + [(value, 0) for value in wrong])
    ranks = 0.0
    place = 0
    while place < len(ordered):
        end = place
        while end < len(ordered) and ordered[end][0] == ordered[place][0]:
            end += 1
        mean_rank = (place + 1 + end) / 2
        ranks += mean_rank * sum(label for _, label in ordered[place:end])
        place = end
    return (ranks - len(right) * (len(right) + 1) / 2) / (len(right) * len(wrong))


def _resampled_means(data: NDArray[np.float64]) -> NDArray[np.float64]:
    import numpy as np

    source = np.random.default_rng(_SEED)
    step = max(1, 2_000_000 // len(data))
    parts = [
        data[source.integers(0, len(data), (min(step, _RESAMPLES - start), len(data)))].mean(axis=1)
        for start in range(0, _RESAMPLES, step)
    ]
    return np.concatenate(parts)


def _randomised(changed: NDArray[np.float64]) -> float:
    """Test by random signs; only the questions that differ count, the others change no sum."""
    import numpy as np

    if not len(changed):
        return 1.0
    seen = abs(float(changed.sum())) - _TIE
    if len(changed) <= _EXACT:
        every = list(product((1.0, -1.0), repeat=len(changed)))
        return float((np.abs(np.asarray(every, dtype=np.float64) @ changed) >= seen).mean())
    source = np.random.default_rng(_SEED)
    step = max(1, 4_000_000 // len(changed))
    beyond = 0
    for start in range(0, _SIGNS, step):
        signs = 1.0 - 2.0 * source.integers(0, 2, (min(step, _SIGNS - start), len(changed)), dtype=np.int8)
        beyond += int((np.abs(signs @ changed) >= seen).sum())
    return (beyond + 1) / (_SIGNS + 1)
