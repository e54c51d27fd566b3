"""Numbers that stand nowhere in a Word document's text."""

from __future__ import annotations

import pytest

from knowledge_mcp.model.document import BlockKind, Document, HeadingSource
from knowledge_mcp.readers.docx.styles import format_number
from tests.readers.docx_files import heading, numbered, p, read_docx, run, style


def numbers(document: Document) -> list[tuple[int, str | None, str]]:
    return [(section.level, section.number, section.title) for section in document.sections]


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
    assert numbers(document) == [
        (1, "1", "Scope"), (1, "2", "Terms"), (2, "2.1", "One"), (2, "2.2", "Two"), (3, "2.2.1", "Deep"),
        (4, "2.2.1.1", "Deeper"), (2, "2.3", "Three"), (1, "3", "Next"),
    ]  # fmt: skip
    assert document.text.startswith("1 Scope\n\n2 Terms\n\n2.1 One")
    assert {section.source for section in document.sections} == {HeadingSource.STYLE}


def test_a_heading_style_inherits_outline_and_number_from_the_style_it_is_based_on() -> None:
    document = read_docx(heading(1, "Plain") + p("Derived", "Mine"), styles=style("Mine", "my head", based_on="H1"))
    assert numbers(document) == [(1, "1", "Plain"), (1, "2", "Derived")]


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
    assert numbers(document)[1:] == [(1, "A", "Advice"), (2, "A.1", "Details"), (1, "B", "Tests"), (2, "B.1", "Set-up")]
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
    assert numbers(document) == [(1, "1", "One"), (1, None, "Foreword")]


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
    assert numbers(plain) == [(1, "1", "Scope"), (2, "1.1", "Limits")]
    assert {section.source for section in plain.sections} == {HeadingSource.TYPOGRAPHY}
    styled = read_docx(heading(1, "Scope") + bold("1 Scope") + p("Text."))
    assert numbers(styled) == [(1, "1", "Scope")]


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
