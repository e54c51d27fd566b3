"""Measures per question, computed by `ir-measures` in the same way as by trec_eval."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
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
"""Measures of a question, in the order in which results store them; all are in 0..1, and larger is better."""

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
"""Depths of the recall curve."""


def need_measures() -> None:
    """Check that the library of measures is installed: before an hour of work, not after.

    Raises:
        ConfigError: it is not.
    """
    with needing("eval", "`knowledge eval` needs ir-measures, which is not installed."):
        import_module("ir_measures")


def measure(judged: Mapping[str, Judged]) -> dict[str, tuple[float, ...]]:
    """Compute the measures of all questions; the values are in the order of `COLUMNS`.

    Raises:
        ConfigError: `ir-measures` is not installed.
    """
    need_measures()
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
    library: Any = ir_measures  # the types of its `iter_calc` need pandas, which may not be installed
    found_of: Callable[..., Iterator[Metric]] = library.iter_calc
    for found in found_of(list(measures.values()), qrels, ranking) if ranking else ():
        values[found.query_id][columns[str(found.measure)]] = float(found.value)
    for query, each in judged.items():
        values[query]["hit@5"] = float(each.first is not None and each.first <= 5)
    return {query: tuple(row.get(name, 0.0) for name in COLUMNS) for query, row in values.items()}


def recall_curve(judged: Mapping[str, Judged]) -> dict[int, float]:
    """Compute the mean recall at each of `DEPTHS`; empty without questions."""
    if not judged:
        return {}
    shares: dict[int, float] = {}
    for depth in DEPTHS:
        found = (sum(unit in each.grades for unit in each.units[:depth]) / len(each.grades) for each in judged.values())
        shares[depth] = sum(found) / len(judged)
    return shares


LEVEL = 0.95
"""Confidence level of the intervals; 1 - LEVEL is the significance level."""

_SEED = 20261122
_RESAMPLES = 5_000
"""Bootstrap resamples: the usual few thousand."""
_SIGNS = 10_000
"""Random sign vectors of the permutation test: the standard error of a p of .05 is then .002."""
_EXACT = 14
"""Up to this many changed questions, all sign vectors are enumerated: 16,384, about as many as are drawn otherwise."""
_TIE = 1e-9
"""Differences below this are rounding errors."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean with its confidence interval (`LEVEL`)."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class RunDifference:
    """The difference of two runs on the same questions: second minus first.

    Attributes:
        mean: mean difference, with its bootstrap interval in `low`, `high`.
        p: two-sided p-value of the mean under the hypothesis that the runs are equal (permutation test with random
            signs; exact if at most 14 questions differ).
        wins, losses, ties: numbers of questions on which the second run is better, worse, equal.
    """

    mean: float
    low: float
    high: float
    p: float
    wins: int
    losses: int
    ties: int


def interval(values: Sequence[float]) -> Interval:
    """Estimate the mean of at least one value, with a percentile bootstrap interval."""
    import numpy as np

    data = np.asarray(values, dtype=np.float64)
    means = _resampled_means(data)
    edge = 100 * (1 - LEVEL) / 2
    low, high = np.percentile(means, [edge, 100 - edge])
    return Interval(float(data.mean()), float(low), float(high))


def difference(first: Sequence[float], second: Sequence[float]) -> RunDifference:
    """Compare two runs question by question; both have the same number of values, at least one."""
    import numpy as np

    data = np.asarray(second, dtype=np.float64) - np.asarray(first, dtype=np.float64)
    around = interval([float(each) for each in data])
    wins, losses = int((data > _TIE).sum()), int((data < -_TIE).sum())
    changed = data[np.abs(data) > _TIE]
    return RunDifference(
        around.mean, around.low, around.high, _randomise(changed), wins, losses, len(data) - wins - losses
    )


def holm(chances: Sequence[float]) -> list[float]:
    """Adjust several p-values for multiple testing (Holm's step-down method), in the same order."""
    order = sorted(range(len(chances)), key=lambda place: chances[place])
    adjusted = [0.0] * len(chances)
    least = 0.0
    for rank, place in enumerate(order):
        least = max(least, min(1.0, chances[place] * (len(chances) - rank)))
        adjusted[place] = least
    return adjusted


def percentile(values: Sequence[float], share: float) -> float:
    """Return the smallest value that is at least as large as `share` (0..1) of all values; 0.0 if there are none."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else 0.0


def area_under_curve(right: Sequence[float], wrong: Sequence[float]) -> float:
    """Compute the area under the ROC curve: how often a value of `right` is above one of `wrong`; ties count half."""
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
    """Return the p-value of the permutation test; questions without a change do not affect it."""
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
"""Share of answerable questions that must still be answered at the threshold for declining."""


@dataclass(frozen=True, slots=True)
class Abstention:
    """How well one signal separates answerable from unanswerable questions.

    Attributes:
        signal: a name of `SIGNALS`.
        area: area under the ROC curve; 1 is perfect separation, 0.5 is none.
        threshold: questions with a smaller signal are declined, so that `ANSWERED_SHARE` of the answerable are
            answered.
        declined: share of the unanswerable questions that are declined.
        answered: share of the answerable questions that are answered.
    """

    signal: str
    area: float
    threshold: float
    declined: float
    answered: float


def signals_of(answer: SearchAnswer) -> dict[str, float]:
    """Return the signals of an answer's quality; without hits all are 0."""
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
    """Evaluate each signal that all answers have; empty if one kind of question is missing."""
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
"""Number of bins for estimates, of about equal size."""

_Z = 1.959964
"""Quantile of the normal distribution for a 95 % interval."""


@dataclass(frozen=True, slots=True)
class Bin:
    """A bin of similar estimates.

    Attributes:
        estimated: mean estimate.
        happened: share of positive outcomes, with its 95 % interval (Wilson) in `low`, `high`.
        count: number of estimates.
    """

    estimated: float
    happened: float
    low: float
    high: float
    count: int


@dataclass(frozen=True, slots=True)
class Reliability:
    """The calibration of probability estimates.

    Attributes:
        bins: by estimate.
        error: expected calibration error: mean distance of `estimated` and `happened`, weighted by count.
        brier: Brier score: mean squared difference of estimate and outcome (0 or 1).
        base_brier: Brier score of always estimating the share of positive outcomes; only a smaller `brier` is an
            improvement.
        area: area under the ROC curve; 0.5 if there was only one outcome.
        count: number of estimates.
    """

    bins: tuple[Bin, ...]
    error: float
    brier: float
    base_brier: float
    area: float
    count: int


def reliability(estimates: Sequence[float], outcomes: Sequence[bool]) -> Reliability:
    """Evaluate at least one estimate, 0..1, by the outcomes in the same order; equal estimates are in the same bin."""
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
    """Split into parts of about equal size, never between equal estimates."""
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
