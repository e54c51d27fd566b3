"""Requests to a paid embedding service, with retries, timeouts and a count of their cost."""

from __future__ import annotations

import json
import logging
import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np
from openai import APIConnectionError, APIStatusError, APITimeoutError

from knowledge_mcp.embedders.services.service import Service, known_name
from knowledge_mcp.model.chunk import Vector
from knowledge_mcp.model.collection import EmbeddingUsage
from knowledge_mcp.model.errors import (
    AuthError,
    ConfigError,
    ConnectionFailedError,
    InternalError,
    InvalidInputError,
    KnowledgeError,
    QuotaExceededError,
    RateLimitedError,
    TimedOutError,
    WrongAnswerError,
    may_pass,
)
from knowledge_mcp.support.events import log_event
from knowledge_mcp.support.retry import SPECIFIED, RetryPolicy, call_with_retries, requested_pause

if TYPE_CHECKING:
    from openai import OpenAI
    from openai.types import CreateEmbeddingResponse

logger = logging.getLogger(__name__)


class Requests:
    """Makes requests to the service. Thread-safe.

    Args:
        service: the service.
        count: counts the tokens of a text, for answers that do not state the billed tokens.
        policy: retries; None for retries after `pauses` with jitter, which end when this is closed.
        pauses: seconds before each retry.
    """

    def __init__(
        self,
        service: Service,
        count: Callable[[str], int],
        policy: RetryPolicy | None = None,
        pauses: tuple[float, ...] = SPECIFIED.pauses,
    ) -> None:
        self._service = service
        self._count = count
        self._closing = threading.Event()
        self._policy = policy or RetryPolicy(pauses, sleep=self._closing.wait, jitter=0.25)
        self._lock = threading.Lock()
        self._client: OpenAI | None = None
        self._requests = self._tokens = 0
        self.proven = False
        """Whether any request has succeeded, so that the settings are known to be right."""

    @property
    def usage(self) -> EmbeddingUsage:
        """Number of requests, including failed ones, and of billed tokens."""
        with self._lock:
            return EmbeddingUsage(requests=self._requests, tokens=self._tokens)

    def ask(self, texts: Sequence[str], seconds: float) -> list[Vector]:
        """Embed texts in one request, with retries.

        Args:
            texts: none of them blank or too long; together within the service's limits.
            seconds: timeout of one attempt.

        Raises:
            CallFailed: with the error of the last attempt.
        """
        return call_with_retries(
            lambda: self._try(texts, seconds),
            service=self._service.name,
            may_pass=lambda exc: isinstance(exc, CallFailed) and may_pass(exc.error),
            policy=self._policy,
        )

    def connect(self) -> OpenAI:
        """Return the library's client, created at the first call; makes no request."""
        with self._lock:
            if self._closing.is_set():
                raise InternalError("The embedder is closed.")
            if self._client is None:
                self._client = self._service.connect()
            return self._client

    def close(self) -> None:
        """Stop retries and close connections; later requests fail."""
        self._closing.set()
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    def _try(self, texts: Sequence[str], seconds: float) -> list[Vector]:
        try:
            client = self.connect()
            with self._lock:
                self._requests += 1
            started = time.perf_counter()
            response = self._post(client, texts, seconds)
            tokens = _billed_tokens(response)
            if tokens is None:
                tokens = sum(map(self._count, texts))
            with self._lock:
                self._tokens += tokens  # a wrong answer is billed too
            vectors = _vectors_of(response, len(texts), self._service)
        except KnowledgeError as exc:
            raise CallFailed(exc) from exc.__cause__
        self.proven = True
        log_event(
            logger, logging.DEBUG, "embedding_generated",
            texts=len(texts), token_count=tokens,
            latency_ms=round((time.perf_counter() - started) * 1000, 1), model=self._service.model.name,
        )  # fmt: skip
        return vectors

    def _post(self, client: OpenAI, texts: Sequence[str], seconds: float) -> CreateEmbeddingResponse:
        from openai import omit

        try:
            raw = client.embeddings.with_raw_response.create(
                input=list(texts),
                model=self._service.asks_for,
                dimensions=omit
                if self._service.model.requested_dimensions is None
                else self._service.model.requested_dimensions,
                timeout=seconds,
            )
        except Exception as exc:  # noqa: BLE001 - the library passes on exceptions of its parts; all are mapped here
            failed = _failure_of(exc, self._service)
            if self._closing.is_set():
                failed = CallFailed(InternalError("The embedder was closed while it worked."), echoed=True)
            raise failed from (None if failed.echoed else exc)
        try:
            return _check_types(raw.parse())
        except Exception as exc:  # the library does not check types, so a strange answer may raise anything
            try:
                json.loads(raw.http_response.content)
            except ValueError as problem:
                raise _unreadable_answer(self._service, str(problem)) from exc
            details = f"{type(exc).__name__}: {exc}"[:300]
            raise WrongAnswerError(
                f"{self._service.name} returned an answer in an unknown format.", details=details
            ) from exc


