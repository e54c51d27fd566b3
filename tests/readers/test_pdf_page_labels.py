"""Pages are cited by the numbers printed on them, if the file states none, or others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from knowledge_mcp.model.document import Document
from knowledge_mcp.readers.pdf.reader import PdfReader
from tests.readers.in_process import InProcessSandbox
from tests.readers.pdf_files import LEFT, Sheet, changed, item_of, sheet
from tests.readers.test_pdf_running_lines import prose


def read(numbers: Sequence[str], *, others: Sequence[str] = (), stated: Any = None) -> Document:
    """Read a file whose pages have these numbers at the foot, and others at the head; `stated` changes the file."""
    pages = sheet()

    def furniture(page: Sheet) -> None:
        pages.at(290, 800, numbers[page.page_number - 1], 9)
        if others:
            pages.at(LEFT, 40, f"Notes on wells, page {others[page.page_number - 1]}", 9)
            pages.at(500, 40, others[page.page_number - 1], 9)

    pages.furniture = furniture
    for page in range(1, len(numbers) + 1):
        for row in range(20):
            pages.line(prose(page, row))
        if page < len(numbers):
            pages.next_page()
    content = pages.done()
    return PdfReader(sandbox=InProcessSandbox()).read(item_of(changed(content, stated) if stated else content))


def labels(document: Document) -> list[str]:
    """List the labels of all pages."""
    return [page.label for page in document.pages]


def test_roman_front_matter_and_the_body_have_their_printed_numbers_and_a_cover_has_none() -> None:
    printed = ["", "", "i", "ii", "iii", "iv", *map(str, range(1, 13))]
    document = read(printed)
    assert labels(document) == printed
    assert not {"ii", "iii", "iv"} & set(document.text.split())


def test_pages_whose_number_is_not_printed_continue_their_series() -> None:
    document = read(["", "ii", "iii", "iv", "", *map(str, range(2, 6)), "", *map(str, range(7, 12))])
    assert labels(document) == ["i", "ii", "iii", "iv", *map(str, range(1, 12))]


def test_numbers_by_chapter_are_printed_numbers() -> None:
    printed = [f"{chapter}-{page}" for chapter in (9, 10) for page in range(1, 6)]
    assert labels(read(printed)) == printed


def test_labels_that_the_file_states_wrongly_give_way_to_the_printed_numbers() -> None:
    def all_roman(document: Any) -> None:
        import pikepdf

        document.Root.PageLabels = pikepdf.Dictionary(Nums=pikepdf.Array([0, pikepdf.Dictionary(S=pikepdf.Name.r)]))

    printed = ["i", "ii", "iii", *map(str, range(1, 10))]
    assert labels(read(printed, stated=all_roman)) == printed


def test_nothing_is_concluded_from_numbers_of_two_series_or_of_a_few_pages() -> None:
    places = [str(page) for page in range(1, 13)]
    journal = [str(page) for page in range(301, 313)]
    assert labels(read([str(page) for page in range(5, 17)], others=journal)) == places
    assert labels(read([*[""] * 8, "21", "22", "23", "24"])) == places


def test_pages_that_are_counted_from_0_have_the_numbers_that_they_print() -> None:
    printed = [str(page) for page in range(12)]
    assert labels(read(printed)) == printed
