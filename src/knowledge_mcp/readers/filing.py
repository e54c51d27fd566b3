"""The judging reader as planning documents need it: it does what a source item asks for, and tells a little more.

Added to the metadata are `total_chars` and `total_words`; a skipped document's facts have `page_coverage` too.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable

from knowledge_mcp.model.document import Document
from knowledge_mcp.model.errors import UnreadableDocumentError, UnreadableReason
from knowledge_mcp.model.ocr import ScanOptions
from knowledge_mcp.model.source import SourceItem
from knowledge_mcp.readers.judging import JudgingReader

__all__ = ["FilingReader"]


class FilingReader(JudgingReader):
    """Read planning documents (`ports.Reader`); `SourceItem.language` and `force_ocr` win over the options given."""

    def with_options(self, options: ScanOptions) -> FilingReader:
        """Return a reader that treats scanned pages otherwise; it shares this one's children; do not close it."""
        return FilingReader(self._owner, options=options, threshold=self._threshold, strict=self._strict)

    def read(self, item: SourceItem, progress: Callable[[int, int], None] | None = None) -> Document:
        """Read the document as its item asks; metadata and errors as the judging reader's."""
        asked = dataclasses.replace(
            self._options,
            force=item.force_ocr or self._options.force,
            language=item.language or self._options.language,
        )
        if asked != self._options:
            return self.with_options(asked).read(item, progress)
        try:
            document = super().read(item, progress)
        except UnreadableDocumentError as error:
            if error.reason is UnreadableReason.IMAGE_BASED:
                error.facts["page_coverage"] = self._skipped_pages(item)
            raise
        told = {"total_chars": str(len(document.text)), "total_words": str(len(document.text.split()))}
        return dataclasses.replace(document, metadata=tuple((dict(document.metadata) | told).items()))

    def _skipped_pages(self, item: SourceItem) -> str:
        pages = [
            {"page": page.number, "method": "skipped", "image_ratio": page.image_ratio, "drawing": page.is_drawing}
            for page in self._reader.survey(item).pages
        ]
        return json.dumps(pages, separators=(",", ":"))
