"""What a paid embedding service does wrong, as values for the stand-in: error answers, broken vectors, broken lines."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

Item = tuple[int, Sequence[float]]
"""Index and components of one vector of an answer."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Say how one answer differs from the right one.

    Attributes:
        status: of the answer; other than 200 it carries `body` in place of vectors.
        body: bytes in place of the right answer, None for the right one.
        headers: additional ones.
        change: what is done to the vectors of a right answer.
        send: the whole answer; half of it, with the length of the whole; one byte at a time until `release`; or
            nothing but a closed connection.
        release: waited for before the answer is sent (with `drip`: while it is sent).
        content_type: of the answer.
    """

    status: int = 200
    body: bytes | None = None
    headers: Mapping[str, str] | None = None
    change: Callable[[list[Item]], list[Item]] | None = None
    send: Literal["whole", "half", "drip", "nothing"] = "whole"
    release: threading.Event | None = None
    content_type: str = "application/json"


def error(
    status: int,
    message: str,
    *,
    kind: str | None = None,
    code: str | None = None,
    param: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> Fault:
    """Answer with an error object of OpenAI's form; Azure's is the same with other codes."""
    from json import dumps

    body = {"error": {"message": message, "type": kind, "param": param, "code": code}}
    return Fault(status, dumps(body).encode(), headers)


def unauthorized(message: str = "Incorrect API key provided.") -> Fault:
    """Refuse the key."""
    return error(401, message, kind="invalid_request_error", code="invalid_api_key")


def forbidden() -> Fault:
    """Refuse the country."""
    return error(
        403, "Country, region, or territory not supported", kind="request_forbidden", code="unsupported_country"
    )


def model_not_found(model: str = "text-embedding-9") -> Fault:
    """Not know the model."""
    message = f"The model `{model}` does not exist or you do not have access to it."
    return error(404, message, kind="invalid_request_error", code="model_not_found")


def deployment_not_found() -> Fault:
    """Not know the deployment, as Azure says it."""
    return error(404, "The API deployment for this resource does not exist.", code="DeploymentNotFound")


def rate_limited(headers: Mapping[str, str] | None = None) -> Fault:
    """Ask to slow down."""
    return error(429, "Rate limit reached for requests", kind="requests", code="rate_limit_exceeded", headers=headers)


def quota_used_up(headers: Mapping[str, str] | None = None) -> Fault:
    """Tell that nothing is left to spend."""
    message = "You exceeded your current quota, please check your plan and billing details."
    return error(429, message, kind="insufficient_quota", code="insufficient_quota", headers=headers)


def refused(message: str = "The input is invalid.", *, code: str | None = None, param: str | None = None) -> Fault:
    """Refuse the request for what it holds."""
    return error(400, message, kind="invalid_request_error", code=code, param=param)


def filtered() -> Fault:
    """Refuse the text for its content, as Azure says it."""
    return error(400, "The prompt triggered the content management policy.", code="content_filter", param="prompt")


def too_many_tokens(message: str = "Requested 400000 tokens, max 300000 tokens per request") -> Fault:
    """Refuse the request for its length."""
    return error(400, message, kind="max_tokens_per_request", code="max_tokens_per_request")


def server_error(status: int = 500, headers: Mapping[str, str] | None = None) -> Fault:
    """Fail on the service's own account."""
    return error(status, "The server had an error while processing your request.", kind="server_error", headers=headers)


def text(body: str, *, content_type: str = "application/json", status: int = 200) -> Fault:
    """Answer with these very words, such as half an object, or a proxy's page."""
    return Fault(status, body.encode(), content_type=content_type)


def silent(release: threading.Event) -> Fault:
    """Send nothing before the event."""
    return Fault(release=release)


def dripping(release: threading.Event) -> Fault:
    """Send the answer a byte at a time until the event, so that no wait for bytes is long."""
    return Fault(send="drip", release=release)


def cut_off() -> Fault:
    """Send half of the body and close."""
    return Fault(send="half")


def dropped() -> Fault:
    """Close the connection without a word."""
    return Fault(send="nothing")


def wrong_dimensions(by: int = -1) -> Fault:
    """Give vectors of fewer or more components."""

    def change(items: list[Item]) -> list[Item]:
        return [(index, [*components, *[0.0] * by] if by > 0 else components[:by]) for index, components in items]

    return Fault(change=change)


def not_a_number(value: float = math.nan) -> Fault:
    """Put NaN, or another value, into the last vector."""

    def change(items: list[Item]) -> list[Item]:
        index, components = items[-1]
        return [*items[:-1], (index, [value, *components[1:]])]

    return Fault(change=change)


def no_direction() -> Fault:
    """Give a last vector of zeros."""

    def change(items: list[Item]) -> list[Item]:
        index, components = items[-1]
        return [*items[:-1], (index, [0.0] * len(components))]

    return Fault(change=change)


def reordered() -> Fault:
    """Give the vectors in another order than the texts, each with its right index."""
    return Fault(change=lambda items: [*items[1::2], *items[::2]])


def doubled_index() -> Fault:
    """Give two vectors the same index."""
    return Fault(change=lambda items: [*items[:-1], (items[0][0], items[-1][1])])


def one_missing() -> Fault:
    """Leave out the last vector."""
    return Fault(change=lambda items: items[:-1])
