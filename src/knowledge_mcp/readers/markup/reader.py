"""reStructuredText and AsciiDoc to `Document`: headings, anchors, tables, notes, definitions, references, needs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from knowledge_mcp.readers.shared.isolation import ConvertingReader

_ADOC, _RST = "text/asciidoc", "text/x-rst"


class MarkupReader(ConvertingReader):
    """Read .rst and .adoc files; there are no pages. Thread-safe.

    No other file is opened: a warning names what they include.
    """

    label = "markup-25"
    jobs: ClassVar[Mapping[str, str]] = {
        _ADOC: "knowledge_mcp.readers.markup.asciidoc.walk:asciidoc",
        _RST: "knowledge_mcp.readers.markup.restructured:restructured",
    }
    needs: ClassVar[Mapping[str, tuple[str, ...]]] = {_RST: ("docutils",)}
