"""Running heads and feet of a PDF go; what text begins or ends pages with by chance stays, however often it does."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from knowledge_mcp.readers.pdf.reader import PdfReader
from tests.readers.in_process import InProcessSandbox
from tests.readers.pdf_files import LEFT, Sheet, item_of, read_pdf, sheet

PAGES = 24
NOUNS = "well pump valve gauge tank pipe filter sluice meter seal bolt flange".split()
VERBS = "held lost drew fed cooled marked turned raised".split()


def prose(page: int, row: int = 0) -> str:
    """Write a line that no other page has at its height, numbers apart."""
    at = 31 * page + 7 * row
    one, other, third = NOUNS[at % 12], NOUNS[at // 12 % 12], NOUNS[(at // 5 + row) % 12]
    return (
        f"The {one} of the {other} {VERBS[at % 8]} the {third} before a {NOUNS[page % 12]} {VERBS[page % 7]} it again."
    )


def read(
    first: Callable[[int], str],
    *,
    last: Mapping[int, str] | None = None,
    furniture: Callable[[Sheet], None] | None = None,
    top: float = 70,
) -> str:
    """Read a document of many pages of prose; each begins with a line of its own, and may end with one."""
    pages = sheet()
    pages.furniture = furniture or (lambda each: None)
    for page in range(1, PAGES + 1):
        pages.y = top
        pages.line(first(page))
        for row in range(1, 53 - round((top - 70) / 13)):
            pages.line(prose(page, row))
        if last and page in last:
            pages.line(last[page])
        if page < PAGES:
            pages.next_page()
    return PdfReader(sandbox=InProcessSandbox()).read(item_of(pages.done())).text


def words(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("line", ["(in millions)", "EXAMPLE:", "Year ended 31 December,", "}", "PART"])
def test_what_some_pages_begin_with_stays(line: str) -> None:
    begun = {3, 8, 9, 14, 20}
    assert read(lambda page: line if page in begun else prose(page)).count(line) == len(begun)


def test_braces_on_both_sides_of_page_breaks_stay() -> None:
    breaks = (4, 5, 11, 17)
    text = read(lambda page: "}" if page - 1 in breaks else prose(page), last=dict.fromkeys(breaks, "{"))
    assert (text.count("{"), text.count("}")) == (len(breaks), len(breaks))


def test_titles_of_parts_at_the_top_of_pages_stay() -> None:
    parts = {1: "PART I", 7: "PART II", 15: "PART III", 21: "PART IV"}
    text = words(read(lambda page: parts.get(page, prose(page))))
    assert all(f"{part} {prose(page, 1)}" in text for page, part in parts.items())


def test_titles_of_exhibits_above_the_text_stay() -> None:
    exhibits = {18: "21.1", 20: "23.1", 21: "31.1", 22: "31.2", 23: "32.1", 24: "32.2"}

    def furniture(each: Sheet) -> None:
        if each.page_number in exhibits:
            each.at(480, 40, f"Exhibit {exhibits[each.page_number]}")

    text = read(prose, furniture=furniture)
    assert [number for number in exhibits.values() if f"Exhibit {number}" in text] == [*exhibits.values()]


def test_pages_that_are_counted_chapter_by_chapter_are_no_titles() -> None:
    def furniture(each: Sheet) -> None:
        each.at(480, 40, f"Section {1 + each.page_number // 8}-{1 + each.page_number % 8}")

    assert "Section" not in read(prose, furniture=furniture)


def test_heads_of_books_go_though_a_section_takes_one_page_and_they_stand_far_down() -> None:
    def furniture(each: Sheet) -> None:
        number = each.page_number
        if number % 2:
            each.at(LEFT, 106, f"3.{number}. {NOUNS[number % 12].upper()} AND {NOUNS[number % 7].upper()}")
            each.at(500, 106, str(number))
        else:
            each.at(LEFT, 106, str(number))
            each.at(380, 106, "CHAPTER 3. WELLS AND PUMPS")

    text = read(prose, furniture=furniture, top=140)
    assert "CHAPTER" not in text
    assert " AND " not in text
    assert words(text).startswith(f"{prose(1)} {prose(1, 1)}")


def test_captions_of_tables_on_page_after_page_stay() -> None:
    text = read(lambda page: f"Table {page - 9}" if 10 <= page <= 14 else prose(page))
    assert [f"Table {number}" in text for number in range(1, 6)] == [True] * 5


def test_the_head_of_one_section_goes_but_for_its_first() -> None:
    head = "Notes to the accounts (continued)"
    text = words(read(lambda page: head if 9 <= page <= 14 else prose(page)))
    assert text.count(head) == 1
    assert f"{head} {prose(9, 1)}" in text


def test_heads_and_feet_of_all_pages_go() -> None:
    def furniture(each: Sheet) -> None:
        each.at(LEFT, 40, "KM 100:2026  Sample recorders", 9)
        each.at(290, 815, str(each.page_number), 9)

    text = read(lambda page: "EXAMPLE:" if page in {2, 5, 6} else prose(page), furniture=furniture)
    assert "Sample recorders" not in text
    assert text.count("EXAMPLE:") == 3
    assert not any(map(str.isdigit, text))


def with_number(each: Sheet, y: float) -> None:
    """Print a header in the print of the text, close to it: the page number is a tab from the title."""
    each.at(LEFT, y, "Guide to Sample Recorders")
    each.at(LEFT + 180, y, f"Page {each.page_number}")


def test_a_header_close_to_the_text_in_its_print_goes_if_it_states_the_pages() -> None:
    text = read(prose, furniture=lambda each: with_number(each, 57))
    assert "Guide to" not in text
    assert "Page " not in text
    assert all(prose(page) in text for page in range(1, PAGES + 1))


def test_a_line_of_a_few_pages_that_ends_with_the_number_of_its_page_stays() -> None:
    def furniture(each: Sheet) -> None:
        if each.page_number in {5, 11, 12, 19}:
            with_number(each, 57)

    assert read(prose, furniture=furniture).count("Guide to") == 4


def test_a_header_directly_above_the_rows_of_a_table_is_no_row_of_it() -> None:
    pages = sheet()
    pages.furniture = lambda each: with_number(each, 57)
    for page in range(1, 7):
        pages.y = 72
        if page == 4:
            for row in range(12):
                pages.at(LEFT, pages.y, f"Form {120 + 7 * row}")
                pages.at(210, pages.y, "-")
                pages.at(250, pages.y, f"Report on the {NOUNS[row]} of a recorder")
                pages.y += 20
        else:
            pages.paragraph(*(prose(page, row) for row in range(30)))
        if page < 6:
            pages.next_page()
    text = read_pdf(pages).text
    assert "Guide to" not in text
    assert "| Form 120 | - | Report on the well of a recorder |" in text


def test_the_head_of_a_table_at_the_top_of_a_page_stays_though_other_tables_have_it_too() -> None:
    pages = sheet()
    for page in range(1, 13):
        pages.y = 50
        if page in {3, 5, 7, 9}:
            pages.line("Year ended 31 December,", x=LEFT + 150)
        elif page == 11:
            pages.grid(
                [["Year ended 31 December,", ""], *([f"Form {row}", f"{31 * row}"] for row in range(1, 6))], [160, 160]
            )
        pages.paragraph(*(prose(page, row) for row in range(30)))
        if page < 12:
            pages.next_page()
    assert "| Year ended 31 December, |" in read_pdf(pages).text
