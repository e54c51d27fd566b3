"""The surface itself: what an assistant gets with `--surface repositories`."""

from __future__ import annotations

from knowledge_mcp.surfaces.contract import Surface
from knowledge_mcp.surfaces.errors import ErrorEnvelope, render_error
from knowledge_mcp.surfaces.repositories.tools import TOOLS

__all__ = ["SURFACE"]

SURFACE = Surface(
    name="repositories",
    instructions=(
        "Search over the code of indexed repositories. Use semantic_search to find code by what it does, by a symbol's "
        "name or by an error message; read_file_lines for more of a file around a result; list_indexed_repositories "
        "for what is indexed and how fresh it is; refresh_repository where `stale` is true. Cite file_path with "
        "start_line and end_line, or the permalink. An empty answer says why in `message`."
    ),
    tools=TOOLS,
    error_model=ErrorEnvelope,
    render_error=render_error,
)
"""The surface `repositories` (specification C)."""
