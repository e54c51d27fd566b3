"""The error hierarchy: every failure that leaves a package is one of these, and each has one code.

```text
KnowledgeError                    code (A §4.2.3)      recoverable by
├── ConfigError                   config_error         changing the settings
│   └── SpaceMismatchError        config_error         using the collection's own embedding space
├── ConnectionFailedError         connection_error     a later try, another address
├── TimedOutError                 timeout_error        a later try
├── AuthError                     auth_error           another credential
├── NotFoundError                 not_found            another identifier
├── InvalidInputError             invalid_input        another value
│   ├── UnreadableDocumentError   invalid_input        another file, or its password
│   └── ContentRefusedError       invalid_input        leaving the refused texts out
├── RateLimitedError              rate_limited         waiting
│   └── QuotaExceededError        rate_limited         the provider's billing page
└── InternalError                 internal_error       only the developers
    └── DamagedError              internal_error       ingesting the document again, or a backup
```
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextvars import ContextVar
from enum import StrEnum
from typing import ClassVar, TypeVar


class ErrorCode(StrEnum):
    """Codes that a client may see (A-REQ-DATA-004)."""

    CONFIG_ERROR = "config_error"
    CONNECTION_ERROR = "connection_error"
    TIMEOUT_ERROR = "timeout_error"
    AUTH_ERROR = "auth_error"
    NOT_FOUND = "not_found"
    INVALID_INPUT = "invalid_input"
    RATE_LIMITED = "rate_limited"
    INTERNAL_ERROR = "internal_error"


class UnreadableReason(StrEnum):
    """Why a file could not be read (clarification 1)."""

    CORRUPTED = "corrupted"
    ENCRYPTED = "encrypted"
    PASSWORD_PROTECTED = "password_protected"
    EMPTY = "empty"
    UNSUPPORTED = "unsupported"
    MISLABELLED = "mislabelled"
    TOO_LARGE = "too_large"
    TOO_SLOW = "too_slow"
    INACCESSIBLE = "inaccessible"
    IMAGE_BASED = "image_based"


class KnowledgeError(Exception):
    """The base of all errors, in the form of A-REQ-REL-001.

    Args:
        message: one sentence for a person; no secret, no traceback. `problem` is the same for a list that names the
            file.
        details: technical details for the person who fixes it; no secret.
        suggestion: what to do next, one sentence.
        recoverable: whether a changed call or a later try can succeed; the default is that of the class.
    """

    code: ClassVar[ErrorCode] = ErrorCode.INTERNAL_ERROR
    recoverable_by_default: ClassVar[bool] = False
    default_suggestion: ClassVar[str] = "Report this together with the server's log."

    def __init__(
        self, message: str, *, details: str = "", suggestion: str | None = None, recoverable: bool | None = None
    ) -> None:
        super().__init__(message)
        self.message = self.problem = message
        self.details = details
        self.suggestion = self.default_suggestion if suggestion is None else suggestion
        self.recoverable = self.recoverable_by_default if recoverable is None else recoverable


class ConfigError(KnowledgeError):
    """A setting is missing, malformed or contradicts another."""

    code = ErrorCode.CONFIG_ERROR
    default_suggestion = "Run `knowledge doctor` to see which setting to change."


class SpaceMismatchError(ConfigError):
    """A collection belongs to another embedding space than the configured one."""

    default_suggestion = "Configure the embedding model of the collection, or choose another collection."


class ConnectionFailedError(KnowledgeError):
    """An external service or a store could not be reached."""

    code = ErrorCode.CONNECTION_ERROR
    recoverable_by_default = True
    default_suggestion = "Check that the service is running and that its address is correct, then try again."


class TimedOutError(KnowledgeError):
    """An operation timed out."""

    code = ErrorCode.TIMEOUT_ERROR
    recoverable_by_default = True
    default_suggestion = "Try again; if it happens often, the service is overloaded."


class AuthError(KnowledgeError):
    """A credential was refused."""

    code = ErrorCode.AUTH_ERROR
    default_suggestion = "Check the API key."


class NotFoundError(KnowledgeError):
    """A named thing does not exist."""

    code = ErrorCode.NOT_FOUND
    recoverable_by_default = True
    default_suggestion = "List what exists, then use one of the listed ids."


class InvalidInputError(KnowledgeError):
    """A value is outside what is allowed."""

    code = ErrorCode.INVALID_INPUT
    recoverable_by_default = True
    default_suggestion = "Correct the value, then try again."


class UnreadableDocumentError(InvalidInputError):
    """A file's bytes could not be read as a document.

    Args:
        problem: one sentence that does not name the file, for lists that do; the message names it.
        name: the file's name; empty if the problem names it.
        reason: one of `UnreadableReason`.
        source: the file's path or URI, as the user gave it.
        facts: measurements of the file, for reports.
    """

    default_suggestion = "Replace or repair the file, then try again."

    def __init__(
        self,
        problem: str,
        *,
        reason: UnreadableReason,
        source: str,
        name: str = "",
        details: str = "",
        suggestion: str | None = None,
        facts: Mapping[str, str] | None = None,
    ) -> None:
        message = f"Cannot read {name}: {problem}" if name else problem
        super().__init__(message, details=details, suggestion=suggestion)
        self.problem = problem
        self.reason = reason
        self.source = source
        self.facts = dict(facts or {})


class ContentRefusedError(InvalidInputError):
    """An embedding service refused some texts of a call; holds the vectors of the others.

    Args:
        vectors: one per text of the call, in order; None if it was refused.
        reasons: the service's message, by the index of the refused text.
    """

    default_suggestion = "The refused texts were skipped. Change them in the document if they should be found."

    def __init__(
        self,
        message: str,
        *,
        vectors: Sequence[bytes | None],
        reasons: Mapping[int, str],
        details: str = "",
        suggestion: str | None = None,
    ) -> None:
        super().__init__(message, details=details, suggestion=suggestion)
        self.vectors = tuple(vectors)
        self.reasons = dict(reasons)


class RateLimitedError(KnowledgeError):
    """A service asked us to slow down.

    Args:
        retry_after: seconds to wait, if the service stated them.
    """

    code = ErrorCode.RATE_LIMITED
    recoverable_by_default = True
    default_suggestion = "Wait a moment, then try again."

    def __init__(
        self, message: str, *, details: str = "", suggestion: str | None = None, retry_after: float | None = None
    ) -> None:
        super().__init__(message, details=details, suggestion=suggestion)
        self.retry_after = retry_after


class QuotaExceededError(RateLimitedError):
    """A paid quota is used up; waiting does not help."""

    default_suggestion = "Check the provider's billing page, then try again."


class InternalError(KnowledgeError):
    """An unexpected failure: a bug, or an error inside a service."""


class WrongAnswerError(InternalError):
    """A service gave an invalid answer, such as a vector without numbers; a retry does not help."""


class DamagedError(InternalError):
    """Stored data of a document is not what was stored; it is never given as evidence.

    Args:
        what: the part: "passage", "record", "canonical text", "structure" or "vector".
        document_id: the document, empty if not even that can be read.
        chunk_id: the chunk of a passage or vector, otherwise empty.
    """

    default_suggestion = "Ingest the document again with --force; `knowledge doctor` lists everything that is damaged."

    def __init__(
        self,
        message: str,
        *,
        details: str = "",
        suggestion: str | None = None,
        what: str = "",
        document_id: str = "",
        chunk_id: str = "",
    ) -> None:
        super().__init__(message, details=details, suggestion=suggestion)
        self.what = what
        self.document_id = document_id
        self.chunk_id = chunk_id

    @classmethod
    def of(cls, what: str, document_id: str = "", chunk_id: str = "", *, why: str = "") -> DamagedError:
        """Build the error for a damaged part, with the evidence."""
        name = f"{what} {chunk_id}" if chunk_id else what
        whose = f" of document '{document_id}'" if document_id else ""
        message = f"The {name}{whose} is damaged in the store."
        return cls(message, details=why, what=what, document_id=document_id, chunk_id=chunk_id)


@contextlib.contextmanager
def needing(extra: str, message: str, *, otherwise: str = "") -> Generator[None]:
    """Turn a missing optional dependency into a `ConfigError` while importing it.

    Args:
        extra: the extra of this package that installs it.
        message: what cannot be done without it.
        otherwise: an alternative to installing it, added to the suggestion.

    Raises:
        ConfigError: it is not installed.
    """
    try:
        yield
    except ImportError as exc:
        from knowledge_mcp.support.distribution import install_command  # slow to load

        raise ConfigError(message, details=str(exc), suggestion=f"Run: {install_command(extra)}{otherwise}") from exc


_MOST_OF_A_REASON = 300


def reason_of(error: BaseException) -> str:
    """Describe an unexpected exception in one line: its class, and its text if it has one."""
    text = " ".join(str(error).split())[:_MOST_OF_A_REASON]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def may_pass(error: BaseException) -> bool:
    """Return whether the same call may succeed a little later, so that a retry makes sense (A-REQ-REL-002).

    Connection failures, timeouts, rate limits and recoverable `InternalError`s of adapters (a service's 5xx) may pass,
    unless the raiser set `recoverable` itself; refused credentials, wrong input and used-up quotas do not.
    """
    if not isinstance(error, ConnectionFailedError | TimedOutError | RateLimitedError | InternalError):
        return False
    return error.recoverable and not isinstance(error, QuotaExceededError)


def class_of(code: str) -> type[KnowledgeError]:
    """Return the base class of errors with a code; `InternalError` if it is not a code."""
    kinds = ConfigError, ConnectionFailedError, TimedOutError, AuthError, NotFoundError, InvalidInputError
    return next((each for each in (*kinds, RateLimitedError) if each.code.value == code), InternalError)


T = TypeVar("T")
S = TypeVar("S")

_noticed: ContextVar[list[DamagedError] | None] = ContextVar("noticed", default=None)


@contextlib.contextmanager
def noticing() -> Generator[list[DamagedError]]:
    """Collect what this thread's reads leave out as damaged until the context ends; the caller must report it."""
    found: list[DamagedError] = []
    token = _noticed.set(found)
    try:
        yield found
    finally:
        _noticed.reset(token)


def is_noticing() -> bool:
    """Return whether this thread's reads leave out what is damaged, as those of an ingest do, which repairs it."""
    return _noticed.get() is not None


def leave_out(damage: DamagedError) -> None:
    """Leave out something damaged.

    Raises:
        DamagedError: there is no `noticing` context, so it would be lost silently.
    """
    found = _noticed.get()
    if found is None:
        raise damage
    if all(each.message != damage.message for each in found):
        found.append(damage)


def sound(items: Iterable[S], read: Callable[[S], T]) -> list[T]:
    """Read items, leaving out those that are damaged."""
    values: list[T] = []
    for each in items:
        try:
            values.append(read(each))
        except DamagedError as exc:
            leave_out(exc)
    return values


class CancelledError(KnowledgeError):
    """The work was stopped because its caller cancelled it or the process ends."""

    recoverable_by_default = True
    default_suggestion = "Start it again; nothing of it was kept."
