"""Links between two sets of items, as people and programs read them: JSON, CSV, and a page to sort and filter."""

from __future__ import annotations

import html
from collections import Counter
from typing import Any

from knowledge_mcp.engine.tracing.links import Trace, TraceItem, TraceLink, Verdict
from knowledge_mcp.support.wording import list_first
from knowledge_mcp.surfaces.tables import csv_text, table_page

UNRELATED_SETS = (
    "The two sets seem to be unrelated, so proposed links mean little. Check that these are the right sets."
)
_MOST_NAMED = 20
"""Links that lead nowhere, and items, that are named in a message; JSON has all."""
_COLUMNS = ("from", "to", "verdict", "probability", "words", "from_text", "to_text", "from_citation", "to_citation")


def as_values(found: Trace) -> dict[str, Any]:
    """Turn it into plain values; a link counts as found where its verdict is declared or likely."""
    warning = {} if found.related else {"warning": UNRELATED_SETS}
    return warning | {
        "threshold": round(found.threshold, 4),
        "coverage": coverage_of(found),
        "links": [
            {
                "from": link.source.id,
                "to": link.target.id,
                **_called(link),
                "verdict": link.verdict.value,
                "probability": round(link.probability, 4),
                "evidence": {
                    "from": {"citation": link.citations[0], "text": link.evidence.from_text},
                    "to": {"citation": link.citations[1], "text": link.evidence.to_text},
                    "words": list(link.evidence.words),
                },
            }
            for link in found.links
        ],
        "gaps": {
            "from": [_gap(each) for each in found.untraced_sources],
            "to": [_gap(each) for each in found.untraced_targets],
        },
        "withdrawn": {
            "from": [_named(each) for each in found.withdrawn_sources],
            "to": [_named(each) for each in found.withdrawn_targets],
        },
        "refining": {
            "from": [_named(each) for each in found.refining_sources],
            "to": [_named(each) for each in found.refining_targets],
        },
        "outdated": [{"from": one.id, "to": other.id} for one, other in found.outdated],
        "unproven": [{**_named(each), "results": results} for each, results in found.unproven],
        "copies": [_named(each) for each in found.copies],
        "lost": [{"id": item.id, "citation": item.citation, "link": name} for item, name in found.lost],
    }


def coverage_of(found: Trace) -> dict[str, dict[str, int]]:
    """Count the items of each side: all, those with a declared link, those with likely ones only, those with none.

    What refines an item of its own side that declares a link counts as having one.
    """
    sure = [link for link in found.links if link.verdict in {Verdict.DECLARED, Verdict.LIKELY}]
    counted: dict[str, dict[str, int]] = {}
    for side, untraced, refining in (
        ("from", found.untraced_sources, found.refining_sources),
        ("to", found.untraced_targets, found.refining_targets),
    ):
        linked: dict[str, bool] = {}
        for link in sure:
            own = (link.source if side == "from" else link.target).id
            linked[own] = linked.get(own, False) or link.verdict is Verdict.DECLARED
        linked |= {each.id: True for each in refining}
        declared = sum(linked.values())
        counted[side] = {
            "items": len(linked) + len(untraced),
            "declared": declared,
            "likely": len(linked) - declared,
            "none": len(untraced),
        }
    return counted


def _called(link: TraceLink) -> dict[str, str]:
    """Give what people call the two items, where their ids are for programs."""
    sides = (("from_name", link.source), ("to_name", link.target))
    return {key: item.name for key, item in sides if item.label != item.id}


def lost_links(found: Trace) -> str:
    """Say which declared links lead nowhere; empty where all lead to an item."""
    if not found.lost:
        return ""
    named = list_first([f"{item.label} → {name}" for item, name in found.lost], _MOST_NAMED)
    return f"Declared links without a unique target item in these sets ({len(found.lost)}): {named}."


def items_left_out(found: Trace) -> str:
    """Say which items are neither linked nor missed, as they hold no longer or are quotes; empty for none."""
    sides = (("FROM", found.withdrawn_sources), ("TO", found.withdrawn_targets))
    named = [
        f"{len(items)} of {name} ({list_first([each.label for each in items], _MOST_NAMED)})"
        for name, items in sides
        if items
    ]
    sentences = [f"Skipped because they are marked as withdrawn: {'; '.join(named)}."] if named else []
    if found.copies:
        copied = list_first([each.label for each in found.copies], _MOST_NAMED)
        sentences.append(f"Skipped in TO because they quote items of FROM ({len(found.copies)}): {copied}.")
    return " ".join(sentences)


