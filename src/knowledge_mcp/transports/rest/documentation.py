"""What the REST service's OpenAPI document says of every operation: how it can fail, and that it needs a key."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI, Security
from fastapi.security import HTTPBearer

from knowledge_mcp.transports.rest.answers import FailureAnswer

__all__ = ["BEARER", "DESCRIPTION", "GATED", "described", "failures"]

DESCRIPTION = """\
Take documents in, search them, and get passages with where they stand.

Every address but `/health` and `/ready` needs `Authorization: Bearer <key>`. Every failure has one form:
`{"error", "detail", "status_code", "suggestion"?, "request_id"}`; `X-Request-ID` finds each in the log.
"""

BEARER = Security(HTTPBearer(auto_error=False, description="A key of the service."))
"""Says that an operation needs a key; whether one was shown is looked at long before."""

GATED = (401, 403, 405, 421)
"""How every operation can fail before it is looked at."""

_NAME = FailureAnswer.__name__
_CONTENT = {"application/json": {"schema": {"$ref": f"#/components/schemas/{_NAME}"}}}
_WORDS = {
    400: "The body is no JSON, or cannot be read.",
    401: "No key was sent.",
    403: "The key is not valid, or lacks the right for the collection.",
    404: "What is named does not exist.",
    405: "The method is not allowed here; `Allow` names those that are.",
    408: "The body did not come in time.",
    409: "The collection belongs to another embedding space.",
    413: "The body, or the document, is too large.",
    415: "The body, or the document, is of a type that cannot be read.",
    421: "The Host is not one of this server's.",
    422: "A value is missing, unknown or outside what is allowed; `detail` names it.",
    429: "A service behind asks to slow down; `Retry-After` says how long.",
    500: "The server failed; `request_id` finds the cause in its log.",
    502: "A service behind, or the address to fetch, failed or refused.",
    503: "A service behind cannot be reached now; `Retry-After` says when to try again.",
    504: "It took too long.",
}


def failures(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Document these failures of an operation, and those that every one can have."""
    return {status: {"description": _WORDS[status], "content": _CONTENT} for status in sorted({*statuses, *GATED})}


def described(app: FastAPI) -> dict[str, Any]:
    """Build the OpenAPI document; the form of failures stands in it once, put there by hand.

    As a model of each response it would be built again for every one: most of the time that the service takes to start.
    """
    document = app.openapi()
    document["components"]["schemas"].setdefault(_NAME, FailureAnswer.model_json_schema())
    return document
