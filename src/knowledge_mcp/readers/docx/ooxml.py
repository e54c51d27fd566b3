"""Reading WordprocessingML: local names, attributes and a parser that trusts nothing.

Names are compared without their namespace, so that Transitional and Strict documents read alike.
"""

from __future__ import annotations

from functools import lru_cache
from typing import IO, TYPE_CHECKING, TypeAlias

from lxml import etree

if TYPE_CHECKING:
    from collections.abc import Iterator

Element: TypeAlias = etree._Element  # pyright: ignore[reportPrivateUsage] - lxml has no public name for it  # noqa: SLF001

__all__ = [
    "MAX_ELEMENTS",
    "MAX_ITEMS",
    "Element",
    "TooManyElementsError",
    "attribute",
    "body_items",
    "child",
    "is_on",
    "local",
    "parse",
    "value",
]


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


@lru_cache(maxsize=4096)
def _local_of_tag(tag: str) -> str:
    return tag.rpartition("}")[2]


def local(element: Element) -> str:
    """Return an element's name without namespace, "" for comments, processing instructions and entities."""
    tag = element.tag
    return _local_of_tag(tag) if isinstance(tag, str) else ""


def child(element: Element | None, *path: str) -> Element | None:
    """Follow a path of local names, the first match at each step."""
    for name in path:
        if element is None:
            return None
        for found in element:
            tag = found.tag
            if isinstance(tag, str) and _local_of_tag(tag) == name:
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
        if _local_of_tag(str(key)) == name:
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
    return next((above for above in element.iterancestors() if local(above) == "body"), None)


def _refuse_doctype(element: Element) -> None:
    """Office files never have a document type declaration; one that has may define entities."""
    if element.getroottree().docinfo.internalDTD is not None:
        raise etree.XMLSyntaxError("a document type declaration is not allowed here", 0, 0, 0)
