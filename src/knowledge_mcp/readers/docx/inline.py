"""One Word paragraph to text: runs, fields, links, tracked changes as accepted, symbols, equations.

What a reader of the final document sees is kept; deleted and moved-away text, hidden text, comments and the older
duplicate of a drawing are not. What is hidden is counted. One hidden text is kept: the tag that requirement tools put
before a requirement.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from knowledge_mcp.model.document import HiddenReason, ReferenceKind
from knowledge_mcp.readers.docx.looks import Looks, properties_of, stands_in_line, unseen_drawing
from knowledge_mcp.readers.docx.package import Element, Relation, attribute, child, is_on, value
from knowledge_mcp.readers.shared.containers import local_name
from knowledge_mcp.readers.shared.equations import equation_text
from knowledge_mcp.readers.shared.hidden import nonblank_length
from knowledge_mcp.readers.shared.layout import UNREAD
from knowledge_mcp.readers.shared.richtext import RichText, raised_or_lowered

_WORD = re.compile(r'"([^"]*)"|(\S+)')
_MAX_NESTING = 50


@dataclass(slots=True)
class _Field:
    instruction: str = ""
    in_result: bool = False
    start: int = 0


class Fields:
    """Follow the fields of a document; text is shown only while no open field is still in its instruction."""

    def __init__(self) -> None:
        self._open: list[_Field] = []
        self._sequences: dict[str, int] = {}
        self.saw_page_reference = False

    @property
    def hides_text(self) -> bool:
        """Tell whether what comes now belongs to an instruction."""
        return any(not field.in_result for field in self._open)

    @property
    def in_contents(self) -> bool:
        """Tell whether the result of a table of contents or an index is open."""
        return any(_words(each.instruction)[:1] in (["TOC"], ["INDEX"]) for each in self._open)

    def begin_paragraph(self) -> None:
        """Start a paragraph: results go on from the last one, instructions never do (that is a damaged field)."""
        self._open = [each for each in self._open if each.in_result]
        self.saw_page_reference = False
        for each in self._open:
            each.start = 0

    def forget(self) -> None:
        """Drop all open fields; a heading cannot stand inside one."""
        self._open.clear()

    def begin(self, instruction: str = "") -> None:
        """Open a field."""
        if len(self._open) < _MAX_NESTING:
            self._open.append(_Field(instruction))

    def instruct(self, text: str) -> None:
        """Take a piece of the innermost field's instruction."""
        if self._open and not self._open[-1].in_result:
            self._open[-1].instruction += text

    def separate(self, text: RichText) -> None:
        """Go over to the innermost field's result."""
        if self._open:
            self._open[-1].in_result = True
            self._open[-1].start = len(text)

    def end(self, text: RichText) -> str | None:
        """Close the innermost field and mark its result; returns the label of the sequence that a SEQ field counts."""
        if not self._open:
            return None
        field = self._open.pop()
        words = _words(field.instruction)
        if not words:
            return None
        name, arguments = words[0], words[1:]
        start = field.start if field.in_result else len(text)
        if name == "PAGEREF":
            self.saw_page_reference = True
        elif name == "REF" and arguments:
            text.mark(start, None, f"#{arguments[0]}")
        elif name == "HYPERLINK" and arguments:
            _mark_hyperlink(text, start, arguments)
        elif name == "SEQ" and arguments:
            return self._count(text, start, arguments)
        return None

    def _count(self, text: RichText, start: int, arguments: list[str]) -> str:
        """Count a caption; the number is written only where Word left no result."""
        label = arguments[0]
        switches = [a.lower() for a in arguments[1:]]
        number = self._sequences.get(label, 0)
        if "\\r" in switches and (after := arguments[switches.index("\\r") + 2 :]) and after[0].isdigit():
            number = int(after[0])
        elif "\\c" not in switches:
            number += 1
        self._sequences[label] = number
        if not text.text[start:].strip() and "\\h" not in switches:
            text.add(str(number))
        return label


def _words(instruction: str) -> list[str]:
    words = [quoted or bare for quoted, bare in _WORD.findall(instruction)]
    return [words[0].upper(), *words[1:]] if words else []


def _mark_hyperlink(text: RichText, start: int, arguments: list[str]) -> None:
    if "\\l" in arguments:
        place = arguments.index("\\l") + 1
        if place < len(arguments):
            text.mark(start, None, f"#{arguments[place]}")
    elif not arguments[0].startswith("\\"):
        text.mark(start, ReferenceKind.LINK, arguments[0])


