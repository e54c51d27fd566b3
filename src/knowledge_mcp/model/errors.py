"""The error tree: every failure that leaves a room of this product is one of these, with one code each.

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
└── InternalError                 internal_error       nobody but us
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
    """Carry a failure to whoever asked, in the form of A-REQ-REL-001.

    Args:
        message: one sentence for a person; no secret, no traceback.
        details: technical details for whoever fixes it; no secret.
        suggestion: what to do next, one sentence.
        recoverable: whether a changed call or a later try can succeed; default is the class's.
    """

    code: ClassVar[ErrorCode] = ErrorCode.INTERNAL_ERROR
    recoverable_by_default: ClassVar[bool] = False
    default_suggestion: ClassVar[str] = "Report this together with the server's log."

    def __init__(
        self, message: str, *, details: str = "", suggestion: str | None = None, recoverable: bool | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.details = details
        self.suggestion = self.default_suggestion if suggestion is None else suggestion
        self.recoverable = self.recoverable_by_default if recoverable is None else recoverable


class ConfigError(KnowledgeError):
    """Say that a setting is missing, malformed or contradicts another."""

    code = ErrorCode.CONFIG_ERROR
    default_suggestion = "Run `knowledge doctor` to see which setting to change."


class SpaceMismatchError(ConfigError):
    """Say that a collection belongs to another embedding space than the one configured."""

    default_suggestion = "Configure the embedding model of the collection, or choose another collection."


class ConnectionFailedError(KnowledgeError):
    """Say that an external service or a store could not be reached."""

    code = ErrorCode.CONNECTION_ERROR
    recoverable_by_default = True
    default_suggestion = "Check that the service is running and that its address is correct, then try again."


class TimedOutError(KnowledgeError):
    """Say that an operation ran out of its time."""

    code = ErrorCode.TIMEOUT_ERROR
    recoverable_by_default = True
    default_suggestion = "Try again; if it happens often, the service is overloaded."


class AuthError(KnowledgeError):
    """Say that a credential was refused."""

    code = ErrorCode.AUTH_ERROR
    default_suggestion = "Check the API key."


class NotFoundError(KnowledgeError):
    """Say that a named thing does not exist."""

    code = ErrorCode.NOT_FOUND
    recoverable_by_default = True
    default_suggestion = "List what exists, then use one of the listed ids."


class InvalidInputError(KnowledgeError):
    """Say that a value is outside what is allowed."""

    code = ErrorCode.INVALID_INPUT
    recoverable_by_default = True
    default_suggestion = "Correct the value, then try again."


class UnreadableDocumentError(InvalidInputError):
    """Say that a file's bytes could not be read as a document, and why.

    Args:
        reason: one of `UnreadableReason`.
        source: the file's path or uri, as the user gave it.
        facts: what was measured of the file, for whoever tells it.
    """

    default_suggestion = "Replace or repair the file, then try again."

    def __init__(
        self,
        message: str,
        *,
        reason: UnreadableReason,
        source: str,
        details: str = "",
        suggestion: str | None = None,
        facts: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message, details=details, suggestion=suggestion)
        self.reason = reason
        self.source = source
        self.facts = dict(facts or {})


class ContentRefusedError(InvalidInputError):
    """Say that an embedding service refused some texts of a call, and give what it made of the others.

    Args:
        vectors: one per text of the call, in order; None where it was refused.
        reasons: the service's words, by the index of the refused text.
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
    """Say that a service asked us to slow down.

    Args:
        retry_after: seconds that the service asked us to wait, when it said so.
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
    """Say that a paid quota is used up; waiting does not help."""

    default_suggestion = "Check the provider's billing page, then try again."


class InternalError(KnowledgeError):
    """Say that something that cannot happen has happened."""


class WrongAnswerError(InternalError):
    """Say that a service answered what it must not, such as a vector that holds no numbers; asking again is no help."""


class DamagedError(InternalError):
    """Say that what the store holds of a document is not what was stored: it is never given as evidence.

    Args:
        what: the part: "passage", "record", "canonical text", "structure" or "vector".
        document_id: whose it is, empty where not even that can be read.
        chunk_id: of a passage or its vector, else empty.
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
        """Say that a part is damaged, and why that is known."""
        name = f"{what} {chunk_id}" if chunk_id else what
        whose = f" of document '{document_id}'" if document_id else ""
        message = f"The {name}{whose} is damaged in the store."
        return cls(message, details=why, what=what, document_id=document_id, chunk_id=chunk_id)


@contextlib.contextmanager
def needing(extra: str, message: str, *, otherwise: str = "") -> Generator[None]:
    """Import what only an extra of this package brings.

    Args:
        extra: its name.
        message: says what cannot be done without it.
        otherwise: what else can be done than to install it, added to the suggestion.

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
    """Tell whether the same call may succeed a little later, so that it is worth a retry (A-REQ-REL-002).

    Connections, time-outs, rate limits and what an adapter calls a recoverable `InternalError` (a service's 5xx) may
    pass, unless the one who raised it knows better; refused credentials, wrong input and used-up quotas do not.
    """
    if not isinstance(error, ConnectionFailedError | TimedOutError | RateLimitedError | InternalError):
        return False
    return error.recoverable and not isinstance(error, QuotaExceededError)


def class_of(code: str) -> type[KnowledgeError]:
    """Choose the plain class of errors with a code; `InternalError` for what is no code."""
    kinds = ConfigError, ConnectionFailedError, TimedOutError, AuthError, NotFoundError, InvalidInputError
    return next((each for each in (*kinds, RateLimitedError) if each.code.value == code), InternalError)


T = TypeVar("T")
S = TypeVar("S")

_noticed: ContextVar[list[DamagedError] | None] = ContextVar("noticed", default=None)


@contextlib.contextmanager
def noticing() -> Generator[list[DamagedError]]:
    """Gather what this thread's reads leave out as damaged until the context ends; the caller must name it."""
    found: list[DamagedError] = []
    token = _noticed.set(found)
    try:
        yield found
    finally:
        _noticed.reset(token)


def leave_out(damage: DamagedError) -> None:
    """Leave something damaged out.

    Raises:
        DamagedError: nobody is noticing, so that it would go missing without a word.
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
    """Say that the work was stopped because its caller asked for that, or because the process ends."""

    recoverable_by_default = True
    default_suggestion = "Start it again; nothing of it was kept."
