"""Web pages to `Document`: uploaded ones whole, crawled ones (their uri begins with https://) by their main content."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from knowledge_mcp.model.source import SourceItem
from knowledge_mcp.readers.shared.isolation import ConvertingReader

__all__ = ["MEDIA_TYPES", "HtmlReader"]

MEDIA_TYPES = {".htm": "text/html", ".html": "text/html", ".xhtml": "application/xhtml+xml"}
"""Media types of the files that this reader reads, by extension."""


class HtmlReader(ConvertingReader):
    """Read HTML and XHTML; headings make the sections, links become references, there are no pages. Thread-safe."""

    label = "html-3"
    jobs: ClassVar[Mapping[str, str]] = dict.fromkeys(MEDIA_TYPES.values(), "knowledge_mcp.readers.html.job:page")

    def _arguments(self, item: SourceItem) -> dict[str, str]:
        return {"uri": item.uri}
