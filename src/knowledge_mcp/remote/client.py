"""RemoteLibrary: `ports.Library` over the REST service of another machine."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

from knowledge_mcp.model.call import Progress
from knowledge_mcp.model.collection import DocumentRecord
from knowledge_mcp.model.errors import InternalError, InvalidInputError, TimedOutError
from knowledge_mcp.model.library import CollectionSummary, Deposit, Deposited, IngestJob, LibraryDocument
from knowledge_mcp.model.query import And, Equals, Filter, HealthReport, In, Prefix, SearchAnswer, SearchQuery
from knowledge_mcp.model.source import media_type_of
from knowledge_mcp.remote import answers
from knowledge_mcp.remote.connection import (
    CallCancelledError,
    RemoteOptions,
    RemoteRequest,
    ServiceConnection,
    of_options,
)
from knowledge_mcp.support.retry import RetryPolicy

MOST_RESULTS = 50
"""Maximum number of passages per search of the service."""
PAGE = 1000
LOOKS = (0.05, 0.1, 0.2, 0.4, 0.8, 1.0)
"""Seconds between polls of a job; the last value is repeated."""

_NOT_READY = frozenset({503})


def from_options(options: RemoteOptions) -> RemoteLibrary:
    """Create the client from the settings; makes no request.

    Raises:
        ConfigError: address or key is missing or invalid.
    """
    return RemoteLibrary(*of_options(options))


class RemoteLibrary:
    """Delegates everything to the REST service (`ports.Library`). Thread-safe.

    A deposit is accepted as a job, which is polled until it is done, so no connection stays idle while a long document
    is processed, and a broken connection does no harm. Every method raises the errors of the service as the same
    classes: AuthError (no key, a wrong key, a missing permission), NotFoundError, InvalidInputError, RateLimitedError,
    ConnectionFailedError, TimedOutError, InternalError.

    Args:
        url: address of the service, with its path if it has one.
        key: sent as bearer token, to this address only; empty for none.
        timeout: seconds for a whole request.
        ingest_timeout: seconds for the whole ingest of a document.
        policy: retries; None for the default.

    Raises:
        ConfigError: address or key is invalid.
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
        """List all collections that the key may read, sorted by name."""
        found: list[CollectionSummary] = []
        while True:
            page = answers.CollectionPage.read(self._get("/collections", limit=PAGE, offset=len(found)))
            values = page.values()
            found.extend(values)
            if not values or page.total is None or len(found) >= page.total:
                return sorted(found, key=lambda each: each.name)

    def drop_collection(self, collection: str) -> int:
        """Drop a collection; return the number of its documents."""
        answer = self._connection.ask(RemoteRequest("DELETE", f"/collections/{_quote(collection)}", repeatable=False))
        return answers.Counted.read(answer).documents

    # ---- taking in

    def deposit(
        self,
        deposit: Deposit,
        *,
        on_progress: Progress | None = None,
        cancelled: Callable[[], bool] | None = None,
    ) -> Deposited:
        """Ingest a document and wait until it is searchable; cancelling also cancels its job."""
        answer = self._connection.ask(_ingest(deposit), cancelled=cancelled)
        if answer.get("status") != "accepted":  # a service without jobs, or one that finished at once
            return answers.Ingested.read(answer).value(deposit.collection)
        job_id = answers.Accepted.read(answer).job_id
        return self._followed(job_id, on_progress, cancelled).value(deposit.collection)

    def submit(self, deposit: Deposit) -> IngestJob:
        """Submit a document without waiting."""
        return self.job(answers.Accepted.read(self._connection.ask(_ingest(deposit))).job_id)

    def job(self, job_id: str) -> IngestJob:
        """Return the state of a job."""
        return self._job(job_id).value()

    def cancel_job(self, job_id: str) -> IngestJob:
        """Cancel a job; repeating it has no effect."""
        return answers.RemoteJob.read(self._connection.ask(RemoteRequest("DELETE", f"/jobs/{_quote(job_id)}"))).value()

    def job_counts(self) -> Mapping[str, int]:
        """Return an empty mapping: the service itself reports its jobs at `/metrics`."""
        return {}

    # ---- asking

    def search_in(self, collection: str, query: SearchQuery) -> SearchAnswer:
        """Search one collection; returns at most 50 passages."""
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
            body["fold"] = False  # an older service does not know this field, and does not fold
        found = self._connection.ask(RemoteRequest("POST", "/search", body=body))
        return answers.FoundPassages.read(found).value(query.mode)

    def records(self, collection: str) -> list[DocumentRecord]:
        """List the records of a collection, sorted by id."""
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
        """Return a document with its text and passages."""
        return answers.FullDocument.read(self._get(f"/documents/{_quote(document_id)}", text="true")).value()

    def record(self, document_id: str) -> DocumentRecord:
        """Return a document's record."""
        return self._glance(document_id).record

    def where(self, document_id: str) -> str:
        """Return the collection of a document."""
        return self._glance(document_id).collection

    def remove_document(self, document_id: str) -> int:
        """Delete a document; return the number of its chunks."""
        answer = self._connection.ask(RemoteRequest("DELETE", f"/documents/{_quote(document_id)}", repeatable=False))
        return answers.Counted.read(answer).chunks

    # ---- itself

    def health(self) -> HealthReport:
        """Return the state of the service and its dependencies."""
        return answers.Ready.read(self._connection.ask(RemoteRequest("GET", "/ready", accepts=_NOT_READY))).value()

    def warm_up(self) -> None:
        """Open the connection, and check that the service accepts the key."""
        self._get("/collections", limit=1)

    def close(self) -> None:
        """Close the connections; waiting for a job ends with an error."""
        self._closing.set()
        self._connection.close()

    # ---- inside

    def _get(self, path: str, **query: str | int) -> dict[str, Any]:
        return self._connection.ask(RemoteRequest("GET", path, query=query))

    def _glance(self, document_id: str) -> LibraryDocument:
        """Fetch a document without most of its content."""
        return answers.FullDocument.read(self._get(f"/documents/{_quote(document_id)}", limit=1)).value()

    def _job(self, job_id: str) -> answers.RemoteJob:
        return answers.RemoteJob.read(self._get(f"/jobs/{_quote(job_id)}"))

    def _followed(
        self,
        job_id: str,
        on_progress: Progress | None,
        cancelled: Callable[[], bool] | None,
    ) -> answers.Ingested:
        """Wait for a job to end, and report its progress when it changes."""
        reported: tuple[float, str] | None = None
        waited, looks = 0.0, 0
        while True:
            if cancelled is not None and cancelled():
                self._connection.ask(RemoteRequest("DELETE", f"/jobs/{_quote(job_id)}"))
                raise CallCancelledError
            job = self._job(job_id)
            error = job.failure()
            if error is not None:
                raise error
            if job.state == "cancelled":
                raise InternalError("The ingestion was cancelled.", recoverable=True, suggestion="Send it again.")
            if job.state == "done":
                if job.result is None:
                    raise InternalError("The RAG API does not report the result of the ingestion.", details=job_id)
                return job.result
            now = (job.progress.done, job.progress.message)
            if on_progress is not None and now != reported:
                on_progress(now[0], 100.0, now[1])
                reported = now
            pause = LOOKS[min(looks, len(LOOKS) - 1)]
            waited, looks = waited + pause, looks + 1
            if waited > self._ingest_timeout:
                raise TimedOutError(
                    "The ingestion takes longer than this client waits; it continues.",
                    details=f"job {job_id}",
                    suggestion="Look for the document later; sending it again changes nothing if it is there.",
                )
            if self._closing.wait(pause):
                raise InternalError("The connection to the RAG API is closed.", details=f"job {job_id} goes on")


