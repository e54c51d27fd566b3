"""Measure the clauses found in made documents that number them as publishers do, in five formats.

Usage: `python -m benchmarks.publishers [--set first|second] [--only MANNER …] [--formats …] [--show]`

Each manner is a plan: lines of a look, a number as printed and, behind "=", the number that the clause has. The words
are made. A clause is found where a section has its number and the letters of its title; sections that are none of the
plan's are wrong. The document's own title counts for nothing. `first` was measured before the rules were changed and
then used to change them; `second` was written afterwards, and its first figure is in decision 0107.

Looks: C keyword and number on a line, title below; H a bold line; S a bold line, larger; R bold words that the text
goes on behind; U a number and text, no title; P a numbered paragraph and I an item, which open no section; G a heading
without a number; T text.
"""

from __future__ import annotations

import argparse
import html
import io
import random
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

from benchmarks.beside import sentence
from benchmarks.reading import read_document
from knowledge_mcp.readers.shared.layout import letters_of

FIRST = {
    "building": (
        "C CHAPTER 10=10;C SECTION 1001=1001;R 1001.1;R 1001.2;C SECTION 1003=1003;R 1003.1;T;R 1003.2;"
        "R 1003.2.1;I 1.;I 2.;R 1003.3;R 1003.3.1;R 1003.3.1.1;C SECTION 1004=1004;R 1004.1;R [F] 1004.2=1004.2;"
        "R [F] 1004.2.1=1004.2.1"
    ),
    "residential": (
        "C CHAPTER 3=3;C SECTION R301=R301;R R301.1;R R301.1.1;R R301.2;C SECTION R302=R302;R R302.1;R R302.5;"
        "R R302.5.1;R R302.5.2;R R302.6;C SECTION R303=R303;R R303.1;R R303.2"
    ),
    "fire": (
        "C Chapter 1=1;H 1.1*=1.1;U 1.1.1;U 1.1.2;H 1.2=1.2;U 1.2.1*=1.2.1;U 1.2.2;C Chapter 6=6;H 6.1*=6.1;"
        "R 6.1.1;U 6.1.1.1;U 6.1.1.2*=6.1.1.2;R 6.1.2*=6.1.2;H 6.2;U 6.2.1;U 6.2.2;C Annex A=A;U A.1.1;U A.1.2.1;"
        "U A.6.1;U A.6.1.1.2"
    ),
    "particular": (
        "H 201.1;H 201.1.1;H 201.3;T;H 201.7;H 201.7.2;H 201.7.2.101;T;H 201.7.9;H 201.7.9.2;H 201.7.9.2.101;"
        "H 202;H 202.6.2;H 202.6.2.101;H 206;H 206.101"
    ),
    "methods": (
        "S 1.=1;U 1.1;U 1.2;S 2.=2;U 2.1;S 3.=3;U 3.1;R 3.1.1;R 3.1.2;S 4.=4;U 4.1;U 4.2;U 4.2.1;U 4.2.2;"
        "G APPENDIX;S X1.=X1;U X1.1;U X1.2;U X1.2.1;S X2.=X2;U X2.1"
    ),
    "electrical": (
        "S 1.=1;H 1.1;H 1.2;S 4.=4;H 4.1;H 4.1.1;H 4.1.2;H 4.2;T;S Annex A=A;H A.1;H A.1.1;H A.2;S Annex B=B;H B.1"
    ),
    "military": (
        "S 1.=1;R 1.1;R 1.2;S 3.=3;R 3.1;R 3.2;R 3.2.1;R 3.2.1.1;R 3.2.2;S 4.=4;R 4.1;R 4.1.1;C APPENDIX A=A;"
        "H A.1;R A.1.1;R A.1.2;H A.2;R A.2.1"
    ),
    "national": (
        "S 1=1;T;S 2=2;H 2.1;H 2.2;S National Annex NA=NA;H NA.1;T;H NA.2;H NA.2.1;H NA.2.2;H NA.3;S Annex ZA=ZA;"
        "H ZA.1;H ZA.2"
    ),
    "structures": (
        "S 1=1;H 1.1;P (1);P (2)P;H 1.2;P (1)P;P (2);P (3);S 2=2;H 2.1;P (1)P;H 2.1.1;P (1);P (2);S Annex A=A;"
        "H A.1;P (1);P (2)"
    ),
    "boilers": (
        "S PART UG=UG;H UG-1=UG-1;T;H UG-27=UG-27;I (a);I (b);I (1);H UG-28=UG-28;I (a);H UG-99=UG-99;T;"
        "S PART UW=UW;H UW-1=UW-1;H UW-2=UW-2;U PG-5.1;U PG-5.2;U PG-5.3"
    ),
    "aviation": (
        "S PART 25=25;H Subpart F=F;H § 25.1301=25.1301;I (a);I (b);H § 25.1303=25.1303;I (a);I (1);I (2);"
        "H § 25.1309=25.1309;I (a);I (1);H Subpart G=G;H § 25.1501=25.1501;I (a);H § 25.1503=25.1503"
    ),
    "labour": (
        "H 1910.95=1910.95;U 1910.95(a);U 1910.95(b);U 1910.95(b)(1);U 1910.95(b)(2);U 1910.95(c);"
        "U 1910.95(c)(1);H 1910.96=1910.96;U 1910.96(a);U 1910.96(b)"
    ),
    "contract": "S SECTION C=C;H C.1;T;H C.5;H C.5.1;H C.5.3;H C.5.3.1;H C.5.3.2;T;S SECTION H=H;H H.1;H H.2",
    "space": "S 1=1;S 5=5;H 5.1;H 5.2;H 5.2.1;I a.;I b.;H 5.2.2;I a.;I b.;I c.;S Annex A=A;H A.1;H A.1.1;I a.",
    "plants": "S I.=I;T;S II.=II;H A.=A;T;H B.=B;S III.=III;H A.=A;I 1.;I a.;H G.=G;I 1.;I 2.",
}
SECOND = {
    "plumbing": (
        "C CHAPTER 4=4;H SECTION 401=401;R 401.1;R 401.2;R 401.2.1;H SECTION 402=402;R 402.1;R [P] 402.2=402.2;"
        "R [P] 402.2.1=402.2.1;R 402.3;C CHAPTER 5=5;H SECTION 501=501;R 501.1;R 501.2;I 1.;I 2.;R 501.3"
    ),
    "wiring": (
        "C ARTICLE 210=210;S Part I.=I;R 210.1;R 210.2;R 210.8;I (A);I (1);I (2);R 210.8(C)=210.8(C);"
        "S Part II.=II;R 210.19;R 210.20;C ARTICLE 215=215;R 215.1;R 215.2;I (A)"
    ),
    "petroleum": (
        "S 1=1;H 1.1;H 1.2;S 5=5;H 5.1;U 5.1.1;U 5.1.2;U 5.1.2.1;U 5.1.2.2;H 5.2;H 5.2.1;U 5.2.1.1;U 5.2.1.2;"
        "S Annex A=A;H A.1;U A.1.1;U A.1.2"
    ),
    "railway": (
        "S Part 1=1;H 1.1;U 1.1.1;U 1.1.2;H 1.2;U 1.2.1;S Part 2=2;H 2.1;U 2.1.1;U 2.1.1.1;U 2.1.1.2;H 2.2;"
        "U 2.2.1;U 2.2.2;C Appendix A=A;U A.1;U A.2"
    ),
    "guides": "S A.=A;T;S B.=B;T;S C.=C;H 1.=1;I a.;I b.;H 2.=2;H 2.1;T;H 2.2;S D.=D;T",
    "clauses": (
        "S 52.2=52.2;H 52.212-1=52.212-1;I (a);I (1);H 52.212-2=52.212-2;I (a);H 52.212-4=52.212-4;I (a);I (b);"
        "H 52.213-1=52.213-1;I (a)"
    ),
    "statute": (
        "C PART 1=1;H 1=1;I (1);I (2);H 2=2;I (1);C PART 2=2;H 3=3;I (1);I (a);H 4=4;T;H 5=5;I (1);C SCHEDULE 1=1;T"
    ),
    "union": (
        "C CHAPTER I=I;C Article 1=1;I 1.;I 2.;C Article 2=2;I 1.;C CHAPTER II=II;C Article 3=3;I 1.;I 2.;"
        "C Article 4=4;T;C ANNEX I=I;T"
    ),
    "welding": (
        "C 4.=4;H 4.1;R 4.1.1;R 4.1.2;R 4.1.2.1;H 4.2;R 4.2.1;R 4.2.2;S Annex C=C;U C-4.1.1;U C-4.1.2;U C-4.2.1"
    ),
    "lifts": (
        "S SECTION 2.11=2.11;R 2.11.1;R 2.11.1.1;R 2.11.1.2;R 2.11.7;R 2.11.7.1;R 2.11.7.1.1;R 2.11.7.1.2;"
        "S SECTION 2.12=2.12;R 2.12.1;R 2.12.2;R 2.12.2.1"
    ),
    "concrete": (
        "C CHAPTER 9—=9;H 9.1—=9.1;U 9.1.1;U 9.1.2;H 9.5—=9.5;U 9.5.1;U 9.5.1.1;U 9.5.1.2;U 9.5.2;"
        "C CHAPTER 10—=10;H 10.1—=10.1;U 10.1.1;U 10.1.2"
    ),
    "indian": (
        "S 1=1;T;S 5=5;H 5.1;R 5.1.1;R 5.1.2;S ANNEX A=A;S A-1=A-1;U A-1.1;U A-1.2;S A-2=A-2;U A-2.1;S ANNEX B=B;"
        "S B-1=B-1;U B-1.1;U B-1.2"
    ),
    "southern": "C SECTION C=C;H C1=C1;H C1.1;U C1.1.1;U C1.1.2;H C1.2;H C2=C2;H C2.1;U C2.1.1;U C2.1.2;H C2.2;T",
    "masterformat": (
        "S PART 1=1;H 1.1;I A.;I B.;I 1.;H 1.2;I A.;S PART 2=2;H 2.1;I A.;I 1.;I 2.;H 2.2;I A.;S PART 3=3;H 3.1;I A."
    ),
    "drainage": (
        "C Chapter 12=12;H 12-1=12-1;T;H 12-1.1=12-1.1;H 12-2=12-2;T;H 12-2.1=12-2.1;H 12-2.2=12-2.2;"
        "C Chapter 13=13;H 13-1=13-1;H 13-1.1=13-1.1"
    ),
}
_TITLES = (
    "General", "Scope", "Means of access", "Protection of openings", "Separation of rooms", "Guards and handrails",
    "Height of platforms", "Testing of valves", "Marking", "Storage of liquids", "Alarm signals", "Design pressure",
    "Inspection of welds", "Records", "Supply of water", "Emergency lighting", "Loads", "Tolerances of dimensions",
)  # fmt: skip
_CAPTIONS = frozenset({"C", "S"})


