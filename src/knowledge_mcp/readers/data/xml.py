"""In the child: XML to sections and lines with their paths; text with elements in it stays one text.

Entities are never expanded and nothing is fetched: what a document type declares is left as it is written.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from knowledge_mcp.readers.data.tree import MOST_DEPTH, Node, tree_pieces
from knowledge_mcp.readers.shared.containers import corrupted, foreign, magic_of, mislabelled
from knowledge_mcp.readers.shared.pieces import Piece, facts, messages
from knowledge_mcp.readers.shared.text import NotTextError, decode_text
from knowledge_mcp.support.sandbox_worker import Refusal

if TYPE_CHECKING:
    from lxml.etree import _Element as Element  # pyright: ignore[reportPrivateUsage] - lxml's only name for it

__all__ = ["tree"]

_WANTED = "an XML file"
_MOST_BYTES = 32_000_000
_XHTML = "{http://www.w3.org/1999/xhtml}html"


def tree(path: str, *, check: bool) -> Iterator[dict[str, Any]]:
    """Yield the messages of an XML file; one that is a web page goes the way of web pages.

    Raises:
        Refusal: it is no XML, empty, too large or nested too deep.
    """
    what = foreign(magic_of(path), markup=False)
    if what:
        raise mislabelled(_WANTED, what)
    if Path(path).stat().st_size > _MOST_BYTES:
        raise Refusal("too_large", f"It holds more than {_MOST_BYTES // 1_000_000} MB.", suggestion="Split it.")
    root = _parsed(Path(path).read_bytes())
    if root.tag == _XHTML:
        from knowledge_mcp.readers.html.job import page

        yield from page(path, check=check)
        return
    if check:
        yield {"pages": None}
        return
    yield from messages(_pieces(root))


def _parsed(data: bytes) -> Element:
    from lxml import etree

    options: dict[str, Any] = {"resolve_entities": False, "no_network": True, "load_dtd": False, "remove_pis": True}
    try:
        return etree.fromstring(data, etree.XMLParser(remove_comments=True, **options))
    except etree.XMLSyntaxError as error:
        if "encoding" not in str(error).lower() and "utf" not in str(error).lower():
            raise _damaged(error) from error
    try:
        # of an encoding that it does not name
        text = decode_text(data).text
        start = text.find("?>") + 2 if text.lstrip().startswith("<?xml") else 0
        return etree.fromstring(text[start:].encode(), etree.XMLParser(remove_comments=True, **options))
    except (etree.XMLSyntaxError, NotTextError) as error:
        raise _damaged(error) from error


def _damaged(error: Exception) -> Refusal:
    said = str(error)
    if "depth" in said.lower():
        return Refusal("unsupported", f"It nests its elements more than {MOST_DEPTH} levels deep.", details=said[:300])
    if "amplification" in said or ("entit" in said.lower() and "loop" in said.lower()):
        return Refusal("too_large", "It is made to exhaust its reader by its entities.", details=said[:300])
    return corrupted(_WANTED, error)


def _pieces(root: Element) -> Iterator[Piece]:
    builder = _Builder()
    node = builder.node(root, 0)
    label = node.name
    title = next((part.value for part in node.parts if part.name == "title" and part.value), "") or ""
    if node.value is not None:
        node = Node("", parts=[node])
    yield from tree_pieces(node)
    warnings: list[str] = []
    if builder.entities:
        names = ", ".join(sorted(builder.entities)[:10])
        warnings.append(f"Entities of the document's own are not expanded: {names}.")
    if builder.dropped:
        warnings.append(f"{builder.dropped} attributes within running text were left out.")
    yield facts(title=" ".join(title.split())[:300], metadata={"root": label}, warnings=warnings)


class _Builder:
    """Make nodes of elements, and count what is lost."""

    def __init__(self) -> None:
        self.entities: set[str] = set()
        self.dropped = 0

    def node(self, element: Element, depth: int) -> Node:
        """Make the node of one element, its attributes before its parts."""
        if depth > MOST_DEPTH:
            raise Refusal("unsupported", f"It nests its elements more than {MOST_DEPTH} levels deep.")
        name = _local(element.tag)
        attributes = [Node(f"@{_local(key)}", value) for key, value in element.attrib.items()]
        children = [child for child in element if isinstance(child.tag, str)]
        text = self._text(element)
        if not children or text.own:
            if children:
                self.dropped += sum(len(child.attrib) for child in element.iterdescendants("*"))
            words = text.whole
            if not attributes:
                return Node(name, words)
            return Node(name, parts=[*attributes, *([Node("text", words)] if words else [])])
        return Node(name, parts=[*attributes, *_grouped([self.node(child, depth + 1) for child in children])])

    def _text(self, element: Element) -> _Text:
        """Collect an element's words; entities stay as they are written."""
        own = [element.text or "", *(child.tail or "" for child in element)]
        own.extend(child.text or "" for child in element if not isinstance(child.tag, str))
        if not any(part.strip() for part in own):
            return _Text(own=False, whole="")
        from lxml import etree

        words = [str(part) for part in element.itertext()]
        for entity in element.iter(etree.Entity):
            self.entities.add(str(entity.text))
        return _Text(own=True, whole=" ".join("".join(words).split()))


def _grouped(nodes: list[Node]) -> Iterator[Node]:
    """Make a list of neighbours of one name that have parts, counted from 1 as in XPath."""
    for name, run in itertools.groupby(nodes, key=lambda node: (node.name, node.value is None)):
        alike = list(run)
        if len(alike) < 2 or not name[1]:
            yield from alike
            continue
        for number, node in enumerate(alike, 1):
            node.name = f"[{number}]"
        yield Node(name[0], parts=alike, is_list=True)


class _Text:
    """Hold an element's words: whether it has any of its own, and all with those of the elements in it."""

    def __init__(self, *, own: bool, whole: str) -> None:
        self.own = own
        self.whole = whole


def _local(tag: Any) -> str:
    return str(tag).rpartition("}")[2]
