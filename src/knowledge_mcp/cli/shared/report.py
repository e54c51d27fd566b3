"""The result of an ingest or its dry run: as tables for people, as one JSON object for programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import PurePath
from typing import Any

from knowledge_mcp.cli.shared.failures import ExitCode, one_line
from knowledge_mcp.cli.shared.output import print_facts, print_table, say
from knowledge_mcp.model.ingest import IngestReport, LeftOut, PlannedDocument, SkippedFile

CHUNKS_PER_CORE_SECOND = {"int8": 32.0, "fp32": 15.0}
"""Chunks of about 200 tokens that the local model embeds per second and core (docs/decisions, local embeddings)."""


_MAX_LISTED = 50
"""Maximum files listed individually in a summary: about three screens."""
_MOST_LINES = 20
"""Maximum documents listed individually as added or removed: one screen."""


def exit_code_for(report: IngestReport, *, aborted: bool = False) -> ExitCode:
    """Choose the exit code of A-REQ-CLI-001: 0 all, 1 some failed, 2 none processed or aborted."""
    if aborted or not (report.documents or report.planned):
        return ExitCode.NOTHING_DONE
    return ExitCode.FAILURE if report.skipped or report.failed else ExitCode.SUCCESS


def cost_of(provider: str, tokens: int, price: float | None) -> str:
    """Format the cost of embedding tokens; `price` is USD per million, None if it is unknown."""
    if provider == "local":
        return "free (local)"
    if price is None:
        return f"{tokens:,} tokens at the provider's price (set EMBEDDING_PRICE to see the cost)"
    return f"{tokens * price / 1e6:.4f} USD ({tokens:,} tokens at {price:g} USD per million)"


def local_seconds(chunks: int, variant: str, threads: int) -> float:
    """Estimate how long embedding with the local model takes."""
    return chunks / (CHUNKS_PER_CORE_SECOND[variant] * max(threads, 1))


def duration(seconds: float) -> str:
    """Format a duration: `0.4 s`, `12 s`, `3 min 05 s`, `2 h 10 min`."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    rounded = round(seconds)
    if rounded < 60:
        return f"{rounded} s"
    if rounded < 3600:
        return f"{rounded // 60} min {rounded % 60:02d} s"
    return f"{rounded // 3600} h {rounded % 3600 // 60:02d} min"


def list_unreadable(files: Sequence[SkippedFile]) -> list[str]:
    """Write the first unreadable files with their reasons and remedies, and count the others by reason."""
    lines: list[str] = []
    for each in files[:_MAX_LISTED]:
        lines.append(f"  {each.source}")
        lines.append(f"    {each.message}")
        if each.suggestion:
            lines.append(f"    {each.suggestion}")
    others = Counter(each.reason for each in files[_MAX_LISTED:])
    if others:
        counts = ", ".join(f"{count} {reason}" for reason, count in others.most_common())
        lines.append(f"  … and {others.total()} more: {counts}. --json lists them all.")
    return [one_line(line) for line in lines]


def list_lines(lines: Sequence[str], *, verbose: bool) -> list[str]:
    """Keep the first of many lines and count the others, unless all are requested."""
    more = 0 if verbose else len(lines) - _MOST_LINES
    return [*lines[:_MOST_LINES], f"… and {more:,} more; -v lists them all."] if more > 0 else list(lines)


def list_left_out(left_out: Sequence[LeftOut]) -> list[str]:
    """List the files of a folder that were not ingested: number per kind, an example, the next step."""
    lines = ["Not ingested, because they are not documents or were excluded:"] if left_out else []
    for each in left_out:
        example = f", e.g. {each.examples[0]}" if each.examples else ""
        advice = f". {each.advice}" if each.advice else ""
        lines.append(f"  {each.what}: {each.count:,}{example}{advice}")
    return [one_line(line) for line in lines]


def not_taken(skipped: int) -> str:
    """Return how many files of a source were not ingested, to append to its summary; empty for none."""
    return f", {skipped} not ingested" if skipped else ""


