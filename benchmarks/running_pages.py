"""Made pages for the benchmark of running lines: what is text on them, and what runs along them."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.beside import sentence

WIDTH, HEIGHT = 595.0, 842.0
LEFT, RIGHT, TOP, BOTTOM = 72.0, 523.0, 90.0, 765.0
CHAPTERS = ("Means of access", "Storage of liquids", "Alarm signals", "Inspection of welds", "Supply of water")


@dataclass(slots=True)
class Paper:
    """Set a document page by page; holds what is text of it and what runs along its pages."""

    canvas: Any
    pages: int
    random: random.Random
    face: str = "Times-Roman"
    page: int = 1
    y: float = TOP
    rest: str = ""
    text: Counter[str] = field(default_factory=Counter[str])
    running: Counter[str] = field(default_factory=Counter[str])

    def _draw(self, x: float, y: float, words: str, size: float, face: str) -> None:
        self.canvas.setFont(face or self.face, size)
        self.canvas.drawString(x, HEIGHT - y, words)

    def line(
        self, words: str, *, x: float = LEFT, size: float = 10, face: str = "", step: float = 12, gap: float = 0
    ) -> None:
        """Print the next line of the text."""
        self.y += gap
        self._draw(x, self.y, words, size, face)
        self.y += step
        self.text.update(words.split())

    def cells(self, row: Sequence[str], *, places: Sequence[float] = (72, 200, 330, 450), face: str = "") -> None:
        """Print a row of a table without lines."""
        for x, words in zip(places, row, strict=False):
            self._draw(x, self.y, words, 10, face)
            self._count(words, row)
        self.y += 14

    def grid(self, rows: Sequence[Sequence[str]], widths: Sequence[float]) -> None:
        """Print a ruled table."""
        top = self.y - 12
        for row in rows:
            x = LEFT
            for words, width in zip(row, widths, strict=True):
                self._draw(x + 4, self.y, words, 10, "")
                self._count(words, row)
                x += width
            self.y += 18
        edges = [LEFT + sum(widths[:count]) for count in range(len(widths) + 1)]
        self.canvas.grid(edges, [HEIGHT - (top + 18 * count) for count in range(len(rows) + 1)])
        self.y += 12

    def _count(self, words: str, row: Sequence[str]) -> None:
        if self.page == 1 or row[0] != "Item":  # a table that goes on has its head once
            self.text.update(words.split())

    def run(
        self, words: str, y: float, *, at: str = "left", size: float = 9, face: str = "", lines: bool = False
    ) -> None:
        """Print a running line, to the left, in the middle, or to the right."""
        from reportlab.pdfbase.pdfmetrics import stringWidth

        width = stringWidth(words, face or self.face, size)
        x = {"left": LEFT, "middle": (WIDTH - width) / 2, "right": RIGHT - width}[at]
        self._draw(x, y, words, size, face)
        self.running.update(words.split())
        if lines:
            self.canvas.line(LEFT, HEIGHT - y - 4, RIGHT, HEIGHT - y - 4)

    def room(self, low: float = BOTTOM) -> bool:
        """Tell whether there is room for a line."""
        return self.y <= low

    def paragraph(self, count: int = 3, low: float = BOTTOM, *, begins: str = "") -> str:
        """Print sentences as lines, as far as there is room; returns the words that had none."""
        words = " ".join([*([begins] if begins else []), *(sentence(self.random) for _ in range(count))]).split()
        line = ""
        for place, word in enumerate([*words, ""]):
            if word and len(line) + len(word) < 92:
                line = f"{line} {word}".strip()
                continue
            if not self.room(low):
                return " ".join([line, *words[place:]])
            self.line(line)
            line = word
        self.y += 6
        return ""


def prose(paper: Paper, *, until: float = BOTTOM) -> None:
    """Fill the page with paragraphs and some headings; the last one is half filled."""
    low = until if paper.page < paper.pages else 420.0
    while paper.room(low):
        if not paper.rest and paper.random.random() < 0.25 and paper.room(low - 60):
            paper.line(
                f"{paper.page}.{round(paper.y)} {paper.random.choice(CHAPTERS)}",
                face="Times-Bold",
                size=11,
                gap=6,
                step=16,
            )
        paper.rest = paper.paragraph(paper.random.randint(1, 4), low, begins=paper.rest)
        if paper.rest:
            break
