"""The first half of an ingest: which files exist, which changed, which cannot be read; nothing costs money yet."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import logging
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from knowledge_mcp import __version__
from knowledge_mcp.engine.core.base import Base, record_of
from knowledge_mcp.engine.core.documents import SETTABLE
from knowledge_mcp.engine.core.editions import BY_HAND, CONFIRMED
from knowledge_mcp.engine.core.properties import stated_properties
from knowledge_mcp.engine.ingest.facts import STRUCTURE_VERSION, claims_of, stated_edition
from knowledge_mcp.model.chunk import Chunk, EmbeddedChunk, Vector
from knowledge_mcp.model.collection import CLAIMED, FILE_NAME_KEYS, GIVEN, STATED, DocumentRecord, DocumentStatus
from knowledge_mcp.model.document import Classification, Document
from knowledge_mcp.model.errors import (
    CancelledError,
    KnowledgeError,
    UnreadableDocumentError,
    UnreadableReason,
    noticing,
)
from knowledge_mcp.model.ingest import IngestEvent, IngestEventKind, IngestOptions, SkippedFile
from knowledge_mcp.model.rights import ALLOWED
from knowledge_mcp.model.source import MEDIA_TYPES, SourceItem, advice_on_kind
from knowledge_mcp.ports import Chunker, Classifier, OcrEngine, Reader, Source

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Pipeline:
    """What turns bytes into chunks.

    Attributes:
        readers: one per media type.
        chunker, classify: as in their ports.
        ocr: shared by the readers for pages without text, closed after them; None for none.
        release: version of the program.
    """

    readers: Mapping[str, Reader]
    chunker: Chunker
    classify: Classifier
    ocr: OcrEngine | None = None
    release: str = __version__

    def fingerprint(self, media_type: str) -> str:
        """Hash reader and chunker with their settings: a change of either means that a file is read again.

        So does a change of the stored structure: documents ingested before have none, or an older one, and only reading
        creates it. Their passages keep their vectors.
        """
        reader = self.readers.get(media_type)
        parts = [reader.version if reader else "", self.chunker.version, STRUCTURE_VERSION]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    def mark(self, media_type: str) -> str:
        """Return the pipeline mark of a file: the release, a colon, the fingerprint."""
        return f"{self.release}:{self.fingerprint(media_type)}"

    def has_read(self, record: DocumentRecord, media_type: str) -> bool:
        """Return whether a record needs no new reading: it is from this pipeline, or from that of a newer release.

        Otherwise two releases that ingest the same files would replace each other's documents for ever.
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
    """What to do: items to read, records already up to date, files that cannot be read.

    `known` has the existing records that matter to the run.
    """

    known: list[DocumentRecord] = field(default_factory=list[DocumentRecord])
    todo: list[SourceItem] = field(default_factory=list[SourceItem])
    pages: dict[str, int] = field(default_factory=dict[str, int])
    unchanged: list[DocumentRecord] = field(default_factory=list[DocumentRecord])
    skipped: list[SkippedFile] = field(default_factory=list[SkippedFile])


def skipped_file(source: str, error: KnowledgeError) -> SkippedFile:
    """Turn an error into a report entry."""
    if isinstance(error, UnreadableDocumentError):
        facts = tuple(error.facts.items())
        return SkippedFile(source, error.reason.value, error.problem, error.suggestion, facts)
    return SkippedFile(source, error.code.value, error.problem, error.suggestion)


def make_plan(
    base: Base,
    pipeline: Pipeline,
    source: Source,
    options: IngestOptions,
    on_event: Callable[[IngestEvent], None],
    cancelled: Callable[[], bool],
) -> Plan:
    """Open every new or changed file and check that it can be read (clarification 1)."""
    plan = Plan(list(options.earlier))
    exists = base.exists()
    if exists and not options.ids_are_settled:
        with noticing():  # a damaged record counts as none: the document is ingested again
            plan.known.extend(base.opened.documents())
    known = {record.source_path: record for record in plan.known}
    gone = frozenset(options.vanished)
    moved = {record.sha256: record for record in plan.known if record.source_path in gone}
    for entry in source.items():
        if cancelled():
            break
        if isinstance(entry, SkippedFile):
            _skip(plan, entry, on_event)
            continue
        on_event(IngestEvent(IngestEventKind.FOUND, entry.uri))
        record = known.get(entry.uri)
        if exists and options.ids_are_settled and entry.document_id is not None:
            with noticing():
                record = record_of(base.opened, entry.document_id)
            plan.known.extend([record] if record is not None else [])
        item = _with_columns(entry, record or moved.get(entry.sha256))
        if record is not None and not options.force and _is_current(record, item, pipeline):
            plan.unchanged.append(record)
            on_event(IngestEvent(IngestEventKind.UNCHANGED, item.uri, record.chunk_count, record.chunk_count))
            continue
        try:
            plan.pages[item.uri] = _reader(pipeline, item).check(item).pages or 0
        except CancelledError:  # the file is not at fault
            raise
        except KnowledgeError as exc:
            _skip(plan, skipped_file(item.uri, exc), on_event)
            continue
        plan.todo.append(item)
        on_event(IngestEvent(IngestEventKind.CHECKED, item.uri, total=plan.pages[item.uri]))
    return plan


