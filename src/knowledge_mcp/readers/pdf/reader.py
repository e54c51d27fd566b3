"""Reads PDF files: a child process parses the file, this module assembles the `Document`."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from knowledge_mcp.model.document import Box, Document
from knowledge_mcp.model.errors import InternalError, UnreadableReason
from knowledge_mcp.model.extraction import PageEvidence, Survey
from knowledge_mcp.model.ingest import Inspection
from knowledge_mcp.model.source import SourceItem
from knowledge_mcp.readers.scans.reader import RecognisingReader
from knowledge_mcp.readers.scans.recognition import Recognition
from knowledge_mcp.readers.shared.containers import foreign_in, mislabelled
from knowledge_mcp.readers.shared.hidden import COMMENTS
from knowledge_mcp.readers.shared.isolation import inaccessible, refused, run_isolated, unreadable
from knowledge_mcp.readers.shared.passwords import Passwords
from knowledge_mcp.support.sandbox import Limits

T = TypeVar("T")

_MARK = "knowledge_mcp.readers.pdf.rendering:mark"
_DRAWING = Limits(seconds=120.0)
"""Limits for one page: a drawing with a million strokes takes several seconds."""
_PDF_DATE = re.compile(r"(?:D:)?(\d{4})(\d\d)?(\d\d)?")
_KEYS = {"Author": "author", "Subject": "subject", "Keywords": "keywords", COMMENTS: COMMENTS}


class PdfReader(RecognisingReader):
    """Read PDF files: text, headings, tables, lists, notes, captions, page labels; also scanned pages. Thread-safe.

    Args:
        use_outline: False ignores bookmarks and tags, to measure what typography alone finds.
        passwords: passwords for protected files; with None these are not read.
        given: arguments of `RecognisingReader`.
    """

    label = "pdf-40"
    job = "knowledge_mcp.readers.pdf.job"
    renders = "knowledge_mcp.readers.pdf.rendering:render"

    def __init__(self, *, use_outline: bool = True, passwords: Passwords | None = None, **given: Any) -> None:
        super().__init__(**given)
        self._use_outline = use_outline
        self._passwords = passwords or Passwords()

    def check(self, item: SourceItem) -> Inspection:
        """Open the file and count its pages.

        Raises:
                    UnreadableDocumentError: the file is corrupted, password-protected, encrypted, empty, not a PDF, or
                    has no
                        pages.
        """
        _check_magic(item)
        return self._opened(item, self._counted)

    def survey(self, item: SourceItem) -> Survey:
        """Return for every page the share covered by pictures, the number of strokes drawn, and its characters.

        Raises:
            UnreadableDocumentError: as in `check`, or its pages cannot be parsed.
        """
        _check_magic(item)
        return self._opened(item, self._survey)

    def sample(self, item: SourceItem, pages: Sequence[int]) -> Recognition:
        """Recognise a few pages to see the result; their words are not kept."""
        return self._opened(item, lambda opened: super(PdfReader, self).sample(opened, pages))

    def read(self, item: SourceItem, progress: Callable[[int, int], None] | None = None) -> Document:
        """Read the whole file.

        Recognised pages count twice in the numbers passed to `progress`: once when parsed, once when recognised.

        Raises:
                UnreadableDocumentError: as in `check`; or no page has text; or time or memory ran out.
        """
        _check_magic(item)
        return self._opened(item, lambda opened: self._read(opened, progress))

    def draw(self, item: SourceItem, page: int, boxes: Sequence[Box], words: str, dpi: int) -> tuple[int, int, bytes]:
        """Draw a page (`ports.PageDrawer`)."""
        places = [[box.left, box.top, box.right, box.bottom] for box in boxes if box.page == page]
        arguments: dict[str, Any] = {"page": page, "boxes": places, "words": words if places else "", "dpi": dpi}
        return self._opened(item, lambda opened: self._draw(opened, arguments))

    def _draw(self, item: SourceItem, arguments: Mapping[str, Any]) -> tuple[int, int, bytes]:
        facts: dict[str, Any] = {}
        values = run_isolated(self._sandbox, _MARK, item, arguments, limits=_DRAWING)
        with contextlib.closing(values):
            for value in values:
                if isinstance(value, bytes):
                    return int(facts["width"]), int(facts["height"]), value
                facts.update(value)
        raise InternalError("The page was not drawn.")

    def _opened(self, item: SourceItem, action: Callable[[SourceItem], T]) -> T:
        """Run an action on a file, or on a copy that was opened with a password."""
        return self._passwords.read(item, self._sandbox, self._limits, action)

    def _survey(self, item: SourceItem) -> Survey:
        with contextlib.closing(self._run("survey", item, {})) as messages:
            return Survey(tuple(PageEvidence(message.pop("page"), **message) for message in messages))

    def _read(self, item: SourceItem, progress: Callable[[int, int], None] | None) -> Document:
        arguments = {"use_outline": self._use_outline}
        assembly, recognition = self._seen(item, arguments, progress)
        stated = assembly.facts.get("Title", "")
        return assembly.build(item, recognition, stated=stated, metadata=_metadata(assembly.facts))


def _check_magic(item: SourceItem) -> None:
    """Check that the bytes are a PDF before any parser sees them."""
    try:
        with item.open() as stream:
            head = stream.read(1024)
            is_pdf = not head or b"%PDF-" in head
            what = "" if is_pdf or not stream.seekable() else foreign_in(stream)
    except OSError as error:
        raise inaccessible(item, error) from error
    if not head:
        raise unreadable(item, UnreadableReason.EMPTY, "The file is empty (0 bytes).")
    if what:
        raise refused(item, mislabelled("a PDF", what))
    if not is_pdf:
        raise unreadable(
            item,
            UnreadableReason.MISLABELLED,
            "The file has the name or type of a PDF, but is not one.",
            details=f"no PDF header in the first {len(head)} bytes",
            suggestion="Rename the file with the correct extension, or export it as PDF.",
        )


def _metadata(facts: Mapping[str, str]) -> dict[str, str]:
    """Keep author, subject, keywords, and the dates as ISO 8601 dates."""
    metadata = {name: facts[key] for key, name in _KEYS.items() if facts.get(key)}
    for key, name in (("CreationDate", "created"), ("ModDate", "modified")):
        if match := _PDF_DATE.match(facts.get(key, "")):
            metadata[name] = "-".join(part for part in match.groups() if part)
    return metadata
