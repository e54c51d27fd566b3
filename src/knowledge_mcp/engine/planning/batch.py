"""What a batch of files has to know of the documents that are there: read once, however many files it has."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from knowledge_mcp.model.collection import DocumentRecord


class Batch:
    """Tell which documents of an application may be those of a file; used by one thread.

    They are read at the first question and kept up to date by `add`; what others file or remove meanwhile is not seen.
    So whoever asks reads these few again, and looks once more at the end.

    Args:
        application_ref: whose documents.
        read: lists their records.

    Attributes:
        filed: records of what the batch has filed, by source path.
    """

    def __init__(self, application_ref: str, read: Callable[[], Iterable[DocumentRecord]]) -> None:
        self.application_ref = application_ref
        self.filed: dict[str, DocumentRecord] = {}
        self._read = read
        self._ids: dict[str, set[str]] | None = None

    def like(self, uri: str, sha256: str) -> set[str]:
        """List the ids of documents that came by a path, or whose bytes have a hash."""
        known = self._known()
        return known.get(uri, set()) | known.get(sha256, set())

    def add(self, record: DocumentRecord) -> None:
        """Count a document as filed."""
        self.filed[record.source_path] = record
        _note(self._known(), record)

    def _known(self) -> dict[str, set[str]]:
        if self._ids is None:
            known = dict[str, set[str]]()
            for each in self._read():
                _note(known, each)
            self._ids = known
        return self._ids


def _note(known: dict[str, set[str]], record: DocumentRecord) -> None:
    for key in (record.source_path, record.sha256):
        known.setdefault(key, set()).add(record.id)
