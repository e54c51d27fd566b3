"""RemoteKnowledge and RemoteTools: the engine and the tools of a surface on another machine, over its REST service."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from typing import Any, cast
from urllib.parse import quote

from knowledge_mcp.model.call import Progress
from knowledge_mcp.model.chunk import Chunk, Vector
from knowledge_mcp.model.collection import DocumentRecord, DocumentStructure
from knowledge_mcp.model.errors import ConfigError, ConnectionFailedError, InternalError, KnowledgeError
from knowledge_mcp.model.evidence import QuoteAnswer, QuoteQuery, ReadAnswer, ReadQuery, ReferenceAnswer, ReferenceQuery
from knowledge_mcp.model.ingest import IngestEvent, IngestOptions, IngestReport, SkippedFile
from knowledge_mcp.model.query import (
    HealthReport,
    LookupAnswer,
    RequirementAnswer,
    RequirementQuery,
    SearchAnswer,
    SearchQuery,
    Stats,
)
from knowledge_mcp.ports import Source
from knowledge_mcp.remote.connection import (
    CallCancelledError,
    RemoteOptions,
    RemoteRequest,
    ServiceConnection,
    of_options,
)
from knowledge_mcp.remote.failures import SERVICE, Failed, error_from_payload
from knowledge_mcp.remote.values import Codec, MultipartContent, codec_of, deduct_cost, merge_reports, method_of, pack
from knowledge_mcp.support.batches import batches
from knowledge_mcp.support.checkpoints import check_each
from knowledge_mcp.support.retry import RetryPolicy

_EMBEDDED_AT_ONCE = 64


def from_options(options: RemoteOptions, surface: str) -> RemoteKnowledge:
    """Create the client from the settings; makes no request.

    Raises:
        ConfigError: address or key is missing or invalid.
    """
    return RemoteKnowledge(*of_options(options), surface)


class _RemoteEngine:
    """Base of the clients for the engine of one surface on another machine.

    Args:
        url: address of the REST service.
        key: sent as bearer token, to this address only; empty for none.
        surface: the surface whose engine is used.
        timeout: seconds for one call as a whole; for answers in lines, for each wait for a line.
        policy: retries of repeatable calls; None for the default.

    Raises:
        ConfigError: address or key is invalid.
    """

    def __init__(
        self, url: str, key: str, surface: str, *, timeout: float = 60.0, policy: RetryPolicy | None = None
    ) -> None:
        self._connection = ServiceConnection(url, key, timeout=timeout, policy=policy)
        self._timeout = timeout
        self._path = f"/engine/{quote(surface, safe='')}"

    def close(self) -> None:
        """Close the connections; the remote engine keeps running."""
        self._connection.close()


class RemoteKnowledge(_RemoteEngine):
    """The engine of one surface on another machine (`ports.Knowledge`). Thread-safe.

    Values and errors have the same classes as in the remote engine. All calls except `remove` are idempotent, and are
    retried if the connection fails.

    For arguments and errors, see `_RemoteEngine`.
    """

    reviews: Any = None
    """Background runs on this machine, if set by the wiring; closed with this."""

    def close(self) -> None:
        """Close the connections; unfinished background runs on this machine are resumed after the next start."""
        if self.reviews is not None:
            self.reviews.close()
        super().close()

    def search(self, query: SearchQuery) -> SearchAnswer:
        """Find the best chunks.

        Raises:
            ConfigError: several collections were requested, and the service is too old to support that.
        """
        answer: SearchAnswer = self._call("search", query=query)
        if query.collections and not all(hit.collection for hit in answer.hits):
            raise ConfigError("This service searches one collection only.", suggestion="Update it.")
        return answer

    def lookup(self, term: str, edition: str = "") -> LookupAnswer:
        """Find definitions of a term, or similar terms."""
        if not edition:  # an older service knows only the term
            return self._call("lookup", term=term)
        return self._call("lookup", term=term, edition=edition)

    def requirements(self, query: RequirementQuery) -> RequirementAnswer:
        """Find requirements on a topic."""
        return self._call("requirements", query=query)

    def stats(self) -> Stats:
        """Return the counts of the knowledge base."""
        return self._call("stats")

    def health(self) -> HealthReport:
        """Check all dependencies now."""
        return self._call("health")

    def documents(self) -> list[DocumentRecord]:
        """List all documents, sorted by id."""
        return self._call("documents")

    def document(self, document_id: str) -> DocumentRecord:
        """Return one record.

        Raises:
            NotFoundError: there is none; names similar ids.
        """
        return self._call("document", document_id=document_id)

    def document_text(self, document_id: str) -> str:
        """Return a document's canonical text."""
        return self._call("document_text", document_id=document_id)

    def document_structure(self, document_id: str) -> DocumentStructure:
        """Return a document's sections and page coverage."""
        return self._call("document_structure", document_id=document_id)

    def document_chunks(self, document_id: str) -> list[Chunk]:
        """List a document's chunks in order."""
        return self._call("document_chunks", document_id=document_id)

    def chunk(self, chunk_id: str) -> tuple[Chunk, str]:
        """Return one chunk and its citation."""
        return self._call("chunk", chunk_id=chunk_id)

    def read(self, query: ReadQuery) -> ReadAnswer:
        """Read a clause, pages, a chunk with its neighbours, or a document.

        Raises:
            NotFoundError: there is no such place; names similar ones.
        """
        return self._call("read", query=query)

    def verify_quote(self, query: QuoteQuery) -> QuoteAnswer:
        """Compare a quote with the documents, word by word."""
        return self._call("verify_quote", query=query)

    def references(self, query: ReferenceQuery) -> ReferenceAnswer:
        """List what a place refers to and what refers to it."""
        return self._call("references", query=query)

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Embed texts as passages, in order; in batches, so that no request becomes long."""
        parts = check_each(batches(texts, _EMBEDDED_AT_ONCE))
        return [vector for part in parts for vector in self._call("embed", texts=part)]

    def code_passages(self, text: str) -> list[tuple[Chunk, str]]:
        """Raise ConfigError: keys of the service are for document collections, and repositories have other keys."""
        raise ConfigError(
            "indexed repositories are not available over the REST service.",
            suggestion="Run `knowledge impact` on the machine with the store.",
        )

    def ingest(
        self,
        source: Source,
        options: IngestOptions,
        *,
        on_event: Callable[[IngestEvent], None] | None = None,
        on_unreadable: Callable[[Sequence[SkippedFile]], bool] | None = None,
        cancelled: Callable[[], bool] | None = None,
    ) -> IngestReport:
        """Send the files of the source, in several requests if there are many, and ingest them remotely.

        If the caller wants to be asked about unreadable files, or to stop at them, and the files do not fit into one
        request, all files are sent once to be checked, and again to be ingested. A cancelled run reports the requests
        that were answered; what the engine has finished of the last request stays.
        """
        run = _Run(self._connection, f"{self._path}/ingest", options, on_event, cancelled, self._timeout)
        return run.run(source, on_unreadable)

    def remove(self, document_id: str) -> int:
        """Delete a document; return the number of its chunks.

        Raises:
            NotFoundError: it does not exist.
        """
        return self._call("remove", document_id=document_id, repeatable=False)

    def relabel(self, document_id: str, labels: Mapping[str, str]) -> DocumentRecord:
        """Set by hand of what a document is an edition."""
        return self._call("relabel", document_id=document_id, labels=labels)

    def warm_up(self) -> None:
        """Load there what the first query needs, and resume the runs that a process left unfinished here."""
        if self.reviews is not None:
            self.reviews.warm_up()
        self._call("warm_up")

    def _call(self, name: str, *, repeatable: bool = True, **arguments: Any) -> Any:
        method = method_of(name)
        body = {key: method.parameters[key].encode(value) for key, value in arguments.items()}
        answer = self._connection.ask(RemoteRequest("POST", f"{self._path}/{name}", body=body, repeatable=repeatable))
        return _read(method.result, answer.get("result"))


class _Run:
    """One ingest; used once."""

    def __init__(
        self,
        connection: ServiceConnection,
        path: str,
        options: IngestOptions,
        on_event: Callable[[IngestEvent], None] | None,
        cancelled: Callable[[], bool] | None,
        timeout: float,
    ) -> None:
        self._connection = connection
        self._path = path
        self._options = options
        self._on_event: Callable[[IngestEvent], None] = on_event or (lambda _: None)
        self._cancelled: Callable[[], bool] = cancelled or bool
        self._timeout = timeout

    def run(self, source: Source, on_unreadable: Callable[[Sequence[SkippedFile]], bool] | None) -> IngestReport:
        """Ingest everything that the source yields."""
        started = time.monotonic()
        if on_unreadable is None:
            return self._all(pack(source.items()), started)
        try:
            found = list(source.items())
            parcels = pack(found)
            first, second = next(parcels), next(parcels, None)
            if second is None:
                report, needs_answer = self._send(first, self._options, proceed=False)
                continues = needs_answer and on_unreadable(report.skipped)
                return self._all([first], started) if continues else report
            skipped = [each for parcel in pack(found) for each in self._check(parcel)]
        except CallCancelledError:
            return merge_reports([], time.monotonic() - started)
        if skipped and not on_unreadable(skipped):
            return merge_reports([IngestReport(skipped=tuple(skipped))], time.monotonic() - started)
        return self._all(pack(found), started)

    def _check(self, parcel: MultipartContent) -> tuple[SkippedFile, ...]:
        return self._send(parcel, self._options, check=True)[0].skipped

    def _all(self, parcels: Iterable[MultipartContent], started: float) -> IngestReport:
        reports: list[IngestReport] = []
        for parcel in parcels:
            if self._cancelled():
                break
            try:
                reports.append(self._send(parcel, deduct_cost(self._options, reports))[0])
            except CallCancelledError:
                break
        return merge_reports(reports, time.monotonic() - started)

    def _send(
        self, parcel: MultipartContent, options: IngestOptions, *, proceed: bool = True, check: bool = False
    ) -> tuple[IngestReport, bool]:
        """Send one parcel; return the report, and whether it ended because unreadable files need a decision."""
        body = {
            "options": codec_of(IngestOptions).encode(options),
            "items": parcel.described,
            "proceed": proceed,
            "check": check,
        }
        request = json.dumps(body, allow_nan=False).encode()
        files = {"request": ("request.json", request, "application/json"), **parcel.contents}
        ask = RemoteRequest("POST", self._path, files=files)
        return self._connection.repeat(lambda: self._once(ask, silent=check), ask, cancelled=self._cancelled)

    def _once(self, ask: RemoteRequest, *, silent: bool) -> tuple[IngestReport, bool]:
        with closing(self._connection.lines(ask, cancelled=self._cancelled, seconds=self._timeout)) as lines:
            for line in lines:
                if "event" in line and not silent:
                    self._on_event(_read(codec_of(IngestEvent), line["event"]))
                if isinstance(line.get("error"), dict):
                    raise error_from_payload(cast("dict[str, Any]", line["error"]), self._connection.key)
                if "report" in line:
                    return _read(codec_of(IngestReport), line["report"]), line.get("asked") is True
        error = ConnectionFailedError(f"{SERVICE} stopped before it reported the results of the files.")
        raise Failed(error, again=True)


def _read(codec: Codec, value: Any) -> Any:
    try:
        return codec.decode(value)
    except ValueError as exc:
        raise InternalError(
            "The engine's answer has an unknown format.",
            details=type(exc).__name__,
            suggestion="Check that this program and the service are of the same version.",
        ) from exc


class RefusedError(KnowledgeError):
    """An error as the remote surface has already worded it.

    Args:
        message: the message.
        rendered: the whole error.
    """

    def __init__(self, message: str, rendered: Mapping[str, Any]) -> None:
        super().__init__(message)
        self.rendered = dict(rendered)


def tools_from_options(options: RemoteOptions, surface: str) -> RemoteTools:
    """Create the client from the settings; makes no request.

    Raises:
        ConfigError: address or key is missing or invalid.
    """
    return RemoteTools(*of_options(options), surface)


class RemoteTools(_RemoteEngine):
    """Runs the tools of one surface on another machine. Thread-safe.

    Paths in arguments are paths on the other machine, below the folders that it allows.

    For arguments and errors, see `_RemoteEngine`.
    """

    def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any],
        *,
        on_progress: Progress,
        cancelled: Callable[[], bool],
        repeatable: bool,
    ) -> dict[str, Any]:
        """Run one tool and return its answer.

        Raises:
            RefusedError: the tool answered with an error.
            KnowledgeError: the request failed.
        """
        path = f"{self._path}/tools/{quote(name, safe='')}"
        ask = RemoteRequest("POST", path, body=dict(arguments), repeatable=repeatable)
        return self._connection.repeat(lambda: self._once(ask, on_progress, cancelled), ask, cancelled=cancelled)

    def warm_up(self) -> None:
        """Do nothing: the remote engine warms up itself."""

    def _once(self, ask: RemoteRequest, on_progress: Progress, cancelled: Callable[[], bool]) -> dict[str, Any]:
        with closing(self._connection.lines(ask, cancelled=cancelled, seconds=self._timeout)) as lines:
            for line in lines:
                if isinstance(moved := line.get("progress"), list) and len(cast("list[Any]", moved)) == 3:
                    on_progress(*cast("list[Any]", moved))
                if isinstance(line.get("error"), dict):
                    raise error_from_payload(cast("dict[str, Any]", line["error"]), self._connection.key)
                if isinstance(line.get("refused"), dict):
                    raise RefusedError(str(line.get("message", "")), cast("dict[str, Any]", line["refused"]))
                if isinstance(line.get("result"), dict):
                    return cast("dict[str, Any]", line["result"])
        raise Failed(ConnectionFailedError(f"{SERVICE} stopped before the tool had answered."), again=True)
