"""The library service: add single documents to named collections, from text, bytes or an address.

A document is identified by its collection and its source. Adding the same content again changes nothing; other content
of the same source replaces the earlier version in one step.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from knowledge_mcp.engine.core import documents
from knowledge_mcp.engine.core.base import Base, base_of, counts_of, locked, record_of
from knowledge_mcp.engine.core.health import EmbeddingProbe, health, sound_answer
from knowledge_mcp.engine.core.restricted import copy_with, hidden_ids, restricted_base
from knowledge_mcp.engine.ingest.ingest import ingest_one
from knowledge_mcp.engine.ingest.plan import Pipeline
from knowledge_mcp.engine.jobs.jobs import RESULT, Jobs, error_of, explain
from knowledge_mcp.engine.jobs.journal import Job, JobState
from knowledge_mcp.engine.jobs.store_journal import StoreJournal
from knowledge_mcp.engine.library.originals import Originals
from knowledge_mcp.engine.library.values import (
    checked_name,
    deposited,
    document_of,
    ingest_job_of,
    item_of,
    request_from_json,
    request_to_json,
    why_not,
)
from knowledge_mcp.engine.search import search
from knowledge_mcp.engine.search.several import no_collection, search_several
from knowledge_mcp.engine.tracing.decisions import Decisions
from knowledge_mcp.model.call import Call, Progress, ignore_progress
from knowledge_mcp.model.collection import DocumentRecord
from knowledge_mcp.model.errors import InvalidInputError, KnowledgeError, NotFoundError, noticing
from knowledge_mcp.model.ingest import IngestOptions
from knowledge_mcp.model.library import (
    DEFAULT_COLLECTION,
    CollectionSummary,
    Deposit,
    Deposited,
    IngestJob,
    LibraryDocument,
)
from knowledge_mcp.model.query import HealthReport, SearchAnswer, SearchQuery
from knowledge_mcp.model.rights import EVERYBODY, FULL_RIGHTS, Rights, admits
from knowledge_mcp.model.source import SourceItem
from knowledge_mcp.ports import Fetcher, PageDrawer
from knowledge_mcp.support.events import log_event
from knowledge_mcp.support.wording import how_many

_logger = logging.getLogger(__name__)
_MOST_LOCATED = 10_000
"""Maximum documents whose last known collection is cached."""
_LOOK_AGAIN = 30.0
"""Seconds between two checks for jobs whose process has ended."""
_WORKERS = 3
"""Jobs of one kind at a time: two of one collection, and one of another."""


class LibraryService:
    """Documents in named collections (`ports.Library`). Thread-safe; several processes may share the store.

    Args:
        base: its collection is `default`; the others differ only in their name.
        pipeline: reads and splits documents, one reader for each media type.
        fetcher: fetches addresses.
        folder: contains the locks of this machine.
        is_reserved: returns whether a collection name belongs to another part of the product and cannot be used.
        shelf: the one of these that is nevertheless shown and searched, but never filled or emptied; empty for none.
        roots: folders in which original files of documents may be opened.
        drawer: draws pages; None for none.
        patience: seconds for running jobs to end on close.
        health_threshold_ms: as for `LocalKnowledge`.
        holds_against: executes a request of `review`, with the library as its caller sees it; None if unsupported.
    """

    def __init__(
        self,
        base: Base,
        pipeline: Pipeline,
        fetcher: Fetcher,
        *,
        folder: Path,
        is_reserved: Callable[[str], bool],
        shelf: str = "",
        roots: Sequence[Path] | None = (),
        drawer: PageDrawer | None = None,
        patience: float = 10.0,
        health_threshold_ms: int = 500,
        holds_against: Callable[[LibraryService, Mapping[str, Any], Call], Mapping[str, Any]] | None = None,
    ) -> None:
        self._base = self._whole = base
        self._pipeline = pipeline
        self._fetcher = fetcher
        self._locks = folder / "locks"
        self._is_reserved = is_reserved
        self._shelf = shelf
        self._originals = Originals(folder / "originals", roots)
        self._drawer = drawer
        self._rights = FULL_RIGHTS
        self._folder = folder
        self._holds_against = holds_against
        self._patience = patience
        self._threshold = health_threshold_ms
        self._probe = EmbeddingProbe(base)
        self._journal = StoreJournal(base.store, base.embedder.space)
        self._jobs = Jobs(self._journal, self._work, explain=explain, workers=_WORKERS)
        self._locations: dict[str, str] = {}
        self._closing = threading.Event()
        self._watch: threading.Thread | None = None

    def seen_by(self, rights: Rights) -> LibraryService:
        base = restricted_base(self._base, Rights(groups=tuple(sorted(rights.groups))))
        # the number of calls must not reveal where others found a document
        locations = self._locations if EVERYBODY in rights.groups else {}
        return copy_with(self, _base=base, _rights=rights, _locations=locations)

    def _groups(self) -> frozenset[str]:
        return frozenset(self._rights.groups)

    # ---- collections

    def collections(self) -> list[CollectionSummary]:
        store = self._base.store
        summaries: dict[str, CollectionSummary] = {}
        for info in store.collections():
            if self._is_open(info.name) and self._rights.may_read(info.name):
                count = counts_of(store.open(info.name))
                summaries[info.name] = CollectionSummary(
                    info.name, count.documents, count.chunks, count.tokens, info.space.label, info.created_at,
                    read_only=info.name == self._shelf,
                )  # fmt: skip
        label = self._base.embedder.space.label
        if self._rights.may_read(DEFAULT_COLLECTION):
            summaries.setdefault(DEFAULT_COLLECTION, CollectionSummary(DEFAULT_COLLECTION, 0, 0, 0, label, ""))
        return sorted(summaries.values(), key=lambda each: each.name)

    def drop_collection(self, collection: str) -> int:
        checked_name(collection, self._is_reserved)
        base = self._existing(collection)
        ids = [record.id for record in base_of(self._whole, collection).records()]  # also hidden ones
        gone = counts_of(base.opened).documents if base.exists() else 0
        base.store.drop_collection(collection)
        self._originals.forget(ids)
        log_event(_logger, logging.INFO, "collection_deleted", collection=collection, documents=gone)
        return gone

    def records(self, collection: str) -> list[DocumentRecord]:
        return documents.documents(self._existing(collection))

    def search_in(self, collection: str, query: SearchQuery) -> SearchAnswer:
        base = self._existing(collection)
        return sound_answer(base, lambda: search.search(base, query), lambda each: each.hits)

    def search_all(self, query: SearchQuery) -> SearchAnswer:
        names = filter(self._rights.may_read, sorted({DEFAULT_COLLECTION, *self._names()}))
        return search_several(self._base, list(names), query)

    # ---- documents

    def where(self, document_id: str) -> str:
        store = self._base.store
        last = self._locations.get(document_id)
        if last is not None and self._rights.may_reach(last):
            with contextlib.suppress(NotFoundError):  # the collection was deleted meanwhile
                if store.open(last).documents([document_id]):
                    return last
        names = self._names()
        for name in filter(self._rights.may_reach, names):
            if store.open(name).documents([document_id]):
                self._place(document_id, name)
                return name
        near = documents.near_ids(store, filter(self._rights.may_read, names), document_id)
        hint = f"Did you mean {', '.join(near)}?" if near else "Search, or list a collection's documents, to see ids."
        raise NotFoundError(f"Document not found: {document_id[:200]}", suggestion=hint)

    def _place(self, document_id: str, collection: str) -> None:
        """Cache a document's collection for the next look-up; an id is derived from the collection's name."""
        if len(self._locations) >= _MOST_LOCATED:
            self._locations.clear()
        self._locations[document_id] = collection

    def record(self, document_id: str) -> DocumentRecord:
        return documents.document(self._of(self.where(document_id)), document_id)

    def find(self, document_id: str) -> LibraryDocument:
        collection = self.where(document_id)
        stored = documents.read_document(self._of(collection), document_id)
        return LibraryDocument(collection, stored.record, stored.text, stored.chunks, stored.structure)

    def page_image(self, document_id: str, page: int, passage: int | None = None, *, dpi: int = 110) -> bytes:
        base = self._of(self.where(document_id))
        record = documents.document(base, document_id)
        if record.pages and not 0 < page <= record.pages:
            hint = f"Use 1 to {record.pages}."
            raise NotFoundError(
                f"{record.file_name} has {how_many(record.pages, 'page')}; there is no page {page}.", suggestion=hint
            )
        item = self._originals.find(record)
        if self._drawer is None:
            raise NotFoundError("This library cannot draw pages.", suggestion="Read the document's text instead.")
        marked = None
        if passage is not None:
            chunks = documents.document_chunks(base, document_id)
            marked = next((chunk for chunk in chunks if chunk.index == passage), None)
            if marked is None:
                raise NotFoundError(f"{record.file_name} has no passage {passage + 1}.", suggestion="Open it again.")
        boxes, words = (marked.boxes, marked.content) if marked is not None else ((), "")
        _, _, picture = self._drawer.draw(item, page, boxes, words, dpi)
        return picture

    def remove_document(self, document_id: str) -> int:
        collection = self.where(document_id)
        if collection == self._shelf:
            raise InvalidInputError(
                f"The collection '{collection}' is filled by knowledge-ingest.",
                suggestion=f"Remove the document there: knowledge documents remove {document_id}",
            )
        gone = documents.remove(self._of(collection), document_id)
        self._originals.forget([document_id])
        log_event(_logger, logging.INFO, "document_deleted", doc_id=document_id, collection=collection, chunks=gone)
        return gone

    # ---- ingesting

    def deposit(
        self,
        deposit: Deposit,
        *,
        on_progress: Progress | None = None,
        cancelled: Callable[[], bool] | None = None,
    ) -> Deposited:
        call = Call(on_progress or ignore_progress, cancelled or bool)
        collection = checked_name(deposit.collection, self._is_reserved)
        fetched = None
        if deposit.url is not None:
            call.progress(0.0, 100.0, "fetching")
            fetched = self._fetcher.fetch(deposit.url, cancelled=call.cancelled)
        item = item_of(deposit, fetched)
        name = f"library:{collection}:{item.document_id}"
        with locked(self._locks, [name], "document", "ingest", call.cancelled):
            return self._take_in(collection, item, deposit, call)

    def _take_in(self, collection: str, item: SourceItem, deposit: Deposit, call: Call) -> Deposited:
        base = base_of(self._whole, collection)
        with noticing():  # a damaged record is replaced
            earlier = record_of(base.opened, item.document_id or "") if base.exists() else None
        options = IngestOptions(force=deposit.force, ids_are_settled=True)
        report = ingest_one(base, self._pipeline, item, options, call, unit="passage")
        if not report.documents:
            raise why_not((*report.skipped, *report.failed)[0], item.name)
        self._originals.keep(report.documents[0].record, item)
        done = deposited(collection, report.documents[0], earlier)
        self._place(done.document_id, collection)
        log_event(
            _logger,
            logging.INFO,
            "document_ingested",
            doc_id=done.document_id,
            size=item.size,
            collection=collection,
            chunks=done.chunks,
            unchanged=done.unchanged,
        )
        return done

    # ---- background jobs

    def submit(self, deposit: Deposit) -> IngestJob:
        checked_name(deposit.collection, self._is_reserved)
        if deposit.url is None:
            item_of(deposit, None)  # report errors at once, before anyone waits
        content = deposit.content if deposit.text is None else deposit.text.encode("utf-8", "surrogatepass")
        content_id = self._journal.put_content(content) if content is not None else ""
        try:
            return ingest_job_of(self._jobs.submit(request_to_json(deposit, content_id), journaled=True).job)
        except KnowledgeError:
            self._journal.drop_content(content_id)
            raise

    def job(self, job_id: str) -> IngestJob:
        return ingest_job_of(self._jobs.look_up(job_id, self._jobs_seen()))

    def jobs(self) -> list[IngestJob]:
        return [ingest_job_of(job) for job in filter(self._jobs_seen(), self._jobs.listed())]

    def _jobs_seen(self) -> Callable[[Job], bool]:
        """Return a test whether a job is visible: its collections are reachable, its documents not hidden."""

        @functools.cache
        def hidden(collection: str) -> frozenset[str]:
            return hidden_ids(self._of(collection))

        def is_seen(job: Job) -> bool:
            request, collection = job.request, str(job.request.get("collection", ""))
            if not all(self._rights.may_reach(str(each)) for each in request.get("collections", (collection,))):
                return False
            if "kind" in request:  # documents compared with each other, by a caller in these groups
                return EVERYBODY in self._groups() or self._groups() >= set(request["groups"])
            document_id, allowed = document_of(job)
            return admits(allowed, self._groups()) and document_id not in hidden(collection)

        return is_seen

    def cancel_job(self, job_id: str) -> IngestJob:
        self.job(job_id)
        return ingest_job_of(self._jobs.cancel(job_id))

    def job_counts(self) -> Mapping[str, int]:
        return self._jobs.counts()

    # ---- documents compared with each other

    def review(self, what: str, ids: Sequence[str], *, collection: str = "") -> IngestJob:
        if self._holds_against is None:
            raise NotFoundError(f"This service has no {what}.", suggestion=f"Use `knowledge {what}`.")
        if what != "conflicts" and ids[0] == ids[1]:
            raise InvalidInputError("A document cannot be compared with itself.", suggestion="Choose two documents.")
        names = [self.where(each) for each in ids] or [collection]
        records = [documents.document(self._of(name), each) for name, each in zip(names, ids, strict=False)]
        state: list[Any] = [records or self.records(collection)]
        if what != "conflicts":
            decided = self.decisions(what, *ids)
            state.append(decided.links() if what == "trace" else decided.marks())
        if what == "check":  # which editions are current depends on all documents
            state += [self.records(name) for name in sorted(set(names))]
        titles = [each.title or each.file_name for each in records]
        request = {
            "kind": what,
            "documents": list(ids),
            "collection": names[0],
            "collections": sorted(set(names), key=names.index),
            "groups": sorted(self._groups()),
            "filename": " → ".join(titles) if what != "conflicts" else ", ".join(titles) or names[0],
        }
        return ingest_job_of(self._jobs.once(request, *state))

    def reviewed(self, job_id: str) -> Any:
        job = self._jobs.look_up(job_id, self._jobs_seen())
        if job.state in {JobState.FAILED, JobState.CANCELLED}:
            raise error_of(job)
        return self._jobs.result(job_id)

    def decisions(self, what: str, one: str, other: str) -> Decisions:
        places = [f"{self.where(each)}/{each}" for each in (one, other)]
        return Decisions.about(self._folder, what, *places)

    def _work(self, request: Mapping[str, Any], call: Call) -> Mapping[str, Any]:
        if "kind" in request and self._holds_against is not None:
            seen = self.seen_by(Rights(tuple(request["collections"]), tuple(request["groups"])))
            result = self._holds_against(seen, request, call)
            return {RESULT: result}
        deposit = request_from_json(request, self._journal.content)
        done = self.deposit(deposit, on_progress=call.progress, cancelled=call.cancelled)
        return asdict(done)

    # ---- health and life cycle

    def health(self) -> HealthReport:
        return health(self._base, self._probe, threshold_ms=self._threshold)

    def warm_up(self) -> None:
        """Resume jobs of ended processes, keep checking for such jobs, and load what the first query needs."""
        if self._watch is None:
            self._watch = threading.Thread(target=self._look_for_orphans, name="orphaned jobs", daemon=True)
            self._watch.start()
        self._base.warm_up()

    def close(self) -> None:
        self._closing.set()
        self._jobs.close(self._patience)
        self._pipeline.close()
        self._base.close()

    def _look_for_orphans(self) -> None:
        while True:
            try:
                self._jobs.recover()
            except KnowledgeError as exc:
                _logger.warning("jobs that were left could not be looked for: %s", exc.message)
            if self._closing.wait(_LOOK_AGAIN):
                return

    def _of(self, collection: str) -> Base:
        return base_of(self._base, collection)

    def _existing(self, collection: str) -> Base:
        """Return the base of an existing collection; `default` need not exist.

        The store is not asked for unreachable collections: a server's response time would reveal that one exists.
        """
        base = self._of(collection if collection == self._shelf else checked_name(collection, self._is_reserved))
        if not self._rights.may_reach(collection) or (collection != DEFAULT_COLLECTION and not base.exists()):
            raise self._no_collection(collection)
        return base

    def _names(self) -> list[str]:
        return [info.name for info in self._base.store.collections() if self._is_open(info.name)]

    def _is_open(self, name: str) -> bool:
        return name == self._shelf or not self._is_reserved(name)

    def _no_collection(self, collection: str) -> NotFoundError:
        return no_collection(collection, sorted(filter(self._rights.may_read, {DEFAULT_COLLECTION, *self._names()})))
