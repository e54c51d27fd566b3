"""Measure `knowledge compare` on pairs in forms that publishers hand out, beside those of `benchmarks.editions`.

Usage: `python -m benchmarks.edition_forms [--made N] [--keep FOLDER]`

A pair is made and edited by `made_editions`, with every edit written down, and then written as

- Word files, the new one with its edits as tracked changes, which count as accepted;
- German HTML pages: the new one renumbers its anchors, wraps clauses in sections and has a list of contents, and
  references to clauses follow their numbers;
- PDF files, in which the new edition cuts clauses in two and makes its informative annex normative.

Clauses are told by number and heading. Figures are precision, recall and F1.
"""

from __future__ import annotations

import argparse
import difflib
import html
import random
import re
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.editions import Score, score_made
from benchmarks.made_editions import Made, edited, made_document, numbers
from knowledge_mcp.cli.knowledge.review.compare import compare_editions, edition_at
from knowledge_mcp.engine.changes.clauses import Clause
from knowledge_mcp.settings import load_settings

Pair = tuple[list[Made], list[Made]]
_CLAUSES = 60


def _edited(dice: random.Random, kind: str) -> Pair:
    old = made_document(dice, kind, _CLAUSES)
    return old, edited(dice, old, lambda: made_document(dice, kind, 2)[1])


def _headings(clauses: Sequence[Made], kind: str) -> list[tuple[str, str]]:
    return [(number, each.heading) for number, each in zip(numbers(clauses, kind), clauses, strict=True)]


# ---- Word files with tracked changes


def tracked(dice: random.Random, folder: Path) -> Pair:
    """Write a Word file, and its next edition with every edit tracked."""
    old, new = _edited(dice, "standard")
    heads, others = _headings(old, "standard"), _headings(new, "standard")
    before = [_Paragraph(each.level, " ".join(head), each.text) for each, head in zip(old, heads, strict=True)]
    after = [_Paragraph(each.level, " ".join(head), each.text) for each, head in zip(new, others, strict=True)]
    _word(folder / "old.docx", [(each, each) for each in before])
    left = set(range(len(old)))
    rows: list[tuple[_Paragraph | None, _Paragraph | None]] = []
    for each, made in zip(after, new, strict=True):
        was = next((one for one in made.was if one in left), None)
        if was is not None:
            rows += [(before[one], None) for one in sorted(left) if one < was and not _is_kept(one, new)]
            left -= {one for one in left if one < was and not _is_kept(one, new)} | {was}
        rows.append((before[was] if was is not None else None, each))
    rows += [(before[one], None) for one in sorted(left)]
    _word(folder / "new.docx", rows)
    return old, new


def _is_kept(one: int, new: Sequence[Made]) -> bool:
    return any(one in each.was for each in new)


class _Paragraph:
    """Hold a clause as it is printed: heading and paragraphs."""

    def __init__(self, level: int, head: str, text: Sequence[str]) -> None:
        self.level = level
        self.lines = [head, *text]


def _word(path: Path, rows: Iterable[tuple[_Paragraph | None, _Paragraph | None]]) -> None:
    """Write clauses, each as it was and as it is; what differs is tracked."""
    import docx

    document = docx.Document()
    for was, now in rows:
        lines = was.lines if was else []
        others = now.lines if now else []
        level = max(each.level for each in (was, now) if each)
        for at in range(max(len(lines), len(others))):
            style = f"Heading {level}" if at == 0 else None
            paragraph = document.add_paragraph(style=style)
            one, other = (side[at].split() if at < len(side) else [] for side in (lines, others))
            if not one or not other:
                _mark_whole(paragraph, "w:ins" if other else "w:del")
            matcher = difflib.SequenceMatcher(None, one, other, autojunk=False)
            for tag, a, b, c, d in matcher.get_opcodes():
                if tag == "equal":
                    _run(paragraph, " ".join(other[c:d]) + " ", "")
                else:
                    _run(paragraph, " ".join(one[a:b]) + " ", "w:del") if b > a else None
                    _run(paragraph, " ".join(other[c:d]) + " ", "w:ins") if d > c else None
    document.save(str(path))


