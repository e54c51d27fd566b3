"""Child process: check that an archive or OLE container is what its name says and is safe to open.

The sizes and compression ratios of an archive's members are checked before anything is unpacked; nested archives are
not opened.
"""

from __future__ import annotations

import functools
import posixpath
import re
import zipfile
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TypeAlias

from knowledge_mcp.support.sandbox_worker import Refusal

if TYPE_CHECKING:
    from lxml import etree

Element: TypeAlias = "etree._Element"  # pyright: ignore[reportPrivateUsage] - lxml has no public name for it  # noqa: SLF001

MAX_MEMBERS = 20_000
MAX_TOTAL_BYTES = 1_000_000_000
MAX_MEMBER_BYTES = 300_000_000
RATIO_FLOOR_BYTES = 50_000_000
MAX_RATIO = 200
MAX_TREE_BYTES = 64_000_000
_ENCRYPTED_FLAG = 0x1

OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_BLANK = b"\x00 \t\r\n\xef\xbb\xbf"
ZIP = (b"PK\x03\x04", b"PK\x05\x06")
_MAGICS = (
    (b"%PDF-", "a PDF"),
    (b"{\\rtf", "an RTF document"),
    (b"\x89PNG", "an image"),
    (b"\xff\xd8\xff", "an image"),
    (b"GIF8", "an image"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"7z\xbc\xaf", "a 7-Zip archive"),
    (b"Rar!", "a RAR archive"),
    (b"\x7fELF", "a program"),
    (b"SQLite format 3", "a database"),
)
_ZIP_ARCHIVE = "a zip archive"
_MARKUP = ((b"<!doctype html", "a web page"), (b"<html", "a web page"), (b"<?xml", "an XML file"))
_ARCHIVES = (
    ("word/document.xml", "a Word document"),
    ("xl/workbook.xml", "an Excel workbook"),
    ("xl/workbook.bin", "a binary Excel workbook"),
    ("ppt/presentation.xml", "a PowerPoint presentation"),
    ("META-INF/container.xml", "an EPUB"),
    ("content.xml", "an OpenDocument file"),
)


_EXTENSIONS = {
    "a PDF": ".pdf", "a web page": ".html", "an XML file": ".xml", "a Word document": ".docx", "an EPUB": ".epub",
    "an Excel workbook": ".xlsx", "a PowerPoint presentation": ".pptx",
    "an RTF document": ".rtf",
}  # fmt: skip


def magic_of(path: str) -> bytes:
    """Return the first 512 bytes of a file.

    Raises:
        Refusal: it is empty or contains only blanks.
    """
    with Path(path).open("rb") as stream:
        return _head_of(stream)


def _head_of(stream: BinaryIO) -> bytes:
    head = block = stream.read(512)
    while block and not block.strip(_BLANK):
        block = stream.read(1 << 20)
    if not block:
        raise Refusal("empty", "The file is empty.", suggestion="Exclude it, or get another copy.")
    return head


def foreign(head: bytes, *, markup: bool = True) -> str:
    """Return the kind of file that its first bytes show, empty if unknown; `markup` also detects web pages and XML."""
    found = next((what for magic, what in _MAGICS if head.startswith(magic)), "")
    if not found and head.startswith(ZIP):
        found = _ZIP_ARCHIVE
    if not found and head.startswith(OLE):
        found = "an old binary Office file"
    if not found and markup:
        opening = head.removeprefix(b"\xef\xbb\xbf").lstrip().lower()
        found = next((what for magic, what in _MARKUP if opening.startswith(magic)), "")
    return found


def _is_text(head: bytes) -> bool:
    """Return whether bytes are text: valid UTF-8 without control characters."""
    try:
        return all(sign.isprintable() or sign.isspace() for sign in head[:500].decode("utf-8"))
    except UnicodeDecodeError:
        return False


def foreign_in(stream: BinaryIO, *, markup: bool = True) -> str:
    """Return the kind of file as `foreign` does, for a zip archive by its content; the stream must be seekable.

    Raises:
        Refusal: it is empty or contains only blanks.
    """
    stream.seek(0)
    what = foreign(_head_of(stream), markup=markup)
    if what == _ZIP_ARCHIVE:
        try:
            with zipfile.ZipFile(stream) as archive:
                return kind_of_archive(archive.namelist())
        except (zipfile.BadZipFile, NotImplementedError, ValueError):
            return what
    return what


def mislabelled(kind: str, what: str) -> Refusal:
    """Return the refusal of a file that is something else than its name says."""
    extension = _EXTENSIONS.get(what)
    advice = f"Rename it so that it ends in {extension}." if extension else "Give the file the correct extension."
    return Refusal("mislabelled", f"It is not {kind} but {what}.", suggestion=advice)


def corrupted(kind: str, error: Exception | str) -> Refusal:
    """Return the refusal of a damaged file."""
    details = error if isinstance(error, str) else f"{type(error).__name__}: {error}"
    return Refusal(
        "corrupted",
        f"It is damaged and cannot be read as {kind}.",
        details=details[:300],
        suggestion="Open it in the program that made it and save it again, or get another copy.",
    )


