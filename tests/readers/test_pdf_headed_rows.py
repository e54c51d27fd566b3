"""Tables of PDF files without lines between columns or rows: a header, with a rule below it or without, shows them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.readers.pdf_files import LEFT, SENTENCE, Sheet, sheet
from tests.readers.pdf_tables import Row, plain, read, rule, tables

NAMES: Row = ("#", "Description", "A", "B", "C", "Source")
CHECKS: list[Row] = [
    ("4.1.1", ("Check that the log of the plant names the person who", "changed a limit."), "", "x", "x", "12"),
    ("4.1.2", ("Check that nobody can", "remove a line of the log."), "x", "x", "x", ("5.1.2 /", "5.1.3")),
    ("4.1.3", "Check that the clock is set.", "", "", "x", ""),
    (
        "4.1.4",
        ("Check that Messages of the alarm reach", "The guard within one minute."),
        "",
        ("20", "Lines"),
        ("30", "Lines"),
        "14",
    ),
]
XS = (LEFT, 110, 372, 402, 432, 462)


def spaced(pages: Sheet, rows: Sequence[Row], xs: Sequence[float] = XS, *, ruled: bool, space: float = 9) -> None:
    """Draw rows with space between them; the names of columns are in the middle of narrow ones."""
    for number, row in enumerate(rows):
        for x, cell in zip(xs, row, strict=True):
            for step, text in enumerate([cell] if isinstance(cell, str) else cell):
                pages.at(x + 5 * (number == 0 and len(text) == 1), pages.y + 12 * step, text, 9)
        pages.y += space + 12 * max(1 if isinstance(cell, str) else len(cell) for cell in row)
        if ruled and number == 0:
            rule(pages, pages.y - 14, LEFT - 6, 520)
    pages.y += 14


@pytest.mark.parametrize("ruled", [True, False])
def test_space_parts_rows_whose_cells_have_several_lines_or_none(ruled: bool) -> None:
    pages = sheet()
    pages.paragraph(SENTENCE, SENTENCE)
    spaced(pages, [NAMES, *CHECKS], ruled=ruled)
    pages.paragraph(SENTENCE)
    spaced(pages, [NAMES, CHECKS[0]], ruled=ruled)
    pages.paragraph(SENTENCE, SENTENCE)
    document = read(pages)
    assert tables(document) == [plain([NAMES, *CHECKS]), plain([NAMES, CHECKS[0]])]
    assert document.text.count(SENTENCE) == 5


def test_rows_without_space_begin_where_the_first_column_has_words() -> None:
    pages = sheet()
    pages.paragraph(SENTENCE, SENTENCE)
    spaced(pages, [NAMES, *CHECKS[:3]], ruled=True, space=0)
    pages.paragraph(SENTENCE)
    assert tables(read(pages)) == [plain([NAMES, *CHECKS[:3]])]


def test_a_running_line_with_a_rule_below_it_is_no_header() -> None:
    pages = sheet()
    for x, text in ((LEFT, "Plant handbook"), (260, "Issue 4"), (440, "Page 12 of 80")):
        pages.at(x, pages.y, text, 9)
    rule(pages, pages.y + 5, LEFT - 6, 520)
    pages.y += 18
    pages.paragraph(SENTENCE, SENTENCE, "It is so.", SENTENCE)
    document = read(pages)
    assert not tables(document)
    assert document.text.count(SENTENCE) == 3


def test_a_column_without_a_name_is_not_merged_with_its_neighbour() -> None:
    pages = sheet()
    pages.paragraph(SENTENCE, SENTENCE)
    for x, name in ((110, "Substance"), (300, "Mass"), (360, "Limit"), (420, "Days")):
        pages.at(x, pages.y, name, 9)
    rule(pages, pages.y + 5, LEFT - 6, 520)
    for number, (name, *values) in enumerate(
        [("Benzene", "78", "5", "20"), ("Toluene", "92", "7", "18"), ("Styrene", "104", "9", "13")], 31
    ):
        pages.y += 14
        pages.at(92, pages.y, str(number), 9)
        for x, text in zip((110, 300, 360, 420), (name, *values), strict=True):
            pages.at(x, pages.y, text, 9)
    pages.y += 30
    pages.paragraph(SENTENCE)
    rows = [row for table in tables(read(pages)) for row in table]
    assert not any(cell == "31 Benzene" for row in rows for cell in row)


@pytest.mark.parametrize("over", [(200, 345), (215, 355)])
def test_names_of_groups_are_no_columns(over: tuple[int, int]) -> None:
    pages = sheet()
    pages.paragraph(SENTENCE, SENTENCE)
    for x, name in zip(over, ("Orders", "Sales"), strict=True):
        pages.at(x, pages.y, name, 9)
    pages.y += 12
    xs = (LEFT, 170, 240, 310, 380)
    rows = [("Kind", "1999", "2000", "1999", "2000"), ("Books", "12", "14", "30", "41"), ("Toys", "6", "8", "11", "15")]
    spaced(pages, rows, xs, ruled=True, space=2)
    pages.paragraph(SENTENCE)
    assert [table[-2:] for table in tables(read(pages))] == [plain(rows[1:])]
