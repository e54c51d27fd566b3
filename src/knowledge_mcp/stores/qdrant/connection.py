"""The connection to a Qdrant server, cloud or cluster: opened on first use, with retries and error mapping.

All calls that the store makes are here, so that a fake server knows what to implement. Reads do not set a consistency:
a write ends when every replica has it or counts as dead, so any replica that answers has the write. With a consistency,
Qdrant needs all replicas of a shard, and drops the points whose scores differ between them.

Every failure of the client, or of HTTP or gRPC below it, becomes a `KnowledgeError`; unforeseen ones become an
`InternalError`.
"""

from __future__ import annotations

import contextlib
import json
import logging
import re
import socket
import ssl
import threading
import urllib.parse
import warnings
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeVar, cast

import grpc
import httpx
from pydantic import ValidationError
from qdrant_client import QdrantClient, models
from qdrant_client.common.client_exceptions import ResourceExhaustedResponse
from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

from knowledge_mcp.model.errors import (
    AuthError,
    ConfigError,
    ConnectionFailedError,
    InternalError,
    InvalidInputError,
    KnowledgeError,
    NotFoundError,
    QuotaExceededError,
    RateLimitedError,
    TimedOutError,
    may_pass,
)
from knowledge_mcp.stores.shared.rules import store_closed
from knowledge_mcp.support.checkpoints import checkpoint
from knowledge_mcp.support.events import log_event
from knowledge_mcp.support.retry import SPECIFIED, RetryPolicy, call_with_retries

_MOST_DETAILS = 400
_KEY = "Check QDRANT_API_KEY and the rights of the key."
_UNSET = "Set QDRANT_API_KEY."
_LOG = "Check Qdrant's log, then run again."
_DROPPED = "If another program has dropped it, run again; `knowledge collections list` shows what exists."
_REFUSED = "See the details; a server older than 1.16 does not support all requests."
_OTHER = "Check QDRANT_URL: it leads to another service, or to a Qdrant that is too old."
_QUOTA = "Drop a collection that is not needed, or raise the quota in Qdrant, then run again."
_FULL = ("no space left", "not enough space", "out of disk", "disk quota")
_ADDRESS = "Check that Qdrant is running and that QDRANT_URL is correct, then try again."

Say = Callable[[str], str]


def mapped(exc: BaseException, *, doing: str, location: str, secret: str | None = None) -> KnowledgeError:
    """Convert an exception of the client into a `KnowledgeError`; raise the result `from` the exception.

    Args:
        exc: the exception.
        doing: what was being done, e.g. "searching 'standards'".
        location: the address, without secrets.
        secret: replaced in any text of the exception.
    """
    if isinstance(exc, KnowledgeError):
        return exc

    def hidden(text: str) -> str:
        text = text.replace(secret, "***") if secret else text
        return " ".join(text.split())[:_MOST_DETAILS]

    where = f"Qdrant at {location}"
    if isinstance(exc, UnexpectedResponse):
        return _of_status(exc, doing, where, hidden, keyed=bool(secret))
    if isinstance(exc, ResourceExhaustedResponse):
        return RateLimitedError(
            f"{where} gets too many requests ({doing}).",
            details=hidden(exc.message),
            retry_after=float(exc.retry_after_s),
        )
    if isinstance(exc, grpc.RpcError):
        return _of_rpc(exc, doing, where, hidden, keyed=bool(secret))
    source = exc.source if isinstance(exc, ResponseHandlingException) else exc
    return _of_transport(source, doing, where, hidden(f"{type(source).__name__}: {source}"))


