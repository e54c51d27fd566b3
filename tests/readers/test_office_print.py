"""Minutes, notices and service bulletins: labels, amounts, addresses and letters as their authors print them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from knowledge_mcp.model.document import BlockKind, Document
from knowledge_mcp.readers.html.reader import HtmlReader
from tests.readers.docx_files import p, read_docx, table
from tests.readers.in_process import HERE
from tests.readers.office_files import item_of
from tests.readers.pdf_files import LEFT, SENTENCE, Sheet, sheet
from tests.readers.pdf_tables import read

_LABELS = [
    ("Date:", ["12 May 2026"]),
    ("Place:", ["Town hall"]),
    ("Present:", ["A. Baker, C. Dorn, who is the", "architect"]),
]
_TEXT = "The minutes of the last meeting were approved without changes by those who were present."


def _texts(document: Document) -> list[str]:
    return [block.span.of(document.text) for block in document.blocks if block.kind is BlockKind.PARAGRAPH]


def _rows(pages: Sheet, rows: Sequence[tuple[str, Sequence[str]]], left: float = 170, right: bool = False) -> None:
    for name, lines in rows:
        pages.at(LEFT, pages.y, name)
        for line in lines:
            x = left - pages.canvas.stringWidth(line, "Helvetica", 10) if right else left
            pages.line(line, x=x)
    pages.y += 10


def test_labels_and_what_is_said_of_them_are_paragraphs() -> None:
    pages = sheet()
    pages.heading("Minutes")
    _rows(pages, _LABELS)
    pages.paragraph(_TEXT, *[SENTENCE] * 4)
    assert _texts(read(pages))[:3] == [
        "Date: 12 May 2026",
        "Place: Town hall",
        "Present: A. Baker, C. Dorn, who is the architect",
    ]


@pytest.mark.parametrize("amounts", [["200.00", "85.00", "1 285.00"], ["1 200.00 EUR", "85.00 EUR", "1 285.00 EUR"]])
def test_rows_that_end_in_an_amount_are_paragraphs(amounts: Sequence[str]) -> None:
    pages = sheet()
    pages.heading("1 Fees")
    pages.paragraph(_TEXT, *[SENTENCE] * 4)
    _rows(
        pages,
        [(name, [amount]) for name, amount in zip(("Permission", "Print", "Sum"), amounts, strict=True)],
        260,
        True,
    )
    pages.paragraph(_TEXT, SENTENCE)
    document = read(pages)
    words = [f"{name} {amount}" for name, amount in zip(("Permission", "Print", "Sum"), amounts, strict=True)]
    rows = [block for block in document.blocks if block.kind is BlockKind.TABLE]
    assert rows or [text for text in _texts(document) if text in words] == words


def test_a_single_label_and_running_text_with_a_colon_stay_one_paragraph() -> None:
    pages = sheet()
    pages.heading("1 Scope")
    _rows(pages, [("Note:", ["it holds for all pumps of this class that are in"])])
    pages.y -= 10
    pages.paragraph("operation, and for those that are kept as a reserve.", SENTENCE)
    assert len(_texts(read(pages))) == 1


def _word(rows: Sequence[tuple[str, str]]) -> Document:
    written = (f"<w:tr><w:tc>{p(one)}</w:tc><w:tc>{p(other)}</w:tc></w:tr>" for one, other in rows)
    return read_docx(table(*written) + p("The end."))


def _page(rows: Sequence[tuple[str, str]]) -> Document:
    written = "".join(f"<tr><td>{one}</td><td>{other}</td></tr>" for one, other in rows)
    return HtmlReader(sandbox=HERE).read(item_of(f"<table>{written}</table><p>The end.</p>".encode(), "a.html"))


@pytest.mark.parametrize("made", [_word, _page])
def test_a_table_of_labels_is_paragraphs(made: Callable[[Sequence[tuple[str, str]]], Document]) -> None:
    assert _texts(made([("Date:", "12 May"), ("Copy to:", "")])) == ["Date: 12 May", "Copy to:", "The end."]


@pytest.mark.parametrize("made", [_word, _page])
@pytest.mark.parametrize("rows", [[("Date", "Place"), ("12 May:", "Town")], [("Date:", "1"), ("Place", "2")]])
def test_a_table_with_other_names_stays_a_table(
    made: Callable[[Sequence[tuple[str, str]]], Document], rows: Sequence[tuple[str, str]]
) -> None:
    assert _texts(made(rows)) == ["The end."]


def test_the_number_of_a_house_is_no_clause() -> None:
    pages = sheet()
    pages.paragraph("Mr John Doe", "5 Mill Lane", "12345 Sample")
    for title in ("I. Decision", "II. Conditions", "III. Reasons"):
        pages.heading(title, 10)
        pages.paragraph(_TEXT, SENTENCE)
    assert [each.number for each in read(pages).sections if each.number] == ["I", "II", "III"]


def test_letters_that_each_clause_begins_again_are_no_annexes() -> None:
    pages = sheet()
    for number, title, letters in ((1, "PLANNING", "ABC"), (2, "MATERIAL", "A"), (3, "INSTRUCTIONS", "A")):
        pages.heading(f"{number}. {title}", 10)
        for letter in letters:
            pages.paragraph(f"{letter}. Procedure")
            pages.paragraph("(1) Remove the pump.", "(2) Replace the seal, and keep the old one.", x=LEFT + 24)
    assert [each.number for each in read(pages).sections] == ["1", "2", "3"]


def test_a_letter_that_comes_once_is_an_annex() -> None:
    pages = sheet()
    for title in ("1. Scope", "2. Tests", "A. Records"):
        pages.heading(title, 10)
        pages.paragraph(_TEXT, SENTENCE)
    assert [each.number for each in read(pages).sections] == ["1", "2", "A"]