def _quote(name: str) -> str:
    """Quote a name as one segment of a path; a name of dots only is refused, because it would mean a folder."""
    if name.strip(".") == "":
        raise InvalidInputError(f"{name!r} is not a name.")
    return quote(name, safe="")


def _ingest(deposit: Deposit) -> RemoteRequest:
    metadata: dict[str, Any] = dict(deposit.metadata)
    if deposit.url is not None and deposit.text is None and deposit.content is None:
        if deposit.filename:
            metadata["filename"] = deposit.filename
        body = {"url": deposit.url, "collection": deposit.collection, "metadata": metadata}
        return RemoteRequest("POST", "/ingest_url", body={**body, "wait": False, "force": deposit.force})
    if deposit.text is not None and deposit.content is None and deposit.url is None:
        if deposit.filename:
            metadata["filename"] = deposit.filename
        metadata["collection"] = deposit.collection
        return RemoteRequest("POST", "/ingest", body={
            "text": deposit.text, "metadata": metadata, "wait": False, "force": deposit.force,
        })  # fmt: skip
    if deposit.content is None or deposit.text is not None or deposit.url is not None:
        raise InvalidInputError("Give exactly one of a text, a file and an address.")
    return _file(deposit, deposit.content)


def _file(deposit: Deposit, content: bytes) -> RemoteRequest:
    import json

    name = deposit.filename or "document"
    return RemoteRequest(
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
    """Convert a filter into the service's form: one condition per field, all of which must hold.

    Raises:
        InvalidInputError: the filter cannot be expressed in this form.
    """
    match condition:
        case And(parts):
            fields: dict[str, Any] = {}
            for name, value in (pair for part in parts for pair in _filters(part).items()):
                if fields.setdefault(name, value) != value:
                    raise InvalidInputError(f"The RAG API accepts only one condition on {name}, not several.")
            return fields
        case Prefix(field, value):
            return {field: value}
        case Equals(field, value) if field != "clause_number":
            return {field: value}
        case In(field, values) if field not in {"clause_number", "normative"}:
            return {field: list(values)}
        case _:
            raise InvalidInputError(
                f"The RAG API does not support this filter for {condition.field}.",
                suggestion="Use a prefix of the clause number.",
            )
