"""Notes in the last rows of a table are notes and no cells, marks keep to their notes, and captions of AsciiDoc."""

from __future__ import annotations

import re

import pytest

from knowledge_mcp.model.document import BlockKind, Document
from knowledge_mcp.readers.html.reader import HtmlReader
from knowledge_mcp.readers.markup.reader import MarkupReader
from knowledge_mcp.readers.office.reader import OfficeReader
from tests.readers.docx_files import p, read_docx, run, table
from tests.readers.in_process import HERE
from tests.readers.office_files import item_of, zipped

_NOTES = ["NOTE 1 Values are for 20 °C.", "NOTE 2 Interpolation is permitted."]
_SPAN = '<w:tcPr><w:gridSpan w:val="2"/></w:tcPr>'


def _row(*cells: str) -> str:
    return f"<w:tr>{''.join(f'<w:tc>{cell}</w:tc>' for cell in cells)}</w:tr>"


def _html(text: str) -> Document:
    return HtmlReader(sandbox=HERE).read(item_of(text.encode(), "a.html"))


def _asciidoc(text: str) -> Document:
    return MarkupReader(sandbox=HERE).read(item_of(text.encode(), "a.adoc"))


def _kinds(document: Document) -> list[tuple[BlockKind, str]]:
    return [(block.kind, block.span.of(document.text)) for block in document.blocks]


def test_notes_in_the_merged_last_rows_of_a_word_table_are_notes() -> None:
    raised = run("a", '<w:vertAlign w:val="superscript"/>') + run(" Only for gases.")
    rows = [_row(p("Size"), p("min")), _row(p("DN 10"), p("1"))]
    rows += [_row(_SPAN + "".join(map(p, _NOTES))), _row(_SPAN + p(raised))]

    found = _kinds(read_docx(table(*rows) + p("After it.")))

    assert found == [
        (BlockKind.TABLE, "| Size | min |\n| --- | --- |\n| DN 10 | 1 |"),
        *((BlockKind.NOTE, note) for note in _NOTES),
        (BlockKind.PARAGRAPH, "ᵃ Only for gases."),
        (BlockKind.PARAGRAPH, "After it."),
    ]


@pytest.mark.parametrize("words", ["Gas pipes", "Notes are made", "Note that it may vary"])
def test_other_merged_rows_of_a_word_table_stay_rows(words: str) -> None:
    rows = [_row(p("Size"), p("min")), _row(p("DN 10"), p("1")), _row(_SPAN + p(words))]
    assert _kinds(read_docx(table(*rows))) == [
        (BlockKind.TABLE, f"| Size | min |\n| --- | --- |\n| DN 10 | 1 |\n| {words} | |")
    ]


def test_notes_in_the_last_rows_of_tables_of_pages_and_of_asciidoc_are_notes() -> None:
    cells = "".join(f"<tr><td colspan=2>{note}</td></tr>" for note in _NOTES)
    page = _html(f"<table><tr><th>Size</th><th>min</th></tr><tr><td>DN 10</td><td>1</td></tr>{cells}</table>")
    text = _asciidoc("|===\n|Size |min\n\n|DN 10 |1\n" + "".join(f"2+|{note}\n" for note in _NOTES) + "|===\n")
    table_and_notes = [
        (BlockKind.TABLE, "| Size | min |\n| --- | --- |\n| DN 10 | 1 |"),
        *((BlockKind.NOTE, note) for note in _NOTES),
    ]
    assert _kinds(page) == _kinds(text) == table_and_notes


_TITLED = ".Limits\n|===\n|a |b\n\n|1 |2\n|===\n\n"


@pytest.mark.parametrize(
    ("text", "captions"),
    [
        (_TITLED * 2, ["Table 1. Limits", "Table 2. Limits"]),
        (f".Flow\nimage::flow.png[]\n\n{_TITLED}", ["Figure 1. Flow", "Table 1. Limits"]),
        (f":table-caption: Tabelle\n\n{_TITLED}", ["Tabelle 1. Limits"]),
        (f":table-caption!:\n\n{_TITLED}", ["Limits"]),
        (f'[caption="Table A. "]\n{_TITLED}{_TITLED}', ["Table A. Limits", "Table 1. Limits"]),
        (".Use\n====\nIt runs.\n====\n", ["Example 1. Use"]),
        ("[NOTE]\n.Use\n====\nIt runs.\n====\n", ["Use"]),
        (".Code\n----\nrun\n----\n", ["Code"]),
    ],
    ids=["tables", "a picture", "another word", "no word", "its own label", "an example", "a note", "code"],
)
def test_captions_of_asciidoc_have_the_label_that_it_prints(text: str, captions: list[str]) -> None:
    document = _asciidoc(f"= Valves\n\n{text}")
    assert [words for kind, words in _kinds(document) if kind is BlockKind.CAPTION] == captions


_MARKED = ["ᵃ For gases.", "ᵇ For water.", "* With flange."]
_CELLS = "<tr><th>Size</th><th>min</th></tr><tr><td>DN 10<sup>a</sup></td><td>40<sup>b</sup></td></tr>"
_ODT = (
    'xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" '
    'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" '
    'xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" '
    'xmlns:style="urn:oasis:names:tc:opendocument:xmlns:style:1.0"'
)


