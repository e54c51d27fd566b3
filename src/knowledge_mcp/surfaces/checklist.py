"""A document checked against a standard, as people and programs read it: JSON, CSV, a workbook, a page to filter."""

from __future__ import annotations

import html
from collections import Counter
from typing import Any

from knowledge_mcp.engine.tracing.checking import CheckReport, CheckRow, EvidenceVerdict, Quoted
from knowledge_mcp.engine.tracing.decisions import MarkKind
from knowledge_mcp.engine.tracing.obligations import ObligationKind
from knowledge_mcp.engine.tracing.row_checks import RowCheck
from knowledge_mcp.surfaces.interchange import BookSheet, workbook
from knowledge_mcp.surfaces.tables import counts_in_words, csv_text, table_page

_COLUMNS = (
    "row", "requirement", "clause", "title", "force", "kind", "condition", "verdict", "evidence", "evidence_citation",
    "more_evidence", "checks", "mark", "note", "citation",
)  # fmt: skip
UNRELATED = (
    "No row has evidence: the document has almost nothing in common with the standard. Check that it is the right "
    "document."
)
_OUTSIDE = frozenset({ObligationKind.INFORMATIVE.value, MarkKind.NOT_APPLICABLE.value})


def summary_of(report: CheckReport) -> dict[str, int]:
    """Count rows by what they count as, and the verdicts of those that oblige, always or on a condition."""
    kinds = Counter(row.kind for row in report.rows)
    verdicts = Counter(row.verdict for row in report.rows if row.kind not in _OUTSIDE)
    names = [*(each.value for each in ObligationKind), MarkKind.NOT_APPLICABLE.value]
    counts = {name: kinds[name] for name in names if kinds[name]}
    return {**counts, **{each.value: verdicts[each] for each in EvidenceVerdict}}


def as_values(document: str, standard: str, report: CheckReport) -> dict[str, Any]:
    """Turn it into plain values: `rows`, one an obligation, in the standard's order."""
    values: dict[str, Any] = {
        "document": document,
        "standard": standard,
        "summary": summary_of(report),
        "rows": [row_values(row) for row in report.rows],
        "editions": [_check_values(each) for each in report.editions],
    }
    if report.lost_marks:
        values["marks_without_row"] = [{"row": each.row, "requirement": each.text} for each in report.lost_marks]
    return values if report.related else {**values, "warning": UNRELATED}


def row_values(row: CheckRow) -> dict[str, Any]:
    """Turn one row into plain values."""
    obligation = row.obligation
    return {
        "row": obligation.id,
        "requirement": obligation.text,
        "clause": obligation.clause,
        "title": obligation.title,
        "citation": obligation.citation,
        "force": obligation.force.value if obligation.force is not None else "",
        "negated": obligation.negated,
        "kind": obligation.kind.value,
        "condition": obligation.condition,
        "verdict": row.verdict.value,
        "probability": round(row.probability, 3),
        "evidence": [_quote_values(each) for each in row.evidence],
        "checks": [_check_values(each) for each in row.checks],
        "mark": row.mark.value if row.mark is not None else "",
        "note": row.note,
    }


def _quote_values(each: Quoted) -> dict[str, Any]:
    values: dict[str, Any] = {"quote": each.quote, "document": each.document, "clause": each.clause}
    if each.pages:
        values["page"] = each.pages[0]
        values["pages"] = list(each.pages)
    if each.lines is not None:
        values["lines"] = list(each.lines)
    return values | {
        "citation": each.citation,
        "verified": True,  # what is not found word for word is no evidence
        "match": each.verified.value,
        "probability": round(each.probability, 3),
    }


def _check_values(each: RowCheck) -> dict[str, str]:
    values = {"kind": each.kind.value, "result": each.result.value, "asked": each.asked}
    return values | {name: value for name, value in (("found", each.found), ("citation", each.citation)) if value}


def check_line(each: RowCheck) -> str:
    """Tell a check in one line."""
    return f"{each.kind.value} {each.result.value}: {each.asked}" + (f" / {each.found}" if each.found else "")


