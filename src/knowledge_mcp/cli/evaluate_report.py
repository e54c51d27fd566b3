"""What `knowledge eval` shows on a terminal: bars while it works, tables at the end; and comparisons as JSON."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from knowledge_mcp.cli.failures import harmless, say
from knowledge_mcp.cli.progress import bars
from knowledge_mcp.cli.session import shown

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as Bars
    from rich.progress import TaskID
    from rich.table import Table

    from knowledge_mcp.evals import Comparison, Run, SetResult

__all__ = ["EvaluationProgress", "comparison_as_json", "print_comparisons", "print_results"]

_BESIDE = 3
_LISTED = 5


class EvaluationProgress:
    """Show what is done and how much of it: a bar on a terminal, a line for each step elsewhere; on stderr."""

    def __init__(self) -> None:
        self._shown: tuple[Bars, TaskID] | None = None
        self._told: set[str] = set()

    def show(self, step: str, done: int, total: int) -> None:
        """Show that `done` of `total` (0: nobody knows) of a step are done."""
        if not sys.stderr.isatty():
            if step not in self._told and not step.startswith("Reading"):
                say(f"{step}...")
                self._told.add(step)
            return
        if self._shown is None:
            from rich.console import Console

            made = bars(Console(stderr=True))
            self._shown = made, made.add_task("", total=None)
            made.start()
        made, task = self._shown
        made.update(task, description=harmless(step), completed=done, total=total or None)

    def close(self) -> None:
        """Take the bar off the terminal."""
        if self._shown is not None:
            self._shown[0].stop()
            self._shown = None


def print_results(console: Console, run: Run) -> None:
    """Print a table of measures with their intervals, then what else was found."""
    measured = [each for each in run.results if each.measures]
    if measured:
        console.print(_upright(run.name, measured) if len(measured) <= _BESIDE else _listed(run.name, measured))
    for mode in dict.fromkeys(each.mode for each in measured):
        of_mode = [each for each in measured if each.mode == mode]
        if len(of_mode) > 1:
            mean = sum(each.measures["nDCG@10"].mean for each in of_mode) / len(of_mode)
            console.print(f"Mean nDCG@10 of {len(of_mode)} sets, {mode}: {mean:.4f}", markup=False)
    for result in run.results:
        lines = [
            f"{result.questions} questions, {result.unanswerable} of them unanswerable; "
            f"{result.documents:,} documents, {result.chunks:,} passages",
            *(
                f"citations, {name}: {each.right:,} of {each.checked:,} true"
                for name, each in result.citations.items()
                if each.checked
            ),
            *(
                f"no answer, by {each.signal}: area {each.area:.3f}; declines {each.declined:.0%} of the unanswerable "
                f"where {each.answered:.0%} of the others are answered"
                for each in result.abstentions
            ),
            *result.notes,
        ]
        console.print(shown(f"{result.label}: " + "\n  ".join(lines)), soft_wrap=True)


def _upright(title: str, measured: Sequence[SetResult]) -> Table:
    """Lay out a measure a row, with intervals."""
    from rich.table import Table

    from knowledge_mcp.evals import COLUMNS

    table = Table(title=shown(title), title_justify="left")
    table.add_column("Measure")
    for result in measured:
        table.add_column(shown(result.label), justify="right")
    for name in COLUMNS:
        cells = [result.measures[name] for result in measured]
        table.add_row(name, *(f"{each.mean:.4f} [{each.low:.3f}, {each.high:.3f}]" for each in cells))
    table.add_row("ms, median / 95 %", *(f"{each.latency.p50:.1f} / {each.latency.p95:.1f}" for each in measured))
    return table


def _listed(title: str, measured: Sequence[SetResult]) -> Table:
    """Lay out a result a row: there are too many to stand beside each other."""
    from rich.table import Table

    from knowledge_mcp.evals import COLUMNS

    table = Table(title=shown(title), title_justify="left")
    table.add_column("Set", overflow="fold")
    for name in (*COLUMNS, "ms"):
        table.add_column(name, justify="right")
    for result in measured:
        means = (f"{result.measures[name].mean:.4f}" for name in COLUMNS)
        table.add_row(shown(result.label), *means, f"{result.latency.p50:.1f}")
    return table


def print_comparisons(console: Console, comparisons: Sequence[Comparison]) -> None:
    """Print a table of differences for each set, and the questions that moved most."""
    from rich.table import Table

    for each in comparisons:
        table = Table(title=shown(f"{each.label}, {each.questions} questions"), title_justify="left")
        for name in ("Measure", "Before", "After", "Change", "95 % interval", "p", "Better/worse/same", ""):
            table.add_column(name, justify="left" if name in {"Measure", ""} else "right")
        for change in each.changes:
            found = change.change
            verdict = "" if not change.significant else "better" if found.mean > 0 else "worse"
            table.add_row(
                change.measure,
                f"{change.before:.4f}",
                f"{change.after:.4f}",
                f"{found.mean:+.4f}",
                f"{found.low:+.4f} … {found.high:+.4f}",
                f"{change.adjusted:.4f}",
                f"{found.wins}/{found.losses}/{found.ties}",
                verdict,
            )
        console.print(table)
        for title, changes in (("Lost", each.losses), ("Won", each.wins)):
            for one in changes[:_LISTED]:
                line = f"{title}: {one.question} {one.before:.3f} → {one.after:.3f} {one.text[:90]}"
                console.print(shown(line), soft_wrap=True)


def comparison_as_json(
    before: Run, after: Run, comparisons: Sequence[Comparison], *, tolerance: float
) -> dict[str, Any]:
    """Make a comparison plain values."""
    from knowledge_mcp.evals import fallen

    return {
        "before": {"name": before.name, "commit": before.commit, "created_at": before.created_at},
        "after": {"name": after.name, "commit": after.commit, "created_at": after.created_at},
        "fell": fallen(comparisons, tolerance=tolerance),
        "sets": [
            {
                "set": each.label,
                "questions": each.questions,
                "only_before": each.only_before,
                "only_after": each.only_after,
                "median_ms": list(each.latency),
                "measures": [asdict(change) | {"significant": change.significant} for change in each.changes],
                "lost": [asdict(change) for change in each.losses],
                "won": [asdict(change) for change in each.wins],
            }
            for each in comparisons
        ],
    }