def _odt(rows: list[str], below: str = "") -> Document:
    """Read a text with a table; a row of one cell spans both columns, and "^a^" is raised."""
    raised = re.sub(r"\^(\S+?)\^", r'<text:span text:style-name="S">\1</text:span>', "\n".join(rows))
    table = ""
    for line in raised.split("\n"):
        cells, covered = line.split("|"), "<table:covered-table-cell/>"
        wide = ' table:number-columns-spanned="2"' if len(cells) == 1 else ""
        written = "".join(f"<table:table-cell{wide}><text:p>{cell}</text:p></table:table-cell>" for cell in cells)
        table += f"<table:table-row>{written}{covered if wide else ''}</table:table-row>"
    below = re.sub(r"\^(\S+?)\^", r'<text:span text:style-name="S">\1</text:span>', below)
    content = (
        f'<office:document-content {_ODT}><office:automatic-styles><style:style style:name="S" style:family="text">'
        '<style:text-properties style:text-position="super 58%"/></style:style></office:automatic-styles>'
        f"<office:body><office:text><table:table>{table}</table:table>{below}</office:text></office:body>"
        "</office:document-content>"
    )
    parts = {"mimetype": "application/vnd.oasis.opendocument.text", "content.xml": content}
    return OfficeReader(sandbox=HERE).read(item_of(zipped(parts), "a.odt"))


def test_rows_that_begin_with_a_mark_are_notes_in_every_format() -> None:
    rows = "".join(
        f"<tr><td colspan=2>{note}</td></tr>" for note in ("<sup>a</sup> For gases.", "<sup>b</sup>For water.")
    )
    page = _html(f"<table>{_CELLS}{rows}<tr><td colspan=2>* With flange.</td></tr></table>")
    text = _asciidoc(
        "|===\n|Size |min\n\n|DN 10^a^ |40^b^\n2+|^a^ For gases.\n2+|^b^ For water.\n2+|* With flange.\n|===\n"
    )
    odt = _odt(["Size|min", "DN 10^a^|40^b^", "^a^ For gases.", "^b^ For water.", "* With flange."])
    raised = '<w:vertAlign w:val="superscript"/>'
    word = read_docx(
        table(
            _row(p("Size"), p("min")),
            _row(p(run("DN 10") + run("a", raised)), p(run("40") + run("b", raised))),
            *(
                _row(_SPAN + p(run(mark, raised) + run(words)))
                for mark, words in (("a", " For gases."), ("b", "For water."))
            ),
            _row(_SPAN + p("* With flange.")),
        )
    )
    expected = [
        (BlockKind.TABLE, "| Size | min |\n| --- | --- |\n| DN 10ᵃ | 40ᵇ |"),
        *((BlockKind.PARAGRAPH, note) for note in _MARKED),
    ]
    assert [_kinds(each) for each in (page, text, odt, word)] == [expected] * 4


def test_several_notes_in_one_cell_are_several_notes() -> None:
    page = _html(
        f"<table>{_CELLS}<tr><td colspan=2><sup>a</sup> For gases.<br><sup>b</sup> For water.</td></tr></table>"
    )
    assert [words for _, words in _kinds(page)[1:]] == _MARKED[:2]


@pytest.mark.parametrize("words", ["*", "* 1", "a pump", "**bold", "40 ᵃ"])
def test_rows_without_a_mark_before_words_stay_rows(words: str) -> None:
    page = _html(f"<table>{_CELLS}<tr><td colspan=2>{words}</td></tr></table>")
    assert len(_kinds(page)) == 1 + words.startswith("**b")


def test_a_mark_that_touches_the_words_of_a_note_below_a_table_is_parted_from_them() -> None:
    below = '<p><sup>b</sup>For <a href="https://example.org">water</a>.</p>'
    below += "<p>*With flange.</p><p><sup>2</sup>H is heavy.</p>"
    page = _html(f"<table>{_CELLS}</table>{below}<p>Text.</p><p><sup>b</sup>For steam.</p>")
    odt = _odt(["Size|min", "DN 10|40^b^"], "<text:p>^b^For water.</text:p>")
    assert [words for _, words in _kinds(page)[1:]] == [
        "ᵇ For water.",
        "* With flange.",
        "²H is heavy.",
        "Text.",
        "ᵇFor steam.",
    ]
    assert [each.span.of(page.text) for each in page.references] == ["water"]
    assert _kinds(odt)[1:] == [(BlockKind.PARAGRAPH, "ᵇ For water.")]


def test_letters_and_signs_that_lead_to_notes_of_a_page_are_their_marks() -> None:
    cell = '40<sup><a href="#n">b</a></sup>'
    row = f"<tr><th>Size</th><th>min</th></tr><tr><td>DN 10</td><td>{cell}</td></tr>"
    named = _html(f'<table>{row}</table><ol><li id="n">For water.</li></ol>')
    own = _html(f'<table>{row}</table><p id="n"><sup>b</sup> For water.</p>')
    assert [words for _, words in _kinds(named)][1:] == ["[^b] For water."]
    assert "40[^b]" in named.text
    assert [words for _, words in _kinds(own)][1:] == ["ᵇ For water."]
    assert "40ᵇ" in own.text


def test_footnotes_of_asciidoc_touch_the_word_and_are_cited_again_by_name() -> None:
    document = _asciidoc(
        "|===\n|Size |min\n\n|DN 10footnote:[Steel.] |40footnote:x[Water.]\n|DN 20footnote:x[] |4\n|===\n"
    )
    rows = ["| DN 10 (Steel.) | 40 (Water.) |", "| DN 20 (Water.) | 4 |"]
    assert document.text.split("\n")[2:] == rows
