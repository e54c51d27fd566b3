"""`knowledge trace FROM TO`: which items of one set belong to which of another, with evidence, and what has none."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from knowledge_mcp.cli.knowledge.review.files import (
    AsCsv,
    AsHtml,
    AsXlsx,
    ColumnNames,
    decisions_about,
    update_decisions,
    write_results,
)
from knowledge_mcp.cli.knowledge.review.items import items_of, original_of, parse_columns, require_different
from knowledge_mcp.cli.shared.failures import notify
from knowledge_mcp.cli.shared.options import with_groups
from knowledge_mcp.cli.shared.output import print_table, render, say, shortened, write_json
from knowledge_mcp.cli.shared.progress import WorkBar
from knowledge_mcp.cli.shared.session import CommandOptions
from knowledge_mcp.engine.tracing.links import Trace, TraceLink, Verdict, trace
from knowledge_mcp.model.source import MOST_BYTES
from knowledge_mcp.support.files import read_whole
from knowledge_mcp.support.wording import how_many
from knowledge_mcp.surfaces import interchange, matrix

if TYPE_CHECKING:
    from rich.text import Text

    from knowledge_mcp.settings import Settings

_LONGEST = 100
"""Characters of a sentence and of the shared words in a table of the terminal; files hold all of them."""
_From = Annotated[
    str, typer.Argument(metavar="FROM", help="File, folder, id of an ingested document, or collection:NAME.")
]
_To = Annotated[str, typer.Argument(metavar="TO", help="What to trace it to, in the same forms.")]
_AsReqif = Annotated[
    Path | None,
    typer.Option("--reqif", metavar="FILE", help="Write a ReqIF file with the links as relations.", dir_okay=False),
]
_AsNeeds = Annotated[
    Path | None, typer.Option("--needs", metavar="FILE", help="Write a needs.json file with the links.", dir_okay=False)
]
_OnlyFrom = Annotated[
    list[str] | None,
    typer.Option(metavar="START", help="Only items of FROM whose id, clause or level begins with it; may be repeated."),
]
_OnlyTo = Annotated[list[str] | None, typer.Option(metavar="START", help="The same for TO.")]
_DecisionsFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="File with accepted and rejected links. Default: a file in DATA_PATH.", dir_okay=False
    ),
]
_Accepted = Annotated[
    list[str] | None, typer.Option(metavar="FROM=TO", help="Accept a link, for later runs too; may be repeated.")
]
_Rejected = Annotated[
    list[str] | None, typer.Option(metavar="FROM=TO", help="Reject a link, for later runs too; may be repeated.")
]


TRACE_HELP = """\
Trace requirements to what meets, refines or tests them: declared links, then proposed links, and the gaps.

FROM and TO can each be:

- a JSON Lines, JSON or CSV file or a workbook of items with `id`, `title` and `text`;

- a ReqIF, StrictDoc, Doorstop, sphinx-needs, OpenFastTrace, OSCAL or XCCDF file; its declared links are used;

- a JUnit or NUnit report; each test case is an item;

- a folder of documents, code or tests; a file without identified requirements is one item;

- a document, the id of an ingested document, or collection:NAME for all documents of a collection.

Nothing needs to be ingested first.

Text that says what it meets or tests ("Satisfies: REQ-1 to REQ-5", "(REQ-1)", a cross in a matrix) is a declared link.
Text that only names an item ("see REQ-1", "replaces REQ-1", "REQ-1 is not met") covers nothing and is shown as
mentioned. Items that are marked as withdrawn, or that quote an item of FROM, are skipped and listed. The probabilities
are meaningful only for two sets that belong together.

\b
Examples:
  knowledge trace srs.csv src/ --html matrix.html
  knowledge trace system.reqif software.sdoc --columns id=Key,text=Description
  knowledge trace standard.pdf repository/tests/ --only-from 5.3
  knowledge trace srs.csv tests.jsonl --reject "SRS-4=test_stop" --accept "SRS-4=test_halt"