def _change(tag: str) -> Any:
    from docx.oxml import OxmlElement
    from docx.oxml.ns import qn

    element = OxmlElement(tag)
    element.set(qn("w:id"), "1")
    element.set(qn("w:author"), "Committee")
    element.set(qn("w:date"), "2026-01-01T00:00:00Z")
    return element


def _mark_whole(paragraph: Any, tag: str) -> None:
    from docx.oxml import OxmlElement

    marks = OxmlElement("w:rPr")
    marks.append(_change(tag))
    paragraph._p.get_or_add_pPr().append(marks)  # noqa: SLF001 - its maker gives no other way to the element


def _run(paragraph: Any, text: str, tag: str) -> None:
    from docx.oxml.ns import qn

    run = paragraph.add_run(text)._r  # noqa: SLF001 - as above
    if not tag:
        return
    for each in run.findall(qn("w:t")):
        if tag == "w:del":
            each.tag = qn("w:delText")
    change = _change(tag)
    run.getparent().replace(run, change)
    change.append(run)


# ---- HTML pages with other anchors


def anchored(dice: random.Random, folder: Path) -> Pair:
    """Write a German page with references to its clauses, and its next edition with other anchors and frame."""
    old, new = _edited(dice, "German")
    heads, others = _headings(old, "German"), _headings(new, "German")
    refers = {place: dice.randrange(len(old)) for place in range(len(old)) if dice.random() < 0.3}
    went = {was: key for key, each in reversed(list(enumerate(new))) for was in each.was}
    body: list[str] = []
    for place, (each, (number, heading)) in enumerate(zip(old, heads, strict=True)):
        text = [*each.text, *_reference(heads, refers.get(place), "s")]
        body.append(f'<h{each.level + 1} id="s{number}">{number} {html.escape(heading)}</h{each.level + 1}>')
        body += [f"<p>{part}</p>" for part in text]
    page = "<!doctype html><html lang=de><title>Norm 1</title><body><h1>Norm 1 Ausgabe 2018</h1>{}</body></html>"
    (folder / "old.html").write_text(page.format("\n".join(body)))
    body = ["<nav><h2>Inhalt</h2><ol>"]
    body += [
        f'<li><a href="#abschnitt-{number}">{number} {html.escape(heading)}</a></li>' for number, heading in others
    ]
    body.append("</ol></nav><main>")
    for each, (number, heading) in zip(new, others, strict=True):
        targets = [went[refers[was]] for was in each.was if was in refers and refers[was] in went]
        text = [*each.text, *(part for target in targets for part in _reference(others, target, "abschnitt-"))]
        body.append(
            f'<section id="abschnitt-{number}"><h{each.level + 1}><span class="nr">{number}</span> '
            f'<a class="self" href="#abschnitt-{number}">{html.escape(heading)}</a></h{each.level + 1}>'
        )
        body += [f"<p>{part}</p>" for part in text]
        body.append("</section>")
    page = (
        "<!doctype html><html lang=de><head><title>Norm 1</title></head><body><header>Norm 1</header>"
        "<h1>Norm 1 Ausgabe 2023</h1>{}</main><footer>Seite des Ausschusses</footer></body></html>"
    )
    (folder / "new.html").write_text(page.format("\n".join(body)))
    return old, new


def _reference(heads: Sequence[tuple[str, str]], target: int | None, prefix: str) -> list[str]:
    if target is None:
        return []
    number = heads[target][0]
    return [f'Weiteres regelt <a href="#{prefix}{number}">Abschnitt {number}</a>.']


# ---- PDF files with an annex