@contextmanager
def open_archive(
    file: str | BinaryIO, kind: str, *, needs: Sequence[str] = (), largest: int = MAX_MEMBER_BYTES
) -> Generator[zipfile.ZipFile]:
    """Open a zip archive after checking that this is safe.

    Args:
        file: its path, or a seekable stream that the caller closes.
        kind: what it should be, with its article ("an Excel workbook").
        needs: members of which it must have at least one; empty if the caller checks this itself.
        largest: largest unpacked size of one member, in bytes.

    Raises:
        Refusal: empty, mislabelled, password_protected, corrupted or too_large; also for a damaged member that is read
            inside the `with` block.
    """
    import zlib

    with Path(file).open("rb") if isinstance(file, str) else nullcontext(file) as stream:
        head = _head_of(stream)
        if head.startswith(OLE):
            raise _ole_refusal(stream, kind)
        if not head.startswith(ZIP):
            what = foreign(head) or ("plain text" if _is_text(head) else "")
            raise mislabelled(kind, what) if what else corrupted(kind, "the file does not begin as a zip archive")
        try:
            with zipfile.ZipFile(stream) as archive:
                _check_sizes(archive, largest)
                names = set(archive.namelist())
                if needs and not names.intersection(needs):
                    raise mislabelled(kind, kind_of_archive(names))
                yield archive
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
            raise corrupted(kind, error) from error


def kind_of_archive(names: Collection[str]) -> str:
    """Return the kind of a zip archive by the names of its members."""
    return next((what for name, what in _ARCHIVES if name in names), "another kind of zip archive")


def member(archive: zipfile.ZipFile, name: str) -> bytes | None:
    """Return the bytes of a member that is parsed as a whole, None if it is missing.

    Raises:
        Refusal: it is too large for that.
    """
    try:
        info = archive.getinfo(name)
    except KeyError:
        return None
    if info.file_size > MAX_TREE_BYTES:
        raise too_large(f"{name} has {info.file_size} bytes")
    return archive.read(info)


MAX_ATTRIBUTES = 5_000
"""Maximum attributes of an element; drawings, which have the most, have some dozens."""
_CROWDED = re.compile(
    rb"<[A-Za-z][^\s<>/]*+(?:[\s/]++[^\s\"'<>/=]++(?:\s*+=\s*+(?:\"[^\"]*\"|'[^']*'|[^\s\"'<>]++))?+){%d}"
    % MAX_ATTRIBUTES
)


def refuse_crowded(data: bytes) -> None:
    """Refuse HTML in UTF-8 in which one element has thousands of attributes.

    Its parser looks at all earlier attributes for each one: half a megabyte of them took a minute of CPU time.

    Raises:
        Refusal: there is such an element.
    """
    if _CROWDED.search(data):
        raise _crowded()


def refuse_crowded_tree(root: Element) -> None:
    """Refuse parsed XML, whatever its encoding, in which one element has thousands of attributes.

    Parsing them takes linear time, but each access to an attribute looks at all before it.

    Raises:
        Refusal: there is such an element.
    """
    if any(len(each.attrib) > MAX_ATTRIBUTES for each in root.iter("*")):
        raise _crowded()


def _crowded() -> Refusal:
    return Refusal("unsupported", f"One of its elements has more than {MAX_ATTRIBUTES:,} attributes.")


def parse_xml(data: bytes, kind: str) -> Element:
    """Parse XML without entities, document types and network access.

    Raises:
        Refusal: it is not well-formed XML.
    """
    from lxml import etree

    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, remove_comments=True)
    try:
        return etree.fromstring(data, parser)
    except etree.XMLSyntaxError as error:
        raise corrupted(kind, error) from error


@dataclass(frozen=True, slots=True)
class Relation:
    """A relationship of a part of an Office file.

    Attributes:
        id: its id in the part.
        kind: the last segment of its type.
        target: the name of a part, or an address.
        external: whether the target is outside the file.
    """

    id: str
    kind: str
    target: str
    external: bool


def relations_of(read: Callable[[str], bytes | None], part: str, expected: str) -> Iterator[Relation]:
    """Yield the relationships of a part of an Office file.

    Args:
        read: returns a member of the file by its name, None if it is missing.
        part: the name of the part, empty for the file as a whole.
        expected: what the file should be, for the error message if its relationships are damaged.
    """
    folder, _, file = part.rpartition("/")
    data = read(posixpath.join(folder, "_rels", f"{file}.rels"))
    for relation in parse_xml(data, expected) if data else ():
        target, external = relation.get("Target", ""), relation.get("TargetMode") == "External"
        path = target if external else posixpath.normpath(posixpath.join("/", folder, target)).lstrip("/")
        yield Relation(relation.get("Id", ""), relation.get("Type", "").rpartition("/")[2], path, external)


def local_name(element: Element) -> str:
    """Return an element's name without namespace, "" for comments, processing instructions and entities."""
    tag = element.tag
    return without_namespace(tag) if isinstance(tag, str) else ""


