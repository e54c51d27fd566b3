"""What a server's status means, as errors of ours."""

from __future__ import annotations

import email.utils
import math
import time

from knowledge_mcp.model.errors import (
    AuthError,
    ConnectionFailedError,
    InvalidInputError,
    KnowledgeError,
    NotFoundError,
    RateLimitedError,
    TimedOutError,
)
from knowledge_mcp.sources.web_address import WebAddress
from knowledge_mcp.sources.web_exchange import Head

__all__ = ["REDIRECTS", "status_error"]

REDIRECTS = frozenset({301, 302, 303, 307, 308})
_WHOLE = frozenset({200, 203})


def status_error(head: Head, address: WebAddress) -> KnowledgeError | None:
    """Make the error of an answer's status; None where a document comes with it."""
    status, shown = head.status, address.shown
    details = f"HTTP status {status}"
    if status in _WHOLE:
        return None
    if status in {404, 410}:
        return NotFoundError(f"There is nothing at {shown}.", details=details, suggestion="Check the address.")
    if status in {401, 403, 407}:
        return AuthError(
            f"{shown} is not open to everyone.",
            details=details,
            suggestion="Nothing is fetched with credentials; bring the document as a file.",
        )
    if status == 429:
        return RateLimitedError(
            f"{address.host} asks to wait.", details=details, retry_after=_seconds(head.first("retry-after"))
        )
    if status == 408:
        return TimedOutError(f"{address.host} gave up waiting.", details=details)
    if status >= 500:
        return ConnectionFailedError(
            f"{address.host} cannot give {shown} now.",
            details=details,
            suggestion="The fault is the site's; try again later.",
        )
    return InvalidInputError(
        f"{shown} gives no document (status {status}).", details=details, suggestion="Check the address."
    )


def _seconds(text: str) -> float | None:
    """Read a `Retry-After`, in seconds or as a date; None where it is neither."""
    try:
        seconds = float(text)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(text).timestamp() - time.time()
        except (ValueError, OverflowError):
            return None
    return max(0.0, seconds) if math.isfinite(seconds) else None
