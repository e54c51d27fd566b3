"""Where a document's bytes come from."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path, PurePath, PurePosixPath
from typing import BinaryIO

MOST_BYTES = 1 << 30
"""Maximum size of a file; larger ones are refused before their content is read: no reader has memory for more."""


@dataclass(frozen=True, slots=True)
class SourceItem:
    """One file, page or object to read.

    Attributes:
        uri: stable identifier; for files the absolute path.
        name: file name with extension, for messages and for the document id.
        media_type: e.g. `application/pdf`, by extension, checked against the file's magic bytes by the reader.
        size: bytes.
        sha256: lower-case hex of the bytes.
        open: opens the bytes for reading; the caller closes. Raises OSError, also if the bytes have changed meanwhile.
        path: of the local file, if there is one; read its bytes only through `open`.
        labels: flat pairs known to the caller (application, language, commit …); kept on its record, where they
            override the document's own values of the same name.
        document_id: the id for its document, None for the reader's proposal.
        title: the title of its document, None for the document's own.
        document_type: the type of its document, None to let the document or the classifier decide.
        language: of its text for OCR, as the engine spells it, e.g. `eng+deu`; None for the reader's default.
        force_ocr: read every page by OCR, even if it has text.
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
        """Return the extension for a copy: the name's if it fits the media type, otherwise the usual one."""
        named = (self.path or PurePath(self.name)).suffix
        if media_type_of(f"x{named}") == self.media_type:
            return named
        return extension_of(self.media_type) or named


UNKNOWN = "application/octet-stream"

DOORSTOP = "application/x-doorstop+zip"
"""A folder of Doorstop items as one file; sources create it when they find such a folder."""
OSCAL_YAML = "application/oscal+yaml"
"""Controls (OSCAL) in YAML, which `kind_of` recognises by its first lines: other YAML is configuration, not a document.
"""
YAML = frozenset({".yaml", ".yml"})
"""Extensions of YAML."""
_KINDS = b"(?:catalog|profile|component-definition|system-security-plan)"
_FIRST_PARTS = b"(?:uuid|metadata|back-matter|groups|controls|components|imports|control-implementation)"
_OSCAL_HEAD = re.compile(
    rb"(?:\xef\xbb\xbf)?(?:"
    rb"\s{0,99}\{\s{0,99}(?:\"\$schema\"\s{0,9}:\s{0,9}\"[^\"]{0,300}\"\s{0,9},\s{0,99})?"
    rb"\"%b\"\s{0,9}:\s{0,9}\{\s{0,99}\"%b\"\s{0,9}:"
    rb"|(?:(?:#[^\n]{0,500}|-{3}|)\r?\n){0,20}[\"']?%b[\"']?:[ ]{0,9}\r?\n[ ]{1,8}[\"']?%b[\"']?:"
    rb")" % (_KINDS, _FIRST_PARTS, _KINDS, _FIRST_PARTS)
)
"""How OSCAL begins in JSON, or in YAML after comments."""
_OFFICE = "application/vnd.openxmlformats-officedocument"
_OPEN = "application/vnd.oasis.opendocument"

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
    ".fodp": f"{_OPEN}.presentation-flat-xml",
    ".fods": f"{_OPEN}.spreadsheet-flat-xml",
    ".fodt": f"{_OPEN}.text-flat-xml",
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
    ".odp": f"{_OPEN}.presentation",
    ".ods": f"{_OPEN}.spreadsheet",
    ".odt": f"{_OPEN}.text",
    ".pdf": "application/pdf",
    ".png": "image/png",
    ".pptx": f"{_OFFICE}.presentationml.presentation",
    ".reqif": "application/reqif+xml",
    ".reqifz": "application/reqif+zip",
    ".rst": "text/x-rst",
    ".rtf": "application/rtf",
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

WORKBOOKS = frozenset({".fods", ".ods", ".xls", ".xlsx"})
"""Extensions of files with sheets, whose lines are rows and whose columns may have names."""

