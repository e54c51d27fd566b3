"""Documents of a few pages: what their pages begin or end with alike is text, unless it stands off the text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from knowledge_mcp.model.document import Document
from knowledge_mcp.readers.pdf.reader import PdfReader
from knowledge_mcp.readers.pdf.running.page_numbers import page_number
from tests.readers.in_process import InProcessSandbox
from tests.readers.pdf_files import LEFT, Sheet, item_of, sheet
from tests.readers.test_pdf_running_lines import NOUNS, prose, words

LENGTHS = [2, 3, 4, 6]


def read(
    count: int,
    body: Callable[[Sheet], None] | None = None,
    running: Callable[[Sheet], None] | None = None,
) -> Document:
    """Read a document of so many pages; each has its own prose, set by `body` where that is given."""
    pages = sheet()
    pages.furniture = running or (lambda each: None)
    for page in range(1, count + 1):
        (body or below())(pages)
        if page < count:
            pages.next_page()
    return PdfReader(sandbox=InProcessSandbox()).read(item_of(pages.done()))


def below(*lines: str, **look: Any) -> Callable[[Sheet], None]:
    """Set prose below the same lines on each page."""

    def body(pages: Sheet) -> None:
        for line in lines:
            pages.line(line, **look)
        for row in range(24):
            pages.line(prose(pages.page_number, row))

    return body


def head(pages: Sheet) -> None:
    pages.at(LEFT, 40, "KM 100:2026  Sample recorders", 9)


@pytest.mark.parametrize("count", LENGTHS)
@pytest.mark.parametrize(
    "line",
    [
        "The contractor shall, at his own cost and before the work begins,",
        "The contractor shall not",
        "NOTE 1 The limits are those of clause 3.",
        "a) the name of the operator;",
        "EXAMPLE 1",
    ],
)
def test_a_line_that_all_pages_begin_with_is_text(line: str, count: int) -> None:
    assert words(read(count, below(line)).text).count(line) == count
    document = read(count, below(line), head)
    assert words(document.text).count(line) == count
    assert "KM 100" not in document.text


@pytest.mark.parametrize("count", LENGTHS)
def test_headings_that_all_pages_begin_with_are_text(count: int) -> None:
    document = read(count, below("General", size=11, font="Helvetica-Bold", step=20), head)
    assert words(document.text).count("General") == count
    assert "KM 100" not in document.text


@pytest.mark.parametrize("count", LENGTHS)
def test_titles_that_count_the_pages_are_text(count: int) -> None:
    def body(pages: Sheet) -> None:
        below(f"Test case {pages.page_number}", size=15, font="Helvetica-Bold", step=24)(pages)

    text = read(count, body, lambda pages: pages.at(290, 815, str(pages.page_number), 9)).text
    assert [f"Test case {page}" in text for page in range(1, count + 1)] == [True] * count


@pytest.mark.parametrize("count", LENGTHS)
def test_a_form_on_each_page_is_text(count: int) -> None:
    names = ("Test record", "Name of the operator:", "Date:", "Instrument:", "Result:")

    def body(pages: Sheet) -> None:
        for name in names:
            pages.line(name, step=22)

    text = words(read(count, body, head).text)
    assert [text.count(name) for name in names] == [count] * len(names)


@pytest.mark.parametrize("count", LENGTHS)
def test_formulas_that_pages_end_with_are_text(count: int) -> None:
    def body(pages: Sheet) -> None:
        below()(pages)
        pages.at(200, 765, f"p = {NOUNS[pages.page_number]}")
        pages.at(500, 765, f"({pages.page_number})")

    text = words(read(count, body, head).text)
    assert [f"p = {NOUNS[page]}" in text and f"({page})" in text for page in range(1, count + 1)] == [True] * count


@pytest.mark.parametrize("count", LENGTHS)
def test_figures_at_the_same_place_of_pages_are_text(count: int) -> None:
    def body(pages: Sheet) -> None:
        for row in range(45):
            pages.at(LEFT, pages.y, NOUNS[(row + pages.page_number) % 12])
            pages.at(480, pages.y, str(7919 * (row + 45 * pages.page_number) % 971))
            pages.y += 14

    text = read(count, body, head).text
    found = text.replace("|", " ").split()
    assert sum(each.isdigit() for each in found) == 45 * count
    assert sum(each in NOUNS for each in found) == 45 * count


@pytest.mark.parametrize(
    "form", ["{n}", "- {n} -", "Page {n}", "Page {n} of {of}", "{n}/{of}", "Seite {n} von {of}", "A-{n}", "[{n}]"]
)
@pytest.mark.parametrize("count", LENGTHS)
def test_printed_page_numbers_are_no_text(count: int, form: str) -> None:
    def foot(pages: Sheet) -> None:
        pages.at(290, 805, form.format(n=pages.page_number, of=count), 9)

    document = read(count, running=foot)
    assert document.text.rstrip().endswith(".")
    assert not any(map(str.isdigit, document.text))


@pytest.mark.parametrize("page", [1, 3])
def test_a_number_on_one_page_alone_is_no_text(page: int) -> None:
    def foot(pages: Sheet) -> None:
        if pages.page_number == page:
            pages.at(290, 805, str(page), 9)

    assert not any(map(str.isdigit, read(3, running=foot).text))


def test_a_number_in_a_row_of_the_text_is_text() -> None:
    def body(pages: Sheet) -> None:
        for row in range(50):
            pages.line(prose(pages.page_number, row))
        pages.at(LEFT, pages.y, "Samples taken")
        pages.at(480, pages.y, str(pages.page_number))

    text = words(read(3, body).text)
    assert [f"Samples taken {page}" in text for page in (1, 2, 3)] == [True] * 3


def test_heads_that_name_the_clause_are_no_text() -> None:
    titles = ("Scope", "Storage of samples", "Marking of recorders", "Testing of seals")

    def body(pages: Sheet) -> None:
        title = titles[pages.page_number - 1]
        below(f"{pages.page_number} {title}", size=13, font="Helvetica-Bold", step=20)(pages)

    def running(pages: Sheet) -> None:
        pages.at(LEFT, 45, f"{pages.page_number} {titles[pages.page_number - 1]}", 8)

    text = words(read(4, body, running).text)
    assert [text.count(title) for title in titles] == [1] * 4


def test_what_is_left_out_is_reported() -> None:
    def running(pages: Sheet) -> None:
        head(pages)
        pages.at(290, 805, f"Page {pages.page_number} of 3", 9)

    result = dict(read(3, running=running).metadata)["running_lines"]
    assert result == "KM 100:2026 Sample recorders (3 pages); Page 1 of 3 (3 pages)"
    assert "running_lines" not in dict(read(3).metadata)


def test_a_list_of_prices_is_no_contents() -> None:
    def body(pages: Sheet) -> None:
        for row in range(40):
            pages.at(LEFT, pages.y, f"{NOUNS[row % 12]} with {NOUNS[row // 12]}")
            pages.at(480, pages.y, str(300 * pages.page_number + 7 * row))
            pages.y += 14

    document = read(3, body)
    assert sum(each.isdigit() for each in document.text.replace("|", " ").split()) == 120


def test_heads_of_parts_close_to_the_text_are_no_text() -> None:
    parts = ("Requirements",) * 4 + ("Storage",) * 4 + ("Marking",) * 4

    def running(pages: Sheet) -> None:
        pages.at(LEFT, 68, "Recorders of samples", 8)
        pages.at(LEFT, 78, parts[pages.page_number - 1], 8)

    text = read(12, running=running).text
    assert not any(part in text for part in {*parts, "Recorders"})


def test_a_number_that_is_all_a_document_says_is_text() -> None:
    pages = sheet()
    pages.at(290, 815, "1")
    assert PdfReader(sandbox=InProcessSandbox()).read(item_of(pages.done())).text == "1"


@pytest.mark.parametrize(
    ("text", "printed", "count"),
    [
        ("- 12 -", "12", None),
        ("Page 12 of 40", "12", 40),
        ("Page | 3", "3", None),
        ("3 | P a g e", "3", None),
        ("xiv", "xiv", None),
        ("A-3", "A-3", None),
        ("S. 7", "7", None),
        ("第 3 页 共 9 页", "3", 9),
    ],
)
def test_forms_of_page_numbers(text: str, printed: str, count: int | None) -> None:
    found = page_number(text)
    assert found is not None
    assert (found.printed, found.count) == (printed, count)


@pytest.mark.parametrize("text", ["(3)", "3 m", "Step 3", "Table 3", "3.1 General", "NOTE 1", "12 May 2026", "12345"])
def test_what_is_no_page_number(text: str) -> None:
    assert page_number(text) is None
