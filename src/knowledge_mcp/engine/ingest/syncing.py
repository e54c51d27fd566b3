"""One sync of one source: first ingest what exists, then remove what is certainly gone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from knowledge_mcp.model.collection import DocumentRecord
from knowledge_mcp.model.errors import CancelledError, InvalidInputError, noticing
from knowledge_mcp.model.ingest import IngestEvent, IngestOptions, IngestReport, SkippedFile, SyncReport
from knowledge_mcp.model.source import SourceItem
from knowledge_mcp.ports import Knowledge, SyncedSource


class _LabellingSource:
    """Yield another source's items with labels, and remember the bytes of each location (`Source`)."""

    def __init__(self, source: SyncedSource, labels: tuple[tuple[str, str], ...]) -> None:
        self._source = source
        self._labels = labels
        self.bytes_of: dict[str, str] = {}

    def items(self) -> Iterator[SourceItem | SkippedFile]:
        for item in self._source.items():
            if isinstance(item, SourceItem):
                self.bytes_of[item.uri] = item.sha256
                yield replace(item, labels=(*item.labels, *self._labels))
            else:
                yield item


def sync(
    knowledge: Knowledge,
    source: SyncedSource,
    *,
    labels: tuple[tuple[str, str], ...] = (),
    allow_empty: bool = False,
    is_others: Callable[[DocumentRecord], bool] = lambda _: False,
    gone_elsewhere: Callable[[Sequence[DocumentRecord]], Sequence[DocumentRecord]] = lambda _: (),
    on_event: Callable[[IngestEvent], None] | None = None,
    cancelled: Callable[[], bool] = lambda: False,
) -> SyncReport:
    """Make the knowledge base match a source: new and changed documents first, then deletions.

    If it is interrupted, every document is in its old or its new version, and nothing is removed.

    Args:
        knowledge: the target.
        source: a new object, for this sync alone.
        labels: added to every document of the source.
        allow_empty: whether to accept that a source is now empty.
        is_others: returns whether another source also has a document; it is left to that one, unless its file is gone.
        gone_elsewhere: lists documents of other sources whose files are certainly gone, and may have moved to this one.
        on_event: receives the progress.
        cancelled: called from time to time; returns whether to stop.

    Raises:
        InvalidInputError: the source had documents and is empty now.
        CancelledError: it was cancelled.
        KnowledgeError: the source cannot be listed, or as for `Knowledge.ingest`.
    """
    with noticing():  # the ingest repairs damaged documents
        records = knowledge.documents()
    is_there = source.look(records)
    own = [each for each in records if source.owns(each)]
    if own and not is_there and not allow_empty:
        raise InvalidInputError(
            f"The source is suddenly empty; its documents ({len(own)}) were kept.",
            suggestion="If this is intended, sync once with --allow-empty; if not, check that the source is there.",
        )
    gone = [each for each in own if source.is_gone(each)]
    leaving = _paths(each for each in gone if not (source.only_names and is_others(each)))
    labelling = _LabellingSource(source, labels)
    foreign = [each for each in records if not source.owns(each)]
    away = _paths(gone_elsewhere(foreign))
    options = IngestOptions(
        vanished=tuple(_paths(gone) | away),
        pruned=tuple(leaving),
        other_sources=tuple(_paths(filter(is_others, foreign)) - away),
    )
    report = knowledge.ingest(labelling, options, on_event=on_event, cancelled=cancelled)
    if cancelled():
        raise CancelledError("The sync was stopped.", suggestion="Run it again: what was stored is kept.")
    with noticing():
        after = knowledge.documents()
    waiting = [each for each in after if each.source_path in leaving and source.is_gone(each)]
    retained, why = _retained(waiting, report, labelling.bytes_of, source.unread)
    removed = [each for each in waiting if each not in retained]
    for each in removed:
        knowledge.remove(each.id)
    return SyncReport(report, tuple(removed), tuple(retained), why, source.unread)


def _paths(records: Iterable[DocumentRecord]) -> set[str]:
    return {each.source_path for each in records}


def _retained(
    gone: Sequence[DocumentRecord], report: IngestReport, bytes_of: dict[str, str], unread: Sequence[str]
) -> tuple[list[DocumentRecord], str]:
    """Choose what is not removed yet: it may have moved to an address that could not be read this time."""
    if unread:
        return list(gone), "some locations could not be read, and it may have moved to one of them"
    missed = {bytes_of.get(each.source) for each in (*report.skipped, *report.failed)}
    return [each for each in gone if each.sha256 in missed], "it has moved to a location that could not be ingested"