def _of_transport(exc: BaseException, doing: str, where: str, details: str) -> KnowledgeError:
    if isinstance(exc, httpx.UnsupportedProtocol | httpx.InvalidURL):
        return ConfigError(
            f"{where} is not the address of a server.", details=details, suggestion="Correct QDRANT_URL."
        )
    if isinstance(exc, httpx.TimeoutException | TimeoutError):
        return TimedOutError(f"{where} did not answer in time ({doing}).", details=details)
    if any(isinstance(each, ssl.SSLCertVerificationError) for each in _chain(exc)):
        return ConnectionFailedError(
            f"{where} shows a certificate that is not trusted ({doing}).", details=details, suggestion=_ADDRESS
        )
    if isinstance(exc, httpx.RequestError | httpx.StreamError | OSError):
        return ConnectionFailedError(f"{where} cannot be reached ({doing}).", details=details, suggestion=_ADDRESS)
    if isinstance(exc, ValidationError | json.JSONDecodeError | UnicodeDecodeError):
        return InternalError(
            f"{where} returned an invalid answer ({doing}).",
            details=details,
            suggestion=_OTHER,
            recoverable=True,
        )
    return InternalError(f"{where}: {doing} failed.", details=details)


def _of_status(exc: UnexpectedResponse, doing: str, where: str, hidden: Say, *, keyed: bool) -> KnowledgeError:
    status, message = exc.status_code or 0, _error_message(exc.content)
    details = hidden(f"HTTP {status}: {exc.content.decode('utf-8', 'replace') if message is None else message}")
    if status == 404 and message is None:  # Qdrant itself explains what it does not have
        return ConfigError(f"{where} does not answer like Qdrant ({doing}).", details=details, suggestion=_OTHER)
    return _of_code(status, doing, where, details, keyed=keyed)


def _error_message(content: bytes) -> str | None:
    """Return the error message of the server, or None if the answer is not Qdrant's."""
    try:
        status = json.loads(content)["status"]
        return str(status["error"])
    except (ValueError, KeyError, TypeError):
        return None


def _of_rpc(exc: grpc.RpcError, doing: str, where: str, hidden: Say, *, keyed: bool) -> KnowledgeError:
    code = exc.code() if isinstance(exc, grpc.Call) else None
    details = hidden(f"gRPC {code.name}: {exc.details()}" if isinstance(exc, grpc.Call) and code else str(exc))
    if code is grpc.StatusCode.UNAVAILABLE or code is grpc.StatusCode.CANCELLED:
        return ConnectionFailedError(f"{where} cannot be reached ({doing}).", details=details, suggestion=_ADDRESS)
    marks = (
        cast("Sequence[tuple[str, str | bytes]]", exc.trailing_metadata() or ()) if isinstance(exc, grpc.Call) else ()
    )
    is_over_quota = any(key == _QUOTA_MARK for key, _ in marks)
    return _of_code(507 if is_over_quota else _HTTP.get(code, 500), doing, where, details, keyed=keyed)


_HTTP: Mapping[grpc.StatusCode | None, int] = {
    grpc.StatusCode.UNAUTHENTICATED: 401,
    grpc.StatusCode.PERMISSION_DENIED: 403,
    grpc.StatusCode.NOT_FOUND: 404,
    grpc.StatusCode.RESOURCE_EXHAUSTED: 429,
    grpc.StatusCode.DEADLINE_EXCEEDED: 504,
    **dict.fromkeys(
        (
            grpc.StatusCode.INVALID_ARGUMENT,
            grpc.StatusCode.ALREADY_EXISTS,
            grpc.StatusCode.OUT_OF_RANGE,
            grpc.StatusCode.UNIMPLEMENTED,
        ),
        400,
    ),
}
"""HTTP status codes for those of gRPC; all others are 500, for example when a shard is not ready."""
_QUOTA_MARK = "qdrant-insufficient-storage"
"""Metadata with which a server over its quota marks RESOURCE_EXHAUSTED, which otherwise means too many requests."""


