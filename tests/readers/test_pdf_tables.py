"""Tables of PDF files: grids that lines draw, tables over pages, drawings that are none."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from knowledge_mcp.language.statements import find_statements
from knowledge_mcp.model.document import BlockKind, Document
from knowledge_mcp.readers.pdf.ruled import drawn_of
from tests.readers.page_words import turned
from tests.readers.pdf_files import HEIGHT, LEFT, SENTENCE, Sheet, changed, sheet
from tests.readers.pdf_tables import read, tables


def lines(pages: Sheet, *ends: tuple[float, float, float, float]) -> None:
    for x0, y0, x1, y1 in ends:
        pages.canvas.line(x0, HEIGHT - y0, x1, HEIGHT - y1)


def box(pages: Sheet, x: float, y: float, width: float, height: float) -> None:
    pages.canvas.rect(x, HEIGHT - y - height, width, height)


def cells(pages: Sheet, x: float, y: float, rows: Sequence[Sequence[str]], wide: float = 80, high: float = 20) -> None:
    for row, texts in enumerate(rows):
        for column, text in enumerate(texts):
            box(pages, x + wide * column, y + high * row, wide, high)
            pages.at(x + wide * column + 4, y + high * row + 13, text)


ROWS = [["Class", "Lowest", "Highest"], ["A", "10", "20"], ["B", "30", "40"], ["C", "50", "60"]]


def test_two_tables_side_by_side_are_two() -> None:
    other = [["Gauge", "Days", "Place"], ["rain", "7", "roof"], ["snow", "14", "yard"], ["wind", "21", "mast"]]
    pages = sheet()
    pages.paragraph(SENTENCE, SENTENCE)
    cells(pages, LEFT, 130, ROWS, wide=70)
    cells(pages, LEFT + 225, 130, other, wide=70)
    assert tables(read(pages)) == [ROWS, other]


def test_a_shaded_column_of_figures_is_no_table_without_the_names_beside_it() -> None:
    rows = [["Cash", "$", "1,944", "1,786"], ["Stock", "", "9,059", "8,020"], ["Goodwill", "", "49,208", "49,556"],
            ["Debt", "", "36,195", "37,133"], ["Total assets", "$", "181,476", "154,229"]]  # fmt: skip
    pages = sheet()
    for number, row in enumerate(rows):
        y = 120 + 20 * number
        pages.canvas.setFillColorRGB(0.8, 0.9, 1)
        for x, wide in ((300, 15), (315, 65)):
            pages.canvas.rect(x, HEIGHT - y - 6, wide, 20, stroke=0, fill=1)
        pages.canvas.setFillColorRGB(0, 0, 0)
        for x, text in zip((LEFT, 303, 340, 420), row, strict=True):
            pages.at(x, y, text)
    assert tables(read(pages)) == [rows]


def test_columns_of_figures_that_no_line_parts_are_columns_though_lines_part_the_rows() -> None:
    rows = [["Sales 2023", "2,777", "897", "3,673", "11,154", "3,540"],
            ["Sales 2022", "2,967", "942", "3,909", "11,151", "3,393"],
            ["Growth", "(6)", "(5)", "(6)", "1", "4"], ["Volume", "7", "4", "6", "4", "5"],
            ["Price", "2", "3", "1", "8", "9"]]  # fmt: skip
    pages = sheet()
    for number, row in enumerate(rows):
        for x, text in zip((LEFT, 200, 250, 300, 360, 410), row, strict=True):
            pages.at(x, 120 + 18 * number, text)
    rules = [106.0, *(124.0 + 18 * number for number in range(1, 5))]  # none between the first two rows
    lines(pages, *((LEFT - 6, y, 450, y) for y in rules), *((x, rules[0], x, rules[-1]) for x in (LEFT - 6, 345, 450)))
    assert tables(read(pages)) == [rows]


def test_two_lines_of_a_cell_are_one_row_where_few_columns_have_two_figures() -> None:
    rows = [["Temperature\nrange", "-40\n85", "-20\n70"], ["Mass", "7", "9"], ["Width", "4", "5"], ["Height", "2", "3"]]
    pages = sheet()
    y = 120
    for row in rows:
        high = 30 if "\n" in row[0] else 18
        for column, text in enumerate(row):
            box(pages, LEFT + 80 * column, y, 80, high)
            for at, words in enumerate(text.split("\n")):
                pages.at(LEFT + 80 * column + 4, y + 12 + 12 * at, words)
        y += high
    assert tables(read(pages))[0][0] == ["Temperature range", "-40 85", "-20 70"]


def test_a_row_of_a_form_between_its_texts_is_a_table() -> None:
    labels = ["4. Date", "5. Office", "6. Form"]
    pages = sheet()
    box(pages, LEFT, 100, 240, 100)
    for line in range(7):
        pages.at(LEFT + 4, 113 + 13 * line, "Words that say what the form is for.")
    cells(pages, LEFT, 200, [labels])
    box(pages, LEFT, 220, 240, 100)
    for line in range(7):
        pages.at(LEFT + 4, 233 + 13 * line, "Words that say where the form is used.")
    cells(pages, LEFT, 320, [["8. Limits", "9. Forms", "10. Number"]])
    assert tables(read(pages)) == [[labels], [["8. Limits", "9. Forms", "10. Number"]]]


def test_cells_that_span_rows_and_columns_keep_their_words_whole() -> None:
    pages = sheet()
    pages.paragraph(SENTENCE)
    top, edges = 110.0, (72.0, 152.0, 232.0, 312.0)
    lines(pages, (72, top, 312, top), (152, top + 20, 312, top + 20), (72, top + 40, 312, top + 40))
    lines(pages, (152, top + 60, 312, top + 60), (72, top + 80, 312, top + 80), (72, top + 100, 312, top + 100))
    lines(pages, *((x, top + (20 if x == 232 else 0), x, top + (100 if x in {72, 312} else 80)) for x in edges))
    for x, y, text in (
        (76, 13, "Item"), (156, 13, "Limits that hold in use"), (156, 33, "lowest"), (236, 33, "highest"),
        (76, 53, "Class A"), (156, 53, "10"), (236, 53, "20"), (156, 73, "30"), (236, 73, "40"),
        (76, 93, "All values are taken at noon"),
    ):  # fmt: skip
        pages.at(x, top + y, text)
    assert tables(read(pages)) == [
        [
            ["Item", "Limits that hold in use / lowest", "Limits that hold in use / highest"],
            ["Class A", "10", "20"],
            ["Class A", "30", "40"],
            ["All values are taken at noon", "", ""],
        ]
    ]


def test_columns_that_only_the_head_rules_go_on_below_it() -> None:
    pages = sheet()
    pages.paragraph(SENTENCE)
    for row, (name, mutable, destroyed) in enumerate(
        (("Record", "Mutable", "Kept"), ("Commit", "No", "Yes"), ("Tag", "No", "No"))
    ):
        top = 110 + 20 * row
        box(pages, 72, top, 300, 20)
        for x, text in ((76, name), (176, mutable), (276, destroyed)):
            pages.at(x, top + 13, text)
    lines(pages, (172, 110, 172, 130), (272, 110, 272, 130))
    assert tables(read(pages)) == [[["Record", "Mutable", "Kept"], ["Commit", "No", "Yes"], ["Tag", "No", "No"]]]


def test_words_that_hardly_stand_apart_are_cut_at_the_line_between_them() -> None:
    numbers = [[f"{10**7 + 1000 * row + column}" for column in range(4)] for row in range(4)]
    pages = sheet()
    pages.paragraph(SENTENCE)
    for row, texts in enumerate(numbers):
        for column, text in enumerate(texts):
            box(pages, 72 + 47.5 * column, 110 + 16 * row, 47.5, 16)
            pages.at(73.5 + 47.5 * column, 121 + 16 * row, text)
    assert tables(read(pages)) == [numbers]


def test_a_turned_page_has_the_table_of_an_upright_one() -> None:
    pages = sheet()
    pages.paragraph(SENTENCE)
    cells(pages, LEFT, 110, ROWS, wide=70)
    cells(pages, LEFT + 225, 110, ROWS, wide=70)
    assert tables(read(turned(pages.done(), 90, upright=True))) == [ROWS, ROWS]


def over_pages(*, again: bool) -> Document:
    rows = [[f"K{number}", f"{number * 7}", f"place {number}"] for number in range(1, 31)]
    pages = sheet()
    pages.paragraph(SENTENCE)
    for part in range(3):
        some = rows[10 * part : 10 * part + 10]
        top = 600.0 if part == 0 else 60.0
        headed = again or part == 0
        for row, texts in enumerate([["Key", "Days", "Place"], *some] if headed else some):
            for column, text in enumerate(texts):
                box(pages, 72 + 90 * column, top + 18 * row, 90, 18)
                face = "Helvetica-Bold" if headed and row == 0 else "Helvetica"
                pages.at(76 + 90 * column, top + 18 * row + 12, text, font=face)
        pages.y = 300
        if part < 2:
            pages.next_page()
    pages.paragraph(SENTENCE)
    return read(pages)


@pytest.mark.parametrize("again", [True, False], ids=["header again", "header once"])
def test_a_table_over_pages_is_one_and_each_page_knows_its_rows(*, again: bool) -> None:
    document = over_pages(again=again)
    (table,) = tables(document)
    assert [row[0] for row in table] == ["Key", *(f"K{number}" for number in range(1, 31))]
    (block,) = [block for block in document.blocks if block.kind is BlockKind.TABLE]
    assert block.pages == (1, 2, 3)
    assert {box.page for box in block.boxes} == {1, 2, 3}
    assert document.pages[1].span.of(document.text).startswith("| K11 |")
    assert document.pages[2].span.of(document.text).startswith("| K21 |")


def test_a_table_with_a_head_of_its_own_on_the_next_page_is_another_one() -> None:
    pages = sheet()
    for head in (["Key", "Days"], ["Gauge", "Height"]):
        for row, texts in enumerate([head, ["a", "1"], ["b", "2"], ["c", "3"]]):
            for column, text in enumerate(texts):
                box(pages, 72 + 90 * column, 60 + 18 * row, 90, 18)
                pages.at(76 + 90 * column, 72 + 18 * row, text, font="Helvetica-Bold" if row == 0 else "Helvetica")
        if head[0] == "Key":
            pages.next_page()
    assert [table[0] for table in tables(read(pages))] == [["Key", "Days"], ["Gauge", "Height"]]


# ---- drawings


def classes(pages: Sheet) -> None:
    for column in range(3):
        x = 72.0 + 150 * column
        box(pages, x, 120, 110, 100)
        lines(pages, (x, 140, x + 110, 140), (x, 180, x + 110, 180))
        pages.at(x + 20, 134, ["Pump", "Valve", "Gauge"][column], font="Helvetica-Bold")
        for row, text in enumerate(("- rate: int", "- state: int")):
            pages.at(x + 4, 155 + 14 * row, text)
        for row, text in enumerate(("+ open(): void", "+ close(): void")):
            pages.at(x + 4, 195 + 14 * row, text)
        if column < 2:
            lines(pages, (x + 110, 160, x + 150, 160))


def diagram(pages: Sheet) -> None:
    for row in range(3):
        for column in range(3):
            x, y = 72.0 + 140 * column, 120.0 + 80 * row
            box(pages, x, y, 100, 44)
            pages.at(x + 8, y + 18, f"Stage {row}")
            pages.at(x + 8, y + 32, f"Part {column}")
            if column < 2:
                lines(pages, (x + 100, y + 22, x + 140, y + 22), (x + 134, y + 18, x + 140, y + 22))


def schematic(pages: Sheet) -> None:
    box(pages, 30, 60, 535, 740)
    for chip in range(3):
        x, y = 200.0, 90.0 + 220 * chip
        box(pages, x, y, 150, 190)
        for pin in range(15):
            at = y + 10 + 12 * pin
            lines(pages, (x - 50, at, x, at), (x + 150, at, x + 200, at))
            for dx, text in (
                (4, f"IN{pin}"),
                (110, f"OUT{pin}"),
                (-12, f"{pin}"),
                (154, f"{30 - pin}"),
                (-110, f"NET_{pin}"),
            ):
                pages.at(x + dx, at + 2, text, 6)
    cells(pages, 405, 740, [["Title", "Pump", "A3"], ["Date", "May", "2 of 9"], ["Drawn", "KM", "rev 4"]], 53, 20)


@pytest.mark.parametrize("draw", [classes, diagram, schematic])
def test_a_drawing_is_no_table(draw: Callable[[Sheet], None]) -> None:
    pages = sheet()
    draw(pages)
    pages.y = 820
    assert tables(read(pages)) == []


def test_a_table_below_a_drawing_is_one() -> None:
    pages = sheet()
    diagram(pages)
    cells(pages, LEFT, 420, ROWS)
    assert tables(read(pages)) == [ROWS]


def graphics(count: int, draw: Callable[[int], tuple[float, float, float, float]]) -> Any:
    from liteparse.types import VectorGraphics, VectorLine

    drawn = [VectorLine(*draw(number), True, 1.0, None, False, None) for number in range(count)]
    return VectorGraphics([], drawn)


Ends = tuple[float, float, float, float]


def level(number: int) -> Ends:
    return number % 600, number % 797, number % 600 + 90, number % 797


def net(number: int) -> Ends:
    return (number % 600, 10, number % 600, 800) if number % 2 else (10, number % 797, 590, number % 797)


def upright(number: int) -> Ends:
    return number * 0.01, number % 7, number * 0.01, number % 7 + 30


@pytest.mark.parametrize("draw", [level, net, upright])
@pytest.mark.parametrize("count", [29_000, 400_000])
def test_a_page_full_of_lines_is_done_in_time(draw: Callable[[int], Ends], count: int) -> None:
    page = graphics(count, draw)
    begun = time.process_time()
    drawn_of(page)
    assert time.process_time() - begun < 8


# ---- requirements in tables


def test_a_rationale_with_must_is_no_requirement() -> None:
    pages = sheet()
    pages.heading("1 Requirements")
    pages.paragraph(SENTENCE)
    rows = [
        ["ID", "Requirement", "Rationale", "Verification"],
        ["R-1", "The pump shall stop.", "Crews must be safe.", "Test"],
        ["R-2", "The lid shall lock.", "Rain must stay out.", "Analysis"],
    ]
    cells(pages, LEFT, 150, rows, wide=112)
    document = read(pages)
    found = find_statements(document)
    assert [each.text for each in found if "shall" in each.text or "must" in each.text][1:] == [
        "The pump shall stop.",
        "The lid shall lock.",
    ]


def test_letters_of_a_mathematical_font_are_printed_letters_and_no_formula() -> None:
    pikepdf = pytest.importorskip("pikepdf")

    def mathematical(document: Any) -> None:
        for font in document.pages[0].Resources.Font.values():
            if font.BaseFont == "/Times-Italic":
                font.BaseFont = pikepdf.Name("/CMMI10")
                font.FirstChar, font.LastChar, font.Widths = 32, 126, pikepdf.Array([500] * 95)

    pages = sheet()
    pages.paragraph(SENTENCE)
    pages.at(LEFT, 120, "The weight")
    pages.at(LEFT + 51, 120, "w", font="Times-Italic")
    pages.at(LEFT + 56, 121.5, "t", 7, font="Times-Italic")
    pages.at(LEFT + 60, 120, "=8 of the pump, as printed, shall hold.")
    pages.y = 140
    pages.paragraph(SENTENCE)
    assert "The weight wt=8 of the pump, as printed, shall hold." in read(changed(pages.done(), mathematical)).text


def test_names_with_low_lines_that_a_narrow_cell_cuts_are_whole() -> None:
    pages = sheet()
    rows = [[["SYS_RE", "Q_0012"], ["The pump stops."]], [["SYS_RE", "Q_0013"], ["The horn", "sounds."]],
            [["SYS_0014", "SYS_0015"], ["Both are short."]]]  # fmt: skip
    for number, row in enumerate([[["ID"], ["Need"]], *rows]):
        y = 120 + 30 * number
        for x, wide, texts in ((LEFT, 52, row[0]), (LEFT + 52, 150, row[1])):
            box(pages, x, y, wide, 30)
            for place, text in enumerate(texts):
                pages.at(x + 4, y + 12 + 12 * place, text)
    assert tables(read(pages)) == [
        [
            ["ID", "Need"],
            ["SYS_REQ_0012", "The pump stops."],
            ["SYS_REQ_0013", "The horn sounds."],
            ["SYS_0014 SYS_0015", "Both are short."],
        ]
    ]
