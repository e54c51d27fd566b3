"""Measure whole documents that are made as publishers of many trades make them, in the formats that they use.

Usage: `python -m benchmarks.forms [--set first|second] [--only FORM …] [--show]`

Each form of `forms_print`, `forms_files` and `forms_second` writes a file and says what is in it: headings with their
numbers, rows of tables, requirements with their identifiers, definitions, and sentences in the order in which people
read them. The first two were used to change the rules; the third was written afterwards, and its first figures are in
decision 0116.

Counted: headings by F1 over number and letters of the title; rows whose cells are those of one row; requirements that
are statements with their whole words, and with their identifier where they have one; terms whose definition is whole;
neighbours of the order that stand one after the other.
"""

from __future__ import annotations

import argparse
import itertools
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.analysis import statements_of
from benchmarks.reading import read_document
from benchmarks.tables import letters, tables_in
from knowledge_mcp.language.glossary.definitions import find_definitions
from knowledge_mcp.model.document import Document
from knowledge_mcp.readers.shared.layout import letters_of

WIDTH, HEIGHT = 595.0, 842.0
PLAIN, BOLD, ITALIC = "Helvetica", "Helvetica-Bold", "Helvetica-Oblique"


@dataclass(slots=True)
class Gold:
    """What is in a made document.

    Attributes:
        title: its name, which may be a section of its own.
        headings: number, empty where there is none, and title.
        rows: cells of tables that are not empty, a list for each row.
        requirements: the words of each, with its identifier or an empty text.
        definitions: terms with their meanings.
        order: beginnings of sentences as they are read.
    """

    title: str = ""
    headings: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    rows: list[list[str]] = field(default_factory=list[list[str]])
    requirements: dict[str, str] = field(default_factory=dict[str, str])
    definitions: dict[str, str] = field(default_factory=dict[str, str])
    order: list[str] = field(default_factory=list[str])

    def heading(self, number: str, title: str) -> str:
        """Take a heading down and return its line."""
        self.headings.append((number, title))
        return f"{number} {title}".strip()

    def need(self, words: str, identifier: str = "") -> str:
        """Take a requirement down and return its words."""
        self.requirements[words] = identifier
        return words

    def fill(self, row: Any, *words: str) -> None:
        """Take a row of a Word table down and write its cells."""
        for cell, text in zip(row.cells, self.row(*words), strict=True):
            cell.text = text

    def say(self, words: str) -> str:
        """Take a sentence down for the order and return it."""
        self.order.append(words)
        return words

    def row(self, *cells: str) -> list[str]:
        """Take a row down and return it."""
        self.rows.append([cell for cell in cells if cell])
        return list(cells)


@dataclass(frozen=True, slots=True)
class Made:
    """A made file and what is in it."""

    suffix: str
    data: bytes
    gold: Gold


class Sheet:
    """A PDF that is set by hand; `y` counts points from the top of the page, `begin` draws what each page has."""

    def __init__(
        self, begin: Callable[[Sheet], None] | None = None, *, top: float = 90.0, bottom: float = 760.0
    ) -> None:
        import io

        from reportlab.pdfgen import canvas

        self._buffer = io.BytesIO()
        self.canvas: Any = canvas.Canvas(self._buffer, pagesize=(WIDTH, HEIGHT), invariant=1)
        self.page, self.top, self.bottom, self._begin = 0, top, bottom, begin
        self.y = top
        self.turn()

    def turn(self) -> None:
        """Begin a page."""
        if self.page:
            self.canvas.showPage()
        self.page += 1
        self.y = self.top
        if self._begin:
            self._begin(self)

    def need(self, points: float) -> None:
        """Begin a page where less is left."""
        if self.y + points > self.bottom:
            self.turn()

    def at(self, x: float, y: float, words: str, font: str = PLAIN, size: float = 10.0) -> None:
        """Set words at a place."""
        self.canvas.setFont(font, size)
        self.canvas.drawString(x, HEIGHT - y, words)

    def lines(self, words: str, width: float, font: str = PLAIN, size: float = 10.0) -> list[str]:
        """Break words into lines."""
        from reportlab.lib import utils

        library: Any = utils  # its annotations are partial
        return list(library.simpleSplit(words, font, size, width))

    def text(
        self,
        words: str,
        x: float = 72.0,
        width: float = 451.0,
        font: str = PLAIN,
        size: float = 10.0,
        after: float = 6.0,
    ) -> None:
        """Set a paragraph at `y` and go below it."""
        for line in self.lines(words, width, font, size):
            self.need(size)
            self.at(x, self.y, line, font, size)
            self.y += 1.25 * size
        self.y += after

    def hang(
        self,
        mark: str,
        words: str,
        x: float = 72.0,
        by: float = 24.0,
        width: float = 451.0,
        size: float = 10.0,
        mark_font: str = PLAIN,
    ) -> None:
        """Set a paragraph with a mark hanging to its left."""
        self.need(2 * size)
        self.at(x, self.y, mark, mark_font, size)
        self.text(words, x + by, width - by, size=size)

    def title(self, words: str, size: float = 12.0, x: float = 72.0, font: str = BOLD, before: float = 8.0) -> None:
        """Set a heading."""
        self.need(4 * size)
        self.y += before
        self.text(words, x, WIDTH - x - 72, font, size)

    def table(
        self,
        rows: list[list[str]],
        widths: list[float],
        x: float = 72.0,
        *,
        size: float = 9.0,
        grid: str = "all",
        header: int = 1,
    ) -> None:
        """Set a table; `grid` is all, rows (rules between rows), ends (rules at head and foot) or none."""
        for place, row in enumerate(rows):
            cells = [
                self.lines(cell, wide - 8, BOLD if place < header else PLAIN, size) or [""]
                for cell, wide in zip(row, widths, strict=True)
            ]
            height = max(map(len, cells)) * 1.2 * size + 6
            self.need(height)
            left = x
            for lines, wide in zip(cells, widths, strict=True):
                for step, line in enumerate(lines):
                    self.at(
                        left + 4, self.y + size + 1 + step * 1.2 * size, line, BOLD if place < header else PLAIN, size
                    )
                if grid == "all":
                    self.canvas.rect(left, HEIGHT - self.y - height, wide, height)
                left += wide
            if grid == "rows" or (grid == "ends" and place in {0, header - 1, len(rows) - 1}):
                for line_at in {
                    self.y if place == 0 else self.y + height,
                    self.y + height if grid == "rows" or place else self.y,
                }:
                    self.canvas.line(x, HEIGHT - line_at, left, HEIGHT - line_at)
            self.y += height
        self.y += 16

    def finished(self) -> bytes:
        """Return the file."""
        self.canvas.showPage()
        self.canvas.save()
        return self._buffer.getvalue()