def _of_code(status: int, doing: str, where: str, details: str, *, keyed: bool) -> KnowledgeError:
    if status in {401, 403}:
        message = f"{where} refused the API key" if keyed else f"{where} requires an API key, but none is set"
        return AuthError(f"{message} ({doing}).", details=details, suggestion=_KEY if keyed else _UNSET)
    if status == 404:
        return NotFoundError(
            f"{where} does not contain what was requested ({doing}).", details=details, suggestion=_DROPPED
        )
    if status in {408, 504}:
        return TimedOutError(f"{where} did not finish in time ({doing}).", details=details)
    if status == 429:
        return RateLimitedError(f"{where} gets too many requests ({doing}).", details=details)
    if status in {502, 503}:
        return ConnectionFailedError(f"{where} is not ready ({doing}).", details=details, suggestion=_ADDRESS)
    if 400 <= status < 500:
        return InvalidInputError(f"{where} refused the request ({doing}).", details=details, suggestion=_REFUSED)
    if status == 507:  # a limit on memory or disk that was set there
        message = f"{where} has reached its quota and accepts no more data ({doing})."
        return QuotaExceededError(message, details=details, suggestion=_QUOTA)
    full = any(each in details.lower() for each in _FULL)
    return InternalError(
        f"{where} has no space left on its disk ({doing})." if full else f"{where} failed ({doing}).",
        details=details,
        suggestion="Free space where Qdrant keeps its data, then run again." if full else _LOG,
        recoverable=status >= 500,
    )


def _chain(exc: BaseException | None) -> Iterator[BaseException]:
    while exc is not None:
        yield exc
        exc = exc.__cause__ or exc.__context__


PAGE = 1000
"""Points per page of a scroll; a quarter of this if vectors are included."""
MOST_POINTS = 256
MOST_BYTES = 8_000_000
"""Keeps a request well below Qdrant's default limit of 32 MB."""
_PROBE_SECONDS = 3
_OLDEST = (1, 16)
"""An older server ignores the condition of a write, so two writers of the same document could corrupt it."""

T = TypeVar("T")
_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class QdrantConfig:
    """Which server to use, and how to create collections there.

    Attributes:
        url: REST address; the default port is 6333.
        api_key: None if the server needs none; never shown.
        grpc: `on`, `off`, or `auto`: use gRPC if one probe succeeds, else REST.
        grpc_port: port of gRPC.
        shards, replication_factor, write_consistency: for new collections; None uses the server's default.
        on_disk: keep vectors and payload indexes on disk instead of in memory.
        quantization: of the dense vectors; searches rescore with the full vectors.
        query_seconds, write_seconds: timeout of one attempt (A-REQ-REL-002).
        retries: retry policy.
        drift: relative change of the mean chunk length after which all BM25 weights are recomputed; 0 recomputes at
            every change.
        exact_up_to: collections with at most this many points are searched exactly.
        known_seconds: how long a collection's description is cached. Whoever changes the index waits this long, until
            all others must have read that it is changing.
    """

    url: str
    api_key: str | None = field(default=None, repr=False)
    grpc: Literal["auto", "on", "off"] = "auto"
    grpc_port: int = 6334
    shards: int | None = None
    replication_factor: int | None = None
    write_consistency: int | None = None
    on_disk: bool = False
    quantization: Literal["none", "scalar", "binary"] = "none"
    query_seconds: int = 10
    write_seconds: int = 60
    retries: RetryPolicy = SPECIFIED
    drift: float = 0.05
    exact_up_to: int = 20_000
    known_seconds: float = 5.0


def plain_address(url: str) -> str:
    """Return scheme, host, port and path of a URL, without credentials."""
    parts = urllib.parse.urlsplit(url if "//" in url else f"//{url}")
    host = f"[{parts.hostname}]" if parts.hostname and ":" in parts.hostname else parts.hostname or ""
    try:
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        port = ""
    return f"{parts.scheme or 'http'}://{host}{port}{parts.path.rstrip('/')}"


