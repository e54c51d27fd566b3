"""A service over HTTP: requests with timeouts, retries and an API key."""

from __future__ import annotations

import functools
import json
import logging
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast
from urllib.parse import urlsplit, urlunsplit

from knowledge_mcp.model.errors import ConfigError, ConnectionFailedError, InternalError, TimedOutError, needing
from knowledge_mcp.remote.failures import SERVICE, Failed, failure_of_answer, failure_of_transport
from knowledge_mcp.support.distribution import Secret
from knowledge_mcp.support.hosts import is_loopback
from knowledge_mcp.support.retry import SPECIFIED, RetryPolicy, call_with_retries

if TYPE_CHECKING:
    import ssl

    import httpx

_logger = logging.getLogger(__name__)

_MOST_BYTES = 256 * 1024 * 1024
_AT_ONCE = 32
_GLANCE = 0.1
"""Seconds between checks for cancellation during the pause before a retry."""

T = TypeVar("T")


class RemoteOptions(Protocol):
    """The settings that a remote engine needs."""

    rag_api_url: str | None

    @property
    def rag_api_key(self) -> Secret | None: ...


def of_options(options: RemoteOptions) -> tuple[str, str]:
    """Return address and key; the key is empty if there is none.

    Raises:
        ConfigError: the address is not set.
    """
    if not options.rag_api_url:
        raise ConfigError("RAG_API_URL is not set.", suggestion="Set RAG_API_URL to the address of the RAG API.")
    return options.rag_api_url, options.rag_api_key.get_secret_value() if options.rag_api_key is not None else ""


class CallCancelledError(InternalError):
    """The caller cancelled the call."""

    recoverable_by_default = True
    default_suggestion = "Ask again."

    def __init__(self) -> None:
        super().__init__("The call was cancelled.")


@dataclass(frozen=True, slots=True)
class RemoteRequest:
    """One request.

    Attributes:
        method, path: the path is relative to the service's address.
        query: query parameters.
        body: JSON to send.
        form, files: parts of a multipart body: text by name; (file name, bytes or open file, media type) by name.
        repeatable: sending it twice has the same effect as once.
        accepts: statuses other than 2xx whose JSON is a regular answer.
    """

    method: str
    path: str
    query: Mapping[str, str | int] | None = None
    body: Any = None
    form: Mapping[str, str] | None = None
    files: Mapping[str, tuple[str, Any, str]] | None = None
    repeatable: bool = True
    accepts: frozenset[int] = frozenset()