def _check_types(response: CreateEmbeddingResponse) -> CreateEmbeddingResponse:
    """Check that the answer has a list of items."""
    if not isinstance(cast("object", response.data), list):
        raise TypeError("no list of vectors")
    return response


MOST_WORDS = 400
QUOTA = set(
    "insufficient_quota billing_hard_limit_reached billing_not_active quota_exceeded quotaexceeded"
    " insufficientquota".split()
)
OF_THE_CONTENT = {"content_filter", "content_policy_violation", "context_length_exceeded", "string_above_max_length"}
OF_THE_BATCH = {"max_tokens_per_request", "array_above_max_length"}
OF_THE_SETTINGS = set(
    "model_not_found invalid_model unsupported_parameter unknown_parameter unsupported_value deploymentnotfound"
    " operationnotsupported unsupportedapiversion invalidapiversionparameter missingapiversionparameter".split()
)
SETTINGS = {"model", "dimensions", "encoding_format", "user", "api-version"}
LIMITS = re.compile(r"x-ratelimit-(?:limit|remaining|reset)-\w+", re.IGNORECASE)
STARRED = re.compile(r"(?<!\S)\S*?\*{3,}+\S*+|\bsk-[\w*.-]+")
"""An API key as a service echoes it, in part or whole."""


@dataclass(eq=False)
class CallFailed(Exception):  # noqa: N818 - it never leaves the room
    """A failed request, with what the caller needs to decide how to continue.

    Attributes:
        error: to be raised if nothing better is known.
        retry_after: seconds that the service asked to wait.
        refused: the service refused the content of the request (HTTP 400): some text of it, or the settings.
        certain: the service said that the text is the cause.
        words: message of the service, without secrets.
        echoed: the service repeated the key, or a part of it; the original exception must not be shown.
    """

    error: KnowledgeError
    retry_after: float | None = None
    refused: bool = False
    certain: bool = False
    words: str = ""
    echoed: bool = False

    def __str__(self) -> str:
        return self.error.message

    @property
    def details(self) -> str:
        """The error's details, for the log of a retry."""
        return self.error.details


@dataclass(frozen=True, slots=True)
class _ErrorAnswer:
    """An error answer: status, error codes in lower case, message without secrets, and headers."""

    status: int
    codes: frozenset[str]
    param: str
    words: str
    headers: Mapping[str, str]
    echoed: bool

    @property
    def details(self) -> str:
        codes = ", ".join(sorted(self.codes))
        return f"HTTP {self.status}" + (f" ({codes})" if codes else "") + (f": {self.words}" if self.words else "")


def _failure_of(exc: Exception, service: Service) -> CallFailed:
    """Map any exception of the library; no credentials are kept."""
    if isinstance(exc, APIStatusError):
        return _of_status(_read_error(exc, service), service)
    if isinstance(exc, APITimeoutError):
        return CallFailed(TimedOutError(f"{service.name} did not answer in time.", details=_cause(exc, service)))
    if isinstance(exc, APIConnectionError):
        return CallFailed(
            ConnectionFailedError(
                f"{service.name} could not be reached, or its answer was cut off.",
                details=_cause(exc, service),
                suggestion=f"Check the network and {service.address_setting}, then try again.",
            )
        )
    words, echoed = _redact(f"{type(exc).__name__}: {exc}", service)
    error = InternalError(f"The request to {service.name} could not be made.", details=words)
    return CallFailed(error, echoed=echoed)


