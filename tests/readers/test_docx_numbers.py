"""Numbers that stand nowhere in a Word document's text."""

from __future__ import annotations

import pytest

from knowledge_mcp.language.statements import find_statements
from knowledge_mcp.model.document import BlockKind, Document, HeadingSource
from knowledge_mcp.readers.shared.numbering import format_number
from tests.readers.docx_files import heading, numbered, p, read_docx, run, style
from tests.readers.shown import outline


def items(document: Document) -> list[tuple[str, int]]:
    return [(block.marker, block.depth) for block in document.blocks if block.kind is BlockKind.LIST_ITEM]


def level(index: int, number_format: str, text: str, more: str = "") -> str:
    return (
        f'<w:lvl w:ilvl="{index}"><w:start w:val="1"/><w:numFmt w:val="{number_format}"/>{more}'
        f'<w:lvlText w:val="{text}"/></w:lvl>'
    )


def abstract(number: int, *levels: str, more: str = "") -> str:
    return f'<w:abstractNum w:abstractNumId="{number}">{"".join(levels)}{more}</w:abstractNum>'


def num(number: int, abstract_number: int, more: str = "") -> str:
    return f'<w:num w:numId="{number}"><w:abstractNumId w:val="{abstract_number}"/>{more}</w:num>'


@pytest.mark.requirement("A-REQ-INGEST-003")
def test_headings_get_the_numbers_that_word_prints() -> None:
    document = read_docx(
        heading(1, "Scope") + heading(1, "Terms") + heading(2, "One") + heading(2, "Two") + heading(3, "Deep")
        + heading(4, "Deeper") + heading(2, "Three") + heading(1, "Next")
    )  # fmt: skip
    assert outline(document) == [
        (1, "1", "Scope"), (1, "2", "Terms"), (2, "2.1", "One"), (2, "2.2", "Two"), (3, "2.2.1", "Deep"),
        (4, "2.2.1.1", "Deeper"), (2, "2.3", "Three"), (1, "3", "Next"),
    ]  # fmt: skip
    assert document.text.startswith("1 Scope\n\n2 Terms\n\n2.1 One")
    assert {section.source for section in document.sections} == {HeadingSource.STYLE}


def test_a_heading_style_inherits_outline_and_number_from_the_style_it_is_based_on() -> None:
    document = read_docx(heading(1, "Plain") + p("Derived", "Mine"), styles=style("Mine", "my head", based_on="H1"))
    assert outline(document) == [(1, "1", "Plain"), (1, "2", "Derived")]


def test_annexes_are_lettered_and_know_whether_they_are_informative() -> None:
    annex = abstract(
        5,
        level(0, "upperLetter", "Annex %1", '<w:pStyle w:val="Ax"/>'),
        level(1, "decimal", "%1.%2", '<w:pStyle w:val="Ax2"/>'),
    )
    styles = style("Ax", "annex title", '<w:numPr><w:numId w:val="5"/></w:numPr><w:outlineLvl w:val="0"/>') + style(
        "Ax2", "annex 2", '<w:numPr><w:ilvl w:val="1"/><w:numId w:val="5"/></w:numPr><w:outlineLvl w:val="1"/>'
    )
    body = p("(informative) Advice", "Ax") + p("Details", "Ax2") + p("(normative) Tests", "Ax") + p("Set-up", "Ax2")
    document = read_docx(heading(1, "Scope") + body, styles=styles, abstracts=annex, numbers=num(5, 5))
    assert outline(document)[1:] == [(1, "A", "Advice"), (2, "A.1", "Details"), (1, "B", "Tests"), (2, "B.1", "Set-up")]
    assert [section.informative for section in document.sections] == [False, True, True, False, False]
    assert "Annex A (informative) Advice" in document.text


def test_list_items_carry_their_computed_markers_and_depth() -> None:
    lists = abstract(7, level(0, "lowerLetter", "%1)"), level(1, "lowerRoman", "%2."))
    body = numbered("one", 7) + numbered("inner", 7, 1) + numbered("inner two", 7, 1) + numbered("two", 7)
    document = read_docx(heading(1, "List") + body + numbered("inner again", 7, 1), abstracts=lists, numbers=num(7, 7))
    assert items(document) == [("a)", 0), ("i.", 1), ("ii.", 1), ("b)", 0), ("i.", 1)]
    assert "b) two" in document.text


