"""FakeLibrary: a whole Library in memory, for tests of whatever calls one.

It is small and honest: it keeps real records and chunks whose text is the span they claim, cuts at blank lines, ranks
by shared words, and its web is what the test says it is. It knows nothing of meaning, so its two legs rank alike.
"""

from __future__ import annotations

import base64
import copy
import difflib
import re
import threading
import uuid
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from knowledge_mcp.engine.search.several import Answered, merged
from knowledge_mcp.model.call import Progress
from knowledge_mcp.model.chunk import Chunk, ChunkType
from knowledge_mcp.model.collection import DocumentRecord, DocumentStructure, OutlineEntry
from knowledge_mcp.model.document import Span
from knowledge_mcp.model.errors import (
    InternalError,
    InvalidInputError,
    KnowledgeError,
    NotFoundError,
    UnreadableDocumentError,
    UnreadableReason,
)
from knowledge_mcp.model.library import (
    COLLECTION_NAME,
    DEFAULT_COLLECTION,
    CollectionSummary,
    Deposit,
    Deposited,
    IngestJob,
    LibraryDocument,
)
from knowledge_mcp.model.query import Check, HealthReport, SearchAnswer, SearchQuery
from knowledge_mcp.model.rights import FULL_RIGHTS, Rights
from knowledge_mcp.model.source import media_type_of
from tests.fakes.passages import ranked_hits, sha256

TIME = "2026-01-15T10:00:00+00:00"
SPACE = "local/fake-words (8)"

_PAGE = re.compile(r"<!-- page (\d+) -->")
_HEADING = re.compile(r"#{1,6} (?:(?P<number>\d+(?:\.\d+)*) )?(?P<title>.+)")


def document_of(deposit: Deposit, source: str) -> LibraryDocument:
    """Lay out what a deposit brought, given its text."""
    metadata = dict(deposit.metadata)
    known_by = deposit.filename or deposit.url or sha256(source)
    document_id = sha256(f"{deposit.collection}/{known_by}")[:16]
    heading = _HEADING.search(source)
    title = metadata.get("title") or (heading["title"] if heading else "") or known_by
    origin = metadata.get("source") or deposit.url or deposit.filename or "text"
    filename = deposit.filename or (deposit.url or "").rpartition("/")[2]
    if filename:
        metadata.setdefault("filename", filename)
    text, chunks, sections = _cut(source, document_id, title, origin)
    record = DocumentRecord(
        id=document_id, title=title, document_type="custom", source_path=origin, sha256=sha256(source),
        pipeline="fake", size=len(source.encode()), pages=max((n for c in chunks for n in c.page_numbers), default=0),
        chunk_count=len(chunks), token_count=sum(chunk.token_count for chunk in chunks), embedding_model=SPACE,
        created_at=TIME, updated_at=TIME, media_type=deposit.media_type or media_type_of(filename),
        metadata=tuple(metadata.items()),
    )  # fmt: skip
    structure = DocumentStructure(sections=tuple(sections))
    return LibraryDocument(deposit.collection, record, text, tuple(chunks), structure)


def _cut(source: str, document_id: str, title: str, origin: str) -> tuple[str, list[Chunk], list[OutlineEntry]]:
    """Take the page markers out, and make a chunk of each paragraph that is no heading."""
    text, page, section, number = "", None, "", None
    chunks: list[Chunk] = []
    sections: list[OutlineEntry] = []
    for part in re.split(r"\n\s*\n|(<!-- page \d+ -->)", source):
        piece = (part or "").strip()
        if marker := _PAGE.fullmatch(piece):
            page = int(marker[1])
            continue
        if not piece:
            continue
        span = Span(len(text), len(text) + len(piece))
        text += f"{piece}\n\n"
        if heading := _HEADING.fullmatch(piece):
            section, number = heading["title"], heading["number"]
            sections.append(OutlineEntry(piece.index(" "), number, section, span, page))
            continue
        pages = () if page is None else (page,)
        chunks.append(
            Chunk(
                id=str(uuid.uuid5(uuid.NAMESPACE_URL, f"{document_id}/{len(chunks)}/{piece}")),
                document_id=document_id, document_title=title, document_type="custom", index=len(chunks),
                content=piece, content_hash=sha256(piece), context=f"{title} > {section}" if section else title,
                token_count=len(piece.split()), span=span, section_hierarchy=(section,) if section else (),
                section_title=section, clause_number=number, parent_chunk_id=None, chunk_type=ChunkType.GUIDANCE,
                normative=False, source_path=origin, page_numbers=pages, page_labels=tuple(map(str, pages)),
            )
        )  # fmt: skip
    return text, chunks, [_whole(each, sections[place + 1 :], len(text)) for place, each in enumerate(sections)]


