"""The body of a Word document, element by element, to headings and blocks.

Left out on purpose, because they are not text: tables of contents and lists of figures (they repeat the headings and
captions), headers and footers, comments, deleted and moved-away text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from knowledge_mcp.language.openings import (
    NumberedTitle,
    caption_label,
    caption_target,
    example_label,
    is_annex,
    is_of_example,
    level_of_numbered,
    note_label,
    section_target,
    split_clause_number,
)
from knowledge_mcp.model.document import BlockKind, HeadingSource, ReferenceKind
from knowledge_mcp.readers.docx.bookmarks import Bookmarks
from knowledge_mcp.readers.docx.commentary import Commentary, is_boxed_commentary
from knowledge_mcp.readers.docx.fields import styles_of_contents
from knowledge_mcp.readers.docx.inline import (
    Paragraph,
    ParagraphReader,
    has_no_end,
    is_label,
    is_of_contents,
    paragraphs_of,
    visible_children,
)
from knowledge_mcp.readers.docx.looks import Looks
from knowledge_mcp.readers.docx.remarks import unread
from knowledge_mcp.readers.docx.styles import BODY_TEXT_LEVEL, Label, Numbering, Role, Styles
from knowledge_mcp.readers.docx.tables import TableReader, grid_rows, layout_content, take_notes
from knowledge_mcp.readers.shared.assembly import DocumentBuilder
from knowledge_mcp.readers.shared.clauses.articles import NO_TITLE_ENDS
from knowledge_mcp.readers.shared.containers import Element, Relation, attribute, child, local_name, value
from knowledge_mcp.readers.shared.drawings import figure_blocks
from knowledge_mcp.readers.shared.numbering import whole_number
from knowledge_mcp.readers.shared.richtext import LastBlock, RichText, lay, table_text
from knowledge_mcp.readers.shared.tables import explanations

Notes = Mapping[tuple[str, str], Sequence[Element]]
"""Paragraphs of footnotes and endnotes, by kind and id."""

_LEGAL_NUMBER = re.compile(r"(?:\d+|[A-Z])(?:\.\d+)+\.?")
_TRANSPARENT = frozenset({"customXml", "ins", "moveTo", "smartTag", "AlternateContent", "sdtContent"})
_MAX_DEPTH = 30
_MAX_TYPED_HEADING = 120


class DocxWalker:
    """Convert the body: call `feed` with its children in order, then `finish` once."""

    def __init__(
        self,
        builder: DocumentBuilder,
        styles: Styles,
        looks: Looks,
        numbering: Numbering,
        relations: Mapping[str, Relation],
        notes: Notes,
        part: Callable[[Relation], Element | None],
    ) -> None:
        self._builder = builder
        self._styles = styles
        self._numbering = numbering
        self._reader = ParagraphReader(relations, looks)
        self._relations = relations
        self._part = part
        self._notes = notes
        self._bookmarks = Bookmarks()
        self._cited: list[tuple[str, str]] = []
        self._noted: set[tuple[str, str]] = set()
        self._code: RichText | None = None
        self._like_contents: list[Paragraph] = []
        self._below_contents = False
        self._unfinished: Paragraph | None = None
        self._number: str | None = None
        self._commentary = Commentary()
        self._last = LastBlock()
        self._open: list[tuple[str | None, int]] = []
        self._unknown_symbols = self._signs_unread = self._figures_unread = 0
        self._has_styled_headings = False
        self.title = ""

    def feed(self, element: Element, depth: int = 0) -> None:
        """Convert one child of the body."""
        name = local_name(element)
        if name == "p":
            self._paragraph(element)
        elif name == "tbl":
            self._table(element, depth)
        elif name == "bookmarkStart":
            self._bookmarks.waiting.append(attribute(element, "name") or "")
        elif name == "sdt":
            gallery = value(element, "sdtPr", "docPartObj", "docPartGallery") or ""
            if gallery.startswith("Table of"):
                self._like_contents.clear()
                instruction = "".join(part.text or "" for part in element.iter("{*}instrText"))
                self._styles.list_in_contents(styles_of_contents(instruction))
            else:
                self._feed_all(child(element, "sdtContent"), depth)
        elif name in _TRANSPARENT:
            self._feed_all(element, depth)

    @property
    def clause(self) -> str:
        """Number of the open clause, empty if there is none."""
        return self._number or ""

    def finish(self) -> None:
        """Write what is still open, and resolve the references to bookmarks."""
        self._settle_unfinished()
        self._flush_code()
        self._settle_contents()
        self._bookmarks.resolve(self._builder)
        self._builder.leave_out(self._reader.hidden)
        numbers = self._reader.fields.numbers_unread
        for sentence in unread(self._unknown_symbols, self._signs_unread, numbers, self._figures_unread):
            self._builder.warn(sentence)

    def _feed_all(self, parent: Element | None, depth: int) -> None:
        if parent is None or depth > _MAX_DEPTH:
            return
        for element in visible_children(parent):
            self.feed(element, depth + 1)

    # ---- paragraphs

    def _paragraph(self, element: Element) -> None:
        properties = child(element, "pPr")
        is_code = self._styles.role(value(properties, "pStyle")) is Role.CODE
        outline = self._outline(properties, value(properties, "pStyle"))
        paragraph = self._reader.read(element, verbatim=is_code, signs=outline is None, after=self._unfinished)
        self._unfinished = paragraph
        if not has_no_end(element):
            self._settle_unfinished()

    def _settle_unfinished(self) -> None:
        """Write the paragraph that is still open, since no other one continues it."""
        paragraph, self._unfinished = self._unfinished, None
        if paragraph is None:
            return
        properties, role = paragraph.properties, self._styles.role(paragraph.style)
        outline = self._outline(properties, paragraph.style)
        if paragraph.is_contents or (role is Role.CONTENTS and is_of_contents(paragraph)):
            self._bookmarks.waiting.clear()
            self._like_contents.clear()
            self._below_contents = True
            self._styles.list_in_contents(self._reader.fields.collected)
            self._after(paragraph)
            return
        if role is Role.CONTENTS and not paragraph.text.is_blank:
            if self._below_contents and not self._styles.names_title(paragraph.style):
                self._after(paragraph)  # a line of contents without a page
            else:
                self._like_contents.append(paragraph)
            return
        if not paragraph.text.is_blank:
            self._settle_contents()
        ends_section = paragraph.text.is_blank and child(properties, "sectPr") is not None
        label = None if ends_section else self._numbering.label(properties, paragraph.style)  # as Word counts
        paragraph.bookmarks.extend(self._bookmarks.waiting)
        self._bookmarks.waiting = []
        if role is not Role.CODE and not paragraph.text.is_blank:
            self._flush_code()
        before = self._builder.length
        if role is Role.CODE:
            self._add_code(paragraph.text)
        elif paragraph.text.is_blank:
            self._number_alone(label, paragraph)
        elif outline is not None or (role is Role.ANNEX and label is not None):
            self._heading(paragraph, label, outline if outline is not None else (label.level if label else 0))
        else:
            self._plain(paragraph, label, role)
        self._place(paragraph, before)
        self._after(paragraph)

    def _settle_contents(self) -> None:
        """Write a single paragraph that only has a style of contents: the title of a table, or a line of a form.

        Several in a row are contents without page numbers. The title of contents is followed by its lines.
        """
        waiting, self._like_contents = self._like_contents, []
        self._below_contents = False
        for paragraph in waiting if len(waiting) == 1 else ():
            self._plain(paragraph, None, Role.BODY)
        for paragraph in waiting:
            self._after(paragraph)

    def _outline(self, properties: Element | None, style: str | None) -> int | None:
        direct = whole_number(value(properties, "outlineLvl"), None)
        if direct is not None:
            return direct if direct < BODY_TEXT_LEVEL else None
        return self._styles.outline(style)

    def _number_alone(self, label: Label | None, paragraph: Paragraph) -> None:
        """Open a clause for a number on a line of its own, as used for terms in standards."""
        if label is not None and _LEGAL_NUMBER.fullmatch(label.text):
            self._open_clause(label.text.rstrip("."), paragraph)

    def _heading(self, paragraph: Paragraph, label: Label | None, outline: int) -> None:
        self._flush_code()
        self._commentary.end()
        self._reader.fields.forget()
        words = " ".join(paragraph.text.text.split())
        printed = f"{label.text} {words}" if label is not None and not label.is_bullet else words
        parts = split_clause_number(printed)
        if parts.number is None and label is not None and not label.is_bullet:
            parts = NumberedTitle(label.text.strip(" .:()"), words, parts.informative)
        shown = parts.printed(printed)
        level = self._level_of(parts, outline + 1)
        self._builder.heading(
            parts.title,
            level=level,
            source=HeadingSource.STYLE,
            number=parts.number or None,
            informative=parts.informative,
            printed=shown,
        )
        self._number = parts.number
        self._has_styled_headings = self._has_styled_headings or parts.number is not None
        if parts.number:
            self._bookmarks.mean(paragraph.bookmarks, *section_target(parts))

    def _level_of(self, parts: NumberedTitle, styled: int) -> int:
        """Return a heading's level: that of its style, or deeper if its number extends that of an open section.

        An annex is no part of a clause: if its style skips levels, as "Heading 8" does, it is beside the clauses.
        """
        deepest = max((level for _, level in self._open), default=0)
        if is_annex(parts.keyword) and styled > deepest + 1:
            styled = next((level for number, level in self._open if number), 1)
        level = max(styled, level_of_numbered(parts.number, styled, reversed(self._open)))
        self._open = [*(each for each in self._open if each[1] < level), (parts.number, level)]
        return level

    def _typed_heading(self, paragraph: Paragraph, label: Label | None) -> bool:
        """Treat a short bold line with a clause number as a heading, if the document has not used heading styles."""
        words = " ".join(paragraph.text.text.split())
        if len(words) > _MAX_TYPED_HEADING or words[-1:] in NO_TITLE_ENDS or paragraph.bold < 0.9 * len(words):
            return False
        if label is not None and label.is_bullet:
            return False
        parts = split_clause_number(f"{label.text} {words}" if label is not None else words)
        if parts.number is None or caption_label(words, is_sure=True) is not None:
            return False
        self._flush_code()
        level = parts.number.count(".") + 1
        printed = parts.printed(words) if label is None else None
        self._builder.heading(
            parts.title,
            level=level,
            source=HeadingSource.TYPOGRAPHY,
            number=parts.number,
            informative=parts.informative,
            confidence=0.7,
            printed=printed,
        )
        self._number = parts.number
        self._bookmarks.mean(paragraph.bookmarks, *section_target(parts))
        return True

    def _open_clause(self, number: str, paragraph: Paragraph) -> None:
        """Open a section for a numbered paragraph without a title."""
        self._flush_code()
        level = max(number.count(".") + 1, 1)
        self._builder.heading(number, level=level, source=HeadingSource.NUMBERING, number=number, printed=number)
        self._bookmarks.mean(paragraph.bookmarks, ReferenceKind.CLAUSE, number)

    def _plain(self, paragraph: Paragraph, label: Label | None, role: Role) -> None:
        text = paragraph.text.text
        if not self._has_styled_headings and self._typed_heading(paragraph, label):
            return
        caption = self._caption_label(paragraph, label, role)
        if caption is not None:
            self._caption(paragraph, label, caption)
            return
        if label is not None and self._is_clause(label):
            self._open_clause(label.text.rstrip("."), paragraph)
            label = None
        note = note_label(text) or example_label(text)
        is_commentary = self._commentary.holds(paragraph.style, paragraph.properties, text, self.clause)
        if note is not None or role in {Role.NOTE, Role.EXAMPLE} or is_commentary:
            self._note(paragraph, label, role, note)
        elif label is not None:
            self._add_block(BlockKind.LIST_ITEM, paragraph.text, marker=label.text, depth=label.level)
            if not label.is_bullet:
                self._anchor_item(paragraph, label)
        elif role is Role.QUOTE:
            self._add_block(BlockKind.QUOTE, paragraph.text)
        else:
            if role is Role.TITLE and not self.title:
                self.title = " ".join(text.split())
            self._add_block(BlockKind.PARAGRAPH, paragraph.text)

    def _is_clause(self, label: Label) -> bool:
        """Return whether a numbered paragraph is a clause (5.3.1 below 5.3) rather than a list item."""
        number = label.text.rstrip(".")
        if self._number is None or not _LEGAL_NUMBER.fullmatch(number):
            return False
        return number.startswith(f"{self._number}.")

    def _caption_label(self, paragraph: Paragraph, label: Label | None, role: Role) -> str | None:
        """Return a caption's label ("Table 3"; "" if it has none), None if it is not a caption."""
        text = paragraph.text.text.strip()
        if label is not None and re.match(r"(?:Table|Figure)\b", label.text):
            return label.text.rstrip(" .:–—-")
        found = caption_label(text, is_sure=role is Role.CAPTION or paragraph.sequence is not None)
        return "" if found is None and role is Role.CAPTION else found

    def _caption(self, paragraph: Paragraph, label: Label | None, caption: str) -> None:
        text = paragraph.text
        if label is not None and not label.is_bullet:
            text = RichText(f"{label.text} ")
            text.extend(paragraph.text)
        self._add_block(BlockKind.CAPTION, text, marker=caption)
        target = caption_target(caption)
        if target is not None:
            self._bookmarks.mean(paragraph.bookmarks, *target)

    def _note(self, paragraph: Paragraph, label: Label | None, role: Role, opening: str | None) -> None:
        text, marker = paragraph.text, opening or ""
        if label is not None:
            text = RichText(f"{label.text} ")
            text.extend(paragraph.text)
            marker = opening or (label.text if not label.is_bullet else "")
        is_example = is_of_example(opening) if opening else role is Role.EXAMPLE
        self._add_block(BlockKind.EXAMPLE if is_example else BlockKind.NOTE, text, marker=marker)

    # ---- what follows a paragraph

    def _after(self, paragraph: Paragraph) -> None:
        """Write what belongs to a paragraph: its notes, descriptions of pictures, text boxes."""
        self._unknown_symbols += paragraph.unknown_symbols
        self._signs_unread += paragraph.signs_unread
        for description in paragraph.pictures:
            self._add_block(BlockKind.CAPTION, RichText(description))
        self._drawn(paragraph.drawn, paragraph.figures)
        boxes = paragraph.boxes
        if len(boxes) > 1 and all(map(is_label, boxes)) and not any(map(is_boxed_commentary, boxes)):
            self._labels(boxes)
        else:
            for box in boxes:
                with self._commentary.boxed(box):
                    self._feed_all(box, 1)
        self._cited.extend(paragraph.notes)
        self._add_notes()

    def _drawn(self, words: Sequence[str], figures: Sequence[str]) -> None:
        """Write what drawings say: words, diagrams as lists, charts as tables."""
        if words:
            self._add_block(BlockKind.PARAGRAPH, RichText("\n".join(words)))
        for name in figures:
            relation = self._relations.get(name)
            root = self._part(relation) if relation is not None and not relation.external else None
            blocks = list(figure_blocks(root)) if root is not None else []
            self._figures_unread += not blocks
            for kind, text, level in blocks:
                self._add_block(kind, text, marker="•" if kind is BlockKind.LIST_ITEM else "", depth=level)

    def _labels(self, boxes: Sequence[Element]) -> None:
        """Write the labels of a drawing as one block, one line each."""
        joined = RichText()
        inside: list[Paragraph] = []
        for box in boxes:
            for element in visible_children(box):
                paragraph = self._reader.read(element)
                if not paragraph.text.is_blank:
                    joined.break_line()
                    joined.extend(paragraph.text)
                paragraph.text = RichText()
                inside.append(paragraph)
        self._add_block(BlockKind.PARAGRAPH, joined)
        for paragraph in inside:
            self._after(paragraph)

    def _add_notes(self) -> None:
        """Write the notes that were cited since the last ones, each once in a document."""
        cited, self._cited = self._cited, []
        for key in (each for each in dict.fromkeys(cited) if each not in self._noted):
            self._noted.add(key)
            text = RichText()
            for parts in paragraphs_of(self._notes.get(key, ())):
                if len(text):
                    text.add(" ")
                text.extend(self._reader.read_joined(parts).text)
            marker = self._reader.note_mark(key)
            shown = RichText(f"{marker} ")
            shown.extend(text)
            if not text.is_blank:
                self._add_block(BlockKind.FOOTNOTE, shown, marker=marker)

    # ---- tables

    def _table(self, element: Element, depth: int) -> None:
        self._settle_unfinished()
        self._flush_code()
        self._settle_contents()
        grid = grid_rows(element)
        if parts := layout_content(grid, self._numbering):
            for part in parts if depth <= _MAX_DEPTH else ():
                self.feed(part, depth + 1)
            return
        notes = take_notes(grid)
        boxes, drawn, figures = list[Element](), list[str](), list[str]()

        def cell_text(parts: Sequence[Element]) -> RichText:
            paragraph = self._reader.read_joined(parts)
            label = self._numbering.label(paragraph.properties, paragraph.style)
            boxes.extend(paragraph.boxes)
            drawn.extend(paragraph.drawn)
            figures.extend(paragraph.figures)
            self._cited.extend(paragraph.notes)
            if label is None or paragraph.text.is_blank:
                return paragraph.text
            text = RichText(f"{label.text} ")
            text.extend(paragraph.text)
            return text

        rows = TableReader(cell_text).rows(grid)
        texts = [] if grid.headers else explanations(rows, of_symbols=self._last.explains)
        for text in texts:
            self._add_block(BlockKind.PARAGRAPH, text)
        if rows and not texts:
            self._add_block(BlockKind.TABLE, table_text(rows))
        self._drawn(drawn, figures)
        for box in boxes:
            self._feed_all(box, depth)
        self._add_notes()
        for part in notes:
            self.feed(part, depth + 1)

    # ---- writing

    def _add_code(self, line: RichText) -> None:
        if self._code is None:
            self._code = RichText(verbatim=True)
        else:
            self._code.break_line()
        self._code.extend(line)

    def _flush_code(self) -> None:
        code, self._code = self._code, None
        if code is not None and not code.is_blank:
            self._add_block(BlockKind.CODE, code)

    def _add_block(self, kind: BlockKind, text: RichText, *, marker: str = "", depth: int = 0) -> None:
        if self._code is not None:
            self._flush_code()
        if place := self._last.mark_in(kind, text.text):
            text.part(place)
        _, pending = lay(self._builder, kind, text, marker=marker, depth=depth)
        self._bookmarks.references.extend(pending)

    def _place(self, paragraph: Paragraph, before: int) -> None:
        """Record the positions of a paragraph's bookmarks; those of an empty paragraph belong to what comes next."""
        if not paragraph.bookmarks or self._code is not None:
            return
        if self._builder.length == before:
            self._bookmarks.waiting.extend(paragraph.bookmarks)
        else:
            self._bookmarks.place(paragraph.bookmarks, before)

    def _anchor_item(self, paragraph: Paragraph, label: Label) -> None:
        """Let references to a numbered item include its clause: "5.3 a)"."""
        if self._number is not None:
            self._bookmarks.mean(paragraph.bookmarks, ReferenceKind.CLAUSE, f"{self._number} {label.text}")
