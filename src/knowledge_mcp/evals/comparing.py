"""Compares two runs: differences with their significance, questions won and lost, and a gate for CI."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from knowledge_mcp.evals.measures import COLUMNS, LEVEL, RunDifference, difference, holm
from knowledge_mcp.evals.results import STORED_DIGITS, QuestionResult, Run, SetResult
from knowledge_mcp.model.errors import InvalidInputError

DEFAULT_TOLERANCE = 0.005
"""How far a mean may fall before the gate considers it."""


@dataclass(frozen=True, slots=True)
class MeasureChange:
    """The change of one measure; `adjusted` is its p-value, adjusted for all measures of the set."""

    measure: str
    before: float
    after: float
    change: RunDifference
    adjusted: float

    @property
    def significant(self) -> bool:
        """Whether the change is statistically significant."""
        return self.adjusted < 1 - LEVEL

    @property
    def verdict(self) -> str:
        """The direction: "better" or "worse"; empty if the change is not significant."""
        return "" if not self.significant else "better" if self.change.mean > 0 else "worse"


@dataclass(frozen=True, slots=True)
class QuestionChange:
    """The change of one question in nDCG@10."""

    question: str
    text: str
    before: float
    after: float
    first_before: int | None
    first_after: int | None

    @property
    def change(self) -> float:
        """The difference, after minus before."""
        return self.after - self.before


@dataclass(frozen=True, slots=True)
class RunComparison:
    """The comparison of one set in two runs, in one mode each.

    Attributes:
        label: set and mode.
        questions: number of questions that are answerable in both.
        only_before, only_after: numbers of questions that the other run does not have.
        changes: by measure, in the order of `COLUMNS`.
        each: all questions by their change in nDCG@10, worst first.
        latency: median milliseconds before and after.
    """

    label: str
    questions: int
    only_before: int
    only_after: int
    changes: tuple[MeasureChange, ...]
    each: tuple[QuestionChange, ...]
    latency: tuple[float, float]

    @property
    def losses(self) -> list[QuestionChange]:
        """The questions that got worse, worst first."""
        return [change for change in self.each if change.change < 0]

    @property
    def wins(self) -> list[QuestionChange]:
        """The questions that got better, best first."""
        return [change for change in reversed(self.each) if change.change > 0]


def compare(before: Run, after: Run) -> tuple[RunComparison, ...]:
    """Compare what two runs have in common: sets of the same name in the same mode.

    If each run has a set in one mode only, the two modes are compared with each other.

    Raises:
        InvalidInputError: they have nothing in common.
    """
    found = [_compare(one, other) for one, other in _pairs(before.results, after.results)]
    made = tuple(each for each in found if each is not None)
    if not made:
        raise InvalidInputError(
            "The two runs have no question in common.",
            details=f"{before.name}: {_sets(before)}; {after.name}: {_sets(after)}",
            suggestion="Compare runs of the same sets.",
        )
    return made


def list_configuration_changes(before: Run, after: Run) -> list[str]:
    """List the differences between the configurations of two runs; a missing value counts as none."""
    names = sorted(before.configuration.keys() | after.configuration.keys())
    values = [(name, before.configuration.get(name, "none"), after.configuration.get(name, "none")) for name in names]
    return [f"{name}: {one} before, {other} after." for name, one, other in values if one != other]


def list_fallen(comparisons: Sequence[RunComparison], *, tolerance: float = DEFAULT_TOLERANCE) -> list[str]:
    """List the measures that fell significantly and by more than the tolerance, one sentence each."""
    return [
        f"{each.label}: {change.measure} fell from {change.before:.4f} to {change.after:.4f} "
        f"({change.change.mean:+.4f}, p = {change.adjusted:.4f}; {change.change.losses} questions worse, "
        f"{change.change.wins} better)"
        for each in comparisons
        for change in each.changes
        if change.change.mean < -tolerance and change.significant
    ]


def _sets(run: Run) -> str:
    return ", ".join(each.label for each in run.results) or "nothing"


def _pairs(before: Sequence[SetResult], after: Sequence[SetResult]) -> list[tuple[SetResult, SetResult]]:
    pairs: list[tuple[SetResult, SetResult]] = []
    for name in dict.fromkeys(each.set for each in before):
        ones = {each.mode: each for each in before if each.set == name}
        others = {each.mode: each for each in after if each.set == name}
        shared = [(ones[mode], others[mode]) for mode in ones if mode in others]
        if not shared and len(ones) == len(others) == 1:
            shared = list(zip(ones.values(), others.values(), strict=True))
        pairs.extend(shared)
    return pairs


def _compare(before: SetResult, after: SetResult) -> RunComparison | None:
    ones = {query: row for query, row in before.rows.items() if row.values}
    others = {query: row for query, row in after.rows.items() if row.values}
    shared = [query for query in ones if query in others]
    if not shared:
        return None
    values = {query: (_round(ones[query]), _round(others[query])) for query in shared}
    columns = [
        ([values[query][0][place] for query in shared], [values[query][1][place] for query in shared])
        for place in range(len(COLUMNS))
    ]
    changes = [difference(*pair) for pair in columns]
    adjusted = holm([change.p for change in changes])
    each = [
        QuestionChange(
            question=query,
            text=ones[query].text or others[query].text,
            before=values[query][0][0],
            after=values[query][1][0],
            first_before=ones[query].first,
            first_after=others[query].first,
        )
        for query in shared
    ]
    same_mode = before.mode == after.mode
    return RunComparison(
        label=after.label if same_mode else f"{after.set} ({before.mode} → {after.mode})",
        questions=len(shared),
        only_before=len(ones) - len(shared),
        only_after=len(others) - len(shared),
        changes=tuple(
            MeasureChange(name, sum(pair[0]) / len(shared), sum(pair[1]) / len(shared), change, chance)
            for name, pair, change, chance in zip(COLUMNS, columns, changes, adjusted, strict=True)
        ),
        each=tuple(sorted(each, key=lambda one: (one.change, one.question))),
        latency=(before.latency.p50, after.latency.p50),
    )


def _round(row: QuestionResult) -> list[float]:
    """Round values as a file stores them, so that a new run compares equal to its own file."""
    return [round(value, STORED_DIGITS) for value in row.values]
