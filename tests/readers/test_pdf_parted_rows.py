"""Tables of PDF files whose rows level lines part and nothing parts the columns; heads whose lines group columns."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.readers.pdf_files import HEIGHT, LEFT, SENTENCE, Sheet, sheet
from tests.readers.pdf_tables import Row, plain, read, rule, tables

HEAD: Row = ("ID", "Requirement", "Verification")
NEEDS: list[Row] = [
    ("SYS-1", ("The system shall stop the pump within 5 s after the level is", "too high."), "Test"),
    (
        "SYS-2",
        ("The system shall close the valve within 6 s after the lid has", "been opened."),
        ("Analysis and", "test"),
    ),
    ("SYS-3", "The system shall show its state.", "Test"),
    ("SYS-4", ("The system shall keep all values of the last thirty days in its", "own store."), "Inspection"),
]


def parted(pages: Sheet, rows: Sequence[Row], xs: Sequence[float], end: float, *, closed: bool = True) -> None:
    """Draw rows with a line above each, and one below the last; not closed without the first and the last one."""
    for number, row in enumerate(rows):
        if closed or number:
            rule(pages, pages.y - 10, xs[0] - 4, end)
        deep = max(1 if isinstance(cell, str) else len(cell) for cell in row)
        for x, cell in zip(xs, row, strict=True):
            for step, text in enumerate([cell] if isinstance(cell, str) else cell):
                pages.at(x, pages.y + 2 + 12 * step, text, 9)
        pages.y += 6 + 12 * deep
    if closed:
        rule(pages, pages.y - 10, xs[0] - 4, end)
    pages.y += 16


def test_rows_that_lines_part_are_rows_however_many_lines_their_cells_have() -> None:
    pages = sheet()
    pages.paragraph(SENTENCE, SENTENCE)
    parted(pages, [HEAD, *NEEDS], (LEFT, 130, 376), 450)
    pages.paragraph(SENTENCE)
    document = read(pages)
    assert tables(document) == [plain([HEAD, *NEEDS])]
    assert document.text.rstrip().endswith(SENTENCE)


def test_a_table_without_an_upper_and_a_lower_line_has_its_head_and_its_last_row() -> None:
    pages = sheet()
    pages.paragraph(SENTENCE, SENTENCE)
    parted(pages, [HEAD, *NEEDS], (LEFT, 130, 376), 450, closed=False)
    pages.paragraph(SENTENCE)
    assert tables(read(pages)) == [plain([HEAD, *NEEDS])]


def test_lines_of_a_data_sheet_part_its_groups_and_its_conditions() -> None:
    rows: list[Row] = [
        ("PARAMETER", "TEST CONDITIONS", "MIN", "TYP", "MAX", "UNIT"),
        ("OFFSET VOLTAGE", "", "", "", "", ""),
        ("Input offset voltage", "VS = 5 V", "", "0.5", "2", "mV"),
        ("", "TA = -40 °C to 125 °C", "", "", "3", "mV"),
        ("Supply rejection", "VS = 1.8 V to 5.5 V", "80", "100", "", "dB"),
        ("INPUT BIAS CURRENT", "", "", "", "", ""),
        ("Input bias current", "", "", "5", "", "pA"),
    ]
    pages = sheet()
    pages.paragraph(SENTENCE, SENTENCE)
    parted(pages, rows, (LEFT, 190, 320, 360, 400, 440), 480)
    assert tables(read(pages)) == [plain(rows)]


def test_text_and_tables_between_the_lines_of_a_page_are_no_rows() -> None:
    pages = sheet()
    for number in range(4):
        rule(pages, pages.y, LEFT, 520)
        pages.y += 24
        pages.paragraph(f"{SENTENCE[:-1]} or {number}.", SENTENCE)
        pages.line(f"Table {number}: Values")
        pages.y += 10
    rule(pages, pages.y, LEFT, 520)
    assert tables(read(pages)) == []


def test_lines_below_the_names_of_groups_tell_which_columns_they_name() -> None:
    pages = sheet()
    pages.paragraph(SENTENCE, SENTENCE)
    y, xs = pages.y, (LEFT, 180, 250, 320, 390)
    for at in (y, y + 28, y + 28 + 14 * 6):
        rule(pages, at, LEFT - 4, 440)
    for start, name in ((170, "Static load"), (310, "Dynamic load")):
        pages.at(start + 30, y + 11, name, 9)
        rule(pages, y + 14, start, start + 125)
    rows = [["Size", "min.", "max.", "min.", "max."]]
    rows += [[f"M{2 * row + 6}", f"{row}.1", f"{row + 3}.2", f"{row + 5}.3", f"{row + 8}.4"] for row in range(6)]
    for number, row in enumerate(rows):
        for x, text in zip(xs, row, strict=True):
            pages.at(x, y + 24 + 14 * number, text, 9)
    head = ["Size", "Static load min.", "Static load max.", "Dynamic load min.", "Dynamic load max."]
    assert tables(read(pages)) == [[head, *rows[1:]]]


def test_a_row_that_continues_over_the_page_is_one_row() -> None:
    rows: list[Row] = [("No.", "Requirement", "By"), ("1", "The door opens outwards.", "test")]
    begun, rest = (
        "The pump stops within 5 s and is not started before an",
        "operator has written the reason into the log.",
    )
    pages = sheet()
    pages.paragraph(SENTENCE, SENTENCE)
    pages.y = 680
    pages.grid([*plain(rows), ["2", begun, "sight"]], (40, 300, 60))
    pages.next_page()
    pages.grid([["", rest, ""], ["3", "The lamp is green.", "test"]], (40, 300, 60))
    pages.paragraph(SENTENCE)
    assert tables(read(pages)) == [
        [
            *plain(rows),
            ["2", f"{begun} {rest}", "sight"],
            ["3", "The lamp is green.", "test"],
        ]
    ]


def spaced(pages: Sheet, rows: Sequence[Row], xs: Sequence[float], space: float) -> None:
    """Draw a bold head and rows without any line, with some space between two rows."""
    for number, row in enumerate(rows):
        deep = max(1 if isinstance(cell, str) else len(cell) for cell in row)
        for x, cell in zip(xs, row, strict=True):
            for step, text in enumerate([cell] if isinstance(cell, str) else cell):
                pages.at(x, pages.y + 11 * step, text, 9, "Helvetica" if number else "Helvetica-Bold")
        pages.y += space + 11 * deep
    pages.y += 16


@pytest.mark.parametrize("space", [0.0, 8.0])
def test_a_bold_head_tells_the_columns_of_a_table_without_lines(space: float) -> None:
    pages = sheet()
    pages.paragraph(SENTENCE, SENTENCE)
    spaced(pages, [HEAD, *NEEDS], (LEFT, 130, 376), space)
    pages.paragraph(SENTENCE)
    document = read(pages)
    assert tables(document) == [plain([HEAD, *NEEDS])]
    assert document.text.rstrip().endswith(SENTENCE)


def test_space_between_rows_parts_them_where_the_first_column_takes_several_lines() -> None:
    rows: list[Row] = [
        ("Hazard", "Measure", "Limit"),
        (("Contact with moving parts of", "the conveyor"), ("Fixed guard, or an interlock", "that stops it"), "850 mm"),
        ("Noise", "Enclosure of the motor", "75 dB"),
        (("Hot surfaces of pipes and", "of valves"), "Insulation", "60 °C"),
        ("Dust", "Extraction where it arises", "1.25 mg"),
    ]
    pages = sheet()
    pages.paragraph(SENTENCE, SENTENCE)
    spaced(pages, rows, (LEFT, 220, 400), 8)
    assert tables(read(pages)) == [plain(rows)]


def test_the_last_line_of_a_table_of_figures_ends_it() -> None:
    pages = sheet()
    pages.paragraph(SENTENCE, SENTENCE)
    y, xs = pages.y, (LEFT, 175, 255, 345, 430)
    head, units = ("Grade", "Yield", "Tensile", "Stretch", "Impact"), ("", "MPa", "MPa", "%", "J")
    rows = [[f"S{200 + 20 * row}", f"{235 + row}", f"{360 + row}", f"{26 - row}", "27"] for row in range(8)]
    for at in (y, y + 26, y + 26 + 14 * 8):
        rule(pages, at, LEFT - 4, 478)
    for number, row in enumerate([head, units]):
        for x, text in zip(xs, row, strict=True):
            pages.at(x, y + 11 + 10 * number, text, 8, "Helvetica" if number else "Helvetica-Bold")
    for number, row in enumerate(rows):
        for x, text in zip(xs, row, strict=True):
            pages.at(x + 16 * (x > LEFT), y + 37 + 14 * number, text, 8)
    pages.y = y + 26 + 14 * 8 + 14
    after = "The operator keeps what was measured in a place where it cannot be changed by others."
    pages.paragraph(after)
    document = read(pages)
    assert tables(document)[0][-1] == rows[-1]
    assert document.text.rstrip().endswith(f"\n{after}")


def test_text_below_a_guessed_table_is_in_none_of_its_cells() -> None:
    rows = [["Part", "Lowest", "Highest", "Usual"], ["", "value", "value", "value"]]
    rows += [[f"Part number {at}", f"{at}.1", f"{at + 10}.25", f"{7 * at}"] for at in range(1, 10)]
    pages = sheet()
    pages.paragraph(SENTENCE, SENTENCE)
    for number, row in enumerate(rows):
        font = "Helvetica" if number > 1 else "Helvetica-Bold"
        for x, text in zip((LEFT, 232, 312, 392), row, strict=True):
            pages.canvas.setFont(font, 9)
            (pages.canvas.drawString if x == LEFT else pages.canvas.drawCentredString)(x, HEIGHT - pages.y, text)
        pages.y += 14 if number else 11
    pages.y += 3
    pages.paragraph(
        "The operator keeps what was measured in a place where it cannot be changed by others before the",
        "end of the year.",
    )
    document = read(pages)
    assert tables(document)[0][-1] == rows[-1]
    assert "\nThe operator keeps what was measured in a place" in document.text


def test_turned_names_of_columns_are_read_along_their_direction() -> None:
    names = ("Design review", "Type test", "Routine test", "Site test")
    pages = sheet()
    pages.paragraph(SENTENCE, SENTENCE)
    top, edges = 130.0, (LEFT, 182.0, 222.0, 262.0, 302.0, 342.0)
    for number, name in enumerate(names):
        pages.canvas.saveState()
        pages.canvas.translate(edges[number + 1] + 24, HEIGHT - top - 76)
        pages.canvas.rotate(90)
        pages.canvas.setFont("Helvetica-Bold", 9)
        for at, word in zip((0, 40), name.split(), strict=True):
            pages.canvas.drawString(at, 0, word)
        pages.canvas.restoreState()
    pages.at(LEFT + 4, top + 70, "Requirement")
    heights = [top, *(top + 80 + 16 * row for row in range(4))]
    for row in range(3):
        for x, text in zip(edges[:-1], (f"Clause 4.{row}", "X", "-", "X", "-"), strict=True):
            pages.at(x + 4, heights[row + 1] + 11, text)
    pages.canvas.grid(edges, [HEIGHT - at for at in heights])
    assert tables(read(pages))[0][0] == ["Requirement", *names]


def test_a_row_of_units_belongs_to_the_head() -> None:
    rows = [
        ["Grade", "Yield", "Stretch", "Class"],
        ["", "MPa", "%", ""],
        ["S235", "235", "26", "A"],
        ["S355", "355", "22", "V"],
    ]
    pages = sheet()
    pages.grid(rows, (90, 90, 90, 90))
    pages.paragraph(SENTENCE)
    pages.grid([["Place", "Class", "Class"], ["", "A", "V"], ["Hall", "1", "2"], ["Yard", "3", "4"]], (90, 90, 90))
    assert tables(read(pages)) == [
        [["Grade", "Yield / MPa", "Stretch / %", "Class"], *rows[2:]],
        [["Place", "Class", "Class"], ["", "A", "V"], ["Hall", "1", "2"], ["Yard", "3", "4"]],
    ]


@pytest.mark.parametrize("drawn", [True, False])
@pytest.mark.parametrize("terms", [("3", "10", "17"), ("Yearly", "Monthly", "Daily")])
def test_lines_and_space_may_part_groups_of_rows(drawn: bool, terms: tuple[str, ...]) -> None:
    groups = (("Owner", "Keeps the records", "Pays the tests"), ("Operator", "Reads the log", "Stops the plant"),
              ("Maker", "Repairs the pump", "Sends the parts", "Trains the staff"))  # fmt: skip
    rows = [["Group", "Duty", "Term"]]
    pages = sheet()
    pages.paragraph(SENTENCE, SENTENCE)
    for at, (group, *duties) in enumerate([("", ""), *groups]):
        if drawn:
            rule(pages, pages.y - 10, LEFT - 4, 412)
        for number, duty in enumerate(duties):
            rows += [[group if number == 0 else "", duty, terms[number]]] if at else []
            for x, text in zip((LEFT, 162, 352), rows[-1], strict=True):
                pages.at(x, pages.y, text, 9, "Helvetica" if at else "Helvetica-Bold")
            pages.y += 14
        pages.y += 3 if drawn else 6
    if drawn:
        rule(pages, pages.y - 10, LEFT - 4, 412)
    pages.y += 16
    pages.paragraph(SENTENCE)
    assert tables(read(pages)) == [rows]
