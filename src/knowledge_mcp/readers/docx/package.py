"""The zip around a Word document: is it one, may it be opened, and where are its parts.

Everything that can be wrong before the first XML is read ends here as an `UnreadableDocumentError`: another format
under the name, a password, a truncated archive, an archive made to explode.
"""

from __future__ import annotations

import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from posixpath import join, normpath
from typing import IO, TYPE_CHECKING, BinaryIO, TypeAlias
from urllib.parse import unquote

from lxml import etree

from knowledge_mcp.model.errors import UnreadableDocumentError, UnreadableReason
from knowledge_mcp.model.source import SourceItem
from knowledge_mcp.readers.shared.containers import local_name, without_namespace

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "MAX_ELEMENTS",
    "MAX_ITEMS",
    "Element",
    "Package",
    "Relation",
    "TooManyElementsError",
    "attribute",
    "body_items",
    "child",
    "corrupted",
    "is_on",
    "open_package",
    "parse",
    "unreadable",
    "value",
]

MAX_MEMBERS = 20_000
MAX_TOTAL_BYTES = 1_000_000_000
RATIO_FLOOR_BYTES = 50_000_000
MAX_RATIO = 200
MAX_MAIN_PART_BYTES = 300_000_000
MAX_SIDE_PART_BYTES = 64_000_000

_OLE_MAGIC = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ZIP_MAGICS = (b"PK\x03\x04", b"PK\x05\x06")
_OTHER_MAGICS = (
    (b"%PDF-", "a PDF"),
    (b"{\\rtf", "an RTF document"),
    (b"<!DOCTYPE", "a web page"),
    (b"<html", "a web page"),
    (b"<?xml", "an XML file"),
    (b"\x89PNG", "an image"),
    (b"\xff\xd8\xff", "an image"),
)
_OTHER_ARCHIVES = (
    ("xl/workbook.xml", "an Excel workbook"),
    ("ppt/presentation.xml", "a PowerPoint presentation"),
    ("content.xml", "an OpenDocument file"),
)
_ENCRYPTED_FLAG = 0x1


def unreadable(
    item: SourceItem, reason: UnreadableReason, what: str, *, details: str = "", suggestion: str | None = None
) -> UnreadableDocumentError:
    """Make the error for one item; `what` completes the sentence that begins with the file's name."""
    message = f"{item.name} {what}."
    return UnreadableDocumentError(message, reason=reason, source=item.uri, details=details, suggestion=suggestion)


@dataclass(frozen=True, slots=True)
class Relation:
    """Name what a part points to: the last word of the relation's type, the target, and whether it lies outside."""

    kind: str
    target: str
    external: bool


class Package:
    """Give the parts of one opened Word document; made by `open_package`."""

    def __init__(self, item: SourceItem, archive: zipfile.ZipFile) -> None:
        self._item = item
        self._archive = archive
        self._names = {info.filename.lstrip("/"): info for info in archive.infolist()}
        self.main = self._find_main()
        self.relations = self._relations(self.main)
        if self._names[self.main].file_size > MAX_MAIN_PART_BYTES:
            raise _too_large(item, f"{self.main} holds {self._names[self.main].file_size} bytes")

    def open_main(self) -> IO[bytes]:
        """Open the main part for streaming; reading may raise `zipfile.BadZipFile` or `zlib.error`."""
        return self._archive.open(self._names[self.main])

    def part(self, kind: str) -> bytes | None:
        """Return the part that the main part relates to as `kind` ("styles", "numbering", ...), None without one."""
        found = next((r for r in self.relations.values() if r.kind == kind and not r.external), None)
        name = self._resolve(self.main, found.target) if found else f"word/{kind}.xml"
        return self.member(name)

    @property
    def headers(self) -> list[str]:
        """List the names of the parts that stand on every page."""
        kinds = {"header", "footer"}
        found = (each for each in self.relations.values() if each.kind in kinds and not each.external)
        return [self._resolve(self.main, each.target) for each in found]

    def member(self, name: str) -> bytes | None:
        """Return a member's bytes by its name, None where it is missing."""
        info = self._names.get(name)
        if info is None:
            return None
        if info.file_size > MAX_SIDE_PART_BYTES:
            raise _too_large(self._item, f"{name} holds {info.file_size} bytes")
        return self._archive.read(info)

    def _relations(self, part: str) -> dict[str, Relation]:
        from lxml import etree

        folder, _, name = part.rpartition("/")
        data = self.member(f"{folder}/_rels/{name}.rels".lstrip("/"))
        if data is None:
            return {}
        found: dict[str, Relation] = {}
        try:
            root = parse(data)
        except etree.XMLSyntaxError as error:
            raise corrupted(self._item, error) from error
        for element in root:
            kind = (attribute(element, "Type") or "").rpartition("/")[2]
            external = attribute(element, "TargetMode") == "External"
            relation = Relation(kind, attribute(element, "Target") or "", external)
            found[attribute(element, "Id") or ""] = relation
        return found

    def _find_main(self) -> str:
        relations = self._relations("")
        for relation in relations.values():
            name = self._resolve("", relation.target)
            if relation.kind == "officeDocument" and name.startswith("word/") and name in self._names:
                return name
        if "word/document.xml" in self._names:
            return "word/document.xml"
        what = next((what for member, what in _OTHER_ARCHIVES if member in self._names), "another kind of zip archive")
        raise unreadable(
            self._item,
            UnreadableReason.MISLABELLED,
            f"is not a Word document but {what}",
            details="the archive has no main document part",
            suggestion="Give the file its right extension, or save it as .docx.",
        )

    @staticmethod
    def _resolve(part: str, target: str) -> str:
        if target.startswith("/"):
            return target.lstrip("/")
        return normpath(join(part.rpartition("/")[0], unquote(target)))


