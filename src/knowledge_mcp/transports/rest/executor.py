"""Run the blocking Library for REST requests: worker threads with a limit for each kind of work.

Searches and look-ups, ingestions, and the readiness check queue separately: no search waits for an ingest. Keys take
turns, and one key never gets all slots.
"""

from __future__ import annotations

import contextlib
import logging
import math
import threading
import time
from collections.abc import Callable
from typing import TypeVar

import anyio
from starlette.requests import Request
from starlette.responses import Response

from knowledge_mcp.model.errors import CancelledError, KnowledgeError, RateLimitedError
from knowledge_mcp.model.library import Deposit, Deposited
from knowledge_mcp.model.query import Check, HealthReport
from knowledge_mcp.ports import SharedLibrary
from knowledge_mcp.support.events import log_event
from knowledge_mcp.surfaces.contract import Response as AnyAnswer
from knowledge_mcp.transports.rest.answers import encode, json_response
from knowledge_mcp.transports.rest.errors import REQUEST_ID, RefusedRequest, failure_of
from knowledge_mcp.transports.rest.observing import RestMetrics, Tracing
from knowledge_mcp.transports.shared.provider import KnowledgeProvider
from knowledge_mcp.transports.shared.threads import Threads

logger = logging.getLogger(__name__)

T = TypeVar("T")

MAX_READS = 16
"""Maximum searches and look-ups at a time."""

MAX_VIEWS = 4
"""Maximum pictures, comparisons and traces at a time: each uses a core, and must not delay searches."""

MAX_INGESTS = 4
"""Maximum ingestions at a time."""

MAX_WAITING = 64
"""Maximum waiting ingestions of one key; further ones are rejected until later."""

READY_SECONDS = 5.0
"""Timeout in seconds of the dependencies for the readiness check."""

READY_CACHE_SECONDS = 2.0
"""How long the result is cached, so that frequent checks cost nothing."""


