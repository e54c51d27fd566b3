"""`knowledge eval [run]|compare|report|draft`: how good the answers are, and whether they got worse."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from knowledge_mcp.cli.evaluate.run import (
    DraftChoices,
    Html,
    RunChoices,
    Tolerance,
    compare_runs,
    draft_from,
    run_sets,
    write_report,
)
from knowledge_mcp.cli.shared.failures import ExitCode
from knowledge_mcp.cli.shared.options import with_groups
from knowledge_mcp.cli.shared.session import (
    AsJson,
    CommandOptions,
    GroupWithDefault,
    TextOptions,
    Verbose,
    command_group,
    guard,
)

RUN_HELP = """\
Run the questions of evaluation sets and measure the answers.

A SET is a folder with corpus.jsonl, queries.jsonl and qrels/*.tsv (BEIR format), a folder with questions.jsonl and
pdfs/ (FinanceBench format: the evidence is a page), or a file with your own questions (JSON Lines or CSV). Folders are
ingested into a temporary knowledge base. Your own questions run against the documents in --docs, ingested the same way,
or against the configured knowledge base.

Each line of your own file has `question` and some of `document`, `clause`, `page`, `quote`, or `"unanswerable": true`.

`knowledge eval SET` is the same as `knowledge eval run SET`. Needs the extra `eval`.

\b
Examples:
  knowledge eval scifact/ --html report.html
  knowledge eval questions.jsonl --docs standards/ --out today.json
  knowledge eval questions.csv --collection standards-2026 --gate baseline.json
  knowledge eval cranfield/ medline/ --mode hybrid --mode semantic --mode keyword
  knowledge eval scifact/ --hold-back 0.2
  knowledge eval scifact/ --pin benchmarks/results

\b
Exit codes: 0 success, 1 a measure fell below the baseline or something failed, 3 configuration error, 130 interrupted.
"""

COMPARE_HELP = """\
Compare two results of `knowledge eval`, question by question.

Differences are tested with a sign-flip randomization test, adjusted for multiple measures; intervals are bootstrap
intervals. A measure counts as fallen if its mean fell by more than the tolerance and the change is significant.

\b
Examples:
  knowledge eval compare before.json after.json
  knowledge eval compare before.json after.json --html difference.html
  knowledge eval compare baseline.json today.json --gate --tolerance 0.01

\b
Exit codes: 0 success, 1 with --gate a measure fell, or something failed.
"""

DRAFT_HELP = """\
Propose questions from the headings, definitions and requirements of documents, with the locations of their answers.

They are drafts: read them, rephrase them in your own words, delete the poor ones, add questions that have no answer,
and remove the draft mark. The same documents always give the same drafts.

\b
Examples:
  knowledge eval draft standards/ --out questions.jsonl
  knowledge eval draft --document iso-15288 --per-kind 20
  knowledge eval questions.jsonl --docs standards/

\b
Exit codes: 0 success, 1 something failed, 3 configuration error, 130 interrupted.
"""


class _RunByDefault(GroupWithDefault):
    """Take `knowledge eval SET` for `knowledge eval run SET`."""

    default = "run"


app = command_group("Measure how good the answers are, compare two builds, draft questions.", _RunByDefault)


@app.command(help=RUN_HELP)
@with_groups
def run(choices: RunChoices, options: CommandOptions) -> None:
    """Run `knowledge eval run` with the options given."""
    with options.guard():
        if run_sets(choices, options):
            raise typer.Exit(ExitCode.FAILURE)


@app.command(help=COMPARE_HELP)
@with_groups
def compare(
    before: Annotated[Path, typer.Argument(metavar="BEFORE", help="Result of the earlier run.")],
    after: Annotated[Path, typer.Argument(metavar="AFTER", help="Result of the later run.")],
    gate: Annotated[bool, typer.Option("--gate", help="Exit with code 1 if a measure fell significantly.")] = False,
    tolerance: Tolerance = 0.005,
    html: Html = None,
    as_json: AsJson = False,
    verbose: Verbose = False,
) -> None:
    """Run `knowledge eval compare` with the options given."""
    with guard(verbose=verbose, as_json=as_json):
        fell = compare_runs(before, after, tolerance=tolerance, html=html, as_json=as_json)
        if fell and gate:
            raise typer.Exit(ExitCode.FAILURE)


@app.command()
@with_groups
def report(
    result: Annotated[Path, typer.Argument(metavar="RESULT", help="Result written by `knowledge eval --out`.")],
    html: Annotated[Path, typer.Argument(metavar="FILE", help="HTML file to write.")],
    verbose: Verbose = False,
) -> None:
    """Write the report of a saved result.

    Example: knowledge eval report today.json today.html
    """
    with guard(verbose=verbose):
        write_report(result, html)


@app.command(help=DRAFT_HELP, short_help="Propose questions from documents.")
@with_groups
def draft(choices: DraftChoices, options: TextOptions) -> None:
    """Run `knowledge eval draft` with the options given."""
    with options.guard():
        draft_from(choices, options)
