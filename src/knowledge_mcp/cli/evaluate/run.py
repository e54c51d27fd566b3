"""What the `knowledge eval` commands do: open the right knowledge base, run, compare, write."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from knowledge_mcp.cli.shared.failures import notify, sanitize
from knowledge_mcp.cli.shared.progress import bars
from knowledge_mcp.cli.shared.session import open_console, render, settings_of, write_json
from knowledge_mcp.model.errors import InvalidInputError
from knowledge_mcp.support.wording import how_many

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as Bars
    from rich.progress import TaskID
    from rich.table import Table

    from knowledge_mcp.evals import EvalSet, Run, RunComparison, SetResult
    from knowledge_mcp.model.ingest import IngestReport
    from knowledge_mcp.ports import Knowledge
    from knowledge_mcp.settings import Settings

_MAX_COLUMNS = 3
"""Results that fit side by side into 80 columns; more are listed one below the other."""
_MAX_LISTED = 5
"""Questions of a comparison listed on the terminal; the report lists all."""


class EvaluationProgress:
    """Show what is done and how much of it: a bar on a terminal, a line for each step elsewhere; on stderr."""

    def __init__(self) -> None:
        self._bar: tuple[Bars, TaskID] | None = None
        self._reported: set[str] = set()

    def show(self, step: str, done: int, total: int) -> None:
        """Show that `done` of `total` (0: unknown) of a step are done."""
        if not sys.stderr.isatty():
            if step not in self._reported and not step.startswith("Reading"):
                notify(f"{step}...")
                self._reported.add(step)
            return
        if self._bar is None:
            from rich.console import Console

            made = bars(Console(stderr=True))
            self._bar = made, made.add_task("", total=None)
            made.start()
        made, task = self._bar
        made.update(task, description=sanitize(step), completed=done, total=total or None)

    def close(self) -> None:
        """Take the bar off the terminal."""
        if self._bar is not None:
            self._bar[0].stop()
            self._bar = None


def print_results(console: Console, run: Run) -> None:
    """Print a table of measures with their intervals, then what else was found."""
    measured = [each for each in run.results if each.measures]
    if measured:
        console.print(
            _measure_table(run.name, measured) if len(measured) <= _MAX_COLUMNS else _set_table(run.name, measured)
        )
    for mode in dict.fromkeys(each.mode for each in measured):
        of_mode = [each for each in measured if each.mode == mode]
        if len(of_mode) > 1:
            mean = sum(each.measures["nDCG@10"].mean for each in of_mode) / len(of_mode)
            console.print(f"Mean nDCG@10 of {len(of_mode)} sets, {mode}: {mean:.4f}", markup=False)
    for result in run.results:
        lines = [
            f"{how_many(result.questions, 'question')}, {result.unanswerable} of them unanswerable; "
            f"{how_many(result.documents, 'document')}, {how_many(result.chunks, 'passage')}",
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
        console.print(render(f"{result.label}: " + "\n  ".join(lines)), soft_wrap=True)


def _measure_table(title: str, measured: Sequence[SetResult]) -> Table:
    """Lay out a measure a row, with intervals."""
    from rich.table import Table

    from knowledge_mcp.evals import COLUMNS

    table = Table(title=render(title), title_justify="left")
    table.add_column("Measure")
    for result in measured:
        table.add_column(render(result.label), justify="right")
    for name in COLUMNS:
        cells = [result.measures[name] for result in measured]
        table.add_row(name, *(f"{each.mean:.4f} [{each.low:.3f}, {each.high:.3f}]" for each in cells))
    table.add_row("ms, median / 95 %", *(f"{each.latency.p50:.1f} / {each.latency.p95:.1f}" for each in measured))
    return table


def _set_table(title: str, measured: Sequence[SetResult]) -> Table:
    """Lay out a result a row: there are too many for columns."""
    from rich.table import Table

    from knowledge_mcp.evals import COLUMNS

    table = Table(title=render(title), title_justify="left")
    table.add_column("Set", overflow="fold")
    for name in (*COLUMNS, "ms"):
        table.add_column(name, justify="right")
    for result in measured:
        means = (f"{result.measures[name].mean:.4f}" for name in COLUMNS)
        table.add_row(render(result.label), *means, f"{result.latency.p50:.1f}")
    return table


def print_comparisons(console: Console, comparisons: Sequence[RunComparison]) -> None:
    """Print a table of differences for each set, and the questions that moved most."""
    from rich.table import Table

    for each in comparisons:
        table = Table(title=render(f"{each.label}, {how_many(each.questions, 'question')}"), title_justify="left")
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
            for one in changes[:_MAX_LISTED]:
                line = f"{title}: {one.question} {one.before:.3f} → {one.after:.3f} {one.text[:90]}"
                console.print(render(line), soft_wrap=True)


def comparison_as_json(
    before: Run, after: Run, comparisons: Sequence[RunComparison], *, tolerance: float
) -> dict[str, Any]:
    """Make a comparison plain values."""
    from knowledge_mcp.evals import list_fallen

    return {
        "before": {"name": before.name, "commit": before.commit, "created_at": before.created_at},
        "after": {"name": after.name, "commit": after.commit, "created_at": after.created_at},
        "fell": list_fallen(comparisons, tolerance=tolerance),
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


@dataclass(frozen=True, slots=True)
class RunChoices:
    """Hold the command line of `knowledge eval run`."""

    sets: tuple[Path, ...]
    modes: tuple[str, ...]
    weight: float | None
    documents: Path | None
    split: str | None
    hold_back: float
    keep: Path | None
    name: str | None
    to: Path | None
    html: Path | None
    pin: Path | None
    gate: Path | None
    tolerance: float
    max_cost: float | None
    as_json: bool
    collection: str | None
    config: Path | None
    verbose: bool


@dataclass(frozen=True, slots=True)
class DraftChoices:
    """Hold the command line of `knowledge eval draft`."""

    documents: Path | None
    only: tuple[str, ...]
    per_kind: int
    to: Path | None
    collection: str | None
    config: Path | None
    verbose: bool


def run_sets(choices: RunChoices) -> bool:
    """Measure every set, write what was asked for; returns whether a measure fell below the baseline.

    Raises:
        KnowledgeError: a set, a setting or the knowledge base is wrong.
    """
    from knowledge_mcp import evals

    sets = [
        evals.open_set(path, split=choices.split, hold_back=choices.hold_back, documents=choices.documents)
        for path in choices.sets
    ]
    _check_together(sets, choices)
    baseline = None if choices.gate is None else evals.read_run(choices.gate)  # before an hour of work, not after
    settings = settings_of(choices.config, choices.collection, verbose=choices.verbose, quiet="CRITICAL")
    results: list[SetResult] = []
    configuration: dict[str, str] = {}
    progress = EvaluationProgress()
    try:
        for each in sets:
            results += _measure(choices, settings, each, progress, configuration)
    finally:
        progress.close()
    run = _run(choices, results, configuration)
    comparisons = () if baseline is None else evals.compare(baseline, run)
    _write(choices, run, baseline, comparisons)
    if baseline is None:
        return False
    return _report_changes(baseline, run, comparisons, choices.tolerance)


def compare_runs(before: Path, after: Path, *, tolerance: float, html: Path | None, as_json: bool) -> bool:
    """Compare two results, write what was asked for; returns whether a measure fell.

    Raises:
        KnowledgeError: one is no result, or they have nothing in common.
    """
    from knowledge_mcp import evals

    first, second = evals.read_run(before), evals.read_run(after)
    comparisons = evals.compare(first, second)
    if html is not None:
        _save(html, evals.report_html(second, before=first, comparisons=comparisons))
    if as_json:
        write_json(comparison_as_json(first, second, comparisons, tolerance=tolerance))
    else:
        print_comparisons(open_console(), comparisons)
    return _report_changes(first, second, comparisons, tolerance)


def write_report(result: Path, html: Path) -> None:
    """Write the report of a kept result."""
    from knowledge_mcp import evals

    _save(html, evals.report_html(evals.read_run(result)))


def draft_from(choices: DraftChoices) -> None:
    """Draft questions and write them.

    Raises:
        KnowledgeError: the documents cannot be read, or a setting is wrong.
    """
    from knowledge_mcp import evals

    settings = settings_of(choices.config, choices.collection, verbose=choices.verbose, quiet="CRITICAL")
    progress = EvaluationProgress()
    with _open_knowledge(settings, None if choices.documents is None else "drafts", keep=None) as knowledge:
        try:
            if choices.documents is not None:
                chosen = evals.EvalSet("the documents", "questions", (), files=choices.documents)
                _ingest(knowledge, chosen, progress)
        finally:
            progress.close()
        drafts = evals.draft_questions(knowledge, per_kind=choices.per_kind, documents=choices.only)
    if not drafts:
        raise InvalidInputError(
            "Nothing in these documents gave a question.",
            suggestion="Drafts come from headings, definitions and requirements; write questions by hand here.",
        )
    content = evals.drafts_as_jsonl(drafts)
    if choices.to is None:
        sys.stdout.write(content)
        sys.stdout.flush()
        return
    _save(choices.to, content)
    kinds = [draft.kind for draft in drafts]
    counts = ", ".join(f"{kinds.count(kind)} from {kind}s" for kind in dict.fromkeys(kinds))
    notify(
        f"{how_many(len(drafts), 'draft')} ({counts}). Read each before it counts, and add some that have no answer."
    )


# ---- measuring


def _check_together(sets: Sequence[EvalSet], choices: RunChoices) -> None:
    names = [each.name for each in sets]
    if len(set(names)) < len(names):
        raise InvalidInputError(f"Two sets have one name: {', '.join(names)}.", suggestion="Rename one of them.")
    bringing = [each.name for each in sets if _brings_documents(each)]
    if choices.collection is not None and bringing:
        raise InvalidInputError(f"--collection says nothing about {bringing[0]}, whose documents are ingested.")


def _brings_documents(chosen: EvalSet) -> bool:
    return bool(chosen.documents) or chosen.files is not None


def _measure(
    choices: RunChoices,
    settings: Settings,
    chosen: EvalSet,
    progress: EvaluationProgress,
    configuration: dict[str, str],
) -> list[SetResult]:
    """Measure one set in every mode; fills the configuration in."""
    from knowledge_mcp import evals
    from knowledge_mcp.model.query import SearchMode

    brings = _brings_documents(chosen)
    suffix = f"-without-{choices.hold_back}" if choices.hold_back else ""
    with _open_knowledge(settings, f"{chosen.name}{suffix}" if brings else None, keep=choices.keep) as knowledge:
        report = _ingest(knowledge, chosen, progress, max_cost=choices.max_cost) if brings else None
        stats = knowledge.stats()
        configuration |= {
            "embedding": stats.space.label,
            "store": stats.backend,
            "weight": "default" if choices.weight is None else f"{choices.weight}",
            "fusion": settings.hybrid_fusion if choices.weight is None else "ranks",
            "reranker": _reranker(settings),
            "synonyms": ", ".join(Path(each).name for each in settings.synonym_lists) or "none",
            **({"held back": f"{choices.hold_back}"} if choices.hold_back else {}),
            **({} if brings else {"collection": settings.collection}),
        }
        return [
            evals.ask_set(
                knowledge,
                chosen,
                evals.QuestionOptions(SearchMode(mode), choices.weight),
                progress.show,
                ingested=report,
            )
            for mode in choices.modes
        ]


def _reranker(settings: Settings) -> str:
    """Name the reranker, and how many hits it orders."""
    if settings.reranker == "none":
        return "none"
    model = settings.reranker_folder.name if settings.reranker == "local" else settings.reranker_model or "a service"
    return f"{model}, {settings.reranker_top} hits in {settings.reranker_budget_ms} ms"


def _ingest(
    knowledge: Knowledge, chosen: EvalSet, progress: EvaluationProgress, *, max_cost: float | None = None
) -> IngestReport:
    from knowledge_mcp import evals, wiring

    files = None if chosen.files is None else wiring.build_source(chosen.files.absolute(), patterns=chosen.patterns)
    return evals.ingest_set(knowledge, chosen, files, progress.show, max_cost=max_cost)


@contextmanager
def _open_knowledge(settings: Settings, name: str | None, *, keep: Path | None) -> Generator[Knowledge]:
    """Open the configured knowledge base, or with a name one of the evaluation's own, gone afterwards unless kept.

    The model stays the configured one; the store is the embedded one.
    """
    from knowledge_mcp import wiring

    with tempfile.TemporaryDirectory(prefix="knowledge-eval-", ignore_cleanup_errors=True) as temporary:
        if name is not None:
            folder = (keep.absolute() if keep is not None else Path(temporary)) / name
            folder.mkdir(parents=True, exist_ok=True)
            changes = {"data_path": folder, "vector_store": "sqlite", "collection": "evaluation"}
            settings = settings.model_copy(update=changes)
        knowledge = wiring.build_knowledge(settings)
        try:
            yield knowledge
        finally:
            knowledge.close()


# ---- writing


def _run(choices: RunChoices, results: Sequence[SetResult], configuration: dict[str, str]) -> Run:
    from knowledge_mcp import __version__, evals

    commit = evals.commit_of_build()
    sets = ", ".join(dict.fromkeys(each.set for each in results))
    return evals.Run(
        name=choices.name or (f"{sets} at {commit}" if commit else sets),
        version=__version__,
        commit=commit,
        created_at=datetime.now(UTC).isoformat(),
        configuration=configuration,
        results=tuple(results),
    )


def _write(choices: RunChoices, run: Run, baseline: Run | None, comparisons: Sequence[RunComparison]) -> None:
    from knowledge_mcp import evals

    if choices.to is not None:
        _save(choices.to, evals.run_as_json(run))
    if choices.html is not None:
        _save(choices.html, evals.report_html(run, before=baseline, comparisons=comparisons))
    if choices.pin is not None:
        for name in dict.fromkeys(each.set for each in run.results):
            of_set = tuple(each for each in run.results if each.set == name)
            one = evals.Run(name, run.version, run.commit, run.created_at, run.configuration, of_set)
            build = run.commit or run.version
            _save(choices.pin / f"{name}-{build}.json", evals.run_as_json(one, compact=True))
    if choices.as_json:
        sys.stdout.write(evals.run_as_json(run))
        sys.stdout.flush()
        return
    print_results(open_console(), run)
    if comparisons:
        print_comparisons(open_console(), comparisons)


def _report_changes(before: Run, after: Run, comparisons: Sequence[RunComparison], tolerance: float) -> bool:
    """Say what fell, what could not be compared, and in what the runs were not alike; returns whether anything fell."""
    from knowledge_mcp import evals

    lines = evals.list_fallen(comparisons, tolerance=tolerance)
    for line in lines:
        notify(f"Fell: {line}")
    of = len(before.results)
    if len(comparisons) < of:
        notify(f"Note: {of - len(comparisons)} of the earlier run's {of} results have no counterpart.")
    for line in evals.list_configuration_changes(before, after):
        notify(f"Note: {line}")
    return bool(lines)


def _save(path: Path, content: str) -> None:
    from knowledge_mcp.support.files import write_atomically

    try:
        write_atomically(path, content.encode())
    except OSError as exc:
        raise InvalidInputError(
            f"{path} cannot be written: {exc.strerror}.", suggestion="Choose another place."
        ) from exc
    notify(f"Written: {path}")