def _unreadable_answer(service: Service, problem: str) -> CallFailed:
    """Return the error for an answer that is not JSON: a broken one, or a proxy's page."""
    return CallFailed(
        ConnectionFailedError(
            f"{service.name} answered with something that is not JSON.",
            details=_redact(problem, service)[0],
            suggestion=f"Check {service.address_setting} and any proxy in between, then try again.",
        )
    )


def _of_status(answer: _ErrorAnswer, service: Service) -> CallFailed:
    """Map an error by its status, and for 400 and 429 also by its error codes."""
    retry_after: float | None = None
    match answer.status:
        case 400 | 413 | 422:
            return _refusal(answer, service)
        case 429:
            return _rate_limit_failure(answer, service)
        case 401:
            error = AuthError(
                f"{service.name} refused the API key.",
                details=answer.details,
                suggestion=f"Check {service.key_setting}: the key is wrong, expired, revoked or of another service.",
            )
        case 403:
            error = AuthError(
                f"{service.name} does not allow this request.",
                details=answer.details,
                suggestion=f"Check what the key of {service.key_setting} may use, and from which network or country.",
            )
        case 404:
            error = ConfigError(
                f"{service.name} has no '{service.asks_for}' for this key.",
                details=answer.details,
                suggestion=f"Check {service.model_setting} and {service.address_setting}.",
            )
        case 408:
            error = TimedOutError(f"{service.name} stopped waiting for the request.", details=answer.details)
        case status if status >= 500:
            retry_after = _retry_after(answer.headers)
            error = InternalError(
                f"{service.name} failed (HTTP {status}).",
                details=answer.details,
                suggestion="Try again a little later; the provider's status page shows outages.",
                recoverable=True,
            )
        case status:
            error = ConfigError(
                f"{service.name} does not accept embedding requests at this address (HTTP {status}).",
                details=answer.details,
                suggestion=f"Check {service.address_setting}.",
            )
    # refusals of a key repeat it, or parts of it
    return CallFailed(error, retry_after=retry_after, echoed=answer.echoed or answer.status in {401, 403})


def _rate_limit_failure(answer: _ErrorAnswer, service: Service) -> CallFailed:
    limits = "; ".join(f"{name}: {value}" for name, value in sorted(answer.headers.items()) if LIMITS.fullmatch(name))
    details = f"{answer.details} [{limits}]" if limits else answer.details
    if answer.codes & QUOTA:
        quota = QuotaExceededError(
            f"The quota at {service.name} is used up: {answer.words or 'the service gives no details'}",
            details=details,
            suggestion=f"Check billing and limits at {service.billing}, then run again; no other embedder is used.",
        )
        return CallFailed(quota, echoed=answer.echoed)
    after = _retry_after(answer.headers)
    error = RateLimitedError(
        f"{service.name} asks to slow down.",
        details=details,
        suggestion="Wait a little and try again; a smaller EMBEDDING_CONCURRENCY sends less at once.",
        retry_after=after,
    )
    return CallFailed(error, retry_after=after, echoed=answer.echoed)


def _refusal(answer: _ErrorAnswer, service: Service) -> CallFailed:
    if answer.codes & OF_THE_SETTINGS or answer.param in SETTINGS:
        return CallFailed(wrong_settings(answer.details, answer.words, service), echoed=answer.echoed)
    error = InvalidInputError(
        f"{service.name} refused the text: {answer.words or f'HTTP {answer.status}'}",
        details=answer.details,
        suggestion="Change or shorten the text.",
    )
    certain = bool(answer.codes & (OF_THE_CONTENT | OF_THE_BATCH)) or answer.param in {"input", "prompt"}
    return CallFailed(error, refused=True, certain=certain, words=answer.words, echoed=answer.echoed)


def wrong_settings(details: str, words: str, service: Service) -> ConfigError:
    """Return the error for settings that make the service refuse every request."""
    return ConfigError(
        f"{service.name} refuses every request for '{service.asks_for}': {words or details}",
        details=details,
        suggestion=f"Check {service.model_setting}, EMBEDDING_DIMENSIONS and {service.address_setting}.",
    )