@contextmanager
def open_package(item: SourceItem) -> Generator[Package]:
    """Open an item as a Word document after checking that this is safe.

    Raises:
        UnreadableDocumentError: EMPTY, MISLABELLED, PASSWORD_PROTECTED, CORRUPTED, TOO_LARGE or INACCESSIBLE; also for
            what goes wrong with the archive or its XML inside the `with` block.
    """
    from lxml import etree

    try:
        with item.open() as raw, _seekable(raw) as stream:
            _check_magic(item, stream)
            with zipfile.ZipFile(stream) as archive:
                _check_bomb(item, archive)
                yield Package(item, archive)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, etree.XMLSyntaxError) as error:
        raise corrupted(item, error) from error
    except TooManyElementsError as error:
        raise _too_large(item, str(error)) from error
    except OSError as error:
        raise unreadable(
            item,
            UnreadableReason.INACCESSIBLE,
            "cannot be opened",
            details=error.strerror or type(error).__name__,
            suggestion="Check that the file is there and may be read.",
        ) from error


def corrupted(item: SourceItem, error: Exception) -> UnreadableDocumentError:
    """Make the error of a damaged archive or part."""
    return unreadable(
        item,
        UnreadableReason.CORRUPTED,
        "is damaged and cannot be read as a Word document",
        details=f"{type(error).__name__}: {error}",
        suggestion="Open it in Word and save it anew, or get another copy.",
    )


@contextmanager
def _seekable(stream: BinaryIO) -> Generator[BinaryIO]:
    if stream.seekable():
        yield stream
        return
    with tempfile.TemporaryFile() as copy:
        shutil.copyfileobj(stream, copy)
        copy.seek(0)
        yield copy


def _check_magic(item: SourceItem, stream: BinaryIO) -> None:
    head = stream.read(16)
    if not head:
        raise unreadable(item, UnreadableReason.EMPTY, "is empty (0 bytes)")
    if head.startswith(_OLE_MAGIC):
        raise _ole_error(item, stream)
    what = next((what for magic, what in _OTHER_MAGICS if head.startswith(magic)), None)
    if what is not None:
        raise unreadable(
            item,
            UnreadableReason.MISLABELLED,
            f"is not a Word document but {what}",
            suggestion="Give the file its right extension.",
        )
    if not head.startswith(_ZIP_MAGICS):
        raise corrupted(item, zipfile.BadZipFile("the file does not begin as a zip archive"))
    stream.seek(0)


def _ole_error(item: SourceItem, stream: BinaryIO) -> UnreadableDocumentError:
    """Tell an encrypted .docx from an old .doc: both are OLE containers."""
    wanted = "EncryptedPackage".encode("utf-16-le")
    tail = b""
    stream.seek(0)
    while block := stream.read(1 << 20):
        if wanted in tail + block:
            return unreadable(
                item,
                UnreadableReason.PASSWORD_PROTECTED,
                "is protected by a password",
                suggestion="Open it in Word, remove the password (File, Info, Protect Document) and save it.",
            )
        tail = block[-len(wanted) :]
    return unreadable(
        item,
        UnreadableReason.MISLABELLED,
        "is in the old binary Office format, not .docx",
        suggestion="Open it in Word or LibreOffice and save it as .docx.",
    )


