"""The surface itself: what an assistant gets with `--surface rag`."""

from __future__ import annotations

from knowledge_mcp.surfaces.contract import Surface
from knowledge_mcp.surfaces.errors import ErrorEnvelope, render_error
from knowledge_mcp.surfaces.rag.tools import TOOLS

__all__ = ["SURFACE"]

SURFACE = Surface(
    name="rag",
    instructions=(
        "Documents in named collections (projects, teams, domains), found by meaning and by words. Use "
        "list_collections to see which there are, search to find passages in one of them, get_document to read a "
        "document whole, ingest_url to take in what an https address names. Cite `metadata.citation` (source and page) "
        "of each passage you rely on. Empty `results` mean that nothing was found; `message` says why, `degraded` what "
        "failed on the way."
    ),
    tools=TOOLS,
    error_model=ErrorEnvelope,
    render_error=render_error,
)
"""The surface `rag` (specification D)."""
