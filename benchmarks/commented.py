"""Measure codes with a commentary beside their clauses: made pages, code to the left and comments to the right.

Usage: `python -m benchmarks.commented [--seeds 3] [--only MANNER …] [--show]`

The columns go on over pages, each by itself, in the middle of sentences. For each manner: clauses and comments whose
sentences all stand whole in their own section, sentences that stand in another section or nowhere whole, sections that
are rightly informative or not, and sentences of which the pages and boxes are those that they are printed on.
"""

from __future__ import annotations

import argparse
import io
import random
import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.beside import sentence
from benchmarks.reading import read_document
from knowledge_mcp.model.document import Document, Page

_TITLES = ("Materials", "Mixtures", "Strength", "Cover", "Joints", "Curing", "Records", "Testing", "Anchors", "Loads")
_TABLE = [("Exposure", "Class", "Cover"), ("Dry", "W0", "20"), ("Moist", "W1", "30"), ("Wet", "W2", "40")]
_WHITE = re.compile(r"\s+")
_TOP, _BOTTOM, _LEFT, _RIGHT = 96.0, 720.0, 54.0, 558.0
_WIDTH, _HEIGHT = 612.0, 792.0


@dataclass(frozen=True, slots=True)
class Manner:
    """How a code is set.

    Attributes:
        name: what it is called.
        letter: what comes before the number of a comment.
        labelled: numbers of clauses and comments stand alone in bold with a title, or alone, above their text.
        aligned: what begins at one height in both columns: `clauses` with their comments, `parts`, or nothing.
        heads: what stands above the columns of each page.
        share: part of the width that the left column takes.
        size, face: the print of comments; clauses are set in ten points.
        between: what stands across both columns now and then: `table`, `heading`, or nothing.
        rule: a line is drawn between the columns.
        scarce: part of the clauses that have no comment.
        lengthy: the sentences of a comment, at most.
        items: clauses have lists.
        around: pages of one column before it, and an index in two columns behind it.
        mirrored: points by which the columns of left pages stand further left.
        begun: the file begins within a comment.
        figures: comments have captions.
        chapters: how many it has.
    """

    name: str
    letter: str = "R"
    labelled: bool = False
    aligned: str = "parts"
    heads: tuple[str, str] | None = ("CODE", "COMMENTARY")
    share: float = 0.5
    size: float = 10.0
    face: str = "Times-Roman"
    between: str = ""
    rule: bool = False
    scarce: float = 0.4
    lengthy: int = 6
    items: bool = False
    around: bool = False
    mirrored: float = 0.0
    begun: bool = False
    figures: bool = False
    chapters: int = 3


MANNERS = (
    Manner("filled by itself"),
    Manner("filled throughout", aligned=""),
    Manner("row by row", aligned="clauses"),
    Manner("numbers above, C", letter="C", labelled=True, heads=None),
    Manner("numbers above, C, row by row", letter="C", labelled=True, heads=None, aligned="clauses"),
    Manner("small comments", size=8.5, scarce=0.2),
    Manner("italic comments", face="Times-Italic", aligned="clauses"),
    Manner("narrow comments", share=0.6),
    Manner("a line between", rule=True, scarce=0.6),
    Manner("tables across", between="table", aligned="clauses"),
    Manner("tables across, filled", between="table"),
    Manner("chapters across", between="heading", aligned="clauses"),
    Manner("long comments", scarce=0.2, lengthy=14),
    Manner("few comments", scarce=0.85, lengthy=3),
    Manner("lists", items=True, aligned="clauses"),
    Manner("lists, filled", items=True),
    Manner("a preface and an index", around=True),
    Manner("an index, no heads", around=True, heads=None, aligned="clauses"),
    Manner("mirrored margins", mirrored=30.0),
    Manner("mirrored margins, no heads", mirrored=30.0, heads=None),
    Manner("begun before the file", begun=True, aligned="clauses"),
    Manner("figures in comments", figures=True),
    Manner("a long code", chapters=20, scarce=0.6),
)


@dataclass(slots=True)
class Unit:
    """One clause or comment: its number, the sentences that it must hold, and the pages that each is printed on."""

    number: str
    side: int
    title: str = ""
    sentences: list[str] = field(default_factory=list[str])
    items: bool = False
    pages: dict[str, set[int]] = field(default_factory=dict[str, set[int]])


