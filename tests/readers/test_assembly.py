"""Building documents from blocks: one canonical text, and everything else as spans of it."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge_mcp.language.openings import split_clause_number
from knowledge_mcp.language.statements import find_statements
from knowledge_mcp.model.document import BlockKind, Document, HeadingSource
from knowledge_mcp.model.source import SourceItem
from knowledge_mcp.readers.shared.assembly import DocumentBuilder, document_id, normalise_text, slug

ITEM = SourceItem("/x/My Standard.pdf", "My Standard.pdf", "application/pdf", 3, "00", lambda: io.BytesIO(b"abc"))
KINDS = [kind for kind in BlockKind if kind not in {BlockKind.HEADING, BlockKind.LIST_ITEM}]


def heading(builder: DocumentBuilder, number: str, title: str, level: int, informative: bool | None = None) -> None:
    builder.heading(title, level=level, number=number, source=HeadingSource.STYLE, informative=informative)


def test_blocks_are_parted_by_blank_lines_and_headings_carry_their_number() -> None:
    builder = DocumentBuilder()
    heading(builder, "5.3.1", "Storage", 3)
    builder.block(BlockKind.PARAGRAPH, " It shall store. ")
    builder.block(BlockKind.LIST_ITEM, "one", marker="a)")
    builder.block(BlockKind.LIST_ITEM, "b) two", marker="b)")
    document = builder.build(ITEM)
    assert document.text == "5.3.1 Storage\n\nIt shall store.\n\na) one\n\nb) two"
    assert (document.id, document.title) == ("my-standard", "My Standard")


def test_sections_form_a_tree_by_level_and_span_what_is_below_them() -> None:
    builder = DocumentBuilder()
    builder.block(BlockKind.PARAGRAPH, "Before all.")
    for number, level in (("1", 1), ("1.1", 2), ("1.1.1.1.1.1.1", 7), ("1.2", 2), ("2", 1)):
        heading(builder, number, f"T{number}", level)
        builder.block(BlockKind.PARAGRAPH, f"Text of {number}.")
    document = builder.build(ITEM)
    assert [section.parent for section in document.sections] == [None, 0, 1, 0, None]
    assert [section.level for section in document.sections] == [1, 2, 7, 2, 1]
    first, second = document.sections[0], document.sections[4]
    assert first.span.of(document.text).endswith("Text of 1.2.")
    assert first.span.end < second.span.start
    assert document.blocks[0].section is None


def test_informative_is_inherited_until_a_section_says_otherwise() -> None:
    builder = DocumentBuilder()
    heading(builder, "A", "Use", 1, informative=True)
    heading(builder, "A.1", "Gauges", 2)
    heading(builder, "A.2", "Rules", 2, informative=False)
    heading(builder, "B", "Tests", 1)
    assert [section.informative for section in builder.build(ITEM).sections] == [True, True, False, False]


def test_a_heading_without_text_opens_no_section() -> None:
    builder = DocumentBuilder()
    assert builder.heading("\u200b ", level=1, source=HeadingSource.STYLE) is None
    assert builder.build(ITEM).sections == ()
    assert not builder.has_text


def test_a_block_over_two_pages_gives_each_page_its_part() -> None:
    builder = DocumentBuilder()
    builder.page(1, "i")
    builder.page(3, "1", method="none", note="scanned")
    builder.block(BlockKind.PARAGRAPH, "  on one and on two", pages=(1, 2), breaks=(13,))
    document = builder.build(ITEM)
    assert [(page.number, page.label, page.span.of(document.text)) for page in document.pages] == [
        (1, "i", "on one and "),
        (2, "2", "on two"),
        (3, "1", ""),
    ]
    assert document.pages[2].method == "none"


def test_a_page_has_runs_where_text_of_others_stands_between() -> None:
    builder = DocumentBuilder()
    builder.block(BlockKind.PARAGRAPH, "one two", pages=(1, 2), breaks=[4])
    builder.block(BlockKind.PARAGRAPH, "three", pages=(1,))
    builder.block(BlockKind.PARAGRAPH, "four", pages=(2,))
    builder.block(BlockKind.PARAGRAPH, "five", pages=(2,))
    builder.block(BlockKind.PARAGRAPH, "six", pages=(3,))
    document = builder.build(ITEM)
    runs = {page.number: [run.of(document.text) for run in page.runs] for page in document.pages}
    assert runs == {1: ["one ", "three"], 2: ["two", "four\n\nfive"], 3: []}
    two = document.pages[1]
    assert two.span.of(document.text) == "two\n\nthree\n\nfour\n\nfive"
    assert two.holds(document.blocks[3].span)
    assert not two.holds(document.blocks[1].span)


def test_the_break_moves_with_a_marker_that_is_put_before_the_text() -> None:
    builder = DocumentBuilder()
    builder.block(BlockKind.LIST_ITEM, "one two", marker="a)", pages=(1, 2), breaks=(4,))
    document = builder.build(ITEM)
    assert document.pages[1].span.of(document.text) == "two"


def test_code_keeps_the_indentation_of_its_first_line() -> None:
    builder = DocumentBuilder()
    builder.block(BlockKind.CODE, "\n    if x:\n        y\n")
    assert builder.build(ITEM).text == "    if x:\n        y"


def test_warnings_are_kept_once() -> None:
    builder = DocumentBuilder()
    builder.warn("Page 3 is lost.")
    builder.warn("Page 3 is lost.")
    assert builder.build(ITEM).warnings == ("Page 3 is lost.",)


def build(parts: list[tuple[BlockKind | int, str]]) -> Document:
    builder = DocumentBuilder()
    for kind, text in parts:
        if isinstance(kind, int):
            builder.heading(text, level=kind, source=HeadingSource.STYLE)
        else:
            builder.block(kind, text, pages=(1,))
    return builder.build(ITEM)


@given(st.lists(st.tuples(st.sampled_from(KINDS) | st.integers(1, 9), st.text(max_size=40)), max_size=12))
def test_blocks_are_disjoint_ordered_and_cover_all_but_white_space(parts: list[tuple[BlockKind | int, str]]) -> None:
    document = build(parts)
    place = 0
    for block in document.blocks:
        assert not document.text[place : block.span.start].strip()
        assert block.span.of(document.text).strip()
        place = block.span.end
    assert place == len(document.text)
    assert "\r" not in document.text
    assert "\x00" not in document.text
    document.text.encode()


@given(st.lists(st.tuples(st.sampled_from(KINDS) | st.integers(1, 9), st.text(max_size=9)), max_size=20))
def test_sections_lie_inside_their_parents(parts: list[tuple[BlockKind | int, str]]) -> None:
    document = build(parts)
    for section in document.sections:
        assert section.span.contains(section.heading)
        if section.parent is not None:
            parent = document.sections[section.parent]
            assert parent.level < section.level
            assert parent.span.contains(section.span)
    for block in document.blocks:
        if block.section is not None:
            assert document.sections[block.section].span.contains(block.span)


@given(st.text(), st.integers(0, 30), st.integers(0, 30))
def test_pages_of_one_block_cover_it_without_overlap(text: str, one: int, other: int) -> None:
    first, second = sorted((min(one, len(text)), min(other, len(text))))
    builder = DocumentBuilder()
    builder.block(BlockKind.PARAGRAPH, text, pages=(1, 2, 3), breaks=(first, second))
    document = builder.build(ITEM)
    assert "".join(page.span.of(document.text) for page in document.pages) == document.text


@given(st.text())
def test_normalising_twice_changes_nothing_more(text: str) -> None:
    once = normalise_text(text)
    assert normalise_text(once) == once


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        ("of\ufb01ce\u00ad", "office"),
        ("a\r\nb\rc\u2028d", "a\nb\nc\nd"),
        ("e\u0301 \u00a0x\u200b", "\u00e9  x"),
        ("\tcode  \n", "\tcode\n"),
        ("\x00\ud800", "\ufffd"),
    ],
)
def test_text_is_cleaned_of_what_nobody_sees(raw: str, clean: str) -> None:
    assert normalise_text(raw) == clean


def test_slugs_hold_letters_of_any_script_digits_and_hyphens() -> None:
    assert slug("ISO/IEC 29148: Überblick (2018)") == "iso-iec-29148-uberblick-2018"
    assert (slug("規格"), slug("ГОСТ 12.1 – Йод"), slug("कार्य योजना")) == ("規格", "гост-12-1-йод", "कार्य-योजना")
    assert (slug("Größe"), slug("👍\ufe0f"), slug(" – ")) == ("große", "document", "document")
    assert document_id("NIST SP 800-207.v2.pdf") == "nist-sp-800-207-v2"


@pytest.mark.requirement("A-REQ-INGEST-003")
@pytest.mark.parametrize(
    ("line", "number", "title", "informative"),
    [
        ("5.3.1.2 Title", "5.3.1.2", "Title", None),
        ("5. Title", "5", "Title", None),
        ("5) Title", "5", "Title", None),
        ("1.2.3.4.5.6.7 Deep", "1.2.3.4.5.6.7", "Deep", None),
        ("5.1 — Scope", "5.1", "Scope", None),
        ("A.1 Title", "A.1", "Title", None),
        ("A. Title", "A", "Title", None),
        ("II. Methods", "II", "Methods", None),
        ("Annex B (informative) Title", "B", "Title", True),
        ("ANNEX C (normative)", "C", "ANNEX C", False),
        ("Annex D: Title [Informative]", "D", "Title", True),
        ("Appendix A - Title", "A", "Title", None),
        ("Chapter 3", "3", "Chapter 3", None),
        ("CHAPTER IV. Things", "IV", "Things", None),
        ("Section 2.1: Title", "2.1", "Title", None),
        ("§ 4.2 Title", "4.2", "Title", None),
        ("Introduction (informative)", None, "Introduction", True),
        ("A new approach", None, "A new approach", None),
        ("Part of it", None, "Part of it", None),
        ("Part mix of colours", None, "Part mix of colours", None),
        ("Section breaks", None, "Section breaks", None),
        ("2024 budget", None, "2024 budget", None),
        ("3 %", None, "3 %", None),
        ("3D models", None, "3D models", None),
        ("Rule 7. Touch and move", "7", "Touch and move", None),
        ("3.2用例：注册", "3.2", "用例：注册", None),
        ("4.2.1. サービス", "4.2.1", "サービス", None),
        ("1、引言", "1", "引言", None),
        ("2．范围", "2", "范围", None),
        ("A.1术语", "A.1", "术语", None),
        ("第8章 需求获取", "8", "需求获取", None),
        ("第3節", "3", "第3節", None),
        ("第3条的规定", None, "第3条的规定", None),
        ("1.5万吨", None, "1.5万吨", None),
        ("3用例", None, "3用例", None),
    ],
)
def test_heading_lines_are_read(line: str, number: str | None, title: str, informative: bool | None) -> None:
    read = split_clause_number(line)
    assert (read.number, read.title, read.informative) == (number, title, informative)


@given(st.text(max_size=60))
def test_any_line_can_be_read_as_a_heading(line: str) -> None:
    read = split_clause_number(line)
    assert read.number is None or read.number in line


def test_items_whose_marks_were_typed_are_items_below_a_colon_as_deep_as_they_count() -> None:
    builder = DocumentBuilder()
    for text in (
        "1. Nothing leads here.",
        "Every pump shall have:",
        "a) a valve for:",
        "i) suction;",
        "ii) discharge.",
        "b) a brake.",
        "d) This counts on from nothing.",
        "Also:",
        "- a guard",
        "- a cover",
    ):
        builder.block(BlockKind.PARAGRAPH, text)
    document = builder.build(ITEM)
    items = [each for each in document.blocks if each.kind is BlockKind.LIST_ITEM]
    assert [(each.marker, each.depth) for each in items] == [
        ("a)", 0), ("i)", 1), ("ii)", 1), ("b)", 0), ("-", 0), ("-", 0)
    ]  # fmt: skip
    lead = "Every pump shall have:"
    assert [each.text for each in find_statements(document)] == [
        lead,
        f"{lead} a) a valve for:",
        f"{lead} a) a valve for: i) suction;",
        f"{lead} a) a valve for: ii) discharge.",
        f"{lead} b) a brake.",
    ]
