"""Measure running lines: made PDFs with heads, feet and page numbers of many manners, and text that looks like them.

Usage: `python -m benchmarks.running_lines [--set first|second] [--only MANNER …] [--pages N …] [--show]`

Every manner is set with two, three, four, six and twelve pages. Words of running lines that stay in the text are
counted, and words of the text that are gone. `first` was measured before the rules were changed and then used to
change them; `second` was written afterwards, and its first figure is in decision 0140.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import random
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.beside import sentence
from benchmarks.running_pages import BOTTOM, CHAPTERS, HEIGHT, LEFT, RIGHT, TOP, WIDTH, Paper, prose
from knowledge_mcp.model.source import SourceItem
from knowledge_mcp.readers.pdf.reader import PdfReader
from knowledge_mcp.sources.files import FileSource

_LENGTHS = (2, 3, 4, 6, 12)
_ROMAN = ("i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x", "xi", "xii")

Setting = Callable[[Paper], None]


def _plain(paper: Paper) -> None:
    prose(paper)


def _begin(words: Callable[[int], str], **look: Any) -> Setting:
    """Begin each page with a line."""

    def body(paper: Paper) -> None:
        if found := words(paper.page):
            paper.line(found, **look)
        prose(paper)

    return body


def _end(words: Callable[[int], str], **look: Any) -> Setting:
    """End each page with a line at the foot of the text."""

    def body(paper: Paper) -> None:
        prose(paper, until=BOTTOM - 14)
        paper.y = max(paper.y, BOTTOM) if paper.page < paper.pages else paper.y
        if found := words(paper.page):
            paper.line(found, **look)

    return body


def _form(paper: Paper) -> None:
    for name in (
        "Test record",
        "Name of the operator:",
        "Date of the test:",
        "Instrument:",
        "Result:",
        "Remarks:",
        "Signature:",
    ):
        paper.line(name, step=22)
        if name == "Instrument:":
            paper.line(f"gauge {paper.random.randint(100, 999)}", x=200, step=22)


def _table(paper: Paper) -> None:
    rows = [("Item", "Name", "Value")]
    rows += [
        (f"{paper.page}{number:02}", sentence(paper.random).split()[1], str(paper.random.randint(1, 999)))
        for number in range(30)
    ]
    paper.grid(rows, (60, 160, 100))


def _unruled(paper: Paper) -> None:
    paper.cells(("Item", "Name", "Value", "Limit"), face="Times-Bold")
    for number in range(44 if paper.page < paper.pages else 12):
        paper.cells(
            (
                f"{paper.page}{number:02}",
                sentence(paper.random).split()[1],
                str(paper.random.randint(1, 999)),
                str(paper.random.randint(1, 99)),
            )
        )


def _tests(paper: Paper) -> None:
    paper.line(f"Test case {paper.page}", face="Times-Bold", size=14, step=20)
    for _ in range(4):
        paper.paragraph(3)


def _steps(paper: Paper) -> None:
    paper.line(f"Step {paper.page}", step=18)
    for _ in range(3):
        paper.paragraph(3)


def _formulas(paper: Paper) -> None:
    prose(paper, until=BOTTOM - 20)
    if paper.page < paper.pages:
        paper.y = BOTTOM
        paper.cells((f"p = q + {paper.random.randint(10, 99)}", f"({paper.page})"), places=(200, 500))


def _totals(paper: Paper) -> None:
    for _ in range(40):
        paper.cells((sentence(paper.random).split()[1], str(paper.random.randint(1, 999))), places=(72, 480))
    paper.cells(("", str(paper.random.randint(100, 999))), places=(72, 480))


def _prelims(paper: Paper) -> str:
    return _ROMAN[paper.page - 1] if paper.page < 3 else str(paper.page - 2)


def _each(words: str) -> Callable[[int], str]:
    return lambda _: words


def _of_three(words: str) -> Callable[[int], str]:
    return lambda page: words if page % 3 else ""


def _both(first: Setting, second: Setting) -> Setting:
    def running(paper: Paper) -> None:
        first(paper)
        second(paper)

    return running


def _head(words: str, y: float = 45, **look: Any) -> Setting:
    return lambda paper: paper.run(words, y, **look)


def _foot(words: Callable[[Paper], str], y: float = 805, at: str = "middle", **look: Any) -> Setting:
    def running(paper: Paper) -> None:
        if found := words(paper):
            paper.run(found, y, at=at, **look)

    return running


def _mirrored(paper: Paper) -> None:
    odd = paper.page % 2 == 1
    paper.run(str(paper.page), 45, at="right" if odd else "left")
    paper.run("Code of practice" if odd else "Sample recorders", 45, at="middle", face="Times-Italic")


def _corner(paper: Paper) -> None:
    paper.run(str(paper.page), 45, at="right" if paper.page % 2 else "left")


def _chapter(paper: Paper) -> None:
    paper.run(CHAPTERS[(paper.page - 1) // 2 % len(CHAPTERS)], 45, at="right", face="Times-Italic")
    paper.run(str(paper.page), 805, at="middle")


def _framed(paper: Paper) -> None:
    for at, words in (("left", "KM-100"), ("middle", "Rev. B"), ("right", f"Sheet {paper.page} of {paper.pages}")):
        paper.run(words, 45, at=at)
    paper.canvas.grid([LEFT - 4, 220, 380, RIGHT + 4], [HEIGHT - 32, HEIGHT - 50])


def _letter(paper: Paper) -> None:
    if paper.page > 1:
        paper.run("A. Writer", 40)
        paper.run("12 May 2026", 52)
        paper.run(f"Page {paper.page}", 64)


def _once(page: int) -> Setting:
    return lambda paper: paper.run("7", 805, at="middle") if paper.page == (page or paper.pages) else None


def _of(form: str) -> Callable[[Paper], str]:
    return lambda paper: form.format(
        n=paper.page,
        of=paper.pages,
        roman=_ROMAN[paper.page - 1],
        chapter=f"{chr(65 + (paper.page - 1) // 3)}-{(paper.page - 1) % 3 + 1}",
        late=paper.page + 36,
    )


@dataclass(frozen=True, slots=True)
class Manner:
    """How a document is set: what runs along its pages, and its text."""

    name: str
    running: Setting | None = None
    body: Setting = _plain


def _stack(*lines: str) -> Setting:
    def running(paper: Paper) -> None:
        for place, words in enumerate(lines):
            paper.run(words, 36 + 11 * place)

    return running


def _clauses_in_head(paper: Paper) -> None:
    paper.run(f"§ {paper.page}.{paper.page * 3}", 45, at="right")
    paper.run("Code of practice", 45)


def _stamp(paper: Paper) -> None:
    if paper.page % 3 != 2:
        paper.run("CONFIDENTIAL", 30, at="middle", face="Helvetica-Bold")


def _odd(paper: Paper) -> None:
    if paper.page % 2:
        paper.run("Requirements for recorders", 45, at="right")


def _typed(paper: Paper) -> None:
    paper.face = "Courier"
    for row in range(56 if paper.page < paper.pages else 20):
        if row % 7 != 6:
            paper.line(sentence(paper.random)[:70].rsplit(" ", 1)[0])
        else:
            paper.y += 12


def _signed(paper: Paper) -> None:
    prose(paper, until=640)
    paper.y = 700
    paper.line("Date:", step=24)
    paper.line("Signature:")


def _certificate(paper: Paper) -> None:
    paper.y = 160
    paper.line("Certificate of calibration", size=20, face="Times-Bold", step=50)
    for words in ("This is to certify that", f"gauge {paper.random.randint(100, 999)}", "meets the limits of KM 100."):
        paper.line(words, size=12, step=30)
    paper.y = 640
    paper.line("Head of the laboratory")


def _data_sheet(paper: Paper) -> None:
    for name in ("Tag", "Service", "Fluid", "Pressure", "Temperature", "Material", "Flange", "Weight"):
        paper.cells((name, str(paper.random.randint(10, 999))))


def _numbered_rows(paper: Paper) -> None:
    for row in range(30):
        paper.cells((str(paper.page if row == 0 else 100 * paper.page + row), sentence(paper.random)[:40].strip()))


def _prices(paper: Paper) -> None:
    for row in range(46):
        paper.cells((sentence(paper.random).split()[1], f"{paper.page}{row}"), places=(72, 480))


def _minutes(paper: Paper) -> None:
    paper.line("Item", face="Times-Bold", step=16)
    prose(paper)


_CLAUSE = "The contractor shall, at his own cost and before the work begins,"
_NOTE = "NOTE 1 The limits are those of table 3."
_HEADING: dict[str, Any] = {"face": "Times-Bold", "size": 11, "step": 18}
_TITLE = _head("KM 100:2026 Sample recorders")
FIRST = (
    Manner("nothing"),
    Manner("head and page of pages", _both(_TITLE, _foot(_of("Page {n} of {of}"), at="right"))),
    Manner("number", _foot(_of("{n}"))),
    Manner("number between dashes", _foot(_of("- {n} -"))),
    Manner("number from 37", _foot(_of("{late}"))),
    Manner("odd and even heads", _mirrored),
    Manner("number in the outer corner", _corner),
    Manner("chapter in the head", _chapter),
    Manner("roman numbers", _foot(_of("{roman}"))),
    Manner("roman, then arabic", _foot(_prelims)),
    Manner("number in a chapter", _foot(_of("{chapter}"))),
    Manner("none on the first page", _foot(lambda paper: str(paper.page) if paper.page > 1 else "")),
    Manner("page | number", _foot(_of("Page | {n}"), at="right")),
    Manner("number/count", _foot(_of("{n}/{of}"), at="right")),
    Manner("Seite von", _foot(_of("Seite {n} von {of}"), at="right")),
    Manner("a letter", _letter),
    Manner("framed head", _framed),
    Manner("head close to the text", _head("KM 100:2026 Sample recorders", 74)),
    Manner("head in the text's print", _head("KM 100:2026 Sample recorders", 66, size=10)),
    Manner("head with a rule", _head("KM 100:2026 Sample recorders", 66, size=10, lines=True)),
    Manner(
        "feet of two lines", _both(_foot(_of("© 2026 A. Writer. All rights reserved."), 795), _foot(_of("{n}"), 808))
    ),
    Manner("number on the last page", _once(0)),
    Manner("number on the first page", _once(1)),
    Manner(
        "text: same sentence begins",
        body=_begin(_each(_CLAUSE)),
    ),
    Manner(
        "text: same sentence begins, head",
        _TITLE,
        _begin(_each(_CLAUSE)),
    ),
    Manner("text: two of three begin alike", _TITLE, _begin(_of_three("The contractor shall not"))),
    Manner("text: notes begin", _TITLE, _begin(_each(_NOTE), size=9, step=18)),
    Manner("text: captions begin", _TITLE, _begin(lambda page: f"Table {page}", face="Times-Bold")),
    Manner("text: headings begin", _TITLE, _begin(lambda page: f"{page}.1 General", **_HEADING)),
    Manner(
        "text: a heading without a number begins",
        _TITLE,
        _begin(_each("General"), **_HEADING),
    ),
    Manner(
        "text: a warning begins", _TITLE, _begin(lambda page: "WARNING" if page % 4 else "", face="Times-Bold", step=16)
    ),
    Manner("text: same sentence ends", _TITLE, _end(_each("The result shall be recorded."))),
    Manner("text: same sentence ends, no head", None, _end(_each("The result shall be recorded."))),
    Manner("text: forms", None, _form),
    Manner("text: forms with heads", _both(_TITLE, _foot(_of("{n}"))), _form),
    Manner("text: ruled table", _TITLE, _table),
    Manner("text: ruled table, number", _foot(_of("{n}")), _table),
    Manner("text: unruled table", None, _unruled),
    Manner("text: unruled table, head", _TITLE, _unruled),
    Manner("text: test cases", _foot(_of("{n}")), _tests),
    Manner("text: test cases, nothing", None, _tests),
    Manner("text: steps", _TITLE, _steps),
    Manner("text: steps, nothing", None, _steps),
    Manner("text: formulas end", _TITLE, _formulas),
    Manner("text: formulas end, number", _foot(_of("{n}")), _formulas),
    Manner("text: totals end", None, _totals),
    Manner("text: totals end, head", _TITLE, _totals),
)
SECOND = (
    Manner("three lines at the top", _stack("Ministry of Works", "Code of practice 7", "Draft 3 of May 2026")),
    Manner(
        "designation to the left, page to the right", _both(_head("EN 4711:2026 (E)"), _foot(_of("{n}"), 45, "right"))
    ),
    Manner("large letterhead", _head("Writer & Sons", 52, size=18, face="Helvetica-Bold")),
    Manner("bold head", _head("Requirements for recorders", 48, face="Times-Bold", size=10)),
    Manner("italic head in capitals", _head("REQUIREMENTS FOR RECORDERS", 60, face="Times-Italic", size=10)),
    Manner("number at the top in the middle", _foot(_of("{n}"), 48)),
    Manner("number with dots", _foot(_of("· {n} ·"))),
    Manner("number in brackets", _foot(_of("[{n}]"))),
    Manner("p. number", _foot(_of("p. {n}"), at="right")),
    Manner("page sur", _foot(_of("page {n} sur {of}"))),
    Manner("number and title at the foot", _foot(_of("Recorders for samples    {n}"), at="left")),
    Manner("number below a date", _both(_foot(_of("{n}"), 800), _head("12 May 2026", 812, at="right"))),
    Manner("clause numbers in the head", _clauses_in_head),
    Manner("a stamp on some pages", _both(_foot(_of("{n}")), _stamp)),
    Manner("other heads on odd pages", _odd),
    Manner(
        "a typewriter's pages",
        _both(
            _head("RFC 4711    Recorders    May 2026", 54, face="Courier", size=10),
            _foot(_of("[Page {n}]"), 805, "right", face="Courier", size=10),
        ),
        _typed,
    ),
    Manner(
        "copyright at the foot",
        _foot(lambda _: "This document shall not be copied without leave of its owner.", 810, size=7),
    ),
    Manner("number far from the edge", _foot(_of("{n}"), 788)),
    Manner("text: an item begins each page", _TITLE, _begin(_each("a) the name of the operator;"))),
    Manner("text: bold run-in titles begin", None, _begin(_each("Frequency. Samples are taken"), face="Times-Bold")),
    Manner("text: an example begins", _foot(_of("{n}")), _begin(_each("EXAMPLE"), gap=4, step=16)),
    Manner("text: dates begin", None, _begin(lambda page: f"{page + 3} May 2026", step=18)),
    Manner(
        "text: chapters begin, large",
        _TITLE,
        _begin(lambda page: f"Chapter {page}", face="Times-Bold", size=18, step=30),
    ),
    Manner(
        "text: numbers of clauses begin", _TITLE, _begin(lambda page: f"{page}", face="Times-Bold", size=12, step=20)
    ),
    Manner(
        "text: exercises begin", _foot(_of("{n}")), _begin(lambda page: f"Exercise {page}", face="Times-Bold", step=20)
    ),
    Manner("text: a caption ends", _foot(_of("{n}")), _end(lambda page: f"Figure {page} Parts of a recorder", size=9)),
    Manner("text: a source ends", None, _end(_each("Source: records of the operator"), size=8)),
    Manner("text: end of item", _TITLE, _end(_each("and"))),
    Manner("text: signatures end", None, _signed),
    Manner("text: certificates", _head("Writer & Sons", 40), _certificate),
    Manner("text: sheets of data", _foot(_of("Sheet {n} of {of}"), 805, "right"), _data_sheet),
    Manner("text: rows numbered by page", _TITLE, _numbered_rows),
    Manner("text: price list", _foot(_of("{n}")), _prices),
    Manner("text: minutes", _head("Minutes of the meeting", 50), _minutes),
    Manner("text: dialogue", None, _begin(_each("OPERATOR:"), step=12)),
    Manner("text: a warning in a box ends", _TITLE, _end(_each("Do not open the cover."), face="Times-Bold")),
)


def made(manner: Manner, pages: int) -> tuple[bytes, Counter[str], Counter[str]]:
    """Set a document; returns it, the words of its text, and those of its running lines."""
    from reportlab.pdfgen import canvas

    buffer = io.BytesIO()
    drawn: Any = canvas.Canvas(buffer, pagesize=(WIDTH, HEIGHT), invariant=1)
    paper = Paper(drawn, pages, random.Random(f"{manner.name} {pages}"))
    for page in range(1, pages + 1):
        paper.page, paper.y = page, TOP
        manner.body(paper)
        if manner.running is not None:
            manner.running(paper)
        drawn.showPage()
    drawn.save()
    return buffer.getvalue(), paper.text, paper.running


def main() -> None:
    """Print a line for each manner, and the sums."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--set", choices=("first", "second"), default="first")
    parser.add_argument("--only", nargs="+", default=())
    parser.add_argument("--pages", nargs="+", type=int, default=_LENGTHS)
    parser.add_argument("--show", action="store_true", help="print the words that are left, and those that are lost")
    options = parser.parse_args()
    manners = FIRST if options.set == "first" else SECOND
    print(f"{'manner':44} {'pages':>5}  running words left   words of the text lost")
    sums = [0] * 5
    with tempfile.TemporaryDirectory() as folder, contextlib.closing(PdfReader()) as reader:
        for manner in manners:
            if options.only and manner.name not in options.only:
                continue
            counts, where = [0] * 5, list[str]()
            for pages in options.pages:
                data, text, running = made(manner, pages)
                path = Path(folder) / f"{pages}.pdf"
                path.write_bytes(data)
                (item,) = [each for each in FileSource(path).items() if isinstance(each, SourceItem)]
                found = Counter(word for word in reader.read(item).text.split() if word.strip("|-") or word == "-")
                left, lost = (found - text) & running, text - found
                for place, value in enumerate((left.total(), running.total(), lost.total(), text.total(), bool(lost))):
                    counts[place] += value
                where += [f"{pages}"] * bool(lost)
                if options.show and (left or lost):
                    print(f"   {pages} pages: left {dict(left)} lost {dict(lost)}")
            sums = [one + other for one, other in zip(sums, counts, strict=True)]
            print(
                f"{manner.name:44} {'':5}  {counts[0]:5} of {counts[1]:5}       {counts[2]:5} of {counts[3]:6}"
                f"  {'of ' + ' '.join(where) + ' pages' if where else ''}"
            )
    print(f"{'all':51}  {sums[0]:5} of {sums[1]:5}       {sums[2]:5} of {sums[3]:6}  in {sums[4]} documents")


if __name__ == "__main__":
    main()
