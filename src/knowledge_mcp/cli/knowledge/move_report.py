"""What moving or re-embedding a collection came to: as tables for people, as JSON for programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from knowledge_mcp.cli.shared.output import print_facts, print_table, say
from knowledge_mcp.cli.shared.report import cost_of, duration
from knowledge_mcp.engine.transfer.copying import CopyProblem
from knowledge_mcp.engine.transfer.move import Comparison, MovePlan, MoveReport
from knowledge_mcp.engine.transfer.reembed import ReembedPlan, ReembedReport
from knowledge_mcp.support.wording import how_many

_MOST_LISTED = 20
"""Documents listed on the terminal: a screen full; `--json` lists all."""


def print_move_plan(plan: MovePlan, title: str, *, prune: bool) -> None:
    """Print what would be copied."""
    rows = [
        ("Documents to copy", str(len(plan.new))),
        ("Documents to replace", str(len(plan.replaced))),
        ("Documents already in the target", str(len(plan.present))),
        ("Only in the target", f"{len(plan.others)} {'to remove' if prune else 'kept'}" if plan.others else "0"),
        ("Chunks to copy", f"{plan.chunks:,}"),
        ("Embedding", plan.info.space.label),
    ]
    print_facts(rows, title=f"Dry run: nothing was written: {title}", numbers=True)


def print_move(report: MoveReport, title: str) -> None:
    """Print what was copied, and the comparison of both stores."""
    rate = f" ({report.chunks / report.seconds:,.0f} chunks/s)" if report.chunks and report.seconds > 0 else ""
    rows = [
        ("Documents copied", str(report.copied)),
        ("  of them replaced", str(len(report.plan.replaced))),
        ("Documents already in the target", str(len(report.plan.present))),
        ("Documents failed", str(len(report.failed))),
        ("Documents removed", str(len(report.removed))),
        ("Only in the target", str(len(report.plan.others) - len(report.removed))),
        ("Chunks copied", f"{report.chunks:,}"),
        ("Time to copy", duration(report.seconds) + rate),
        ("Time to compare", duration(report.comparing_seconds)),
    ]
    print_facts(rows, title=title, numbers=True)
    _print_comparison(report.comparison)
    _print_troubles("Failed:", report.failed)
    failed = {each.document_id for each in report.failed}
    others = [each for each in report.comparison.differing if each.document_id not in failed]
    _print_troubles("Differences:", others)
    say(
        "Source and target have the same contents."
        if report.good
        else "Source and target do NOT have the same contents. See the differences above, then run the same command "
        "again."
    )


def _print_comparison(comparison: Comparison) -> None:
    rows = [
        (name.capitalize(), f"{getattr(comparison.source, name):,}", f"{getattr(comparison.target, name):,}")
        for name in ("documents", "chunks", "tokens")
    ]
    columns = ("", "Source", "Target")
    print_table(columns, rows, title="Comparison", numbers=columns)
    for end, sha256 in (("source", comparison.source_sha256), ("target", comparison.target_sha256)):
        say(f"Content hash (SHA-256) of the {end}: {sha256}")
    overlap = comparison.overlap
    if overlap.queries:
        judged = "" if overlap.judged else "; not judged, because the target contains other documents too"
        shares = ", ".join(
            f"{name} {share:.1%}"
            for name, share in (("by meaning", overlap.dense), ("by words", overlap.lexical))
            if share is not None
        )
        lost = (
            f"; {how_many(len(overlap.lost), 'chunk is', 'chunks are')} not found by their own vector"
            if overlap.lost
            else ""
        )
        say(f"Sampled queries: {overlap.queries}; best hits in common: {shares}{lost}{judged}.")


def print_reembed_plan(plan: ReembedPlan, price: float | None) -> None:
    """Print what would be embedded, and at what price."""
    rows = [
        ("Collection", plan.live.name),
        ("Embedding now", plan.live.space.label),
        ("Embedding then", plan.space.label),
        ("Documents to embed", str(len(plan.todo) - len(plan.unfit))),
        ("Documents embedded by an earlier run", str(len(plan.done))),
        ("Documents with chunks that are too long", str(len(plan.unfit))),
        ("Chunks to embed", f"{plan.chunks:,}"),
        ("Tokens", f"{plan.tokens:,}"),
        ("Cost", cost_of(plan.space.provider, plan.tokens, price)),
    ]
    print_facts(rows, title="Dry run: nothing was embedded or stored", numbers=True)
    _print_troubles("Chunks too long for the new model:", plan.unfit)


def print_reembed(report: ReembedReport) -> None:
    """Print what was embedded, and which collection has which name now."""
    plan = report.plan
    if not plan.needed:
        say(f"'{plan.live.name}' already uses {plan.space.label}.")
        return
    rows = [
        ("Documents embedded", str(report.documents)),
        ("Documents of an earlier run", str(len(plan.done))),
        ("Documents failed", str(len(report.failed))),
        ("Chunks embedded", f"{report.embedded:,}"),
        ("Vectors reused", f"{report.reused:,}"),
        ("Time", duration(report.seconds)),
    ]
    if report.billed_tokens:
        rows.append(("Cost", cost_of(plan.space.provider, report.billed_tokens, report.price)))
    title = f"{plan.live.name}: {plan.live.space.label} to {plan.space.label}"
    print_facts(rows, title=title, numbers=True)
    _print_troubles("Not re-embedded:", report.failed)
    if report.swapped:
        old = (
            f"the old collection is '{report.old_collection}'"
            if report.old_collection
            else "the old collection was dropped"
        )
        select = plan.space.settings_unlike(plan.live.space)
        follow = f" From now on it needs {select}." if select else ""
        say(f"'{plan.live.name}' now uses {plan.space.label}; {old}.{follow}")
    else:
        say(
            f"'{plan.live.name}' was not changed and still uses {plan.live.space.label}. Ingest the documents above "
            f"again with `knowledge-ingest --collection {plan.building}`, then run this command again, or pass "
            "--leave-out."
        )


def move_plan_as_json(plan: MovePlan) -> dict[str, Any]:
    """Turn a plan into plain values."""
    return {
        "collection": plan.info.name,
        "embedding": plan.info.space.label,
        "new": list(plan.new),
        "replaced": list(plan.replaced),
        "present": list(plan.present),
        "only_at_target": list(plan.others),
        "chunks": plan.chunks,
    }


def move_as_json(report: MoveReport) -> dict[str, Any]:
    """Turn a report into plain values."""
    comparison = report.comparison
    return {
        "collection": report.plan.info.name,
        "documents_copied": report.copied,
        "documents_replaced": len(report.plan.replaced),
        "documents_present": len(report.plan.present),
        "documents_removed": list(report.removed),
        "only_at_target": [each for each in report.plan.others if each not in report.removed],
        "chunks_copied": report.chunks,
        "failed": [asdict(each) for each in report.failed],
        "seconds": round(report.seconds, 3),
        "comparison": {
            "equal": report.good,
            "source": asdict(comparison.source) | {"sha256": comparison.source_sha256},
            "target": asdict(comparison.target) | {"sha256": comparison.target_sha256},
            "differing": [asdict(each) for each in comparison.differing],
            "sampled_queries": asdict(comparison.overlap) | {"lost": list(comparison.overlap.lost)},
            "seconds": round(report.comparing_seconds, 3),
        },
    }


def reembed_plan_as_json(plan: ReembedPlan) -> dict[str, Any]:
    """Turn a plan into plain values."""
    return {
        "collection": plan.live.name,
        "embedding_now": plan.live.space.label,
        "embedding_then": plan.space.label,
        "needed": plan.needed,
        "documents_to_embed": [each for each in plan.todo if each not in {one.document_id for one in plan.unfit}],
        "documents_present": list(plan.done),
        "unfit": [asdict(each) for each in plan.unfit],
        "chunks": plan.chunks,
        "tokens": plan.tokens,
    }


def reembed_as_json(report: ReembedReport) -> dict[str, Any]:
    """Turn a report into plain values."""
    cost = None if report.price is None else report.billed_tokens * report.price / 1e6
    return {
        "collection": report.plan.live.name,
        "embedding_before": report.plan.live.space.label,
        "embedding": report.plan.space.label,
        "needed": report.plan.needed,
        "swapped": report.swapped,
        "old_collection": report.old_collection or None,
        "building_collection": report.plan.building if report.plan.needed and not report.swapped else None,
        "documents_embedded": report.documents,
        "chunks_embedded": report.embedded,
        "vectors_reused": report.reused,
        "failed": [asdict(each) for each in report.failed],
        "seconds": round(report.seconds, 3),
        "billed_tokens": report.billed_tokens,
        "cost_usd": cost,
    }


def _print_troubles(title: str, troubles: Sequence[CopyProblem]) -> None:
    if not troubles:
        return
    say(title)
    for each in troubles[:_MOST_LISTED]:
        say(f"  {each.document_id}: {each.message}")
    if len(troubles) > _MOST_LISTED:
        say(f"  and {len(troubles) - _MOST_LISTED} more; --json lists all")
