"""The example standard as PDF: outline, contents, running heads, roman and arabic page labels."""

from __future__ import annotations

import re
from collections.abc import Callable
from io import BytesIO
from typing import Any
from xml.sax.saxutils import escape

from reportlab.graphics.shapes import Drawing, Line, Polygon, Rect, String
from reportlab.lib import colors
from reportlab.lib.enums import TA_CENTER
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import ParagraphStyle
from reportlab.lib.units import mm
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import (
    BaseDocTemplate,
    Flowable,
    Frame,
    KeepTogether,
    NextPageTemplate,
    PageBreak,
    PageTemplate,
    Paragraph,
    Spacer,
    Table,
    TableStyle,
)
from reportlab.platypus.tableofcontents import TableOfContents

from examples.source_text import Item, ItemKind, SourceText

NUMBER = "FSC 4100:2025"
TITLE = "Unattended weather stations: Requirements"
_NOTICE = "Example document of an invented standards body. Copy it freely."
_INK = colors.HexColor("#1d3557")
_ROMAN = ("i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x")

_BODY = ParagraphStyle("body", fontName="Times-Roman", fontSize=10.5, leading=14.5, spaceAfter=6)
_SMALL = ParagraphStyle("small", parent=_BODY, fontSize=9, leading=12, leftIndent=8 * mm)
_CELL = ParagraphStyle("cell", parent=_BODY, fontSize=9, leading=11.5, spaceAfter=0)
_HEAD_CELL = ParagraphStyle("head-cell", parent=_CELL, fontName="Times-Bold")
_CAPTION = ParagraphStyle("caption", parent=_BODY, fontName="Times-Bold", alignment=TA_CENTER, spaceBefore=6)
_KEPT = ParagraphStyle("kept", keepWithNext=1)
_HEADINGS = {
    1: ParagraphStyle(
        "h1", _KEPT, fontName="Helvetica-Bold", fontSize=15, leading=19, spaceBefore=16, spaceAfter=8, textColor=_INK
    ),
    2: ParagraphStyle(
        "h2", _KEPT, fontName="Helvetica-Bold", fontSize=12, leading=15, spaceBefore=11, spaceAfter=5, textColor=_INK
    ),
    3: ParagraphStyle("h3", _KEPT, fontName="Helvetica-Bold", fontSize=10.5, leading=14, spaceBefore=8, spaceAfter=4),
    4: ParagraphStyle(
        "h4", _KEPT, fontName="Helvetica-BoldOblique", fontSize=10, leading=13, spaceBefore=6, spaceAfter=3
    ),
}


class _Heading(Paragraph):
    """A heading paragraph that knows its place in the outline and marks where on the page it stands."""

    def __init__(self, line: str, level: int) -> None:
        super().__init__(escape(line), _HEADINGS[level])
        self.line = line
        self.level = level
        self.key = re.sub(r"[^a-z0-9]+", "-", line.lower())

    def draw(self) -> None:
        canvas: Any = self.canv
        canvas.bookmarkHorizontal(self.key, 0, self.height)
        super().draw()