def units_of(manner: Manner, random_: random.Random) -> list[Unit]:
    """Make the clauses of some chapters, each with the comment that follows it."""
    found: list[Unit] = []

    def add(number: str, title: str, count: int, items: bool = False) -> None:
        found.append(Unit(number, 0, title, [sentence(random_, "shall") for _ in range(count)], items))
        if count and random_.random() > manner.scarce:
            words = [sentence(random_) for _ in range(random_.randint(1, manner.lengthy))]
            found.append(Unit(manner.letter + number, 1, "", words))

    for chapter in range(5, 5 + manner.chapters):
        found.append(Unit(str(chapter), 2, random_.choice(_TITLES).upper()))
        for part in range(1, 5):
            add(f"{chapter}.{part}", random_.choice(_TITLES), 0)
            for clause in range(1, random_.randint(3, 6)):
                titled = random_.choice(_TITLES) if manner.labelled else ""
                add(f"{chapter}.{part}.{clause}", titled, random_.randint(1, 7), manner.items and clause % 2 == 0)
    return found


@dataclass(slots=True)
class _Line:
    words: str
    font: str
    size: float
    indent: float = 0.0
    above: float = 0.0
    sentences: tuple[tuple[Unit, str], ...] = ()


def _lines(unit: Unit, width: float, manner: Manner) -> list[_Line]:
    """Break one unit into lines, each with the sentences that stand on it."""
    face, size = (manner.face, manner.size) if unit.side == 1 else ("Times-Roman", 10.0)
    found: list[_Line] = []
    number = unit.number
    if manner.labelled or unit.title:
        found.append(_Line(f"{number} {unit.title}".strip(), "Times-Bold", 10.0, above=8.0))
        number = ""
    groups = [[each] for each in unit.sentences[1:]] if unit.items else []
    first = unit.sentences[:1] if unit.items else unit.sentences
    for place, group in enumerate([first, *groups] if first else []):
        mark = f"({'abcdefghij'[place - 1]})" if place else number
        indent = 14.0 if place else 0.0
        words = [(word, text) for text in group for word in text.split()]
        if mark:
            words.insert(0, (mark, ""))
        found += _wrapped(words, unit, width - indent, face, size, indent)
    return found


def _wrapped(
    words: Sequence[tuple[str, str]], unit: Unit, width: float, face: str, size: float, indent: float
) -> Iterator[_Line]:
    from reportlab.pdfbase.pdfmetrics import stringWidth

    row: list[tuple[str, str]] = []
    above = 6.0
    for word in [*words, None]:
        line = " ".join(each for each, _ in [*row, *([word] if word else [])])
        if row and (word is None or stringWidth(line, face, size) > width):
            own = tuple((unit, text) for text in dict.fromkeys(text for _, text in row if text))
            yield _Line(" ".join(each for each, _ in row), face, size, indent, above, own)
            row, above = [], 0.0
        if word is not None:
            row.append(word)


