"""Files and folders of this machine as a source."""

from __future__ import annotations

import fnmatch
import hashlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from knowledge_mcp.model.errors import InvalidInputError, NotFoundError, UnreadableReason
from knowledge_mcp.model.ingest import SkippedFile
from knowledge_mcp.model.source import SourceItem

__all__ = ["DEFAULT_PATTERNS", "DOCX", "MARKDOWN", "PDF", "FileSource"]

PDF = "application/pdf"
DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
MARKDOWN = "text/markdown"
DEFAULT_PATTERNS = ("*.pdf", "*.docx", "*.md")

_TYPES = {".pdf": PDF, ".docx": DOCX, ".md": MARKDOWN, ".mdx": MARKDOWN, ".markdown": MARKDOWN}
_BLOCK = 1 << 20
_HEAD = 1024
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


class FileSource:
    """Find the files below a folder, or the one file named.

    Args:
        path: file or folder, absolute or relative to the working directory.
        recursive: whether subfolders are entered. Links to folders are followed once, never in a circle.
        patterns: globs for file names, upper and lower case alike; a file named itself needs no pattern.

    Raises:
        NotFoundError: there is nothing at the path.
        InvalidInputError: the pattern is empty, or what is there is neither file nor folder.
    """

    def __init__(self, path: Path, *, recursive: bool = True, patterns: Sequence[str] = DEFAULT_PATTERNS) -> None:
        self._path = Path(os.path.abspath(path.expanduser()))
        self._recursive = recursive
        self._patterns = tuple(pattern.strip().lower() for pattern in patterns if pattern.strip())
        if not self._patterns:
            raise InvalidInputError("No file pattern was given.", suggestion="Use for example --pattern '*.pdf,*.md'.")
        if not os.path.lexists(self._path):
            raise NotFoundError(f"There is nothing at {path}.", suggestion="Check the path.")
        if self._path.exists() and not (self._path.is_file() or self._path.is_dir()):
            raise InvalidInputError(f"{path} is neither a file nor a folder.", suggestion="Name a file or a folder.")

    def items(self) -> Iterator[SourceItem | SkippedFile]:
        """Yield what can be opened, in the order of the paths, and what cannot with its reason."""
        if not self._path.is_dir():
            yield _item(self._path)
            return
        yield from self._walk(self._path, ())

    def _walk(self, folder: Path, above: tuple[tuple[int, int], ...]) -> Iterator[SourceItem | SkippedFile]:
        try:
            status = folder.stat()
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError as exc:
            yield _inaccessible(folder, exc)
            return
        place = (status.st_dev, status.st_ino)
        if place in above:
            return
        for entry in entries:
            path = folder / entry.name
            if path.is_dir():
                if self._recursive:
                    yield from self._walk(path, (*above, place))
            elif any(fnmatch.fnmatchcase(entry.name.lower(), pattern) for pattern in self._patterns):
                yield _item(path)


def _item(path: Path) -> SourceItem | SkippedFile:
    media_type = _TYPES.get(path.suffix.lower())
    if media_type is None:
        return SkippedFile(
            str(path),
            UnreadableReason.UNSUPPORTED.value,
            f"{path.name}: files of type '{path.suffix or 'none'}' are not supported.",
            f"Supported are {', '.join(_TYPES)}.",
        )
    digest, size, head = hashlib.sha256(), 0, b""
    try:
        with path.open("rb") as file:
            while block := file.read(_BLOCK):
                head = head or block[:_HEAD]
                digest.update(block)
                size += len(block)
    except OSError as exc:
        return _inaccessible(path, exc)
    if not size:
        return SkippedFile(str(path), UnreadableReason.EMPTY.value, f"{path.name} is empty.", "Replace the file.")
    if problem := _mislabelled(path, media_type, head):
        return SkippedFile(str(path), UnreadableReason.MISLABELLED.value, problem, "Rename or replace the file.")
    return SourceItem(
        uri=str(path),
        name=path.name,
        media_type=media_type,
        size=size,
        sha256=digest.hexdigest(),
        open=lambda: path.open("rb"),
        path=path,
    )


def _mislabelled(path: Path, media_type: str, head: bytes) -> str:
    """Say what a file is instead of what its name says, empty where they agree or the reader knows better."""
    is_zip, is_pdf, is_ole = head.startswith(b"PK\x03\x04"), b"%PDF-" in head, head.startswith(_OLE)
    if media_type == PDF and (is_zip or is_ole):
        return f"{path.name} is named a PDF but is an Office file or an archive."
    if media_type == DOCX and is_pdf and not is_zip:
        return f"{path.name} is named a Word document but is a PDF."
    if media_type == MARKDOWN and (is_zip or is_ole or head.startswith(b"%PDF-")):
        return f"{path.name} is named Markdown but is a binary document."
    return ""


def _inaccessible(path: Path, exc: OSError) -> SkippedFile:
    return SkippedFile(
        str(path),
        UnreadableReason.INACCESSIBLE.value,
        f"{path.name} cannot be read: {exc.strerror or type(exc).__name__}.",
        "Check that the file exists and that you may read it.",
    )
