"""The PDF reader: a child process does the parsing, this side puts the `Document` together."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from knowledge_mcp.model.document import BlockKind, Document, HeadingSource
from knowledge_mcp.model.errors import UnreadableReason
from knowledge_mcp.model.ingest import Inspection
from knowledge_mcp.model.source import SourceItem
from knowledge_mcp.readers.assembly import DocumentBuilder
from knowledge_mcp.readers.isolation import run_isolated, unreadable
from knowledge_mcp.support.sandbox import Limits, Sandbox

__all__ = ["PdfReader"]

_JOB = "knowledge_mcp.readers.pdf.job"
_SCANNED = "no text layer; looks scanned (OCR is not part of this reader)"
_BLANK = "no text on this page"
_CONTENTS = "contents page; its entries are the headings"
_PDF_DATE = re.compile(r"(?:D:)?(\d{4})(\d\d)?(\d\d)?")
_KEYS = {"Author": "author", "Subject": "subject", "Keywords": "keywords"}
_NO_TITLE = re.compile(
    r"untitled.*|microsoft word.*|document\d*|title|.*\.(?:docx?|pdf|dvi|tex|indd|fm|book|qxd|odt|rtf)|[\W\d_]*",
    re.IGNORECASE,
)


class PdfReader:
    """Read PDF files: text, headings, tables, lists, notes, captions, page labels. Thread-safe.

    Args:
        sandbox: where parsing runs; None makes one that this reader owns and closes.
        limits: memory and time for one file.
        use_outline: False leaves bookmarks and tags aside, for measuring what typography alone finds.
    """

    def __init__(
        self, *, sandbox: Sandbox | None = None, limits: Limits | None = None, use_outline: bool = True
    ) -> None:
        self._sandbox = sandbox or Sandbox()
        self._owned = sandbox is None
        self._limits = limits or Limits()
        self._use_outline = use_outline

    @property
    def version(self) -> str:
        """Name the reader and its version; a change of what it produces must change this."""
        return "pdf-1"

    def check(self, item: SourceItem) -> Inspection:
        """Open the file and count its pages.

        Raises:
            UnreadableDocumentError: corrupted, password-protected, encrypted, without pages, empty or no PDF.
        """
        _check_magic(item)
        with contextlib.closing(run_isolated(self._sandbox, f"{_JOB}:check", item, {}, limits=self._limits)) as values:
            pages = 0
            for message in values:
                pages = int(message["pages"])
        return Inspection(pages=pages)

    def read(self, item: SourceItem, progress: Callable[[int, int], None] | None = None) -> Document:
        """Read the whole file.

        Raises:
            UnreadableDocumentError: as in `check`; or no page has text; or time or memory ran out.
        """
        _check_magic(item)
        builder = DocumentBuilder()
        title, metadata = "", dict[str, str]()
        arguments = {"use_outline": self._use_outline}
        messages = run_isolated(self._sandbox, f"{_JOB}:read", item, arguments, limits=self._limits)
        with contextlib.closing(messages):
            for message in messages:
                if "progress" in message:
                    if progress is not None:
                        progress(*message["progress"])
                elif "facts" in message:
                    title = _title(message["facts"].get("Title", ""), message["headline"], item.name)
                    metadata = _metadata(message["facts"])
                elif "items" in message:
                    for fields in message["items"]:
                        _lay_down(builder, fields)
                else:
                    _name_pages(builder, message)
        return builder.build(item, title=title, metadata=metadata)

    def close(self) -> None:
        """End the idle child processes."""
        if self._owned:
            self._sandbox.close()


def _check_magic(item: SourceItem) -> None:
    """Make sure that the bytes are those of a PDF before any parser sees them."""
    try:
        with item.open() as stream:
            head = stream.read(1024)
    except OSError as error:
        details = str(error.strerror or error)
        raise unreadable(item, UnreadableReason.INACCESSIBLE, "The file cannot be opened.", details=details) from error
    if not head:
        raise unreadable(item, UnreadableReason.EMPTY, "The file is empty (0 bytes).")
    if b"%PDF-" not in head:
        raise unreadable(
            item,
            UnreadableReason.MISLABELLED,
            "The file is named or typed as PDF but is none.",
            details=f"no PDF header in the first {len(head)} bytes",
            suggestion="Give the file its true extension, or export it as PDF.",
        )


def _lay_down(builder: DocumentBuilder, fields: dict[str, Any]) -> None:
    if "heading" in fields:
        fields["source"] = HeadingSource(fields["source"])
        builder.heading(fields.pop("heading"), **fields)
    else:
        builder.block(BlockKind(fields.pop("kind")), fields.pop("text"), **fields)


def _name_pages(builder: DocumentBuilder, message: Mapping[str, Any]) -> None:
    pages: list[int] = message["pages"]
    labels: list[str] = message["labels"]
    scanned: list[int] = message["scanned"]
    notes = dict.fromkeys(message["blank"], _BLANK) | dict.fromkeys(scanned, _SCANNED)
    contents = dict.fromkeys(message["contents"], _CONTENTS)
    for number in pages:
        label = labels[number - 1] if number <= len(labels) else str(number)
        if number in notes:
            builder.page(number, label, method="none" if number in scanned else "blank", note=notes[number])
        else:
            builder.page(number, label, note=contents.get(number, ""))
    if scanned:
        some = "page" if len(scanned) == 1 else "pages"
        builder.warn(
            f"No text on {some} {_ranges(scanned)} of {len(pages)}: scanned, and text recognition (OCR) was not run."
        )


def _ranges(numbers: Sequence[int]) -> str:
    """Print ascending numbers briefly: "2, 5-9"."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def _title(stated: str, headline: str, name: str) -> str:
    """Choose the title: the file's metadata unless a program made it up, else the largest print on page 1."""
    stem = PurePath(name).stem
    if 3 < len(stated) <= 250 and not _NO_TITLE.fullmatch(stated) and stated.lower() != stem.lower():
        return stated
    return headline or stem


def _metadata(facts: Mapping[str, str]) -> dict[str, str]:
    """Keep author, subject, keywords and the dates as ISO 8601 days."""
    metadata = {name: facts[key] for key, name in _KEYS.items() if facts.get(key)}
    for key, name in (("CreationDate", "created"), ("ModDate", "modified")):
        if match := _PDF_DATE.match(facts.get(key, "")):
            metadata[name] = "-".join(part for part in match.groups() if part)
    return metadata