def _read_error(exc: APIStatusError, service: Service) -> _ErrorAnswer:
    body = _mapping(cast("object", exc.body)) or {"message": exc.response.text}
    codes = {body.get("code"), body.get("type"), _mapping(body.get("innererror")).get("code")}
    words, echoed = _redact(str(body.get("message") or ""), service)
    return _ErrorAnswer(
        status=exc.status_code,
        codes=frozenset(str(code).lower() for code in codes if code) - {str(exc.status_code)},
        param=str(body.get("param") or ""),
        words=words,
        headers=dict(exc.response.headers.items()),
        echoed=echoed,
    )


def _mapping(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else {}


def _redact(words: str, service: Service) -> tuple[str, bool]:
    """Shorten a message of the service and remove anything like a key; also return whether something was removed."""
    key = service.key.get_secret_value()
    clean = STARRED.sub("[key]", words.replace(key, "[key]") if key else words)
    return " ".join(clean.split())[:MOST_WORDS], clean != words


def _cause(exc: Exception, service: Service) -> str:
    cause = exc.__cause__ or exc
    return _redact(f"{type(cause).__name__}: {cause}", service)[0]


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Read `retry-after-ms`, or else `Retry-After`; returns seconds."""
    milliseconds = requested_pause(headers.get("retry-after-ms", ""))
    return requested_pause(headers.get("retry-after", "")) if milliseconds is None else milliseconds / 1000


def _vectors_of(response: CreateEmbeddingResponse, count: int, service: Service) -> list[Vector]:
    """Return the vectors in the order of the texts, by the index of each, normalised.

    Args:
        response: as the library parsed it, without type checks.
        count: number of texts that were sent.
        service: named in errors.

    Raises:
        WrongAnswerError: the number of vectors is wrong, an index is missing or repeated, or a vector has a wrong
            number of components, a component that is not a finite number, or only zeros.
        ConfigError: another model answered than the one configured.
    """
    answered = known_name(str(response.model or ""))
    if answered is not None and answered != service.model.name and known_name(service.model.name) is not None:
        raise ConfigError(
            f"{service.name} answered with {answered}, but {service.model.name} is configured.",
            suggestion=f"Set EMBEDDING_MODEL to {answered}, or change {service.model_setting}.",
        )
    data: Sequence[object] = response.data
    if len(data) != count:
        raise _wrong(service, f"{len(data)} vectors for {count} texts")
    by_index: dict[int, Vector] = {}
    for item in response.data:
        index = cast("object", item.index)
        if not isinstance(index, int) or isinstance(index, bool) or not 0 <= index < count:
            raise _wrong(service, f"a vector with the index {index!r} among {count} texts")
        if index in by_index:
            raise _wrong(service, f"two vectors with the index {index}")
        by_index[index] = _unit(item.embedding, index, service)
    return [by_index[index] for index in range(count)]


def _billed_tokens(response: CreateEmbeddingResponse) -> int | None:
    """Return the number of tokens that the service bills for the request, or None if it does not say."""
    tokens: object = getattr(response.usage, "total_tokens", None) or getattr(response.usage, "prompt_tokens", None)
    return tokens if isinstance(tokens, int) and tokens >= 0 else None


def _unit(components: Sequence[float], index: int, service: Service) -> Vector:
    try:
        vector = np.asarray(components, dtype=np.float64)
    except (TypeError, ValueError) as exc:
        raise _wrong(service, f"a vector for text {index} that contains no numbers") from exc
    expected = service.model.dimensions
    if vector.shape != (expected,):
        found = str(vector.shape[0]) if vector.ndim == 1 else f"a shape of {vector.shape} instead of"
        raise _wrong(
            service,
            f"a vector of {found} components for text {index}, not {expected}",
            "Set EMBEDDING_DIMENSIONS to that of the model, or choose another EMBEDDING_MODEL.",
        )
    if not np.isfinite(vector).all():
        raise _wrong(service, f"a vector for text {index} with a component that is no finite number")
    with np.errstate(over="ignore"):
        norm = float(np.linalg.norm(vector))
    if not norm > 0.0 or not np.isfinite(norm):
        raise _wrong(service, f"a vector for text {index} that has no direction")
    return (vector / norm).astype("<f4").tobytes()


def _wrong(service: Service, what: str, suggestion: str = "") -> WrongAnswerError:
    usual = f"Check {service.model_setting} and {service.address_setting}, and the service itself."
    return WrongAnswerError(f"{service.name} returned an invalid answer: {what}.", suggestion=suggestion or usual)
