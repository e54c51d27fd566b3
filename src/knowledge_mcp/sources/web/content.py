"""The content of a response: its kind and its name."""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections.abc import Mapping
from pathlib import PurePosixPath
from urllib.parse import unquote, unquote_to_bytes

from knowledge_mcp.model.errors import (
    AuthError,
    ConnectionFailedError,
    InvalidInputError,
    KnowledgeError,
    NotFoundError,
    RateLimitedError,
    TimedOutError,
)
from knowledge_mcp.model.source import MEDIA_TYPES, UNKNOWN, extension_of, media_type_of
from knowledge_mcp.sources.web.address import WebAddress
from knowledge_mcp.sources.web.exchange import ResponseHead
from knowledge_mcp.support.charsets import decoded
from knowledge_mcp.support.retry import requested_pause

PLAIN = "text/plain"
_KNOWN = frozenset(MEDIA_TYPES.values())
_UNINFORMATIVE = frozenset(
    {
        "",
        UNKNOWN,
        "application/binary",
        "application/download",
        "application/force-download",
        "application/x-download",
        "application/zip",
        "application/x-zip-compressed",
        "binary/octet-stream",
    }
)
_SAME: Mapping[str, str] = {
    "application/csv": "text/csv",
    "application/x-json": "application/json",
    "application/x-pdf": "application/pdf",
    "image/jpg": "image/jpeg",
    "image/pjpeg": "image/jpeg",
    "image/tif": "image/tiff",
    "image/x-ms-bmp": "image/bmp",
    "image/x-png": "image/png",
    "text/json": "application/json",
    "text/x-markdown": "text/markdown",
    "text/xml": "application/xml",
}
_SOURCES = frozenset({"text/markdown", "text/csv", "application/json", "application/xml"})
"""Kinds that many servers label `text/plain`; not HTML, whose source may be served so on purpose."""

_BEGINNINGS: tuple[tuple[bytes, str], ...] = (
    (b"%PDF-", "application/pdf"),
    (b"{\\rtf", "application/rtf"),
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"II*\x00", "image/tiff"),
    (b"MM\x00*", "image/tiff"),
)
_ZIP, _OLE = b"PK\x03\x04", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_IN_ZIP: tuple[tuple[bytes, str], ...] = (
    (b"word/document.xml", MEDIA_TYPES[".docx"]),
    (b"xl/workbook.xml", MEDIA_TYPES[".xlsx"]),
    (b"ppt/presentation.xml", MEDIA_TYPES[".pptx"]),
    (b"mimetypeapplication/epub+zip", "application/epub+zip"),
    (b"mimetypeapplication/vnd.oasis.opendocument.presentation", MEDIA_TYPES[".odp"]),
    (b"mimetypeapplication/vnd.oasis.opendocument.spreadsheet", MEDIA_TYPES[".ods"]),
    (b"mimetypeapplication/vnd.oasis.opendocument.text", MEDIA_TYPES[".odt"]),
)
_IN_OLE: tuple[tuple[bytes, str], ...] = (
    ("__substg1.0_".encode("utf-16-le"), "application/vnd.ms-outlook"),
    ("Workbook".encode("utf-16-le"), "application/vnd.ms-excel"),
)

_EXTENDED = re.compile(r"filename\*\s*=\s*(utf-8|iso-8859-1)'[^']*'([^;\s]+)", re.IGNORECASE)
_PLAIN_FILENAME = re.compile(r"(?:^|;)\s*filename\s*=\s*(?:\"((?:[^\"\\]|\\.)*)\"|([^;\s]+))", re.IGNORECASE)
_CHARSET = re.compile(r";\s*charset\s*=\s*[\"']?([A-Za-z][\w.:-]{1,40})", re.IGNORECASE)
_LONGEST_HEADER, _LONGEST_NAME, _LONGEST_EXTENSION = 2000, 120, 16


def kind_by_header(content_type: str, name: str) -> str:
    """Determine the media type from the header, and from the file name if the header is not informative.

    Args:
        content_type: the header, with its parameters or empty.
        name: the file name, see `file_name`.

    Returns:
        A readable media type, or `application/octet-stream` if the bytes must be examined.

    Raises:
        InvalidInputError: it is of a kind that cannot be read.
    """
    media_type = content_type.partition(";")[0].strip().lower()
    kind = _SAME.get(media_type, media_type)
    by_name = media_type_of(name)
    if kind in _UNINFORMATIVE:
        return by_name
    if kind == PLAIN:
        return by_name if by_name in _SOURCES else kind
    if kind in _KNOWN:
        return kind
    if kind.endswith("+json"):
        return "application/json"
    if kind.startswith("application/") and kind.endswith("+xml"):
        return "application/xml"
    raise refused_kind(media_type)


def kind_by_content(content: bytes, declared: str = UNKNOWN) -> str:
    """Determine the media type from the bytes.

    Args:
        content: all of them.
        declared: what the header says: nothing useful, or a text type, which some servers use for everything unknown.
            HTML source labelled as plain text stays plain text.

    Returns:
        A readable media type, `declared` if the bytes show nothing.
    """
    for beginning, kind in _BEGINNINGS:
        if content.startswith(beginning):
            return kind
    for beginning, table in ((_ZIP, _IN_ZIP), (_OLE, _IN_OLE)):
        if content.startswith(beginning):
            return next((kind for mark, kind in table if mark in content), UNKNOWN)
    if declared != UNKNOWN:
        return declared
    start = content[:1024].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if start.startswith((b"<!doctype html", b"<html")):
        return "text/html"
    return "application/xml" if start.startswith(b"<?xml") else UNKNOWN


