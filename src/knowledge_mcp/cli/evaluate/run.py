"""What the `knowledge eval` commands do: open the right knowledge base, run, compare, write."""

from __future__ import annotations

import tempfile
from collections.abc import Generator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from knowledge_mcp.cli.shared.failures import notify
from knowledge_mcp.cli.shared.output import print_table, say, write_file, write_json, write_json_text
from knowledge_mcp.cli.shared.progress import WorkBar
from knowledge_mcp.cli.shared.session import CommandOptions, TextOptions
from knowledge_mcp.model.errors import InvalidInputError
from knowledge_mcp.model.query import SearchMode
from knowledge_mcp.support.wording import how_many
from knowledge_mcp.surfaces.answers import with_escapes

if TYPE_CHECKING:
    from knowledge_mcp.evals import EvalSet, Run, RunComparison, SetResult
    from knowledge_mcp.model.ingest import IngestReport
    from knowledge_mcp.ports import Knowledge
    from knowledge_mcp.settings import Settings

_MAX_COLUMNS = 3
"""Results that fit side by side into 80 columns; more are listed one below the other."""
_MAX_LISTED = 5
"""Questions of a comparison listed on the terminal; the report lists all."""


def print_results(run: Run) -> None:
    """Print a table of measures with their intervals, then the other findings."""
    measured = [each for each in run.results if each.measures]
    if measured:
        print_measures = _print_by_measure if len(measured) <= _MAX_COLUMNS else _print_by_set
        print_measures(run.name, measured)
    for mode in dict.fromkeys(each.mode for each in measured):
        of_mode = [each for each in measured if each.mode == mode]
        if len(of_mode) > 1:
            mean = sum(each.measures["nDCG@10"].mean for each in of_mode) / len(of_mode)
            say(f"Mean nDCG@10 of {len(of_mode)} sets, {mode}: {mean:.4f}")
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
                f"no answer, by {each.signal}: area {each.area:.3f}; declines {each.declined:.0%} of the "
                f"unanswerable questions when it answers {each.answered:.0%} of the others"
                for each in result.abstentions
            ),
            *result.notes,
        ]
        say(f"{result.label}: " + "\n  ".join(lines))


def _print_by_measure(title: str, measured: Sequence[SetResult]) -> None:
    """Print a measure a row, with intervals."""
    from knowledge_mcp.evals import COLUMNS

    rows: list[list[str]] = []
    for name in COLUMNS:
        cells = [result.measures[name] for result in measured]
        rows.append([name, *(f"{each.mean:.4f} [{each.low:.3f}, {each.high:.3f}]" for each in cells)])
    rows.append(["ms, median / 95 %", *(f"{each.latency.p50:.1f} / {each.latency.p95:.1f}" for each in measured)])
    labels = [result.label for result in measured]
    print_table(("Measure", *labels), rows, title=title, numbers=labels)


def _print_by_set(title: str, measured: Sequence[SetResult]) -> None:
    """Print a result a row: there are too many for columns."""
    from knowledge_mcp.evals import COLUMNS

    rows = [
        [result.label, *(f"{result.measures[name].mean:.4f}" for name in COLUMNS), f"{result.latency.p50:.1f}"]
        for result in measured
    ]
    print_table(("Set", *COLUMNS, "ms"), rows, title=title, numbers=(*COLUMNS, "ms"))


def print_comparisons(comparisons: Sequence[RunComparison]) -> None:
    """Print a table of differences for each set, and the questions that moved most."""
    numbers = ("Before", "After", "Change", "95 % interval", "p", "Better/worse/same")
    for each in comparisons:
        rows: list[tuple[str, ...]] = []
        for change in each.changes:
            found = change.change
            row = (
                change.measure,
                f"{change.before:.4f}",
                f"{change.after:.4f}",
                f"{found.mean:+.4f}",
                f"{found.low:+.4f} … {found.high:+.4f}",
                f"{change.adjusted:.4f}",
                f"{found.wins}/{found.losses}/{found.ties}",
                change.verdict,
            )
            rows.append(row)
        title = f"{each.label}, {how_many(each.questions, 'question')}"
        print_table(("Measure", *numbers, ""), rows, title=title, numbers=numbers)
        for title, changes in (("Lost", each.losses), ("Won", each.wins)):
            for one in changes[:_MAX_LISTED]:
                say(f"{title}: {one.question} {one.before:.3f} → {one.after:.3f} {one.text[:90]}")


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


Html = Annotated[
    Path | None, typer.Option("--html", metavar="FILE", help="Write a report with plots as one HTML file.")
]
Tolerance = Annotated[float, typer.Option(min=0.0, max=1.0, help="How far a mean may fall.")]


