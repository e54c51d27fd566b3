"""Small office files for tests, made by the libraries that make real ones, or written byte by byte where none does."""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Callable, Mapping
from typing import Any, BinaryIO

from knowledge_mcp.model.source import SourceItem, media_type_of


def item_of(data: bytes, name: str, *, uri: str = "") -> SourceItem:
    """Make a source item of bytes in memory, its media type by its name."""

    def opened() -> BinaryIO:
        return io.BytesIO(data)

    digest = hashlib.sha256(data).hexdigest()
    return SourceItem(uri or f"/made/{name}", name, media_type_of(name), len(data), digest, opened)


def zipped(members: Mapping[str, bytes | str]) -> bytes:
    """Write a zip archive."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return target.getvalue()


def presentation(fill: Callable[[Any], None]) -> bytes:
    """Write a presentation; `fill` is given it empty."""
    import pptx

    made: Any = pptx.Presentation()
    fill(made)
    target = io.BytesIO()
    made.save(target)
    return target.getvalue()


def workbook(fill: Callable[[Any], None]) -> bytes:
    """Write an .xlsx workbook; `fill` is given it with one empty sheet."""
    import openpyxl

    made = openpyxl.Workbook()
    fill(made)
    target = io.BytesIO()
    made.save(target)
    return target.getvalue()


_CONTAINER = (
    '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
    '<rootfile full-path="book/package.opf"/></rootfiles></container>'
)


def epub(*chapters: str, title: str = "A Book", further: Mapping[str, str] | None = None, missing: int = 0) -> bytes:
    """Write an e-book of chapters' bodies; `missing` chapters are named but not there."""
    names = [f"c{number}" for number in range(len(chapters) + missing)]
    manifest = "".join(f'<item id="{n}" href="{n}.xhtml" media-type="application/xhtml+xml"/>' for n in names)
    spine = "".join(f'<itemref idref="{name}"/>' for name in names)
    package = (
        '<package xmlns="http://www.idpf.org/2007/opf"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/">'
        f"<dc:title>{title}</dc:title><dc:creator>A. Writer</dc:creator><dc:language>en</dc:language></metadata>"
        f"<manifest>{manifest}</manifest><spine>{spine}</spine></package>"
    )
    members = {"mimetype": "application/epub+zip", "META-INF/container.xml": _CONTAINER, "book/package.opf": package}
    for name, body in zip(names, chapters, strict=False):
        page = f'<html xmlns="http://www.w3.org/1999/xhtml"><head><title>x</title></head><body>{body}</body></html>'
        members[f"book/{name}.xhtml"] = page
    return zipped({**members, **(further or {})})


_ODF = " ".join(
    f'xmlns:{prefix}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
    for prefix, name in (
        ("office", "office"),
        ("text", "text"),
        ("table", "table"),
        ("style", "style"),
        ("draw", "drawing"),
        ("meta", "meta"),
        ("svg", "svg-compatible"),
        ("fo", "xsl-fo-compatible"),
    )
)


def odt(
    body: str,
    *,
    outline: str = "",
    meta: str = "",
    styles: str = "",
    kind: str = "text",
    further: Mapping[str, str] | None = None,
) -> bytes:
    """Write an OpenDocument file of a kind: its body, its outline levels, its properties, its own styles."""
    more = 'xmlns:xlink="http://www.w3.org/1999/xlink" xmlns:dc="http://purl.org/dc/elements/1.1/"'
    members = {
        "mimetype": f"application/vnd.oasis.opendocument.{kind}",
        "content.xml": f"<office:document-content {_ODF} {more}><office:automatic-styles>{styles}"
        f"</office:automatic-styles><office:body><office:{kind}>{body}</office:{kind}>"
        "</office:body></office:document-content>",
        "styles.xml": f"<office:document-styles {_ODF} {more}><office:styles><text:outline-style>{outline}"
        "</text:outline-style></office:styles></office:document-styles>",
        "meta.xml": f"<office:document-meta {_ODF} {more}><office:meta>{meta}</office:meta></office:document-meta>",
        **(further or {}),
    }
    return zipped(members)
