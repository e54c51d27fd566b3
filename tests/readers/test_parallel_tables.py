"""Tables that set the same clauses in several languages beside each other are read language by language."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from html import escape

import pytest

from knowledge_mcp.model.document import BlockKind, Document
from knowledge_mcp.readers.html.reader import HtmlReader
from tests.readers.docx_files import p, read_docx, run, table
from tests.readers.in_process import InProcessSandbox
from tests.readers.pdf_files import HEIGHT, LEFT, Sheet, item_of, read_pdf, sheet
from tests.readers.two_languages import ENGLISH, FRENCH, Clause, clauses_of

GERMAN: Sequence[Clause] = (
    ("1", "Umfang", "Dieser Teil gilt für die Pumpen, die in den Brunnen einer Stadt sind, und für ihre Rohre."),
    (
        "2",
        "Rohre",
        "Die Rohre müssen von dem Hersteller vor dem Verlegen in die Erde geprüft werden, und die Angaben zu den "
        "Prüfungen müssen mit denen des Brunnens so lange aufbewahrt werden, wie in ihm noch Wasser ist.",
    ),
    ("2.1", "Stahl", "Rohre aus Stahl dürfen nicht mit denen aus einem anderen Metall in der Erde verbunden sein."),
    (
        "2.2",
        "Stöße",
        "Die Stöße müssen von einer Person gemacht werden, die von dem Hersteller der Rohre geschult worden ist. "
        "Sie sollten von der Tür des Brunnens aus zu sehen sein, damit der Verlust von den Nachbarn bemerkt wird.",
    ),
    ("3", "Pumpen", "Eine Pumpe muss von Hand von außerhalb des Hauses, in dem sie ist, abgestellt werden können."),
    (
        "4",
        "Angaben",
        "Was an einer Pumpe getan wurde, muss in das Buch geschrieben werden, das bei ihr liegt.",
    ),
)
BOLD = "Helvetica-Bold"
PLAIN = "Helvetica"
Printed = list[tuple[str, str]]
"""Lines of a cell, and their fonts."""


def printed(clause: Clause, width: int, *, number: bool = True, text: bool = True) -> Printed:
    title = f"{clause[0]} {clause[1]}" if number else clause[1]
    return [(title, BOLD), *((line, PLAIN) for line in textwrap.wrap(clause[2], width) if text)]


def drawn(rows: Sequence[Sequence[Printed]], widths: Sequence[float], per_page: int = 4) -> Document:
    """Draw a table and read it."""
    pages = sheet()
    draw(pages, rows, widths, per_page)
    return read_pdf(pages)


def draw(pages: Sheet, rows: Sequence[Sequence[Printed]], widths: Sequence[float], per_page: int = 4) -> None:
    """Draw a table with lines around all cells, some rows on a page."""
    edges = [LEFT + sum(widths[:count]) for count in range(len(widths) + 1)]
    for start in range(0, len(rows), per_page):
        if start:
            pages.next_page()
        heights = [HEIGHT - pages.y + 4]
        for row in rows[start : start + per_page]:
            for left, cell in zip(edges, row, strict=False):
                for at, (text, font) in enumerate(cell):
                    pages.at(left + 4, pages.y + 12 + 13 * at, text, font=font)
            pages.y += 13 * max(map(len, row)) + 12
            heights.append(HEIGHT - pages.y + 4)
        pages.canvas.grid(edges, heights)


def test_cells_with_whole_clauses_in_a_pdf() -> None:
    rows = [[printed(one, 40), printed(other, 40)] for one, other in zip(ENGLISH, FRENCH, strict=True)]
    document = drawn(rows, (230, 230))
    assert clauses_of(document) == [*ENGLISH, *FRENCH]
    assert "4 Records" not in " ".join(run.of(document.text) for run in document.pages[0].runs)


def test_titles_and_texts_in_rows_of_their_own_in_a_pdf() -> None:
    rows: list[list[Printed]] = []
    for pair in zip(ENGLISH, FRENCH, strict=True):
        rows += [[printed(each, 40)[:1] for each in pair], [printed(each, 40)[1:] for each in pair]]
    assert clauses_of(drawn(rows, (230, 230), per_page=5)) == [*ENGLISH, *FRENCH]


def test_three_languages_and_a_column_of_their_numbers_in_a_pdf() -> None:
    rows = [
        [[(clauses[0][0], BOLD)], *(printed(each, 26, number=False) for each in clauses)]
        for clauses in zip(ENGLISH, FRENCH, GERMAN, strict=True)
    ]
    assert clauses_of(drawn(rows, (30, 150, 150, 150), per_page=3)) == [*ENGLISH, *FRENCH, *GERMAN]


def cell(*paragraphs: str) -> str:
    return f"<w:tc>{''.join(paragraphs)}</w:tc>"


def bold(text: str) -> str:
    return p(run(text, "<w:b/>"))


def row(*cells: str) -> str:
    return f"<w:tr>{''.join(cells)}</w:tr>"


def test_whole_clauses_in_a_word_table() -> None:
    rows = [
        row(*(cell(bold(f"{number} {title}"), p(text)) for number, title, text in pair))
        for pair in zip(ENGLISH, FRENCH, strict=True)
    ]
    assert clauses_of(read_docx(p("Wells") + table(*rows))) == [*ENGLISH, *FRENCH]


def test_numbers_in_a_column_of_a_word_table() -> None:
    rows = [
        row(cell(bold(clauses[0][0])), *(cell(bold(title), p(text)) for _, title, text in clauses))
        for clauses in zip(ENGLISH, FRENCH, GERMAN, strict=True)
    ]
    assert clauses_of(read_docx(table(*rows))) == [*ENGLISH, *FRENCH, *GERMAN]


LEVELS = {"1": 1, "2": 1, "2.1": 2, "2.2": 2, "3": 1, "4": 1}


def test_numbers_that_word_counts_in_a_column_are_those_of_each_language() -> None:
    rows = [
        row(
            cell(p("", f"H{LEVELS[clauses[0][0]]}")),
            *(cell(p(title, f"Plain{LEVELS[number]}"), p(text)) for number, title, text in clauses),
        )
        for clauses in zip(ENGLISH, FRENCH, strict=True)
    ]
    assert clauses_of(read_docx(table(*rows))) == [*ENGLISH, *FRENCH]


def test_numbers_that_word_counts_row_by_row_are_as_printed() -> None:
    rows = [
        row(*(cell(p(title, "H1"), p(text)) for _, title, text in pair)) for pair in zip(ENGLISH, FRENCH, strict=True)
    ]
    numbers = [each.number for each in read_docx(table(*rows)).sections]
    assert numbers == ["1", "3", "5", "7", "9", "11", "2", "4", "6", "8", "10", "12"]


def page(rows: Sequence[str]) -> Document:
    text = f"<html><body><h1>Wells</h1><table>{''.join(rows)}</table><p>The end.</p></body></html>"
    return HtmlReader(sandbox=InProcessSandbox()).read(item_of(text.encode(), "page.html"))


def as_heading(number: str, title: str, level: str) -> str:
    at = LEVELS[level] + 1
    return f"<h{at}>{number} {escape(title)}</h{at}>"


@pytest.mark.parametrize("columns", [2, 3])
def test_rows_of_titles_and_of_texts_in_a_page(columns: int) -> None:
    rows: list[str] = []
    for clauses in list(zip(ENGLISH, FRENCH, GERMAN, strict=True)):
        some = clauses[:columns]
        rows.append("<tr>" + "".join(f"<td>{as_heading(n, title, n)}</td>" for n, title, _ in some) + "</tr>")
        rows.append("<tr>" + "".join(f"<td>{escape(text)}</td>" for *_, text in some) + "</tr>")
    document = page(rows)
    assert clauses_of(document)[1:-1] == [*ENGLISH, *FRENCH, *GERMAN][: 6 * columns - 1]
    assert document.text.endswith("The end.")


def test_numbers_in_a_column_of_a_page() -> None:
    rows = [
        f"<tr><td>{pair[0][0]}</td>"
        + "".join(f"<td>{as_heading('', title, number)}<p>{escape(text)}</p></td>" for number, title, text in pair)
        + "</tr>"
        for pair in zip(ENGLISH, FRENCH, strict=True)
    ]
    assert [(each.number, each.title) for each in page(rows).sections][1:] == [
        (number, title) for number, title, _ in (*ENGLISH, *FRENCH)
    ]


WORDS = (
    ("well", "puits", "a hole in the ground from which water is taken", "un trou dans le sol dont on tire de l'eau"),
    ("pump", "pompe", "a machine that lifts the water of a well", "une machine qui fait monter l'eau d'un puits"),
    ("joint", "joint", "the place at which two pipes are put together", "l'endroit où deux tuyaux sont assemblés"),
    ("record", "relevé", "what is written of a test or of a repair", "ce qui est écrit d'un essai ou d'une réparation"),
    ("gate", "porte", "the only way into the house of a pump", "le seul passage vers la maison d'une pompe"),
)


def test_a_glossary_of_two_languages_is_a_table() -> None:
    rows = [row(*(cell(p(each)) for each in (f"{one}: {says}", f"{other}: {dit}"))) for one, other, says, dit in WORDS]
    assert [each.kind for each in read_docx(table(*rows)).blocks] == [BlockKind.TABLE]
    printed_rows: list[list[Printed]] = [
        [[(f"{one}:", PLAIN), (says, PLAIN)], [(f"{other}:", PLAIN), (dit, PLAIN)]] for one, other, says, dit in WORDS
    ]
    assert [each.kind for each in drawn(printed_rows, (230, 230), per_page=5).blocks] == [BlockKind.TABLE]


def test_clauses_and_what_is_said_of_them_in_one_language_are_a_table() -> None:
    remarks = [
        (number, "Remark", f"This is what the maker of the pumps says of clause {number}.") for number, *_ in ENGLISH
    ]
    rows = [
        row(*(cell(bold(f"{number} {title}"), p(text)) for number, title, text in pair))
        for pair in zip(ENGLISH, remarks, strict=True)
    ]
    assert [each.kind for each in read_docx(table(*rows)).blocks] == [BlockKind.TABLE]


def test_a_table_of_data_in_a_document_of_two_languages_stays_one() -> None:
    rows: list[list[Printed]] = [
        [printed(one, 40), printed(other, 40)] for one, other in zip(ENGLISH, FRENCH, strict=True)
    ]
    figures: list[list[Printed]] = [
        [[("Depth / Profondeur", PLAIN)], [("12 m", PLAIN)]],
        [[("Width / Largeur", PLAIN)], [("2 m", PLAIN)]],
    ]
    pages = sheet()
    draw(pages, rows, (230, 230))
    pages.y += 30
    draw(pages, figures, (120, 60))
    document = read_pdf(pages)
    assert "| Depth / Profondeur | 12 m |" in document.text
    assert [number for number, *_ in clauses_of(document)] == [number for number, *_ in (*ENGLISH, *FRENCH)]