class RequestExecutor:
    """Run work on the Library for requests.

    Args:
        library: provides the Library.
        metrics: counts the results.
        tracing: creates a span for each piece of work.
    """

    def __init__(self, library: KnowledgeProvider[SharedLibrary], metrics: RestMetrics, tracing: Tracing) -> None:
        self._library = library
        self.metrics = metrics
        self._tracing = tracing
        self._reads = Threads(MAX_READS)
        self._views = Threads(MAX_VIEWS)
        self._ingests = Threads(MAX_INGESTS, waiting=MAX_WAITING, patience=math.inf, limit=math.inf)
        self._checking = threading.Lock()
        self._checks = Threads(2)
        self._report: tuple[float, HealthReport] | None = None

    async def read(self, name: str, work: Callable[[SharedLibrary], T]) -> T:
        """Run short work on the Library, on a worker thread; its errors pass through."""

        def run() -> T:
            with self._tracing.work(name):
                return work(self._library.get())

        return await self._reads.run(run)

    async def answer(self, name: str, work: Callable[[SharedLibrary], AnyAnswer]) -> Response:
        """Run work like `read`, and respond with its result; the JSON is also written on the thread."""
        return json_response(await self.read(name, lambda library: encode(work(library))))

    async def view(self, request: Request, name: str, work: Callable[[SharedLibrary], T]) -> T:
        """Run longer work on the Library until the client disconnects; its errors pass through."""

        def run(_: threading.Event) -> T:
            with self._tracing.work(name):
                return work(self._library.get())

        outcome, _ = await _run_until_gone(request, self._views, run)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    async def ingest(self, request: Request, deposit: Callable[[], Deposit], *, size: int | None) -> Deposited:
        """Ingest a document; stop if the client disconnects.

        Args:
            request: the request whose client is watched.
            deposit: created on the worker thread, when it is its turn.
            size: bytes sent with the request; None if they are fetched.

        Raises:
            KnowledgeError: as raised by the Library.
            RefusedRequest: too many are waiting, or the client has disconnected.
        """
        if self._ingests.waiting >= MAX_WAITING:
            text = f"{MAX_WAITING} ingestions are already waiting."
            raise RefusedRequest(503, text, "Try again later, or with wait=false.", {"Retry-After": "10"})

        def run(stop: threading.Event) -> Deposited:
            with self._tracing.work("library.deposit"):
                if stop.is_set():
                    raise CancelledError("The client disconnected.")
                return self._deposit(deposit(), size, stop.is_set, str(request.scope[REQUEST_ID]))

        outcome, is_gone = await _run_until_gone(request, self._ingests, run)
        if isinstance(outcome, Deposited):
            return outcome
        if is_gone and isinstance(outcome, KnowledgeError):
            self.metrics.ingest("cancelled")
            log_event(logger, logging.WARNING, "ingest_cancelled", request_id=request.scope[REQUEST_ID])
            raise RefusedRequest(499, "The client disconnected before the ingestion was done.")
        self.metrics.ingest("failed")
        raise outcome

    def _deposit(self, deposit: Deposit, size: int | None, cancelled: Callable[[], bool], ident: str) -> Deposited:
        library = self._library.get()
        started = time.monotonic()
        context: dict[str, object] = {
            "request_id": ident,
            "collection": deposit.collection,
            "source": deposit.url or deposit.filename,
            "size": size,
        }
        try:
            done = library.deposit(deposit, cancelled=cancelled)
        except CancelledError:
            raise  # logged under its own name
        except KnowledgeError as exc:
            level = logging.ERROR if failure_of(exc).status >= 500 else logging.WARNING
            fields = {**context, "error_code": str(exc.code), "error_message": exc.message}
            log_event(logger, level, "ingest_failed", **fields)
            raise
        self.metrics.ingest("unchanged" if done.unchanged else "ingested", done.embedded + done.reused)
        log_event(
            logger, logging.INFO, "ingest", **context, doc_id=done.document_id, chunks=done.chunks,
            unchanged=done.unchanged, replaced=done.replaced, warnings=len(done.warnings),
            latency_ms=round((time.monotonic() - started) * 1000, 1),
        )  # fmt: skip
        return done

    async def health(self) -> HealthReport:
        """Check the dependencies, at most every two seconds and for at most five; never raises."""
        if self._report is not None and time.monotonic() - self._report[0] < READY_CACHE_SECONDS:
            return self._report[1]
        report: HealthReport | None = None
        with contextlib.suppress(RateLimitedError), anyio.move_on_after(READY_SECONDS):
            report = await self._checks.run(self._check)
        if report is None:
            log_event(logger, logging.ERROR, "readiness_check_slow", seconds=READY_SECONDS)
            return _down("does not respond in time")
        return report

    def _check(self) -> HealthReport:
        if not self._checking.acquire(timeout=READY_SECONDS):
            return _down("an earlier check is still waiting for its answer")
        try:
            if self._report is not None and time.monotonic() - self._report[0] < READY_CACHE_SECONDS:
                return self._report[1]
            try:
                report = self._library.get().health()
            except KnowledgeError as exc:
                log_event(logger, logging.ERROR, "readiness_check_failed", error_message=exc.message)
                report = _down("cannot be opened")
            except Exception:
                logger.exception("the readiness check crashed")
                report = _down("cannot be opened")
            self._log_change(report)
            self._report = (time.monotonic(), report)
            return report
        finally:
            self._checking.release()

    def _log_change(self, report: HealthReport) -> None:
        """Log a dependency's message when it goes down or comes back, because the response does not contain it."""
        before = self._report[1] if self._report is not None else None
        for name in ("vector_store", "embedding_service"):
            check: Check = getattr(report, name)
            was: bool | None = getattr(before, name).up if before is not None else None
            if check.up is not was and not (check.up and was is None):
                level = logging.INFO if check.up else logging.ERROR
                log_event(logger, level, "dependency_changed", dependency=name, up=check.up, message=check.message)


def _down(message: str) -> HealthReport:
    check = Check(up=False, latency_ms=0, message=message)
    return HealthReport("unhealthy", check, check, "")


async def _run_until_gone(
    request: Request, threads: Threads, work: Callable[[threading.Event], T]
) -> tuple[T | Exception, bool]:
    """Run work on a worker thread; its event is set when the client disconnects.

    Returns:
        Its result or error, and whether the client had disconnected by then.
    """
    stop = threading.Event()
    left = False
    found: list[T | Exception] = []

    def run() -> None:
        try:
            found.append(work(stop))
        except Exception as exc:  # noqa: BLE001 - given back, outside the task group
            found.append(exc)

    async def watch() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass
        stop.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watch)
        try:
            await threads.run(run, gave_up=stop)
        except KnowledgeError as exc:  # no slot or time; the task group would wrap it
            found.append(exc)
        finally:
            left = stop.is_set()
            stop.set()
        tasks.cancel_scope.cancel()
    return found[0], left