def _with_columns(item: SourceItem, earlier: DocumentRecord | None) -> SourceItem:
    """Read a table by the columns named at an earlier ingest, unless columns are named (or reset) now."""
    item_labels = dict(item.labels)
    if earlier is None or "columns" in item_labels or "columns" not in earlier.label(GIVEN).split(", "):
        return item
    at_ingest = ", ".join(filter(None, (item_labels.get(GIVEN, ""), "columns")))
    labels = item_labels | {"columns": earlier.label("columns"), GIVEN: at_ingest}
    return dataclasses.replace(item, labels=tuple(labels.items()))


def _is_current(record: DocumentRecord, item: SourceItem, pipeline: Pipeline) -> bool:
    keys = {*SETTABLE, ALLOWED, *dict(item.labels).get(GIVEN, "").split(", ")}
    has_labels = all(record.label(key) == value for key, value in item.labels if key in keys)
    return has_labels and record.sha256 == item.sha256 and pipeline.has_read(record, item.media_type)


def _numbers(release: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", release)))


def _reader(pipeline: Pipeline, item: SourceItem) -> Reader:
    reader = pipeline.readers.get(item.media_type)
    if reader is None:
        known = (extension for extension, kind in MEDIA_TYPES.items() if kind in pipeline.readers)
        raise UnreadableDocumentError(
            f"Files of this type are not supported ({item.media_type}).",
            reason=UnreadableReason.UNSUPPORTED,
            source=item.uri,
            name=item.name,
            suggestion=advice_on_kind(item.name, known),
        )
    return reader


def _skip(plan: Plan, skipped: SkippedFile, on_event: Callable[[IngestEvent], None]) -> None:
    plan.skipped.append(skipped)
    _logger.error("skipped %s: %s (%s)", skipped.source, skipped.message, skipped.reason)
    on_event(IngestEvent(IngestEventKind.SKIPPED, skipped.source, message=skipped.message))


@dataclass(slots=True)
class PreparedDocument:
    """One document between reading and publishing.

    Attributes:
        item, document, chunks: the results of reading.
        record: complete except for `created_at`, which the writer keeps from an earlier ingest.
        replaces: id of an earlier record of the same source under another id, to be removed after publishing.
        reused: vectors already known, by embedding key.
        embedded: the chunks with their vectors, as far as available.
        fresh: number of these embedded now.
        refused: passages refused by the embedding service; they stay in `chunks`, which other code iterates meanwhile.
    """

    item: SourceItem
    document: Document
    chunks: Sequence[Chunk]
    record: DocumentRecord
    replaces: str | None = None
    reused: dict[str, Vector] = field(default_factory=dict[str, Vector])
    embedded: list[EmbeddedChunk] = field(default_factory=list[EmbeddedChunk])
    fresh: int = 0
    refused: int = 0

    @property
    def done(self) -> int:
        """Return the number of chunks embedded so far."""
        return len(self.embedded)

    @property
    def total(self) -> int:
        """Return the number of chunks to store: all except those refused so far."""
        return len(self.chunks) - self.refused

    def leave_out(self, chunk: Chunk, reason: str) -> str:
        """Record a passage that cannot be embedded, also in the record. Returns the sentence for it."""
        self.refused += 1
        place = f"clause {chunk.clause_number}" if chunk.clause_number else chunk.section_title or "no section"
        page = f", page {chunk.page_numbers[0]}" if chunk.page_numbers else ""
        warning = (
            f"Passage {chunk.index} ({place}{page}) was refused by the embedding service and cannot be found: {reason}"
        )
        self.record = dataclasses.replace(
            self.record,
            chunk_count=self.record.chunk_count - 1,
            token_count=self.record.token_count - chunk.token_count,
            status=DocumentStatus.PARTIAL,
            warnings=(*self.record.warnings, warning),
        )
        return warning


_OF_AN_EDITION = ("edition", "version")
_NEARLY_ALL = 0.9
"""Minimum share of common words for a new file to count as an edited version of a missing one."""


class Names:
    """Assign every source one document id, the same in every run.

    A file keeps its id. A new file gets the id that its reader proposes, unless another file has it: then a short hash
    of its location is added. A file with the bytes of a record that is not part of this run has been moved, and takes
    over the record. So does the only new file of a kind, if only one of that kind is missing and the new one is an
    edited version of it.

    Args:
        records: those of existing documents.
        vanished: missing sources: a new file with the bytes of one takes over its record, whatever its name.
        present: existing sources, part of this run or not: they keep their ids.
        read: the sources that this run reads.

    Attributes:
        taken_over: previous locations of files that were moved and edited, by their present location.
    """

    def __init__(
        self,
        records: Sequence[DocumentRecord],
        vanished: Sequence[str] = (),
        present: Sequence[str] = (),
        read: Sequence[SourceItem] = (),
    ) -> None:
        gone, in_source = frozenset(vanished), frozenset(present)
        self._moved: dict[str, list[DocumentRecord]] = {}  # copies have the same bytes: each one must be found again
        for record in records:
            if record.source_path in gone:
                self._moved.setdefault(record.sha256, []).append(record)
        self._by_source = {record.source_path: record for record in records}
        self._by_id = {record.id: record for record in records}
        self._claimed = {record.id: record.source_path for record in records if record.source_path in in_source}
        self._successors = dict(self._lone_pairs(read))
        self.taken_over: dict[str, str] = {}

    def _lone_pairs(self, read: Sequence[SourceItem]) -> Iterator[tuple[str, DocumentRecord]]:
        """Yield a new and a missing location if there is exactly one of each of a kind, and their bytes differ."""
        left = {digest: len(records) for digest, records in self._moved.items()}
        fresh: list[SourceItem] = []
        for item in read:
            if item.uri in self._by_source:
                continue
            if left.get(item.sha256):
                left[item.sha256] -= 1
            else:
                fresh.append(item)
        gone = [record for digest, count in left.items() if count for record in self._moved[digest]]
        for kind in {item.media_type for item in fresh}:
            items = [item for item in fresh if item.media_type == kind]
            records = [record for record in gone if record.media_type == kind]
            if len(items) == len(records) == 1:
                yield items[0].uri, records[0]

    def take_over(self, base: Base, item: SourceItem, read: Document) -> None:
        """Give a new file the record of the only missing one if they match: the same title, nearly all words.

        Another number in its path or another edition in its metadata makes it another edition, which is a separate
        document.
        """
        record = self._successors.pop(item.uri, None)
        if record is None or record.id in self._claimed or record.title != (item.title or read.title):
            return
        metadata = dict(read.metadata)
        is_other = any(metadata.get(key, "") != record.label(key) for key in _OF_AN_EDITION if metadata.get(key))
        if is_other or re.findall(r"\d+", record.source_path) != re.findall(r"\d+", item.uri):
            return
        with noticing():
            parts = base.opened.parts(record.id)
        if parts is None or parts.text is None:
            return
        before, after = Counter(parts.text.split()), Counter(read.text.split())
        if 2 * (before & after).total() >= _NEARLY_ALL * (before.total() + after.total()):
            self.taken_over[item.uri] = record.source_path
            self._by_source[item.uri] = self._by_id[record.id] = dataclasses.replace(record, source_path=item.uri)

    def earlier(self, uri: str) -> DocumentRecord | None:
        """Return the record of an earlier ingest of this source, None if it is new."""
        return self._by_source.get(uri)

    def record_by_id(self, document_id: str) -> DocumentRecord | None:
        """Return the record that had an id at the start of this run."""
        return self._by_id.get(document_id)

    def claim(self, item: SourceItem, proposed: str, *, is_explicit: bool = False) -> str:
        """Assign the id of one source for this run.

        Args:
            item: the source.
            proposed: by the reader.
            is_explicit: whether the document or the caller states this id.
        """
        if not is_explicit:
            earlier = self._by_source.get(item.uri)
            proposed = earlier.id if earlier is not None else self._moved_id(item) or proposed
        digest = hashlib.sha256(item.uri.encode()).hexdigest()
        names = (proposed, *(f"{proposed}-{digest[:length]}" for length in range(6, len(digest) + 1, 6)))
        chosen = next((each for each in names if self._is_free(each, item)), names[-1])
        self._claimed[chosen] = item.uri
        return chosen

    def _is_free(self, document_id: str, item: SourceItem) -> bool:
        holder = self._by_id.get(document_id)
        taken_before = holder is not None and holder.source_path != item.uri and holder.sha256 != item.sha256
        return not taken_before and self._claimed.get(document_id, item.uri) == item.uri

    def _moved_id(self, item: SourceItem) -> str:
        """Return the id of a missing file that had these bytes, preferably of the same name; empty for none."""
        alike = [each for each in self._moved.get(item.sha256, ()) if each.id not in self._claimed]
        moved = min(alike, key=lambda each: each.file_name != item.name, default=None)
        if moved is None:
            return ""
        self._moved[item.sha256].remove(moved)
        return moved.id

    def keep(self, record: DocumentRecord) -> None:
        """Reserve the id of a source that this run does not change."""
        self._claimed[record.id] = record.source_path


NOT_ITS_OWN = frozenset({ALLOWED, CLAIMED, STATED, BY_HAND, CONFIRMED, GIVEN, *FILE_NAME_KEYS})
"""Metadata keys that only the ingest sets."""


def prepare(
    base: Base,
    pipeline: Pipeline,
    item: SourceItem,
    names: Names,
    on_event: Callable[[IngestEvent], None],
    now: str,
) -> PreparedDocument:
    """Read one file and split it into chunks.

    Raises:
        UnreadableDocumentError: it cannot be read, or contains nothing searchable.
    """
    on_event(IngestEvent(IngestEventKind.READING, item.uri))
    reader = pipeline.readers[item.media_type]
    read = reader.read(item, lambda done, total: on_event(IngestEvent(IngestEventKind.READING, item.uri, done, total)))
    names.take_over(base, item, read)
    earlier = names.earlier(item.uri)
    explicit_id = item.document_id or dict(read.metadata).get("document_id")
    document_id = names.claim(item, item.document_id or read.id, is_explicit=bool(explicit_id))
    document = dataclasses.replace(read, id=document_id, title=item.title or read.title)
    kind = _kind(pipeline, item, document)
    edition = stated_edition(document, earlier or names.record_by_id(document_id))
    document = dataclasses.replace(document, metadata=_merge_metadata(document, kind, item, edition))
    chunks = pipeline.chunker.chunk(document, kind.kind, base.embedder)
    if not chunks:
        raise UnreadableDocumentError("No text was found in the file.", reason=UnreadableReason.EMPTY, source=item.uri)
    document = _warn_of_rest(document, chunks)
    on_event(IngestEvent(IngestEventKind.CHUNKED, item.uri, 0, len(chunks)))
    record = _record(base, pipeline, item, document, kind.kind, chunks, now)
    return PreparedDocument(
        item=item,
        document=document,
        chunks=chunks,
        record=record,
        replaces=earlier.id if earlier is not None and earlier.id != document.id else None,
    )


def _warn_of_rest(document: Document, chunks: list[Chunk]) -> Document:
    """Add a warning if a chunker had to stop before the end of the text."""
    end = max(chunk.span.end for chunk in chunks)
    left = document.text[end:]
    if not left.strip():
        return document
    line = document.text.count("\n", 0, end) + 1
    warning = f"The text from line {line} on is not in any chunk ({len(left):,} characters): too many chunks."
    return dataclasses.replace(document, warnings=(*document.warnings, warning))


def _kind(pipeline: Pipeline, item: SourceItem, document: Document) -> Classification:
    stated = item.document_type or document.document_type
    return pipeline.classify(document) if stated is None else Classification(str(stated))


def _merge_metadata(
    document: Document, kind: Classification, item: SourceItem, edition: Mapping[str, str]
) -> tuple[tuple[str, str], ...]:
    """Merge metadata of the document, its classification, its edition and the source; later ones override.

    A document cannot set its file name, or what is a claim.
    """
    classification: dict[str, str] = {}
    if kind.confidence is not None:
        classification = {"document_type_confidence": f"{kind.confidence:.2f}", "document_type_reason": kind.reason}
    added = classification | dict(edition) | dict(item.labels) | dict(claims_of(document, item))
    at_ingest = [*edition.get(GIVEN, "").split(", "), *dict(item.labels).get(GIVEN, "").split(", ")]
    if any(at_ingest):
        added[GIVEN] = ", ".join(dict.fromkeys(filter(None, at_ingest)))
    own = [(name, value) for name, value in document.metadata if name not in added and name not in NOT_ITS_OWN]
    stated = ", ".join(name for name, _ in stated_properties(item.media_type, own) if "," not in name)
    return (*own, *added.items(), *([(STATED, stated)] if stated else ()))


def _record(
    base: Base,
    pipeline: Pipeline,
    item: SourceItem,
    document: Document,
    kind: str,
    chunks: list[Chunk],
    now: str,
) -> DocumentRecord:
    lost = any(page.method == "none" for page in document.pages)
    lost = lost or bool(document.text[max(chunk.span.end for chunk in chunks) :].strip())
    return DocumentRecord(
        id=document.id,
        title=document.title,
        document_type=kind,
        source_path=item.uri,
        sha256=item.sha256,
        pipeline=pipeline.mark(item.media_type),
        size=item.size,
        pages=len(document.pages),
        chunk_count=len(chunks),
        token_count=sum(chunk.token_count for chunk in chunks),
        embedding_model=base.embedder.space.label,
        created_at=now,
        updated_at=now,
        media_type=item.media_type,
        status=DocumentStatus.PARTIAL if lost else DocumentStatus.READY,
        metadata=document.metadata,
        warnings=document.warnings,
    )
