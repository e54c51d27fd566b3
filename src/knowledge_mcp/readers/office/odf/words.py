"""Child process: the words of a paragraph of an OpenDocument file; hidden ones are counted."""

from __future__ import annotations

from collections import Counter

from knowledge_mcp.model.document import BlockKind, HiddenReason, ReferenceKind
from knowledge_mcp.readers.office.odf.looks import OdtLook, OdtLooks, length_of, unseen_element
from knowledge_mcp.readers.office.odf.package import DRAW, LINK, TEXT, OdfPackage
from knowledge_mcp.readers.shared.containers import Element, check_depth, local_name, member, parse_xml
from knowledge_mcp.readers.shared.equations import equation_text
from knowledge_mcp.readers.shared.hidden import nonblank_length
from knowledge_mcp.readers.shared.layout import UNREAD
from knowledge_mcp.readers.shared.pieces import Piece, rich_piece
from knowledge_mcp.readers.shared.richtext import RichText, raised_or_lowered

MOST_DEPTH = 100
_SKIPPED = frozenset({"tracked-changes", "annotation", "annotation-end", "sequence-decls", "ruby-text", "number"})
SHAPES = frozenset(
    "custom-shape rect ellipse circle polygon polyline path line connector caption regular-polygon measure".split()
)
"""Shapes that may contain text."""


class Embedded:
    """Read embedded formulas; `unread` is set if there are other embedded objects."""

    def __init__(self, package: OdfPackage) -> None:
        self._package = package
        self.unread = False

    def formula(self, frame: Element) -> str:
        """Return the formula in a frame as text, "" if there is none."""
        for each in frame.iterchildren(f"{DRAW}object"):
            path = (each.get(LINK) or "").removeprefix("./").rstrip("/")
            data = member(self._package.archive, f"{path}/content.xml") if path else None
            root = parse_xml(data, self._package.expected) if data else next(iter(each), None)
            if root is not None and local_name(root) == "math":
                return equation_text(root).strip() or UNREAD
            self.unread = True
        return ""


class ParagraphWords:
    """Read the words of paragraphs; `hidden` counts hidden characters, `notes` collects the notes they refer to."""

    def __init__(self, looks: OdtLooks, objects: Embedded, hidden: Counter[str]) -> None:
        self._looks = looks
        self.objects = objects
        self.hidden = hidden
        self.notes: list[Piece] = []

    def inline(self, element: Element, look: OdtLook | None = None) -> RichText:
        """Read a paragraph, in the look of its cell if one is given."""
        rich = RichText()
        self._collect(rich, element, 0, look or self._looks.paragraph(element))
        self.hidden.update(rich.hidden)
        rich.hidden.clear()
        return rich

    def of_frame(self, frame: Element) -> str:
        """Return the formula in a frame as text, else its title and description."""
        titles = [found.text or "" for found in frame.iterchildren("{*}title", "{*}desc")]
        formula = self.objects.formula(frame)
        return f" {formula} " if formula else " ".join(titles)

    def is_unseen(self, element: Element) -> bool:
        """Return whether nothing of an element is visible; if so, count its characters."""
        reason = unseen_element(element)
        if reason is not None:
            self.hidden[reason] += length_of(element)
        return reason is not None

    def _show(self, rich: RichText, text: str | None, look: OdtLook) -> None:
        reason = look.reason(text) if text else None
        if reason is None:
            rich.add(raised_or_lowered(text or "", look.place or ""))
        else:
            rich.hidden[reason] += nonblank_length(text)

    def _collect(self, rich: RichText, element: Element, depth: int, look: OdtLook) -> None:
        check_depth(depth, MOST_DEPTH, "text is")
        self._show(rich, element.text, look)
        for child in element:
            name = local_name(child)
            if name in {"s", "tab"}:
                rich.add(" ")
            elif name == "line-break":
                rich.break_line()
            elif name == "note" and look.hidden:
                self.hidden[HiddenReason.NOT_DISPLAYED] += length_of(child)
            elif name == "note":
                self._note(rich, child)
            elif name == "a":
                start = len(rich)
                self._collect(rich, child, depth + 1, look)
                target = child.get(LINK, "")
                rich.mark(start, None if target.startswith("#") else ReferenceKind.LINK, target)
            elif name == "frame":
                rich.add(self.of_frame(child))
            elif name not in _SKIPPED and name not in SHAPES and not self.is_unseen(child):
                own = self._looks.behind(child, self._looks.span(child).over(look)) if name == "span" else look
                self._collect(rich, child, depth + 1, own)
            self._show(rich, child.tail, look)

    def _note(self, rich: RichText, note: Element) -> None:
        mark = note.find(f"{TEXT}note-citation")
        citation = "".join(mark.itertext()).strip() if mark is not None else "*"
        marker = f"[^{citation}]"
        body = RichText(f"{marker} ")
        for part in note.iter(f"{TEXT}p"):
            self._collect(body, part, 1, self._looks.paragraph(part))
            body.add(" ")
        self.hidden.update(body.hidden)
        body.hidden.clear()
        rich.add(marker)
        self.notes.append(rich_piece(BlockKind.FOOTNOTE, body, marker=marker))