class ServiceConnection:
    """Sends requests to one service. Thread-safe.

    The key is sent to this one address: redirects are not followed. If the address is neither https nor on this
    machine, the key is sent unencrypted, which is logged once as a warning.

    Args:
        url: scheme, host, port and path before the endpoints.
        key: sent as bearer token; empty for none.
        timeout: seconds for one attempt as a whole, and for each wait within it.
        most_bytes: maximum size of an answer.
        policy: retries; None for the default with jitter, whose pauses end when this is closed.

    Raises:
        ConfigError: address or key is invalid.
    """

    def __init__(
        self,
        url: str,
        key: str = "",
        *,
        timeout: float = 60.0,
        most_bytes: int = _MOST_BYTES,
        policy: RetryPolicy | None = None,
    ) -> None:
        self._base, self._local = _check(url, key)
        self.key = key
        """Sent with requests, and removed from messages."""
        self._timeout = timeout
        self._most_bytes = most_bytes
        self._closing = threading.Event()
        self._policy = policy or RetryPolicy(SPECIFIED.pauses, self._closing.wait, 0.25)
        self._lock = threading.Lock()
        self._client: httpx.Client | None = None

    def ask(self, ask: RemoteRequest, *, cancelled: Callable[[], bool] | None = None) -> dict[str, Any]:
        """Send a request, with retries, and return the JSON object of the answer.

        Cancellation is checked before each attempt. A request that was sent is waited for, because its answer says what
        to undo.

        Raises:
            KnowledgeError: as the service reports it, or because the request failed.
        """
        return self.repeat(lambda: self._once(ask, cancelled), ask, cancelled=cancelled)

    def repeat(self, attempt: Callable[[], T], ask: RemoteRequest, *, cancelled: Callable[[], bool] | None = None) -> T:
        """Run `attempt`, which raises `Failed`, and retry it while that may help; raises the error of the last one."""

        def may_pass(exc: Exception) -> bool:
            return isinstance(exc, Failed) and exc.again and (ask.repeatable or not exc.sent)

        def sleep(seconds: float) -> None:
            end = time.monotonic() + seconds
            while cancelled is not None and (remaining := end - time.monotonic()) > _GLANCE:
                if cancelled():
                    raise CallCancelledError
                self._policy.sleep(min(remaining, _GLANCE))
            self._policy.sleep(max(end - time.monotonic(), 0.0) if cancelled is not None else seconds)

        policy = RetryPolicy(self._policy.pauses, sleep, self._policy.jitter, self._policy.chance)
        try:
            return call_with_retries(attempt, service=SERVICE, may_pass=may_pass, policy=policy)
        except Failed as exc:
            raise exc.error from exc.__cause__

    def lines(
        self, ask: RemoteRequest, *, cancelled: Callable[[], bool] | None = None, seconds: float | None = None
    ) -> Generator[dict[str, Any]]:
        """Send a request once and yield the JSON object of each line as it arrives; empty lines are keep-alives.

        Raises:
            Failed: the answer did not complete.
        """
        rest = b""
        with self._answer(ask, seconds or self._timeout) as response:
            for piece in self._pieces(response, None, cancelled):
                *complete, rest = (rest + piece).split(b"\n")
                if len(rest) > self._most_bytes:
                    raise _too_long(self._most_bytes)
                yield from (_object(line, response.status_code) for line in complete if line.strip())
            if rest.strip():
                yield _object(rest, response.status_code)

    def close(self) -> None:
        """Close the connections, and end the pauses before retries."""
        self._closing.set()
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    # ---- one try

    def _once(self, ask: RemoteRequest, cancelled: Callable[[], bool] | None) -> dict[str, Any]:
        deadline = time.monotonic() + self._timeout
        if cancelled is not None and cancelled():
            raise CallCancelledError
        with self._answer(ask, self._timeout) as response:
            content = b"".join(self._pieces(response, deadline, None))
            return _object(content, response.status_code)

    @contextmanager
    def _answer(self, ask: RemoteRequest, seconds: float) -> Generator[httpx.Response]:
        """Send a request. Anything but a regular answer is raised as `Failed`, also while the body is read."""
        client = self._http()
        try:
            content = None if ask.body is None else json.dumps(ask.body, allow_nan=False).encode()
            typed = {} if content is None else {"Content-Type": "application/json"}
            with (
                client.stream(
                    ask.method,
                    self._base + ask.path,
                    params=None if ask.query is None else dict(ask.query),
                    content=content,
                    data=None if ask.form is None else dict(ask.form),
                    files=None if ask.files is None else dict(ask.files),
                    headers=typed,
                    timeout=seconds,
                ) as response,
                self._ended(response),
            ):
                if not response.is_success and response.status_code not in ask.accepts:
                    body = b"".join(self._pieces(response, time.monotonic() + seconds, None))
                    raise failure_of_answer(response.status_code, response.headers, _payload(body), self.key)
                yield response
        except (Failed, InternalError):
            raise
        except ValueError as exc:
            error = InternalError("The request to the RAG API cannot be written as JSON.", details=type(exc).__name__)
            raise Failed(error) from exc
        except Exception as exc:  # noqa: BLE001 - all of them are mapped
            if self._closing.is_set():  # closed during the request: the library may raise anything
                raise _closed_error() from None
            # drop the library's request objects, which contain the key
            raise failure_of_transport(exc, self.key) from exc.with_traceback(None)

    @contextmanager
    def _ended(self, response: httpx.Response) -> Generator[None]:
        """Close the connection of an answer if the client was closed in the meantime and did not know it yet."""
        try:
            yield
        finally:
            if self._closing.is_set():
                response.extensions["network_stream"].close()

    def _pieces(
        self, response: httpx.Response, deadline: float | None, cancelled: Callable[[], bool] | None
    ) -> Iterator[bytes]:
        read = 0
        for piece in response.iter_bytes():
            read += len(piece)
            if deadline is not None and read > self._most_bytes:
                raise _too_long(self._most_bytes)
            if cancelled is not None and cancelled():
                raise CallCancelledError
            if deadline is not None and time.monotonic() > deadline:
                raise Failed(TimedOutError(f"{SERVICE} did not answer in time.", details="the answer drips"))
            yield piece

    def _http(self) -> httpx.Client:
        with self._lock:
            if self._closing.is_set():
                raise _closed_error()
            if self._client is None:
                self._client = _new_client(self.key, trust_env=not self._local)
            return self._client


