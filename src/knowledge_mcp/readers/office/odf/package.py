"""Child process: open the package of an OpenDocument file, after checking that it is what its name says."""

from __future__ import annotations

import zipfile
from collections.abc import Generator
from contextlib import contextmanager

from knowledge_mcp.readers.shared.containers import Element, corrupted, member, open_archive, parse_xml
from knowledge_mcp.support.sandbox_worker import Refusal

TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
STYLE = "{urn:oasis:names:tc:opendocument:xmlns:style:1.0}"
DRAW = "{urn:oasis:names:tc:opendocument:xmlns:drawing:1.0}"
OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
FO = "{urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0}"
SVG = "{urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0}"
LINK = "{http://www.w3.org/1999/xlink}href"


class OdfPackage:
    """An open OpenDocument file: its name in messages, archive, content and styles."""

    def __init__(self, archive: zipfile.ZipFile, expected: str) -> None:
        self.archive = archive
        self.expected = expected
        self.content = parse_xml(member(archive, "content.xml") or b"", expected)
        data = member(archive, "styles.xml")
        self.styles = parse_xml(data, expected) if data else None

    @property
    def roots(self) -> list[Element]:
        """The trees that contain styles."""
        return [root for root in (self.styles, self.content) if root is not None]

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
        kind: "text" or "spreadsheet".
        expected: what it should be, with its article.

    Raises:
        Refusal: it is not of this kind, or is locked, damaged, empty or too large.
    """
    with open_archive(path, expected, needs=("content.xml",)) as archive:
        media_type = (member(archive, "mimetype") or b"").decode("ascii", "replace").strip()
        if media_type and not media_type.startswith(f"application/vnd.oasis.opendocument.{kind}"):
            named = media_type.rpartition(".")[2]
            raise Refusal(
                "mislabelled",
                f"It is not {expected} but another OpenDocument file ({named}).",
                suggestion="Rename the file with the correct extension.",
            )
        if b"encryption-data" in (member(archive, "META-INF/manifest.xml") or b""):
            raise Refusal(
                "password_protected", "It is protected by a password.", suggestion="Save it without a password."
            )
        yield OdfPackage(archive, expected)
