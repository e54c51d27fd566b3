"""What pages of military, space and data-sheet print lost or tore apart: tables, ticks, sentences, running heads."""

from __future__ import annotations

from knowledge_mcp.model.document import BlockKind
from tests.readers.pdf_files import HEIGHT, LEFT, SENTENCE, Sheet, sheet
from tests.readers.pdf_tables import read, tables
from tests.readers.shown import texts

_INDENT = 36.0
_RIGHT = 320.0
_CLASSES = [
    ["Control", "Grave", "Serious", "Slight"],
    ["1", "Class 1", "Class 1", "Class 3"],
    ["2", "Class 1", "Class 2", "Class 3"],
    ["3", "Class 2", "Class 3", "Class 4"],
    ["4", "Class 3", "Class 4", "Class 4"],
    ["5", "Class 5", "Class 5", "Class 5"],
]


def test_a_table_of_classes_that_later_pages_name_is_no_contents() -> None:
    pages = sheet()
    pages.grid(_CLASSES, [80, 110, 110, 110])
    for page in range(2, 8):
        pages.next_page()
        pages.grid([[f"Class {number}", f"{page}{number} tests"] for number in range(1, 6)], [100, 200])
    assert tables(read(pages))[0] == _CLASSES


def _item(pages: Sheet, mark: str, first: str, *rest: str) -> None:
    """Print an item whose first line alone is indented, as American military standards have it."""
    pages.line(f"{mark} {first}", x=LEFT + _INDENT)
    pages.paragraph(*rest)


def test_items_whose_first_line_alone_is_indented_are_whole() -> None:
    words = "the contractor shall keep all of the samples that are read by the gauge"
    pages = sheet()
    for mark in "abcd":
        _item(pages, f"{mark}.", f"{words[:58]} {mark * 3}", f"{words} as {mark} says, of Table", "V. These are kept.")
    pages.line("1. A short item without an end", x=LEFT + _INDENT)
    pages.paragraph("The gauge is read again on the day after that, and then no more.")
    found = read(pages)
    assert texts(found, BlockKind.LIST_ITEM) == [
        *(f"{mark}. {words[:58]} {mark * 3} {words} as {mark} says, of Table V. These are kept." for mark in "abcd"),
        "1. A short item without an end",
    ]


def test_code_at_the_edge_of_an_item_is_no_block_of_its_own() -> None:
    pages = sheet()
    pages.paragraph(*[SENTENCE] * 12)
    for _ in range(2):
        pages.at(LEFT, pages.y, "\u2022")
        pages.line("The file has the address of the folder in which the samples are kept, which is", x=LEFT + 18)
        pages.line("originalFolderOfAllSamples.entries", font="Courier", size=9, x=LEFT + 18)
    pages.line("make all", font="Courier", size=9, x=LEFT + 18)
    found = read(pages)
    item = "The file has the address of the folder in which the samples are kept, which is"
    assert texts(found, BlockKind.LIST_ITEM)[0] == f"• {item} originalFolderOfAllSamples.entries"


def test_a_head_of_two_bold_lines_close_to_the_text_is_none_of_it() -> None:
    pages = sheet()

    def furniture(each: Sheet) -> None:
        each.at(430, 44, "KM-ST-80C Rev.1", 11, "Helvetica-Bold")
        each.at(430, 59, "15 February 2026", 11, "Helvetica-Bold")

    pages.furniture = furniture
    for page in range(24):
        pages.y = 76
        for row in range(52):
            pages.line(f"Sample {page * 7 + row} of the gauge is kept until somebody has read it on the day {row}.")
        pages.next_page() if page < 23 else None
    found = read(pages).text
    assert "KM-ST-80C" not in found
    assert "February" not in found


def test_signs_that_lean_stand_in_their_cells() -> None:
    pages = sheet()
    rows = [["Document", "Draft", "Issue"], ["Plan of the tests", "", ""], ["Report of the tests", "", ""]]
    top = pages.y
    pages.grid(rows, [180, 80, 80])
    for column, row in ((0, 1), (1, 2), (0, 2)):
        leaning = pages.canvas.beginText()
        leaning.setFont("Helvetica", 12)
        leaning.setTextTransform(1, 0, 1 / 3, 1, LEFT + 220 + 80 * column, HEIGHT - (top + 18 * row + 3))
        leaning.textOut("X")
        pages.canvas.drawText(leaning)
    assert tables(read(pages)) == [[rows[0], ["Plan of the tests", "X", ""], ["Report of the tests", "X", "X"]]]


