"""Texts beside the running text of a PDF: callouts, side notes and cards are blocks of their own."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from knowledge_mcp.language.statements import find_statements
from knowledge_mcp.model.document import LAYOUT_UNCERTAIN, BlockKind, Document
from knowledge_mcp.readers.pdf.lines import rows_of
from tests.readers.pdf_files import LEFT, Sheet, read_pdf, sheet

_BODY = (
    "The importer of the plant must list", "each sensor that it finds on the line",
    "and keep the list until an operator", "has read it. Tools must generate", "a report for each of these sensors",
    "before the next cycle begins, and", "they must not change it later on.",
)  # fmt: skip
_CARD = ("There are four ways", "to name a sensor, all", "of which are shown", "in the next chapter.")


def texts(document: Document) -> list[str]:
    return [" ".join(block.span.of(document.text).split()) for block in document.blocks]


def page(*, left: float, size: float = 9, step: float = 11, top: float = 116, font: str = "Helvetica") -> Sheet:
    pages = sheet()
    pages.heading("1 Sensors of the plant")
    start = pages.y
    for line in (*_BODY, "Nothing else is listed here by them."):
        pages.line(line, x=LEFT if left > LEFT else LEFT + 200)
    for number, line in enumerate(_CARD):
        pages.at(left, start + top - 100 + step * number, line, size, font)
    return pages


@pytest.mark.parametrize(
    ("left", "size", "step", "top", "font"),
    [
        (300, 9, 11, 116, "Helvetica"),
        (300, 9, 11, 128, "Helvetica-Bold"),
        (300, 10, 13, 119, "Helvetica-Oblique"),
        (300, 10, 13, 113, "Helvetica"),
        (LEFT, 8, 10, 121, "Times-Roman"),
    ],
    ids=["smaller", "bold", "half a line off", "on the same baselines", "to the left"],
)
def test_a_card_beside_the_text_is_a_block_of_its_own(
    left: float, size: float, step: float, top: float, font: str
) -> None:
    document = read_pdf(page(left=left, size=size, step=step, top=top, font=font))
    assert " ".join(_CARD) in texts(document)
    assert any(" ".join(_BODY) in text for text in texts(document))
    assert not any("generate There" in text for text in texts(document))
    stated = [each.text for each in find_statements(document)]
    obliged = "Tools must generate a report for each of these sensors before the next cycle begins, and they must not"
    assert f"{obliged} change it later on." in stated


def test_the_larger_print_of_a_card_is_no_heading() -> None:
    pages = page(left=300, size=13, step=15, font="Helvetica-Bold")
    assert [section.label for section in read_pdf(pages).sections] == ["1 Sensors of the plant"]


def test_italic_words_stay_where_they_stand() -> None:
    from reportlab.pdfbase.pdfmetrics import stringWidth

    pages = sheet()
    words = "Each reader must keep its own list of sensors and the name of the station".split()
    for line in range(4):
        x = LEFT
        for number, word in enumerate(words):
            font = "Times-Italic" if number in {3, 4, 9} else "Helvetica"
            size = 11 if number in {3, 4, 9} else 10
            pages.at(x, 100 + 12 * line + 0.4 * (number in {3, 4, 9}), word, size, font)
            x += stringWidth(word + " ", font, size)
    (text,) = texts(read_pdf(pages))
    assert text == " ".join(words * 4)


def test_a_table_without_rules_is_no_text_beside_another() -> None:
    pages = sheet()
    for row, (name, meaning) in enumerate((("Pump", "moves the oil"), ("Valve", "holds it"), ("Gate", "is shut"))):
        pages.at(LEFT, 120 + 16 * row, name)
        pages.at(240, 120 + 16 * row, meaning)
    document = read_pdf(pages)
    joined = " ".join(texts(document))
    assert joined.index("Pump") < joined.index("moves") < joined.index("Valve") < joined.index("holds")


def test_hanging_numbers_and_bullets_are_no_texts_beside_another() -> None:
    pages = sheet()
    for item in range(4):
        pages.at(LEFT, pages.y, f"{item + 1}.")
        pages.line("The reader keeps all that it has seen of the line and all", x=LEFT + 24)
        pages.line("that it was told by the other readers of the plant.", x=LEFT + 24)
    blocks = read_pdf(pages).blocks
    assert [block.kind for block in blocks] == [BlockKind.LIST_ITEM] * 4


@pytest.mark.parametrize("rows", [1, 8])
def test_a_page_of_words_side_by_side_is_uncertain_and_ordinary_text_is_not(rows: int) -> None:
    pages = sheet()
    for row in range(rows):
        pages.at(LEFT, 100 + 20 * row, "Green valve")
        pages.at(LEFT + 160, 107 + 20 * row, "Outer gate")
        pages.at(LEFT + 300, 103 + 20 * row, "Old motor")
    pages.next_page()
    for _ in range(6):
        pages.paragraph(*_BODY)
    notes = [each.note for each in read_pdf(pages).pages]
    assert notes == [LAYOUT_UNCERTAIN if rows > 1 else "", ""]


@pytest.mark.parametrize(("width", "rows"), [(200, [["one", "heading"], ["two"]]), (12, [["one", "two", "heading"]])])
def test_two_lines_beside_a_larger_heading_are_two_lines(width: float, rows: list[list[str]]) -> None:
    """What is as narrow as a letter may be a part of a formula."""
    places = {"one": (72, 95.5, width, 11.1), "two": (72, 107.5, width, 11.1), "heading": (310, 100, 90, 14.3)}
    items: list[Any] = [
        SimpleNamespace(text=text, x=x, y=y, width=wide, height=height) for text, (x, y, wide, height) in places.items()
    ]
    assert [[item.text for item in row] for row in rows_of(items)] == rows
