"""Made documents in print: parts set as a PDF with bookmarks, or written as Markdown, with the same words."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

_WIDTH, _HEIGHT, _TOP, _BOTTOM = 595.0, 842.0, 90.0, 760.0
_FACES = {
    "Helvetica": ("Helvetica", "Helvetica-Bold", "Helvetica-Oblique"),
    "Times": ("Times-Roman", "Times-Bold", "Times-Italic"),
    "Courier": ("Courier", "Courier-Bold", "Courier-Oblique"),
}


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a made document.

    Attributes:
        role: heading, plain (a heading in the body's print), paragraph, bold (a paragraph), item, bold-item, story,
            callout (a card beside the text), label (words at free places of a figure), run-in (a heading that its
            paragraph goes on behind), page (a new page).
        text: its words; of a run-in the title.
        level: of a heading, from 1; of an item its depth from 0.
        number: of a heading or an item, as printed.
        more: of a run-in, the paragraph behind it.
        places: of labels, x, y and size on the page of each word group.
        marked: whether a heading has a bookmark.
    """

    role: str
    text: str
    level: int = 1
    number: str = ""
    more: str = ""
    places: tuple[tuple[float, float, float, str], ...] = ()
    marked: bool = True


@dataclass(frozen=True, slots=True)
class Look:
    """How a document is set: face, size of the body, whether headings are larger, and the column's edges."""

    face: str = "Helvetica"
    size: float = 10.0
    larger: bool = True
    bold: bool = True
    left: float = 72.0
    right: float = 523.0
    running: str = "Made document"


def as_markdown(parts: Sequence[Part]) -> str:
    """Write the parts as Markdown; what stands beside the text is a paragraph of its own."""
    lines: list[str] = []
    for part in parts:
        if part.role == "heading":
            lines.append(f"{'#' * part.level} {part.number} {part.text}".replace("#  ", "# "))
        elif part.role in {"item", "story"}:
            lines.append(f"{'   ' * part.level}{part.number or '-'} {part.text}")
        elif part.role == "run-in":
            lines.append(f"{part.number} **{part.text}** {part.more}".strip())
        elif part.role not in {"page", "label"}:
            lines.append(part.text)
        lines.append("")
    return "\n".join(lines)


def as_pdf(parts: Sequence[Part], look: Look | None = None, *, bookmarks: bool = True) -> bytes:
    """Set the parts as a PDF of A4 pages with a running line and page numbers."""
    paper = _Paper(look or Look(), bookmarks)
    for part in parts:
        paper.lay(part)
    return paper.finished()


class _Paper:
    def __init__(self, look: Look, bookmarks: bool) -> None:
        from reportlab.pdfgen import canvas

        self.look, self.bookmarks = look, bookmarks
        self.buffer = io.BytesIO()
        self.canvas: Any = canvas.Canvas(self.buffer, pagesize=(_WIDTH, _HEIGHT), invariant=1)
        self.y, self.page, self.depth = _TOP, 1, -1
        self.beside: list[tuple[float, float]] = []
        self._running()

    def _running(self) -> None:
        self.canvas.setFont(_FACES[self.look.face][0], 8)
        self.canvas.drawString(self.look.left, _HEIGHT - 45, self.look.running)
        self.canvas.drawRightString(self.look.right, _HEIGHT - 805, str(self.page))

    def _turn(self) -> None:
        self.canvas.showPage()
        self.page += 1
        self.y = _TOP
        self._running()

    def lay(self, part: Part) -> None:
        size, face = self.look.size, _FACES[self.look.face]
        if part.role == "page":
            self._turn()
        elif part.role == "heading":
            self._heading(part)
        elif part.role == "run-in":
            self._need(3 * size)
            self._mark(part)
            title = f"{part.number} {part.text}".strip()
            self._set(
                [*((w, face[1]) for w in title.split()), *((w, face[0]) for w in part.more.split())], self.look.left
            )
        elif part.role in {"item", "story", "bold-item"}:
            left = self.look.left + 18 * (part.level + 1)
            self._need(2 * size)
            own = face[part.role == "bold-item"]
            self.canvas.setFont(own, size)
            self.canvas.drawString(left - 18, _HEIGHT - self.y, part.number or "\u2022")
            self._set([(w, own) for w in part.text.split()], left)
        elif part.role == "bold":
            self._set([(w, face[1]) for w in part.text.split()], self.look.left)
        elif part.role == "plain":
            self._need(4 * size)
            self.y += size
            self._mark(part)
            self._set([(w, face[0]) for w in f"{part.number} {part.text}".split()], self.look.left)
        elif part.role == "callout":
            self._card(part)
        elif part.role == "label":
            for x, y, points, words in part.places:
                self.canvas.setFont(face[1] if part.level > 1 else face[0], points)
                self.canvas.drawString(x, _HEIGHT - y, words)
        else:
            emphasised = False
            runs: list[tuple[str, str]] = []
            for word in part.text.split():
                emphasised = emphasised or word.startswith("*")
                runs.append((word.replace("*", ""), face[2] if emphasised else face[0]))
                emphasised = emphasised and not word.rstrip(".,;:").endswith("*")
            self._set(runs, self.look.left)

    def _heading(self, part: Part) -> None:
        size = self.look.size + (max(0, 7 - 2 * part.level) if self.look.larger else 0)
        self._need(4 * size)
        self.y += size
        self._mark(part)
        face = _FACES[self.look.face][1 if self.look.bold else 0]
        self._set([(w, face) for w in f"{part.number} {part.text}".split()], self.look.left, size)

    def _mark(self, part: Part) -> None:
        if self.bookmarks and part.marked:
            key = f"b{self.page}-{self.y}"
            self.depth = min(part.level - 1, self.depth + 1)
            self.canvas.bookmarkHorizontal(key, 0, _HEIGHT - self.y + 12)
            self.canvas.addOutlineEntry(f"{part.number} {part.text}".strip(), key, level=self.depth)

    def _card(self, part: Part) -> None:
        """Set a card in the right margin, beside what follows."""
        from reportlab.pdfbase.pdfmetrics import stringWidth

        size = self.look.size - 1 + (part.level > 1) * 2
        face = _FACES[self.look.face][1 if part.level > 1 else 0]
        left, y, line = self.look.right + 14, self.y, ""
        width = _WIDTH - left - 24
        for word in [*part.text.split(), ""]:
            if line and (not word or stringWidth(f"{line} {word}", face, size) > width):
                self.canvas.setFont(face, size)
                self.canvas.drawString(left, _HEIGHT - y, line)
                y, line = y + size * 1.25, ""
            line = f"{line} {word}".strip()

    def _need(self, points: float) -> None:
        if self.y + points > _BOTTOM:
            self._turn()

    def _set(self, words: Sequence[tuple[str, str]], left: float, size: float = 0) -> None:
        from reportlab.pdfbase.pdfmetrics import stringWidth

        size = size or self.look.size
        line: list[tuple[str, str]] = []
        used = 0.0
        for word, face in [*words, ("", "")]:
            wide = stringWidth(f"{word} ", face, size) if word else 0
            if line and (not word or used + wide > self.look.right - left):
                self._need(size)
                x = left
                for each, own in line:
                    self.canvas.setFont(own, size)
                    self.canvas.drawString(x, _HEIGHT - self.y, each)
                    x += stringWidth(f"{each} ", own, size)
                self.y += size * 1.25
                line, used = [], 0.0
            line.append((word, face))
            used += wide
        self.y += size * 0.6

    def finished(self) -> bytes:
        self.canvas.showPage()
        self.canvas.save()
        return self.buffer.getvalue()
