"""The zip archive of a Word document: check that it is one and is safe to open, and find its parts.

Everything that can be wrong before XML is read becomes a `Refusal`: another format under this name, a password, a
truncated archive, a zip bomb.
"""

from __future__ import annotations

import zipfile
from collections.abc import Generator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING
from urllib.parse import unquote

from lxml import etree

from knowledge_mcp.readers.shared.containers import (
    MAX_TOTAL_BYTES,
    Element,
    corrupted,
    kind_of_archive,
    local_name,
    mislabelled,
    open_archive,
    relations_of,
    too_large,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_MAIN_PART_BYTES = 300_000_000
MAX_SIDE_PART_BYTES = 64_000_000
_EXPECTED = "a Word document"


class Package:
    """The parts of an opened Word document; made by `open_package`."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self._names = {info.filename.lstrip("/"): info for info in archive.infolist()}
        self.main = self._find_main()
        self.relations = {each.id: each for each in relations_of(self.member, self.main, _EXPECTED)}
        if self._names[self.main].file_size > MAX_MAIN_PART_BYTES:
            raise too_large(f"{self.main} has {self._names[self.main].file_size} bytes")

    def open_main(self) -> IO[bytes]:
        """Open the main part for streaming; reading may raise `zipfile.BadZipFile` or `zlib.error`."""
        return self._archive.open(self._names[self.main])

    def part(self, kind: str) -> bytes | None:
        """Return the part that the main part relates to as `kind` ("styles", "numbering", ...), None if missing."""
        found = next((r for r in self.relations.values() if r.kind == kind and not r.external), None)
        return self.member(found.target if found else f"word/{kind}.xml")

    @property
    def headers(self) -> list[str]:
        """Names of the header and footer parts."""
        kinds = {"header", "footer"}
        return [each.target for each in self.relations.values() if each.kind in kinds and not each.external]

    def member(self, name: str) -> bytes | None:
        """Return a member's bytes by its name, None if it is missing."""
        info = self._names.get(unquote(name)) or self._names.get(name)
        if info is None:
            return None
        if info.file_size > MAX_SIDE_PART_BYTES:
            raise too_large(f"{name} has {info.file_size} bytes")
        return self._archive.read(info)

    def _find_main(self) -> str:
        for relation in relations_of(self.member, "", _EXPECTED):
            name = unquote(relation.target)
            if relation.kind == "officeDocument" and name.startswith("word/") and name in self._names:
                return name
        if "word/document.xml" in self._names:
            return "word/document.xml"
        raise mislabelled(_EXPECTED, kind_of_archive(self._names))


@contextmanager
def open_package(path: str) -> Generator[Package]:
    """Open a Word document after checking that this is safe.

    Raises:
        Refusal: empty, mislabelled, password_protected, corrupted or too_large; also for errors of the archive or its
            XML inside the `with` block.
    """
    # a document may contain a film: only the parts that are read are limited
    with open_archive(path, _EXPECTED, largest=MAX_TOTAL_BYTES) as archive:
        try:
            yield Package(archive)
        except etree.XMLSyntaxError as error:
            raise corrupted(_EXPECTED, error) from error
        except TooManyElementsError as error:
            raise too_large(str(error)) from error


MAX_ELEMENTS = 2_000_000
"""Most elements in one child of the body: about 400 MB; a table of 10,000 rows has far fewer."""


MAX_ITEMS = 400_000
"""Most children of the body; a book of a thousand pages has tens of thousands."""

_ITEMS = [
    f"{{*}}{name}"
    for name in (
        "p", "tbl", "sdt", "bookmarkStart", "AlternateContent", "customXml", "ins", "moveTo", "sdtContent",
        "smartTag", "sectPr",
    )
]  # fmt: skip
"""Possible children of the body that hold text, or that end one that does."""


def parse(data: bytes) -> Element:
    """Parse one part without entities, network access and huge trees; raises `lxml.etree.XMLSyntaxError`."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
    root = etree.fromstring(data, parser)
    _refuse_doctype(root)
    return root


class TooManyElementsError(Exception):
    """One paragraph or table has more elements than memory allows, or the body has more than time allows."""


class _Counted:
    """Count the elements that begin in a stream, to limit the size of one child of the body."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._open_elements = 0

    def read(self, size: int = -1) -> bytes:
        """Read from the stream and count."""
        data = self._stream.read(size)
        self._open_elements += data.count(b"<") - data.count(b"</")
        if self._open_elements > MAX_ELEMENTS:
            raise TooManyElementsError(f"more than {MAX_ELEMENTS} elements")
        return data

    def begin(self) -> None:
        """Reset the count."""
        self._open_elements = 0


def body_items(stream: IO[bytes]) -> Iterator[Element]:
    """Yield the children of the body that hold text; each is freed when the next is requested.

    Raises:
        lxml.etree.XMLSyntaxError: the part is not well-formed, or has a document type declaration.
        TooManyElementsError: one child of the body has more than `MAX_ELEMENTS` elements, or the body more than
            `MAX_ITEMS` children.
    """
    counted = _Counted(stream)
    events = etree.iterparse(
        counted, events=("end",), tag=_ITEMS, resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False
    )
    body: Element | None = None
    items = 0
    for _, element in events:
        if body is None:
            _refuse_doctype(element)
            body = _body_of(element)
        parent = element.getparent()
        if parent is None or parent is not body:
            continue
        items += 1
        if items > MAX_ITEMS:
            raise TooManyElementsError(f"more than {MAX_ITEMS} paragraphs and tables")
        yield element
        element.clear(keep_tail=False)
        while (previous := element.getprevious()) is not None:
            parent.remove(previous)
        counted.begin()


def _body_of(element: Element) -> Element | None:
    return next((above for above in element.iterancestors() if local_name(above) == "body"), None)


def _refuse_doctype(element: Element) -> None:
    """Refuse a document type declaration: office files never have one, and it may define entities."""
    if element.getroottree().docinfo.internalDTD is not None:
        raise etree.XMLSyntaxError("a document type declaration is not allowed here", 0, 0, 0)
