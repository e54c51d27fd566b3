"""Where a document's bytes come from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path, PurePath, PurePosixPath
from typing import BinaryIO

MOST_BYTES = 1 << 30
"""Size from which on a file is refused before its content is looked at: no reader has memory for more."""


@dataclass(frozen=True, slots=True)
class SourceItem:
    """Name one file, page or object to be read.

    Attributes:
        uri: stable identifier; for files the absolute path.
        name: file name with extension, for messages and for the document id.
        media_type: e.g. `application/pdf`, as the extension says, checked by the reader's magic bytes.
        size: bytes.
        sha256: lower-case hex of the bytes.
        open: open the bytes for reading; the caller closes. Raises OSError, also where other bytes stand there by now.
        path: where the local file is, when there is one; its bytes are had by `open` only.
        labels: flat pairs that whoever ingests knows of it (application, language, commit …); kept on its record, where
            they win over what the document says under the same name.
        document_id: the id that its document shall have, None for the reader's proposal.
        title: what its document is called, None for what the document says.
        document_type: what kind of document it is, None where the document or the classifier tells.
        language: of its text for OCR, as the engine spells it, e.g. `eng+deu`; None for the reader's default.
        force_ocr: read every page by OCR, whatever text it holds already.
    """

    uri: str
    name: str
    media_type: str
    size: int
    sha256: str
    open: Callable[[], BinaryIO]
    path: Path | None = None
    labels: tuple[tuple[str, str], ...] = ()
    document_id: str | None = None
    title: str | None = None
    document_type: str | None = None
    language: str | None = None
    force_ocr: bool = False

    @property
    def suffix(self) -> str:
        """Extension of a copy: the name's where it is one of the media type, else what such files usually have."""
        named = (self.path or PurePath(self.name)).suffix
        if media_type_of(f"x{named}") == self.media_type:
            return named
        return extension_of(self.media_type) or named


UNKNOWN = "application/octet-stream"

DOORSTOP = "application/x-doorstop+zip"
"""A folder of Doorstop items as one file; sources make it where they meet such a folder."""
_OFFICE = "application/vnd.openxmlformats-officedocument"

MEDIA_TYPES: Mapping[str, str] = {
    ".adoc": "text/asciidoc",
    ".asciidoc": "text/asciidoc",
    ".bmp": "image/bmp",
    ".csv": "text/csv",
    ".dbk": "application/xml",
    ".dita": "application/xml",
    ".docx": f"{_OFFICE}.wordprocessingml.document",
    ".doorstop": DOORSTOP,
    ".eml": "message/rfc822",
    ".epub": "application/epub+zip",
    ".htm": "text/html",
    ".html": "text/html",
    ".jpeg": "image/jpeg",
    ".jpg": "image/jpeg",
    ".json": "application/json",
    ".markdown": "text/markdown",
    ".md": "text/markdown",
    ".mdx": "text/markdown",
    ".msg": "application/vnd.ms-outlook",
    ".nxml": "application/xml",
    ".ods": "application/vnd.oasis.opendocument.spreadsheet",
    ".odt": "application/vnd.oasis.opendocument.text",
    ".pdf": "application/pdf",
    ".png": "image/png",
    ".pptx": f"{_OFFICE}.presentationml.presentation",
    ".reqif": "application/reqif+xml",
    ".reqifz": "application/reqif+zip",
    ".rst": "text/x-rst",
    ".sdoc": "text/x-strictdoc",
    ".tif": "image/tiff",
    ".tiff": "image/tiff",
    ".txt": "text/plain",
    ".xhtml": "application/xhtml+xml",
    ".xls": "application/vnd.ms-excel",
    ".xlsx": f"{_OFFICE}.spreadsheetml.sheet",
    ".xml": "application/xml",
}
"""Media type by lower-case extension with its dot."""

WORKBOOKS = frozenset({".ods", ".xls", ".xlsx"})
"""Extensions of files with sheets, whose lines are rows and whose columns may be named."""

