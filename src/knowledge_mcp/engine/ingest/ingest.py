"""The steps of an ingest: plan → read → chunk → embed → publish.

One thread embeds while this one reads the next file and writes the last one. A document becomes visible in one step
when all its chunks are embedded; if the run stops earlier, the old version stays complete, and the next run finds the
finished vectors in the embedding cache.
"""

from __future__ import annotations

import dataclasses
import logging
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby

from knowledge_mcp.engine.core.base import Base
from knowledge_mcp.engine.core.budget import Budget
from knowledge_mcp.engine.ingest.facts import structure_of
from knowledge_mcp.engine.ingest.plan import Names, Pipeline, Plan, PreparedDocument, make_plan, prepare, skipped_file
from knowledge_mcp.model.call import Call
from knowledge_mcp.model.chunk import Chunk, EmbeddedChunk, Vector, embedding_key
from knowledge_mcp.model.collection import DocumentRecord, WholeDocument
from knowledge_mcp.model.errors import (
    CancelledError,
    ContentRefusedError,
    InternalError,
    InvalidInputError,
    KnowledgeError,
    TimedOutError,
    UnreadableReason,
    noticing,
    reason_of,
)
from knowledge_mcp.model.ingest import (
    IngestedDocument,
    IngestEvent,
    IngestEventKind,
    IngestOptions,
    IngestReport,
    PlannedDocument,
    SkippedFile,
)
from knowledge_mcp.model.source import SourceItem
from knowledge_mcp.ports import Source
from knowledge_mcp.support.checkpoints import watch_for_stop
from knowledge_mcp.support.wording import how_many, list_first

CANCELLED = "cancelled"
"""Reason of a skipped file that a cancelled ingest did not reach."""

_MOST_LISTED = 20


class Outcomes:
    """Track which planned documents have no outcome yet; a source that is planned twice has two."""

    def __init__(self) -> None:
        self._open: Counter[str] = Counter()

    def plan(self, sources: Iterable[str]) -> None:
        """Expect an outcome for each of these."""
        self._open.update(sources)

    def settle(self, source: str) -> None:
        """Record the outcome of one."""
        self._open[source] -= 1

    @property
    def left(self) -> list[str]:
        """List the sources without an outcome, in the planned order."""
        return list((+self._open).elements())

    def check(self) -> None:
        """Check that every planned document has exactly one outcome.

        Raises:
            InternalError: some have none, or more than one; names them.
        """
        wrong = [source for source, count in self._open.items() if count]
        if wrong:
            names = list_first([repr(source) for source in wrong], _MOST_LISTED)
            raise InternalError(
                f"The ingest cannot account for {how_many(len(wrong), 'document')}: {names}.",
                details="each planned document must end as exactly one of stored, unchanged, skipped and failed",
                suggestion="Run the ingest again; what was stored is kept. Please report this.",
            )


_MOST_COPIES = 3
"""Maximum documents named in one warning about copies."""
_AHEAD = 3
"""Maximum batches that are embedded or waiting while the next file is read."""

_MOST_LOGGED = 3
"""Maximum files logged by name for one reason, for example a full disk; the report has all."""

_PUBLISH_TRIES = 4
"""Attempts to publish: two processes at one document may remove what the other is writing; the loser writes again."""

_logger = logging.getLogger(__name__)

Embedded = list[Vector | str]
"""One vector per chunk of a batch, or the service's message if it refused the text."""

Batch = list[tuple[PreparedDocument, Chunk, str]]
"""Chunks of one embedding call: the document, the chunk, and the key of its vector."""


class _StoppedError(CancelledError):
    """Stop the work on one file, because the run was cancelled."""