@dataclass(frozen=True, slots=True)
class Unit:
    """One part of a made document: its look, its number as printed and as the clause has it, title and text."""

    look: str
    printed: str
    number: str
    title: str = ""
    text: str = ""

    @property
    def line(self) -> str:
        return f"{self.printed} {self.title}".strip()

    @property
    def key(self) -> tuple[str, str]:
        return self.number, letters_of(self.title)


def made(plan: str, seed: str) -> list[Unit]:
    """Make the words of a plan."""
    random_ = random.Random(seed)
    titles: list[str] = []
    units: list[Unit] = []
    for step in plan.split(";"):
        look, _, rest = step.partition(" ")
        printed, _, number = rest.partition("=")
        titles = titles or random_.sample(_TITLES, len(_TITLES))
        title = titles.pop() if look in "CHSRG" else ""
        title = title.upper() if look in _CAPTIONS and printed.isupper() else title
        text = " ".join(sentence(random_) for _ in range(random_.randint(1, 4))) if look not in "CSG" else ""
        units.append(Unit(look, printed, number or printed, printed if look == "G" and printed else title, text))
    return units


def gold(units: Sequence[Unit]) -> list[tuple[str, str]]:
    """List the clauses of a document."""
    return [unit.key for unit in units if unit.look in "CHSRU"]