def _closed_error() -> InternalError:
    return InternalError("The connection to the RAG API is closed.")


def _new_client(key: str, *, trust_env: bool) -> httpx.Client:
    with needing("remote", "The client library for the RAG API is not installed."):
        import httpx
    from knowledge_mcp import __version__

    headers = {"Accept": "application/json", "User-Agent": f"knowledge-mcp/{__version__}"}
    if key:
        headers["Authorization"] = f"Bearer {key}"
    limits = httpx.Limits(max_connections=_AT_ONCE, max_keepalive_connections=_AT_ONCE, keepalive_expiry=30.0)
    return httpx.Client(
        headers=headers, follow_redirects=False, limits=limits, trust_env=trust_env, verify=_certificates(trust_env)
    )


@functools.cache
def _certificates(trust_env: bool) -> ssl.SSLContext:
    """Load the trusted certificates, once for all clients."""
    import httpx

    return httpx.create_ssl_context(trust_env=trust_env)


def _check(url: str, key: str) -> tuple[str, bool]:
    """Return the address without a trailing slash, and whether it is on this machine."""
    suggestion = "Set RAG_API_URL to something like https://rag.example.org, and RAG_API_KEY separately."
    try:
        parts = urlsplit(url.strip())
        host, _ = parts.hostname, parts.port
    except ValueError as exc:
        raise ConfigError("RAG_API_URL is not an address.", suggestion=suggestion) from exc
    if parts.scheme not in {"http", "https"} or not host:
        raise ConfigError("RAG_API_URL is not an http or https address.", suggestion=suggestion)
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise ConfigError("RAG_API_URL must not contain a user, password, query or fragment.", suggestion=suggestion)
    if not all("!" <= sign <= "~" for sign in key):
        raise ConfigError(
            "RAG_API_KEY contains blanks or characters that are not allowed in a header.",
            suggestion="Check RAG_API_KEY.",
        )
    local = is_loopback(host) or host.endswith(".localhost")
    if parts.scheme == "http" and not local:
        _warn_of(host)
    return urlunsplit((parts.scheme, parts.netloc, parts.path.rstrip("/"), "", "")), local


@functools.cache
def _warn_of(host: str) -> None:
    _logger.warning("the RAG API at %s is asked over http: key and documents travel unencrypted", host)


def _payload(content: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", found) if isinstance(found, dict) else None


def _object(content: bytes, status: int) -> dict[str, Any]:
    payload = _payload(content)
    if payload is None:
        raise Failed(
            ConnectionFailedError(
                f"{SERVICE} answered with something that is not a JSON object.",
                details=f"HTTP {status}, {len(content)} bytes",
                suggestion="Check RAG_API_URL and any proxy in between, then try again.",
                recoverable=False,
            )
        )
    return payload


def _too_long(most: int) -> Failed:
    return Failed(InternalError(f"{SERVICE} answered with more than {most:,} bytes.", suggestion="Request less."))
