"""Ingesting one document for somebody who waits: progress in hundredths, and nothing left where it ends early."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from knowledge_mcp.engine.core.base import Base
from knowledge_mcp.engine.ingest.ingest import CANCELLED, Ingest
from knowledge_mcp.engine.ingest.plan import Pipeline
from knowledge_mcp.model.call import Call
from knowledge_mcp.model.errors import CancelledError
from knowledge_mcp.model.ingest import IngestEvent, IngestEventKind, IngestOptions, IngestReport, SkippedFile
from knowledge_mcp.model.source import SourceItem

_READ = 30.0
"""Share of the progress, in hundredths, that reading a document is taken for; embedding is the rest.

Reading took a seventh of the time for a PDF with text (the sample standard), and takes most of it where pages are
recognised, which is not known before: between the two, nearer to the text that most files have.
"""


@dataclass(frozen=True, slots=True)
class _One:
    """Yield one item (`Source`)."""

    item: SourceItem

    def items(self) -> Iterator[SourceItem | SkippedFile]:
        yield self.item


def ingest_one(
    base: Base,
    pipeline: Pipeline,
    item: SourceItem,
    options: IngestOptions,
    line: Call,
    *,
    unit: str,
    check: Callable[[IngestEvent], None] = lambda _: None,
) -> IngestReport:
    """Ingest one item whose id is settled; the report has it as a document, as skipped or as failed.

    Args:
        base: its collection is where the document goes.
        pipeline: what reads and cuts it.
        item: with its `document_id`.
        options: as `Ingest` takes them.
        line: told how far it is, and asked whether to stop.
        unit: what the pieces that are embedded are called in the line's words.
        check: looks at every event, and may raise to end it.

    Raises:
        CancelledError: the line was cancelled.
        KnowledgeError: store, embedder or settings, or what `check` raises.
    """

    def on_event(event: IngestEvent) -> None:
        if event.kind in {IngestEventKind.READING, IngestEventKind.CHUNKED, IngestEventKind.EMBEDDED}:
            if line.cancelled():
                raise CancelledError("The ingest was cancelled.")
            line.progress(*progress_of(event, unit))
        check(event)

    report = Ingest(base, pipeline, options, on_event, line.cancelled).run(_One(item), lambda _: True)
    stopped = all(each.reason == CANCELLED for each in report.skipped)
    if stopped and not report.documents and not report.failed:
        raise CancelledError("The ingest was cancelled.")
    return report


def progress_of(event: IngestEvent, unit: str) -> tuple[float, float, str]:
    """Put an event into hundredths done, the whole, and words."""
    share = event.done / event.total if event.total else 0.0
    if event.kind is IngestEventKind.READING:
        pages = f" page {event.done} of {event.total}" if event.total else ""
        return round(_READ * share, 1), 100.0, f"reading{pages}"
    return round(_READ + (99.0 - _READ) * share, 1), 100.0, f"embedding {unit} {event.done} of {event.total}"