# ---- as files -------------------------------------------------------------------------------------------------------


def as_pdf(units: Sequence[Unit], *, columns: int = 1) -> bytes:
    """Set the units in one column or two."""
    from reportlab.lib.styles import ParagraphStyle
    from reportlab.platypus import BaseDocTemplate, Frame, PageTemplate, Paragraph

    buffer = io.BytesIO()
    width = 468.0 / columns - (10 if columns > 1 else 0)
    frames = [Frame(72 + column * (width + 20), 72, width, 640, 0, 0, 0, 0) for column in range(columns)]

    def running(canvas: Any, _: Any) -> None:
        canvas.setFont("Helvetica", 8)
        canvas.drawString(72, 750, "Made code of practice")
        canvas.drawRightString(540, 40, str(canvas.getPageNumber()))

    paper = BaseDocTemplate(buffer, pagesize=(612, 792), invariant=1)
    paper.addPageTemplates(PageTemplate("all", frames, onPage=running))
    text = ParagraphStyle("text", fontName="Times-Roman", fontSize=10, leading=12, spaceAfter=6)
    bold = ParagraphStyle("bold", text, fontName="Times-Bold", spaceBefore=6, keepWithNext=1)
    large = ParagraphStyle("large", bold, fontSize=13, leading=16)
    centred = ParagraphStyle("centred", bold, fontSize=11, leading=13, alignment=1, spaceAfter=2)
    flow: list[Any] = []
    for unit in units:
        line, words = html.escape(unit.line), html.escape(unit.text)
        if unit.look == "C":
            flow += [Paragraph(html.escape(unit.printed), centred), Paragraph(html.escape(unit.title), centred)]
        elif unit.look in "HSG":
            flow.append(
                Paragraph(line if unit.look != "G" else html.escape(unit.title), large if unit.look == "S" else bold)
            )
            flow += [Paragraph(words, text)] if words else []
        elif unit.look == "R":
            flow.append(Paragraph(f"<b>{line}.</b> {words}", text))
        else:
            flow.append(Paragraph(f"{line} {words}".strip(), text))
    paper.build(flow)
    return buffer.getvalue()


