"""One file made ready to be embedded: read, classified, named, cut into chunks."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from knowledge_mcp.engine.base import Base
from knowledge_mcp.engine.plan import Pipeline
from knowledge_mcp.model.chunk import Chunk, EmbeddedChunk, Vector
from knowledge_mcp.model.collection import DocumentRecord, DocumentStatus
from knowledge_mcp.model.document import Classification, Document
from knowledge_mcp.model.errors import UnreadableDocumentError, UnreadableReason
from knowledge_mcp.model.ingest import IngestEvent, IngestEventKind
from knowledge_mcp.model.source import SourceItem

__all__ = ["Names", "Prepared", "embedding_key", "prepare"]


@dataclass(slots=True)
class Prepared:
    """Hold one document between reading and publishing.

    Attributes:
        item, document, chunks: what was read.
        record: complete but for `created_at`, which the writer keeps from an earlier ingest.
        replaces: id of an earlier record of the same source under another id, to be removed after publishing.
        reused: vectors already known, by embedding key.
        embedded: chunks embedded anew.
        refused: passages that the embedding service refused; they stay in `chunks`, which others walk meanwhile.
        staged: chunks kept so far, to be staged again should another writer sweep them.
    """

    item: SourceItem
    document: Document
    chunks: Sequence[Chunk]
    record: DocumentRecord
    generation: str
    replaces: str | None = None
    reused: dict[str, Vector] = field(default_factory=dict[str, Vector])
    embedded: int = 0
    refused: int = 0
    staged: list[EmbeddedChunk] = field(default_factory=list[EmbeddedChunk])

    @property
    def stored(self) -> int:
        """Count the chunks staged so far."""
        return len(self.staged)

    @property
    def total(self) -> int:
        """Count the chunks that are to be stored: all but those refused so far."""
        return len(self.chunks) - self.refused

    def leave_out(self, chunk: Chunk, reason: str) -> str:
        """Count a passage that cannot be embedded; the record says so. Returns the sentence that tells it."""
        self.refused += 1
        place = f"clause {chunk.clause_number}" if chunk.clause_number else chunk.section_title or "no section"
        page = f", page {chunk.page_numbers[0]}" if chunk.page_numbers else ""
        told = f"Passage {chunk.index} ({place}{page}) was refused by the embedding service and is not found: {reason}"
        self.record = dataclasses.replace(
            self.record,
            chunk_count=self.record.chunk_count - 1,
            token_count=self.record.token_count - chunk.token_count,
            status=DocumentStatus.PARTIAL,
            warnings=(*self.record.warnings, told),
        )
        return told


class Names:
    """Give every source one document id, the same in every run.

    A file keeps the id that it has. A new file takes the id that its reader proposes, unless another file holds it:
    then a short hash of its place is added. A file with the bytes of a record that is not part of this run has moved,
    and takes the record over.
    """

    def __init__(self, records: Sequence[DocumentRecord]) -> None:
        self._by_source = {record.source_path: record for record in records}
        self._by_id = {record.id: record for record in records}
        self._claimed: dict[str, str] = {}

    def earlier(self, uri: str) -> DocumentRecord | None:
        """Return the record of an earlier ingest of this source, None where it is new."""
        return self._by_source.get(uri)

    def held(self, document_id: str) -> DocumentRecord | None:
        """Return the record that an id had at the start of this run."""
        return self._by_id.get(document_id)

    def claim(self, item: SourceItem, proposed: str) -> str:
        """Settle the id of one source for this run."""
        holder = self._by_id.get(proposed)
        taken_before = holder is not None and holder.source_path != item.uri and holder.sha256 != item.sha256
        taken_now = self._claimed.get(proposed, item.uri) != item.uri
        chosen = proposed
        if taken_before or taken_now:
            chosen = f"{proposed}-{hashlib.sha256(item.uri.encode()).hexdigest()[:6]}"
        self._claimed[chosen] = item.uri
        return chosen

    def keep(self, record: DocumentRecord) -> None:
        """Hold the id of a source that this run leaves as it is."""
        self._claimed[record.id] = record.source_path


def embedding_key(chunk: Chunk) -> str:
    """Hash what is embedded, under which its vector may be reused."""
    return hashlib.sha256(chunk.embedding_text.encode()).hexdigest()


def prepare(
    base: Base,
    pipeline: Pipeline,
    item: SourceItem,
    names: Names,
    on_event: Callable[[IngestEvent], None],
    now: str,
) -> Prepared:
    """Read one file and cut it into chunks.

    Raises:
        UnreadableDocumentError: it cannot be read, or nothing in it can be searched.
    """
    on_event(IngestEvent(IngestEventKind.READING, item.uri))
    reader = pipeline.readers[item.media_type]
    read = reader.read(item, lambda done, total: on_event(IngestEvent(IngestEventKind.READING, item.uri, done, total)))
    earlier = names.earlier(item.uri)
    document_id = names.claim(item, item.document_id or read.id)
    document = dataclasses.replace(read, id=document_id, title=item.title or read.title)
    kind = _kind(pipeline, item, document)
    document = dataclasses.replace(document, metadata=_merged(document.metadata, kind, item))
    chunks = pipeline.chunker.chunk(document, kind.kind, base.embedder)
    if not chunks:
        raise UnreadableDocumentError("No text was found in the file.", reason=UnreadableReason.EMPTY, source=item.uri)
    document = _told_what_is_left(document, chunks)
    on_event(IngestEvent(IngestEventKind.CHUNKED, item.uri, 0, len(chunks)))
    record = _record(base, pipeline, item, document, kind.kind, chunks, now)
    return Prepared(
        item=item,
        document=document,
        chunks=chunks,
        record=record,
        generation=hashlib.sha256(f"{item.sha256}{record.pipeline}{now}".encode()).hexdigest()[:32],
        replaces=earlier.id if earlier is not None and earlier.id != document.id else None,
    )


def _told_what_is_left(document: Document, chunks: list[Chunk]) -> Document:
    """Add a warning where a chunker had to stop before the end of the text."""
    end = max(chunk.span.end for chunk in chunks)
    left = document.text[end:]
    if not left.strip():
        return document
    line = document.text.count("\n", 0, end) + 1
    told = f"The text from line {line} on is in no chunk ({len(left):,} characters): the limit of chunks was reached."
    return dataclasses.replace(document, warnings=(*document.warnings, told))


def _kind(pipeline: Pipeline, item: SourceItem, document: Document) -> Classification:
    given = item.document_type or document.document_type
    return pipeline.classify(document) if given is None else Classification(str(given))


def _merged(
    metadata: tuple[tuple[str, str], ...], kind: Classification, item: SourceItem
) -> tuple[tuple[str, str], ...]:
    """Join what the document says, how it was classified and what the source knows; the last of a name wins."""
    told: dict[str, str] = {}
    if kind.confidence is not None:
        told = {"document_type_confidence": f"{kind.confidence:.2f}", "document_type_reason": kind.reason}
    added = told | dict(item.labels)
    return (*((name, value) for name, value in metadata if name not in added), *added.items())


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
