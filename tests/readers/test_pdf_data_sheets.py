"""Data sheets and reports: rows that no line parts, tables beside columns, contents in columns and behind the text."""

from __future__ import annotations

import itertools

from knowledge_mcp.model.document import Document
from tests.readers.pdf_files import HEIGHT, LEFT, SENTENCE, Sheet, sheet
from tests.readers.pdf_tables import read, tables

NAMES = ("Alder", "Birch", "Cedar", "Douglas fir", "Elm", "Fir", "Ginkgo")
RIGHT_COLUMN = 320.0


def titles(document: Document) -> list[str]:
    return [f"{section.number or ''} {section.title}".strip() for section in document.sections]


def columns_of_figures(rows: list[list[str]], *, step: float = 12) -> Sheet:
    """Draw a table whose lines part its columns and its head, and no rows."""
    pages = sheet()
    pages.paragraph(SENTENCE, SENTENCE)
    top, head, wide = 130.0, 148.0, 100.0
    bottom = head + step * (len(rows) - 1) + 6
    for column in range(len(rows[0]) + 1):
        x = LEFT + wide * column
        pages.canvas.line(x, HEIGHT - top, x, HEIGHT - bottom)
    for y in (top, head, bottom):
        pages.canvas.line(LEFT, HEIGHT - y, LEFT + wide * len(rows[0]), HEIGHT - y)
    for row, cells in enumerate(rows):
        for column, text in enumerate(cells):
            pages.at(LEFT + wide * column + 4, head - 5 if not row else head + step * row - 1, text, 9)
    return pages


def test_figures_below_one_another_are_rows_where_no_line_parts_them() -> None:
    rows = [["Tree", "Height", "Girth"], *([name, f"{10 + at}.5", f"{at}"] for at, name in enumerate(NAMES))]
    rows[3][1] = "-"  # not measured
    assert tables(read(columns_of_figures(rows))) == [rows]


def test_columns_of_figures_that_no_line_parts_are_cut() -> None:
    rows = [["Tree", "Sizes"], *([name, f"{10 + at}.5"] for at, name in enumerate(NAMES)), ["All", ""]]
    pages = columns_of_figures(rows)
    for at in (0, 2, 3, 4, 6, 7):  # the second figure of one tree is not known
        pages.at(LEFT + 160, 148 + 12 * (at + 1) - 1, f"{200 + at}", 9)
    seconds = ["200", "", "202", "203", "204", "", "206", "207"]
    assert tables(read(pages)) == [
        [["Tree", "Sizes", ""], *([*row, second] for row, second in zip(rows[1:], seconds, strict=True))]
    ]


def test_words_in_several_lines_stay_one_cell() -> None:
    texts = [["The pump runs", "and stops", "when it is told", "to do so"], ["It is read", "once a day", "by 2", "men"]]
    rows = [["Duty", "Note"], *([one, other] for one, other in zip(*texts, strict=True))]
    assert tables(read(columns_of_figures(rows))) == [[["Duty", "Note"], [" ".join(text) for text in texts]]]


def two_columns(pages: Sheet, left: list[str], right: list[str], top: float) -> None:
    for x, texts in ((LEFT, left), (RIGHT_COLUMN, right)):
        for at, text in enumerate(texts):
            pages.at(x, top + 13 * at, text)


def test_a_table_within_one_column_leaves_the_order_of_columns() -> None:
    pages = sheet()
    words = "the gauge keeps all samples that it has read so"
    left = [f"{words} l{at}" for at in range(24)]
    right = [f"{words} r{at}" for at in range(14)]
    two_columns(pages, left, right, 100)
    for row in range(5):
        for column in range(4):
            pages.at(RIGHT_COLUMN + 50 * column, 300 + 13 * row, f"{row}{column}")
    text = read(pages).text
    places = [text.index(f" l{at}") for at in range(24)] + [text.index(f" r{at}") for at in range(14)]
    assert places == sorted(places)
    assert all(f"{row}{column}" in text for row in range(5) for column in range(4))


CHAPTERS = ("Filling the tank", "Draining the tank", "Reading the gauge", "Cleaning the pipes", "Storing the parts",
            "Ordering new parts", "Shipping the tank", "Scrapping the tank")  # fmt: skip


def chapters(pages: Sheet, *, number: bool) -> None:
    for at, title in enumerate(CHAPTERS, 1):
        pages.heading(f"{at} {title}" if number else title)
        pages.paragraph(*[SENTENCE] * 30)
        pages.next_page()