def as_two_columns(units: Sequence[Unit]) -> bytes:
    """Set the units in two columns."""
    return as_pdf(units, columns=2)


def as_docx(units: Sequence[Unit]) -> bytes:
    """Type the units without styles, as those do who do not know of them."""
    import docx

    document: Any = docx.Document()
    for unit in units:
        if unit.look == "C":
            for line in (unit.printed, unit.title):
                document.add_paragraph().add_run(line).bold = True
        elif unit.look in "HSG":
            document.add_paragraph().add_run(unit.line if unit.look != "G" else unit.title).bold = True
            if unit.text:
                document.add_paragraph(unit.text)
        elif unit.look == "R":
            paragraph = document.add_paragraph()
            paragraph.add_run(f"{unit.line}. ").bold = True
            paragraph.add_run(unit.text)
        else:
            document.add_paragraph(f"{unit.line} {unit.text}".strip())
    buffer = io.BytesIO()
    document.save(buffer)
    return buffer.getvalue()


def as_html(units: Sequence[Unit]) -> bytes:
    """Write the units as a page whose headings are bold paragraphs."""
    out: list[str] = []
    for unit in units:
        line, words = html.escape(unit.line), html.escape(unit.text)
        if unit.look == "C":
            out.append(f"<h2>{html.escape(unit.printed)}<br>{html.escape(unit.title)}</h2>")
        elif unit.look in "SG":
            out.append(f"<h2>{line if unit.look == 'S' else html.escape(unit.title)}</h2>")
        elif unit.look == "H":
            out.append(f"<h3>{line}</h3><p>{words}</p>")
        elif unit.look == "R":
            out.append(f"<p><b>{line}.</b> {words}</p>")
        else:
            out.append(f"<p>{line} {words}</p>")
    return f"<html><head><title>Made code</title></head><body>{''.join(out)}</body></html>".encode()


