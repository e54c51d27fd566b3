"""The reader of Markdown: a child process parses a file, this process builds the `Document`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from knowledge_mcp.model.source import SourceItem
from knowledge_mcp.readers.shared.isolation import ConvertingReader


class MarkdownReader(ConvertingReader):
    """Read .md, .markdown and .mdx files; blocks have their source lines, and their pages if there are markers."""

    label = "markdown-27"
    jobs: ClassVar[Mapping[str, str]] = {"text/markdown": "knowledge_mcp.readers.markdown.job:markdown"}

    def _arguments(self, item: SourceItem) -> dict[str, Any]:
        return {"mdx": item.name.lower().endswith(".mdx")}