class _Document(BaseDocTemplate):
    """Collects the outline and the contents while pages are laid, and draws what stands on each page."""

    def __init__(self, target: BytesIO) -> None:
        super().__init__(
            target,
            pagesize=A4,
            invariant=1,
            title=f"{NUMBER} {TITLE}",
            author="Field Stations Circle",
            subject="Requirements for weather stations without staff",
            creator="examples/build.py",
            leftMargin=28 * mm,
            rightMargin=25 * mm,
            topMargin=32 * mm,
            bottomMargin=26 * mm,
        )
        frame = Frame(self.leftMargin, self.bottomMargin, self.width, self.height, id="text")
        self.first_body_page = 0
        self._labelled = False
        self._chapter = ""
        self.addPageTemplates(
            [
                PageTemplate("cover", [frame]),
                PageTemplate("front", [frame], onPageEnd=self._front_page),
                PageTemplate("body", [frame], onPage=self._label_page, onPageEnd=self._body_page),
            ]
        )

    def beforeDocument(self) -> None:  # noqa: N802 - reportlab's name
        self._labelled = False
        self._chapter = ""
        canvas: Any = self.canv
        canvas.addPageLabel(0, "ROMAN_LOWER", 1, "")

    def afterFlowable(self, flowable: Flowable) -> None:  # noqa: N802 - reportlab's name
        if not isinstance(flowable, _Heading):
            return
        canvas: Any = self.canv
        canvas.addOutlineEntry(flowable.line, flowable.key, level=flowable.level - 1, closed=flowable.level > 1)
        if flowable.level == 1:
            self._chapter = flowable.line
        if flowable.level <= 2:
            self.notify("TOCEntry", (flowable.level - 1, escape(flowable.line), self.page, flowable.key))

    def printed_page(self, page: int) -> str:
        """Return what is printed on a physical page: roman before the body, arabic from its first page."""
        if self.first_body_page and page >= self.first_body_page:
            return str(page - self.first_body_page + 1)
        return _ROMAN[page - 1]

    def _label_page(self, canvas: Any, _: BaseDocTemplate) -> None:
        if not self._labelled:
            self._labelled = True
            self.first_body_page = self.page
            canvas.addPageLabel(self.page - 1, "ARABIC", 1, "")

    def _front_page(self, canvas: Canvas, _: BaseDocTemplate) -> None:
        self._running_heads(canvas, "")

    def _body_page(self, canvas: Canvas, _: BaseDocTemplate) -> None:
        self._running_heads(canvas, self._chapter)

    def _running_heads(self, canvas: Canvas, chapter: str) -> None:
        """Draw two lines of head and one of foot."""
        right = A4[0] - self.rightMargin
        canvas.saveState()
        canvas.setFont("Helvetica", 8)
        canvas.drawString(self.leftMargin, A4[1] - 18 * mm, f"{NUMBER}(E)")
        canvas.drawRightString(right, A4[1] - 18 * mm, TITLE)
        canvas.drawString(self.leftMargin, A4[1] - 22 * mm, chapter)
        canvas.line(self.leftMargin, A4[1] - 24 * mm, right, A4[1] - 24 * mm)
        canvas.drawString(self.leftMargin, 15 * mm, _NOTICE)
        canvas.drawRightString(right, 15 * mm, self.printed_page(self.page))
        canvas.restoreState()


def standard_pdf(source: SourceText) -> bytes:
    """Lay the standard out; the same source and library give the same bytes."""
    target = BytesIO()
    document = _Document(target)
    story = [*_cover(), *_contents(document.printed_page)]
    in_front = True
    for item in source.items:
        if in_front and item.kind is ItemKind.HEADING:
            in_front = False
            story += [NextPageTemplate("body"), PageBreak()]
        elif item.kind is ItemKind.ANNEX:
            story.append(PageBreak())
        story += _flowables(item, source)
    document.multiBuild(story)
    return target.getvalue()


def _cover() -> list[Flowable]:
    big = ParagraphStyle("cover", fontName="Helvetica-Bold", fontSize=26, leading=32, textColor=_INK)
    small = ParagraphStyle("cover-small", fontName="Helvetica", fontSize=12, leading=17)
    return [
        Spacer(1, 60 * mm),
        Paragraph(NUMBER, small),
        Paragraph("Unattended weather stations", big),
        Paragraph("Requirements", big),
        Spacer(1, 12 * mm),
        Paragraph("Second edition, 2025-03-17", small),
        Paragraph("Field Stations Circle", small),
        Spacer(1, 70 * mm),
        Paragraph(_NOTICE, small),
        NextPageTemplate("front"),
        PageBreak(),
    ]