def print_summary(report: IngestReport, *, aborted: bool = False, verbose: bool = False) -> None:
    """Print the summary table: files, chunks, errors, seconds."""
    processed = [each for each in report.documents if not each.unchanged]
    embedded = sum(each.embedded for each in processed)
    reused = sum(each.reused for each in processed)
    rows = [
        ("Files processed", str(len(processed))),
        ("Files unchanged", str(len(report.documents) - len(processed))),
        ("Files skipped", str(len(report.skipped))),
        ("Chunks created", str(sum(each.record.chunk_count for each in processed))),
        ("  embedded", str(embedded)),
        ("  reused", str(reused)),
        ("Errors", str(len(report.failed))),
        ("Time", duration(report.seconds)),
    ]
    if report.billed_tokens:
        cost = "" if report.cost is None else f", {report.cost:.4f} USD"
        rows.insert(-1, ("Tokens billed", f"{report.billed_tokens:,}{cost}"))
    print_facts(rows, title="Ingestion aborted" if aborted else "Ingestion summary", numbers=True)
    for each in processed:
        for warning in each.record.warnings:
            say(one_line(f"Warning: {each.record.id}: {warning}"))
    for line in list_lines([one_line(f"Edition: {each}") for each in report.editions], verbose=verbose):
        say(line)
    _print_problems(report)


def _print_problems(report: IngestReport) -> None:
    for title, files in (("Skipped:", report.skipped), ("Failed:", report.failed)):
        if files:
            say(title)
            for line in list_unreadable(files):
                say(line)


def print_dry_run(report: IngestReport, *, provider: str, variant: str, threads: int, embeds_all: bool) -> None:
    """Print what would be ingested, with its tokens, its cost and how long it would take."""
    to_do = [each for each in report.planned if embeds_all or not each.unchanged]
    chunks, tokens = sum(each.chunks for each in to_do), sum(each.tokens for each in to_do)
    pages = str(sum(each.pages for each in to_do))
    print_table(
        ("File", "Document", "Pages", "Chunks", "Tokens", "Would be"),
        [_dry_row(each, embeds_all=embeds_all) for each in report.planned],
        title="Dry run: nothing was embedded or stored",
        numbers={"Pages", "Chunks", "Tokens"},
        footer=(f"{len(to_do)} to ingest", "", pages, str(chunks), f"{tokens:,}", "") if to_do else (),
    )
    seconds = report.seconds + (local_seconds(chunks, variant, threads) if provider == "local" else 0)
    say(f"Estimated cost: {cost_of(provider, tokens, report.price)}")
    say(f"Estimated time: {duration(seconds)}")
    _print_problems(report)


def _dry_row(each: PlannedDocument, *, embeds_all: bool) -> tuple[str, ...]:
    action = "ingested" if embeds_all or not each.unchanged else "left unchanged"
    pages = str(each.pages) if each.pages else "-"
    return (
        one_line(PurePath(each.source).name),
        one_line(each.document_id),
        pages,
        str(each.chunks),
        f"{each.tokens:,}",
        action,
    )


def report_as_json(
    report: IngestReport, *, sources: Sequence[str], exit_code: int, aborted: bool = False
) -> dict[str, Any]:
    """Turn a report into plain values.

    Keys: `source` (of several, all with commas between), `sources`, `exit_code`, `aborted`, `files_processed`,
    `files_unchanged`, `chunks_created`, `chunks_embedded`, `chunks_reused`, `errors`, `seconds`, `embedding_tokens`,
    `billed_tokens`, `cost_usd` (null where the price is not known), `editions`, `documents`, `planned`, `skipped`,
    `failed`.
    """
    processed = [each for each in report.documents if not each.unchanged]
    return {
        "source": ", ".join(sources),
        "sources": list(sources),
        "exit_code": int(exit_code),
        "aborted": aborted,
        "files_processed": len(processed),
        "files_unchanged": len(report.documents) - len(processed),
        "chunks_created": sum(each.record.chunk_count for each in processed),
        "chunks_embedded": sum(each.embedded for each in processed),
        "chunks_reused": sum(each.reused for each in processed),
        "errors": len(report.failed),
        "seconds": round(report.seconds, 3),
        "embedding_tokens": report.embedding_tokens,
        "billed_tokens": report.billed_tokens,
        "cost_usd": report.cost,
        "editions": list(report.editions),
        "documents": [
            {
                "document_id": each.record.id,
                "document_title": each.record.title,
                "document_type": each.record.document_type,
                "source_path": each.record.source_path,
                "pages": each.record.pages,
                "chunk_count": each.record.chunk_count,
                "embedded": each.embedded,
                "reused": each.reused,
                "unchanged": each.unchanged,
                "status": each.record.status.value,
                "warnings": list(each.record.warnings),
            }
            for each in report.documents
        ],
        "planned": [asdict(each) for each in report.planned],
        "skipped": [asdict(each) for each in report.skipped],
        "failed": [asdict(each) for each in report.failed],
    }
