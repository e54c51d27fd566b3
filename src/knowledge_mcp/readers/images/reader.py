"""The image reader: every page of an image file is read by text recognition, and laid out like a page of print."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence

from knowledge_mcp.model.document import Document
from knowledge_mcp.model.errors import UnreadableReason
from knowledge_mcp.model.extraction import PageEvidence, ScanOptions, Survey
from knowledge_mcp.model.ingest import Inspection
from knowledge_mcp.model.source import SourceItem
from knowledge_mcp.ports import OcrEngine
from knowledge_mcp.readers.scans.recognition import Recognition, ScanReading, options_version
from knowledge_mcp.readers.shared.isolation import SandboxedReader, inaccessible, run_isolated, unreadable
from knowledge_mcp.support.sandbox import Limits, Sandbox

_JOB = "knowledge_mcp.readers.images.job"


class ImageReader(SandboxedReader):
    """Read PNG, JPEG, TIFF (all its pages) and BMP files by text recognition. Thread-safe.

    Args:
        sandbox: where images are decoded; None makes one that this reader owns and closes.
        limits: memory and time for one file.
        ocr: who reads the pages; it stays its giver's to close. Without one no image can be read.
        options: how; `enabled=False` leaves every image unread.
    """

    def __init__(
        self,
        *,
        sandbox: Sandbox | None = None,
        limits: Limits | None = None,
        ocr: OcrEngine | None = None,
        options: ScanOptions | None = None,
    ) -> None:
        super().__init__(sandbox, limits or Limits())
        self._ocr = ocr
        self._options = options or ScanOptions()

    @property
    def version(self) -> str:
        """Name the reader and its version; a change of what it produces must change this."""
        return f"image-8{options_version(self._ocr, self._options)}"

    def with_options(self, options: ScanOptions) -> ImageReader:
        """Return a reader with other options; it shares this one's children; do not close it."""
        return ImageReader(sandbox=self._sandbox, limits=self._limits, ocr=self._ocr, options=options)

    def check(self, item: SourceItem) -> Inspection:
        """Open the file and count its pages.

        Raises:
            UnreadableDocumentError: empty, no image, damaged or too large.
        """
        _check_size(item)
        with contextlib.closing(run_isolated(self._sandbox, f"{_JOB}:check", item, {}, limits=self._limits)) as values:
            pages = 0
            for message in values:
                pages = int(message["pages"])
        return Inspection(pages=pages)

    def survey(self, item: SourceItem) -> Survey:
        """Tell its pages: each is a picture as a whole.

        Raises:
            UnreadableDocumentError: as in `check`.
        """
        pages = self.check(item).pages or 0
        return Survey(tuple(PageEvidence(number, 1.0, images=1) for number in range(1, pages + 1)), is_image_file=True)

    def sample(self, item: SourceItem, pages: Sequence[int]) -> Recognition:
        """Recognise a few pages for what comes of them; their words are not kept."""
        return self._scans().sample(item, pages)

    def read(self, item: SourceItem, progress: Callable[[int, int], None] | None = None) -> Document:
        """Read all pages.

        Raises:
            UnreadableDocumentError: as in `check`; or no page has text, or could be read (the suggestion says what is
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
        assembly, recognition = self._scans().run(item, f"{_JOB}:read", {}, progress)
        return assembly.build(item, recognition, metadata={})

    def _scans(self) -> ScanReading:
        return ScanReading(self._sandbox, self._limits, self._ocr, self._options, f"{_JOB}:render")


def _check_size(item: SourceItem) -> None:
    """Make sure that there are bytes at all."""
    try:
        with item.open() as stream:
            empty = not stream.read(1)
    except OSError as error:
        raise inaccessible(item, error) from error
    if empty:
        raise unreadable(item, UnreadableReason.EMPTY, "The file is empty (0 bytes).")
