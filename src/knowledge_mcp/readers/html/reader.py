"""Web pages to `Document`: crawled ones (their uri begins with https://) by their main content, uploaded ones whole.

Those of a folder of documents are read without what stands around their text: menus, heads, feet.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from knowledge_mcp.model.source import SourceItem
from knowledge_mcp.readers.shared.isolation import ConvertingReader
from knowledge_mcp.support.sandbox import Sandbox


class HtmlReader(ConvertingReader):
    """Read HTML and XHTML; headings make the sections, links become references, there are no pages. Thread-safe.

    Args:
        main_text: leave out what pages of a folder have around their text.
        sandbox: as `ConvertingReader`.
    """

    label = "html-14"
    jobs: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ("text/html", "application/xhtml+xml"), "knowledge_mcp.readers.html.job:page"
    )

    def __init__(self, *, main_text: bool = False, sandbox: Sandbox | None = None) -> None:
        super().__init__(sandbox=sandbox)
        self._main_text = main_text

    @property
    def version(self) -> str:
        """Name the reader and its version; a change of what it produces must change this."""
        return f"{self.label} main" if self._main_text else self.label

    def _arguments(self, item: SourceItem) -> dict[str, Any]:
        return {"uri": item.uri, "main_text": self._main_text}
