"""The source files of documents: copies of uploaded ones, and files at their original location.

A copy is named by its document and by the record made from it, so that a page is never drawn from other bytes than
those its text was read from. Only PDF is kept, because pages are drawn only of PDF.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterable, Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit

from knowledge_mcp.engine.core.confinement import PathNotAllowedError, allowed_path, look_at
from knowledge_mcp.model.chunk import text_key
from knowledge_mcp.model.collection import DocumentRecord
from knowledge_mcp.model.errors import InvalidInputError, NotFoundError, UnreadableDocumentError
from knowledge_mcp.model.source import SourceItem
from knowledge_mcp.support.events import log_event
from knowledge_mcp.support.files import write_atomically

_logger = logging.getLogger(__name__)
_PDF = "application/pdf"
_DIGEST_LENGTH = 32
"""Hex digits of a hash in a file name."""


class Originals:
    """Store and find the files of documents. Thread-safe.

    Args:
        folder: of the copies; created with the first one.
        roots: folders in which original files may be opened; None for all.
    """

    def __init__(self, folder: Path, roots: Sequence[Path] | None = ()) -> None:
        self._folder = folder
        self._roots = roots

    def keep(self, record: DocumentRecord, item: SourceItem) -> None:
        """Store a copy of a document's file, replacing the earlier one; a failure is only logged."""
        if item.media_type != _PDF:
            return
        place = self._place(record)
        try:
            if not place.exists():
                with item.open() as stream:
                    write_atomically(place, stream.read(), private=True)
            self._forget(record.id, but=place)
        except OSError as exc:
            log_event(_logger, logging.WARNING, "original_not_kept", doc_id=record.id, reason=str(exc))

    def forget(self, document_ids: Iterable[str]) -> None:
        """Remove the copies of deleted documents."""
        for each in document_ids:
            with contextlib.suppress(OSError):
                self._forget(each)

    def find(self, record: DocumentRecord) -> SourceItem:
        """Return the source file of a document.

        Raises:
            NotFoundError: it is gone, was never kept, or must not be read.
            InvalidInputError: it has no pages that can be drawn, or has changed since.
        """
        if record.media_type != _PDF:
            raise InvalidInputError(
                f"{record.file_name} has no pages that can be drawn.",
                suggestion="Only pages of PDF files can be drawn; read its text instead.",
            )
        place = self._place(record)
        if place.exists():
            size = place.stat().st_size
            return SourceItem(record.source_path, record.file_name, _PDF, size, record.sha256, lambda: place.open("rb"))
        path = _path_of(record.source_path)
        if path is None:
            changed = any(self._copies(record.id))
            raise NotFoundError(
                f"There is no {'unchanged ' if changed else ''}copy of {record.file_name} here.",
                suggestion="Add the file again: a copy of it is then kept.",
            )
        return self._open_in_place(record, path)

    def _open_in_place(self, record: DocumentRecord, path_text: str) -> SourceItem:
        """Open a file at its original location; raises as `find`."""
        try:
            path = allowed_path(path_text, self._roots)
            file = look_at(path, self._roots)
        except PathNotAllowedError as exc:
            raise NotFoundError(
                f"The original of {record.file_name} is not in a folder that this service may read.",
                suggestion="Add its folder to ALLOWED_ROOTS, and restart the service.",
            ) from exc
        except (OSError, UnreadableDocumentError) as exc:
            raise NotFoundError(
                f"The original of {record.file_name} is no longer at its location, or cannot be opened.",
                suggestion="Put it back, or ingest it from its new location.",
            ) from exc
        if file.sha256 != record.sha256:
            raise InvalidInputError(
                f"The original of {record.file_name} has changed since it was read.",
                suggestion="Ingest it again; its pages can then be drawn.",
            )
        return SourceItem(record.source_path, record.file_name, _PDF, file.size, file.sha256, file.open)

    def _place(self, record: DocumentRecord) -> Path:
        read = text_key(record.sha256)[:_DIGEST_LENGTH]
        return self._folder / f"{_file_name(record.id)}-{read}.pdf"

    def _copies(self, document_id: str) -> Iterable[Path]:
        return self._folder.glob(f"{_file_name(document_id)}-*.pdf")

    def _forget(self, document_id: str, but: Path | None = None) -> None:
        for each in self._copies(document_id):
            if each != but:
                each.unlink(missing_ok=True)


def _file_name(document_id: str) -> str:
    """Derive a file name from any id."""
    return text_key(document_id)[:_DIGEST_LENGTH]


def _path_of(source: str) -> str | None:
    """Return the path in a source, None if it is not a local file."""
    if source.startswith("/"):
        return source
    parts = urlsplit(source)
    return unquote(parts.path) if parts.scheme == "file" and not parts.netloc else None
