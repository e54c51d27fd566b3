"""The surface itself: what an assistant gets with `--surface convert`."""

from __future__ import annotations

from knowledge_mcp.surfaces.contract import Surface
from knowledge_mcp.surfaces.convert.tools import TOOLS
from knowledge_mcp.surfaces.errors import ErrorEnvelope, render_error

__all__ = ["SURFACE"]

SURFACE = Surface(
    name="convert",
    instructions=(
        "Documents of this machine as text. Use convert_to_text to read a file (PDF, Word, PowerPoint, Excel, images, "
        "HTML, CSV, JSON, XML, Markdown) as Markdown; lines `<!-- page 3 -->` tell where a page begins, so that you "
        "can cite it. Use convert_and_ingest to convert a file and send its text to the RAG API, where it becomes "
        "searchable. Nothing is indexed or searched here: the remote RAG server has the tool search."
    ),
    tools=TOOLS,
    error_model=ErrorEnvelope,
    render_error=render_error,
)