def _whole(section: OutlineEntry, after: Sequence[OutlineEntry], end: int) -> OutlineEntry:
    """Let a section reach to the next one that is not below it."""
    ends = [each.span.start for each in after if each.level <= section.level]
    return replace(section, span=Span(section.span.start, ends[0] if ends else end))


_NAME = re.compile(COLLECTION_NAME)


@dataclass(slots=True)
class _Job:
    told: IngestJob
    stop: threading.Event = field(default_factory=threading.Event)


_PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGP4DwABAQEAsTj2FAAAAABJRU5ErkJggg=="
)


class FakeLibrary:
    """A Library in memory; thread-safe.

    Args:
        web: what addresses give: text, bytes (read as UTF-8; what is no UTF-8 is unreadable), or an error to raise.
        before: called with the method's name at the start of every method but `job_counts` and `close`, and with `work`
            when a job begins; may block or raise, to show what callers make of that.
        degraded: sentences that every answer to a search carries.
    """

    def __init__(
        self,
        *,
        web: Mapping[str, str | bytes | KnowledgeError] | None = None,
        before: Callable[[str], None] | None = None,
        degraded: tuple[str, ...] = (),
    ) -> None:
        self._web = dict(web or {})
        self._before: Callable[[str], None] = before or (lambda _: None)
        self._degraded = degraded
        self._rights = FULL_RIGHTS
        self._lock = threading.RLock()
        self._collections: dict[str, dict[str, LibraryDocument]] = {DEFAULT_COLLECTION: {}}
        self._jobs: dict[str, _Job] = {}
        self._workers: list[threading.Thread] = []
        self.deposits: list[Deposit] = []
        """Everything that was brought, in order, as it was asked for."""
        self.queries: list[tuple[str, SearchQuery]] = []
        """Everything that was searched for, with its collection."""
        self.warmed_up = threading.Event()
        self.closed = False

    def seen_by(self, rights: Rights) -> FakeLibrary:
        """Return the library as one sees it; its documents are for everybody."""
        seen = copy.copy(self)
        seen._rights = rights
        return seen

    # ---- collections

    def collections(self) -> list[CollectionSummary]:
        """List all by name."""
        self._before("collections")
        with self._lock:
            held = {name: list(documents.values()) for name, documents in sorted(self._collections.items())}
        return [_summary(name, documents) for name, documents in held.items() if self._rights.may_read(name)]

    def drop_collection(self, collection: str) -> int:
        """Remove one; `default` is emptied."""
        self._before("drop_collection")
        with self._lock:
            gone = len(self._held(collection))
            del self._collections[collection]
            self._collections.setdefault(DEFAULT_COLLECTION, {})
        return gone

    # ---- taking in

    def deposit(
        self,
        deposit: Deposit,
        *,
        on_progress: Progress | None = None,
        cancelled: Callable[[], bool] | None = None,
    ) -> Deposited:
        """Keep a text, one chunk a paragraph."""
        self._before("deposit")
        self.deposits.append(deposit)
        return self._take(_checked(deposit), on_progress, cancelled)

    def submit(self, deposit: Deposit) -> IngestJob:
        """Take it on its own thread."""
        self._before("submit")
        deposit = _checked(deposit)
        source = deposit.url or deposit.filename
        job = _Job(IngestJob(uuid.uuid4().hex[:16], "queued", 0.0, "", TIME, TIME, deposit.collection, source))
        worker = threading.Thread(target=self._work, args=(job, deposit), name="fake library job", daemon=True)
        with self._lock:
            self.deposits.append(deposit)
            self._jobs[job.told.id] = job
            self._workers.append(worker)
        worker.start()
        return job.told

    def job(self, job_id: str) -> IngestJob:
        """Tell how far one is."""
        self._before("job")
        return self._job(job_id).told

    def cancel_job(self, job_id: str) -> IngestJob:
        """Tell one to stop."""
        self._before("cancel_job")
        job = self._job(job_id)
        job.stop.set()
        with self._lock:
            if job.told.state in {"queued", "running"}:
                job.told = replace(job.told, state="cancelled", message="cancelled")
        return job.told

    def jobs(self) -> list[IngestJob]:
        """List all, the newest first."""
        self._before("jobs")
        with self._lock:
            result = [job.told for job in reversed(self._jobs.values())]
        return [job for job in result if self._rights.may_reach(job.collection)]

    def review(self, what: str, ids: Sequence[str], *, collection: str = "") -> IngestJob:
        """Refuse: nothing is held against anything here."""
        if collection:
            self.records(collection)
        for each in ids:
            self.record(each)
        raise NotFoundError(f"There is no {what} here.")

    def reviewed(self, job_id: str) -> Any:
        """Refuse, as `review`."""
        raise NotFoundError(f"Job not found: {job_id}")

    def decisions(self, what: str, one: str, other: str) -> Any:
        """Refuse, as `review`."""
        raise NotFoundError(f"There is no {what} of {one} and {other} here.")

    def job_counts(self) -> Mapping[str, int]:
        """Count the jobs by state."""
        with self._lock:
            return Counter(job.told.state for job in self._jobs.values())

    # ---- asking

    def search_in(self, collection: str, query: SearchQuery) -> SearchAnswer:
        """Rank chunks by the share of the query's words that they hold."""
        self._before("search_in")
        with self._lock:
            self.queries.append((collection, query))
            documents = list(self._held(collection).values())
        chunks = (chunk for document in documents for chunk in document.chunks)
        hits = ranked_hits(query, chunks, text_of=lambda chunk: chunk.embedding_text, cite=_cite)
        records = {document.record.id: document.record for document in documents}
        hits = tuple(replace(hit, record=records[hit.chunk.document_id]) for hit in hits)
        return SearchAnswer(hits, query.mode, len(documents), self._degraded)

    def search_all(self, query: SearchQuery) -> SearchAnswer:
        """Ask every collection that is listed."""
        self._before("search_all")
        with self._lock:
            names = sorted(filter(self._rights.may_read, self._collections))
        return merged([Answered(name, self.search_in(name, query)) for name in names], query)

    def records(self, collection: str) -> list[DocumentRecord]:
        """List a collection's documents by id."""
        self._before("records")
        with self._lock:
            return [document.record for _, document in sorted(self._held(collection).items())]

    def find(self, document_id: str) -> LibraryDocument:
        """Return one whole."""
        self._before("find")
        return self._find(document_id)

    def record(self, document_id: str) -> DocumentRecord:
        """Return one's record."""
        self._before("record")
        return self._find(document_id).record

    def where(self, document_id: str) -> str:
        """Name its collection."""
        self._before("where")
        return self._find(document_id).collection

    def page_image(self, document_id: str, page: int, passage: int | None = None, *, dpi: int = 110) -> bytes:
        """Return a picture of one pixel for every page that there is."""
        self._before("page_image")
        document = self._find(document_id)
        if not 0 < page <= document.record.pages:
            raise NotFoundError(f"There is no page {page}.", suggestion=f"Use 1 to {document.record.pages}.")
        if passage is not None and passage >= len(document.chunks):
            raise NotFoundError(f"There is no passage {passage + 1}.")
        return _PIXEL

    def remove_document(self, document_id: str) -> int:
        """Remove one."""
        self._before("remove_document")
        with self._lock:
            document = self._find(document_id)
            del self._collections[document.collection][document_id]
        return document.record.chunk_count

    # ---- running

    def health(self) -> HealthReport:
        """Report that all is up."""
        self._before("health")
        return HealthReport("healthy", Check(True, 1, "OK"), Check(True, 1, "OK"), TIME)

    def warm_up(self) -> None:
        """Set `warmed_up`."""
        self._before("warm_up")
        self.warmed_up.set()

    def close(self) -> None:
        """Stop the jobs and set `closed`."""
        for job in list(self._jobs.values()):
            job.stop.set()
        for worker in self._workers:
            worker.join(10.0)
        self.closed = True

    # ---- inside

    def _take(
        self,
        deposit: Deposit,
        on_progress: Progress | None,
        cancelled: Callable[[], bool] | None,
    ) -> Deposited:
        tell: Progress = on_progress or (lambda _done, _of, _words: None)
        tell(0.0, 100.0, "reading")
        document = document_of(deposit, self._read(deposit))
        if cancelled is not None and cancelled():
            raise InternalError("The ingestion was cancelled.", recoverable=True, suggestion="Call again.")
        tell(50.0, 100.0, "embedding")
        record = document.record
        with self._lock:
            kept = self._collections.setdefault(deposit.collection, {})
            known = kept.get(record.id)
            unchanged = known is not None and known.record.sha256 == record.sha256 and not deposit.force
            if not unchanged:
                kept[record.id] = document
        tell(100.0, 100.0, "done")
        replaced = known is not None and known.record.sha256 != record.sha256
        return Deposited(
            record.id, deposit.collection, record.title, record.source_path, record.chunk_count, record.pages,
            unchanged=unchanged, replaced=replaced, embedded=0 if unchanged else record.chunk_count,
        )  # fmt: skip

    def _read(self, deposit: Deposit) -> str:
        found: str | bytes | KnowledgeError = deposit.text if deposit.text is not None else deposit.content or b""
        if deposit.url is not None:
            found = self._web.get(deposit.url, NotFoundError(f"{deposit.url} answers 404.", suggestion="Check it."))
        if isinstance(found, KnowledgeError):
            raise found
        name = deposit.filename or deposit.url or "text"
        try:
            text = found if isinstance(found, str) else found.decode()
        except UnicodeDecodeError as exc:
            raise UnreadableDocumentError(
                f"{name} cannot be read.", reason=UnreadableReason.CORRUPTED, source=name
            ) from exc
        if not text.strip():
            raise UnreadableDocumentError(f"{name} is empty.", reason=UnreadableReason.EMPTY, source=name)
        return text

    def _work(self, job: _Job, deposit: Deposit) -> None:
        def tell(**news: Any) -> None:
            with self._lock:
                if job.told.state in {"queued", "running"}:
                    job.told = replace(job.told, **news)

        try:
            tell(state="running", message="reading")
            self._before("work")
            result = self._take(deposit, None, job.stop.is_set)
        except KnowledgeError as exc:
            tell(state="failed", message=exc.message, failure=exc)
        else:
            tell(state="done", done=100.0, message="done", result=result)

    def _held(self, collection: str) -> dict[str, LibraryDocument]:
        if collection in self._collections and self._rights.may_reach(collection):
            return self._collections[collection]
        names = sorted(filter(self._rights.may_read, self._collections))
        near = difflib.get_close_matches(collection, names) or names
        raise NotFoundError(f"There is no collection '{collection}'.", suggestion=f"There is {', '.join(near)}.")

    def _job(self, job_id: str) -> _Job:
        if job_id not in self._jobs or not self._rights.may_reach(self._jobs[job_id].told.collection):
            raise NotFoundError(f"There is no job '{job_id}'.")
        return self._jobs[job_id]

    def _find(self, document_id: str) -> LibraryDocument:
        with self._lock:
            for name, documents in self._collections.items():
                if document_id in documents and self._rights.may_reach(name):
                    return documents[document_id]
        raise NotFoundError(f"There is no document '{document_id}'.")


def _summary(name: str, documents: list[LibraryDocument]) -> CollectionSummary:
    chunks, tokens = (
        sum(getattr(each.record, count) for each in documents) for count in ("chunk_count", "token_count")
    )
    return CollectionSummary(name, len(documents), chunks, tokens, SPACE, TIME)


def _checked(deposit: Deposit) -> Deposit:
    if sum(each is not None for each in (deposit.text, deposit.content, deposit.url)) != 1:
        raise InvalidInputError("Exactly one of text, content and url is needed.")
    if not _NAME.fullmatch(deposit.collection):
        raise InvalidInputError(f"'{deposit.collection[:80]}' is not a name for a collection.")
    if deposit.url is not None and not deposit.url.startswith("https://"):
        raise InvalidInputError("Only https addresses are fetched.", suggestion="Give an https address.")
    return deposit


def _cite(chunk: Chunk) -> str:
    section = f"{chunk.clause_number or ''} {chunk.section_title}".strip()
    page = f"p. {chunk.page_numbers[0]}" if chunk.page_numbers else ""
    return ", ".join(part for part in (chunk.document_title, section, page) if part)
