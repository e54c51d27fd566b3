"""The page that clients with MCP Apps (SEP-1865) show in the chat.

It shows what was read and its page with the passage marked, and what changed between editions, struck out and put in.
Other clients lack nothing: the answers are the same, and `picture` of `knowledge_read` gives the page as an image.
"""

from __future__ import annotations

from importlib.resources import files

from mcp.server.apps import Apps

from knowledge_mcp.transports.mcp.listing import VIEW


def view_page() -> str:
    """Read the page: HTML that needs nothing else, and gets its answers from the client that shows it."""
    return files("knowledge_mcp.transports.mcp").joinpath("view.html").read_text(encoding="utf-8")


def view_extension() -> Apps:
    """Serve the page; it reaches no address, and asks for no rights."""
    apps = Apps()
    apps.add_html_resource(
        VIEW,
        view_page(),
        name="view",
        title="Knowledge",
        description="Shows answers of knowledge_read and knowledge_changes in the chat.",
        prefers_border=True,
    )
    return apps