def _cells(row: CheckRow) -> list[str]:
    obligation, best = row.obligation, row.evidence[0] if row.evidence else None
    force = "" if obligation.force is None else f"{obligation.force.value}{', negated' if obligation.negated else ''}"
    head = [
        obligation.id,
        obligation.text,
        obligation.clause,
        obligation.title,
        force,
        obligation.kind.value,
        obligation.condition,
    ]
    quote = [best.quote, best.citation] if best is not None else ["", ""]
    more = "\n".join(f"{each.quote} ({each.citation})" for each in row.evidence[1:])
    checks = "\n".join(map(check_line, row.checks))
    mark = row.mark.value if row.mark is not None else ""
    return [*head, row.verdict.value, *quote, more, checks, mark, row.note, obligation.citation]


def as_csv(report: CheckReport) -> str:
    """Write one row an obligation."""
    return csv_text([_COLUMNS, *map(_cells, report.rows)])


def as_xlsx(document: str, standard: str, report: CheckReport) -> bytes:
    """Write a workbook: the rows, whose `mark` is chosen from a list, the counts, and editions that are not current.

    Raises:
        ConfigError: the extra that writes workbooks is not installed.
    """
    counts = [["document", document], ["standard", standard]]
    counts += [[name, str(count)] for name, count in summary_of(report).items()]
    if not report.related:
        counts.append(["warning", UNRELATED])
    choices = {"mark": [each.value for each in MarkKind]}
    sheets = [
        BookSheet(
            "Rows", [list(_COLUMNS), *map(_cells, report.rows)], choices=choices, wide=("requirement", "evidence")
        ),
        BookSheet("Counts", [["what", "count"], *counts], numbers=("count",)),
    ]
    if report.editions:
        editions = [[each.found, each.asked, each.citation] for each in report.editions]
        sheets.append(BookSheet("Editions", [["reference", "why", "citation"], *editions], wide=("why",)))
    return workbook(sheets)


def as_html(document: str, standard: str, report: CheckReport) -> str:
    """Write a page that needs nothing else: every row with its evidence and checks, to sort, filter and print."""
    counts = "".join(f'<span class="count">{each}</span>' for each in counts_in_words(summary_of(report)))
    editions = "".join(f"<li>{html.escape(each.found)}: {html.escape(each.asked)}</li>" for each in report.editions)
    details = f"<details><summary>Editions that are not current</summary><ul>{editions}</ul></details>"
    warning = "" if report.related else f'<p class="warning">{html.escape(UNRELATED)}</p>'
    return table_page(
        title=f"{html.escape(document)} against {html.escape(standard)}",
        counts=counts,
        lead=warning + (details if editions else ""),
        columns=("Row", "Requirement", "Kind", "Verdict"),
        unsorted=("Evidence", "Checks"),
        rows="".join(map(_html_row, report.rows)),
        style=_STYLE,
        choice=_CHOICE,
    )


def _html_row(row: CheckRow) -> str:
    obligation = row.obligation
    quotes = "".join(
        f"<blockquote>{html.escape(each.quote)}<br><small>{html.escape(each.citation)}</small></blockquote>"
        for each in row.evidence
    )
    kind = row.kind if not row.note else f"{row.kind}: {row.note}"
    cells = [
        html.escape(obligation.id),
        f"{html.escape(obligation.text)}<br><small>{html.escape(obligation.citation)}</small>",
        html.escape(kind),
        row.verdict.value,
        quotes,
        "<br>".join(html.escape(check_line(each)) for each in row.checks),
    ]
    state = "outside" if row.kind in _OUTSIDE else row.verdict.name.lower()
    return f'<tr class="{state}">' + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"


_STYLE = """body{max-width:100rem}.count{white-space:nowrap}.warning{border:1px solid;padding:.5rem}
td:nth-child(2),td:nth-child(5){min-width:16rem}td:nth-child(4){white-space:nowrap}
blockquote{margin:0 0 .5rem;padding-left:.6rem;border-left:3px solid var(--line)}
tr.none td:nth-child(4){font-weight:700}tr.outside{opacity:.6}@media print{label{display:none}}
"""
_CHOICE = """ <label>Verdict <select data-column="3"><option value="">
any</option><option>evidence found</option><option>partial</option><option>none found</option></select></label>"""
