"""Files of the local machine: one file, or a folder with everything below it that fits the patterns."""

from __future__ import annotations

import fnmatch
import functools
import hashlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from knowledge_mcp.model.errors import InvalidInputError, NotFoundError, UnreadableReason
from knowledge_mcp.model.ingest import SkippedFile
from knowledge_mcp.model.source import SourceItem

__all__ = ["DEFAULT_PATTERNS", "FileSource", "media_type_of"]

DEFAULT_PATTERNS = ("*.pdf", "*.docx", "*.md")
"""What is ingested when nothing else is asked for."""

PDF = "application/pdf"
DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
MARKDOWN = "text/markdown"

_MEDIA_TYPES = {
    ".pdf": PDF,
    ".docx": DOCX,
    ".md": MARKDOWN,
    ".markdown": MARKDOWN,
    ".mdx": MARKDOWN,
}
_HEAD = 1024
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ZIP = b"PK\x03\x04"


def media_type_of(name: str) -> str:
    """Tell the media type by a file name's extension, `application/octet-stream` where it says nothing."""
    return _MEDIA_TYPES.get(Path(name).suffix.lower(), "application/octet-stream")


class FileSource:
    """Find files to ingest.

    Args:
        path: a file, or a folder.
        recursive: for a folder, whether folders below it count too.
        patterns: file name patterns (`*`, `?`, `[...]`) without regard to case; a single file needs to fit none.

    Folders behind symbolic links are entered only where they lie inside `path`, and no folder twice; hidden files and
    folders (leading dot) are left out.

    Raises:
        NotFoundError: there is nothing at `path`.
        InvalidInputError: `path` is neither file nor folder, or there is no pattern.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, recursive: bool = True, patterns: Sequence[str] = DEFAULT_PATTERNS
    ) -> None:
        self._path = Path(os.path.abspath(Path(path).expanduser()))  # noqa: PTH100 - keeps links as the user wrote them
        self._recursive = recursive
        self._patterns = tuple(pattern.lower() for pattern in patterns)
        if not self._patterns:
            raise InvalidInputError("No file name pattern was given.", suggestion="Give one such as '*.pdf'.")
        if not os.path.lexists(self._path):
            raise NotFoundError(f"There is no file or folder {self._path}.", suggestion="Check the path.")
        if self._path.exists() and not (self._path.is_file() or self._path.is_dir()):
            raise InvalidInputError(
                f"{self._path} is neither a file nor a folder.", suggestion="Give a file or folder."
            )

    def items(self) -> Iterator[SourceItem | SkippedFile]:
        """Yield files and skipped files, each folder's files by name first, then the folders below it by name."""
        if self._path.is_dir():
            yield from self._folder(self._path, {_identity(self._path)})
        else:
            yield _item(self._path)

    def _folder(self, folder: Path, seen: set[tuple[int, int]]) -> Iterator[SourceItem | SkippedFile]:
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError as error:
            yield _inaccessible(folder, error, "folder")
            return
        entries = [entry for entry in entries if not entry.name.startswith(".")]
        for entry in entries:
            if self._fits(entry.name) and not _is_folder(entry):
                yield _item(Path(entry.path))
        if not self._recursive:
            return
        for entry in entries:
            if _is_folder(entry) and (not entry.is_symlink() or self._is_inside(entry.path)):
                identity = _identity(Path(entry.path))
                if identity not in seen:
                    seen.add(identity)
                    yield from self._folder(Path(entry.path), seen)

    def _fits(self, name: str) -> bool:
        return any(fnmatch.fnmatchcase(name.lower(), pattern) for pattern in self._patterns)

    def _is_inside(self, path: str) -> bool:
        return Path(path).resolve().is_relative_to(self._path.resolve())


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def _identity(folder: Path) -> tuple[int, int]:
    try:
        status = folder.stat()
    except OSError:
        return (0, hash(str(folder)))
    return (status.st_dev, status.st_ino)


def _item(path: Path) -> SourceItem | SkippedFile:
    """Open one file, look at its head, hash it; whatever goes wrong becomes a skipped file with its reason."""
    try:
        if not path.is_file():
            return _not_a_file(path)
        with path.open("rb") as stream:
            head = stream.read(_HEAD)
            refusal = _refuse(path, head)
            if refusal is not None:
                return refusal
            stream.seek(0)
            digest = hashlib.file_digest(stream, "sha256").hexdigest()  # reads in blocks
            size = stream.tell()
    except OSError as error:
        return _inaccessible(path, error, "file")
    return SourceItem(
        uri=str(path),
        name=path.name,
        media_type=media_type_of(path.name),
        size=size,
        sha256=digest,
        open=functools.partial(path.open, "rb"),
        path=path,
    )


def _refuse(path: Path, head: bytes) -> SkippedFile | None:
    """Skip an empty file, and one whose first bytes are not what its extension says."""
    if not head:
        return SkippedFile(
            str(path), UnreadableReason.EMPTY, f"{path.name}: The file is empty (0 bytes).", "Replace it."
        )
    media_type = media_type_of(path.name)
    if media_type == PDF and b"%PDF-" not in head:
        return _mislabelled(path, "PDF")
    # an OLE container may be an encrypted document: the reader tells that from an old .doc file
    if media_type == DOCX and not head.startswith((_ZIP, _OLE)):
        return _mislabelled(path, "Word document (.docx)")
    if media_type == MARKDOWN and head.startswith((b"%PDF-", _ZIP, _OLE)):
        return _mislabelled(path, "Markdown text")
    return None


def _mislabelled(path: Path, claimed: str) -> SkippedFile:
    return SkippedFile(
        str(path),
        UnreadableReason.MISLABELLED,
        f"{path.name}: The extension says {claimed}, the content is something else.",
        "Give the file its true extension.",
    )


def _not_a_file(path: Path) -> SkippedFile:
    if path.is_symlink() and not path.exists():
        message = f"{path.name}: The symbolic link points to nothing."
        return SkippedFile(str(path), UnreadableReason.INACCESSIBLE, message, "Mend or remove the link.")
    if not path.exists():
        message = f"{path.name}: The file is gone."
        return SkippedFile(str(path), UnreadableReason.INACCESSIBLE, message, "Run again if it should be there.")
    message = f"{path.name}: This is no regular file."
    return SkippedFile(str(path), UnreadableReason.UNSUPPORTED, message, "Give a regular file.")


def _inaccessible(path: Path, error: OSError, what: str) -> SkippedFile:
    said = error.strerror or type(error).__name__
    message = f"{path.name}: The {what} cannot be read: {said}."
    return SkippedFile(str(path), UnreadableReason.INACCESSIBLE, message, "Check its permissions.")
