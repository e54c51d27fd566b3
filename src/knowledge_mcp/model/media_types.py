"""Media types by file extension: what the product can tell apart, whoever reads it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath

__all__ = ["MEDIA_TYPES", "UNKNOWN", "extension_of", "media_type_of"]

UNKNOWN = "application/octet-stream"

_OFFICE = "application/vnd.openxmlformats-officedocument"

MEDIA_TYPES: Mapping[str, str] = {
    ".bmp": "image/bmp",
    ".csv": "text/csv",
    ".docx": f"{_OFFICE}.wordprocessingml.document",
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
    ".odt": "application/vnd.oasis.opendocument.text",
    ".pdf": "application/pdf",
    ".png": "image/png",
    ".pptx": f"{_OFFICE}.presentationml.presentation",
    ".tif": "image/tiff",
    ".tiff": "image/tiff",
    ".txt": "text/plain",
    ".xhtml": "application/xhtml+xml",
    ".xls": "application/vnd.ms-excel",
    ".xlsx": f"{_OFFICE}.spreadsheetml.sheet",
    ".xml": "application/xml",
}
"""Media type by lower-case extension with its dot."""

_FIRST = {media_type: extension for extension, media_type in reversed(MEDIA_TYPES.items())}
_COMMON = {"image/jpeg": ".jpg", "text/html": ".html", "text/markdown": ".md", "image/tiff": ".tif"}


def media_type_of(name: str) -> str:
    """Tell the media type by a file name's extension, `application/octet-stream` where it says nothing."""
    return MEDIA_TYPES.get(PurePosixPath(name).suffix.lower(), UNKNOWN)


def extension_of(media_type: str) -> str:
    """Give the extension, with its dot, that files of a media type usually have; empty where it is not known."""
    return _COMMON.get(media_type) or _FIRST.get(media_type, "")