def test_columns_above_a_wide_table_are_read_one_after_the_other() -> None:
    words = "the gauge keeps all samples that it has read so"
    pages = sheet()
    for at in range(12):
        pages.at(LEFT, 100 + 13 * at, f"{words} l{at}")
        pages.at(_RIGHT, 100 + 13 * at, f"{words} r{at}")
    pages.y = 320
    rows = [["Part", "Range", "Package"], *([f"K{at}", "0 to 70", "8 pins"] for at in range(6))]
    pages.grid(rows, [150, 150, 151])
    pages.at(290, 800, "1 of 15", 9)
    pages.at(480, 800, "REV: 121906", 9)
    found = read(pages)
    places = [found.text.index(f" {side}{at}") for side in "lr" for at in range(12)]
    assert places == sorted(places)
    assert tables(found) == [rows]


def test_entries_between_upright_lines_alone_are_rows() -> None:
    entries = [
        ("1", "VIN", ["Input of the gauge, from zero volts", "to the volts of the supply."]),
        ("2", "GND", ["Ground of the gauge."]),
        ("3", "BUSY", ["High while the gauge is read, and low", "at all other times of the", "day."]),
    ]
    pages = sheet()
    pages.paragraph(SENTENCE)
    top, head, edges = 130.0, 148.0, (LEFT, 120.0, 180.0, 420.0)
    y = head + 12
    for x, name in zip(edges, ("Pin", "Name", "Description"), strict=False):
        pages.at(x + 4, head - 5, name, 9)
    for pin, name, lines in entries:
        pages.at(edges[0] + 4, y, pin, 9)
        pages.at(edges[1] + 4, y, name, 9)
        for text in lines:
            pages.at(edges[2] + 4, y, text, 9)
            y += 12
    for at in (top, head, y):
        pages.canvas.line(edges[0], HEIGHT - at, edges[-1], HEIGHT - at)
    for x in edges[1:3]:
        pages.canvas.line(x, HEIGHT - top, x, HEIGHT - y)
    rows = [[pin, name, " ".join(lines)] for pin, name, lines in entries]
    assert tables(read(pages)) == [[["Pin", "Name", "Description"], *rows]]


def test_names_that_stand_apart_in_one_cell_of_the_head_are_columns() -> None:
    pages = sheet()
    figures = [("Clock", "0", "", "100"), ("Hold time", "4.0", "", ""), ("Rise time", "", "", "1000"),
               ("Battery", "2.0", "3", "3.5")]  # fmt: skip
    pages.paragraph(SENTENCE)
    top = pages.y
    pages.grid([["Parameter", "", "Unit"], *([name, "", "ns"] for name, *_ in figures)], [150, 180, 60])
    for row, values in enumerate([("", "MIN", "TYP", "MAX"), *figures]):
        for column, value in enumerate(values[1:]):
            pages.at(LEFT + 160 + 60 * column, top + 18 * row + 3, value)
    head = ["Parameter", "MIN", "TYP", "MAX", "Unit"]
    assert tables(read(pages)) == [[head, *([*values, "ns"] for values in figures)]]


def test_a_head_on_coloured_ground_is_parted_from_the_first_row() -> None:
    pages = sheet()
    rows = [("VDD", "supply", "-0.5", "3.6"), ("VBAT", "battery", "-0.5", "4.6"), ("IDD", "current", "1", "100"),
            ("Tstg", "storage", "-40", "125")]  # fmt: skip
    columns, end = (LEFT, 130.0, 330.0, 400.0), 470.0
    pages.heading("7. Limiting values")
    top = pages.y
    pages.canvas.line(LEFT, HEIGHT - top, end, HEIGHT - top)
    pages.at(LEFT, top + 16, "Table 4:", 9, "Helvetica-Bold")
    pages.at(130, top + 16, "Limiting values", 9, "Helvetica-Bold")
    pages.at(LEFT, top + 28, "In accordance with the Absolute Maximum Rating System.", 9, "Helvetica-Oblique")
    heights = [top + 34, *(top + 64 + 15 * row for row in range(len(rows)))]
    for at in heights:
        pages.canvas.line(LEFT, HEIGHT - at, end, HEIGHT - at)
    for x, name in zip(columns, ("Symbol", "Parameter", "Min", "Max"), strict=True):
        pages.at(x + 2, top + 45, name, 9, "Helvetica-Bold")
    for row, cells in enumerate(rows):
        for x, text in zip(columns, cells, strict=True):
            pages.at(x + 2, top + 60 + 15 * row, text, 9)
    found = read(pages)
    assert tables(found) == [[["Symbol", "Parameter", "Min", "Max"], *map(list, rows)]]
    assert [section.title for section in found.sections] == ["7. Limiting values"]