def test_a_start_override_holds_once_and_lists_of_one_definition_share_counters() -> None:
    lists = abstract(7, level(0, "decimal", "%1."))
    override = '<w:lvlOverride w:ilvl="0"><w:startOverride w:val="1"/></w:lvlOverride>'
    body = numbered("a", 7) + numbered("b", 7) + numbered("c", 8) + numbered("d", 8) + numbered("e", 7)
    document = read_docx(body, abstracts=lists, numbers=num(7, 7) + num(8, 7, override))
    assert [marker for marker, _ in items(document)] == ["1.", "2.", "1.", "2.", "3."]


def test_legal_numbering_writes_roman_parents_in_decimals() -> None:
    lists = abstract(7, level(0, "upperRoman", "%1."), level(1, "decimal", "%1.%2", "<w:isLgl/>"))
    document = read_docx(numbered("a", 7) + numbered("b", 7) + numbered("c", 7, 1), abstracts=lists, numbers=num(7, 7))
    assert [marker for marker, _ in items(document)] == ["I.", "II.", "2.1"]


def test_a_level_that_never_restarts_counts_on() -> None:
    lists = abstract(7, level(0, "decimal", "%1."), level(1, "decimal", "(%2)", '<w:lvlRestart w:val="0"/>'))
    body = numbered("a", 7) + numbered("b", 7, 1) + numbered("c", 7) + numbered("d", 7, 1)
    document = read_docx(body, abstracts=lists, numbers=num(7, 7))
    assert [marker for marker, _ in items(document)] == ["1.", "(1)", "2.", "(2)"]


def test_a_list_may_take_its_levels_from_a_numbering_style() -> None:
    linked = abstract(7, more='<w:numStyleLink w:val="Shared"/>') + abstract(8, level(0, "decimal", "%1)"))
    shared = (
        '<w:style w:type="numbering" w:styleId="Shared"><w:name w:val="Shared"/>'
        '<w:pPr><w:numPr><w:numId w:val="8"/></w:numPr></w:pPr></w:style>'
    )
    document = read_docx(numbered("a", 7), styles=shared, abstracts=linked, numbers=num(7, 7) + num(8, 8))
    assert items(document) == [("1)", 0)]


def test_number_zero_takes_a_paragraph_out_of_its_styles_list() -> None:
    document = read_docx(heading(1, "One") + p("Foreword", "H1", '<w:numPr><w:numId w:val="0"/></w:numPr>'))
    assert outline(document) == [(1, "1", "One"), (1, None, "Foreword")]


def test_a_numbered_paragraph_below_its_clause_is_a_clause_of_its_own() -> None:
    body = heading(1, "Rules") + numbered("The cable shall be red.", 1, 1) + numbered("It shall be long.", 1, 1)
    document = read_docx(body)
    assert [section.number for section in document.sections] == ["1", "1.1", "1.2"]
    last = document.blocks[-1]
    assert last.kind is BlockKind.PARAGRAPH
    assert last.span.of(document.text) == "It shall be long."
    assert last.section == 2


def test_bold_numbered_lines_are_headings_only_where_no_heading_style_is_used() -> None:
    def bold(text: str) -> str:
        return p(run(text, "<w:b/>"))

    plain = read_docx(bold("A report") + bold("1 Scope") + p("Text.") + bold("1.1 Limits") + bold("2 items are left."))
    assert outline(plain) == [(1, "1", "Scope"), (2, "1.1", "Limits")]
    assert {section.source for section in plain.sections} == {HeadingSource.TYPOGRAPHY}
    styled = read_docx(heading(1, "Scope") + bold("1 Scope") + p("Text."))
    assert outline(styled) == [(1, "1", "Scope")]


def test_a_numbered_paragraph_that_only_ends_a_section_of_pages_is_not_counted() -> None:
    document = read_docx(heading(1, "One") + p("", "H1", "<w:sectPr/>") + heading(2, "Deep") + heading(1, "Two"))
    assert outline(document) == [(1, "1", "One"), (2, "1.1", "Deep"), (1, "2", "Two")]


def test_a_bold_item_that_begins_with_a_figure_is_an_item() -> None:
    bullets = abstract(7, level(0, "bullet", "o"))
    in_list = '<w:numPr><w:ilvl w:val="0"/><w:numId w:val="7"/></w:numPr>'
    body = p("The delivery has:") + p(run("35 mobile devices", "<w:b/>"), "", in_list)
    document = read_docx(body, abstracts=bullets, numbers=num(7, 7))
    assert not document.sections
    assert items(document) == [("•", 0)]


def test_a_requirement_in_a_heading_style_is_stated_by_its_clause() -> None:
    document = read_docx(heading(1, "Loads") + heading(2, "The frame shall carry 5 kN."))
    assert [(each.clause_number, each.text) for each in find_statements(document)] == [
        ("1.1", "The frame shall carry 5 kN."),
    ]


