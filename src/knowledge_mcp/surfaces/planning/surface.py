"""The surface itself: what an assistant gets with `--surface planning`."""

from __future__ import annotations

from knowledge_mcp.surfaces.contract import Surface
from knowledge_mcp.surfaces.planning.errors import ErrorAnswer, render_error
from knowledge_mcp.surfaces.planning.tools import TOOLS

__all__ = ["SURFACE"]

SURFACE = Surface(
    name="planning",
    instructions=(
        "The documents of planning applications: reports, statements, plans, scans. Use ingest_document to take a file "
        "in for an application, search_application_docs to find passages in one application or in all, "
        "list_ingested_documents to see what there is, get_document_text to read a document whole. Cite source_file "
        "and page_numbers. A document that is `skipped` as image_based holds pictures and no text worth reading; its "
        "`pages` say so page by page, and force_ocr reads it all the same. `warnings` name pages whose text is lost or "
        "doubtful."
    ),
    tools=TOOLS,
    error_model=ErrorAnswer,
    render_error=render_error,
)
