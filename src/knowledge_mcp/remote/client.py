"""RemoteLibrary: `ports.Library` over the REST service of another machine."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Collection, Mapping
from typing import Any
from urllib.parse import quote

from knowledge_mcp.model.call import Progress
from knowledge_mcp.model.collection import DocumentRecord
from knowledge_mcp.model.errors import InternalError, InvalidInputError, NotFoundError, TimedOutError
from knowledge_mcp.model.library import CollectionSummary, Deposit, Deposited, IngestJob, LibraryDocument
from knowledge_mcp.model.query import And, Equals, Filter, HealthReport, In, Prefix, SearchAnswer, SearchQuery
from knowledge_mcp.model.source import media_type_of
from knowledge_mcp.remote import answers
from knowledge_mcp.remote.connection import Ask, GaveUpError, RemoteOptions, ServiceConnection, of_options
from knowledge_mcp.support.retry import RetryPolicy

MOST_RESULTS = 50
"""Passages that the service gives to one search."""
PAGE = 1000
LOOKS = (0.05, 0.1, 0.2, 0.4, 0.8, 1.0)
"""Seconds between two looks at a job; the last one again and again."""

_NOT_READY = frozenset({503})


def from_options(options: RemoteOptions) -> RemoteLibrary:
    """Build the client from the settings; asks nobody.

    Raises:
        ConfigError: address or key is missing or cannot be used.
    """
    return RemoteLibrary(*of_options(options))


class RemoteLibrary:
    """Ask the REST service for everything (`ports.Library`). Thread-safe.

    What is deposited is accepted as a job and asked after until it is done, so that no connection stays idle for as
    long as a long document takes; a connection that breaks meanwhile costs nothing. Every method raises what the
    service tells, as the same kind of error: AuthError (no key, a wrong one, a right missing), NotFoundError,
    InvalidInputError, RateLimitedError, ConnectionFailedError, TimedOutError, InternalError.

    Args:
        url: address of the service, with its path where it has one.
        key: sent as bearer token to this address only; empty for none.
        timeout: seconds for one request as a whole.
        ingest_timeout: seconds for one document from beginning to end.
        policy: retries; None for the specified ones.

    Raises:
        ConfigError: address or key cannot be used.
    """

    def __init__(
        self,
        url: str,
        key: str = "",
        *,
        timeout: float = 60.0,
        ingest_timeout: float = 3600.0,
        policy: RetryPolicy | None = None,
    ) -> None:
        self._connection = ServiceConnection(url, key, timeout=timeout, policy=policy)
        self._ingest_timeout = ingest_timeout
        self._closing = threading.Event()

    # ---- collections

    def collections(self) -> list[CollectionSummary]:
        """List all that the key may read, by name."""
        found: list[CollectionSummary] = []
        while True:
            page = answers.CollectionPage.read(self._get("/collections", limit=PAGE, offset=len(found)))
            values = page.values()
            found.extend(values)
            if not values or page.total is None or len(found) >= page.total:
                return sorted(found, key=lambda each: each.name)

    def drop_collection(self, collection: str) -> int:
        """Remove one."""
        answer = self._connection.ask(Ask("DELETE", f"/collections/{_quote(collection)}", repeatable=False))
        return answers.Counted.read(answer).documents

    # ---- taking in

    def deposit(
        self,
        deposit: Deposit,
        *,
        on_progress: Progress | None = None,
        cancelled: Callable[[], bool] | None = None,
    ) -> Deposited:
        """Bring a document and wait until it is searchable; giving up cancels its job."""
        answer = self._connection.ask(_ingest(deposit), cancelled=cancelled)
        if answer.get("status") != "accepted":  # a service that knows no jobs, or was done at once
            return answers.Ingested.read(answer).value(deposit.collection)
        job_id = answers.Accepted.read(answer).job_id
        return self._followed(job_id, on_progress, cancelled).value(deposit.collection)

    def submit(self, deposit: Deposit) -> IngestJob:
        """Bring a document for later."""
        return self.job(answers.Accepted.read(self._connection.ask(_ingest(deposit))).job_id)

    def job(self, job_id: str) -> IngestJob:
        """Ask after one."""
        return self._job(job_id).value()

    def cancel_job(self, job_id: str) -> IngestJob:
        """Tell one to stop; again does no more."""
        return answers.RemoteJob.read(self._connection.ask(Ask("DELETE", f"/jobs/{_quote(job_id)}"))).value()

    def job_counts(self) -> Mapping[str, int]:
        """Count nothing: the service itself reports its jobs at `/metrics`."""
        return {}

    # ---- asking

    def search_in(self, collection: str, query: SearchQuery) -> SearchAnswer:
        """Search one collection; at most 50 passages come."""
        body: dict[str, Any] = {
            "query": query.text,
            "collection": collection,
            "top_k": min(query.limit, MOST_RESULTS),
            "mode": query.mode.value,
        }
        if query.weight is not None:
            body["weight"] = query.weight
        if query.filter is not None:
            body["filters"] = _filters(query.filter)
        if not query.fold:
            body["fold"] = False  # an older service knows no such field, and folds nothing
        found = self._connection.ask(Ask("POST", "/search", body=body))
        return answers.FoundPassages.read(found).value(query.mode)

    def records(self, collection: str, document_ids: Collection[str] | None = None) -> list[DocumentRecord]:
        """List a collection's documents by id, or some of them."""
        if document_ids is not None:
            glances: list[LibraryDocument] = []
            for document_id in sorted(document_ids):
                with contextlib.suppress(NotFoundError):
                    glances.append(self._glance(document_id))
            return [each.record for each in glances if each.collection == collection]
        found: dict[str, DocumentRecord] = {}
        offset = 0
        while True:
            answer = self._get("/documents", collection=collection, limit=PAGE, offset=offset)
            page = answers.DocumentPage.read(answer)
            found.update((record.id, record) for record in page.values())
            offset += len(page.documents)
            if not page.documents or page.total is None or offset >= page.total:
                return [found[name] for name in sorted(found)]

    def find(self, document_id: str) -> LibraryDocument:
        """Return one whole."""
        return answers.FullDocument.read(self._get(f"/documents/{_quote(document_id)}", text="true")).value()

    def record(self, document_id: str) -> DocumentRecord:
        """Return one's record."""
        return self._glance(document_id).record

    def where(self, document_id: str) -> str:
        """Name its collection."""
        return self._glance(document_id).collection

    def remove_document(self, document_id: str) -> int:
        """Remove one."""
        answer = self._connection.ask(Ask("DELETE", f"/documents/{_quote(document_id)}", repeatable=False))
        return answers.Counted.read(answer).chunks

    # ---- itself

    def health(self) -> HealthReport:
        """Ask the service for the state of what it depends on."""
        return answers.Ready.read(self._connection.ask(Ask("GET", "/ready", accepts=_NOT_READY))).value()

    def warm_up(self) -> None:
        """Open the connection, and make sure that the key is known."""
        self._get("/collections", limit=1)

    def close(self) -> None:
        """Close the connections; whoever waits for a job waits no longer."""
        self._closing.set()
        self._connection.close()

    # ---- inside

    def _get(self, path: str, **query: str | int) -> dict[str, Any]:
        return self._connection.ask(Ask("GET", path, query=query))

    def _glance(self, document_id: str) -> LibraryDocument:
        """Look at a document without fetching all of it."""
        return answers.FullDocument.read(self._get(f"/documents/{_quote(document_id)}", limit=1)).value()

    def _job(self, job_id: str) -> answers.RemoteJob:
        return answers.RemoteJob.read(self._get(f"/jobs/{_quote(job_id)}"))

    def _followed(
        self,
        job_id: str,
        on_progress: Progress | None,
        cancelled: Callable[[], bool] | None,
    ) -> answers.Ingested:
        """Wait for a job to end, and report its progress when that has changed."""
        reported: tuple[float, str] | None = None
        waited, looks = 0.0, 0
        while True:
            if cancelled is not None and cancelled():
                self._connection.ask(Ask("DELETE", f"/jobs/{_quote(job_id)}"))
                raise GaveUpError
            job = self._job(job_id)
            error = job.failure()
            if error is not None:
                raise error
            if job.state == "cancelled":
                raise InternalError("The ingestion was cancelled.", recoverable=True, suggestion="Bring it again.")
            if job.state == "done":
                if job.result is None:
                    raise InternalError("The RAG API does not tell what came of the ingestion.", details=job_id)
                return job.result
            now = (job.progress.done, job.progress.message)
            if on_progress is not None and now != reported:
                on_progress(now[0], 100.0, now[1])
                reported = now
            pause = LOOKS[min(looks, len(LOOKS) - 1)]
            waited, looks = waited + pause, looks + 1
            if waited > self._ingest_timeout:
                raise TimedOutError(
                    "The ingestion takes longer than this client waits; it goes on.",
                    details=f"job {job_id}",
                    suggestion="Ask for the document later; bringing it again changes nothing once it is there.",
                )
            if self._closing.wait(pause):
                raise InternalError("The connection to the RAG API is closed.", details=f"job {job_id} goes on")


