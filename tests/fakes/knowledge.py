"""FakeKnowledge: a whole Knowledge in memory, for tests of whatever calls one.

It is small and honest: it keeps real records and chunks whose text is the span they claim, ranks by shared words, and
answers empty where nothing matches. It knows nothing of meaning, so its two legs rank alike.
"""

from __future__ import annotations

import difflib
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from knowledge_mcp.engine.core.documents import StoredDocument
from knowledge_mcp.engine.evidence.reading import no_place, read_place
from knowledge_mcp.engine.evidence.references import references_of
from knowledge_mcp.engine.evidence.targets import Targets
from knowledge_mcp.model.chunk import Chunk, Modality, Vector
from knowledge_mcp.model.collection import DocumentRecord, DocumentStructure, EmbeddingSpace, StoreStatistics
from knowledge_mcp.model.errors import NotFoundError
from knowledge_mcp.model.evidence import QuoteAnswer, QuoteQuery, ReadAnswer, ReadQuery, ReferenceAnswer, ReferenceQuery
from knowledge_mcp.model.ingest import (
    IngestedDocument,
    IngestEvent,
    IngestEventKind,
    IngestOptions,
    IngestReport,
    PlannedDocument,
    SkippedFile,
)
from knowledge_mcp.model.query import (
    Check,
    DefinitionHit,
    HealthReport,
    In,
    LookupAnswer,
    RequirementAnswer,
    RequirementHit,
    RequirementQuery,
    SearchAnswer,
    SearchQuery,
    Stats,
)
from knowledge_mcp.model.source import SourceItem
from knowledge_mcp.ports import Source
from knowledge_mcp.testing.embedders import HashingEmbedder
from tests.fakes import passages
from tests.fakes.passages import SAMPLE, FakeDocument

TIME = "2026-01-15T10:00:00+00:00"


