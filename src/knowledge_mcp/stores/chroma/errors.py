"""Converts every failure of ChromaDB, its HTTP client and its compiled core into a `KnowledgeError`.

The client discards the status code of an answer if its body is not one of the client's own errors. Therefore
`raise_for_status` is installed as a hook in its HTTP session and sees each answer first.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Generator
from typing import Any

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
)
from knowledge_mcp.support.distribution import install_command
from knowledge_mcp.support.retry import requested_pause

_MOST_DETAILS = 500
_FULL = ("disk is full", "no space left", "database or disk", "disk quota", "(code: 13)")
_DAMAGED = ("malformed", "not a database", "corrupt", "(code: 11)", "(code: 26)", "no such table", "missing column")
_READ_ONLY = (
    "readonly",
    "read-only",
    "permission denied",
    "unable to open",
    "operation not permitted",
    "not a directory",
)
_BUSY = ("database is locked", "database table is locked", "(code: 5)", "(code: 6)")
_INPUT = ("Invalid", "Duplicate", "IDAlreadyExists", "BatchSize", "Validation")


class GoneError(NotFoundError):
    """ChromaDB does not have a collection any more that existed before."""


class NameTakenError(InternalError):
    """ChromaDB already has a collection of that name."""


class StatusError(Exception):
    """An HTTP answer with an error status.

    Args:
        status: status code.
        text: body, shortened.
        retry_after: seconds to wait, as the service requested, or None.
    """

    def __init__(self, status: int, text: str, retry_after: float | None = None) -> None:
        super().__init__(f"HTTP {status}: {text}")
        self.status = status
        self.text = text
        self.retry_after = retry_after


def raise_for_status(response: Any) -> None:
    """Raise a StatusError for status codes from 400 (an event hook of `httpx`)."""
    if response.status_code < 400:
        return
    response.read()
    pause = requested_pause(response.headers.get("retry-after", ""))
    raise StatusError(response.status_code, response.text[:_MOST_DETAILS], pause)


@contextlib.contextmanager
def mapped(location: str) -> Generator[None]:
    """Raise any failure inside as a KnowledgeError that names the store."""
    try:
        yield
    except (KnowledgeError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as exc:
        # a panic of the compiled core is not an Exception; all other BaseExceptions pass through
        if not isinstance(exc, Exception) and type(exc).__name__ != "PanicException":
            raise
        raise as_knowledge_error(exc, location) from exc


def as_knowledge_error(error: BaseException, location: str) -> KnowledgeError:
    """Convert an exception into a `KnowledgeError`; the original text goes into its details."""
    details = f"{type(error).__name__}: {error}"[:_MOST_DETAILS]
    if isinstance(error, StatusError):
        return _of_status(error.status, error.text, location, details, error.retry_after)
    kinds = {(each.__module__.partition(".")[0], each.__name__) for each in type(error).__mro__}
    if ("httpx", "HTTPError") in kinds or ("httpx", "InvalidURL") in kinds or ("httpcore", "NetworkError") in kinds:
        return _of_transport({name for _, name in kinds}, location, details)
    if ("chromadb", "ChromaError") in kinds:
        return _of_chroma(error, location, details)
    if isinstance(error, ImportError):
        return missing(details)
    if isinstance(error, UnicodeError) or "surrogate" in str(error):
        return InvalidInputError("A text contains half of a surrogate pair, which cannot be stored.", details=details)
    if isinstance(error, json.JSONDecodeError):
        return InternalError(f"ChromaDB at {location} returned an answer that cannot be read.", details=details,
                             recoverable=True)  # fmt: skip
    return _of_text(str(error), location, details)


def missing(details: str) -> ConfigError:
    """Return the error for a missing library."""
    return ConfigError(
        "The ChromaDB library is not installed.",
        details=details,
        suggestion=f"Run: {install_command('chroma')}, or choose another VECTOR_STORE.",
    )


def _of_transport(kinds: set[str], location: str, details: str) -> KnowledgeError:
    if "TimeoutException" in kinds:
        return TimedOutError(f"ChromaDB at {location} did not answer in time.", details=details)
    if kinds & {"UnsupportedProtocol", "InvalidURL"}:
        return ConfigError(
            f"'{location}' is not the address of a ChromaDB server.",
            details=details,
            suggestion="Check CHROMADB_HOST and CHROMADB_PORT.",
        )
    return ConnectionFailedError(
        f"ChromaDB at {location} could not be reached.",
        details=details,
        suggestion="Check that the server runs (`chroma run`) and that CHROMADB_HOST and CHROMADB_PORT are correct.",
    )


def _of_chroma(error: BaseException, location: str, details: str) -> KnowledgeError:
    """Convert an error of the library. The embedded core reports most failures as one class, so the message decides."""
    name = type(error).__name__
    code: Any = getattr(error, "code", lambda: 500)
    status = int(code())
    if name == "QuotaError":
        return QuotaExceededError(f"ChromaDB at {location} reports that a quota is used up.", details=details)
    if name in {"InternalError", "ChromaError", "UniqueConstraintError"}:
        return _of_text(str(error), location, details)
    if name.startswith(_INPUT):
        return _refused(location, details)
    return _of_status(status, str(error), location, details, None)


def _of_status(status: int, text: str, location: str, details: str, retry_after: float | None) -> KnowledgeError:
    if status in {401, 403}:
        return AuthError(
            f"ChromaDB at {location} refused the credential.", details=details, suggestion="Check CHROMADB_TOKEN."
        )
    if status == 404:
        return GoneError(
            f"ChromaDB at {location} does not contain what was requested.",
            details=details,
            suggestion="If another program dropped it, run again; `knowledge collections list` shows what exists.",
        )
    if status == 409 or "already exists" in text:
        return NameTakenError(f"ChromaDB at {location} already has a collection of that name.", details=details)
    if status in {408, 504}:
        return TimedOutError(f"ChromaDB at {location} did not answer in time.", details=details)
    if status == 429:
        return RateLimitedError(
            f"ChromaDB at {location} asked us to slow down.", details=details, retry_after=retry_after
        )
    if status >= 500:
        named = _of_text(text, location, details)
        if type(named) is not InternalError or _has(text, _DAMAGED):
            return named
        return InternalError(f"ChromaDB at {location} failed (HTTP {status}).", details=details, recoverable=True)
    return _refused(location, details)


def _of_text(text: str, location: str, details: str) -> KnowledgeError:
    """Classify a failure by its message, as SQLite and the operating system word it."""
    if "already exists" in text:
        return NameTakenError(f"ChromaDB at {location} already has a collection of that name.", details=details)
    if _has(text, _FULL):
        return ConnectionFailedError(
            f"There is no space left to write to ChromaDB at {location}; what was stored before is complete.",
            details=details,
            suggestion="Free space on the disk, then run again.",
        )
    if _has(text, _READ_ONLY):
        return ConnectionFailedError(
            f"ChromaDB at {location} cannot be opened for writing.",
            details=details,
            suggestion="Check the permissions of the folder, or set CHROMADB_PATH to another one.",
        )
    if _has(text, _BUSY):
        return TimedOutError(f"ChromaDB at {location} is used by another process.", details=details)
    if _has(text, _DAMAGED):
        return InternalError(
            f"ChromaDB at {location} is damaged or is not a ChromaDB.",
            details=details,
            suggestion="Move the folder away or restore a backup, then ingest the documents again.",
        )
    return InternalError(f"ChromaDB at {location} could not be used.", details=details)


def _refused(location: str, details: str) -> InvalidInputError:
    return InvalidInputError(
        f"ChromaDB at {location} refused the request.", details=details, suggestion="See the details."
    )


def _has(text: str, words: tuple[str, ...]) -> bool:
    folded = text.lower()
    return any(word in folded for word in words)