def _quote(name: str) -> str:
    """Put a name into a path as one segment; dots alone would be taken for folders."""
    if name.strip(".") == "":
        raise InvalidInputError(f"{name!r} is no name.")
    return quote(name, safe="")


def _ingest(deposit: Deposit) -> Ask:
    metadata: dict[str, Any] = dict(deposit.metadata)
    if deposit.url is not None and deposit.text is None and deposit.content is None:
        if deposit.filename:
            metadata["filename"] = deposit.filename
        body = {"url": deposit.url, "collection": deposit.collection, "metadata": metadata}
        return Ask("POST", "/ingest_url", body={**body, "wait": False, "force": deposit.force})
    if deposit.text is not None and deposit.content is None and deposit.url is None:
        if deposit.filename:
            metadata["filename"] = deposit.filename
        metadata["collection"] = deposit.collection
        return Ask("POST", "/ingest", body={
            "text": deposit.text, "metadata": metadata, "wait": False, "force": deposit.force,
        })  # fmt: skip
    if deposit.content is None or deposit.text is not None or deposit.url is not None:
        raise InvalidInputError("Give exactly one of a text, a file and an address.")
    return _file(deposit, deposit.content)


def _file(deposit: Deposit, content: bytes) -> Ask:
    import json

    name = deposit.filename or "document"
    return Ask(
        "POST",
        "/ingest_file",
        form={
            "collection": deposit.collection,
            "metadata": json.dumps(dict(deposit.metadata)),
            "wait": "false",
            "force": "true" if deposit.force else "false",
        },
        files={"file": (name, content, deposit.media_type or media_type_of(name))},
    )


def _filters(condition: Filter) -> dict[str, Any]:
    """Put a filter into the service's form, where each field is named once and all hold together.

    Raises:
        InvalidInputError: it has no such form.
    """
    match condition:
        case And(parts):
            fields: dict[str, Any] = {}
            for name, value in (pair for part in parts for pair in _filters(part).items()):
                if fields.setdefault(name, value) != value:
                    raise InvalidInputError(f"The RAG API takes one condition on {name}, not several.")
            return fields
        case Prefix(field, value):
            return {field: value}
        case Equals(field, value) if field != "clause_number":
            return {field: value}
        case In(field, values) if field not in {"clause_number", "normative"}:
            return {field: list(values)}
        case _:
            raise InvalidInputError(
                f"The RAG API does not filter {condition.field} so.", suggestion="Use a prefix of the clause number."
            )