def _contents(printed_page: Callable[[int], str]) -> list[Flowable]:
    table = TableOfContents(formatter=printed_page)
    table.dotsMinLevel = 0
    table.levelStyles = [
        ParagraphStyle("toc1", fontName="Times-Bold", fontSize=10, leading=13, spaceBefore=3),
        ParagraphStyle("toc2", fontName="Times-Roman", fontSize=9.5, leading=12, leftIndent=8 * mm),
    ]
    return [Paragraph("Contents", _HEADINGS[1]), table, PageBreak()]


def _flowables(item: Item, source: SourceText) -> list[Flowable]:
    makers: dict[ItemKind, Callable[[Item, SourceText], list[Flowable]]] = {
        ItemKind.TABLE: _table,
        ItemKind.FIGURE: _figure,
        ItemKind.LIST: _list,
    }
    if item.kind in makers:
        return makers[item.kind](item, source)
    if item.kind in {ItemKind.HEADING, ItemKind.FRONT, ItemKind.ANNEX}:
        number = f"Annex {item.number}" if item.kind is ItemKind.ANNEX else item.number
        return [_Heading(f"{number} {item.text}".strip(), item.level)]
    style = _BODY if item.kind is ItemKind.PARAGRAPH else _SMALL
    return [Paragraph(escape(source.resolve(item.text)), style)]


def _list(item: Item, source: SourceText) -> list[Flowable]:
    style = ParagraphStyle("item", parent=_BODY, leftIndent=10 * mm, bulletIndent=4 * mm, spaceAfter=3)
    entries: list[Flowable] = []
    for label, text in item.entries:
        entries.append(Paragraph(escape(source.resolve(text)), style, bulletText="•" if label == "-" else label))
    return [*entries, Spacer(1, 2 * mm)]


def _table(item: Item, source: SourceText) -> list[Flowable]:
    cells = [
        [Paragraph(escape(source.resolve(cell)), _HEAD_CELL if index == 0 else _CELL) for cell in row]
        for index, row in enumerate(item.rows)
    ]
    table = Table(cells, repeatRows=1, hAlign="CENTER")
    table.setStyle(
        TableStyle(
            [
                ("GRID", (0, 0), (-1, -1), 0.5, colors.grey),
                ("BACKGROUND", (0, 0), (-1, 0), colors.HexColor("#e8edf3")),
                ("VALIGN", (0, 0), (-1, -1), "TOP"),
            ]
        )
    )
    caption = Paragraph(escape(f"{item.number} \N{EM DASH} {item.text}"), _CAPTION)
    return [KeepTogether([caption, table, Spacer(1, 4 * mm)])]


def _figure(item: Item, source: SourceText) -> list[Flowable]:
    """Draw a chain of boxes joined by arrows."""
    boxes = item.rows[0]
    width, gap, height = 27 * mm, 5 * mm, 14 * mm
    box_shape: Any = Rect  # its stub knows no colours
    drawing = Drawing(len(boxes) * width + (len(boxes) - 1) * gap, height, hAlign="CENTER")
    for index, box in enumerate(boxes):
        left = index * (width + gap)
        drawing.add(box_shape(left, 0, width, height, fillColor=colors.HexColor("#e8edf3"), strokeColor=_INK))
        drawing.add(String(left + width / 2, height / 2 - 3, box, textAnchor="middle", fontSize=9))
        if index:
            drawing.add(Line(left - gap, height / 2, left - 4, height / 2, strokeColor=_INK))
            tip = [left, height / 2, left - 4, height / 2 + 2.5, left - 4, height / 2 - 2.5]
            drawing.add(Polygon(tip, fillColor=_INK, strokeColor=_INK))
    caption = Paragraph(escape(f"{item.number} \N{EM DASH} {source.resolve(item.text)}"), _CAPTION)
    return [KeepTogether([Spacer(1, 3 * mm), drawing, caption, Spacer(1, 3 * mm)])]
