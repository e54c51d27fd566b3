"""A folder of this machine that is kept in sync; fills `ports.SyncedSource`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from knowledge_mcp.model.collection import DocumentRecord
from knowledge_mcp.model.errors import NotFoundError
from knowledge_mcp.model.ingest import LeftOut, SkippedFile
from knowledge_mcp.model.source import SourceItem
from knowledge_mcp.sources.files import FileSource
from knowledge_mcp.sources.vanished import is_gone, lies_below


class FolderSource:
    """Hold a folder to be the truth of the files below it.

    Args:
        folder: absolute.
        patterns: as `FileSource` takes them; empty for every document.
        links: whether links to files outside of the folder are followed, which is their maker's will.
    """

    def __init__(self, folder: Path, patterns: Sequence[str] = (), *, links: bool = True) -> None:
        self._folder = folder
        self._patterns = tuple(patterns) or None
        self._links = links
        self._files: FileSource | None = None

    def look(self, records: Sequence[DocumentRecord]) -> bool:
        if not self._folder.is_dir():
            raise NotFoundError(
                f"There is no folder {self._folder}.",
                suggestion="If it lies on a disk that is not mounted, mount it; else remove the source.",
            )
        self._files = FileSource(self._folder, patterns=self._patterns, links=self._links)
        return next(self._files.items(), None) is not None

    def items(self) -> Iterator[SourceItem | SkippedFile]:
        assert self._files is not None, "look comes first"
        return self._files.items()

    def owns(self, record: DocumentRecord) -> bool:
        return lies_below(self._folder, record)

    def is_gone(self, record: DocumentRecord) -> bool:
        return is_gone(record.source_path)

    @property
    def unread(self) -> tuple[str, ...]:
        return ()

    @property
    def left_out(self) -> tuple[LeftOut, ...]:
        return self._files.left_out if self._files is not None else ()

    def close(self) -> None:
        """Do nothing: nothing is held."""
