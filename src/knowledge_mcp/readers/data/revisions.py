"""Child process: remove text that revisions of an XML document have deleted, and report it.

Each vocabulary marks it differently: DocBook, DITA, S1000D and TEI by attributes, JATS, legislation and Arbortext by
elements, oXygen by processing instructions that contain the words.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from lxml import etree

from knowledge_mcp.model.document import HiddenReason
from knowledge_mcp.readers.data.prose import has_words, name_of
from knowledge_mcp.readers.shared.containers import without_namespace
from knowledge_mcp.readers.shared.hidden import nonblank_length, unaccepted_changes
from knowledge_mcp.readers.shared.pieces import Piece, facts, hidden_piece

if TYPE_CHECKING:
    from lxml.etree import _Element as Element  # pyright: ignore[reportPrivateUsage] - lxml's only name for it

_STRUCK = frozenset({"strike", "strikethrough", "strike-through", "line-through"})
_ELEMENTS = _STRUCK | {"del"}
_ATTRIBUTES = {
    "revisionflag": frozenset({"deleted"}),
    "status": frozenset({"deleted"}),
    "changetype": frozenset({"delete"}),
    "change": frozenset({"delete"}),
    "emphasistype": frozenset({"em05"}),  # of S1000D: struck through
    **dict.fromkeys(("rend", "role", "style-type"), _STRUCK),
}
_INSERTED, _DELETED = b"<?oxy_insert_start", b"<?oxy_delete"


def take_out_deleted(root: Element, *, is_prose: bool) -> Iterator[Piece]:
    """Remove deleted elements from a tree, and yield how much; in data, only those among words.

    Args:
        root: the root of the tree.
        is_prose: whether it is a document: in data, a record with status "deleted" is still a record.
    """
    found: dict[Element, list[Element]] = {}
    is_worded = functools.cache(has_words)
    walk = etree.iterwalk(root, events=("start",), tag="*")
    for _, element in walk:
        above = element.getparent()
        if above is not None and _is_deleted(element) and (is_prose or is_worded(above)):
            found.setdefault(above, []).append(element)
            walk.skip_subtree()
    for above, deleted in found.items():
        _take_out(above, deleted)
    count = sum(nonblank_length("".join(map(str, each.itertext()))) for each in itertools.chain(*found.values()))
    if count:
        yield hidden_piece({HiddenReason.STRUCK: count})


def _take_out(above: Element, deleted: Sequence[Element]) -> None:
    """Remove some children of an element; the words after each are kept."""
    gone = set(deleted)
    kept: Element | None = None
    pieces = [above.text or ""]
    for child in [*above, None]:
        if child is not None and child in gone:
            pieces.append(child.tail or "")
            child.tail = None
            above.remove(child)
            continue
        if kept is None:
            above.text = "".join(pieces)
        else:
            kept.tail = "".join(pieces)
        kept, pieces = child, [child.tail or "" if child is not None else ""]


def pending_in(data: bytes) -> Iterator[Piece]:
    """Yield a warning about unaccepted changes in an editor's processing instructions."""
    insertions, deletions = data.count(_INSERTED), data.count(_DELETED)
    if insertions or deletions:
        yield facts(warnings=[unaccepted_changes(insertions, deletions)])


def _is_deleted(element: Element) -> bool:
    if name_of(element) in _ELEMENTS:
        return True
    for key, value in element.attrib.items():
        name, state = without_namespace(str(key)).lower(), str(value).strip().lower()
        if state in _ATTRIBUTES.get(name, ()) or (name == "style" and "line-through" in state):
            return True
    return False
