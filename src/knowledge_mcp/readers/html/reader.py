"""Web pages to `Document`: crawled ones (https:// addresses) by their main content, uploaded ones completely.

Pages of a folder of documents can be read without what is around their text: menus, headers, footers.
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
        main_text: leave out what is around the text of pages in a folder.
        sandbox: as `ConvertingReader`.
    """

    label = "html-25"
    jobs: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ("text/html", "application/xhtml+xml"), "knowledge_mcp.readers.html.job:page"
    )

    def __init__(self, *, main_text: bool = False, sandbox: Sandbox | None = None) -> None:
        super().__init__(sandbox=sandbox)
        self._main_text = main_text

    @property
    def version(self) -> str:
        """Name and version of the reader; changes whenever its output changes."""
        return f"{self.label} main" if self._main_text else self.label

    def _arguments(self, item: SourceItem) -> dict[str, Any]:
        return {"uri": item.uri, "main_text": self._main_text}
