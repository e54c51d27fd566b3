"""The error object of this surface: `{status: "error", error_type, message}` (B-FR-001, B-FR-003)."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from knowledge_mcp.engine.filing_values import explain
from knowledge_mcp.model.errors import KnowledgeError
from knowledge_mcp.surfaces.errors import MAX_DETAILS

__all__ = ["ErrorAnswer", "render_error"]


class ErrorAnswer(BaseModel):
    """Describe a failure to whoever asked."""

    model_config = ConfigDict(defer_build=True)

    status: Literal["error"]
    error_type: str = Field(
        description="file_not_found, unsupported_file_type, extraction_failed, no_content, no_chunks, "
        "document_not_found, job_not_found, path_not_allowed, cancelled, invalid_input, or what failed inside."
    )
    message: str = Field(description="What went wrong, one sentence.")
    suggestion: str = Field(default="", description="What to do next.")
    details: str = ""


def render_error(error: KnowledgeError) -> dict[str, Any]:
    """Put an error into this surface's form; what it adds stands only where there is something to say."""
    told = explain(error) | ({"details": error.details} if error.details else {})
    return {name: value[:MAX_DETAILS] for name, value in told.items()}