_PRIVATE = re.compile("[\uf000-\uf0ff]")
_SYMBOLS = {
    0xB0: "°", 0xB1: "±", 0xB3: "≥", 0xA3: "≤", 0xB4: "×", 0xB7: "•", 0xB8: "÷", 0xB9: "≠", 0xBB: "≈", 0xA5: "∞",
    0xAE: "→", 0xAC: "←", 0xDE: "⇒", 0xD7: "·", 0xD6: "√", 0xE5: "∑", 0x6D: "μ", 0x57: "Ω", 0x44: "Δ", 0x61: "α",
    0x62: "β", 0x67: "γ", 0x64: "δ", 0x65: "ε", 0x6C: "λ", 0x70: "π", 0x73: "σ", 0x74: "τ", 0x66: "φ", 0x77: "ω",
    0x71: "θ", 0x72: "ρ", 0x68: "η", 0xD0: "∠", 0xC5: "⊕", 0xCE: "∈", 0xA2: "′", 0xB2: "″",
}  # fmt: skip
_DINGBATS = {
    0xFC: "✓", 0xFE: "☑", 0xFD: "☒", 0xA8: "☐", 0x6F: "☐", 0xFB: "✗", 0xA7: "▪", 0xE0: "→", 0xF0: "⇒", 0x4A: "☺",
    0x6C: "●", 0x6E: "■", 0x75: "◆", 0x76: "❖", 0x77: "◆", 0xD8: "➢", 0x50: "✓",
}  # fmt: skip
_UNKNOWN_SIGN = "▪"


def has_private_characters(text: str) -> bool:
    """Tell whether a text holds positions of a symbol font (U+F000 to U+F0FF)."""
    return _PRIVATE.search(text) is not None


def letters_for_symbols(text: str, font: str) -> tuple[str, int]:
    """Write positions of the Symbol and dingbat fonts as Unicode.

    Returns:
        The text, and how many had no letter: a sign in a table cell says something by being there, so a small square
        stands for each.
    """
    table = _DINGBATS if "ding" in font.lower() else _SYMBOLS
    unknown = 0

    def letter(match: re.Match[str]) -> str:
        nonlocal unknown
        found = table.get(ord(match.group()) & 0xFF)
        unknown += found is None
        return found or _UNKNOWN_SIGN

    return _PRIVATE.sub(letter, text), unknown


_HIDDEN_TAG = re.compile(
    r"\s*[\[<(]?[A-Z][A-Za-z]{0,11}(?:[-_. ][A-Za-z0-9]{1,12}){0,4}?[-_. ]?\d{1,6}(?:\.\d{1,4}){0,4}[a-z]?[\])>]?"
    r"\s*[:–-]?\s*"
)
"""A requirement's tag ("SSR1", "[REQ-12]"), alone in a hidden run."""
_SKIPPED = frozenset(
    {"pPr", "del", "moveFrom", "delText", "delInstrText", "rPr", "Fallback", "sdtPr", "rt", "annotationRef"}
)
_CONTAINERS = frozenset(
    {"ins", "moveTo", "smartTag", "customXml", "dir", "bdo", "sdtContent", "sdt", "ruby", "rubyBase", "Choice"}
)
_DRAWINGS = frozenset({"drawing", "pict", "object"})
_NONE: Mapping[str, Element] = {}
_LETTERS = frozenset({"t", "sym", "noBreakHyphen"})
_CHARACTERS = {"tab": "\t", "ptab": "\t", "noBreakHyphen": "-"}


@dataclass(slots=True)
class Paragraph:
    """Hold what one paragraph says.

    Attributes:
        text: its words with marks.
        style: id of its style, None for the default one.
        bookmarks: names of the bookmarks that begin in it.
        notes: ids of the foot- and endnotes it cites, as ("footnote", "3").
        boxes: contents of the text boxes anchored in it.
        pictures: alternative texts of its pictures.
        sequence: the sequence that a SEQ field in it counts ("Table", "Figure"), None without one.
        is_contents: it is a line of a table of contents.
        bold: code points that are bolder or larger than the document's text.
        unknown_symbols: symbols of symbol fonts that have no letter here.
        signs_unread: pictures that stand in its text like signs of it.
    """

    text: RichText
    style: str | None = None
    bookmarks: list[str] = field(default_factory=list[str])
    notes: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    boxes: list[Element] = field(default_factory=list[Element])
    pictures: list[str] = field(default_factory=list[str])
    sequence: str | None = None
    is_contents: bool = False
    bold: int = 0
    unknown_symbols: int = 0
    signs_unread: int = 0


