"""reStructuredText and AsciiDoc to `Document`: headings, anchors, tables, notes, definitions, references, needs."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping
from typing import ClassVar

from knowledge_mcp.model.errors import ConfigError
from knowledge_mcp.readers.shared.isolation import ConvertingReader
from knowledge_mcp.support.distribution import install_command
from knowledge_mcp.support.sandbox import Sandbox

_ADOC, _RST = "text/asciidoc", "text/x-rst"


def _is_installed(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


class MarkupReader(ConvertingReader):
    """Read .rst and .adoc files; there are no pages. Thread-safe.

    No other file is opened for them: what they include is named in a warning.

    Args:
        sandbox: as `ConvertingReader`.
        installed: tells whether a module is there.
    """

    label = "markup-11"
    jobs: ClassVar[Mapping[str, str]] = {
        _ADOC: "knowledge_mcp.readers.markup.asciidoc.walk:asciidoc",
        _RST: "knowledge_mcp.readers.markup.restructured:restructured",
    }

    def __init__(self, *, sandbox: Sandbox | None = None, installed: Callable[[str], bool] = _is_installed) -> None:
        super().__init__(sandbox=sandbox)
        self._installed = installed

    def _prepare(self, media_type: str) -> None:
        if media_type == _RST and not self._installed("docutils"):
            raise ConfigError(
                "Reading reStructuredText needs a library that is not installed.",
                details="missing: docutils",
                suggestion=f"Run: {install_command('office')}",
            )