class QdrantConnection:
    """Makes the calls of the store on one client, which is created at the first call.

    Args:
        config: the server and its options.
        connect: creates the client instead of `config`; tests use it for the client's local mode.
    """

    def __init__(self, config: QdrantConfig, connect: Callable[[], QdrantClient] | None = None) -> None:
        self.config = config
        self.location = plain_address(config.url)
        self._connect = connect or self._remote
        self._client: QdrantClient | None = None
        self._lock = threading.Lock()
        self._closed = False

    # the calls

    def names(self) -> list[str]:
        found = self.run("listing collections", lambda client: client.get_collections())
        return sorted(each.name for each in found.collections)

    def aliases(self) -> dict[str, str]:
        """Map each alias to its collection."""
        found = self.run("listing aliases", lambda client: client.get_aliases())
        return {each.alias_name: each.collection_name for each in found.aliases}

    def alias(self, operations: Sequence[models.AliasOperations]) -> None:
        """Change aliases, in one request."""
        seconds = self.config.write_seconds
        self.run("naming", lambda client: client.update_collection_aliases(list(operations), timeout=seconds))

    def exists(self, name: str) -> bool:
        return self.run(f"looking for '{name}'", lambda client: client.collection_exists(name))

    def info(self, name: str) -> models.CollectionInfo:
        return self.run(f"describing '{name}'", lambda client: client.get_collection(name))

    def create(self, name: str, make: Callable[[QdrantClient], object]) -> None:
        self.run(f"making '{name}'", make)

    def drop(self, name: str) -> None:
        self.run(f"dropping '{name}'", lambda client: client.delete_collection(name, timeout=self.config.write_seconds))

    def index(self, name: str, fieldname: str, schema: models.PayloadSchemaType | models.PayloadSchemaParams) -> None:
        self.run(
            f"indexing '{fieldname}' of '{name}'",
            lambda client: client.create_payload_index(name, fieldname, schema, wait=True),
        )

    def count(self, name: str, kept: models.Filter | None, *, exact: bool = True) -> int:
        seconds = self.config.query_seconds
        return self.run(
            f"counting in '{name}'", lambda client: client.count(name, kept, exact=exact, timeout=seconds)
        ).count

    def facet(self, name: str, fieldname: str, kept: models.Filter, expected: int) -> dict[str, int]:
        """Count the points that a filter keeps for each value of an indexed field; about `expected` values.

        Counts may be inexact while the server moves points between segments.
        """
        most = PAGE + 2 * expected
        while True:
            asked = most

            def count(client: QdrantClient, asked: int = asked) -> models.FacetResponse:
                seconds = self.config.query_seconds
                return client.facet(name, fieldname, facet_filter=kept, limit=asked, exact=False, timeout=seconds)

            hits = self.run(f"counting in '{name}'", count).hits
            if len(hits) < most:
                return {str(each.value): each.count for each in hits}
            most *= 8

    def retrieve(self, name: str, ids: Sequence[str], payload: Sequence[str] | bool = True) -> list[models.Record]:
        if not ids:
            return []
        return self.run(
            f"reading '{name}'",
            lambda client: client.retrieve(
                name, list(ids), with_payload=_selected(payload), timeout=self.config.query_seconds
            ),
        )

    def scroll(
        self, name: str, kept: models.Filter | None, payload: Sequence[str] | bool = True,
        *, vectors: Sequence[str] = (), most: int | None = None,
    ) -> Iterator[models.Record]:  # fmt: skip
        """Yield the points that a filter keeps, page by page, at most `most`."""
        offset: models.ExtendedPointId | None = None
        left = most
        while left is None or left > 0:
            page = PAGE // 4 if vectors else PAGE
            size = page if left is None else min(page, left)
            start = offset

            def read(
                client: QdrantClient, size: int = size, start: models.ExtendedPointId | None = start
            ) -> tuple[list[models.Record], models.ExtendedPointId | None]:
                found, following = client.scroll(
                    name, scroll_filter=kept, limit=size, offset=start, with_payload=_selected(payload),
                    with_vectors=list(vectors) if vectors else False, timeout=self.config.query_seconds,
                )  # fmt: skip
                return found, cast("models.ExtendedPointId | None", following)  # never gRPC's own id type

            checkpoint()
            points, offset = self.run(f"reading '{name}'", read)
            yield from points
            if offset is None:
                return
            left = None if left is None else left - len(points)

    def query(self, name: str, requests: Sequence[models.QueryRequest]) -> list[list[models.ScoredPoint]]:
        """Run several queries in one round trip."""
        answers = self.run(
            f"searching '{name}'",
            lambda client: client.query_batch_points(name, list(requests), timeout=self.config.query_seconds),
        )
        return [each.points for each in answers]

    def write(self, name: str, operations: Sequence[models.UpdateOperation], *, in_turn: bool = False) -> None:
        """Apply changes in order, in one request, and wait until searches see them.

        Args:
            name: the collection.
            operations: the changes.
            in_turn: let one replica at a time lead, so that of two concurrent writers all replicas see the same one
                first. The leader is any live replica (`medium`): with `strong`, no write succeeds while a shard's
                permanent leader is down.
        """
        ordering = models.WriteOrdering.MEDIUM if in_turn else None
        if operations:
            self.run(
                f"writing to '{name}'",
                lambda client: client.batch_update_points(name, list(operations), wait=True, ordering=ordering),
            )

    def write_present(self, name: str, operations: Sequence[models.UpdateOperation]) -> None:
        """Apply changes to points; points that another writer has removed are skipped."""
        try:
            self.write(name, operations)
        except NotFoundError:  # that operation changed its other points; later operations were not done
            for each in operations:
                with contextlib.suppress(NotFoundError):
                    self.write(name, [each])

    # inside

    def run(self, doing: str, call: Callable[[QdrantClient], T]) -> T:
        """Make a call, and retry it while the failure may be temporary."""
        return call_with_retries(
            lambda: self._once(doing, call), service="qdrant", may_pass=may_pass, policy=self.config.retries
        )

    def close(self) -> None:
        with self._lock:
            self._closed = True
            client, self._client = self._client, None
        if client is not None:
            client.close()

    def _once(self, doing: str, call: Callable[[QdrantClient], T]) -> T:
        client = self._opened()
        with self._mapped(doing):
            return call(client)

    @contextlib.contextmanager
    def _mapped(self, doing: str) -> Generator[None]:
        try:
            yield
        except KnowledgeError:
            raise
        except Exception as exc:
            raise mapped(exc, doing=doing, location=self.location, secret=self.config.api_key) from exc

    def _opened(self) -> QdrantClient:
        with self._lock:
            if self._closed:
                raise store_closed()
            if self._client is None:
                with self._mapped("connecting"):
                    self._client = self._connect()
            return self._client

    def _remote(self) -> QdrantClient:
        config = self.config
        client = self._built(grpc=config.grpc == "on" or (config.grpc == "auto" and self._speaks_grpc()))
        try:
            version = client.info().version
        except Exception as exc:
            is_unanswered = isinstance(exc, ResponseHandlingException | grpc.RpcError)
            failed = mapped(exc, doing="connecting", location=self.location)
            if not is_unanswered or not isinstance(failed, ConnectionFailedError):
                return client  # a proxy may hide the version in many ways; the call itself will show what fails
            client.close()  # nobody is there: the next attempt checks the version again
            raise
        if tuple(int(each) for each in re.findall(r"\d+", version)[:2]) < _OLDEST:
            client.close()
            raise ConfigError(
                f"Qdrant at {self.location} is version {version}; {'.'.join(map(str, _OLDEST))} or newer is needed.",
                suggestion="Upgrade the server, or set another one in QDRANT_URL.",
            )
        return client

    def _built(self, *, grpc: bool) -> QdrantClient:
        config = self.config
        if config.api_key and self.location.startswith("http://"):
            log_event(_logger, logging.WARNING, "qdrant_key_without_tls", location=self.location)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # logged above
            return QdrantClient(
                url=self.location, api_key=config.api_key, prefer_grpc=grpc, grpc_port=config.grpc_port,
                timeout=config.write_seconds, check_compatibility=False,
                verify=not self.location.startswith("http://"),  # loading certificates takes 40 ms
            )  # fmt: skip

    def _speaks_grpc(self) -> bool:
        """Try gRPC once. If anything fails, REST is used, and reports the cause."""
        host = urllib.parse.urlsplit(self.location).hostname or ""
        try:
            socket.create_connection((host, self.config.grpc_port), timeout=_PROBE_SECONDS).close()
        except OSError:
            return False
        client = self._built(grpc=True)
        try:
            client.collection_exists("knowledge")
        except Exception as exc:  # noqa: BLE001 - REST is tried next and raises what is to be raised
            log_event(_logger, logging.INFO, "qdrant_without_grpc", location=self.location, reason=type(exc).__name__)
            return False
        finally:
            client.close()
        return True


def _selected(payload: Sequence[str] | bool) -> list[str] | bool:
    return payload if isinstance(payload, bool) else list(payload)