def doubts(found: Trace) -> str:
    """Say which links lead to withdrawn items, and which items no passed test covers; empty for none."""
    sentences: list[str] = []
    if found.outdated:
        named = list_first([f"{one.label} → {other.label}" for one, other in found.outdated], _MOST_NAMED)
        sentences.append(f"Links with a withdrawn item ({len(found.outdated)}): {named}.")
    if found.unproven:
        named = list_first([f"{each.label} ({results})" for each, results in found.unproven], _MOST_NAMED)
        sentences.append(f"Items of FROM that no passed test case covers ({len(found.unproven)}): {named}.")
    return " ".join(sentences)


def warnings_of(found: Trace) -> tuple[str, ...]:
    """Say that the sets seem unrelated, what links lead nowhere or are doubtful, what is left out; each may be ""."""
    return "" if found.related else UNRELATED_SETS, lost_links(found), doubts(found), items_left_out(found)


def _named(item: TraceItem) -> dict[str, str]:
    """Name an item; with what people call it, where its id is for programs."""
    called = {"name": item.name} if item.label != item.id else {}
    return {"id": item.id, **called, "title": item.title, "citation": item.citation}


def _gap(item: TraceItem) -> dict[str, str]:
    return {**_named(item), "verdict": Verdict.NONE.value}


def table_of(found: Trace) -> list[list[str]]:
    """Return a header, one row a link, and one for every item without any."""
    rows: list[list[str]] = [[*_COLUMNS], *(_row(link) for link in found.links)]
    for place, items in enumerate((found.untraced_sources, found.untraced_targets)):
        for item in items:
            cells = [""] * len(_COLUMNS)
            cells[place], cells[2], cells[7 + place] = item.id, Verdict.NONE.value, item.citation
            rows.append(cells)
    return rows


def as_csv(found: Trace) -> str:
    """Write the table."""
    return csv_text(table_of(found))


def _row(link: TraceLink) -> list[str]:
    evidence = link.evidence
    head = [link.source.id, link.target.id, link.verdict.value, f"{link.probability:.4f}", " ".join(evidence.words)]
    return [*head, evidence.from_text, evidence.to_text, *link.citations]


def as_html(source: str, target: str, found: Trace) -> str:
    """Write a page that needs nothing else: every link with its evidence, to sort and filter, and the gaps."""
    counts = Counter(link.verdict for link in found.links)
    verdicts = "".join(f'<span class="count">{counts[each]} {each.value}</span>' for each in Verdict if counts[each])
    gaps = "".join(
        f"<details><summary>Without a link: {len(items)} of {html.escape(name)}</summary><ul>"
        + "".join(f"<li>{html.escape(each.label)} {html.escape(each.title)}</li>" for each in items)
        + "</ul></details>"
        for name, items in ((source, found.untraced_sources), (target, found.untraced_targets))
    )
    return table_page(
        title=f"{html.escape(source)} → {html.escape(target)}",
        counts=verdicts,
        lead="".join(f'<p class="warning">{html.escape(each)}</p>' for each in warnings_of(found) if each) + gaps,
        columns=("From", "To", "Verdict", "Sure"),
        unsorted=("In common",),
        rows="".join(_html_row(link) for link in found.links),
        style="body{max-width:90rem}tr.uncertain,tr.mentioned{opacity:.65}",
    )


def _html_row(link: TraceLink) -> str:
    evidence = link.evidence
    cells = [
        html.escape(link.source.label),
        html.escape(link.target.label),
        link.verdict.value,
        f"{link.probability:.2f}",
        f"<details><summary>{html.escape(', '.join(evidence.words))}</summary>"
        f"<p>{html.escape(evidence.from_text)}<br><small>{html.escape(link.citations[0])}</small></p>"
        f"<p>{html.escape(evidence.to_text)}<br><small>{html.escape(link.citations[1])}</small></p></details>",
    ]
    return f'<tr class="{link.verdict.value}">' + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"
