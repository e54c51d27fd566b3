"""The first half of an ingest: which files there are, which changed, which cannot be read; nothing is paid for yet."""

from __future__ import annotations

import hashlib
import json
import logging
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from knowledge_mcp import __version__
from knowledge_mcp.engine.base import Base
from knowledge_mcp.engine.structure import STRUCTURE_VERSION
from knowledge_mcp.model.collection import DocumentRecord
from knowledge_mcp.model.damage import noticing
from knowledge_mcp.model.errors import KnowledgeError, UnreadableDocumentError, UnreadableReason
from knowledge_mcp.model.ingest import IngestEvent, IngestEventKind, IngestOptions, SkippedFile
from knowledge_mcp.model.media_types import extension_of
from knowledge_mcp.model.source import SourceItem
from knowledge_mcp.ports import Chunker, Classifier, OcrEngine, Reader, Source

__all__ = ["Pipeline", "Plan", "make_plan", "skipped_file"]

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Bundle what turns bytes into chunks.

    Attributes:
        readers: one per media type.
        chunker, classify: as their ports say.
        ocr: what the readers share for pages without text, closed after them; None for nothing.
        release: version of the program.
    """

    readers: Mapping[str, Reader]
    chunker: Chunker
    classify: Classifier
    ocr: OcrEngine | None = None
    release: str = __version__

    def fingerprint(self, media_type: str) -> str:
        """Hash reader and chunker with their settings: a change of either means that a file is read again.

        So does a change of what is kept of its structure: documents ingested before have none, or an older one, and
        only a reading gives it. Their passages keep the vectors they have.
        """
        reader = self.readers.get(media_type)
        parts = [reader.version if reader else "", self.chunker.version, STRUCTURE_VERSION]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    def mark(self, media_type: str) -> str:
        """Write down what read a file: the release, a colon, the fingerprint."""
        return f"{self.release}:{self.fingerprint(media_type)}"

    def has_read(self, record: DocumentRecord, media_type: str) -> bool:
        """Tell whether a record needs no other reading: it is by this pipeline, or by that of a newer release.

        Two releases that ingest the same files would otherwise read and replace each other's documents for ever.
        """
        release, _, digest = record.pipeline.rpartition(":")
        return digest == self.fingerprint(media_type) or _numbers(release) > _numbers(self.release)

    def close(self) -> None:
        """Free the readers and what they share."""
        for reader in self.readers.values():
            reader.close()
        if self.ocr is not None:
            self.ocr.close()


@dataclass(slots=True)
class Plan:
    """List what is to be done: items to read, records already up to date, files that cannot be read.

    `known` are the records of what is there that the run has to do with.
    """

    known: list[DocumentRecord] = field(default_factory=list[DocumentRecord])
    todo: list[SourceItem] = field(default_factory=list[SourceItem])
    pages: dict[str, int] = field(default_factory=dict[str, int])
    unchanged: list[DocumentRecord] = field(default_factory=list[DocumentRecord])
    skipped: list[SkippedFile] = field(default_factory=list[SkippedFile])


def skipped_file(source: str, error: KnowledgeError) -> SkippedFile:
    """Turn an error into the line that reports it."""
    if isinstance(error, UnreadableDocumentError):
        facts = tuple(error.facts.items())
        return SkippedFile(source, error.reason.value, error.message, error.suggestion, facts)
    return SkippedFile(source, error.code.value, error.message, error.suggestion)


def make_plan(
    base: Base,
    pipeline: Pipeline,
    source: Source,
    options: IngestOptions,
    on_event: Callable[[IngestEvent], None],
    cancelled: Callable[[], bool],
) -> Plan:
    """Open every file that is new or changed and make sure that it can be read (clarification 1)."""
    plan = Plan(list(options.earlier))
    exists = base.exists()
    if exists and not options.ids_are_settled:
        with noticing():  # a damaged record counts as none: the document is ingested again
            plan.known.extend(base.store.documents(base.collection))
    known = {record.source_path: record for record in plan.known}
    for item in source.items():
        if cancelled():
            break
        if isinstance(item, SkippedFile):
            _skip(plan, item, on_event)
            continue
        on_event(IngestEvent(IngestEventKind.FOUND, item.uri))
        record = known.get(item.uri)
        if exists and options.ids_are_settled and item.document_id is not None:
            with noticing():
                record = base.store.document(base.collection, item.document_id)
            plan.known.extend([record] if record is not None else [])
        if record is not None and not options.force and _is_current(record, item, pipeline):
            plan.unchanged.append(record)
            on_event(IngestEvent(IngestEventKind.UNCHANGED, item.uri, record.chunk_count, record.chunk_count))
            continue
        try:
            plan.pages[item.uri] = _reader(pipeline, item).check(item).pages or 0
        except KnowledgeError as exc:
            _skip(plan, skipped_file(item.uri, exc), on_event)
            continue
        plan.todo.append(item)
        on_event(IngestEvent(IngestEventKind.CHECKED, item.uri, total=plan.pages[item.uri]))
    return plan


def _is_current(record: DocumentRecord, item: SourceItem, pipeline: Pipeline) -> bool:
    return record.sha256 == item.sha256 and pipeline.has_read(record, item.media_type)


def _numbers(release: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", release)))


def _reader(pipeline: Pipeline, item: SourceItem) -> Reader:
    reader = pipeline.readers.get(item.media_type)
    if reader is None:
        known = sorted({extension for each in pipeline.readers if (extension := extension_of(each))})
        raise UnreadableDocumentError(
            f"No reader for {item.media_type}.",
            reason=UnreadableReason.UNSUPPORTED,
            source=item.uri,
            suggestion=f"Convert it to a kind that is read here: {', '.join(known)}." if known else None,
        )
    return reader


def _skip(plan: Plan, skipped: SkippedFile, on_event: Callable[[IngestEvent], None]) -> None:
    plan.skipped.append(skipped)
    _logger.error("skipped %s: %s (%s)", skipped.source, skipped.message, skipped.reason)
    on_event(IngestEvent(IngestEventKind.SKIPPED, skipped.source, message=skipped.message))