def words_of(element: Element, between: str = "") -> str:
    """Return the words in an element with one blank between two; `between` separates those of its parts."""
    return " ".join(between.join(map(str, element.itertext())).split())


@functools.lru_cache(maxsize=4096)
def without_namespace(tag: str) -> str:
    """Return the local part of an element's or attribute's full name."""
    return tag.rpartition("}")[2]


def child(element: Element | None, *path: str) -> Element | None:
    """Follow a path of local names, taking the first match at each step."""
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
    """Return an attribute by its local name, None if it is missing."""
    if element is None:
        return None
    for key, text in element.attrib.items():
        if without_namespace(str(key)) == name:
            return str(text)
    return None


def value(element: Element | None, *path: str) -> str | None:
    """Return `val` of the element at the end of a path, None if either is missing."""
    return attribute(child(element, *path), "val")


def is_on(element: Element | None, *path: str) -> bool:
    """Return whether a toggle property exists at the end of a path and is not switched off."""
    found = child(element, *path)
    return found is not None and (attribute(found, "val") or "true").lower() not in {"0", "false", "off", "none"}


_PROPERTIES = {
    "title": "title",
    "creator": "author",
    "subject": "subject",
    "keywords": "keywords",
    "language": "language",
    "created": "created",
    "modified": "modified",
}
_NO_TITLE = re.compile(
    r"(?:microsoft )?(?:powerpoint[ -](?:presentation|präsentation)|présentation powerpoint|presentation ?\d*|slide \d+"
    r"|untitled|workbook ?\d*|book ?\d*|document ?\d*)",
    re.IGNORECASE,
)


def core_properties(archive: zipfile.ZipFile, name: str = "docProps/core.xml") -> dict[str, str]:
    """Return an Office file's properties; titles made up by programs are left out.

    A missing or damaged part is treated as empty: the file's text is what matters.
    """
    try:
        data = member(archive, name)
        root = parse_xml(data, "properties") if data else None
    except Refusal:
        root = None
    found: dict[str, str] = {}
    for element in root.iter("{*}*") if root is not None else ():
        key = _PROPERTIES.get(local_name(element))
        words = " ".join((element.text or "").split())[:4000]
        if key and words and not (key == "title" and _NO_TITLE.fullmatch(words)):
            found.setdefault(key, words)
    return found


def ole_refusal(path: str, kind: str) -> Refusal:
    """Return the refusal of an OLE container: an encrypted file of a current format, or an old binary Office file."""
    with Path(path).open("rb") as stream:
        return _ole_refusal(stream, kind)


def _ole_refusal(stream: BinaryIO, kind: str) -> Refusal:
    name, tail = "EncryptedPackage".encode("utf-16-le"), b""
    stream.seek(0)
    while block := stream.read(1 << 20):
        if name in tail + block:
            return password_protected("Open it in its program, remove the password (File, Info, Protect) and save it.")
        tail = block[-len(name) :]
    return Refusal(
        "mislabelled",
        f"It is not {kind} but an old binary Office file.",
        suggestion="Rename the file with the correct extension, or save it in the current format.",
    )


def _check_sizes(archive: zipfile.ZipFile, largest: int) -> None:
    members = archive.infolist()
    if any(info.header_offset < 0 for info in members):
        raise zipfile.BadZipFile("its directory names places before its beginning")
    if len(members) > MAX_MEMBERS:
        raise too_large(f"{len(members)} members")
    total = sum(info.file_size for info in members)
    if total > MAX_TOTAL_BYTES:
        raise too_large(f"{total} bytes unpacked")
    contents: dict[str, int] = {}
    for info in members:
        if contents.setdefault(info.filename, info.CRC) != info.CRC:
            # programs differ in which one they show
            raise zipfile.BadZipFile(f"two different members are named {info.filename[:100]}")
        if info.flag_bits & _ENCRYPTED_FLAG:
            raise password_protected(message="It is an archive protected by a password.")
        ratio = info.file_size > RATIO_FLOOR_BYTES and info.file_size > MAX_RATIO * max(info.compress_size, 1)
        if ratio or info.file_size > largest:
            raise too_large(f"{info.filename} unpacks {info.compress_size} bytes to {info.file_size}")


def password_protected(
    suggestion: str = "Save it without a password.", *, message: str = "It is protected by a password."
) -> Refusal:
    """Return the refusal of a file whose content is encrypted."""
    return Refusal("password_protected", message, suggestion=suggestion)


def check_depth(depth: int, most: int, what: str) -> None:
    """Refuse a file whose parts are nested too deeply; `what` says what is nested, with its verb: "elements are"."""
    if depth > most:
        raise Refusal("unsupported", f"Its {what} nested more than {most} levels deep.")


def too_large(details: str) -> Refusal:
    """Return the refusal of an archive that unpacks to too much."""
    return Refusal(
        "too_large",
        "It unpacks to more than a document can contain.",
        details=details,
        suggestion="Remove large embedded objects, or split the document.",
    )
