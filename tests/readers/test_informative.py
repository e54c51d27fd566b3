"""A section is informative where its heading, a sentence below it, or what stands above it says so, in any format."""

from __future__ import annotations

import pytest

from knowledge_mcp.language.openings import split_clause_number
from knowledge_mcp.model.document import BlockKind, HeadingSource
from knowledge_mcp.readers.pdf.reader import PdfReader
from knowledge_mcp.readers.shared.assembly import DocumentBuilder
from tests.readers.in_process import InProcessSandbox
from tests.readers.pdf_files import LEFT, SENTENCE, item_of, sheet
from tests.readers.test_assembly import ITEM


def laid_out(*lines: str) -> DocumentBuilder:
    """Lay lines out, "# " before a heading, "## " before one of the second level."""
    builder = DocumentBuilder()
    for line in lines:
        depth = len(line) - len(line.lstrip("#"))
        if not depth:
            builder.block(BlockKind.PARAGRAPH, line)
            continue
        words = line.lstrip("# ")
        parts = split_clause_number(words)
        builder.heading(
            parts.title,
            level=depth,
            source=HeadingSource.STYLE,
            number=parts.number,
            informative=parts.informative,
            printed=parts.printed(words),
        )
    return builder


def informative(*lines: str) -> dict[str, bool]:
    """Tell of the sections of lines, by number or title, which are informative."""
    return {each.number or each.title: each.informative for each in laid_out(*lines).build(ITEM).sections}


@pytest.mark.parametrize(
    ("paragraph", "expected"),
    [
        (
            "Annex A is not a part of the requirements of this NFPA document but is included for informational "
            "purposes only. This annex contains explanatory material.",
            True,
        ),
        ("Annex B is not a part of the requirements of this document.", False),
        ("(This annex is not part of this standard. It has no requirements necessary for conformance.)", True),
        ("(This annex does not form an integral part of this Recommendation.)", True),
        ("(This annex forms an integral part of this Recommendation.)", False),
        ("This annex describes tests. This annex is not a mandatory part of the standard.", True),
        ("This annex is a mandatory part of the standard.", False),
        ("This annex is included for explanatory purposes only and does not form part of the requirements.", True),
        ("This annex is informative and has advice.", True),
        ("This annex is informative, except for A.2.", False),
        ("This annex is intended to provide guidance on tests.", False),
        ("This annex is not part of the delivery.", False),
        ("(Nonmandatory Information)", True),
        ("Dieser Anhang ist informativ.", True),
        ("La présente annexe est donnée à titre d'information.", True),
        ("Este anexo tiene carácter informativo.", True),
        ("Users find that this annex is informative.", False),
        ("This document is provided for informational purposes only.", False),
    ],
)
def test_what_a_sentence_below_its_heading_says_of_an_annex(paragraph: str, expected: bool) -> None:
    found = informative("# 1 Scope", "Pumps.", "# Annex A Tests", paragraph, "## A.1 Rig", "The rig shall stand.")
    assert found == {"1": False, "A": expected, "A.1": expected}


def test_a_sentence_in_its_first_clause_speaks_of_the_whole_annex_and_one_far_below_does_not() -> None:
    said = "This appendix is not a mandatory part of the standard. It is intended for guidance only."
    first = informative("# Appendix A", "## A.1 Scope", said, "## A.2 Rig", "The rig shall stand.")
    assert first == {"A": True, "A.1": True, "A.2": True}
    late = informative("# Appendix A", "## A.1 Scope", "One.", "Two.", "Three.", "## A.2 Rig", said)
    assert not any(late.values())


def test_a_sentence_of_a_section_speaks_of_it_alone() -> None:
    found = informative("# 4 Design", "## 4.1 Notes", "This clause is for information only.", "## 4.2 Rules", "Text.")
    assert found == {"4": False, "4.1": True, "4.2": False}