class FakeKnowledge:
    """A Knowledge in memory; thread-safe.

    Args:
        documents: what it holds at first.
        before: called with the method's name at the start of search, lookup, requirements, stats, health,
            document_text, read, verify_quote, references, warm_up and ingest; may block or raise, to show what
            callers make of that.
        degraded: sentences that every answer carries.
    """

    def __init__(
        self,
        documents: Sequence[FakeDocument] = SAMPLE,
        *,
        before: Callable[[str], None] | None = None,
        degraded: Sequence[str] = (),
    ) -> None:
        self._before: Callable[[str], None] = before or (lambda _: None)
        self._degraded = tuple(degraded)
        self._lock = threading.RLock()
        self._records: dict[str, DocumentRecord] = {}
        self._texts: dict[str, str] = {}
        self._chunks: dict[str, list[Chunk]] = {}
        self.space = EmbeddingSpace("local", "fake-words", 8)
        self.warmed_up = threading.Event()
        self.closed = False
        for document in documents:
            self.add(document)

    def add(self, document: FakeDocument) -> DocumentRecord:
        """Keep a document, in place of the one of the same id."""
        text, chunks = passages.build(document)
        record = DocumentRecord(
            id=document.id,
            title=document.title,
            document_type=document.document_type,
            source_path=document.source_path or f"/documents/{document.id}.md",
            sha256=passages.sha256(text),
            pipeline="fake",
            size=len(text.encode()),
            pages=max((passage.page for passage in document.passages), default=0),
            chunk_count=len(chunks),
            token_count=sum(chunk.token_count for chunk in chunks),
            embedding_model=self.space.label,
            created_at=TIME,
            updated_at=TIME,
        )
        with self._lock:
            self._records[document.id] = record
            self._texts[document.id] = text
            self._chunks[document.id] = [replace(chunk, source_path=record.source_path) for chunk in chunks]
        return record

    def search(self, query: SearchQuery) -> SearchAnswer:
        """Rank chunks by the share of the query's words that they hold."""
        self._before("search")
        hits = passages.ranked_hits(query, self._all_chunks(), text_of=_searched_text, cite=_cite)
        return SearchAnswer(hits, query.mode, len(self._records), self._degraded)

    def lookup(self, term: str, edition: str = "") -> LookupAnswer:
        """Find a term's definitions, whatever its case, or terms spelt like it."""
        self._before("lookup")
        known = [DefinitionHit(each, chunk, _cite(chunk)) for chunk in self._all_chunks() for each in chunk.definitions]
        found = tuple(hit for hit in known if hit.definition.term.casefold() == term.casefold())
        names = sorted({hit.definition.term for hit in known})
        similar = () if found else tuple(difflib.get_close_matches(term, names, n=3))
        return LookupAnswer(term, found, similar, self._degraded)

    def requirements(self, query: RequirementQuery) -> RequirementAnswer:
        """List mandatory statements of the chunks that share words with the topic."""
        self._before("requirements")
        expected = query.standard
        documents = (
            None
            if expected is None
            else tuple(r.id for r in self.documents() if expected.casefold() in f"{r.id}\n{r.title}".casefold())
        )
        scope = None if documents is None else In("document_id", documents)
        hits = tuple(
            RequirementHit(statement, chunk, score, _cite(chunk))
            for score, chunk in passages.by_shared_words(query.topic, self._all_chunks(), scope, text_of=_searched_text)
            for statement in chunk.statements
            if statement.modality is Modality.REQUIREMENT
        )
        return RequirementAnswer(hits[: query.limit], documents, self._degraded)

    def stats(self) -> Stats:
        """Count what there is."""
        self._before("stats")
        records = self.documents()
        counts = StoreStatistics(
            len(records),
            sum(record.chunk_count for record in records),
            sum(record.token_count for record in records),
            sum(record.size for record in records),
        )
        status = "degraded" if self._degraded else "healthy"
        return Stats(counts, tuple(records), "memory", status, True, self.space, self._degraded)

    def health(self) -> HealthReport:
        """Report that all is up."""
        self._before("health")
        return HealthReport("healthy", Check(True, 1, "OK"), Check(True, 1, "OK"), TIME)

    def documents(self) -> list[DocumentRecord]:
        """List all records by id."""
        with self._lock:
            return [self._records[name] for name in sorted(self._records)]

    def document(self, document_id: str) -> DocumentRecord:
        """Return one record; NotFoundError names ids that look alike."""
        with self._lock:
            if document_id in self._records:
                return self._records[document_id]
            near = difflib.get_close_matches(document_id, self._records)
        hint = f"Did you mean {' or '.join(near)}?" if near else None
        raise NotFoundError(f"There is no document '{document_id}'.", suggestion=hint)

    def document_text(self, document_id: str) -> str:
        """Return a document's text."""
        self._before("document_text")
        self.document(document_id)
        return self._texts[document_id]

    def document_structure(self, document_id: str) -> DocumentStructure:
        """Describe each passage as a section."""
        return self._held(document_id).structure

    def document_chunks(self, document_id: str) -> list[Chunk]:
        """List a document's chunks by index."""
        self.document(document_id)
        return list(self._chunks[document_id])

    def chunk(self, chunk_id: str) -> tuple[Chunk, str]:
        """Return one chunk and its citation."""
        for chunk in self._all_chunks():
            if chunk.id == chunk_id:
                return chunk, _cite(chunk)
        raise NotFoundError(f"There is no chunk '{chunk_id}'.")

    def read(self, query: ReadQuery) -> ReadAnswer:
        """Read a place; words count as tokens."""
        self._before("read")
        return read_place(self._held(self._document_of(query)), query, passages.WordMeasure())

    def verify_quote(self, query: QuoteQuery) -> QuoteAnswer:
        """Look for a quote whatever its case and blanks; an altered one is not found."""
        self._before("verify_quote")
        if query.document_id is not None:
            self.document(query.document_id)
        return passages.compare_quote([self._held(record.id) for record in self.documents()], query)

    def references(self, query: ReferenceQuery) -> ReferenceAnswer:
        """List references from a place and to it; all passages of other documents are looked through."""
        self._before("references")
        document_id = self._document_of(query)
        targets = Targets(self.documents(), self._held)
        return references_of(targets, document_id, query, lambda _name, _ids: (self._all_chunks(), self._degraded))

    def code_passages(self, text: str) -> list[tuple[Chunk, str]]:
        """List nothing: no repository is indexed."""
        self._before("code_passages")
        return []

    def ingest(
        self,
        source: Source,
        options: IngestOptions,
        *,
        on_event: Callable[[IngestEvent], None] | None = None,
        on_unreadable: Callable[[Sequence[SkippedFile]], bool] | None = None,
        cancelled: Callable[[], bool] | None = None,
    ) -> IngestReport:
        """Keep each item as UTF-8 text, one chunk a paragraph; what the source could not open is skipped."""
        self._before("ingest")
        tell: Callable[[IngestEvent], None] = on_event or (lambda _: None)
        items = list(source.items())
        skipped = tuple(item for item in items if isinstance(item, SkippedFile))
        if skipped and on_unreadable is not None and not on_unreadable(skipped):
            return IngestReport(skipped=skipped)
        done: list[IngestedDocument] = []
        planned: list[PlannedDocument] = []
        for item in items:
            if isinstance(item, SkippedFile) or (cancelled is not None and cancelled()):
                continue
            tell(IngestEvent(IngestEventKind.FOUND, item.uri))
            with item.open() as stream:
                text = stream.read().decode("utf-8", "replace")
            document = passages.from_text(item.name, item.uri, text)
            built, chunks = passages.build(document)
            known = self._records.get(document.id)
            unchanged = known is not None and known.sha256 == passages.sha256(built) and not options.force
            if options.dry_run:
                tokens = sum(chunk.token_count for chunk in chunks)
                planned.append(PlannedDocument(item.uri, document.id, 0, len(chunks), tokens, unchanged))
            elif unchanged and known is not None:
                tell(IngestEvent(IngestEventKind.UNCHANGED, item.uri))
                done.append(IngestedDocument(known, 0, 0, unchanged=True))
            else:
                record = self.add(document)
                tell(IngestEvent(IngestEventKind.EMBEDDED, item.uri, len(chunks), len(chunks)))
                tell(IngestEvent(IngestEventKind.STORED, item.uri, len(chunks), len(chunks)))
                done.append(IngestedDocument(record, len(chunks), 0, unchanged=False))
        return IngestReport(tuple(done), tuple(planned), skipped)

    def remove(self, document_id: str) -> int:
        """Remove a document; returns how many chunks went."""
        self.document(document_id)
        with self._lock:
            del self._records[document_id], self._texts[document_id]
            return len(self._chunks.pop(document_id))

    def relabel(self, document_id: str, labels: Mapping[str, str]) -> DocumentRecord:
        """Set what a document is an edition of."""
        record = self.document(document_id)
        metadata = {**dict(record.metadata), **labels}
        with self._lock:
            self._records[document_id] = replace(record, metadata=tuple(metadata.items()))
            return self._records[document_id]

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Embed by hashed words."""
        self._before("embed")
        return HashingEmbedder().embed_documents(list(texts))

    def warm_up(self) -> None:
        """Set `warmed_up`."""
        self._before("warm_up")
        self.warmed_up.set()

    def close(self) -> None:
        """Set `closed`."""
        self.closed = True

    def _document_of(self, query: ReadQuery | ReferenceQuery) -> str:
        if query.chunk_id is not None:
            return self.chunk(query.chunk_id)[0].document_id
        if query.document_id is None:
            raise no_place()
        return self.document(query.document_id).id

    def _held(self, document_id: str) -> StoredDocument:
        record = self.document(document_id)
        text, chunks = self._texts[document_id], self._chunks[document_id]
        return StoredDocument(record, text, passages.structure_of_fake(text, chunks), tuple(chunks))

    def _all_chunks(self) -> list[Chunk]:
        with self._lock:
            return [chunk for name in sorted(self._chunks) for chunk in self._chunks[name]]


def _searched_text(chunk: Chunk) -> str:
    return f"{chunk.section_title} {chunk.clause_number} {chunk.content}"


def _cite(chunk: Chunk) -> str:
    clause = f", {chunk.clause_number} {chunk.section_title}" if chunk.clause_number else ""
    return f"{chunk.document_title}{clause}, p. {chunk.page_numbers[0]}"


class Texts:
    """A source of texts in memory, and of files that could not be opened."""

    def __init__(self, *found: SourceItem | SkippedFile) -> None:
        self._found = found

    def items(self) -> Iterator[SourceItem | SkippedFile]:
        """Yield them in order."""
        yield from self._found
