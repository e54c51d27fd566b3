"""A folder of planning documents: which files are in it, what became of each, and which are new since the last look."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from knowledge_mcp.engine.filing import EXTENSIONS, FilingDesk
from knowledge_mcp.engine.filing_batch import Batch
from knowledge_mcp.engine.filing_values import FilingRequest, explain
from knowledge_mcp.engine.jobs import Line
from knowledge_mcp.model.errors import (
    AuthError,
    ConfigError,
    ConnectionFailedError,
    InvalidInputError,
    KnowledgeError,
    NotFoundError,
)

__all__ = ["FolderWatch", "Outcome", "closed_in", "documents_in", "file_one", "unsupported_in"]

Signature = tuple[int, int]
_ENDS_ALL = (AuthError, ConfigError, ConnectionFailedError)


@dataclass(frozen=True, slots=True)
class Outcome:
    """Tell what became of one file: `answer` is what `ingest_document` would have answered."""

    path: Path
    answer: Mapping[str, Any]
    seconds: float

    @property
    def status(self) -> str:
        """Return `success`, `already_ingested`, `skipped` or `error`."""
        return str(self.answer["status"])


def documents_in(place: Path, *, recursive: bool = True) -> list[Path]:
    """List the files below a folder that can be filed, or the one file that is named; hidden ones are left out.

    Raises:
        NotFoundError: there is nothing at the place.
        InvalidInputError: it is one file of a kind that cannot be filed.
    """
    return [path for path in _files(place, recursive=recursive) if path.suffix.lower() in EXTENSIONS]


def unsupported_in(place: Path, *, recursive: bool = True) -> list[Path]:
    """List the files below a folder that cannot be filed for what they are; hidden ones are left out."""
    return [path for path in _files(place, recursive=recursive) if path.suffix.lower() not in EXTENSIONS]


def closed_in(place: Path, *, recursive: bool = True) -> list[Path]:
    """List the folders, this one included, that cannot be looked into."""
    closed: list[Path] = []
    for _ in _files(place, recursive=recursive, on_closed=closed.append):
        pass
    return closed


def _files(place: Path, *, recursive: bool, on_closed: Callable[[Path], None] = lambda _: None) -> Iterator[Path]:
    folder = Path(os.path.realpath(place.expanduser()))
    if folder.is_file():
        if folder.suffix.lower() not in EXTENSIONS:
            raise InvalidInputError(
                f"{folder.name} cannot be filed.", suggestion=f"Supported are {', '.join(sorted(EXTENSIONS))}."
            )
        yield folder
        return
    if not folder.is_dir():
        raise NotFoundError(f"There is no file or folder {place}.", suggestion="Check the path.")
    for root, folders, names in os.walk(folder, onerror=lambda error: on_closed(Path(os.fsdecode(error.filename)))):
        folders[:] = sorted(name for name in folders if recursive and not name.startswith("."))
        yield from (Path(root, name) for name in sorted(names) if not name.startswith("."))


def file_one(
    desk: FilingDesk, request: FilingRequest, line: Line, clock: Callable[[], float], batch: Batch | None = None
) -> Outcome:
    """File one document; what is wrong with it becomes an answer, what every further one would meet is raised."""
    started = clock()
    try:
        answer = desk.file(request, line, batch).as_json()
    except _ENDS_ALL:
        raise
    except KnowledgeError as exc:
        answer = explain(exc)
    return Outcome(Path(request.file_path), answer, clock() - started)


class FolderWatch:
    """Tell which files of a folder are new or changed, once they have stopped growing.

    Args:
        place: folder, or one file.
        recursive: whether folders below it count too.
    """

    def __init__(self, place: Path, *, recursive: bool = True) -> None:
        self._place = place
        self._recursive = recursive
        self._before: dict[Path, Signature] = {}
        self._handled: dict[Path, Signature] = {}

    def due(self, *, settled: bool = True) -> list[Path]:
        """List the files to file now, and count them as filed.

        Args:
            settled: False takes files as they are; True only those that look as they did at the last call.
        """
        now = {path: found for path in self._listed() if (found := _signature(path)) is not None}
        due = [
            path
            for path, signature in now.items()
            if self._handled.get(path) != signature and (not settled or self._before.get(path) == signature)
        ]
        self._before = now
        self._handled = {path: signature for path, signature in self._handled.items() if path in now}
        self._handled.update({path: now[path] for path in due})
        return due

    def _listed(self) -> list[Path]:
        try:
            return documents_in(self._place, recursive=self._recursive)
        except NotFoundError:  # moved away for a moment, or a network drive that is not there now
            return []


def _signature(path: Path) -> Signature | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns
