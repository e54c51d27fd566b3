"""One Word paragraph to text: runs, fields, links, symbols, equations, and tracked changes as accepted.

Keeps what a reader of the final document sees. Deleted and moved-away text, hidden text, comments and the fallback copy
of a drawing are left out; hidden text is counted. The exception is a hidden tag that requirement tools put before a
requirement: it is kept.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from knowledge_mcp.model.document import HiddenReason, ReferenceKind
from knowledge_mcp.readers.docx.fields import Fields
from knowledge_mcp.readers.docx.looks import Looks, properties_of, stands_in_line, unseen_drawing
from knowledge_mcp.readers.shared.containers import Element, Relation, attribute, child, is_on, local_name, value
from knowledge_mcp.readers.shared.drawings import words_of
from knowledge_mcp.readers.shared.equations import equation_text
from knowledge_mcp.readers.shared.hidden import nonblank_length
from knowledge_mcp.readers.shared.layout import UNREAD
from knowledge_mcp.readers.shared.richtext import RichText, raised_or_lowered
from knowledge_mcp.support.charsets import has_private_characters, letters_for_symbols

_HIDDEN_TAG = re.compile(
    r"\s*[\[<(]?[A-Z][A-Za-z]{0,11}(?:[-_. ][A-Za-z0-9]{1,12}){0,4}?[-_. ]?\d{1,6}(?:\.\d{1,4}){0,4}[a-z]?[\])>]?"
    r"\s*+[:–-]?\s*+"
)
"""A requirement's tag ("SSR1", "[REQ-12]") that is alone in a hidden run."""
_SKIPPED = frozenset(
    {"pPr", "del", "moveFrom", "delText", "delInstrText", "rPr", "Fallback", "sdtPr", "rt", "annotationRef"}
)
_CONTAINERS = frozenset(
    {"ins", "moveTo", "smartTag", "customXml", "dir", "bdo", "sdtContent", "sdt", "ruby", "rubyBase", "Choice"}
)
_FIGURES = {"relIds": "dm", "chart": "id"}
"""Elements of drawings that point to a chart or to the data of a diagram, and the attribute with the relation id."""
_DRAWINGS = frozenset({"drawing", "pict", "object"})
_NONE: Mapping[str, Element] = {}
_LETTERS = frozenset({"t", "sym", "noBreakHyphen"})
_CHARACTERS = {"tab": "\t", "ptab": "\t", "noBreakHyphen": "-"}


@dataclass(slots=True)
class Paragraph:
    """The content of one paragraph.

    Attributes:
        text: its text with marks.
        style: id of its style, None for the default style.
        properties: its `pPr`; of joined paragraphs, that of the last one.
        bookmarks: names of the bookmarks that begin in it.
        notes: ids of the footnotes and endnotes it cites, as ("footnote", "3").
        boxes: contents of the text boxes anchored in it.
        pictures: alternative texts of its pictures.
        drawn: words of a drawing outside text boxes: from older canvases and WordArt.
        figures: relation ids of its charts and diagrams.
        sequence: the sequence that a SEQ field in it counts ("Table", "Figure"), None if there is no such field.
        in_contents: it is inside the field of a table of contents or an index.
        is_contents: it is a line of a table of contents or an index.
        bold: number of characters that are bolder or larger than the document's text.
        unknown_symbols: number of characters of symbol fonts that have no known Unicode equivalent.
        signs_unread: number of pictures that are set in the text like characters.
    """

    text: RichText
    style: str | None = None
    properties: Element | None = None
    bookmarks: list[str] = field(default_factory=list[str])
    notes: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    boxes: list[Element] = field(default_factory=list[Element])
    pictures: list[str] = field(default_factory=list[str])
    drawn: list[str] = field(default_factory=list[str])
    figures: list[str] = field(default_factory=list[str])
    sequence: str | None = None
    in_contents: bool = False
    is_contents: bool = False
    bold: int = 0
    unknown_symbols: int = 0
    signs_unread: int = 0


