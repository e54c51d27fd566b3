"""Measures per question, by `ir-measures`, which computes them as TREC's own program does."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

from knowledge_mcp.evals.judging import Judged
from knowledge_mcp.model.errors import needing
from knowledge_mcp.model.query import SearchAnswer

if TYPE_CHECKING:
    import numpy as np
    from ir_measures import Metric
    from ir_measures.measures import Measure
    from numpy.typing import NDArray

COLUMNS = ("nDCG@10", "R@5", "R@10", "R@100", "RR", "Success@1", "Success@5", "hit@5")
"""Measures of a question, in the order in which results hold them; all lie in 0..1 and larger is better."""

MEANINGS = {
    "nDCG@10": "how near the first ten are to the best possible order; a grade g gains 2^g - 1",
    "R@5": "share of the right places among the first five",
    "R@10": "share of the right places among the first ten",
    "R@100": "share of the right places among the first hundred passages",
    "RR": "one over the rank of the first right place; its mean is MRR",
    "Success@1": "whether the first is right",
    "Success@5": "whether one of the first five is right",
    "hit@5": "the same of the first five passages as they come, none folded together",
}
DEPTHS = (1, 2, 3, 5, 10, 20, 50, 100)
"""Depths of the curve of recall."""


def measure(judged: Mapping[str, Judged]) -> dict[str, tuple[float, ...]]:
    """Measure every question; returns its values in the order of `COLUMNS`.

    Raises:
        ConfigError: `ir-measures` is not installed.
    """
    with needing("eval", "`knowledge eval` needs ir-measures, which is not installed."):
        import ir_measures
    top = max((grade for each in judged.values() for grade in each.grades.values()), default=1)
    gains = {grade: 2**grade - 1 for grade in range(top + 1)}
    measures: dict[str, Measure] = {
        "nDCG@10": ir_measures.nDCG(gains=gains) @ 10,
        "R@5": ir_measures.R @ 5,
        "R@10": ir_measures.R @ 10,
        "R@100": ir_measures.R @ 100,
        "RR": ir_measures.RR,
        "Success@1": ir_measures.Success @ 1,
        "Success@5": ir_measures.Success @ 5,
    }
    columns = {str(each): name for name, each in measures.items()}
    qrels = {query: dict(each.grades) for query, each in judged.items()}
    ranking = {
        query: {unit: float(len(each.units) - rank) for rank, unit in enumerate(each.units)}
        for query, each in judged.items()
        if each.units
    }
    values: dict[str, dict[str, float]] = {query: {} for query in judged}
    library: Any = ir_measures  # its `iter_calc` names types of pandas, which need not be there
    found_of: Callable[..., Iterator[Metric]] = library.iter_calc
    for found in found_of(list(measures.values()), qrels, ranking) if ranking else ():
        values[found.query_id][columns[str(found.measure)]] = float(found.value)
    for query, each in judged.items():
        values[query]["hit@5"] = float(each.first is not None and each.first <= 5)
    return {query: tuple(row.get(name, 0.0) for name in COLUMNS) for query, row in values.items()}


def recall_curve(judged: Mapping[str, Judged]) -> dict[int, float]:
    """Compute the mean share of right places at each of `DEPTHS`; empty without questions."""
    if not judged:
        return {}
    shares: dict[int, float] = {}
    for depth in DEPTHS:
        found = (sum(unit in each.grades for unit in each.units[:depth]) / len(each.grades) for each in judged.values())
        shares[depth] = sum(found) / len(judged)
    return shares


LEVEL = 0.95
"""Share of the resamples that an interval holds; one minus it is what counts as significant."""

_SEED = 20261122
_RESAMPLES = 5_000
"""Resamples of the bootstrap: the usual few thousand."""
_SIGNS = 10_000
"""Random signs of the permutation test: a p of .05 is then known to .002 (one standard error)."""
_EXACT = 14
"""Changed questions up to which every choice of signs is tried: 16,384, about as many as are drawn otherwise."""
_TIE = 1e-9
"""Differences below this are rounding."""


@dataclass(frozen=True, slots=True)
class Interval:
    """Hold a mean with the interval of `LEVEL` around it."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class RunDifference:
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


