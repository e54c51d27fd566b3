"""The error object that callers see (A-REQ-REL-001), and how a KnowledgeError becomes one."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from knowledge_mcp.model.errors import ErrorCode, KnowledgeError

__all__ = ["MAX_DETAILS", "ErrorEnvelope", "ErrorInfo", "render_error"]

MAX_DETAILS = 2000
"""Most characters of `message`, `details` and `suggestion` each; what is longer is cut with an ellipsis."""


class ErrorInfo(BaseModel):
    """Describe a failure to whoever asked."""

    model_config = ConfigDict(defer_build=True)

    code: ErrorCode
    message: str = Field(description="What went wrong, one sentence.")
    details: str = Field(description="Technical details; may be empty.")
    recoverable: bool = Field(description="Whether a changed call or a later try can succeed.")
    suggestion: str = Field(description="What to do next.")


class ErrorEnvelope(BaseModel):
    """Wrap the failure, so that an answer and an error are told apart by their one top-level name."""

    model_config = ConfigDict(defer_build=True)

    error: ErrorInfo


def render_error(error: KnowledgeError) -> dict[str, Any]:
    """Put an error into the form `{"error": {code, message, details, recoverable, suggestion}}`."""
    return {
        "error": {
            "code": error.code.value,
            "message": _cut(error.message),
            "details": _cut(error.details),
            "recoverable": error.recoverable,
            "suggestion": _cut(error.suggestion),
        }
    }


def _cut(text: str) -> str:
    return text if len(text) <= MAX_DETAILS else text[: MAX_DETAILS - 1] + "…"