def _check_bomb(item: SourceItem, archive: zipfile.ZipFile) -> None:
    members = archive.infolist()
    if any(info.header_offset < 0 for info in members):
        raise zipfile.BadZipFile("its directory names places before its beginning")
    if len(members) > MAX_MEMBERS:
        raise _too_large(item, f"{len(members)} members")
    total = sum(info.file_size for info in members)
    if total > MAX_TOTAL_BYTES:
        raise _too_large(item, f"{total} bytes unpacked")
    for info in members:
        if info.flag_bits & _ENCRYPTED_FLAG:
            raise unreadable(
                item,
                UnreadableReason.PASSWORD_PROTECTED,
                "is an archive protected by a password",
                suggestion="Save it without a password.",
            )
        if info.file_size > RATIO_FLOOR_BYTES and info.file_size > MAX_RATIO * max(info.compress_size, 1):
            raise _too_large(item, f"{info.filename} unpacks {info.compress_size} bytes to {info.file_size}")


def _too_large(item: SourceItem, details: str) -> UnreadableDocumentError:
    return unreadable(
        item,
        UnreadableReason.TOO_LARGE,
        "unpacks to more than a document can hold",
        details=details,
        suggestion="Remove large embedded objects, or split the document.",
    )


Element: TypeAlias = etree._Element  # pyright: ignore[reportPrivateUsage] - lxml has no public name for it  # noqa: SLF001


MAX_ELEMENTS = 2_000_000
"""How many elements one child of the body may have: about 400 MB; a table of 10,000 rows stays far below."""


MAX_ITEMS = 400_000
"""How many children the body may have; a book of a thousand pages has some ten thousands."""

_ITEMS = [
    f"{{*}}{name}"
    for name in (
        "p", "tbl", "sdt", "bookmarkStart", "altChunk", "AlternateContent", "customXml", "ins", "moveTo", "sdtContent",
        "smartTag", "sectPr",
    )
]  # fmt: skip
"""What may be a child of the body and hold text, or end one that does."""


def child(element: Element | None, *path: str) -> Element | None:
    """Follow a path of local names, the first match at each step."""
    for name in path:
        if element is None:
            return None
        for found in element:
            if local_name(found) == name:
                element = found
                break
        else:
            return None
    return element


def attribute(element: Element | None, name: str) -> str | None:
    """Return an attribute by its local name, None where it is missing."""
    if element is None:
        return None
    for key, text in element.attrib.items():
        if without_namespace(str(key)) == name:
            return str(text)
    return None


def value(element: Element | None, *path: str) -> str | None:
    """Return `val` of the element at the end of a path, None where either is missing."""
    return attribute(child(element, *path), "val")


def is_on(element: Element | None, *path: str) -> bool:
    """Tell whether a toggle property stands at the end of a path and is not switched off."""
    found = child(element, *path)
    return found is not None and (attribute(found, "val") or "true").lower() not in {"0", "false", "off", "none"}


def parse(data: bytes) -> Element:
    """Parse one part with entities, network and huge trees off; raises `lxml.etree.XMLSyntaxError`."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
    root = etree.fromstring(data, parser)
    _refuse_doctype(root)
    return root


class TooManyElementsError(Exception):
    """Say that one paragraph or table holds more elements than memory is spent on, or the body more than time is."""


class _Counted:
    """Count the elements that begin in what is read of a part, to bound what one child of the body may hold."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._held = 0

    def read(self, size: int = -1) -> bytes:
        """Read on."""
        data = self._stream.read(size)
        self._held += data.count(b"<") - data.count(b"</")
        if self._held > MAX_ELEMENTS:
            raise TooManyElementsError(f"more than {MAX_ELEMENTS} elements")
        return data

    def begin(self) -> None:
        """Begin to count anew."""
        self._held = 0


def body_items(stream: IO[bytes]) -> Iterator[Element]:
    """Yield the children of the body that hold text, one after another, and free each when the next is asked for.

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
    """Office files never have a document type declaration; one that has may define entities."""
    if element.getroottree().docinfo.internalDTD is not None:
        raise etree.XMLSyntaxError("a document type declaration is not allowed here", 0, 0, 0)