def entries(pages: Sheet, first: int, *, number: bool, tops: tuple[float, float] = (130.0, 130.0)) -> None:
    """Print contents in two columns of four entries each."""
    for at, title in enumerate(CHAPTERS):
        x, y = (LEFT, RIGHT_COLUMN)[at // 4], tops[at // 4] + 15 * (at % 4)
        pages.at(x, y, f"{f'{at + 1} ' if number else ''}{title} {'.' * 40} {first + at}", 9)


def test_contents_in_two_columns_are_read_column_by_column() -> None:
    pages = sheet()
    pages.line("Contents", size=14, font="Helvetica-Bold")
    entries(pages, 2, number=False)
    pages.next_page()
    chapters(pages, number=False)
    assert titles(read(pages)) == list(CHAPTERS)


def test_contents_behind_the_text_are_no_clauses() -> None:
    pages = sheet()
    chapters(pages, number=True)
    pages.line("9 Contents", size=13, font="Helvetica-Bold")
    entries(pages, 1, number=True)
    found = read(pages)
    assert titles(found) == [*(f"{at} {title}" for at, title in enumerate(CHAPTERS, 1)), "9 Contents"]
    assert found.text.count("Cleaning the pipes") == 1


def test_last_entries_above_the_text_are_contents() -> None:
    pages = sheet()
    pages.line("Contents", size=14, font="Helvetica-Bold")
    for at, title in enumerate(CHAPTERS[:6]):
        pages.line(f"{title} {'.' * 40} {2 + at}")
    pages.next_page()
    for at, title in enumerate(CHAPTERS[6:]):
        pages.line(f"{title} {'.' * 40} {8 + at}")
    pages.y += 20
    chapters(pages, number=False)
    found = read(pages)
    assert titles(found) == list(CHAPTERS)
    assert found.text.count("Scrapping the tank") == 1


def test_a_list_in_bold_print_is_no_row_of_titles() -> None:
    pages = sheet()
    items = ("High input impedance", "On-chip amplifier", "Low power", "Serial interface")
    uses = ("Scales of shops", "Gauges of tanks", "Meters of rain", "Pumps of ships")
    for title, texts in (("FEATURES", items), ("USES", uses)):
        for text in (title, *texts):
            pages.line(text, font="Helvetica-Bold", step=12)
        pages.y += 14
        pages.paragraph(*[SENTENCE] * 40)
        pages.next_page()
    assert titles(read(pages)) == ["FEATURES", "USES"]


def test_what_continues_from_a_bold_item_is_no_title() -> None:
    pages = sheet()
    for title in ("Features", "Uses"):
        pages.heading(title)
        for text in ("Input range from five to twenty", "Support for two to six"):
            pages.at(LEFT, pages.y, "\u2022", 10, "Helvetica-Bold")
            pages.line(text, font="Helvetica-Bold", x=LEFT + 14, step=12)
            pages.line("Battery Cells", font="Helvetica-Bold", x=LEFT + 14, step=16)
        pages.paragraph(*[SENTENCE] * 8)
    assert titles(read(pages)) == ["Features", "Uses"]


def test_a_title_in_the_second_column_is_one() -> None:
    pages = sheet()
    words = "the gauge keeps all samples that it has read so"
    for at in range(26):
        pages.at(LEFT, 100 + 13 * at, f"{words} l{at}")
        if at not in {4, 5, 6, 14, 15, 16}:
            pages.at(RIGHT_COLUMN, 100 + 13 * at, f"{words} r{at}")
    for at, title in ((5, "Filling"), (15, "Draining")):
        pages.at(RIGHT_COLUMN, 100 + 13 * at, title, font="Helvetica-Bold")
    assert titles(read(pages)) == ["Filling", "Draining"]


def results(pages: Sheet, *, gap: float, top: float = 130.0) -> list[list[str]]:
    """Print figures between level lines, with two groups of columns, and return the rows that are there."""
    edges = [LEFT, *(LEFT + 80 + gap * at for at in range(6))]
    end = edges[-1] + 24
    for y in (top, top + 34, top + 122):
        pages.canvas.line(LEFT, HEIGHT - y, end, HEIGHT - y)
    for first, title in ((1, "Summer"), (4, "Winter")):
        pages.at(edges[first], top + 12, title, 8)
        pages.canvas.line(edges[first], HEIGHT - top - 16, edges[first + 2] + 24, HEIGHT - top - 16)
    for edge, name in zip(edges[1:], ("low", "mid", "top") * 2, strict=True):
        pages.at(edge, top + 28, name, 8)
    pages.at(LEFT, top + 28, "Tree", 8)
    found = [["Tree", *(f"{group} {name}" for group in ("Summer", "Winter") for name in ("low", "mid", "top"))]]
    for at, name in enumerate(("Leaf", *NAMES[:3], "Needle", *NAMES[3:5])):
        figures = [] if name in {"Leaf", "Needle"} else [f"{10 * at + column}.5" for column in range(6)]
        for edge, text in zip(edges, (name, *figures), strict=False):
            pages.at(edge, top + 46 + 12 * at, text, 8)
        found.append([name, *(figures or [""] * 6)])
    return found


def test_figures_between_level_lines_are_one_table_with_the_names_of_groups() -> None:
    pages = sheet()
    pages.paragraph(SENTENCE, SENTENCE)
    rows = results(pages, gap=50)
    pages.y = 280
    pages.paragraph(SENTENCE, SENTENCE)
    found = read(pages)
    assert tables(found) == [rows]
    assert found.text.count(SENTENCE) == 4


def test_columns_with_narrow_gaps_are_columns_between_level_lines() -> None:
    pages = sheet()
    pages.paragraph(SENTENCE, SENTENCE)
    rows = results(pages, gap=28)
    assert tables(read(pages)) == [rows]


def test_text_between_level_lines_is_no_table() -> None:
    pages = sheet()
    for y in (130, 220):
        pages.canvas.line(LEFT, HEIGHT - y, 520, HEIGHT - y)
    pages.y = 145
    pages.paragraph(*[SENTENCE] * 5)
    assert not tables(read(pages))


def test_a_level_line_between_groups_of_rows_doubles_nothing() -> None:
    pages = sheet()
    pages.paragraph(SENTENCE, SENTENCE)
    rows = [
        ["Tree", "Old", "New", "Sum"],
        *([name, f"1{at}.5", f"2{at}.5", f"3{at}.5"] for at, name in enumerate(NAMES[:6])),
    ]
    for y in (130.0, 148.0, 190.0, 232.0):
        pages.canvas.line(LEFT, HEIGHT - y, LEFT + 150, HEIGHT - y)
    for y, cells in zip((142, 160, 172, 184, 202, 214, 226), rows, strict=True):
        for x, text in zip((4, 64, 88, 112), cells, strict=True):
            pages.at(LEFT + x, y, text, 9)
    assert tables(read(pages)) == [rows]


def test_lines_in_pieces_and_a_head_of_many_rows_make_a_table_and_so_does_a_side_with_gaps() -> None:
    """As page makers draw it: each line is one piece for each column, and some rows have a side of theirs drawn."""
    pages = sheet()
    pages.paragraph(SENTENCE, SENTENCE)
    edges = [LEFT, *(LEFT + 110 + 70 * at for at in range(5))]
    bottom = 200 + 12 * len(NAMES) + 2
    for y in (130.0, 196.0, bottom):
        for start, end in itertools.pairwise(edges):
            pages.canvas.line(start, HEIGHT - y, end, HEIGHT - y)
    for x in edges[2:]:
        for at in (0, 1, 3, 4, 6):
            pages.canvas.line(x, HEIGHT - 200 - 12 * at, x, HEIGHT - 209 - 12 * at)
    heads = ["Tree", *(f"Share {name} of all that were counted" for name in ("one", "two", "six", "ten"))]
    for x, head in zip(edges, heads, strict=False):
        words = head.split()
        for at, some in enumerate(words[start : start + 2] for start in range(0, len(words), 2)):
            pages.at(x + 3, 140 + 13 * at + (39 if len(words) == 1 else 0), " ".join(some), 8)
    rows = [[name, *(f"{at}{place}.5" for place in range(4))] for at, name in enumerate(NAMES)]
    for at, cells in enumerate(rows):
        for x, text in zip(edges, cells, strict=False):
            pages.at(x + 3, 207 + 12 * at, text, 8)
    assert tables(read(pages)) == [[heads, *rows]]


def test_figures_beside_the_middle_of_a_name_in_two_lines_are_one_row() -> None:
    pages = sheet()
    pages.paragraph(SENTENCE, SENTENCE)
    edges = [LEFT, *(LEFT + 150 + 50 * at for at in range(5))]
    for y in (150.0, 280.0):
        pages.canvas.line(LEFT, HEIGHT - y, edges[-1] + 40, HEIGHT - y)
    pages.canvas.line(edges[1], HEIGHT - 132, edges[-1] + 40, HEIGHT - 132)  # below what stands over all years
    for x, name in zip(edges, ("Measure", "1997", "1998", "1999", "2000", "2001"), strict=True):
        pages.at(x, 144, name, 8, "Helvetica-Bold")
    found = [["Measure", "1997", "1998", "1999", "2000", "2001"]]
    for at, (first, second) in enumerate((("Income of households", "(median)"), ("Girth of", "trees"), ("Height", ""))):
        y = 170.0 + 36 * at
        figures = [f"{at}{place}.5" for place in range(5)]
        for x, text in zip(edges[1:], figures, strict=True):
            pages.at(x, y, text, 8)
        pages.at(LEFT, y - 5 if second else y, first, 8)
        pages.at(LEFT, y + 5, second, 8)
        found.append([f"{first} {second}".strip(), *figures])
    assert tables(read(pages)) == [found]