DOCUMENT_PATTERNS = tuple(f"*{extension}" for extension, kind in MEDIA_TYPES.items() if not kind.startswith("image/"))
"""Default names of files to ingest from a folder: documents, but no pictures."""

_SAVED_AS: Mapping[str, str] = {
    **dict.fromkeys((".doc", ".dot", ".docm", ".pages", ".wpd", ".wps"), ".docx"),
    **dict.fromkeys((".key", ".pot", ".pps", ".ppsx", ".ppt", ".pptm"), ".pptx"),
    **dict.fromkeys((".numbers", ".xlsb", ".xlsm"), ".xlsx"),
    **dict.fromkeys((".djvu", ".ps", ".vsd", ".vsdx", ".xps"), ".pdf"),
    ".mht": ".html",
    ".mhtml": ".html",
}
"""Documents that cannot be read here, and the formats in which their programs can save them."""

_FIRST = {media_type: extension for extension, media_type in reversed(MEDIA_TYPES.items())}
_COMMON = {
    "application/xml": ".xml",
    "image/jpeg": ".jpg",
    "text/html": ".html",
    "text/markdown": ".md",
    "image/tiff": ".tif",
}


def media_type_of(name: str) -> str:
    """Return the media type for a file name's extension, `application/octet-stream` if unknown."""
    return MEDIA_TYPES.get(PurePosixPath(name).suffix.lower(), UNKNOWN)


def kind_of(name: str, head: bytes) -> str:
    """Return the media type for a file name's extension, or else for its first bytes (1 KB is enough)."""
    is_oscal = PurePosixPath(name).suffix.lower() in YAML and begins_as_oscal(head)
    return OSCAL_YAML if is_oscal else media_type_of(name)


def begins_as_oscal(head: bytes) -> bool:
    """Return whether the first bytes are those of controls (OSCAL) in JSON or YAML; 1 KB is enough."""
    return _OSCAL_HEAD.match(head) is not None


def extension_of(media_type: str) -> str:
    """Return the usual extension of a media type, with its dot; empty if unknown."""
    return _COMMON.get(media_type) or _FIRST.get(media_type, "")


def is_unread_document(name: str) -> bool:
    """Return whether this document cannot be read here, but its program can save it in a readable format."""
    return PurePosixPath(name).suffix.lower() in _SAVED_AS


def advice_on_kind(name: str, readable: Iterable[str]) -> str:
    """Say what to do with a file of an unsupported kind; `readable` lists the supported extensions."""
    saved_as = _SAVED_AS.get(PurePosixPath(name).suffix.lower())
    if saved_as is not None:
        return f"Open it in its program and save it as {saved_as}."
    known = ", ".join(sorted(readable))
    return f"Rename it with the correct extension, or convert it to a supported type: {known}."


class ChangeKind(StrEnum):
    """How a file changed."""

    ADDED = "added"
    MODIFIED = "modified"
    DELETED = "deleted"
    RENAMED = "renamed"


@dataclass(frozen=True, slots=True)
class FileChange:
    """The change of one file.

    Attributes:
        kind: what.
        path: relative to the root; the old one if deleted; bytes that are not UTF-8 as surrogates.
        old_path: the previous path of a renamed file, otherwise empty.
    """

    kind: ChangeKind
    path: str
    old_path: str = ""


@dataclass(frozen=True, slots=True)
class RemoteHead:
    """The state of a remote branch or tag: its name, its commit, and its reference.

    The name is empty, and the reference `HEAD`, if the remote has no default branch.
    """

    branch: str
    commit: str
    reference: str


@dataclass(frozen=True, slots=True)
class Checkout:
    """Files on this disk at one commit.

    Attributes:
        name: the repository's name.
        url: its remote, without credentials; empty if unknown.
        folder: of its files.
        branch: empty if none is checked out.
        commit: full hash; empty for a folder that is not a repository, or has no commit yet.
        shallow: whether older commits are missing.
        local: a working tree that is not ours, and is only read.
        dirty: what differs from the commit; empty for a clone of ours.
        absent: paths of submodules whose files are missing.
        nested: repositories inside a local one, including submodules; no commit of it records their content.
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
