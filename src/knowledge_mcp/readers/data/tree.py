"""In the child: a tree of names and values (JSON, XML) to sections, lines and tables; nothing of it is left out.

A part with much in it is a section, called by its name; a part with little is written as lines `path: value`, the path
counted from its section; rows of like records are a table.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from knowledge_mcp.model.document import BlockKind
from knowledge_mcp.readers.shared.pieces import Piece, heading, piece, table_piece

__all__ = ["MOST_DEPTH", "Node", "tree_pieces"]

MOST_DEPTH = 100
"""Deepest nesting that is read."""

_LITTLE = 12
_MOST_LEVELS = 6
_MOST_LABEL = 80
_MOST_INLINE = 200
_LABELS = ("title", "name", "label", "id", "@title", "@name", "@id", "key", "@key")
_LEAST_ROWS = 2
_MOST_CELL = 2000
_BULLET = "•"


@dataclass(slots=True)
class Node:
    """Hold one part of a tree.

    Attributes:
        name: a key, an element's name, or `[3]` for an element of a list.
        value: what a leaf says; None for a part that has others in it.
        parts: in order; several may have one name.
        is_list: its parts are called by their places.
        leaves: how many values there are in it, counted by `tree_pieces`.
    """

    name: str
    value: str | None = None
    parts: list[Node] = field(default_factory=list["Node"])
    is_list: bool = False
    leaves: int = 1


def tree_pieces(root: Node) -> Iterator[Piece]:
    """Write a whole tree."""
    _count(root)
    if root.value is not None:
        yield piece(BlockKind.PARAGRAPH, root.value)
        return
    yield from _inside(root, 0)


def _count(root: Node) -> None:
    """Count the leaves below each part."""
    order: list[Node] = [root]
    for node in order:
        order.extend(node.parts)
    for node in reversed(order):
        node.leaves = 1 if node.value is not None else max(sum(part.leaves for part in node.parts), 1)


def _inside(node: Node, level: int) -> Iterator[Piece]:
    """Write what is in a part: what is said in a few lines first, so that it counts to no section below."""
    rows = _table(node)
    if rows is not None:
        yield rows
        return
    large = [part for part in node.parts if part.leaves > _LITTLE] if level < _MOST_LEVELS else []
    for part in node.parts:
        if part.leaves <= _LITTLE or level >= _MOST_LEVELS:
            yield from _lines(part, part.name)
    for part in large:
        yield heading(_title(part, node), level + 1, plain=True)
        yield from _inside(part, level + 1)


def _lines(node: Node, path: str) -> Iterator[Piece]:
    rows = _table(node)
    if node.value is not None:
        yield _line(path, node.value)
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


def _line(path: str, value: str) -> Piece:
    return piece(BlockKind.LIST_ITEM, f"{path}: {value}" if path else value, marker=_BULLET)


def _table(node: Node) -> Piece | None:
    """Write a list of like records as a table: flat ones, that share most of their names."""
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
    return table_piece([list(columns), *([row.get(name, "") for name in columns] for row in values)])


def _title(part: Node, above: Node) -> str:
    """Name a section: its name, a list's element after its list, and what the part calls itself."""
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
