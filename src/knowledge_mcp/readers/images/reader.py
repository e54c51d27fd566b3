"""The image reader: recognises the text of every page of an image file, and lays it out like a printed page."""

from __future__ import annotations

from collections.abc import Callable

from knowledge_mcp.model.document import Document
from knowledge_mcp.model.errors import UnreadableReason
from knowledge_mcp.model.extraction import PageEvidence, Survey
from knowledge_mcp.model.ingest import Inspection
from knowledge_mcp.model.source import SourceItem
from knowledge_mcp.readers.scans.reader import RecognisingReader
from knowledge_mcp.readers.shared.isolation import inaccessible, unreadable


class ImageReader(RecognisingReader):
    """Read PNG, JPEG, TIFF (all pages) and BMP files by text recognition. Thread-safe.

    Its arguments are those of `RecognisingReader`; without an engine, or with `enabled=False`, no image can be read.
    """

    label = "image-16"
    job = "knowledge_mcp.readers.images.job"
    renders = f"{job}:render"

    def check(self, item: SourceItem) -> Inspection:
        """Open the file and count its pages.

        Raises:
            UnreadableDocumentError: the file is empty, not an image, damaged or too large.
        """
        _check_size(item)
        return self._counted(item)

    def survey(self, item: SourceItem) -> Survey:
        """Return its pages, each of which is completely a picture.

        Raises:
            UnreadableDocumentError: as in `check`.
        """
        pages = self.check(item).pages or 0
        return Survey(tuple(PageEvidence(number, 1.0, images=1) for number in range(1, pages + 1)), is_image_file=True)

    def read(self, item: SourceItem, progress: Callable[[int, int], None] | None = None) -> Document:
        """Read all pages.

        Raises:
            UnreadableDocumentError: as in `check`; or no page has text or could be read (the suggestion says what is
                    missing); or time or memory ran out.
        """
        _check_size(item)
        if self._ocr is None or not self._options.enabled:
            raise unreadable(
                item,
                UnreadableReason.EMPTY,
                "An image has no text of its own, and text recognition (OCR) is switched off.",
                suggestion="Set ENABLE_OCR to true, then try again.",
            )
        assembly, recognition = self._seen(item, {}, progress)
        return assembly.build(item, recognition, metadata={})


def _check_size(item: SourceItem) -> None:
    """Check that the file is not empty."""
    try:
        with item.open() as stream:
            empty = not stream.read(1)
    except OSError as error:
        raise inaccessible(item, error) from error
    if empty:
        raise unreadable(item, UnreadableReason.EMPTY, "The file is empty (0 bytes).")
