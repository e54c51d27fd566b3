"""Every letter that a PDF page prints is in the document, whatever the parser leaves out."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pikepdf
import pypdfium2
import pytest
from liteparse.parser import LiteParse
from liteparse.types import ParsedPage
from reportlab.pdfbase.pdfmetrics import stringWidth

from knowledge_mcp.model.document import BlockKind, Document
from knowledge_mcp.readers.pdf.flow.letters import write_as_printed
from knowledge_mcp.readers.pdf.reader import PdfReader
from knowledge_mcp.readers.pdf.signs import with_signs
from tests.readers.in_process import InProcessSandbox
from tests.readers.pdf_files import LEFT, SENTENCE, item_of, read_pdf, sheet

_SIZE = 10.0


def texts(document: Document) -> list[str]:
    return [" ".join(block.span.of(document.text).split()) for block in document.blocks]


@pytest.fixture
def page() -> Iterator[tuple[Any, Any, ParsedPage]]:
    """A page of three lines, open, its text, and as the parser has it."""
    pages = sheet()
    pages.line("It is subject to additional constraints.", size=_SIZE)
    pages.line("The format must match that of the base.", size=_SIZE)
    pages.line(SENTENCE, size=_SIZE)
    written = pages.done()
    parsed = LiteParse(ocr_enabled=False, extract_text_metadata=True, quiet=True).parse(written).pages[0]
    document: Any = pypdfium2.PdfDocument(written)
    with (
        contextlib.closing(document),
        contextlib.closing(document[0]) as opened,
        contextlib.closing(opened.get_textpage()) as text,
    ):
        yield opened, text, parsed


def test_a_lone_number_at_the_foot_of_a_page_is_kept() -> None:
    pages = sheet()
    for _ in range(8):
        pages.line(SENTENCE)
    pages.at(297, 802, "7", size=9)
    assert texts(read_pdf(pages))[-1] == "7"


def test_a_lone_number_in_the_last_cell_of_a_page_is_kept() -> None:
    pages = sheet()
    pages.paragraph(SENTENCE)
    pages.y = 740
    pages.grid([["Mode", "Channels"], ["Normal", "12"], ["", "1"]], [200, 120])
    document = read_pdf(pages)
    table = next(block for block in document.blocks if block.kind is BlockKind.TABLE)
    assert table.span.of(document.text).splitlines()[-1].split("|")[2].strip() == "1"


def test_page_numbers_are_still_no_text() -> None:
    pages = sheet()
    for number in range(1, 6):
        for _ in range(8):
            pages.line(f"{SENTENCE[:-1]} {number} times.")
        pages.at(297, 802, str(number), size=9)
        pages.next_page()
    assert not [text for text in texts(read_pdf(pages)) if text.isdigit()]


def test_letters_that_the_parser_took_out_of_a_word_come_back(page: tuple[Any, Any, ParsedPage]) -> None:
    opened, text, parsed = page
    parsed.text_items[0].text = "It is subject to addi ional constraints."
    write_as_printed(opened, text, parsed)
    assert [item.text for item in parsed.text_items] == [
        "It is subject to additional constraints.", "The format must match that of the base.", SENTENCE,
    ]  # fmt: skip


def test_words_that_the_parser_left_out_come_back_where_they_stand(page: tuple[Any, Any, ParsedPage]) -> None:
    opened, text, parsed = page
    gone = parsed.text_items.pop(1)
    write_as_printed(opened, text, parsed)
    back = sorted(parsed.text_items[2:], key=lambda item: item.x)
    assert [item.text for item in back] == gone.text.split()
    assert all(gone.y - 2 < item.y and item.y + item.height < gone.y + gone.height + 2 for item in back)
    assert back[0].x == pytest.approx(LEFT, abs=1)
    assert {item.font_name for item in back} == {gone.font_name}
    assert back[0].font_height == pytest.approx(_SIZE)


def test_what_nobody_sees_does_not_come_back(page: tuple[Any, Any, ParsedPage]) -> None:
    opened, text, parsed = page
    gone = parsed.text_items.pop(1)
    hidden = (gone.x - 1, gone.y - 1, gone.x + gone.width + 1, gone.y + gone.height + 1)
    write_as_printed(opened, text, parsed, [hidden])
    assert [item.text for item in parsed.text_items] == ["It is subject to additional constraints.", SENTENCE]


def test_a_sign_without_a_name_keeps_its_place(page: tuple[Any, Any, ParsedPage]) -> None:
    opened, text, parsed = page
    parsed.text_items.append(replace(parsed.text_items[2], text="\x08", x=540.0, width=9.0))
    write_as_printed(opened, text, parsed)
    assert parsed.text_items[3].text == "\uf008"


def tex_page(lines: Sequence[str], codes: str) -> bytes:
    """Make a page as TeX's bitmap fonts print it, letters by code only; `codes` are those of its ligatures."""
    pdf: Any
    with contextlib.closing(pikepdf.new()) as pdf:
        drawn = pdf.make_stream(b"500 0 0 0 450 700 d1 0 0 450 700 re f")
        used = sorted({ord(sign) for line in lines for sign in line} | set(map(ord, codes)))
        pdf.add_blank_page(page_size=(595, 842))
        font = pikepdf.Dictionary(
            Type=pikepdf.Name.Font,
            Subtype=pikepdf.Name.Type3,
            FontBBox=[0, 0, 500, 700],
            FontMatrix=pikepdf.Array([0.001, 0, 0, 0.001, 0, 0]),
            CharProcs=pikepdf.Dictionary({f"/a{code}": drawn for code in used}),
            Encoding=pikepdf.Dictionary(
                Type=pikepdf.Name.Encoding,
                Differences=pikepdf.Array([x for code in used for x in (code, pikepdf.Name(f"/a{code}"))]),
            ),
            FirstChar=0,
            LastChar=255,
            Widths=[500] * 256,
        )
        pdf.pages[0].Resources = pikepdf.Dictionary(Font=pikepdf.Dictionary(F1=pdf.make_indirect(font)))
        shown = "".join(
            f"BT /F1 10 Tf 72 {760 - 14 * at} Td <{line.encode('latin-1').hex()}> Tj ET\n"
            for at, line in enumerate(lines)
        )
        pdf.pages[0].Contents = pdf.make_stream(shown.encode())
        written = io.BytesIO()
        pdf.save(written)
        return written.getvalue()