def visible_children(element: Element) -> list[Element]:
    """List what a reader sees of an element's children; of an alternative only the first choice, else the fallback."""
    if local_name(element) == "AlternateContent":
        choice = child(element, "Choice")
        found = choice if choice is not None else child(element, "Fallback")
        return list(found) if found is not None else []
    return [part for part in element if local_name(part) not in _SKIPPED]


def visible_length(element: Element) -> int:
    """Count the characters that are not blank in all runs of an element."""
    count = 0
    pending = [element]
    while pending:
        part = pending.pop()
        if local_name(part) == "t":
            count += nonblank_length(part.text)
        pending.extend(visible_children(part))
    return count


class ParagraphReader:
    """Read paragraphs in document order, so that fields go on from one to the next; `hidden` counts what is unseen."""

    def __init__(self, relations: Mapping[str, Relation], looks: Looks) -> None:
        self._relations = relations
        self._looks = looks
        self.fields = Fields()
        self.hidden: Counter[str] = Counter()
        self._signs = False

    def read(self, element: Element, *, verbatim: bool = False, signs: bool = False) -> Paragraph:
        """Read one `p` element; `verbatim` keeps blanks (code), `signs` says where a picture stands in the text."""
        self._signs = signs
        self.fields.begin_paragraph()
        paragraph = Paragraph(RichText(verbatim=verbatim), style=value(element, "pPr", "pStyle"))
        in_contents = self.fields.in_contents
        self._inside(element, paragraph)
        self.hidden.update(paragraph.text.hidden)
        paragraph.text.hidden.clear()
        text = paragraph.text.text.rstrip()
        paragraph.is_contents = (in_contents or self.fields.in_contents) and (
            self.fields.saw_page_reference or re.search(r"(?:\s|\.)(?:\d+|[ivxlc]+)$", text) is not None
        )
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
        """Follow the fields of a hidden run; hidden bookmarks and indexes are often field codes."""
        for part in run:
            if local_name(part) in {"fldChar", "instrText"}:
                self._run_part(part, _NONE, paragraph)

    def _run_part(self, part: Element, properties: Mapping[str, Element], paragraph: Paragraph) -> None:
        name = local_name(part)
        if name == "t":
            self._text(part.text or "", properties, paragraph)
        elif name == "fldChar":
            self._field_mark(attribute(part, "fldCharType"), paragraph)
        elif name == "instrText":
            self.fields.instruct(part.text or "")
        elif name in _CHARACTERS:
            self._show(_CHARACTERS[name], paragraph)
        elif name in {"br", "cr"}:
            if attribute(part, "type") in {None, "textWrapping"} and not self.fields.hides_text:
                paragraph.text.break_line()
        elif name == "sym":
            self._symbol(part, paragraph)
        elif name in {"footnoteReference", "endnoteReference"}:
            paragraph.notes.append((name.removesuffix("Reference"), attribute(part, "id") or ""))
            self._show(f"[^{name[0] if name[0] == 'e' else ''}{attribute(part, 'id')}]", paragraph)
        elif name in _DRAWINGS:
            self._drawing(part, paragraph)
        elif name in {"AlternateContent", "ruby"}:
            self._nested(part, properties, paragraph)

    def _nested(self, part: Element, properties: Mapping[str, Element], paragraph: Paragraph) -> None:
        if local_name(part) == "ruby":
            self._inside(part, paragraph)
            return
        for inner in visible_children(part):
            self._run_part(inner, properties, paragraph)

    def _field_mark(self, kind: str | None, paragraph: Paragraph) -> None:
        if kind == "begin":
            self.fields.begin()
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
    """Find the text boxes and the alternative text of a drawing, not those in nested boxes; False where it has none."""
    before = len(paragraph.boxes), len(paragraph.pictures)
    pending = [element]
    while pending:
        part = pending.pop()
        name = local_name(part)
        if name == "txbxContent":
            paragraph.boxes.append(part)
            continue
        if name == "docPr":
            text = (attribute(part, "descr") or "").strip()
            if text and " " in text:
                paragraph.pictures.append(text)
        pending.extend(reversed(visible_children(part)))
    return before != (len(paragraph.boxes), len(paragraph.pictures))