DOCUMENT_PATTERNS = tuple(f"*{extension}" for extension, kind in MEDIA_TYPES.items() if not kind.startswith("image/"))
"""Names of the files that are taken from a folder where nothing else is asked for: documents, and no pictures."""

_SAVED_AS: Mapping[str, str] = {
    **dict.fromkeys((".doc", ".dot", ".docm", ".fodt", ".pages", ".rtf", ".wpd", ".wps"), ".docx"),
    **dict.fromkeys((".fodp", ".key", ".odp", ".pot", ".pps", ".ppsx", ".ppt", ".pptm"), ".pptx"),
    **dict.fromkeys((".fods", ".numbers", ".xlsb", ".xlsm"), ".xlsx"),
    **dict.fromkeys((".djvu", ".ps", ".vsd", ".vsdx", ".xps"), ".pdf"),
    ".mht": ".html",
    ".mhtml": ".html",
}
"""Documents that nothing here reads, and what their programs save them as."""

_FIRST = {media_type: extension for extension, media_type in reversed(MEDIA_TYPES.items())}
_COMMON = {
    "application/xml": ".xml",
    "image/jpeg": ".jpg",
    "text/html": ".html",
    "text/markdown": ".md",
    "image/tiff": ".tif",
}


def media_type_of(name: str) -> str:
    """Tell the media type by a file name's extension, `application/octet-stream` where it says nothing."""
    return MEDIA_TYPES.get(PurePosixPath(name).suffix.lower(), UNKNOWN)


def extension_of(media_type: str) -> str:
    """Give the extension, with its dot, that files of a media type usually have; empty where it is not known."""
    return _COMMON.get(media_type) or _FIRST.get(media_type, "")


def is_unread_document(name: str) -> bool:
    """Tell a document of a kind that nothing here reads, but that its program can save as one that is read."""
    return PurePosixPath(name).suffix.lower() in _SAVED_AS


def advice_on_kind(name: str, readable: Iterable[str]) -> str:
    """Say what to do with a file of a kind that is not read; `readable` are the extensions that are."""
    saved_as = _SAVED_AS.get(PurePosixPath(name).suffix.lower())
    if saved_as is not None:
        return f"Open it in its program and save it as {saved_as}."
    known = ", ".join(sorted(readable))
    return f"Give it its right extension, or convert it to a kind that is read here: {known}."


class ChangeKind(StrEnum):
    """What became of a file."""

    ADDED = "added"
    MODIFIED = "modified"
    DELETED = "deleted"
    RENAMED = "renamed"


@dataclass(frozen=True, slots=True)
class FileChange:
    """Tell what became of one file.

    Attributes:
        kind: what.
        path: where it is, or was if it is deleted, below the root; bytes that are no UTF-8 as surrogates.
        old_path: where a renamed file was, else empty.
    """

    kind: ChangeKind
    path: str
    old_path: str = ""


@dataclass(frozen=True, slots=True)
class RemoteHead:
    """Tell where a remote branch or tag stands: its name, its commit, and its reference.

    The name is empty, and the reference `HEAD`, where a remote follows no branch.
    """

    branch: str
    commit: str
    reference: str


@dataclass(frozen=True, slots=True)
class Checkout:
    """Describe files on this disk at one commit.

    Attributes:
        name: the repository's name.
        url: where it comes from, without credentials; empty where that is not known.
        folder: where its files are.
        branch: empty where none is checked out.
        commit: full hash; empty for a folder that is no repository, or has no commit yet.
        shallow: whether older commits are missing.
        local: a working tree that is not ours, and is only read.
        dirty: what differs from the commit; empty for a clone of ours.
        absent: submodules whose files are not there, by path.
        nested: repositories of their own inside a local one, submodules too; no commit of it says what is in them.
    """

    name: str
    url: str
    folder: Path
    branch: str
    commit: str
    shallow: bool = False
    local: bool = False
    dirty: tuple[FileChange, ...] = ()
    absent: tuple[str, ...] = ()
    nested: tuple[Checkout, ...] = ()
