"""Forms that tools write into markup, pages and mails: they are no text, or say more than their marks do."""

from __future__ import annotations

import pytest

from knowledge_mcp.language.glossary.definitions import find_definitions
from knowledge_mcp.model.document import Document
from knowledge_mcp.readers.docx.reader import DocxReader
from knowledge_mcp.readers.html.reader import HtmlReader
from knowledge_mcp.readers.markdown.reader import MarkdownReader
from knowledge_mcp.readers.markup.reader import MarkupReader
from knowledge_mcp.readers.office.reader import OfficeReader
from tests.readers.docx_files import content_item, docx_bytes, p
from tests.readers.in_process import HERE
from tests.readers.office_files import item_of
from tests.readers.shown import blocks

READERS = {
    "adoc": MarkupReader(sandbox=HERE),
    "eml": OfficeReader(sandbox=HERE),
    "html": HtmlReader(sandbox=HERE),
    "md": MarkdownReader(sandbox=HERE),
    "rst": MarkupReader(sandbox=HERE),
}


def read(text: str, kind: str) -> Document:
    return READERS[kind].read(item_of(text.encode(), f"a.{kind}"))


# ---- Markdown -------------------------------------------------------------------------------------------------------


def test_attributes_of_blocks_are_no_text_and_no_row_of_a_table() -> None:
    text = '| A | B |\n|---|---|\n| 1 | 2 |\n{: #sizes title="Sizes"}\n\nA pump.\n{: .lead}\n\n- an item\n{:.tight}\n'
    document = read(text, "md")
    assert blocks(document) == ["| A | B |\n| --- | --- |\n| 1 | 2 |", "Sizes", "A pump.", "• an item"]
    assert [block.lines for block in document.blocks] == [(1, 3), (4, 4), (6, 6), (9, 9)]


def test_marks_of_the_parts_of_a_draft_are_no_text() -> None:
    assert blocks(read("# Draft\n\n--- abstract\n\nIt sends.\n\n--- middle\n\n# Scope\n\nAll.\n", "md")) == [
        "Draft",
        "It sends.",
        "Scope",
        "All.",
    ]


def test_what_looks_like_attributes_in_code_and_in_a_sentence_stays() -> None:
    text = "```\n{: .a}\n```\n\nWrite {: .a} below it.\n\n{::boilerplate bcp14-tagged}\n"
    assert blocks(read(text, "md")) == ["{: .a}", "Write {: .a} below it.", "{::boilerplate bcp14-tagged}"]


# ---- reStructuredText -----------------------------------------------------------------------------------------------


def test_options_of_sphinx_do_not_turn_a_directive_into_source() -> None:
    text = ".. code-block:: python\n   :caption: The pump\n   :name: pump\n\n   run()\n"
    text += "\n.. math::\n   :label: sum\n\n   a + b\n"
    document = read(text, "rst")
    assert blocks(document) == ["The pump", "run()", "a + b"]
    assert not document.warnings


def test_what_a_version_brought_or_took_says_so() -> None:
    text = ".. versionadded:: 2.1\n   The seal.\n\n.. deprecated:: 3.0\n\n.. only:: html\n\n   Shown.\n"
    assert blocks(read(text, "rst")) == ["New in version 2.1: The seal.", "Deprecated since version 3.0", "Shown."]


def test_footnotes_of_restructured_text_are_notes_with_their_mark() -> None:
    document = read("A pump [1]_ and a seal [#s]_.\n\n.. [1] Of type 2.\n.. [#s] Of rubber.\n", "rst")
    assert blocks(document) == ["A pump [^1] and a seal [^2].", "[^1] Of type 2.", "[^2] Of rubber."]
    assert [block.kind.value for block in document.blocks[1:]] == ["footnote", "footnote"]


# ---- AsciiDoc -------------------------------------------------------------------------------------------------------

_CITED = "* [[[rice,ISO 7301:2011]]], _Rice_\n* [[[mills,3]]], Mills\n"


@pytest.mark.parametrize(
    ("reference", "shown"),
    [
        ("<<rice>>", "ISO 7301:2011"),
        ("<<rice,clause 3.1>>", "ISO 7301:2011, clause 3.1"),
        ("<<rice,clause=3.1>>", "ISO 7301:2011, clause 3.1"),
        ("<<rice,the other part>>", "the other part"),
        ("<<mills>>", "[3]"),
        ("<<mills,table 2>>", "3, table 2"),
    ],
)
def test_a_place_in_another_document_is_named_with_that_document(reference: str, shown: str) -> None:
    document = read(f"= Rice\n\nAs in {reference}.\n\n== Bibliography\n\n{_CITED}", "adoc")
    assert blocks(document)[1] == f"As in {shown}."
    assert blocks(document)[3:] == ["• [ISO 7301:2011], Rice", "• [3], Mills"]


