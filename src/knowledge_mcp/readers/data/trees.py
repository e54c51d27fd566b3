"""Child process: trees of names and values (JSON, XML) to sections, lines and tables; nothing is left out.

A part with much content is a section with its name; a part with little is written as lines `path: value`, with the path
relative to its section; similar records are the rows of a table. Numbers in JSON are kept as written. In XML, text with
elements in it stays one text, entities are never expanded, and nothing is fetched.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any, cast

from knowledge_mcp.model.document import BlockKind
from knowledge_mcp.readers.data.formex import complete_formex, is_formex
from knowledge_mcp.readers.data.pages import as_page
from knowledge_mcp.readers.data.prose import is_prose, title_of
from knowledge_mcp.readers.data.revisions import pending_in, take_out_deleted
from knowledge_mcp.readers.data.rfc import complete_rfc, is_rfc, rfc_facts
from knowledge_mcp.readers.html.job import page
from knowledge_mcp.readers.html.lines import source_line
from knowledge_mcp.readers.html.walk import walk_html
from knowledge_mcp.readers.requirements.catalogs.recognised import items_in_element, items_in_values, yaml_values
from knowledge_mcp.readers.requirements.documents import as_document, item_pieces
from knowledge_mcp.readers.requirements.texts import needs_in
from knowledge_mcp.readers.shared.containers import (
    Element,
    check_depth,
    corrupted,
    local_name,
    refuse_crowded_tree,
    without_namespace,
)
from knowledge_mcp.readers.shared.equations import write_equations
from knowledge_mcp.readers.shared.pieces import Piece, at_lines, facts, heading, messages, piece, table_piece
from knowledge_mcp.readers.shared.text import NotTextError, bytes_of, decode_text, nonblank_text_of
from knowledge_mcp.support.sandbox_worker import Refusal
from knowledge_mcp.support.wording import how_many

_JSON, _XML = "a JSON file", "an XML file"
_XHTML = "{http://www.w3.org/1999/xhtml}html"
_MOST_BYTES = 32_000_000
_MOST_DEPTH = 100
"""Deepest nesting."""

_LITTLE = 12
_MOST_LEVELS = 6
_MOST_LABEL = 80
_MOST_INLINE = 200
_LABELS = ("title", "name", "label", "id", "@title", "@name", "@id", "key", "@key")
_LEAST_ROWS = 2
_MOST_CELL = 2000
_BULLET = "•"


@dataclass(slots=True)
class _Node:
    """One part of a tree.

    Attributes:
        name: a key, an element's name, or `[3]` for an element of a list.
        value: the value of a leaf; None for a part with children.
        parts: children in order; several may have the same name.
        is_list: its parts are named by their index.
        leaves: how many values it contains, counted by `_tree_pieces`.
        lines: first and last line of its file from 1, None if unknown; of a part with children, where it begins.
    """

    name: str
    value: str | None = None
    parts: list[_Node] = field(default_factory=list["_Node"])
    is_list: bool = False
    leaves: int = 1
    lines: tuple[int, int] | None = None


def _tree_pieces(root: _Node) -> Iterator[Piece]:
    """Write a whole tree."""
    _count(root)
    if root.value is not None:
        yield piece(BlockKind.PARAGRAPH, root.value)
        return
    yield from _inside(root, 0)


def _count(root: _Node) -> None:
    """Count the leaves below each part."""
    order: list[_Node] = [root]
    for node in order:
        order.extend(node.parts)
    for node in reversed(order):
        node.leaves = 1 if node.value is not None else max(sum(part.leaves for part in node.parts), 1)


def _inside(node: _Node, level: int) -> Iterator[Piece]:
    """Write the content of a part: short parts first, so that they do not belong to a section below."""
    rows = _table(node)
    if rows is not None:
        yield rows
        return
    large = [part for part in node.parts if part.leaves > _LITTLE] if level < _MOST_LEVELS else []
    for part in node.parts:
        if part.leaves <= _LITTLE or level >= _MOST_LEVELS:
            yield from _lines(part, part.name)
    for part in large:
        yield _at(part, heading(_title(part, node), level + 1, plain=True))
        yield from _inside(part, level + 1)


def _lines(node: _Node, path: str) -> Iterator[Piece]:
    rows = _table(node)
    if node.value is not None:
        yield _at(node, _line(path, node.value))
    elif rows is not None:
        yield piece(BlockKind.PARAGRAPH, f"{path}:")
        yield rows
    elif not node.parts:
        yield _line(path, "[]" if node.is_list else "{}")
    else:
        values = [part.value for part in node.parts if part.value is not None]
        inline = ", ".join(values)
        if node.is_list and len(values) == len(node.parts) and len(inline) <= _MOST_INLINE:
            yield _line(path, f"[{inline}]")
        else:
            for part in node.parts:
                yield from _lines(part, _joined(path, part.name))


def _at(node: _Node, written: Piece) -> Piece:
    return at_lines(written, *node.lines) if node.lines is not None else written


def _line(path: str, value: str) -> Piece:
    return piece(BlockKind.LIST_ITEM, f"{path}: {value}" if path else value, marker=_BULLET)


def _table(node: _Node) -> Piece | None:
    """Write a list of similar records as a table: flat ones that share most of their names."""
    if len(node.parts) < _LEAST_ROWS or any(part.value is not None or part.is_list for part in node.parts):
        return None
    if not node.is_list and len({part.name for part in node.parts}) > 1:
        return None
    columns: dict[str, None] = {}
    filled = 0
    for part in node.parts:
        names = [leaf.name for leaf in part.parts]
        if len(set(names)) != len(names):
            return None
        if any(leaf.value is None or len(leaf.value) > _MOST_CELL for leaf in part.parts):
            return None
        columns.update(dict.fromkeys(names))
        filled += len(names)
    if not columns or filled < 0.5 * len(columns) * len(node.parts):
        return None
    values = [{leaf.name: leaf.value or "" for leaf in part.parts} for part in node.parts]
    table = table_piece([list(columns), *([row.get(name, "") for name in columns] for row in values)])
    lines = [line for part in node.parts for each in (part, *part.parts) if each.lines for line in each.lines]
    return at_lines(table, min(lines), max(lines)) if lines else table


def _title(part: _Node, above: _Node) -> str:
    """Return the title of a section: its name (an index after the list's name) and its own label."""
    name = f"{above.name}{part.name}" if part.name.startswith("[") else part.name
    for label in _LABELS:
        found = next((leaf.value for leaf in part.parts if leaf.name == label and leaf.value), None)
        if found and len(found) <= _MOST_LABEL:
            return f"{name} – {found}"
    return name


def _joined(path: str, name: str) -> str:
    if not path:
        return name
    return f"{path}{name}" if name.startswith("[") else f"{path}.{name}"


# ---- JSON -----------------------------------------------------------------------------------------------------------


def json_tree(path: str, *, check: bool) -> Iterator[dict[str, Any]]:
    """Yield the messages of a JSON file; of a `needs.json` or OSCAL, those of a requirement file.

    Raises:
        Refusal: it is not JSON, or is empty, too large or nested too deeply.
    """
    text, warning = nonblank_text_of(path, _JSON, most=_MOST_BYTES)
    loaded = _json_loaded(text)
    if _holds_needs(loaded):
        yield from as_document(needs_in(text), check=check)
        return
    if not check:
        yield from messages(_json_pieces(loaded, text, warning))


def yaml_tree(path: str, *, check: bool) -> Iterator[dict[str, Any]]:
    """Yield the messages of a YAML file, which is read as JSON is.

    Raises:
        Refusal: it is not YAML, or is empty, too large or nested too deeply.
    """
    text, warning = nonblank_text_of(path, "a YAML file", most=_MOST_BYTES)
    loaded = yaml_values(text)
    if not check:
        yield from messages(_json_pieces(loaded, text, warning))


def _holds_needs(loaded: Any) -> bool:
    """Return whether it is a `needs.json`: versions with needs by their ids."""
    versions = _by_name(_by_name(loaded).get("versions")).values()
    needs = [need for version in versions for need in _by_name(_by_name(version).get("needs")).values()]
    return bool(needs) and all("id" in _by_name(need) for need in needs)


def _by_name(value: Any) -> dict[str, Any]:
    """Return an object's values by name, empty for any other value."""
    return dict(cast("tuple[tuple[str, Any], ...]", value)) if isinstance(value, tuple) else {}


def _json_pieces(loaded: Any, text: str, warning: str) -> Iterator[Piece]:
    catalogue, rest = items_in_values(loaded, text) or ((), loaded)
    yield from item_pieces(catalogue)
    root = _json_node("", rest, 0)
    yield from _tree_pieces(root)
    named = {part.name.lower(): part.value for part in root.parts if part.value}
    yield facts(title=(named.get("title") or "")[:300], warnings=[warning] if warning else [])


def _json_loaded(text: str) -> Any:
    try:
        return _json_parsed(text)
    except json.JSONDecodeError as error:
        lines = [line for line in text.split("\n") if line.strip()]
        try:
            # one value per line
            if len(lines) > 1 and error.msg == "Extra data":
                return [_json_parsed(line) for line in lines]
        except json.JSONDecodeError:
            pass
        where = f"line {error.lineno}, column {error.colno}: {error.msg}"
        raise Refusal(
            "corrupted",
            f"It is not valid JSON ({where}).",
            details=where,
            suggestion="Correct it there, or rename the file with the correct extension.",
        ) from error
    except RecursionError as error:
        raise Refusal("unsupported", f"Its values are nested more than {_MOST_DEPTH} levels deep.") from error


def _json_parsed(text: str) -> Any:
    # an object's pairs, because a name may occur twice; numbers as written, whatever their size
    return json.loads(
        text, object_pairs_hook=tuple, parse_float=_as_written, parse_int=_as_written, parse_constant=_as_written
    )


def _as_written(number: str) -> str:
    return number


def _json_node(name: str, value: Any, depth: int) -> _Node:
    check_depth(depth, _MOST_DEPTH, "values are")
    if isinstance(value, tuple):
        pairs: tuple[tuple[str, Any], ...] = value  # pyright: ignore[reportUnknownVariableType] - JSON is of any type
        return _Node(name, parts=[_json_node(key, inner, depth + 1) for key, inner in pairs])
    if isinstance(value, list):
        entries: list[Any] = value  # pyright: ignore[reportUnknownVariableType] - JSON is of any type
        return _Node(
            name, parts=[_json_node(f"[{k}]", inner, depth + 1) for k, inner in enumerate(entries)], is_list=True
        )
    if value is None:
        return _Node(name, "null")
    if isinstance(value, bool):
        return _Node(name, "true" if value else "false")
    return _Node(name, str(value))


# ---- XML ------------------------------------------------------------------------------------------------------------


def xml_tree(path: str, *, check: bool) -> Iterator[dict[str, Any]]:
    """Yield the messages of an XML file; a web page is read as one.

    Raises:
        Refusal: it is not XML, or is empty, too large or nested too deeply.
    """
    data = bytes_of(path, _XML, most=_MOST_BYTES)
    root = _xml_parsed(data)
    refuse_crowded_tree(root)
    if root.tag == _XHTML:
        yield from page(path, check=check)
        return
    if check:
        return
    catalogue, read = items_in_element(root)
    if catalogue:
        yield from messages(itertools.chain(item_pieces(catalogue), _xml_pieces(root, read)))
        return
    write_equations(root)
    if is_rfc(root):
        yield from messages(_rfc_pieces(root))
        return
    if is_formex(root):
        complete_formex(root)
    is_document = is_prose(root)
    revised = itertools.chain(take_out_deleted(root, is_prose=is_document), pending_in(data))
    yield from messages(itertools.chain(revised, _prose_pieces(root) if is_document else _xml_pieces(root)))


def _xml_parsed(data: bytes) -> Element:
    from lxml import etree

    options: dict[str, Any] = {"resolve_entities": False, "no_network": True, "load_dtd": False, "remove_pis": True}
    parser = etree.XMLParser(remove_comments=True, **options)
    try:
        return etree.fromstring(data, parser)
    except etree.XMLSyntaxError as error:
        # duplicate or invalid names do not hide text
        if all(entry.level < etree.ErrorLevels.FATAL for entry in parser.error_log):
            return etree.fromstring(data, etree.XMLParser(remove_comments=True, recover=True, **options))
        if "encoding" not in str(error).lower() and "utf" not in str(error).lower():
            raise _damaged(error) from error
    try:
        # its encoding is not declared
        text = decode_text(data).text
        start = text.find("?>") + 2 if text.lstrip().startswith("<?xml") else 0
        return etree.fromstring(text[start:].encode(), etree.XMLParser(remove_comments=True, **options))
    except (etree.XMLSyntaxError, NotTextError) as error:
        raise _damaged(error) from error


def _damaged(error: Exception) -> Refusal:
    message = str(error)
    if "depth" in message.lower():
        return Refusal(
            "unsupported", f"Its elements are nested more than {_MOST_DEPTH} levels deep.", details=message[:300]
        )
    if "amplification" in message or ("entit" in message.lower() and "loop" in message.lower()):
        return Refusal("too_large", "Its entities expand to more text than can be read.", details=message[:300])
    return corrupted(_XML, error)


def _rfc_pieces(root: Element) -> Iterator[Piece]:
    yield rfc_facts(root)
    complete_rfc(root)
    yield from walk_html(as_page(root), line_of=source_line)


def _prose_pieces(root: Element) -> Iterator[Piece]:
    """Write a document in XML by way of a page."""
    title, about = title_of(root), local_name(root)
    yield from walk_html(as_page(root), line_of=source_line)
    yield facts(title=title[:300], metadata={"root": about})


def _xml_pieces(root: Element, read: AbstractSet[Element] = frozenset()) -> Iterator[Piece]:
    builder = _XmlBuilder(read)
    node = builder.node(root, 0)
    label = node.name
    title = next((part.value for part in node.parts if part.name == "title" and part.value), "") or ""
    if node.value is not None:
        node = _Node("", parts=[node])
    yield from _tree_pieces(node)
    warnings: list[str] = []
    if builder.entities:
        names = ", ".join(sorted(builder.entities)[:10])
        warnings.append(f"The document's own entities are not expanded: {names}.")
    if builder.dropped:
        warnings.append(f"{how_many(builder.dropped, 'attribute')} in running text omitted.")
    yield facts(title=" ".join(title.split())[:300], metadata={"root": label}, warnings=warnings)


class _XmlBuilder:
    """Make nodes of elements, except of those that have been read, and count what is lost."""

    def __init__(self, read: AbstractSet[Element]) -> None:
        self._read = read
        self.entities: set[str] = set()
        self.dropped = 0

    def node(self, element: Element, depth: int) -> _Node:
        """Make the node of one element, its attributes before its parts."""
        made = self._node(element, depth)
        first = element.sourceline
        if first is not None:
            inside = "".join(map(str, element.itertext())).rstrip() if made.value else ""
            made.lines = (first, first + inside.count("\n"))
        return made

    def _node(self, element: Element, depth: int) -> _Node:
        check_depth(depth, _MOST_DEPTH, "elements are")
        name = local_name(element)
        attributes = [_Node(f"@{without_namespace(key)}", value) for key, value in element.attrib.items()]
        children = [child for child in element if isinstance(child.tag, str) and child not in self._read]
        text = self._text(element)
        if not children or text is not None:
            if children:
                self.dropped += sum(len(child.attrib) for child in element.iterdescendants("*"))
            words = text or ""
            if not attributes:
                return _Node(name, words)
            return _Node(name, parts=[*attributes, *([_Node("text", words)] if words else [])])
        return _Node(name, parts=[*attributes, *_grouped([self.node(child, depth + 1) for child in children])])

    def _text(self, element: Element) -> str | None:
        """Return an element's words, None if it has none outside its child elements; entities are kept as written."""
        own = [element.text or "", *(child.tail or "" for child in element)]
        own.extend(child.text or "" for child in element if not isinstance(child.tag, str))
        if not any(part.strip() for part in own):
            return None
        from lxml import etree

        words = [str(part) for part in element.itertext()]
        for entity in element.iter(etree.Entity):
            self.entities.add(str(entity.text))
        return " ".join("".join(words).split())


def _grouped(nodes: list[_Node]) -> Iterator[_Node]:
    """Make a list of adjacent nodes with the same name that have parts, counted from 1 as in XPath."""
    for name, run in itertools.groupby(nodes, key=lambda node: (node.name, node.value is None)):
        alike = list(run)
        if len(alike) < 2 or not name[1]:
            yield from alike
            continue
        for number, node in enumerate(alike, 1):
            node.name = f"[{number}]"
        yield _Node(name[0], parts=alike, is_list=True, lines=alike[0].lines)
