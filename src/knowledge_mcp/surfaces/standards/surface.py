"""The surface itself: what an assistant gets with `--surface standards`."""

from __future__ import annotations

from knowledge_mcp.surfaces.contract import Surface
from knowledge_mcp.surfaces.errors import ErrorEnvelope, render_error
from knowledge_mcp.surfaces.standards.prompts import PROMPTS
from knowledge_mcp.surfaces.standards.resources import COMPLETERS, RESOURCES
from knowledge_mcp.surfaces.standards.tools import TOOLS

__all__ = ["SURFACE"]

SURFACE = Surface(
    name="standards",
    instructions=(
        "Search over ingested standards, handbooks and guides, with evidence that can be checked. "
        "Use knowledge_search for questions, knowledge_lookup for what a term means, knowledge_requirements for what "
        "is mandatory, knowledge_keyword_search for exact words and identifiers, knowledge_stats for which documents "
        "there are. To go deeper: knowledge_outline for a document's headings and pages, knowledge_read for a clause, "
        "pages or what surrounds a result, knowledge_references for what a clause refers to and what refers to it; "
        "knowledge_verify_quote before you present words as a quote. Cite the `citation` of each passage you rely on "
        "and quote it word for word. An empty answer says why in `message`; `degraded` says what failed on the way. A "
        "passage's `uri`, or its document's text at knowledge://documents/{document_id}, can be read as a resource."
    ),
    tools=TOOLS,
    error_model=ErrorEnvelope,
    render_error=render_error,
    prompts=PROMPTS,
    resources=RESOURCES,
    completers=COMPLETERS,
)
"""The surface `standards` (specification A)."""