def in_utf8(content: bytes, content_type: str) -> bytes:
    """Convert a text to UTF-8 from the encoding in its header, which takes precedence over the page's own statement.

    Text that is already UTF-8, or not valid in that encoding, stays unchanged.
    """
    charset = _CHARSET.search(content_type)
    if charset is None or content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return content
    found = decoded(content, "utf-8") or decoded(content, charset[1])
    return content if found is None or found[1] == "utf-8" else found[0].encode("utf-8", "replace")


def refused_kind(media_type: str) -> InvalidInputError:
    """Build the error for an unsupported kind, with its name."""
    name = "".join(character for character in media_type[:80] if character.isprintable())
    return InvalidInputError(
        f"The address gives {name or UNKNOWN}, which is not a supported type.",
        suggestion="Give the address of a web page, a PDF, an Office document, an image, or text.",
    )


def file_name(disposition: str, address: WebAddress) -> str:
    """Name what was fetched: by the header (RFC 6266), by the last part of the address, or by the host.

    The name is one path component, safe on every system; it may lack an extension.
    """
    names = _names_in_header(disposition) if len(disposition) <= _LONGEST_HEADER else []
    for candidate in (*names, unquote(address.path.rpartition("/")[2])):
        name = _safe(candidate)
        if name:
            return name
    return _safe(address.host.replace(":", "-"))


def with_extension(name: str, kind: str) -> str:
    """Add the extension of its kind to a name, unless its own means the same."""
    return name if media_type_of(name) == kind else name + extension_of(kind)


def _names_in_header(disposition: str) -> list[str]:
    names: list[str] = []
    extended = _EXTENDED.search(disposition)
    if extended is not None:
        try:
            names.append(unquote_to_bytes(extended[2]).decode(extended[1]))
        except UnicodeDecodeError:
            names.clear()
    plain = _PLAIN_FILENAME.search(disposition)
    if plain is not None:
        names.append(re.sub(r"\\(.)", r"\1", plain[1]) if plain[1] is not None else plain[2])
    return names


def _safe(text: str) -> str:
    last = re.split(r"[/\\]", unicodedata.normalize("NFC", text))[-1]
    name = "".join(character for character in last if character.isprintable())
    name = re.sub(r'[<>:"|?*]', "_", name).strip(" .")
    extension = PurePosixPath(name).suffix
    if len(extension) > _LONGEST_EXTENSION:
        return name[:_LONGEST_NAME].rstrip(" .")
    return name.removesuffix(extension)[:_LONGEST_NAME].rstrip(" .") + extension


REDIRECTS = frozenset({301, 302, 303, 307, 308})
_WHOLE = frozenset({200, 203})


_PASSWORD = re.compile(rb"""type\s{0,9}=\s{0,9}["']?password""", re.I)
_SIGN_IN = re.compile(r"(?<![a-z])(?:(?:log|sign)[-_]?(?:in|on)|sso|saml2?|oauth2?|openid|authenticate)(?![a-z])", re.I)
_BY_HAND = "Nothing is fetched with credentials; add the document as a file."


def sign_in_error(asked: WebAddress, address: WebAddress, content: bytes) -> KnowledgeError | None:
    """Build the error for a redirect to a login page; None if it is another page.

    Two of three signs are needed: the address contains where to return to, the address says what it is, the page asks
    for a password.
    """
    if address.url == asked.url:
        return None
    signs = (
        len(asked.path) > 1 and unquote(asked.path) in unquote(unquote(address.query)),
        _SIGN_IN.search(f"{address.host}{address.path}") is not None,
        _PASSWORD.search(content) is not None,
    )
    if sum(signs) < 2:
        return None
    message = f"{asked.display_url} redirects to {address.origin}{address.path}, a sign-in page."
    return AuthError(message, suggestion=_BY_HAND)


def status_error(head: ResponseHead, address: WebAddress) -> KnowledgeError | None:
    """Build the error for a response's status; None if it comes with a document."""
    status, url = head.status, address.display_url
    details = f"HTTP status {status}"
    if status in _WHOLE:
        return None
    if status in {404, 410}:
        return NotFoundError(f"There is no document at {url}.", details=details, suggestion="Check the address.")
    if status in {401, 403, 407}:
        return AuthError(
            f"{url} is not publicly accessible.",
            details=details,
            suggestion=_BY_HAND,
        )
    if status == 429:
        return RateLimitedError(
            f"{address.host} is limiting requests.",
            details=details,
            retry_after=requested_pause(head.first("retry-after")),
        )
    if status == 408:
        return TimedOutError(f"{address.host} stopped waiting.", details=details)
    if status >= 500:
        return ConnectionFailedError(
            f"{address.host} cannot deliver {url} now.",
            details=details,
            suggestion="This is a problem of the site; try again later.",
        )
    return InvalidInputError(
        f"{url} returns no document (status {status}).", details=details, suggestion="Check the address."
    )
