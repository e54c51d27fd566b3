"""Child process: e-books (.epub). Their chapters are web pages, read in reading order."""

from __future__ import annotations

import posixpath
import zipfile
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import unquote

from knowledge_mcp.readers.html.walk import html_pieces
from knowledge_mcp.readers.shared.containers import corrupted, member, open_archive, parse_xml
from knowledge_mcp.readers.shared.pieces import Piece, facts, messages
from knowledge_mcp.readers.shared.text import NotTextError, decode_text
from knowledge_mcp.support.sandbox_worker import Refusal
from knowledge_mcp.support.wording import how_many

_BOOK = "an EPUB"


def epub(path: str, *, check: bool) -> Iterator[dict[str, Any]]:
    """Yield the messages of an e-book, its chapters in reading order.

    Raises:
        Refusal: it is not an e-book, or is copy-protected, damaged, empty or too large.
    """
    with open_archive(path, _BOOK, needs=("META-INF/container.xml",)) as archive:
        if member(archive, "META-INF/rights.xml") is not None or _is_protected(archive):
            raise Refusal(
                "encrypted",
                "It is protected against copying (DRM).",
                suggestion="Get a copy without protection from its publisher.",
            )
        properties, chapters, missing = _package(archive)
        if not check:
            yield from messages(_pieces(archive, chapters, properties, missing))


def _pieces(
    archive: zipfile.ZipFile, chapters: Iterable[str], properties: dict[str, str], missing: int
) -> Iterator[Piece]:
    for name in chapters:
        data = member(archive, name) or b""
        if not data.strip():
            continue
        try:
            yield from html_pieces(decode_text(data).text)
        except NotTextError as error:
            raise corrupted(_BOOK, error) from error
    message = f"{how_many(missing, 'chapter is', 'chapters are')} listed in the book, but missing from its file."
    yield facts(title=properties.pop("title", ""), metadata=properties, warnings=[message] if missing else [])


def _is_protected(archive: zipfile.ZipFile) -> bool:
    """Return whether chapters are encrypted; fonts may be obfuscated, which does not matter."""
    data = member(archive, "META-INF/encryption.xml")
    if data is None:
        return False
    root = parse_xml(data, _BOOK)
    methods = [element.get("Algorithm", "") for element in root.iter("{*}EncryptionMethod")]
    fonts = ("http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC")
    return any(not method.startswith(fonts) for method in methods)


def _package(archive: zipfile.ZipFile) -> tuple[dict[str, str], list[str], int]:
    """Return the book's properties, the names of its chapters, and how many chapters are missing from its archive."""
    container = parse_xml(member(archive, "META-INF/container.xml") or b"", _BOOK)
    rootfile = next((element.get("full-path", "") for element in container.iter("{*}rootfile")), "")
    data = member(archive, rootfile)
    if data is None:
        raise corrupted(_BOOK, "its package file is missing")
    package = parse_xml(data, _BOOK)
    properties: dict[str, str] = {}
    for name, key in (("title", "title"), ("creator", "author"), ("language", "language"), ("date", "date")):
        texts = (element.text or "" for element in package.iter(f"{{http://purl.org/dc/elements/1.1/}}{name}"))
        found = [" ".join(text.split()) for text in texts if text.strip()]
        if found:
            properties[key] = (found[0] if key == "title" else ", ".join(found))[:4000]
    files = {element.get("id", ""): element.get("href", "") for element in package.iter("{*}item")}
    names, base = set(archive.namelist()), posixpath.dirname(rootfile)
    spine = [files.get(element.get("idref", ""), "") for element in package.iter("{*}itemref")]
    found: list[str] = []
    for name in spine:
        paths = (posixpath.normpath(posixpath.join(base, href)) for href in (name, unquote(name)))
        found.extend([path for path in paths if path in names][:1])
    # a chapter is in a book once; this list may name one a million times
    return properties, list(dict.fromkeys(found)), len(spine) - len(found)
