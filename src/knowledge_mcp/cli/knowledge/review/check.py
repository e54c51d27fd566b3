"""`knowledge check DOCUMENT --against STANDARD`: check a document against each obligation of a standard."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from knowledge_mcp.cli.knowledge.review.files import AsCsv, AsHtml, AsXlsx, ColumnNames, decisions_about, write_results
from knowledge_mcp.cli.knowledge.review.items import documents_of, items_of, parse_columns, require_different
from knowledge_mcp.cli.shared.failures import notify
from knowledge_mcp.cli.shared.options import with_groups
from knowledge_mcp.cli.shared.output import print_table, render, say, shortened, write_json
from knowledge_mcp.cli.shared.progress import WorkBar
from knowledge_mcp.cli.shared.session import CommandOptions
from knowledge_mcp.engine.tracing.checking import CheckRow, EvidenceVerdict
from knowledge_mcp.engine.tracing.decisions import Decisions, MarkKind, RowMark, as_mark_kind
from knowledge_mcp.engine.tracing.obligations import Obligation
from knowledge_mcp.model.errors import InvalidInputError, KnowledgeError
from knowledge_mcp.support.wording import how_many
from knowledge_mcp.surfaces import checklist
from knowledge_mcp.surfaces.comparing import check_against, standard_of
from knowledge_mcp.surfaces.tables import counts_in_words

if TYPE_CHECKING:
    from rich.text import Text

    from knowledge_mcp.model.collection import DocumentRecord
    from knowledge_mcp.settings import Settings

_LONGEST = 240
"""Characters of a text in a table of the terminal: three lines of 80; files hold all of it."""

_ADVICE = "Name a document with requirements, or a list of requirements with `id` and `text`."
_Standards = Annotated[
    list[str], typer.Option(metavar="STANDARD", help="Standard, in one of the same forms; may be repeated.")
]
_Marked = Annotated[
    list[str] | None,
    typer.Option(
        metavar="ROW=KIND",
        help=f"Mark a row, for later runs too: {', '.join(MarkKind)}. `ROW=` removes its mark. May be repeated.",
    ),
]
_MarksFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Import the columns `mark` and `note` of an edited workbook or CSV.",
        exists=True,
        dir_okay=False,
    ),
]


@with_groups
def check_command(
    options: CommandOptions,
    document: Annotated[str, typer.Argument(metavar="DOCUMENT", help="File, folder, or id of an ingested document.")],
    against: _Standards,
    as_csv: AsCsv = None,
    as_xlsx: AsXlsx = None,
    as_html: AsHtml = None,
    mark: _Marked = None,
    marks: _MarksFile = None,
    columns: ColumnNames = None,
) -> None:
    """Check a document against each obligation of a standard: the best evidence, quoted, and what is missing.

    A verdict is `evidence found`, `partial` or `none found`: whether the document says something about the obligation,
    not whether it is enough. Limits, required sections, defined terms and editions are compared. The standard may also
    be a list of requirements, as for `knowledge trace`. Nothing needs to be ingested first.

    Example: knowledge check plan.docx --against standard.pdf --against annex.pdf --xlsx review.xlsx

    Example: knowledge check plan.docx --against standard.pdf --mark "5.3#2=not-applicable"

    Example: knowledge check plan.docx --against standard.pdf --marks review.xlsx --html review.html
    """
    from knowledge_mcp.wiring import build_evidence_finder

    with options.open_settings() as settings:
        column_names = parse_columns(columns)
        for each in against:
            require_different(document, each)
        demanded = [part for each in against for part in documents_of(settings, each, column_names)]
        standards = " and ".join(against)
        standard = standard_of(standards, demanded, suggestion=_ADVICE)
        documents = documents_of(settings, document, column_names)
        decisions = decisions_about(settings, "check", document, standards)
        row_marks = _marks(settings, decisions, standard.obligations, mark or (), marks)
        with WorkBar() as bar:
            bar.show(f"Checking {how_many(len(standard.obligations), 'obligation')} …")
            report = check_against(standard, documents, build_evidence_finder(settings), _records(settings), row_marks)
        if report.lost_marks:
            rows = ", ".join(each.row for each in report.lost_marks)
            notify(f"Stored marks that match no row by its words: {rows}.")
        is_written = write_results(
            {
                as_csv: lambda: checklist.as_csv(report),
                as_xlsx: lambda: checklist.as_xlsx(document, standards, report),
                as_html: lambda: checklist.as_html(document, standards, report),
            }
        )
        if options.as_json:
            write_json(checklist.as_values(document, standards, report))
        elif not is_written:
            names = ("Row", "Requirement", "Verdict", "Evidence", "Checks")
            print_table(names, map(_cells, report.rows), show_lines=True)
            for each in report.editions:
                say(f"{each.citation}: {each.found}: {each.asked}.")
        counts = ", ".join(counts_in_words(checklist.summary_of(report)))
        notify(f"{counts}. A person must decide whether the evidence is enough.")
        if not report.related:
            notify(checklist.UNRELATED)


# ---- reading


def _records(settings: Settings) -> Sequence[DocumentRecord]:
    """List the ingested documents, which may be newer editions than those referred to; there may be none."""
    from knowledge_mcp import wiring

    try:
        with closing(wiring.build_knowledge(settings)) as knowledge:
            return knowledge.documents()
    except KnowledgeError as exc:
        notify(f"Editions of ingested documents were not checked: {exc.message}")
        return ()


# ---- marks


def _marks(
    settings: Settings,
    decisions: Decisions,
    obligations: Sequence[Obligation],
    new_marks: Sequence[str],
    edited: Path | None,
) -> list[RowMark]:
    """Merge the stored marks with the new ones, and store them.

    Raises:
        InvalidInputError: a mark names no row, or nothing that a row can be.
    """
    changes: list[RowMark] = []
    if edited is not None:
        for item in items_of(settings, str(edited), {"id": "row", "text": "requirement"}):
            cells = {name.strip().lower(): value for name, value in item.attributes.items()}
            kind, note = as_mark_kind(cells.get("mark", "")), cells.get("note", "").strip()
            changes.append(RowMark(item.id, item.text, kind, note))
    notes = {(each.row, each.text): each.note for each in (*decisions.marks(), *changes)}
    texts = {each.id: each.text for each in obligations}
    for each in new_marks:
        row, found, kind = each.rpartition("=")
        if not found or row.strip() not in texts:
            near = f"There is no row '{row.strip() or each}'."
            raise InvalidInputError(near, suggestion="Write ROW=KIND; the output lists the rows in its column `row`.")
        key = (row.strip(), texts[row.strip()])
        changes.append(RowMark(*key, as_mark_kind(kind), notes.get(key, "")))
    if not changes:
        marks = decisions.marks()
        if marks:
            notify(f"Marks applied: {len(marks)}, from {decisions.path}.")
        return marks
    before = decisions.marks()
    marks = decisions.mark(changes)
    still = {(each.row, each.text) for each in marks}
    removed = ", ".join(each.row for each in before if (each.row, each.text) not in still)
    notify(f"Marks stored: {len(marks)}, in {decisions.path}.{f' Marks removed: {removed}.' if removed else ''}")
    return marks


# ---- showing


def _cells(row: CheckRow) -> tuple[str | Text, ...]:
    best = row.evidence[0] if row.evidence else None
    quote = f"{shortened(best.quote, _LONGEST)}\n{best.citation}" if best is not None else ""
    checks = "\n".join(map(checklist.check_line, row.checks))
    style = "" if row.kind == "obligation" else "dim"
    verdict = row.verdict.value if row.kind == "obligation" else f"{row.verdict.value}\n({row.kind})"
    bold = "bold" if row.verdict is EvidenceVerdict.NONE and not style else style
    words = render(shortened(row.obligation.text, _LONGEST), style)
    return render(row.obligation.id, style), words, render(verdict, bold), render(quote, style), checks