@pytest.mark.parametrize("first", [0x0B, 0xAE], ids=["as TeX has them", "moved"])
def test_ligatures_of_tex_are_spelled_out(first: int) -> None:
    codes = "".join(map(chr, range(first, first + 5)))
    ff, fi, fl, ffi, ffl = codes
    page = tex_page(
        [
            f"The office de{fi}nes an e{ff}ective o{ff}set {fi}rst.",
            f"It is di{ffi}cult to over{fl}ow a ba{ffl}e that is sti{ff}",
            f"and speci{fi}ed with a cuto{ff}.",
        ],
        codes,
    )
    document = PdfReader(sandbox=InProcessSandbox()).read(item_of(page))
    assert " ".join(document.text.split()) == (
        "The office defines an effective offset first. It is difficult to overflow a baffle that is stiff "
        "and specified with a cutoff."
    )


def test_signs_that_share_their_codes_with_ligatures_stay() -> None:
    pages = sheet()
    pages.line("Heat to 110\u00b0C \u00b15, in a Brand\u00aename oven of x\u00b1y and \u00bd m\u00b2.")
    assert (
        "Heat to 110\u00b0C \u00b15, in a Brand\u00aename oven of x\u00b1y and \u00bd m\u00b2." in read_pdf(pages).text
    )


def test_raised_digits_are_written_raised_and_a_note_stands_behind_what_cites_it() -> None:
    pages = sheet()
    for place, (words, raised, rest) in enumerate(
        (
            ("The pump shall stop.", "1", " It shall not start for 3 cycles of 10 lots of 12."),
            ("It shall last 10", "-6", " s on an area of 5 m² or 3 m"),
            ("", "", SENTENCE),
            ("", "", "A second paragraph has nothing to do with the note below."),
        )
    ):
        top = 100 + place * (30 if place > 1 else 13)
        pages.at(LEFT, top, words)
        end = LEFT + pages.canvas.stringWidth(words, "Helvetica", 10)
        pages.at(end, top - 3.3, raised, size=6)
        pages.at(end + pages.canvas.stringWidth(raised, "Helvetica", 6), top, rest)
    pages.at(LEFT, 700, "1", size=5)
    pages.at(LEFT + 3, 703, "Within two seconds.", size=8)
    document = read_pdf(pages)
    found = texts(document)
    assert found[:3] == [
        "The pump shall stop.¹ It shall not start for 3 cycles of 10 lots of 12.",
        "¹ Within two seconds.",
        "It shall last 10⁻⁶ s on an area of 5 m² or 3 m",
    ]
    assert [block.kind for block in document.blocks][1] is BlockKind.FOOTNOTE


