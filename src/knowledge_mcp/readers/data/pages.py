"""Child process: convert documents in XML (standards, laws, manuals) to HTML, so that they are read like pages.

A part that has a title or a number is a section; a number without a title is put before the part's first words. The
function of an element is known from its name (`vocabulary`), or otherwise from its content: one with words of its own
is a paragraph, one with other parts a container. The elements keep their lines.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from knowledge_mcp.readers.data import vocabulary as names
from knowledge_mcp.readers.data.prose import BREAKS, MOST_TITLE, elements_of, has_words, name_of, text_without_notes
from knowledge_mcp.readers.html.tables import MARKER
from knowledge_mcp.readers.shared.containers import Element, check_depth, without_namespace

_BLOCKS = frozenset({"dl"}).union(
    names.PARAGRAPHS, names.LISTS, names.TABLES, names.CODE, names.QUOTES, names.ENTRIES, names.CAPTIONED
)
_AROUND_TITLES = names.NUMBERS | names.PREFIXES | names.WRAPPERS | names.DATA_ABOUT | names.TITLES
_MOST_DEPTH = 100
_DEEPEST_HEADING = 6
_MOST_DIGITS = 4
_ITEM_NUMBER = re.compile(
    r"[(\[]?(?:[a-zA-Z]{1,2}|[ivxlcIVXLC]{1,6}|\d{1,3}(?:[.-]\d)?)(?:bis|ter)?[)\]]|[-–—•●▪]|[a-z]\."
)
"""Numbers of list items: "(a)", "iv)", "(1.1)"; others are clause numbers."""
_LEVEL = re.compile(r"\d")
_LINKS = ("href", "target", "url", "linkend", "rid", "link")
_ID = ("id", "eid", "anchor")
_BELOW_SECTION = re.compile(r"p[2-7]")
"""Elements of British acts whose numbers are printed in brackets."""
_HTML_OF = {
    **dict.fromkeys(("b", "bold", "strong"), "b"),
    **dict.fromkeys(("i", "italic", "em", "emph"), "i"),
    "sup": "sup",
    "sub": "sub",
}


def as_page(root: Element) -> Element:
    """Convert a document to a page.

    Raises:
        Refusal: it is nested too deeply.
    """
    return _Page().made(root)


class _Page:
    """Write the elements of a page; `_used` are those already written in a title or before a paragraph."""

    def __init__(self) -> None:
        self._used: set[Element] = set()
        self._blocks: set[Element] = set()
        self._notes: list[Element] = []
        self._numbers: list[tuple[str, Element]] = []
        self._note_count = 0

    def made(self, root: Element) -> Element:
        """Write the whole page."""
        from lxml import etree

        for element in root.iter("*"):
            name = name_of(element)
            if name in _BLOCKS:
                outer = [] if name in names.PARAGRAPHS and self._in_paragraph(element) else [element]
                for above in (*outer, *(element.iterancestors() if outer else ())):
                    if above in self._blocks or name_of(above) in names.NOTES_BELOW:
                        break
                    self._blocks.add(above)
        body = etree.Element("body")
        self._part(root, body, 1, 0)
        return body

    def _in_paragraph(self, element: Element) -> bool:
        above = element.getparent()
        return above is not None and name_of(above) in names.PARAGRAPHS

    # ---- parts

    def _part(self, element: Element, into: Element, level: int, depth: int) -> None:
        """Write a part: its title as a heading with its number, or its number before its first words."""
        check_depth(depth, _MOST_DEPTH, "elements are")
        title, words = self._title(element)
        number = self._number(element, title)
        if words:
            number = number or self._number_inside(element)
            made = _made(into, f"h{min(level, _DEEPEST_HEADING)}", title, f"{number} {words}".strip(), element)
            _ = made.set(MARKER, number) if number else None
            for note in [
                each for each in title.iter("*") if title is not element and name_of(each) in names.NOTES_BELOW
            ]:
                self._note(note)
            self._lay_notes(into)
            self._content(element, into, level + 1, depth)
            return
        if number:
            self._numbered(element, number, into, level, depth)
            return
        self._content(element, into, level, depth)

    def _numbered(self, element: Element, number: str, into: Element, level: int, depth: int) -> None:
        """Write a part that has only a number."""
        if _ITEM_NUMBER.fullmatch(number):
            outer = _made(into, "ul", element)
            item = _made(outer, "li", element, id_of=element)
            item.set(MARKER, number)
            self._content(element, item, level, depth)
        else:
            self._numbers.append((number, element))
            self._content(element, into, level, depth)
            if self._numbers and self._numbers[-1][1] is element:  # it was empty
                self._numbers.pop()
                _made(into, "p", element, number)

    def _title(self, element: Element) -> tuple[Element, str]:
        """Return the title of a part with its element, and mark it as used.

        If an attribute has the title, the element is the part itself.
        """
        if name_of(element) in names.CAPTIONED | names.ENTRIES | names.PARAGRAPHS:
            return element, ""
        for child in elements_of(element):
            name = name_of(child)
            inner = self._title_inside(child) if name in names.WRAPPERS else child
            if inner is not None and inner in self._used:
                continue
            if inner is not None and _is_title(inner) and not self._is_flat(inner):
                words = text_without_notes(inner)
                if words:
                    self._used.add(inner)
                    return inner, words
            elif name == "termentry":
                term = next((each for each in child.iter("*") if name_of(each) == "term"), None)
                if term is not None:
                    self._used.add(term)
                    return term, text_without_notes(term)
            elif name not in _AROUND_TITLES:
                break
        stated = next((element.get(key) for key in names.TITLE_ATTRIBUTES if element.get(key)), None)
        is_part = stated and element in self._blocks and name_of(element) not in names.INLINE | names.LISTS
        return element, " ".join(stated.split()) if is_part and stated else ""

    def _title_inside(self, wrapper: Element) -> Element | None:
        return next((e for e in wrapper if _is_title(e) and e not in self._used and text_without_notes(e)), None)

    def _number(self, element: Element, title: Element | None = None) -> str:
        """Return the number of a part and mark it as used; a number after the title does not count."""
        if name_of(element) in names.CAPTIONED | names.ENTRIES:
            return ""
        parts: list[str] = []
        for child in elements_of(element):
            name = name_of(child)
            if name in names.NUMBERS | names.PREFIXES and child not in self._used:
                self._used.add(child)
                parts.append(self._dressed(element, child))
                if name in names.NUMBERS:
                    break
            elif child is title:
                if name != "marginalnote":
                    break
            elif name not in _AROUND_TITLES and (child.text or "").strip():
                break
        return " ".join(filter(None, parts))

    def _dressed(self, element: Element, number: Element) -> str:
        """Return a number as it is printed: in British acts, the brackets are not in the file."""
        words = text_without_notes(number)
        if name_of(number) == "pnumber" and _BELOW_SECTION.fullmatch(name_of(element)) and words.isalnum():
            return f"({words})"
        return words

    def _number_inside(self, element: Element) -> str:
        """Return the number of the only part in a part that has a title but no number, as in British acts."""
        if not name_of(element).endswith("group"):
            return ""
        parts = [child for child in elements_of(element) if child not in self._used]
        is_alone = len(parts) == 1 and not self._has_title(parts[0])
        return self._number(parts[0]) if is_alone else ""

    def _has_title(self, element: Element) -> bool:
        return any(map(_is_title, element))

    def _is_flat(self, element: Element) -> bool:
        """Return whether a heading names what follows it, not the element that contains it."""
        name = name_of(element)
        if name == "heading":
            return any(name_of(child) in names.NUMBERS | names.TITLES for child in element)
        return name in names.FLAT_HEADINGS

    # ---- content of a part

    def _content(self, element: Element, into: Element, level: int, depth: int) -> None:
        """Write the content of a part: blocks as such, words and elements among them as paragraphs."""
        is_mixed = has_words(element)
        open_paragraph: Element | None = None
        base = level
        if is_mixed and (element.text or "").strip():
            open_paragraph = self._paragraph(into, element)
            _add(open_paragraph, element.text)
        for child in element:
            if isinstance(child.tag, str) and child not in self._used:
                name = name_of(child)
                is_word = name in names.INLINE and child not in self._blocks
                is_note = name in names.NOTES_BELOW and (is_mixed or open_paragraph is not None)
                if is_note or is_word or (is_mixed and child not in self._blocks):
                    if name not in names.DATA_ABOUT and (open_paragraph is not None or text_without_notes(child)):
                        open_paragraph = self._paragraph(into, child) if open_paragraph is None else open_paragraph
                        self._word(child, open_paragraph, depth + 1)
                else:
                    open_paragraph = None
                    self._lay_notes(into)
                    if self._is_flat(child):
                        base = self._flat(child, into, level)
                    else:
                        self._block(child, into, base, depth + 1)
            elif not isinstance(child.tag, str) and is_mixed:
                open_paragraph = self._paragraph(into, element) if open_paragraph is None else open_paragraph
                _add(open_paragraph, child.text)
            if (child.tail or "").strip() or (open_paragraph is not None and child.tail):
                open_paragraph = self._paragraph(into, child) if open_paragraph is None else open_paragraph
                _add(open_paragraph, child.tail)
        self._lay_notes(into)

    def _flat(self, element: Element, into: Element, level: int) -> int:
        """Write a heading that names what follows it; return the level of what follows."""
        stated = "".join(
            str(element.get(key) or "")
            for key in element.attrib
            if without_namespace(key).lower() in {"level", "source"}
        )
        found = _LEVEL.search(stated)
        own = level + (max(int(found.group()), 1) - 1 if found else 0)
        parts = [text_without_notes(child) for child in elements_of(element) if name_of(child) not in names.NOTES_BELOW]
        words = (
            " ".join(filter(None, parts)) if parts and not (element.text or "").strip() else text_without_notes(element)
        )
        if words:
            _made(into, f"h{min(own, _DEEPEST_HEADING)}", element, words, element)
        return own + 1

    def _block(self, element: Element, into: Element, level: int, depth: int) -> None:
        """Write one block."""
        name = name_of(element)
        if name in names.DATA_ABOUT:
            return
        if name in names.CODE:
            _made(into, "pre", element, "".join(map(str, element.itertext())))
        elif name in names.SOURCES and not self._has_title(element):
            self._source(element, into)
        elif name in names.TABLES and (rows := _rows_of(element)):
            self._table(element, rows, into, depth)
        elif name in names.CAPTIONED:
            self._caption(element, into)
            self._content(element, into, level, depth)
        elif name in names.QUOTES:
            self._part(element, _made(into, "blockquote", element), level, depth)
        elif name == "dl" or name in names.ENTRIES:
            self._defined(element, into, level, depth)
        elif name in names.LISTS and any(name_of(child) in names.ITEMS for child in element):
            self._list(element, into, level, depth)
        elif name in names.IMAGES:
            words = text_without_notes(element)
            _ = _made(into, "p", element, words) if words else None
        else:
            self._part(element, into, level, depth)

    def _paragraph(self, into: Element, source: Element) -> Element:
        """Open a paragraph; a number that waits for words is put before it."""
        made = _made(into, "p", source, id_of=source)
        if self._numbers:
            number, element = self._numbers.pop()
            _name_it(made, element)
            made.text = f"{number} "
        return made

    def _word(self, element: Element, into: Element, depth: int) -> None:
        """Write an element among words."""
        check_depth(depth, _MOST_DEPTH, "elements are")
        name = name_of(element)
        if name in names.NOTES_BELOW:
            _add(into, f"[{self._note(element)}]")
            return
        if name in names.DATA_ABOUT:
            return
        if name in BREAKS:
            _made(into, "br", element)
            return
        target = next((str(element.get(key)) for key in element.attrib if without_namespace(key) in _LINKS), "")
        tag = "a" if target else _HTML_OF.get(name, "span")
        made = _made(into, tag, element, id_of=element)
        if target:
            local = (
                "linkend" in element.attrib
                or "rid" in element.attrib
                or (name == "xref" and "." not in target and "/" not in target)
            )
            made.set("href", f"#{target.lstrip('#')}" if local else target)
        _add(made, element.text)
        for child in element:
            if isinstance(child.tag, str):
                self._word(child, made, depth + 1)
            else:
                _add(made, child.text)
            _add(made, child.tail)
        if target and name not in names.IMAGES and not text_without_notes(made):
            _add(made, target.lstrip("#"))

    def _note(self, element: Element) -> str:
        """Take a note, which follows the block that refers to it; return its mark."""
        self._note_count += 1
        mark = next((text_without_notes(each) for each in element if name_of(each) in names.NUMBERS), "")
        mark = (mark or element.get("marker") or str(self._note_count)).strip("[]")
        self._notes.append(element)
        self._used.update(each for each in element if name_of(each) in names.NUMBERS)
        element.set(MARKER, mark)
        return mark

    def _lay_notes(self, into: Element) -> None:
        notes, self._notes = self._notes, []
        for note in notes:
            mark = note.attrib.pop(MARKER)
            made = _made(into, "p", note, f"[{mark}] ")
            made.set(MARKER, f"[{mark}]")
            _add(made, note.text)
            for child in note:
                if isinstance(child.tag, str) and child not in self._used:
                    self._word(child, made, 1)
                _add(made, child.tail or " ")

    # ---- lists, tables, works

    def _list(self, element: Element, into: Element, level: int, depth: int) -> None:
        name = name_of(element)
        stated = " ".join(str(element.get(key) or "") for key in ("list-type", "type", "rend", "style")).lower()
        is_ordered = name in names.ORDERED or "order" in stated.replace("unorder", "") or "decimal" in stated
        for child in elements_of(element):
            if name_of(child) in names.TITLES and child not in self._used:
                self._used.add(child)
                _made(into, "p", child, text_without_notes(child))
        made = _made(into, "ol" if is_ordered else "ul", element)
        for child in elements_of(element):
            if name_of(child) not in names.ITEMS:
                self._block(child, made if child in self._blocks else into, level, depth + 1)
                continue
            number = self._number(child)
            item = _made(made, "li", child, id_of=child)
            if number:
                item.set(MARKER, number)
            self._content(child, item, level, depth + 1)

    def _defined(self, element: Element, into: Element, level: int, depth: int) -> None:
        """Write terms with their definitions."""
        made = _made(into, "dl", element)
        for child in elements_of(element):
            name = name_of(child)
            if name in names.TERMS:
                self._word(child, _made(made, "dt", child, id_of=child), depth + 1)
            elif name in names.DEFINED:
                if not text_without_notes(child):  # only refers to a definition elsewhere
                    continue
                self._content(child, _made(made, "dd", child), level, depth + 1)
            elif child not in self._used:
                self._block(child, into, level, depth + 1)

    def _caption(self, element: Element, into: Element) -> None:
        """Write a table's or a figure's number and title as its caption."""
        found: list[str] = []
        for child in elements_of(element):
            if name_of(child) in names.NUMBERS | names.TITLES or name_of(child) == "caption":
                is_long = child in self._blocks and len(text_without_notes(child)) > MOST_TITLE
                named = self._title_inside(child) if is_long else child
                if named is not None:
                    self._used.add(named)
                    found.append(text_without_notes(named))
        stated = next((element.get(key) for key in ("title", "caption") if element.get(key)), None)
        words = " – ".join(filter(None, [*found, *([stated] if stated and not found else [])]))
        if words:
            _made(into, "figcaption", element, words, element)

    def _table(self, element: Element, rows: list[Element], into: Element, depth: int) -> None:
        self._caption(element, into)
        made = _made(into, "table", element)
        columns = _columns_of(element)
        for row in rows:
            above = row.getparent()
            is_head = name_of(row) in names.HEADS or (above is not None and name_of(above) in names.HEADS)
            is_head = is_head or row.get("role") == "label"
            line = _made(made, "tr", row)
            for cell in elements_of(row):
                if name_of(cell) not in names.CELLS:
                    continue
                box = _made(line, "th" if is_head or name_of(cell) == "th" else "td", cell)
                wide, deep = _reach(cell, columns)
                _ = box.set("colspan", wide) if wide else None
                _ = box.set("rowspan", deep) if deep else None
                self._content(cell, box, 6, depth + 1)

    def _source(self, element: Element, into: Element) -> None:
        """Write a cited work as one line."""
        words = [str(text).strip() for text in element.itertext()]
        key = next((str(element.get(name)) for name in ("anchor",) if element.get(name)), "")
        line = " ".join(" ".join(filter(None, words)).split())
        if line:
            _made(into, "p", element, f"[{key}] {line}" if key else line, element)


def _is_title(element: Element) -> bool:
    """Return whether an element is the title of what contains it; the name of a person is none."""
    return name_of(element) in names.TITLES and not any(name_of(part) == "surname" for part in element)


def _rows_of(table: Element) -> list[Element]:
    """Return the rows of a table without those of nested tables."""
    rows = [row for row in table.iter("*") if name_of(row) in names.ROWS]
    return [row for row in rows if next(each for each in row.iterancestors() if name_of(each) in names.TABLES) is table]


def _columns_of(table: Element) -> dict[str, int]:
    """Return the numbers of the named columns of a CALS table, from 1."""
    columns = [each for each in table.iter("*") if name_of(each) == "colspec"]
    return {each.get("colname") or f"c{place}": place for place, each in enumerate(columns, 1)}


def _reach(cell: Element, columns: Mapping[str, int]) -> tuple[str, str]:
    """Return the colspan and rowspan of a cell, as HTML, TEI and CALS specify them; empty for one."""
    first, last = columns.get(cell.get("namest") or "", 0), columns.get(cell.get("nameend") or "", 0)
    more = cell.get("morerows") or ""
    wide = cell.get("colspan") or cell.get("cols") or (str(last - first + 1) if 0 < first < last else "")
    is_deep = more.isascii() and more.isdigit() and len(more) < _MOST_DIGITS
    return wide, cell.get("rowspan") or cell.get("rows") or (str(int(more) + 1) if is_deep else "")


def _made(into: Element, tag: str, source: Element, text: str = "", id_of: Element | None = None) -> Element:
    """Create an element with the line of its source."""
    from lxml import etree

    made = etree.SubElement(into, tag)
    if text:
        made.text = text
    if source.sourceline is not None:
        line: Any = made  # lxml's stubs do not allow setting it
        line.sourceline = source.sourceline
    if id_of is not None:
        _name_it(made, id_of)
    return made


def _name_it(made: Element, source: Element) -> None:
    for key, value in source.attrib.items():
        if without_namespace(key).lower() in _ID and not made.get("id"):
            made.set("id", str(value))


def _add(element: Element, text: str | None) -> None:
    """Append words to an element."""
    if not text:
        return
    if len(element):
        element[-1].tail = (element[-1].tail or "") + text
    else:
        element.text = (element.text or "") + text