def annexed(dice: random.Random, folder: Path) -> Pair:
    """Write a PDF file, and its next edition: clauses are cut in two, the annex says "shall" for "should"."""
    old = made_document(dice, "standard", _CLAUSES)
    annex = made_document(dice, "standard", 8)[1:]
    while not any("should" in part for each in annex for part in each.text):
        annex = made_document(dice, "standard", 8)[1:]
    start = len(old)
    annex = [Made(1, "Guidance (informative)", ["This annex gives guidance."]), *(replace(e, level=2) for e in annex)]
    new = edited(dice, old, lambda: made_document(dice, "standard", 2)[1])
    new = [part for each in new for part in _cut(dice, each)]
    old = [*old, *(replace(e, is_annex=True, was=(start + at,)) for at, e in enumerate(annex))]
    for at, each in enumerate(annex):
        said = {force for part in each.text for force in re.findall(r"\bshould(?: not)?\b", part)}
        made = replace(each, text=[re.sub(r"\bshould\b", "shall", part) for part in each.text], is_annex=True)
        changes = [("force", force, force.replace("should", "shall")) for force in sorted(said)]
        changes += [("force", "informative", "normative")] if each.level == 1 else []
        new.append(
            replace(made, heading=made.heading.replace("informative", "normative"), was=(start + at,), changes=changes)
        )
    _pdf(folder / "old.pdf", old, "ACME 100:2018")
    _pdf(folder / "new.pdf", new, "ACME 100:2023")
    return old, new


def _cut(dice: random.Random, clause: Made) -> list[Made]:
    if len(clause.text) < 2 or clause.level == 1 or clause.changes or dice.random() < 0.5:
        return [clause]
    return [
        replace(clause, text=clause.text[:1]),
        replace(clause, text=clause.text[1:], heading=f"{clause.heading.split()[0]} in operation"),
    ]


def _pdf(path: Path, clauses: Sequence[Made], title: str) -> None:
    from reportlab.lib.styles import getSampleStyleSheet
    from reportlab.platypus import Paragraph, SimpleDocTemplate

    styles = getSampleStyleSheet()
    story: list[Any] = [Paragraph(title, styles["Title"])]
    for each, head in zip(clauses, _headings(clauses, "standard"), strict=True):
        story.append(Paragraph(" ".join(head), styles[f"Heading{min(each.level + 1, 4)}"]))
        story += [Paragraph(part, styles["BodyText"]) for part in each.text]

    def running(canvas: Any, document: Any) -> None:
        canvas.drawString(72, 800, f"{title} Parts of plants")
        canvas.drawCentredString(300, 30, str(document.page))

    SimpleDocTemplate(str(path)).build(story, onFirstPage=running, onLaterPages=running)


# ---- scoring

FORMS: Mapping[str, tuple[str, str, Callable[[random.Random, Path], Pair]]] = {
    "Word, changes tracked": ("docx", "standard", tracked),
    "HTML, other anchors, German": ("html", "German", anchored),
    "PDF, clauses cut, annex normative": ("pdf", "standard", annexed),
}


def _place_of(clauses: Sequence[Made], kind: str) -> Callable[[Clause], int | None]:
    known = {_plain(" ".join(head)): place for place, head in enumerate(_headings(clauses, kind))}
    return lambda clause: known.get(_plain(f"{clause.number} {clause.heading}"))


def _plain(text: str) -> str:
    text = re.sub(r"\((?:informative|normative)\)", "", text.lower())
    return " ".join(re.findall(r"\w+", text)).removeprefix("annex ")


def main(argv: Sequence[str] | None = None) -> None:
    """Score pairs of every form, and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--made", type=int, default=10, help="pairs of each form")
    parser.add_argument("--keep", type=Path, help="write the files here, to be looked at")
    arguments = parser.parse_args(argv)
    settings = load_settings()
    for name, (suffix, kind, write) in FORMS.items():
        scores = {each: Score() for each in ("links", "added", "removed", "force", "number")}
        for seed in range(arguments.made):
            with ExitStack() as stack:
                folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
                if arguments.keep:
                    folder = arguments.keep / f"{suffix}-{seed}"
                    folder.mkdir(parents=True, exist_ok=True)
                made = write(random.Random(f"{name} {seed}"), folder)
                editions = [edition_at(settings, str(folder / f"{side}.{suffix}")) for side in ("old", "new")]
            score_made(scores, compare_editions(*editions), made, [_place_of(each, kind) for each in made])
        edits = " + ".join(f"{scores[each].all()} {each}" for each in ("force", "number"))
        print(f"{name}: {'; '.join(f'{each} {score}' for each, score in scores.items())}; {edits}", flush=True)


if __name__ == "__main__":
    main()