def test_a_typed_number_that_extends_the_one_above_is_below_it_whatever_its_style() -> None:
    titles = ("1. Rules", "1.1 Signs", "1.1.1 Colours", "1.2 Words", "2. Fees")
    styles = style("T", "heading 1", '<w:outlineLvl w:val="0"/>')
    document = read_docx("".join(p(title, "T") + p("Text.") for title in titles), styles=styles)
    assert [(level, number) for level, number, _ in outline(document)] == [
        (1, "1"), (2, "1.1"), (3, "1.1.1"), (2, "1.2"), (1, "2"),
    ]  # fmt: skip


@pytest.mark.parametrize("is_control", [True, False])
def test_styles_that_the_table_of_contents_collects_are_headings(is_control: bool) -> None:
    def field(kind: str) -> str:
        return f'<w:r><w:fldChar w:fldCharType="{kind}"/></w:r>'

    instruction = '<w:r><w:instrText> TOC \\h \\t "Big Line;1;Small Line;2;caption;3" </w:instrText></w:r>'
    contents = p(f"{field('begin')}{instruction}{field('separate')}{run('Hives 1')}", "C") + p(
        f"{run('Legs 2')}{field('end')}", "C"
    )
    if is_control:
        gallery = '<w:docPartObj><w:docPartGallery w:val="Table of Contents"/></w:docPartObj>'
        contents = f"<w:sdt><w:sdtPr>{gallery}</w:sdtPr><w:sdtContent>{contents}</w:sdtContent></w:sdt>"
    names = (("Big", "Big Line"), ("Small", "Small Line"), ("Cap", "caption"), ("C", "toc 1"))
    body = p("Hives", "Big") + p("Legs", "Small") + p("They have legs.") + p("Table 1 Legs", "Cap")
    document = read_docx(contents + body, styles="".join(style(*each) for each in names))
    assert outline(document) == [(1, None, "Hives"), (2, None, "Legs")]
    assert document.text == "Hives\n\nLegs\n\nThey have legs.\n\nTable 1 Legs"


@pytest.mark.parametrize("look", ["<w:b/>", '<w:sz w:val="28"/>', '<w:rFonts w:ascii="Arial Black"/>'])
def test_numbered_lines_are_headings_where_their_style_makes_them_bold_or_large(look: str) -> None:
    def styled(name: str, properties: str, based_on: str = "") -> str:
        return style(name, name, based_on=based_on).replace("</w:style>", f"<w:rPr>{properties}</w:rPr></w:style>")

    body = (
        p("Part 3", "Chapter") + p("Hives", "Chapter") + p("Section 3.1. General", "Title")
        + p("3.1.1. Places of Hives", "Title") + p("1) Hives shall stand on legs.", "Sentence")
    )  # fmt: skip
    styles = styled("Chapter", look) + styled("Title", "", "Chapter") + styled("Sentence", '<w:sz w:val="22"/>')
    document = read_docx(body, styles=styles)
    assert [(each.level, each.number, each.title) for each in document.sections] == [
        (1, "3", "Hives"),
        (2, "3.1", "General"),
        (3, "3.1.1", "Places of Hives"),
    ]


@pytest.mark.parametrize(
    ("number", "number_format", "printed"),
    [
        (4, "upperRoman", "IV"), (1999, "lowerRoman", "mcmxcix"), (1, "upperLetter", "A"), (27, "lowerLetter", "aa"),
        (7, "decimalZero", "07"), (22, "ordinal", "22nd"), (13, "ordinal", "13th"), (3, "none", ""),
        (3, "cardinalText", "Three"), (5, "somethingNew", "5"),
    ],
)  # fmt: skip
def test_numbers_are_written_as_their_format_says(number: int, number_format: str, printed: str) -> None:
    assert format_number(number, number_format) == printed


def test_an_annex_in_a_style_that_skips_levels_is_beside_the_clauses() -> None:
    printed = {
        "1 Scope": 0, "1.1 Uses": 1, "1.1.1 Ports": 2, "Annex A (normative): Signs": 7, "A.1 General": 0,
        "Annex B (informative): History": 7,
    }  # fmt: skip
    document = read_docx("".join(p(text, "", f'<w:outlineLvl w:val="{level}"/>') for text, level in printed.items()))
    assert [(level, number) for level, number, _ in outline(document)] == [
        (1, "1"), (2, "1.1"), (3, "1.1.1"), (1, "A"), (2, "A.1"), (1, "B"),
    ]  # fmt: skip