def test_a_table_without_lines_keeps_its_cells_and_their_raised_digits() -> None:
    rows = [
        ("Compound", ("MDL", "1", "")),
        ("Acetone", ("1.2 x 10", "-3", "")),
        ("Benzene", ("31 lb/in", "2", "")),
        ("Toluene", ("22 (", "1", "/16 in.)")),
        ("Xylene", ("10", "", "")),
    ]
    pages = sheet()
    pages.paragraph(SENTENCE, SENTENCE)
    for place, (name, (words, raised, rest)) in enumerate(rows):
        top = 150 + place * 16
        pages.at(LEFT, top, name)
        pages.at(LEFT + 200, top, words)
        end = LEFT + 200 + pages.canvas.stringWidth(words, "Helvetica", 10)
        pages.at(end, top - 3.3, raised, size=6)
        pages.at(end + pages.canvas.stringWidth(raised, "Helvetica", 6), top, rest)
    document = read_pdf(pages)
    (table,) = (block.span.of(document.text) for block in document.blocks if block.kind is BlockKind.TABLE)
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.split("\n")]
    assert [row[-1] for row in (cells[0], *cells[2:])] == ["MDL¹", "1.2 x 10⁻³", "31 lb/in²", "22 (1/16 in.)", "10"]


@pytest.mark.parametrize(
    ("printed", "font", "written"),
    [
        ("\uf0fc \uf0fb", "ABCDEF+Wingdings-Regular", "✓ ✗"),
        ("at \uf0b3 5", "ABCDEF+SymbolMT", "at ≥ 5"),
        ("\uf0a7 item", "Wingdings", "\uf0a7 item"),  # a bullet, which the text has in one form for all
        ("\uf0fc", "Wingdings2", "\uf0fc"),
        ("\uf0b15.0", "ABCDEF+SymbolMT", "±5.0"),
        ("0\uf0b0 to\uf02085 \uf0b0C \uf0b1 2", "ArialMT", "0° to 85 °C ± 2"),
        ("\uf06d an item", "ArialMT", "\uf06d an item"),  # a ring
    ],
)
def test_signs_of_symbol_fonts_are_written_as_they_look(
    page: tuple[Any, Any, ParsedPage], printed: str, font: str, written: str
) -> None:
    opened, text, parsed = page
    parsed.text_items.append(replace(parsed.text_items[0], text=printed, font_name=font, y=400.0))
    write_as_printed(opened, text, parsed)
    assert parsed.text_items[3].text == written


def test_words_of_tight_lines_keep_their_blanks() -> None:
    words = "The holder of the patent into which a right has been assured of the terms and of the conditions".split()
    pages, x = sheet(), LEFT
    pages.at(LEFT, 150, "The holder has a right.", size=8, font="Helvetica")
    for word in words:
        pages.at(x, 200, word, size=8, font="Helvetica")
        x += stringWidth(word, "Helvetica", 8) + 0.13 * 8
    assert " ".join(words) in " ".join(read_pdf(pages).text.split())


def test_letters_that_are_set_apart_stay_one_word() -> None:
    pages, x = sheet(), LEFT
    for letter in "specification of the pumps":
        pages.at(x, 200, letter, size=10, font="Helvetica")
        x += stringWidth(letter, "Helvetica", 10) + 1.2
    assert "specification of the pumps" in " ".join(read_pdf(pages).text.split())


def test_an_item_with_a_larger_mark_keeps_its_second_line() -> None:
    pages = sheet()
    for count in range(3):
        y = 100 + 46 * count
        pages.at(72, y, "\u2022", size=14)
        pages.at(90, y, f"The method number {count} examines what is near the node of the grid and assigns to it all")
        for line in (1, 2):
            pages.at(
                90,
                y + 12 * line,
                "of the value that is found there, and the next one continues in the same way with it",
            )
    assert [block.kind for block in read_pdf(pages).blocks] == 3 * [BlockKind.LIST_ITEM]


def test_a_word_of_code_at_the_beginning_of_a_line_makes_no_code_of_it() -> None:
    pages = sheet()
    for y in (100, 112, 136, 148):
        pages.at(72, y, "A request that is pending can be ended. To end it, use the operation of the same name. The")
    for y in (124, 160):
        pages.at(72, y, "EndRequest", font="Courier")
        pages.at(72 + 63, y, "operation lists all conventions and services that are available during the session,")
    assert [block.kind for block in read_pdf(pages).blocks] == [BlockKind.PARAGRAPH]


def test_ligatures_that_a_font_has_at_codes_of_its_own_are_spelled_out() -> None:
    from liteparse.types import TextItem

    words = "\ue049e so\ue039ware \ue03be\ue03as the ba\ue03cery \ue048alities"
    item = TextItem(text=words, x=72, y=100, width=300, height=10, font_name="ABCDEF+LinLibertineO")
    assert with_signs(item) == "The software checks the battery Qualities"
    other = TextItem(text="\ue039", x=72, y=100, width=9, height=10, font_name="ABCDEF+Icons")
    assert with_signs(other) == "\ue039"
