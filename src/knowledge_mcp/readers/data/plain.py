"""Plain text to `Document`: paragraphs as they stand, with their lines; nothing is taken for a heading.

It runs in this process: nothing is parsed, and the file's size is bounded.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from knowledge_mcp.model.document import BlockKind, Document
from knowledge_mcp.model.errors import UnreadableReason
from knowledge_mcp.model.ingest import Inspection
from knowledge_mcp.model.source import SourceItem
from knowledge_mcp.readers.shared.assembly import MOST_TEXT, DocumentBuilder, too_long
from knowledge_mcp.readers.shared.containers import foreign
from knowledge_mcp.readers.shared.isolation import unreadable
from knowledge_mcp.readers.shared.text import DecodedText, NotTextError, decode_text

__all__ = ["MEDIA_TYPES", "PlainTextReader"]

MEDIA_TYPES = {".txt": "text/plain"}
"""Media types of the files that this reader reads, by extension."""

_MOST_BYTES = 64_000_000
_FORM_FEED = "\x0c"
_BLANK_LINE = re.compile(r"[ \t\x0b\xa0\u200b]*")


class PlainTextReader:
    """Read plain text of any encoding; form feeds end pages. Thread-safe: it holds nothing."""

    @property
    def version(self) -> str:
        """Name the reader and its version; a change of what it produces must change this."""
        return "plain-1"

    def check(self, item: SourceItem) -> Inspection:
        """Make sure that it is text.

        Raises:
            UnreadableDocumentError: empty, inaccessible, too large, another format, or of no encoding that can be told.
        """
        text = _decoded(item).text
        return Inspection(pages=_pages(text) or None)

    def read(self, item: SourceItem, progress: Callable[[int, int], None] | None = None) -> Document:
        """Read the whole text; errors as `check`."""
        decoded = _decoded(item)
        builder = DocumentBuilder()
        if decoded.warning:
            builder.warn(decoded.warning)
        paged = _pages(decoded.text) > 0
        for page, first, last, text in _paragraphs(decoded.text):
            builder.block(BlockKind.PARAGRAPH, text, pages=(page,) if paged else (), lines=(first, last))
        for number in range(1, _pages(decoded.text) + 1):
            builder.page(number)
        if progress is not None:
            progress(1, 1)
        return builder.build(item)

    def close(self) -> None:
        """Hold nothing, and so free nothing."""


def _pages(text: str) -> int:
    """Count the pages, 0 where nothing parts them; a form feed at the very end begins none."""
    count = text.rstrip().count(_FORM_FEED)
    return count + 1 if count else 0


def _paragraphs(text: str) -> Iterator[tuple[int, int, int, str]]:
    """Give page, first and last line, and words of each run of lines that are not blank."""
    page, run, first, number = 1, list[str](), 1, 1
    for number, line in enumerate(text.split("\n"), 1):
        for position, part in enumerate(line.split(_FORM_FEED)):
            if position:
                if run:
                    yield page, first, number, "\n".join(run)
                page, run = page + 1, []
            if _BLANK_LINE.fullmatch(part):
                if run and not position:
                    yield page, first, number - 1, "\n".join(run)
                    run = []
                continue
            if not run:
                first = number
            run.append(part)
    if run:
        yield page, first, number, "\n".join(run)


def _decoded(item: SourceItem) -> DecodedText:
    try:
        with item.open() as stream:
            data = stream.read(_MOST_BYTES + 1)
    except OSError as error:
        details = error.strerror or type(error).__name__
        raise unreadable(item, UnreadableReason.INACCESSIBLE, "The file cannot be opened.", details=details) from error
    if len(data) > _MOST_BYTES:
        raise too_long(item)
    what = foreign(data[:512], markup=False)
    if what:
        raise unreadable(
            item,
            UnreadableReason.MISLABELLED,
            f"It is not plain text but {what}.",
            suggestion="Give the file its right extension.",
        )
    try:
        decoded = decode_text(data)
    except NotTextError as error:
        raise unreadable(
            item, UnreadableReason.CORRUPTED, f"It is no text that can be read: {error}", suggestion="Save it as UTF-8."
        ) from error
    if len(decoded.text) > MOST_TEXT:
        raise too_long(item)
    if not decoded.text.strip("\ufeff\u200b \t\r\n\x0b\x0c\ufffd"):
        raise unreadable(item, UnreadableReason.EMPTY, "The file has no text.", suggestion="Leave it out.")
    return decoded
