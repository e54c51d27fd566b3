"""Child process: open the package of an OpenDocument file, after checking that it is what its name says.

A flat file (`.fodt`) contains the parts of a package in one XML tree.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from knowledge_mcp.readers.shared.containers import (
    MAX_MEMBER_BYTES,
    MAX_TREE_BYTES,
    Element,
    corrupted,
    foreign,
    magic_of,
    member,
    open_archive,
    parse_xml,
    password_protected,
    too_large,
)
from knowledge_mcp.support.sandbox_worker import Refusal

TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
STYLE = "{urn:oasis:names:tc:opendocument:xmlns:style:1.0}"
DRAW = "{urn:oasis:names:tc:opendocument:xmlns:drawing:1.0}"
OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
FO = "{urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0}"
SVG = "{urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0}"
LINK = "{http://www.w3.org/1999/xlink}href"

_PICTURE = re.compile(rb"<office:binary-data>[^<]*</office:binary-data>")


class OdfPackage:
    """An open OpenDocument file: name in messages, archive, content, styles; `flat` is the tree of a flat file."""

    def __init__(self, archive: zipfile.ZipFile, expected: str, flat: Element | None = None) -> None:
        self.archive = archive
        self.expected = expected
        self.content = parse_xml(member(archive, "content.xml") or b"", expected) if flat is None else flat
        data = member(archive, "styles.xml")
        self.styles = parse_xml(data, expected) if data else flat

    @property
    def roots(self) -> list[Element]:
        """The trees that contain styles."""
        return [*dict.fromkeys(root for root in (self.styles, self.content) if root is not None)]

    def body(self, kind: str) -> Element:
        """Return the element that contains the document.

        Raises:
            Refusal: there is none.
        """
        body = self.content.find(f"{{*}}body/{{*}}{kind}")
        if body is None:
            raise corrupted(self.expected, f"its content has no {kind} body")
        return body


@contextmanager
def opened_package(path: str, kind: str, expected: str) -> Generator[OdfPackage]:
    """Open an OpenDocument file.

    Args:
        path: the file.
        kind: "text", "spreadsheet" or "presentation".
        expected: what it should be, with its article.

    Raises:
        Refusal: it is not of this kind, or is locked, damaged, empty or too large.
    """
    flat = _flat_tree(path, expected)
    if flat is not None:
        _check_kind(flat.get(f"{OFFICE}mimetype", ""), kind, expected)
        with _parts_of(flat) as archive:
            yield OdfPackage(archive, expected, flat)
        return
    with open_archive(path, expected, needs=("content.xml",)) as archive:
        _check_kind((member(archive, "mimetype") or b"").decode("ascii", "replace").strip(), kind, expected)
        if b"encryption-data" in (member(archive, "META-INF/manifest.xml") or b""):
            raise password_protected()
        yield OdfPackage(archive, expected)


def _check_kind(media_type: str, kind: str, expected: str) -> None:
    if media_type and not media_type.startswith(f"application/vnd.oasis.opendocument.{kind}"):
        named = media_type.rpartition(".")[2]
        raise Refusal(
            "mislabelled",
            f"It is not {expected} but another OpenDocument file ({named}).",
            suggestion="Rename the file with the correct extension.",
        )


def _flat_tree(path: str, expected: str) -> Element | None:
    """Parse a flat file without the data of its pictures, which may be large; None if it is another kind of file."""
    head = magic_of(path)
    if foreign(head) != "an XML file" and not head.startswith(b"<office:document "):
        return None
    if (size := Path(path).stat().st_size) > MAX_MEMBER_BYTES:
        raise too_large(f"{size} bytes")
    data = _PICTURE.sub(b"", Path(path).read_bytes())
    if len(data) > MAX_TREE_BYTES:
        raise too_large(f"{len(data)} bytes without pictures")
    root = parse_xml(data, expected)
    return root if root.tag == f"{OFFICE}document" else None


def _parts_of(flat: Element) -> zipfile.ZipFile:
    """Return an archive of the parts that are not in the tree of the content; embedded documents are taken out."""
    from lxml import etree

    for embedded in [each for each in flat.iter(f"{OFFICE}document") if each is not flat]:
        embedded.clear(keep_tail=True)
    archive = zipfile.ZipFile(io.BytesIO(), "w")
    meta = flat.find(f"{OFFICE}meta")
    if meta is not None:
        archive.writestr("meta.xml", etree.tostring(meta))
    frames = (each.getparent() for each in flat.iter(f"{DRAW}image"))
    if any(frame is not None and frame.find(f"{DRAW}object") is None for frame in frames):
        archive.writestr("Pictures/", b"")
    return archive