class Ingest:
    """Run one ingest; an instance is used once."""

    def __init__(
        self,
        base: Base,
        pipeline: Pipeline,
        options: IngestOptions,
        on_event: Callable[[IngestEvent], None],
        cancelled: Callable[[], bool],
    ) -> None:
        self._base = base
        self._pipeline = pipeline
        self._options = options
        self._on_event = on_event
        self._cancelled = cancelled
        self._done: list[IngestedDocument] = []
        self._failed: list[SkippedFile] = []
        self._reasons: Counter[str] = Counter()
        self._outcomes = Outcomes()
        self._tokens = 0
        self._is_made = False
        self._budget = Budget(base.embedder, options.max_cost)

    def run(self, source: Source, on_unreadable: Callable[[Sequence[SkippedFile]], bool]) -> IngestReport:
        """Ingest what the source yields; every planned document ends as exactly one outcome in the report.

        Raises:
            KnowledgeError: of a kind that would affect every further file (settings, credentials, store); finished
                documents are kept, all others are reported as failed by an event each.
            InternalError: a planned document has no outcome, or two; names it.
        """
        started = time.perf_counter()
        self._base.check_space()
        plan = make_plan(self._base, self._pipeline, source, self._options, self._on_event, self._cancelled)
        may_proceed = not plan.skipped or on_unreadable(plan.skipped)
        planned: tuple[PlannedDocument, ...] = ()
        taken: list[str] = []
        if may_proceed:
            self._outcomes.plan(item.uri for item in plan.todo)
            there = (*(item.uri for item in plan.todo), *(each.source for each in plan.skipped))
            names = Names(plan.known, self._options.vanished, (*self._options.other_sources, *there), plan.todo)
            for record in plan.unchanged:
                names.keep(record)
                self._done.append(IngestedDocument(record, embedded=0, reused=0, unchanged=True))
            if self._options.dry_run:
                planned = tuple(self._dry_run(plan, names))
            elif plan.todo:
                self._store_all(plan, names)
                taken = [self._report_moved(each.record, names) for each in self._done]
        return IngestReport(
            documents=tuple(self._done),
            planned=planned,
            skipped=tuple(plan.skipped),
            failed=tuple(self._failed),
            seconds=time.perf_counter() - started,
            embedding_tokens=self._tokens,
            billed_tokens=self._budget.billed_tokens,
            price=self._base.embedder.price,
            editions=tuple(filter(None, taken)),
        )

    def _report_moved(self, record: DocumentRecord, names: Names) -> str:
        """Say that a document keeps its id although its file was moved and edited; empty for others."""
        before = names.taken_over.get(record.source_path)
        if before is None:
            return ""
        sentence = f"{record.source_path}: treated as '{record.id}', which was moved from {before} and edited."
        self._on_event(IngestEvent(IngestEventKind.EDITION, record.source_path, message=sentence))
        return sentence

    def _store_all(self, plan: Plan, names: Names) -> None:
        """Store the planned documents; the rest is skipped if the run was cancelled, failed if it was aborted.

        Raises:
            KnowledgeError, InternalError: as for `run`.
        """
        try:
            if self._base.exists():  # fails before any cost if it cannot be written
                self._make_collection()
            self._embed_and_store(plan, names)
            if self._is_made:
                self._base.warn_of_size()
        except KnowledgeError as exc:
            for uri in self._outcomes.left:
                self._fail(uri, exc, 0, 0)
            raise
        finally:
            self._log_others()
        if self._cancelled():
            for uri in self._outcomes.left:
                plan.skipped.append(SkippedFile(uri, CANCELLED, "The ingest was stopped before this file was stored."))
                self._outcomes.settle(uri)
        self._outcomes.check()

    # ---- reading

    def _prepare_all(self, plan: Plan, names: Names) -> Iterator[PreparedDocument]:
        for item in plan.todo:
            if self._cancelled():
                return
            now = datetime.now(UTC).isoformat()
            try:
                with watch_for_stop(self._stop):
                    ready = prepare(self._base, self._pipeline, item, names, self._on_event, now)
            except _StoppedError:
                return
            except (InvalidInputError, TimedOutError) as exc:
                self._fail(item.uri, exc, 0, 0)
            except KnowledgeError:
                raise
            except Exception as exc:
                _logger.exception("a defect of ours while reading %s", item.uri)
                defect = InternalError(f"The file could not be processed. {reason_of(exc)}")
                self._fail(item.uri, defect, 0, 0)
            else:
                yield ready

    def _stop(self) -> None:
        if self._cancelled():
            raise _StoppedError("The ingest was cancelled.")

    def _dry_run(self, plan: Plan, names: Names) -> Iterator[PlannedDocument]:
        for record in plan.unchanged:
            yield PlannedDocument(
                record.source_path, record.id, record.pages, record.chunk_count, record.token_count, unchanged=True
            )
        for each in self._prepare_all(plan, names):
            yield PlannedDocument(
                each.item.uri,
                each.record.id,
                each.record.pages,
                each.record.chunk_count,
                each.record.token_count,
                unchanged=False,
            )

    # ---- embedding

    def _embed_and_store(self, plan: Plan, names: Names) -> None:
        waiting: deque[tuple[Batch, Future[Embedded]]] = deque()
        with ThreadPoolExecutor(max_workers=1, thread_name_prefix="embed") as lane:
            try:
                for batch in self._batches(plan, names):
                    self._look_up(batch)
                    waiting.append((batch, lane.submit(self._embed, batch)))
                    while len(waiting) > _AHEAD:
                        self._keep(*waiting.popleft(), names)
                while waiting:
                    self._keep(*waiting.popleft(), names)
            except BaseException:
                for _, future in waiting:
                    future.cancel()
                raise

    def _batches(self, plan: Plan, names: Names) -> Iterator[Batch]:
        """Split the stream of documents into batches, so that many small files share one call."""
        batch: Batch = []
        files = 0
        for each in self._prepare_all(plan, names):
            if batch and files == self._options.files_at_once:
                yield batch
                batch, files = [], 0
            files += 1
            for chunk in each.chunks:
                batch.append((each, chunk, embedding_key(chunk)))
                if len(batch) >= self._base.slice:
                    yield batch
                    batch, files = [], 1
                    if self._cancelled():
                        return
        if batch and not self._cancelled():
            yield batch

    def _look_up(self, batch: Batch) -> None:
        """Find the vectors that are already known."""
        if self._options.force:
            return
        known = self._base.opened.vectors([key for _, _, key in batch]) if self._is_made else {}
        texts = {chunk.embedding_text: key for _, chunk, key in batch if key not in known}
        if texts:  # a stopped run may have computed them
            found = self._base.embedder.documents_at_hand(list(texts))
            known.update((texts[text], vector) for text, vector in found.items())
        for each, _, key in batch:
            if key in known:
                each.reused[key] = known[key]

    def _embed(self, batch: Batch) -> Embedded:
        texts: dict[str, str] = {}
        for each, chunk, key in batch:
            if key not in each.reused:
                texts.setdefault(key, chunk.embedding_text)
                self._tokens += chunk.token_count
        fresh: dict[str, Vector | str] = {}
        if texts:
            missing = list(texts.values())
            self._budget.check(missing)
            try:
                fresh.update(zip(texts, self._base.embedder.embed_documents(missing), strict=True))
            except ContentRefusedError as exc:
                for place, (key, vector) in enumerate(zip(texts, exc.vectors, strict=True)):
                    fresh[key] = exc.reasons[place] if vector is None else vector
        return [each.reused[key] if key in each.reused else fresh[key] for each, _, key in batch]

    # ---- storing

    def _keep(self, batch: Batch, future: Future[Embedded], names: Names) -> None:
        """Accept the vectors of a batch; store the documents that are now complete, together."""
        first = batch[0][0]
        try:
            vectors = future.result()
        except KnowledgeError as exc:
            self._fail(first.item.uri, exc, first.done, first.total)
            raise
        whole: list[PreparedDocument] = []
        for _, own in groupby(zip(batch, vectors, strict=True), key=lambda pair: id(pair[0][0])):
            of_one = list(own)
            each = of_one[0][0][0]
            for (_, chunk, key), vector in of_one:
                self._take(each, chunk, key, vector)
            self._on_event(IngestEvent(IngestEventKind.EMBEDDED, each.item.uri, each.done, each.total))
            if each.done == each.total:
                whole.append(each)
        self._put(whole, names)

    def _take(self, each: PreparedDocument, chunk: Chunk, key: str, vector: Vector | str) -> None:
        """Accept a chunk's vector; leave out what the embedding service refused, with an ERROR (clarification 2)."""
        if isinstance(vector, bytes):
            each.embedded.append(EmbeddedChunk(chunk, vector, key))
            each.fresh += key not in each.reused
        else:
            warning = each.leave_out(chunk, vector)
            _logger.error("%s: %s (chunk %s of %s)", each.item.uri, warning, chunk.id, each.document.id)

    def _put(self, whole: Sequence[PreparedDocument], names: Names) -> None:
        """Write documents in as few steps as the store can; the first ones create their collection.

        By then they have been read and embedded: a first ingest that fails leaves no empty collection.
        """
        waiting: dict[str, tuple[PreparedDocument, WholeDocument]] = {}
        for each in whole:
            if each.total:
                waiting[each.document.id] = each, self._whole(each, names)
            else:
                self._record_refused(each)
        if not waiting:
            return
        if not self._is_made:
            self._make_collection()
        self._warn_of_copies([each for each, _ in waiting.values()])
        try:
            self._write(waiting)
        except InvalidInputError:  # one that cannot be stored must not block the others
            if len(waiting) == 1:
                raise
            for document_id in list(waiting):
                self._write({document_id: waiting.pop(document_id)})

    def _make_collection(self) -> None:
        self._base.store.create_collection(self._base.collection, self._base.embedder.space)
        self._is_made = True

    def _write(self, waiting: dict[str, tuple[PreparedDocument, WholeDocument]]) -> None:
        """Write documents together; visible ones are removed from `waiting`.

        Raises:
            InvalidInputError: the store refuses one of several; which one is not known.
            KnowledgeError: as for the store; all that were not written are reported as failed.
        """

        def on_published(document_id: str) -> None:
            each, document = waiting.pop(document_id)
            self._record_published(each, document.record)

        try:
            for tries_left in reversed(range(_PUBLISH_TRIES)):
                self._base.check_space()  # another process may have replaced it by a collection of another space
                try:
                    documents = [document for _, document in waiting.values()]
                    self._base.opened.publish(documents, on_published)
                    break
                except InternalError:
                    if not tries_left:
                        raise
                    _logger.info("another writer is at one of %d documents; writing them again", len(waiting))
        except KnowledgeError as exc:
            if not isinstance(exc, InvalidInputError) or len(waiting) == 1:
                for each, _ in waiting.values():
                    self._fail(each.item.uri, exc, 0, each.total)
            raise

    def _whole(self, each: PreparedDocument, names: Names) -> WholeDocument:
        earlier = names.record_by_id(each.document.id)
        record = dataclasses.replace(each.record, created_at=earlier.created_at) if earlier else each.record
        return WholeDocument(record, each.document.text, each.embedded, structure_of(each.document))

    def _record_published(self, each: PreparedDocument, record: DocumentRecord) -> None:
        self._done.append(IngestedDocument(record, each.fresh, each.done - each.fresh, unchanged=False))
        self._outcomes.settle(each.item.uri)
        if each.replaces is not None:
            self._base.opened.delete(each.replaces)
        self._on_event(IngestEvent(IngestEventKind.STORED, each.item.uri, each.done, each.done))

    def _record_refused(self, each: PreparedDocument) -> None:
        refused = f"The embedding service refused all of {how_many(each.refused, 'passage')}."
        self._fail(each.item.uri, InvalidInputError(refused), 0, each.refused)

    def _warn_of_copies(self, documents: Sequence[PreparedDocument]) -> None:
        """Log a warning if passages also occur in another document (A-REQ-INGEST-006).

        Of documents published together, each one is compared with those before it.
        """
        hashes = {one.chunk.content_hash for each in documents for one in each.embedded}
        owners: dict[str, set[str]] = {}
        with noticing():  # a damaged passage of another document blocks nothing
            for chunk in self._base.opened.chunks("content", list(hashes)):
                owners.setdefault(chunk.content_hash, set()).add(chunk.document_id)
        for each in documents:
            copies: dict[str, int] = {}
            for digest in {one.chunk.content_hash for one in each.embedded}:
                for owner in owners.get(digest, set()) - {each.document.id, each.replaces}:
                    copies[owner] = copies.get(owner, 0) + 1
            for count in sorted(set(copies.values()), reverse=True):
                self._add_copy_warning(each, sorted(owner for owner in copies if copies[owner] == count), count)
            for one in each.embedded:
                owners.setdefault(one.chunk.content_hash, set()).add(each.document.id)

    def _add_copy_warning(self, each: PreparedDocument, owners: Sequence[str], count: int) -> None:
        total, names = each.total, list_first([f"'{owner}'" for owner in owners], _MOST_COPIES)
        message = f"{count} of {total} passages of '{each.document.id}' are identical in {names}."
        _logger.warning("duplicate content: %s", message)
        self._on_event(IngestEvent(IngestEventKind.DUPLICATE, each.item.uri, count, total, message))

    def _log_others(self) -> None:
        """Log how many further files failed for a reason for which some were named."""
        for reason, count in self._reasons.items():
            if count > _MOST_LOGGED:
                _logger.error("failed for the same reason: %d more files: %s", count - _MOST_LOGGED, reason)

    def _fail(self, uri: str, exc: KnowledgeError, stored: int, total: int) -> None:
        self._failed.append(skipped_file(uri, exc))
        self._outcomes.settle(uri)
        self._reasons[exc.problem] += 1
        if self._reasons[exc.problem] <= _MOST_LOGGED:
            is_meant = isinstance(exc, CancelledError) or self._failed[-1].reason == UnreadableReason.IMAGE_BASED
            level = logging.INFO if is_meant else logging.ERROR
            _logger.log(level, "failed %s: %s (%s)", uri, exc.problem, exc.code.value)
        self._on_event(IngestEvent(IngestEventKind.FAILED, uri, stored, total, exc.problem))


