"""Reads plain text: a child process lays the text out, this module assembles the `Document`."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

from knowledge_mcp.model.document import Document
from knowledge_mcp.model.ingest import Inspection
from knowledge_mcp.model.source import SourceItem
from knowledge_mcp.readers.scans.recognition import Assembly, Recognition
from knowledge_mcp.readers.shared.isolation import SandboxedReader, run_isolated

_JOB = "knowledge_mcp.readers.plain.job"


class PlainTextReader(SandboxedReader):
    """Read plain text of any encoding: numbered and outstanding headings, lists, boxes, drawings, pages. Thread-safe.

    Its arguments are those of `SandboxedReader`.
    """

    @property
    def version(self) -> str:
        """Return the reader's name and version; it must change when what the reader produces changes."""
        return "plain-20"

    def check(self, item: SourceItem) -> Inspection:
        """Check that it is text, and count the pages separated by form feeds.

        Raises:
            UnreadableDocumentError: the file is empty, inaccessible, too large, of another format, or in an unknown
            encoding.
        """
        messages = run_isolated(self._sandbox, f"{_JOB}:check", item, {}, limits=self._limits)
        with contextlib.closing(messages):
            return Inspection(pages=next(iter([message["pages"] for message in messages]), None))

    def read(self, item: SourceItem, progress: Callable[[int, int], None] | None = None) -> Document:
        """Read the whole text.

        The title is what is centred above the text, else its first line or heading if that reads like a title and the
        text has sections; else the file's name.

        Raises:
            UnreadableDocumentError: as in `check`; or time or memory ran out.
        """
        assembly = Assembly()
        messages = run_isolated(self._sandbox, f"{_JOB}:read", item, {}, limits=self._limits)
        with contextlib.closing(messages):
            assembly.take(messages, Recognition(), progress)
        if progress is not None:
            progress(assembly.pages, assembly.pages)
        return assembly.build(item, Recognition(), metadata={})