def difference(first: Sequence[float], second: Sequence[float]) -> RunDifference:
    """Compare two runs question by question; both hold at least one value, and as many as each other."""
    import numpy as np

    data = np.asarray(second, dtype=np.float64) - np.asarray(first, dtype=np.float64)
    around = interval([float(each) for each in data])
    wins, losses = int((data > _TIE).sum()), int((data < -_TIE).sum())
    changed = data[np.abs(data) > _TIE]
    return RunDifference(
        around.mean, around.low, around.high, _randomise(changed), wins, losses, len(data) - wins - losses
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


def _randomise(changed: NDArray[np.float64]) -> float:
    """Test by random signs; only the questions that differ count, the others change no sum."""
    import numpy as np

    if not len(changed):
        return 1.0
    observed = abs(float(changed.sum())) - _TIE
    if len(changed) <= _EXACT:
        every = list(product((1.0, -1.0), repeat=len(changed)))
        return float((np.abs(np.asarray(every, dtype=np.float64) @ changed) >= observed).mean())
    source = np.random.default_rng(_SEED)
    step = max(1, 4_000_000 // len(changed))
    beyond = 0
    for start in range(0, _SIGNS, step):
        signs = 1.0 - 2.0 * source.integers(0, 2, (min(step, _SIGNS - start), len(changed)), dtype=np.int8)
        beyond += int((np.abs(signs @ changed) >= observed).sum())
    return (beyond + 1) / (_SIGNS + 1)


SIGNALS = {
    "answerability": "what the answer itself says",
    "score": "score of the best hit",
    "cosine": "best cosine among the hits",
    "bm25": "best BM25 among the hits",
}
ANSWERED_SHARE = 0.95
"""Share of the answerable questions that must still be answered where a share of declined ones is reported."""


@dataclass(frozen=True, slots=True)
class Abstention:
    """Tell how well one signal parts answerable from unanswerable questions.

    Attributes:
        signal: a name of `SIGNALS`.
        area: under the ROC curve; 1 parts all, 0.5 none.
        threshold: of the signal, below which a question is declined so that `KEPT` of the answerable are answered.
        declined: share of the unanswerable that are declined there.
        answered: share of the answerable that are answered there.
    """

    signal: str
    area: float
    threshold: float
    declined: float
    answered: float


def signals_of(answer: SearchAnswer) -> dict[str, float]:
    """Read how an answer rates itself; without hits every signal is 0."""
    found = {
        "score": answer.hits[0].score if answer.hits else 0.0,
        "cosine": max((hit.dense.score for hit in answer.hits if hit.dense is not None), default=0.0),
        "bm25": max((hit.lexical.score for hit in answer.hits if hit.lexical is not None), default=0.0),
    }
    answerability = getattr(answer, "answerability", None)  # a hint that not every engine gives
    return {"answerability": float(answerability), **found} if isinstance(answerability, int | float) else found


def abstention(
    answerable: Sequence[Mapping[str, float]], unanswerable: Sequence[Mapping[str, float]]
) -> tuple[Abstention, ...]:
    """Judge every signal that all answers have; empty where one kind of question is missing."""
    if not answerable or not unanswerable:
        return ()
    found: list[Abstention] = []
    for name in SIGNALS:
        if any(name not in each for each in (*answerable, *unanswerable)):
            continue
        right = [each[name] for each in answerable]
        wrong = [each[name] for each in unanswerable]
        if not any((*right, *wrong)):
            continue
        threshold = percentile(right, 1 - ANSWERED_SHARE)
        found.append(
            Abstention(
                signal=name,
                area=area_under_curve(right, wrong),
                threshold=threshold,
                declined=sum(value < threshold for value in wrong) / len(wrong),
                answered=sum(value >= threshold for value in right) / len(right),
            )
        )
    return tuple(found)


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
        base_brier: see there; only a smaller `brier` is an improvement.
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