@dataclass(frozen=True, kw_only=True)
class RunChoices:
    """The command line of `knowledge eval run`."""

    sets: Annotated[list[Path], typer.Argument(metavar="SET...", help="Folders, or files of questions.")]
    mode: Annotated[
        list[SearchMode] | None, typer.Option(help="Search mode; may be repeated to measure several. Default: hybrid.")
    ] = None
    weight: Annotated[
        float | None,
        typer.Option(min=0.0, max=1.0, help="Weight of meaning in hybrid ranking, 0 to 1. Default: as in a search."),
    ] = None
    docs: Annotated[
        Path | None, typer.Option("--docs", metavar="PATH", help="Documents to run your own questions against.")
    ] = None
    split: Annotated[str | None, typer.Option(help="File in qrels/, without .tsv. Default: test, else dev.")] = None
    hold_back: Annotated[
        float,
        typer.Option(
            min=0.0,
            max=0.9,
            help="Share of a BEIR set's questions whose documents are not ingested, so that they have no answer.",
        ),
    ] = 0.0
    keep: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Keep the ingested documents in this folder for the next run.")
    ] = None
    name: Annotated[
        str | None, typer.Option("--name", help="Name of the run. Default: the names of the sets and the commit.")
    ] = None
    to: Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Write the result as JSON.")] = None
    html: Html = None
    pin: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Write a small baseline for each set, named by set and commit."),
    ] = None
    gate: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Baseline to compare with; exit with code 1 if a measure fell significantly."
        ),
    ] = None
    tolerance: Tolerance = 0.005
    max_cost: Annotated[
        float | None,
        typer.Option(min=0, metavar="USD", help="Stop before the embeddings of a set cost more."),
    ] = None


@dataclass(frozen=True, kw_only=True)
class DraftChoices:
    """The command line of `knowledge eval draft`."""

    docs: Annotated[
        Path | None,
        typer.Argument(metavar="[DOCS]", help="Folder or file with documents. Default: the configured knowledge base."),
    ] = None
    document: Annotated[list[str] | None, typer.Option(help="Only this document's id; may be repeated.")] = None
    per_kind: Annotated[
        int,
        typer.Option("--per-kind", min=1, max=1000, help="Maximum number of questions of each kind for each document."),
    ] = 10
    to: Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Write to this file instead of stdout.")] = (
        None
    )


def run_sets(choices: RunChoices, options: CommandOptions) -> bool:
    """Measure every set, write the requested files; returns whether a measure fell below the baseline.

    Raises:
        KnowledgeError: a set, a setting or the knowledge base is wrong.
    """
    from knowledge_mcp import evals

    evals.need_measures()
    sets = [
        evals.open_set(path, split=choices.split, hold_back=choices.hold_back, documents=choices.docs)
        for path in choices.sets
    ]
    _check_together(sets, options.collection)
    baseline = None if choices.gate is None else evals.read_run(choices.gate)  # before an hour of work, not after
    settings = options.settings(quiet="CRITICAL")
    results: list[SetResult] = []
    configuration: dict[str, str] = {}
    with WorkBar() as bar:
        for each in sets:
            results += _measure(choices, settings, each, bar, configuration)
    run = _run(choices, results, configuration)
    comparisons = () if baseline is None else evals.compare(baseline, run)
    _write(choices, run, baseline, comparisons, as_json=options.as_json)
    if baseline is None:
        return False
    return _report_changes(baseline, run, comparisons, choices.tolerance)


def compare_runs(before: Path, after: Path, *, tolerance: float, html: Path | None, as_json: bool) -> bool:
    """Compare two results, write the requested files; returns whether a measure fell.

    Raises:
        KnowledgeError: one is no result, or they have nothing in common.
    """
    from knowledge_mcp import evals

    first, second = evals.read_run(before), evals.read_run(after)
    comparisons = evals.compare(first, second)
    if html is not None:
        _save(html, with_escapes(evals.report_html(second, before=first, comparisons=comparisons)))
    if as_json:
        write_json(comparison_as_json(first, second, comparisons, tolerance=tolerance))
    else:
        print_comparisons(comparisons)
    return _report_changes(first, second, comparisons, tolerance)


def write_report(result: Path, html: Path) -> None:
    """Write the report of a kept result."""
    from knowledge_mcp import evals

    _save(html, with_escapes(evals.report_html(evals.read_run(result))))


def draft_from(choices: DraftChoices, options: TextOptions) -> None:
    """Draft questions and write them.

    Raises:
        KnowledgeError: the documents cannot be read, or a setting is wrong.
    """
    from knowledge_mcp import evals

    settings = options.settings(quiet="CRITICAL")
    with _open_knowledge(settings, None if choices.docs is None else "drafts", keep=None) as knowledge:
        if choices.docs is not None:
            with WorkBar() as bar:
                _ingest(knowledge, evals.EvalSet("the documents", "questions", (), files=choices.docs), bar)
        drafts = evals.draft_questions(knowledge, per_kind=choices.per_kind, documents=choices.document or ())
    if not drafts:
        raise InvalidInputError(
            "No question could be drafted from these documents.",
            suggestion="Questions are drafted from headings, definitions and requirements. Write the questions by "
            "hand.",
        )
    content = evals.drafts_as_jsonl(drafts)
    if choices.to is None:
        write_json_text(content)
        return
    _save(choices.to, content)
    kinds = [draft.kind for draft in drafts]
    counts = ", ".join(f"{kinds.count(kind)} from {kind}s" for kind in dict.fromkeys(kinds))
    notify(
        f"{how_many(len(drafts), 'draft')} ({counts}). Review each one before you use it, and add some questions "
        "that have no answer."
    )