@dataclass(slots=True)
class Result:
    """What was found of one document, as shares; None where there was nothing to find."""

    shares: dict[str, float | None]
    differences: list[str]


def judge(document: Document, gold: Gold) -> Result:
    """Compare a document as read with what is in it."""
    messages: list[str] = []
    shares: dict[str, float | None] = {}
    have = Counter(
        (each.number or "", letters_of(each.title)) for each in document.sections if each.number or each.title
    )
    want = Counter((number, letters_of(title)) for number, title in gold.headings)
    have.pop(("", letters_of(gold.title)), None)
    hits = (have & want).total()
    shares["headings"] = 2 * hits / max(have.total() + want.total(), 1)
    messages += [f"heading missed {each}" for each in want - have] + [f"heading wrong {each}" for each in have - want]
    read = Counter(tuple(row) for table in tables_in(document) for row in table)
    rows = Counter(tuple(letters(cell) for cell in row) for row in gold.rows)
    shares["rows"] = (rows & read).total() / rows.total() if rows else None
    messages += [f"row missed {each}" for each in rows - read]
    statements = statements_of(document)
    found = {letters_of(each.text): each.identifier or "" for each in statements}
    named = 0
    for words, identifier in gold.requirements.items():
        own = next((key for key in found if key.endswith(letters_of(words))), None)
        right = own is not None and (not identifier or found[own] == identifier)
        named += right
        if not right:
            messages.append(
                f"requirement missed [{identifier}] {words} | {'got ' + found[own] if own is not None else 'none'}"
            )
    shares["requirements"] = named / len(gold.requirements) if gold.requirements else None
    expected = [letters_of(words) for words in gold.requirements]
    messages += [
        f"statement beyond {each.text[:120]}"
        for each in statements
        if not any(letters_of(each.text).endswith(one) for one in expected)
    ]
    terms = {letters_of(each.term): letters_of(each.text) for each in find_definitions(document)}
    right = 0
    for term, words in gold.definitions.items():
        whole = terms.pop(letters_of(term), None)
        right += whole == letters_of(words)
        if whole != letters_of(words):
            messages.append(f"definition missed {term} | {whole}")
    messages += [f"definition wrong {each}" for each in terms]
    shares["definitions"] = right / (len(gold.definitions) + len(terms)) if gold.definitions else None
    text = letters_of(document.text)
    places = [place for words in gold.order if (place := _only(text, letters_of(words))) is not None]
    pairs = list(itertools.pairwise(places))
    shares["order"] = sum(0 <= one < other for one, other in pairs) / len(pairs) if pairs else None
    messages += [
        f"order {words[:60]!r} at {place}, then {then}"
        for words, (place, then) in zip(gold.order, pairs, strict=False)
        if not 0 <= place < then
    ]
    return Result(shares, messages)


def _only(text: str, words: str) -> int | None:
    """Return where words stand, -1 for nowhere; None where they stand more than once, which tells no order."""
    place = text.find(words)
    return place if text.find(words, place + 1) < 0 or place < 0 else None


def main() -> None:
    """Print a line for each form, and means."""
    from benchmarks import forms_files, forms_print, forms_second

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", choices=("first", "second"), default="first")
    parser.add_argument("--only", nargs="+", default=[])
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--keep", type=Path, help="folder to leave the files in")
    options = parser.parse_args()
    columns = ("headings", "rows", "requirements", "definitions", "order")
    print(f"{'form':14}" + "".join(f"{name:>14}" for name in columns))
    every: dict[str, list[float]] = {name: [] for name in columns}
    with tempfile.TemporaryDirectory() as folder:
        for make in forms_second.FORMS if options.set == "second" else (*forms_print.FORMS, *forms_files.FORMS):
            if options.only and make.__name__ not in options.only:
                continue
            made = make()
            path = (options.keep or Path(folder)) / f"{make.__name__}{made.suffix}"
            path.write_bytes(made.data)
            result = judge(read_document(path), made.gold)
            row = f"{make.__name__:14}"
            for name in columns:
                share = result.shares[name]
                row += f"{'-' if share is None else f'{share:.3f}':>14}"
                every[name] += [] if share is None else [share]
            print(row, flush=True)
            if options.show:
                print("\n".join(f"    {each}" for each in result.differences))
    print(f"{'mean':14}" + "".join(f"{sum(some) / max(len(some), 1):>14.3f}" for some in every.values()))


if __name__ == "__main__":
    main()