_PAGE_AT_END = re.compile(r"(?:\s|\.)(?:\d+|[ivxlc]+)$")


def is_of_contents(paragraph: Paragraph) -> bool:
    """Return whether it is a line of contents, by its field or its page number; the style alone is not enough."""
    return paragraph.in_contents or _PAGE_AT_END.search(paragraph.text.text.strip()) is not None


def visible_children(element: Element) -> list[Element]:
    """Return the visible children of an element.

    For `AlternateContent`, those of the first choice, else of the fallback.
    """
    if local_name(element) == "AlternateContent":
        choice = child(element, "Choice")
        found = choice if choice is not None else child(element, "Fallback")
        return list(found) if found is not None else []
    return [part for part in element if local_name(part) not in _SKIPPED]


def has_no_end(paragraph: Element) -> bool:
    """Return whether the next paragraph continues this one: its end is deleted, or it is a large first letter."""
    if attribute(child(paragraph, "pPr", "framePr"), "dropCap") in {"drop", "margin"}:
        return True
    mark = child(paragraph, "pPr", "rPr")
    return child(mark, "del") is not None or child(mark, "moveFrom") is not None


def paragraphs_of(parts: Iterable[Element]) -> Iterator[list[Element]]:
    """Group the paragraphs and tables of a cell or note: joined paragraphs together, each table alone."""
    group: list[Element] = []
    for part in parts:
        if group and local_name(part) != "p":
            yield group
            group = []
        group.append(part)
        if local_name(part) != "p" or not has_no_end(part):
            yield group
            group = []
    if group:
        yield group


def is_label(box: Element) -> bool:
    """Return whether a text box is a label, with plain paragraphs only, without lists and tables."""
    parts = visible_children(box)
    return all(local_name(part) == "p" for part in parts) and not any(is_on(part, "pPr", "numPr") for part in parts)


def words_in(part: Element) -> str:
    """Return the visible words of an element on one line, without fields and pictures."""
    return "".join(_pieces(part)).strip()


def _pieces(part: Element) -> Iterator[str]:
    for inner in visible_children(part):
        name = local_name(inner)
        yield (inner.text or "") if name == "t" else " " if name in {"tab", "br"} else "".join(_pieces(inner))


def visible_length(element: Element) -> int:
    """Count the non-blank characters in all runs of an element."""
    count = 0
    pending = [element]
    while pending:
        part = pending.pop()
        if local_name(part) == "t":
            count += nonblank_length(part.text)
        pending.extend(visible_children(part))
    return count


