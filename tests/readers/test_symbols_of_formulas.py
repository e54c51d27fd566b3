"""Below a formula, each symbol is a paragraph with its meaning: in columns, in a table or in words."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from knowledge_mcp.language.openings import explains_symbols, is_symbol
from knowledge_mcp.model.document import BlockKind, Document
from knowledge_mcp.readers.html.reader import HtmlReader
from knowledge_mcp.readers.markup.reader import MarkupReader
from tests.readers.docx_files import p, read_docx, table
from tests.readers.in_process import HERE
from tests.readers.office_files import item_of
from tests.readers.pdf_files import LEFT, SENTENCE, Sheet, sheet
from tests.readers.pdf_tables import read, tables
from tests.readers.shown import texts

_AREA = "is the area of the section, in square millimetres, without holes"
_SYMBOLS = [("N", ["is the resistance, in kN;"]), ("A", [_AREA, "for bolts;"]), ("f", ["is the strength."])]
_ENTRIES = ["N is the resistance, in kN;", f"A {_AREA} for bolts;", "f is the strength."]
_AFTER = "The value shall be rounded, and the report shall state the conditions that it is valid"


def _formula() -> Sheet:
    pages = sheet()
    pages.heading("5 Design")
    pages.paragraph("The resistance of the section is determined by the following formula, in which the", "factor is:")
    pages.at(150, pages.y, "N = A f / 1.05", font="Times-Italic")
    pages.at(490, pages.y, "(5.1)")
    pages.y += 22
    return pages


def _entries(pages: Sheet, symbols: Sequence[tuple[str, Sequence[str]]], left: float, step: float, sign: str) -> None:
    for symbol, meaning in symbols:
        pages.at(left, pages.y, symbol, font="Times-Italic")
        for at, line in enumerate(meaning):
            pages.line(f"{sign}{line}" if not at else line, x=left + 50, step=step)


def _below(pages: Sheet) -> list[str]:
    """Read what is between the formula and the paragraph after the symbols; there is no table."""
    pages.y += 8
    pages.paragraph(_AFTER, "for.")
    pages.paragraph(*[SENTENCE] * 3)
    document = read(pages)
    paragraphs = texts(document)
    assert tables(document) == []
    return paragraphs[2 : paragraphs.index(f"{_AFTER} for.")]


@pytest.mark.parametrize("lead", ["where", "Where:", "in which", "Dabei ist", "wobei", "dans laquelle"])
@pytest.mark.parametrize(("step", "sign"), [(13, ""), (18, ""), (13, "– ")], ids=["close", "apart", "dashes"])
def test_symbols_in_two_columns_of_a_pdf(lead: str, step: float, sign: str) -> None:
    pages = _formula()
    pages.paragraph(lead)
    _entries(pages, _SYMBOLS, LEFT, step, sign)
    assert _below(pages) == [lead, *(entry.replace(" ", f" {sign}", 1) for entry in _ENTRIES)]


def test_symbols_beside_the_word_before_them() -> None:
    pages = _formula()
    pages.at(LEFT, pages.y, "where")
    _entries(pages, _SYMBOLS, 120, 13, "")
    assert _below(pages) == [f"where {_ENTRIES[0]}", *_ENTRIES[1:]]


def test_symbols_with_indices_several_in_a_row_and_units() -> None:
    pages = _formula()
    pages.paragraph("where")
    for symbol, index, meaning, unit in (("N", "Ed", "force", "kN"), ("L", "0", "length", "m")):
        pages.at(LEFT, pages.y, symbol, font="Times-Italic")
        pages.at(LEFT + 8, pages.y + 2.5, index, size=6.5)
        pages.at(LEFT + 60, pages.y, meaning)
        pages.at(LEFT + 300, pages.y, unit)
        pages.y += 14
    _entries(pages, [("a, b", ["sides of the plate, which are measured at 20 °C"])], LEFT, 14, "")
    found = [text.replace(" ", "") for text in _below(pages)]
    assert found == ["where", "NEdforcekN", "L0lengthm", "a,bsidesoftheplate,whicharemeasuredat20°C"]


def test_symbols_continue_on_the_next_page() -> None:
    pages = _formula()
    pages.paragraph("where")
    _entries(pages, _SYMBOLS[:2], LEFT, 13, "")
    pages.next_page()
    _entries(pages, _SYMBOLS[2:], LEFT, 13, "")
    assert _below(pages) == ["where", *_ENTRIES]


def test_symbols_before_a_sign_in_running_print() -> None:
    pages = _formula()
    pages.paragraph("where")
    pages.paragraph(
        "N – resistance", "a, b = sides of the plate", "f is the strength at the temperature of the place in"
    )
    assert _below(pages) == [
        "where",
        "N – resistance",
        "a, b = sides of the plate",
        "f is the strength at the temperature of the place in",
    ]


def test_running_text_that_breaks_after_the_word_stays_one_paragraph() -> None:
    pages = _formula()
    pages.paragraph(
        f"{_AREA} of the pipes and of all the valves, where", "water is stored, or where it is cleaned before."
    )
    assert _below(pages) == [
        f"{_AREA} of the pipes and of all the valves, where water is stored, or where it is cleaned before."
    ]


def test_a_table_without_the_word_before_it_stays_a_table() -> None:
    pages = _formula()
    pages.paragraph("The classes are:")
    _entries(pages, _SYMBOLS, LEFT, 13, "")
    pages.paragraph(*[SENTENCE] * 3)
    assert tables(read(pages)) == [[entry.split(" ", 1) for entry in _ENTRIES]]


_ROWS = [("N", "is the resistance;"), ("A", "is the area.")]
_READ = ["N is the resistance;", "A is the area."]


def _word(lead: str, rows: Sequence[tuple[str, str]]) -> Document:
    written = (f"<w:tr><w:tc>{p(one)}</w:tc><w:tc>{p(other)}</w:tc></w:tr>" for one, other in rows)
    return read_docx(p(lead) + table(*written) + p("The end."))


def _page(lead: str, rows: Sequence[tuple[str, str]], cell: str = "td") -> Document:
    written = "".join(f"<tr><{cell}>{one}</{cell}><td>{other}</td></tr>" for one, other in rows)
    return HtmlReader(sandbox=HERE).read(
        item_of(f"<p>{lead}</p><table>{written}</table><p>The end.</p>".encode(), "a.html")
    )


def _adoc(lead: str, rows: Sequence[tuple[str, str]]) -> Document:
    written = "\n".join(f"|{one} |{other}" for one, other in rows)
    return MarkupReader(sandbox=HERE).read(item_of(f"{lead}\n\n|===\n{written}\n|===\n\nThe end.\n".encode(), "a.adoc"))


@pytest.mark.parametrize("made", [_word, _page, _adoc])
@pytest.mark.parametrize("lead", ["where", "N = A f, where:", "N = A · 1.05 in which"])
def test_a_table_of_symbols_below_a_formula_is_paragraphs(
    made: Callable[[str, Sequence[tuple[str, str]]], Document], lead: str
) -> None:
    assert texts(made(lead, _ROWS)) == [lead, *_READ, "The end."]


@pytest.mark.parametrize("made", [_word, _page, _adoc])
@pytest.mark.parametrize(
    ("lead", "rows"),
    [
        ("The place is there, anywhere", _ROWS),
        ("where", [("Size of the pump", "20"), ("Size of the valve in the pipe", "30")]),
        ("where", [("N", ""), ("", "is the resistance;")]),
    ],
    ids=["another word", "no symbols", "nothing beside"],
)
def test_other_tables_stay_tables(
    made: Callable[[str, Sequence[tuple[str, str]]], Document], lead: str, rows: Sequence[tuple[str, str]]
) -> None:
    assert len(texts(made(lead, rows), BlockKind.TABLE)) == 1


@pytest.mark.parametrize("text", ["where", "Where :", "in which", "Dabei bedeuten:", "N = A f (5.1), where", "où"])
def test_words_before_symbols_are_known(text: str) -> None:
    assert explains_symbols(text)


@pytest.mark.parametrize(
    "text",
    [
        "anywhere", "where the pump is", "The place where", "herewith", "", "with it",
        "The flow has the value VD/u, where", "This is not clear. Where",
    ],
)  # fmt: skip
def test_other_words_explain_no_symbols(text: str) -> None:
    assert not explains_symbols(text)


@pytest.mark.parametrize("text", ["N", "N_Ed", "a, b", "σ1 and σ2", "f y,k", "L 0", "N(x)", "Δt"])
def test_symbols_have_their_forms(text: str) -> None:
    assert is_symbol(text)


@pytest.mark.parametrize("text", ["", "1", "The size of the pump", "(a)", "-"])
def test_what_is_no_symbol(text: str) -> None:
    assert not is_symbol(text)


def test_meanings_that_wrap_to_the_edge_of_their_symbols_are_whole() -> None:
    pages = _formula()
    pages.paragraph("where")
    pages.y -= 8
    for line in ("N = resistance of the section in the direction of", "the load, and", "A = area of the section"):
        pages.line(line)
    pages.line("without holes.")
    assert _below(pages)[1:] == [
        "N = resistance of the section in the direction of the load, and",
        "A = area of the section without holes.",
    ]
