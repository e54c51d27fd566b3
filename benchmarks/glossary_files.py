"""Documents of made terms clauses and glossaries: PDF, DOCX and Markdown twins of one form."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from xml.sax.saxutils import escape

from benchmarks.glossary_forms import Entry, Form, Part, Runs, parts_of

# ---- Markdown -------------------------------------------------------------------------------------------------------


def as_markdown(form: Form, entries: Sequence[Entry]) -> str:
    """Write the Markdown twin."""
    lines: list[str] = ["# A document", ""]
    pairs = False
    for part in parts_of(form, entries):
        text = "".join(f"{_mark(face)}{_plain(words)}{_mark(face)}" for words, face in part.runs)
        if part.role == "pair" and form.layout == "columns":
            if not pairs:
                lines += ["| Term | Meaning |", "| --- | --- |"]
            pairs = True
            lines.append(f"| {_plain(part.runs[0][0])} | {_plain(part.runs[1][0])} |")
            continue
        if pairs:
            lines.append("")
            pairs = False
        if part.role == "pair" and form.layout in {"list", "hanging"}:
            text = f"{_plain(part.runs[0][0])}\n: {_plain(part.runs[1][0])}"
        elif part.role in {"title", "entry-title"}:
            text = f"{'#' * (part.level + 1)} {_plain(part.runs[0][0])}"
        elif part.role == "number":
            text = f"{'#' * (part.level + 1)} {part.runs[0][0]}"
        elif part.role == "item":
            text = f"- {text}"
        lines += [text, ""]
    return "\n".join(lines)


def _plain(words: str) -> str:
    return words.replace("<", "\\<").replace("[", "\\[")


def _mark(face: str) -> str:
    return {"b": "**", "i": "*"}.get(face, "")


# ---- Word -----------------------------------------------------------------------------------------------------------

_W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_TYPES = (
    '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Override PartName="/word/document.xml" ContentType='
    '"application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/>'
    '<Override PartName="/word/styles.xml" ContentType='
    '"application/vnd.openxmlformats-officedocument.wordprocessingml.styles+xml"/></Types>'
)
_RELATIONS = (
    '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" Type='
    '"http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/>'
    "</Relationships>"
)
_STYLED = (
    '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" Type='
    '"http://schemas.openxmlformats.org/officeDocument/2006/relationships/styles" Target="styles.xml"/></Relationships>'
)


def as_docx(form: Form, entries: Sequence[Entry], *, typed: bool = False) -> bytes:
    """Write the Word twin; numbers of entries are headings, or with `typed` bold paragraphs."""
    body: list[str] = []
    rows: list[str] = []
    for part in parts_of(form, entries):
        if rows and part.role != "pair":
            body.append(f"<w:tbl>{''.join(rows)}</w:tbl>")
            rows = []
        if part.role == "pair" and form.layout == "columns":
            cells = "".join(f"<w:tc>{_paragraph([run])}</w:tc>" for run in part.runs)
            rows.append(f"<w:tr>{cells}</w:tr>")
        elif part.role == "pair" and form.layout in {"list", "hanging"}:
            body += [_paragraph([run]) for run in part.runs]
        elif part.role == "title" or (part.role in {"entry-title", "number"} and not typed):
            body.append(_paragraph([(part.runs[0][0], "")], f"H{part.level}"))
        else:
            body.append(_paragraph(part.runs))
    if rows:
        body.append(f"<w:tbl>{''.join(rows)}</w:tbl>")
    styles = "".join(
        f'<w:style w:type="paragraph" w:styleId="H{n}"><w:name w:val="heading {n}"/><w:pPr>'
        f'<w:outlineLvl w:val="{n - 1}"/></w:pPr></w:style>'
        for n in range(1, 6)
    )
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", _TYPES)
        archive.writestr("_rels/.rels", _RELATIONS)
        archive.writestr("word/_rels/document.xml.rels", _STYLED)
        archive.writestr("word/styles.xml", f'<w:styles xmlns:w="{_W}">{styles}</w:styles>')
        archive.writestr(
            "word/document.xml",
            f'<w:document xmlns:w="{_W}"><w:body>{"".join(body)}<w:sectPr/></w:body></w:document>',
        )
    return target.getvalue()


def _paragraph(runs: Runs, style: str = "") -> str:
    named = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    faces = {"b": "<w:rPr><w:b/></w:rPr>", "i": "<w:rPr><w:i/></w:rPr>"}
    inner = "".join(
        f'<w:r>{faces.get(face, "")}<w:t xml:space="preserve">{escape(words)}</w:t></w:r>' for words, face in runs
    )
    return f"<w:p>{named}{inner}</w:p>"


# ---- PDF ------------------------------------------------------------------------------------------------------------

_WIDTH, _HEIGHT, _LEFT, _RIGHT = 595.0, 842.0, 72.0, 523.0
_TOP, _BOTTOM = 90.0, 770.0
_FACES = {
    "Helvetica": {"": "Helvetica", "b": "Helvetica-Bold", "i": "Helvetica-Oblique"},
    "Times": {"": "Times-Roman", "b": "Times-Bold", "i": "Times-Italic"},
    "Courier": {"": "Courier", "b": "Courier-Bold", "i": "Courier-Oblique"},
}


@dataclass(slots=True)
class _Paper:
    """Set paragraphs line by line over pages with running lines."""

    form: Form
    size: float = 10.0
    y: float = _TOP
    page: int = 1
    canvas: Any = None
    buffer: io.BytesIO = field(default_factory=io.BytesIO)

    def __post_init__(self) -> None:
        from reportlab.pdfgen import canvas

        self.canvas = canvas.Canvas(self.buffer, pagesize=(_WIDTH, _HEIGHT), invariant=1)
        self._running()

    def _running(self) -> None:
        self.canvas.setFont(_FACES[self.form.face]["b"], 9)
        self.canvas.drawString(_LEFT, _HEIGHT - 45, "KM 4711:2026(E)")
        self.canvas.setFont(_FACES[self.form.face][""], 8)
        self.canvas.drawString(_LEFT, _HEIGHT - 805, "© KM 2026 – All rights reserved")
        self.canvas.drawRightString(_RIGHT, _HEIGHT - 805, str(self.page))

    def need(self, points: float) -> None:
        if self.y + points > _BOTTOM:
            self.canvas.showPage()
            self.page += 1
            self.y = _TOP
            self._running()

    def bookmark(self, part: Part, expected: bool) -> None:
        if expected:
            key = f"b{self.page}-{self.y}"
            self.canvas.bookmarkHorizontal(key, 0, _HEIGHT - self.y + 12)
            self.canvas.addOutlineEntry(part.runs[0][0], key, level=part.level - 1)

    def wrapped(self, runs: Runs, width: float, size: float) -> list[Runs]:
        from reportlab.pdfbase.pdfmetrics import stringWidth

        words = [(word, face) for text, face in runs for word in text.split(" ") if word]
        lines: list[Runs] = [[]]
        used = 0.0
        for word, face in words:
            wide = stringWidth(f"{word} ", _FACES[self.form.face][face], size)
            if lines[-1] and used + wide > width:
                lines.append([])
                used = 0.0
            lines[-1].append((word, face))
            used += wide
        return lines

    def draw(self, x: float, y: float, line: Runs, size: float) -> None:
        from reportlab.pdfbase.pdfmetrics import stringWidth

        place = 0
        while place < len(line):
            face, words = line[place][1], [line[place][0]]
            while place + 1 < len(line) and line[place + 1][1] == face:
                place += 1
                words.append(line[place][0])
            font = _FACES[self.form.face][face]
            text = " ".join(words)
            self.canvas.setFont(font, size)
            self.canvas.drawString(x, _HEIGHT - y, text)
            x += stringWidth(f"{text} ", font, size)
            place += 1

    def set(self, runs: Runs, *, x: float = _LEFT, size: float = 10.0, after: float = 0.0, step: float = 12.5) -> None:
        for line in self.wrapped(runs, _RIGHT - x, size):
            self.need(step)
            self.draw(x, self.y, line, size)
            self.y += step
        self.y += after

    def hanging(self, term: tuple[str, str], words: tuple[str, str]) -> None:
        from reportlab.pdfbase.pdfmetrics import stringWidth

        beside = stringWidth(term[0], _FACES[self.form.face][term[1]], 10) + 7
        first = self.wrapped([words], _RIGHT - _LEFT - beside, 10)[0]
        rest = " ".join(words[0].split(" ")[len(first) :])
        lines = [first, *(self.wrapped([(rest, "")], _RIGHT - _LEFT - 24, 10) if rest else [])]
        for place, line in enumerate(lines):
            self.need(12.5)
            if place == 0:
                self.draw(_LEFT, self.y, [term], 10)
            self.draw(_LEFT + (24 if place else beside), self.y, line, 10)
            self.y += 12.5
        self.y += 2

    def columns(self, left: Runs, right: Runs) -> None:
        size, gap = 10.0, 16.0
        one = self.wrapped(left, self.form.left - gap, size)
        two = self.wrapped(right, _RIGHT - _LEFT - self.form.left, size)
        for place in range(max(len(one), len(two))):
            self.need(12.5)
            if place < len(one):
                self.draw(_LEFT, self.y, one[place], size)
            if place < len(two):
                self.draw(_LEFT + self.form.left, self.y, two[place], size)
            self.y += 12.5
        self.y += 5


def as_pdf(form: Form, entries: Sequence[Entry]) -> bytes:
    """Print the document: running lines, headings without bookmarks."""
    paper = _Paper(form)
    gap = form.spaced
    headed = False
    for part in parts_of(form, entries):
        if part.role == "title":
            paper.need(50)
            paper.y += 8
            paper.bookmark(part, form.bookmarks != "")
            paper.set(part.runs, size=15 - 1.5 * part.level, after=6, step=18)
        elif part.role in {"number", "entry-title"}:
            paper.need(28)
            paper.y += 7
            paper.bookmark(part, form.bookmarks == "entries")
            paper.set(part.runs, after=gap)
        elif part.role == "term":
            paper.set(part.runs, after=gap)
        elif part.role == "words":
            paper.set(part.runs, after=6)
        elif part.role == "note":
            paper.set(part.runs, size=9, after=5, step=11.5)
        elif part.role == "item":
            paper.set([("—", ""), *part.runs], x=_LEFT + 14, size=9, after=2, step=11.5)
        elif part.role == "pair" and form.layout == "columns":
            if form.headed and not headed:
                paper.columns([("Term", "b")], [("Definition", "b")])
                headed = True
            paper.columns([part.runs[0]], [part.runs[1]])
        elif part.role == "pair" and form.layout == "hanging":
            paper.hanging(part.runs[0], part.runs[1])
        elif part.role == "pair":
            paper.need(26)
            paper.set([part.runs[0]])
            paper.set([part.runs[1]], x=_LEFT + 24, after=6)
        else:
            paper.set(part.runs, after=6)
    paper.canvas.showPage()
    paper.canvas.save()
    return paper.buffer.getvalue()