class _Printer:
    """Set lines in two columns, each with its own page and height."""

    def __init__(self, manner: Manner) -> None:
        self.manner = manner
        middle = _LEFT + manner.share * (_RIGHT - _LEFT)
        self.edges = ((_LEFT, middle - 9.0), (middle + 9.0, _RIGHT))
        self.at = [(1, _TOP), (1, _TOP)]
        self.drawn: list[tuple[int, float, float, _Line]] = []
        self.tables: list[tuple[int, float, list[tuple[str, str, str]]]] = []
        self.plain: set[int] = set()

    def width(self, side: int) -> float:
        return self.edges[side][1] - self.edges[side][0]

    def put(self, lines: Sequence[_Line], side: int) -> None:
        """Set lines in one column; they go on in the same column of the next page."""
        for line in lines:
            page, y = self.at[side]
            y += line.above if y > _TOP else 0.0
            if y + line.size > _BOTTOM:
                page, y = page + 1, _TOP
            x = self.edges[side][0] + line.indent
            self.drawn.append((page, x, y + line.size, line))
            self.at[side] = (page, y + 1.2 * line.size)
            for unit, text in line.sentences:
                unit.pages.setdefault(text, set()).add(page)

    def level(self) -> None:
        """Go on in both columns at the height of the longer one."""
        self.at = [max(self.at)] * 2

    def across(self, unit: Unit) -> None:
        """Set a title across both columns."""
        self.level()
        page, y = self.at[0]
        if y > _BOTTOM - 90:
            page, y = page + 1, _TOP
        line = _Line(f"CHAPTER {unit.number} {unit.title}", "Times-Bold", 14.0)
        self.drawn.append((page, _LEFT, y + 24, line))
        self.at = [(page, y + 40)] * 2

    def table(self, rows: list[tuple[str, str, str]]) -> None:
        """Draw a table across both columns, at the head of the next page where a column is filled by itself."""
        self.level()
        page, y = self.at[0]
        if y + 18 * len(rows) + 30 > _BOTTOM:
            page, y = page + 1, _TOP
        self.tables.append((page, y + 8, rows))
        self.at = [(page, y + 18 * len(rows) + 24)] * 2

    def alone(self, sentences: Sequence[str]) -> None:
        """Set a page of running text in one column."""
        words = [(word, "") for text in sentences for word in text.split()]
        y = _TOP
        for line in _wrapped(words, Unit("", 0), _RIGHT - _LEFT, "Times-Roman", 10.0, 0.0):
            self.drawn.append((1, _LEFT, y + 10, line))
            y += 12
        self.plain.add(1)
        self.at = [(2, _TOP)] * 2

    def index(self, entries: Sequence[str]) -> None:
        """Set an index in two columns, from a new page on."""
        page = max(self.at)[0] + 1
        for place, entry in enumerate(entries):
            column, row = divmod(place, 48)
            x = self.edges[column % 2][0]
            self.drawn.append((page + column // 2, x, _TOP + 10 + 12 * row, _Line(entry, "Times-Roman", 10.0)))
            self.plain.add(page + column // 2)
        self.at = [(max(self.plain), _BOTTOM)] * 2

    def done(self) -> bytes:
        from reportlab.pdfgen import canvas

        buffer = io.BytesIO()
        paper: Any = canvas.Canvas(buffer, pagesize=(_WIDTH, _HEIGHT), invariant=1)
        paper.setTitle("Made code")
        for page in range(1, max(self.at)[0] + 1):
            paper.setFont("Times-Roman", 9)
            paper.drawString(_LEFT, _HEIGHT - 40, "MADE CODE REQUIREMENTS FOR STRUCTURES (MC 318) AND COMMENTARY")
            paper.drawRightString(_RIGHT, 40, str(page + 400))
            off = self.manner.mirrored if page % 2 == 0 else 0.0
            if self.manner.heads and page not in self.plain:
                paper.setFont("Times-Bold", 10)
                for (left, right), words in zip(self.edges, self.manner.heads, strict=True):
                    paper.drawCentredString((left + right) / 2 - off, _HEIGHT - 74, words)
            if self.manner.rule and page not in self.plain:
                x = (self.edges[0][1] + self.edges[1][0]) / 2
                paper.line(x, _HEIGHT - _TOP, x, _HEIGHT - _BOTTOM)
            for _, x, y, line in (each for each in self.drawn if each[0] == page):
                paper.setFont(line.font, line.size)
                paper.drawString(x - off, _HEIGHT - y, line.words)
            for _, y, rows in (each for each in self.tables if each[0] == page):
                paper.setFont("Times-Roman", 10)
                edges = [_LEFT, _LEFT + 168, _LEFT + 336, _RIGHT]
                for place, row in enumerate(rows):
                    for x, cell in zip(edges, row, strict=False):
                        paper.drawString(x + 4, _HEIGHT - y - 18 * place - 13, cell)
                paper.grid(edges, [_HEIGHT - y - 18 * place for place in range(len(rows) + 1)])
            paper.showPage()
        paper.save()
        return buffer.getvalue()


def pages_of(manner: Manner, seed: int) -> tuple[bytes, list[Unit]]:
    """Set a code; returns the file and its clauses and comments."""
    random_ = random.Random(f"{manner.name} {seed}")
    units = units_of(manner, random_)
    printer = _Printer(manner)
    if manner.around:
        printer.alone([sentence(random_, "may") for _ in range(30)])
    for side in (0, 1) if manner.begun else ():
        words = [(word, "") for word in sentence(random_).split()[3:]]
        printer.put(list(_wrapped(words, units[0], printer.width(side), "Times-Roman", 10, 0)), side)
    clauses = 0
    for unit in units:
        if unit.side == 2:
            if manner.between == "heading" or not printer.drawn:
                printer.across(unit)
            else:
                printer.put([_Line(f"CHAPTER {unit.number} {unit.title}", "Times-Bold", 11.0, above=14.0)], 0)
            continue
        clauses += unit.side == 0
        if manner.between == "table" and unit.side == 0 and clauses % 6 == 5:
            printer.table(_TABLE)
        if unit.side == 0 and (manner.aligned == "clauses" or (manner.aligned and unit.number.count(".") == 1)):
            printer.level()
        printer.put(_lines(unit, printer.width(unit.side), manner), unit.side)
        if manner.figures and unit.side == 1 and clauses % 5 == 0:
            number = f"{unit.number}{'abc'[clauses % 3]}"
            printer.put([_Line(f"Fig. {number}—Made drawing", "Times-Bold", 9.0, above=40.0)], 1)
    if manner.around:
        printer.index([f"{word} of {other}, {random_.randint(1, 99)}" for word in _TITLES for other in _TITLES])
    return printer.done(), units


def _own_text(document: Document, index: int) -> str:
    """Return the text of a section without those below it."""
    section = document.sections[index]
    below = [each.span.start for each in document.sections if section.span.start < each.span.start < section.span.end]
    return _WHITE.sub(" ", document.text[section.span.start : min(below, default=section.span.end)])


@dataclass(slots=True)
class Score:
    """Count what was found."""

    found: list[int] = field(default_factory=lambda: [0, 0])
    whole: list[int] = field(default_factory=lambda: [0, 0])
    units: list[int] = field(default_factory=lambda: [0, 0])
    elsewhere: int = 0
    lost: int = 0
    sentences: int = 0
    flagged: int = 0
    placed: int = 0

    def add(self, document: Document, units: Sequence[Unit]) -> list[str]:
        """Compare a document with what it was made of; returns what is wrong."""
        wrong: list[str] = []
        numbers = [each.number for each in document.sections]
        texts = {index: _own_text(document, index) for index in range(len(numbers))}
        for unit in (each for each in units if each.side < 2):
            self.units[unit.side] += 1
            index = numbers.index(unit.number) if unit.number in numbers else None
            self.found[unit.side] += index is not None
            own = texts[index] if index is not None else ""
            inside = [text in own for text in unit.sentences]
            self.whole[unit.side] += index is not None and all(inside)
            flagged = index is not None and document.sections[index].informative == (unit.side == 1)
            self.flagged += flagged
            if index is None or not flagged:
                wrong.append(f"{unit.number}: {'not found' if index is None else 'flag'}")
            for text, is_own in zip(unit.sentences, inside, strict=True):
                self.sentences += 1
                others = [] if is_own else [numbers[place] for place, words in texts.items() if text in words]
                self.elsewhere += bool(others)
                self.lost += not is_own and not others
                self.placed += self._is_placed(document, text, unit.pages[text])
                if not is_own:
                    wrong.append(f"{unit.number}: in {others or 'none'}: {text}")
        return wrong

    @staticmethod
    def _is_placed(document: Document, text: str, pages: set[int]) -> bool:
        words = r"\s+".join(map(re.escape, text.split()))
        match = re.search(words, document.text)
        if match is None:
            return False
        blocks = [each for each in document.blocks if each.span.start < match.end() and match.start() < each.span.end]
        boxes = {box.page for block in blocks for box in block.boxes}
        named = {page.number for page in document.pages if _stands_on(page, match.start(), match.end())}
        return pages <= boxes and pages == named


def _stands_on(page: Page, start: int, end: int) -> bool:
    return any(run.start < end and start < run.end for run in page.runs or (page.span,))


def main() -> None:
    """Print the figures of each manner, and of all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", nargs="+", default=[])
    parser.add_argument("--show", action="store_true")
    options = parser.parse_args()
    print(f"{'':32}{'clauses':>12}{'comments':>12}{'wrong':>7}{'cut':>5}{'flags':>10}{'placed':>11}")
    total = Score()
    with tempfile.TemporaryDirectory() as folder:
        for manner in (each for each in MANNERS if not options.only or each.name in options.only):
            score = Score()
            for seed in range(options.seeds):
                data, units = pages_of(manner, seed)
                path = Path(folder) / f"made-{seed}.pdf"
                path.write_bytes(data)
                document = read_document(path)
                for each in (score, total):
                    wrong = each.add(document, units)
                if options.show:
                    print(*wrong, sep="\n")
            _print(manner.name, score)
    _print("all", total)


def _print(name: str, score: Score) -> None:
    clauses, comments = (f"{score.whole[side]} of {score.units[side]}" for side in (0, 1))
    flags, placed = f"{score.flagged} of {sum(score.units)}", f"{score.placed} of {score.sentences}"
    print(f"{name:32}{clauses:>12}{comments:>12}{score.elsewhere:>7}{score.lost:>5}{flags:>10}{placed:>11}")


if __name__ == "__main__":
    main()