_READ = 30.0
"""Share of the progress, in percent, that is assumed for reading a document; embedding is the rest.

Reading took a seventh of the time for a PDF with text (the sample standard), and takes most of it if pages are
recognised, which is not known in advance: a value in between, closer to files with text, which are the majority.
"""


@dataclass(frozen=True, slots=True)
class _SingleItem:
    """Yield one item (`Source`)."""

    item: SourceItem

    def items(self) -> Iterator[SourceItem | SkippedFile]:
        yield self.item


def ingest_one(
    base: Base,
    pipeline: Pipeline,
    item: SourceItem,
    options: IngestOptions,
    call: Call,
    *,
    unit: str,
    check: Callable[[IngestEvent], None] = lambda _: None,
) -> IngestReport:
    """Ingest one item with a final id; the report has it as a document, as skipped or as failed.

    Args:
        base: its collection is the target.
        pipeline: reads and splits it.
        item: with its `document_id`.
        options: as for `Ingest`.
        call: receives the progress, and returns whether to stop.
        unit: name of the embedded pieces in progress messages.
        check: called for every event; may raise to stop.

    Raises:
        CancelledError: the call was cancelled.
        KnowledgeError: store, embedder or settings fail, or `check` raises it.
    """

    def on_event(event: IngestEvent) -> None:
        if event.kind in {IngestEventKind.READING, IngestEventKind.CHUNKED, IngestEventKind.EMBEDDED}:
            if call.cancelled():
                raise CancelledError("The ingest was cancelled.")
            call.progress(*progress_of(event, unit))
        check(event)

    report = Ingest(base, pipeline, options, on_event, call.cancelled).run(_SingleItem(item), lambda _: True)
    stopped = all(each.reason == CANCELLED for each in report.skipped)
    if stopped and not report.documents and not report.failed:
        raise CancelledError("The ingest was cancelled.")
    return report


def progress_of(event: IngestEvent, unit: str) -> tuple[float, float, str]:
    """Convert an event to percent done, total, and message."""
    share = event.done / event.total if event.total else 0.0
    if event.kind is IngestEventKind.READING:
        pages = f" page {event.done} of {event.total}" if event.total else ""
        return round(_READ * share, 1), 100.0, f"reading{pages}"
    return round(_READ + (99.0 - _READ) * share, 1), 100.0, f"embedding {unit} {event.done} of {event.total}"