# ---- measuring


def _check_together(sets: Sequence[EvalSet], collection: str | None) -> None:
    names = [each.name for each in sets]
    if len(set(names)) < len(names):
        raise InvalidInputError(f"Two sets have the same name: {', '.join(names)}.", suggestion="Rename one of them.")
    bringing = [each.name for each in sets if _brings_documents(each)]
    if collection is not None and bringing:
        raise InvalidInputError(f"--collection cannot be used with {bringing[0]}, whose own documents are ingested.")


def _brings_documents(chosen: EvalSet) -> bool:
    return bool(chosen.documents) or chosen.files is not None


def _measure(
    choices: RunChoices,
    settings: Settings,
    chosen: EvalSet,
    bar: WorkBar,
    configuration: dict[str, str],
) -> list[SetResult]:
    """Measure one set in every mode; fills the configuration in."""
    from knowledge_mcp import evals

    brings = _brings_documents(chosen)
    suffix = f"-without-{choices.hold_back}" if choices.hold_back else ""
    with _open_knowledge(settings, f"{chosen.name}{suffix}" if brings else None, keep=choices.keep) as knowledge:
        report = _ingest(knowledge, chosen, bar, max_cost=choices.max_cost) if brings else None
        stats = knowledge.stats()
        if not brings and not stats.documents:
            raise InvalidInputError(
                f"The collection '{settings.collection}' has no documents to ask.",
                suggestion="`knowledge collections list` shows all collections; --docs measures other documents.",
            )
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
                evals.QuestionOptions(mode, choices.weight),
                bar.step,
                ingested=report,
            )
            for mode in dict.fromkeys(choices.mode or [SearchMode.HYBRID])
        ]


def _reranker(settings: Settings) -> str:
    """Name the reranker, and how many hits it orders."""
    if settings.reranker == "none":
        return "none"
    model = settings.reranker_folder.name if settings.reranker == "local" else settings.reranker_model or "a service"
    return f"{model}, {settings.reranker_top} hits in {settings.reranker_budget_ms} ms"


def _ingest(knowledge: Knowledge, chosen: EvalSet, bar: WorkBar, *, max_cost: float | None = None) -> IngestReport:
    from knowledge_mcp import evals
    from knowledge_mcp.sources.files import FileSource

    files = None if chosen.files is None else FileSource(chosen.files.absolute(), patterns=chosen.patterns)

    def show(step: str, done: int, total: int) -> None:
        (bar.show if step.startswith("Reading") else bar.step)(step, done, total)

    return evals.ingest_set(knowledge, chosen, files, show, max_cost=max_cost)


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
        with closing(wiring.build_knowledge(settings)) as knowledge:
            yield knowledge


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


def _write(
    choices: RunChoices, run: Run, baseline: Run | None, comparisons: Sequence[RunComparison], *, as_json: bool
) -> None:
    from knowledge_mcp import evals

    if choices.to is not None:
        _save(choices.to, evals.run_as_json(run))
    if choices.html is not None:
        _save(choices.html, with_escapes(evals.report_html(run, before=baseline, comparisons=comparisons)))
    if choices.pin is not None:
        for name in dict.fromkeys(each.set for each in run.results):
            of_set = tuple(each for each in run.results if each.set == name)
            one = evals.Run(name, run.version, run.commit, run.created_at, run.configuration, of_set)
            build = run.commit or run.version
            _save(choices.pin / f"{name}-{build}.json", evals.run_as_json(one, compact=True))
    if as_json:
        write_json_text(evals.run_as_json(run))
        return
    print_results(run)
    if comparisons:
        print_comparisons(comparisons)


def _report_changes(before: Run, after: Run, comparisons: Sequence[RunComparison], tolerance: float) -> bool:
    """Report lower measures, those not compared, and differences of the runs; return whether any measure fell."""
    from knowledge_mcp import evals

    lines = evals.list_fallen(comparisons, tolerance=tolerance)
    for line in lines:
        notify(f"Fell: {line}")
    of = len(before.results)
    if len(comparisons) < of:
        notify(f"Note: {of - len(comparisons)} of the earlier run's {of} results have no counterpart in the later run.")
    for line in evals.list_configuration_changes(before, after):
        notify(f"Note: {line}")
    return bool(lines)


def _save(path: Path, content: str) -> None:
    write_file(path, content)
    notify(f"Written: {path}")