class ParagraphReader:
    """Read paragraphs in document order, since fields may continue in the next one.

    `hidden` counts the characters that are not visible.
    """

    def __init__(self, relations: Mapping[str, Relation], looks: Looks) -> None:
        self._relations = relations
        self._looks = looks
        self.fields = Fields()
        self.hidden: Counter[str] = Counter()
        self._signs = False
        self._counted: dict[str, dict[str, int]] = {}  # number of each note by its id, for each kind of note

    def read(
        self, element: Element, *, verbatim: bool = False, signs: bool = False, after: Paragraph | None = None
    ) -> Paragraph:
        """Read one `p` element.

        Args:
            element: the `p` element.
            verbatim: keep white space (code).
            signs: mark where a picture is set in the text like a character.
            after: the paragraph that this element continues; it is returned.
        """
        self._signs = signs
        paragraph = after or Paragraph(RichText(verbatim=verbatim))
        paragraph.properties = child(element, "pPr")
        paragraph.style = value(paragraph.properties, "pStyle")
        self.fields.begin_paragraph(len(paragraph.text))
        in_contents = self.fields.in_contents
        self._inside(element, paragraph)
        self.hidden.update(paragraph.text.hidden)
        paragraph.text.hidden.clear()
        text = paragraph.text.text.rstrip()
        paragraph.in_contents = in_contents or self.fields.in_contents
        paragraph.is_contents = paragraph.in_contents and (
            self.fields.saw_page_reference or _PAGE_AT_END.search(text) is not None
        )
        return paragraph

    def read_joined(self, parts: Sequence[Element]) -> Paragraph:
        """Read one or more paragraphs that become one when changes are accepted."""
        paragraph = self.read(parts[0])
        for part in parts[1:]:
            paragraph = self.read(part, after=paragraph)
        return paragraph

    def _inside(self, element: Element, paragraph: Paragraph) -> None:
        for part in visible_children(element):
            name = local_name(part)
            if name == "r":
                self._run(part, paragraph)
            elif name == "hyperlink":
                self._hyperlink(part, paragraph)
            elif name == "fldSimple":
                self._simple_field(part, paragraph)
            elif name == "bookmarkStart":
                paragraph.bookmarks.append(attribute(part, "name") or "")
            elif name in {"oMath", "oMathPara"}:
                self._show(f" {equation_text(part)} ", paragraph)
            elif name in _CONTAINERS or name == "AlternateContent":
                self._inside(part, paragraph)
            elif name in _DRAWINGS:
                self._drawing(part, paragraph)

    def _hyperlink(self, element: Element, paragraph: Paragraph) -> None:
        start = len(paragraph.text)
        self._inside(element, paragraph)
        relation = self._relations.get(attribute(element, "id") or "")
        anchor = attribute(element, "anchor")
        if relation is not None and relation.external:
            target = f"{relation.target}#{anchor}" if anchor else relation.target
            paragraph.text.mark(start, ReferenceKind.LINK, target)
        elif anchor:
            paragraph.text.mark(start, None, f"#{anchor}")

    def _simple_field(self, element: Element, paragraph: Paragraph) -> None:
        self.fields.begin(attribute(element, "instr") or "")
        self.fields.separate(paragraph.text)
        self._inside(element, paragraph)
        paragraph.sequence = self.fields.end(paragraph.text) or paragraph.sequence

    def _run(self, run: Element, paragraph: Paragraph) -> None:
        properties = properties_of(child(run, "rPr"))
        reason = self._looks.reason(properties, paragraph.style, run)
        if reason is HiddenReason.NOT_DISPLAYED:
            tag = "".join(part.text or "" for part in run if local_name(part) == "t")
            if not paragraph.text.text.strip() and _HIDDEN_TAG.fullmatch(tag):
                self._show(f"{tag.strip()} ", paragraph)
            elif not self.fields.hides_text:
                self.hidden[reason] += visible_length(run)
            self._fields_only(run, paragraph)
            return
        before = len(paragraph.text)
        for part in visible_children(run):
            if reason is not None and local_name(part) in _LETTERS:
                self.hidden[reason] += 0 if self.fields.hides_text else visible_length(part) or 1
            else:
                self._run_part(part, properties, paragraph)
        is_heavy = self._looks.stands_out(properties, paragraph.style)
        if is_heavy:
            paragraph.bold += len(paragraph.text) - before
        if is_heavy or is_on(properties.get("i")) or (value(properties.get("u")) or "none") != "none":
            paragraph.text.stand_out(before)

    def _drawing(self, element: Element, paragraph: Paragraph) -> None:
        reason = unseen_drawing(element)
        if reason is None:
            is_sign = not _read_drawing(element, paragraph) and self._signs and stands_in_line(element)
            if is_sign and not self.fields.hides_text:
                paragraph.signs_unread += 1
                paragraph.text.add(UNREAD)
        else:
            self.hidden[reason] += visible_length(element)

    def _fields_only(self, run: Element, paragraph: Paragraph) -> None:
        """Track the fields of a hidden run; hidden bookmarks and index entries are often field codes."""
        for part in run:
            if local_name(part) in {"fldChar", "instrText"}:
                self._run_part(part, _NONE, paragraph)

    def _run_part(self, part: Element, properties: Mapping[str, Element], paragraph: Paragraph) -> None:
        name = local_name(part)
        if name == "t":
            self._text(part.text or "", properties, paragraph)
        elif name == "fldChar":
            self._field_mark(part, paragraph)
        elif name == "instrText":
            self.fields.instruct(part.text or "")
        elif name in _CHARACTERS:
            self._show(_CHARACTERS[name], paragraph)
        elif name in {"br", "cr"}:
            if attribute(part, "type") not in {None, "textWrapping"}:
                self._show(" ", paragraph)
            elif not self.fields.hides_text:
                paragraph.text.break_line()
        elif name == "sym":
            self._symbol(part, paragraph)
        elif name in {"footnoteReference", "endnoteReference"}:
            note = (name.removesuffix("Reference"), attribute(part, "id") or "")
            paragraph.notes.append(note)
            self._show(self.note_mark(note), paragraph)
        elif name in _DRAWINGS:
            self._drawing(part, paragraph)
        elif name in {"AlternateContent", "ruby"}:
            self._nested(part, properties, paragraph)

    def note_mark(self, note: tuple[str, str]) -> str:
        """Return the mark of a footnote or endnote with the number that Word prints, not its id: "[^1]", "[^e1]"."""
        same = self._counted.setdefault(note[0], {})
        return f"[^{'e' if note[0] == 'endnote' else ''}{same.setdefault(note[1], len(same) + 1)}]"

    def _nested(self, part: Element, properties: Mapping[str, Element], paragraph: Paragraph) -> None:
        if local_name(part) == "ruby":
            self._inside(part, paragraph)
            reading = child(part, "rt")
            if reading is not None:
                self._show("(", paragraph)
                self._inside(reading, paragraph)
                self._show(")", paragraph)
            return
        for inner in visible_children(part):
            self._run_part(inner, properties, paragraph)

    def _field_mark(self, mark: Element, paragraph: Paragraph) -> None:
        kind = attribute(mark, "fldCharType")
        if kind == "begin":
            self.fields.begin(form=child(mark, "ffData"))
        elif kind == "separate":
            self.fields.separate(paragraph.text)
        elif kind == "end":
            paragraph.sequence = self.fields.end(paragraph.text) or paragraph.sequence

    def _text(self, text: str, properties: Mapping[str, Element], paragraph: Paragraph) -> None:
        if has_private_characters(text):
            text, unknown = letters_for_symbols(text, attribute(properties.get("rFonts"), "ascii") or "")
            paragraph.unknown_symbols += unknown
        self._show(raised_or_lowered(text, attribute(properties.get("vertAlign"), "val") or ""), paragraph)

    def _symbol(self, part: Element, paragraph: Paragraph) -> None:
        code = attribute(part, "char") or ""
        if not re.fullmatch(r"[0-9A-Fa-f]{2,4}", code):
            return
        number = int(code, 16)
        character = chr(number if number >= 0x100 else 0xF000 + number)
        text, unknown = letters_for_symbols(character, attribute(part, "font") or "")
        paragraph.unknown_symbols += unknown
        self._show(text, paragraph)

    def _show(self, text: str, paragraph: Paragraph) -> None:
        if not self.fields.hides_text:
            paragraph.text.add(text)


def _read_drawing(element: Element, paragraph: Paragraph) -> bool:
    """Collect what a drawing says: outermost text boxes, alternative text, WordArt, charts, diagrams.

    Returns:
        Whether anything was found.
    """
    lists = (paragraph.boxes, paragraph.pictures, paragraph.drawn, paragraph.figures)
    before = sum(map(len, lists))
    pending = [element]
    while pending:
        part = pending.pop()
        name = local_name(part)
        if name == "txbxContent":
            paragraph.boxes.append(part)
            continue
        if name == "txBody":
            paragraph.drawn.extend(filter(None, map(words_of, part.iter("{*}p"))))
            continue
        if name == "docPr":
            text = (attribute(part, "descr") or "").strip()
            if text and " " in text:
                paragraph.pictures.append(text)
        elif name == "textpath":
            paragraph.drawn.extend(filter(None, [" ".join((attribute(part, "string") or "").split())]))
        elif name in _FIGURES:
            paragraph.figures.append(attribute(part, _FIGURES[name]) or "")
        pending.extend(reversed(visible_children(part)))
    return before != sum(map(len, lists))