@pytest.mark.parametrize("title", [(), ("# Standard Test Method for Pumps",)], ids=["alone", "below a title"])
def test_annexes_behind_a_line_without_a_number_are_what_it_says(title: tuple[str, ...]) -> None:
    lines = (
        "# 1. Scope", "Pumps.", "# ANNEX", "(Mandatory Information)", "# A1. RIG", "It shall stand.",
        "# APPENDIXES", "(Nonmandatory Information)", "# X1. RATIONALE", "It shall be told.", "## X1.1 Pumps", "Text.",
        "# 2. Summary", "Text.",
    )  # fmt: skip
    found = informative(*title, *(f"#{line}" if title and line.startswith("#") else line for line in lines))
    found.pop("Standard Test Method for Pumps", None)
    assert found == {
        "1": False, "ANNEX": False, "A1": False, "APPENDIXES": True, "X1": True, "X1.1": True, "2": False,
    }  # fmt: skip


@pytest.mark.parametrize("line", ["# Annex B (for information only) Hints", "# Appendix B (Nonmandatory Information)"])
def test_brackets_behind_a_heading_in_the_words_of_other_publishers(line: str) -> None:
    assert informative(line, "Text.")["B"]


def test_a_line_in_brackets_right_above_an_annex_speaks_of_it_and_those_beside_it() -> None:
    found = informative("# 1. Scope", "Pumps.", "APPENDIXES", "(Nonmandatory Information)", "# X1. WHY", "# X2. HOW")
    assert found == {"1": False, "X1": True, "X2": True}
    inside = informative("# 1. Scope", "(Nonmandatory Information)", "Pumps.", "# X1. WHY", "Text.")
    assert inside == {"1": True, "X1": False}


CODE = (
    "# 26 Concrete", "## 26.1 Mixing", "## R26.1 Mixing", "26.1.1 The mixer shall turn.", "R26.1.1 Slow mixers fail.",
    "26.1.2 The water shall be clean.", "R26.1.2 See the report.", "26.1.3 The sand shall be dry.",
)  # fmt: skip


def test_comments_are_informative_and_interrupt_no_numbering() -> None:
    found = informative(*CODE, "# 27 Commentary on steel")
    assert found == {
        "26": False, "26.1": False, "R26.1": True, "26.1.1": False, "R26.1.1": True, "26.1.2": False,
        "R26.1.2": True, "26.1.3": False, "27": False,
    }  # fmt: skip


def test_a_comment_stands_below_its_clause_and_the_clauses_beside_it() -> None:
    builder = laid_out(*CODE, "# 27 Commentary on steel")
    sections = builder.build(ITEM).sections
    above = {each.number: sections[each.parent].number for each in sections if each.parent is not None}
    assert above == {
        "26.1": "26", "R26.1": "26.1", "26.1.1": "26.1", "R26.1.1": "26.1.1", "26.1.2": "26.1",
        "R26.1.2": "26.1.2", "26.1.3": "26.1",
    }  # fmt: skip


def test_requirements_that_are_numbered_like_comments_are_none_where_nothing_is_said_of_a_commentary() -> None:
    found = informative("# 1 Pump", "## 1.1 Flow", "R1.1 The flow shall be kept.", "## 1.2 Heat", "R1.2 It shall stay.")
    assert found == {"1": False, "1.1": False, "1.2": False}


@pytest.mark.parametrize("by_contents", [True, False])
def test_an_annex_is_informative_where_contents_or_bookmarks_leave_that_out(by_contents: bool) -> None:
    made = sheet()
    titles = ["1 Scope", "2 Tests", "3 Marks", "4 Records", "Annex A Guidance on use"]
    if by_contents:
        made.line("Contents", font="Helvetica-Bold")
    for page, title in enumerate(titles, 2):
        if by_contents:
            made.at(LEFT, made.y, f"{title} {'.' * 60}")
            made.at(490, made.y, str(page))
            made.y += 13
    for title in titles[:-1]:
        made.next_page()
        made.heading(title, bookmark=None if by_contents else 0)
        made.paragraph(SENTENCE, SENTENCE)
    made.next_page()
    if not by_contents:
        made.canvas.bookmarkHorizontal("annex", 0, 740)
        made.canvas.addOutlineEntry(titles[-1], "annex", level=0)
    for words in ("Annex A", "(informative)", "Guidance on use"):
        made.line(words, size=13, font="Helvetica-Bold", x=230, step=18)
    made.paragraph(SENTENCE, SENTENCE)
    sections = PdfReader(sandbox=InProcessSandbox()).read(item_of(made.done())).sections
    assert [each.label for each in sections] == [*titles[:-1], "A Guidance on use"]
    assert [each.informative for each in sections] == [False, False, False, False, True]