def as_text(units: Sequence[Unit]) -> bytes:
    """Type the units with 72 columns."""
    import textwrap

    out: list[str] = []
    for unit in units:
        if unit.look == "C":
            out += [unit.printed, unit.title]
        elif unit.look in "HSG":
            out += [
                unit.line if unit.look != "G" else unit.title,
                *(["", *textwrap.wrap(unit.text)] if unit.text else []),
            ]
        else:
            stop = "." if unit.look == "R" else ""
            out += textwrap.wrap(f"{unit.line}{stop} {unit.text}".strip())
        out.append("")
    return "\n".join(out).encode()


def as_markdown(units: Sequence[Unit]) -> bytes:
    """Write the units as converters do: headings of one depth, titles in bold before their text."""
    out: list[str] = []
    for unit in units:
        if unit.look == "C":
            out.append(f"## {unit.printed}\n\n## {unit.title}")
        elif unit.look in "HSG":
            out += [f"## {unit.line if unit.look != 'G' else unit.title}", *([unit.text] if unit.text else [])]
        elif unit.look == "R":
            out.append(f"**{unit.line}.** {unit.text}")
        else:
            out.append(f"{unit.line} {unit.text}".strip())
    return ("# Made code\n\n" + "\n\n".join(out)).encode()


FORMATS: dict[str, tuple[str, Callable[[Sequence[Unit]], bytes]]] = {
    "pdf": (".pdf", as_pdf),
    "columns": (".pdf", as_two_columns),
    "docx": (".docx", as_docx),
    "html": (".html", as_html),
    "text": (".txt", as_text),
    "markdown": (".md", as_markdown),
}


def main() -> None:
    """Print recall and F1 of each manner in each format, and their means."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", choices=("first", "second"), default="first")
    parser.add_argument("--only", nargs="+", default=[])
    parser.add_argument("--formats", nargs="+", choices=tuple(FORMATS), default=tuple(FORMATS))
    parser.add_argument("--show", action="store_true")
    options = parser.parse_args()
    plans = FIRST if options.set == "first" else SECOND
    print(f"{'recall / F1':12}" + "".join(f"{name:>14}" for name in options.formats))
    scores: dict[str, list[tuple[float, float]]] = {name: [] for name in options.formats}
    with tempfile.TemporaryDirectory() as folder:
        for manner, plan in plans.items():
            if options.only and manner not in options.only:
                continue
            units = made(plan, manner)
            messages: list[str] = []
            row = f"{manner:12}"
            for name in options.formats:
                suffix, write = FORMATS[name]
                path = Path(folder) / f"{manner}-{name}{suffix}"
                path.write_bytes(write(units))
                sections = [
                    (section.number or "", letters_of(section.title)) for section in read_document(path).sections
                ]
                expected = gold(units)
                left = list(expected)
                wrong = [key for key in sections if not (key in left and not left.remove(key))]
                titles = {letters_of("Made code"), *(letters_of(unit.title) for unit in units if unit.look == "G")}
                wrong = [key for key in wrong if key[1] not in titles]
                recall = 1 - len(left) / len(expected)
                precision = (len(expected) - len(left)) / max(len(expected) - len(left) + len(wrong), 1)
                both = 2 * recall * precision / (recall + precision) if recall + precision else 0.0
                scores[name].append((recall, both))
                row += f"   {recall:.3f} {both:.3f}"
                messages += [f"    {name}: missed {left}\n    {name}: wrong {wrong}"] if left or wrong else []
            print(row)
            if options.show:
                print("\n".join(messages))
    print(
        f"{'mean':12}"
        + "".join(f"   {mean(r for r, _ in rows):.3f} {mean(f for _, f in rows):.3f}" for rows in scores.values())
    )


if __name__ == "__main__":
    main()