def test_other_names_of_a_term_and_ticks_of_a_checklist_are_kept() -> None:
    document = read("alt:[rough rice]\n\n* [x] milled\n* [ ] sold\n", "adoc")
    assert blocks(document) == ["rough rice", "• [x] milled", "• [ ] sold"]


@pytest.mark.parametrize("name", ["identifier", "label"])
def test_an_identifier_in_the_attributes_of_a_requirement_is_printed_above_it(name: str) -> None:
    text = f".Stopping\n[requirement,model=ogc,{name}=/req/pump/stop]\n====\nThe pump SHALL stop.\n====\n"
    assert blocks(read(text, "adoc")) == [
        "Stopping",
        "Identifier: /req/pump/stop",
        "The pump SHALL stop.",
    ]


def test_terms_of_metanorma_have_their_other_names_examples_and_source() -> None:
    text = (
        "== Terms and definitions\n\n[reviewer=KM]\n****\nThis clause shall stay.\n****\n\n"
        "=== lamp\nalt:[gate lamp]\ndeprecated:[lantern]\ndomain:[yard]\n\ndevice that shows whether a gate moves\n\n"
        "[example]\nA red light.\n\n[.source]\n<<KM7,clause 3.1>>, modified. Note 1 to\nentry has been removed.\n\n"
        "=== gate\nbarrier of a yard\n"
    )
    document = read(text, "adoc")
    lamp, gate = find_definitions(document)
    assert (lamp.term, lamp.aliases, lamp.domain) == ("lamp", ("gate lamp", "lantern"), "yard")
    assert (lamp.text, lamp.notes) == ("device that shows whether a gate moves", ("Example: A red light.",))
    assert lamp.origin == "KM7, clause 3.1, modified. Note 1 to entry has been removed."
    assert (gate.term, gate.text) == ("gate", "barrier of a yard")
    assert "shall stay" not in document.text


# ---- web pages ------------------------------------------------------------------------------------------------------


def test_headings_by_role_are_headings_at_their_level() -> None:
    page = (
        '<div role="heading" aria-level="1">Pumps</div><p>One.</p><span role="heading" aria-level="3">2.1 Seals</span>'
        '<p>Two.</p><h2 role="heading">End</h2><div role="heading" aria-level="99">Far</div>'
    )
    found = [(section.level, section.label) for section in read(page, "html").sections]
    assert found == [(1, "Pumps"), (3, "2.1 Seals"), (2, "End"), (6, "Far")]


def test_a_raised_number_of_a_cited_work_is_no_mark_of_a_note() -> None:
    page = '<p>As in <sup><a href="#r2">[2]</a></sup>.</p><p id="r2">[2] Roe, Pumps.</p>'
    assert blocks(read(page, "html"))[1] == "[2] Roe, Pumps."


def test_the_foot_of_a_table_is_below_its_rows_wherever_it_is_written() -> None:
    page = (
        "<table><thead><tr><th>A</th><th>B</th></tr></thead><tfoot><tr><td>sum</td><td>3</td></tr></tfoot>"
        "<tbody><tr><td>x</td><td>3</td></tr></tbody></table>"
    )
    assert blocks(read(page, "html")) == ["| A | B |\n| --- | --- |\n| x | 3 |\n| sum | 3 |"]


# ---- Word and mails -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["drop", "margin"])
def test_a_large_first_letter_belongs_to_its_word(kind: str) -> None:
    letter = p("T", "", f'<w:framePr w:dropCap="{kind}" w:lines="3"/>')
    data = docx_bytes(letter + p("he pump runs."))
    document = DocxReader(sandbox=HERE).read(content_item(data, "a.docx"))
    assert document.text == "The pump runs."


_FLOWED = (
    "Subject: Pumps\nContent-Type: text/plain; charset=utf-8; format=flowed{}\n\n"
    "The pump shall \nrun all day.\n From here on.\n> Why \n> so?\n\n-- \nSmith\n"
)


def test_lines_that_a_mail_program_broke_are_one_line() -> None:
    assert blocks(read(_FLOWED.format(""), "eml"))[1:] == [
        "The pump shall run all day.\nFrom here on.\n> Why\n> so?",
        "--\nSmith",
    ]
    assert "shallrun" in read(_FLOWED.format("; delsp=yes"), "eml").text
    assert "shall\nrun" in read(_FLOWED.format("").replace("; format=flowed", ""), "eml").text


def test_a_marker_in_a_column_of_a_grid_begins_the_text_beside_it() -> None:
    grid = "<div class=grid><div><span>{}</span></div><div><p>{}</p></div></div>"
    page = f"<p>Rules:</p>{grid.format('(a) ', 'be known;')}{grid.format('2.', 'be kept.')}<div>(b)</div><h2>Next</h2>"
    assert blocks(read(f"{page}<div>(c)</div>", "html")) == [
        "Rules:",
        "(a) be known;",
        "2. be kept.",
        "(b)",
        "Next",
        "(c)",
    ]