"""


@with_groups
def trace_command(
    options: CommandOptions,
    source: _From,
    target: _To,
    as_csv: AsCsv = None,
    as_xlsx: AsXlsx = None,
    as_html: AsHtml = None,
    as_reqif: _AsReqif = None,
    as_needs: _AsNeeds = None,
    decisions: _DecisionsFile = None,
    accept: _Accepted = None,
    reject: _Rejected = None,
    only_from: _OnlyFrom = None,
    only_to: _OnlyTo = None,
    columns: ColumnNames = None,
) -> None:
    """Run `knowledge trace` with the options given."""
    with options.guard():
        from knowledge_mcp.wiring import build_linker

        settings = options.settings()
        require_different(source, target)
        stored = decisions_about(settings, "trace", source, target, file=decisions)
        sides = _sides(settings, columns, (source, only_from), (target, only_to))
        sources, targets = (items for _, items in sides)
        ids = ({each.id for each in items} for _, items in sides)
        decided = update_decisions(stored, accept or (), reject or (), *ids)
        with WorkBar() as bar:
            bar.show(f"Tracing {how_many(len(sources), 'item')} to {how_many(len(targets), 'item')} …")
            found = trace(sources, targets, build_linker(settings), decided)
        found = replace(found, lost=() if only_from or only_to else found.lost)  # it may lead to what was left out
        is_written = write_results(
            {
                as_csv: lambda: matrix.as_csv(found),
                as_xlsx: lambda: interchange.as_xlsx(found),
                as_html: lambda: matrix.as_html(source, target, found),
                as_needs: lambda: interchange.as_needs(sources, targets, found),
                as_reqif: lambda: _reqif(settings, sides, found),
            }
        )
        if options.as_json:
            write_json(matrix.as_values(found))
        else:
            if not is_written:
                _print_links(found)
            _summarise(found)
        for warning in filter(None, matrix.warnings_of(found)):
            notify(warning)


def _sides(
    settings: Settings, columns: str | None, *selections: tuple[str, list[str] | None]
) -> list[interchange.Side]:
    column_names = parse_columns(columns)
    return [
        (name, items_of(settings, name, column_names, only or (), met_by=side == 1))
        for side, (name, only) in enumerate(selections)
    ]


def _reqif(settings: Settings, sides: Sequence[interchange.Side], found: Trace) -> bytes:
    base = _base(settings, *(name for name, _ in sides))
    return interchange.as_reqif(sides, found, base, dt.datetime.now(dt.UTC))


def _base(settings: Settings, *names: str) -> tuple[int, bytes] | None:
    """Return which side is ReqIF, a file or ingested, and its bytes, which relations are added to."""
    for side, name in enumerate(names):
        path = Path(name)
        if not path.exists():
            content = original_of(settings, name)
        else:
            content = read_whole(path, most=MOST_BYTES) if path.suffix.lower() in {".reqif", ".reqifz"} else b""
        if content:
            return side, content
    return None


# ---- showing


def _print_links(found: Trace) -> None:
    columns = ("From", "To", "Verdict", "Sure", "In common")
    print_table(columns, map(_row, found.links), unbroken={"Verdict", "Sure"}, show_lines=True)
    for name, items in (("FROM", found.untraced_sources), ("TO", found.untraced_targets)):
        if items:
            ids = ", ".join(each.label for each in items)
            say(f"Items of {name} without a link ({len(items)}): {ids}")


def _summarise(found: Trace) -> None:
    for side, count in matrix.coverage_of(found).items():
        likely = f", {count['likely']} likely only" if count["likely"] else ""
        declared = f"{count['declared']} of {count['items']} with a declared link"
        say(f"{side.upper()}: {declared}{likely}, {count['none']} without.")
    counts = Counter(link.verdict for link in found.links)
    counted = ", ".join(f"{counts[verdict]} {verdict.value}" for verdict in Verdict if counts[verdict])
    notify(f"{counted or 'No links'}. A link is likely at {found.threshold:.2f} or above.")


def _row(link: TraceLink) -> list[Text]:
    source = f"{link.source.label}\n{shortened(link.evidence.from_text, _LONGEST)}"
    target = f"{link.target.label}\n{shortened(link.evidence.to_text, _LONGEST)}"
    words = shortened(", ".join(link.evidence.words), _LONGEST)
    style = "dim" if link.verdict in {Verdict.UNCERTAIN, Verdict.MENTIONED} else ""
    return [render(cell, style) for cell in (source, target, link.verdict.value, f"{link.probability:.2f}", words)]
