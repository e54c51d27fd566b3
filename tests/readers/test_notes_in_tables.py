"""Notes in the last rows of a table are notes and no cells, and captions have the label that AsciiDoc prints."""

from __future__ import annotations

import pytest

from knowledge_mcp.model.document import BlockKind, Document
from knowledge_mcp.readers.html.reader import HtmlReader
from knowledge_mcp.readers.markup.reader import MarkupReader
from tests.readers.docx_files import p, read_docx, run, table
from tests.readers.in_process import HERE
from tests.readers.office_files import item_of

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
