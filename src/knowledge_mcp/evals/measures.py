"""Measures per question, by `ir-measures`, which computes them as TREC's own program does."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from knowledge_mcp.evals.judging import Judged
from knowledge_mcp.model.errors import ConfigError
from knowledge_mcp.support.distribution import install_command

if TYPE_CHECKING:
    from ir_measures import Metric
    from ir_measures.measures import Measure

__all__ = ["COLUMNS", "DEPTHS", "MEANINGS", "measure", "recall_curve"]

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
    try:
        import ir_measures
    except ImportError as exc:
        raise ConfigError(
            "`knowledge eval` needs ir-measures, which is not installed.",
            suggestion=f"Run: {install_command('eval')}",
        ) from exc
    top = max((grade for each in judged.values() for grade in each.grades.values()), default=1)
    gains = {grade: 2**grade - 1 for grade in range(top + 1)}
    wanted: dict[str, Measure] = {
        "nDCG@10": ir_measures.nDCG(gains=gains) @ 10,
        "R@5": ir_measures.R @ 5,
        "R@10": ir_measures.R @ 10,
        "R@100": ir_measures.R @ 100,
        "RR": ir_measures.RR,
        "Success@1": ir_measures.Success @ 1,
        "Success@5": ir_measures.Success @ 5,
    }
    columns = {str(each): name for name, each in wanted.items()}
    qrels = {query: dict(each.grades) for query, each in judged.items()}
    ranking = {
        query: {unit: float(len(each.units) - rank) for rank, unit in enumerate(each.units)}
        for query, each in judged.items()
        if each.units
    }
    values: dict[str, dict[str, float]] = {query: {} for query in judged}
    whole: Any = ir_measures  # its `iter_calc` names types of pandas, which need not be there
    found_of: Callable[..., Iterator[Metric]] = whole.iter_calc
    for found in found_of(list(wanted.values()), qrels, ranking) if ranking else ():
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
