"""Codes with a commentary beside their clauses: each column goes on over the pages by itself."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from knowledge_mcp.model.document import Document
from tests.readers.pdf_files import LEFT, Sheet, read_pdf, sheet

RIGHT = 310.0
Rows = Sequence[tuple[str, str]]
"""Lines of one page from its top: what stands to the left, what to the right; either may be empty."""
ONE: Rows = (
    ("5.1 Mixing of concrete", ""),
    ("5.1.1 The mixer shall turn for a minute", "R5.1.1 Slow mixers leave dry lumps in"),
    ("before the water is let in by a valve.", "the concrete, as tests in many yards"),
    ("5.1.2 The water shall be clean and its", "have found out. Where mixers are small"),
    ("heat shall be measured at the valve by", "a shorter time has been found to be of"),
    ("a clock that is read by two men, both", "the same use, as long as no more than"),
)
TWO: Rows = (
    ("of whom shall sign. No salt shall be in", "half of the drum has been filled."),
    ("it when it reaches the drum.", "R5.1.2 Salt eats steel. The men who read"),
    ("5.1.3 The sand shall be dry when it is", "the clock need not be engineers, but"),
    ("weighed, and shall be weighed twice by", "they have to know what an hour of heat"),
    ("the same man.", "does to concrete that waits in a drum."),
    ("5.2 Placing of concrete", ""),
    ("5.2.1 The concrete shall be placed in", "R5.2.1 Layers that are too thick do not"),
    ("layers, each of which shall be so thin", "get rid of their air, which has been a"),
    ("that its air can leave it before the", "cause of holes below bars that stand"),
)
THREE: Rows = (
    ("next one is placed. Layers shall not be", "close to each other."),
    ("left alone for an hour.", ""),
    ("5.2.2 The forms shall be wet.", "R5.2.2 Dry forms drink the water."),
)
CLAUSE = (
    "The water shall be clean and its heat shall be measured at the valve by a clock that is read by two men, both "
    "of whom shall sign. No salt shall be in it when it reaches the drum."
)


def code(*pages: Rows, head: str = "Code of made yards and commentary", heads: bool = True, rule: float = 0) -> Sheet:
    """Set pages in two columns below a running head; `rule` is the height of a table across both on the second."""
    made = sheet()
    for number, rows in enumerate(pages, 1):
        made.at(LEFT, 40, head, 9)
        made.at(500, 810, str(number + 40), 9)
        if heads:
            made.at(LEFT + 80, 72, "CODE", 10, "Times-Bold")
            made.at(RIGHT + 70, 72, "COMMENTARY", 10, "Times-Bold")
        if rule and number == 2:
            made.grid([("Exposure", "Class", "Cover"), ("Dry", "W0", "20"), ("Wet", "W1", "40")], [150, 150, 150])
        for left, right in rows:
            titled = left.count(".") == 1 and not left.endswith(".") and left[:1].isdigit()
            made.at(LEFT, made.y, left, 11 if titled else 10, "Times-Bold" if titled else "Times-Roman")
            made.at(RIGHT, made.y, right, 10, "Times-Roman")
            made.y += 12 if not titled else 18
        if number < len(pages):
            made.next_page()
    return made


def own_text(document: Document, number: str) -> str:
    """Return what stands in a section above those below it, without its heading."""
    (section,) = [each for each in document.sections if each.number == number]
    below = [each.span.start for each in document.sections if section.span.start < each.span.start < section.span.end]
    return " ".join(document.text[section.heading.end : min(below, default=section.span.end)].split())


def test_clauses_and_comments_that_go_on_over_a_page_are_whole() -> None:
    document = read_pdf(code(ONE, TWO, THREE))
    assert own_text(document, "5.1.2") == CLAUSE
    assert own_text(document, "R5.1.1").endswith("as long as no more than half of the drum has been filled.")
    assert own_text(document, "5.2.1").endswith(
        "before the next one is placed. Layers shall not be left alone for an hour."
    )
    assert own_text(document, "R5.2.1").endswith("below bars that stand close to each other.")
    assert {each.number: each.informative for each in document.sections if each.number} == {
        "5.1": False, "5.1.1": False, "R5.1.1": True, "5.1.2": False, "R5.1.2": True, "5.1.3": False, "5.2": False,
        "5.2.1": False, "R5.2.1": True, "5.2.2": False, "R5.2.2": True,
    }  # fmt: skip


def test_a_comment_stands_below_its_clause() -> None:
    sections = read_pdf(code(ONE, TWO, THREE)).sections
    parents = {each.number: sections[each.parent].number for each in sections if each.parent is not None}
    assert {number: parents[number] for number in ("R5.1.1", "R5.1.2", "R5.2.1", "R5.2.2", "5.1.2", "5.2.2")} == {
        "R5.1.1": "5.1.1", "R5.1.2": "5.1.2", "R5.2.1": "5.2.1", "R5.2.2": "5.2.2", "5.1.2": "5.1", "5.2.2": "5.2",
    }  # fmt: skip


def test_what_continues_over_a_page_has_boxes_and_runs_on_both_pages() -> None:
    document = read_pdf(code(ONE, TWO, THREE))
    start = document.text.index("The water shall be clean")
    block = next(each for each in document.blocks if each.span.start == start)
    assert block.pages == (1, 2)
    assert [(box.page, box.right < RIGHT) for box in block.boxes] == [(1, True), (2, True)]
    places = {words: document.text.index(words) for words in ("both of whom", "No salt", "Slow mixers", "Salt eats")}
    pages = {
        words: [
            page.number
            for page in document.pages
            if any(run.start <= place + len(words) - 1 and place < run.end for run in page.runs or (page.span,))
        ]
        for words, place in places.items()
    }
    assert pages == {"both of whom": [1, 2], "No salt": [2], "Slow mixers": [1], "Salt eats": [2]}


@pytest.mark.parametrize("heads", [True, False])
@pytest.mark.parametrize("letter", ["R", "C"])
def test_the_numbers_tell_the_form(letter: str, heads: bool) -> None:
    pages = [[(left, right.replace("R5", f"{letter}5")) for left, right in rows] for rows in (ONE, TWO, THREE)]
    document = read_pdf(code(*pages, heads=heads))
    assert own_text(document, "5.1.2") == CLAUSE
    assert own_text(document, f"{letter}5.1.2").startswith("Salt eats steel.")


def test_a_table_across_both_columns_stays_with_the_clauses() -> None:
    document = read_pdf(code(ONE, TWO, THREE, rule=60))
    assert "| Dry | W0 | 20 |" in own_text(document, "5.1.2")
    assert "of whom shall sign. No salt shall be in it when it reaches the drum." in own_text(document, "5.1.2")
    assert own_text(document, "R5.1.1").endswith("half of the drum has been filled.")


def test_a_column_may_be_empty() -> None:
    lonely = [(left, "") for left, _ in TWO]
    document = read_pdf(code(ONE, lonely, THREE))
    assert own_text(document, "5.1.2") == CLAUSE
    assert own_text(document, "R5.1.1").endswith("no more than close to each other.")
    assert own_text(document, "5.2.1").endswith("left alone for an hour.")


def test_a_comment_that_began_before_the_file_is_in_no_clause() -> None:
    rows = [("", "lasts longer than a summer."), *ONE]
    document = read_pdf(code(rows, TWO, THREE))
    assert document.text.index("lasts longer") < document.sections[0].span.start


def test_numbers_of_requirements_beside_their_clauses_are_none_of_comments() -> None:
    document = read_pdf(code(ONE, TWO, THREE, head="Code of made yards", heads=False))
    assert not any(each.informative for each in document.sections)


def test_columns_that_both_have_clauses_are_read_one_after_the_other() -> None:
    """The left column goes on in the right one of the same page, where clauses and comments follow one another."""
    left = [line for rows in (ONE, TWO) for line, _ in rows]
    right = [line for rows in (ONE, TWO) for _, line in rows if line]
    first = [*zip(left[:8], [*left[8:], *right[:1]], strict=True)]
    second = [*zip(right[1:8], [*right[8:], "", ""][:7], strict=True)]
    document = read_pdf(code(first, second, heads=False))
    places = [document.text.index(words) for words in ("5.1 Mixing", "5.1.3", "5.2.1", "R5.1.1", "R5.1.2", "R5.2.1")]
    assert places == sorted(places)


def test_comments_in_smaller_print_are_no_footnotes() -> None:
    pages = code(ONE, TWO)
    pages.next_page()
    pages.at(LEFT, 40, "Code of made yards and commentary", 9)
    pages.at(LEFT, 600, "5.3.1 The drum shall be emptied.", 10, "Times-Roman")
    for row, line in enumerate(
        ("R5.3.1 Drums that stand for a day or", "3 hours of heat are hard to clean, as", "one yard found.")
    ):
        pages.at(RIGHT, 600 + 10 * row, line, 8, "Times-Roman")
    pages.at(LEFT, 580, "5.3 Cleaning", 11, "Times-Bold")
    document = read_pdf(pages)
    assert (
        own_text(document, "R5.3.1")
        == "Drums that stand for a day or 3 hours of heat are hard to clean, as one yard found."
    )


def test_a_page_of_one_column_is_read_as_such() -> None:
    pages = code(ONE, TWO, THREE)
    pages.next_page()
    pages.heading("Appendix A Forms of the yard")
    pages.paragraph(
        *("This line of the appendix runs over both of the columns, as wide as the page is." for _ in range(6))
    )
    document = read_pdf(pages)
    assert document.text.rstrip().endswith("as wide as the page is.")
    assert not next(each for each in document.sections if each.number == "A").informative
