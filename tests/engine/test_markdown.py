"""Documents as Markdown: what is read again is the same, to the page and the word."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from knowledge_mcp.engine.convert.markdown import as_markdown, page_marker
from knowledge_mcp.model.document import Block, BlockKind, Document, HeadingSource
from knowledge_mcp.readers.markdown.reader import MarkdownReader
from knowledge_mcp.readers.pdf.reader import PdfReader
from knowledge_mcp.readers.shared.assembly import DocumentBuilder
from tests.fakes.documents import documents
from tests.machine import examples
from tests.readers.docx_files import content_item, heading, numbered, p, read_docx, table
from tests.readers.in_process import HERE, InProcessSandbox
from tests.readers.pdf_files import SENTENCE, item_of, sheet, standard


def again(document: Document) -> Document:
    """Write a document as Markdown and read that."""
    return MarkdownReader(sandbox=HERE).read(content_item(as_markdown(document).encode(), "again.md", "text/markdown"))


def outline(document: Document) -> list[tuple[int, str | None, str]]:
    return [(section.level, section.number, " ".join(section.title.split())) for section in document.sections]


def words(text: str) -> Counter[str]:
    return Counter(re.findall(r"\w+", unicodedata.normalize("NFC", text)))


def pages(document: Document) -> list[tuple[int, ...]]:
    return [block.pages for block in document.blocks]


def words_by_page(document: Document) -> dict[int, Counter[str]]:
    return {page.number: words(page.span.of(document.text)) for page in document.pages}


def built(*blocks: tuple[BlockKind, str] | tuple[BlockKind, str, tuple[int, ...]], level: int = 1) -> Document:
    builder = DocumentBuilder()
    for kind, text, *more in blocks:
        on = more[0] if more else ()
        if kind is BlockKind.HEADING:
            builder.heading(text, level=level, source=HeadingSource.STYLE, pages=on)
        else:
            marker = text.split()[0] if kind is BlockKind.LIST_ITEM else ""
            builder.block(kind, text, pages=on, marker=marker)
    return builder.build(content_item(b"", "made.pdf", "application/pdf"))


# ---- whatever the document

_SIGNS = st.sampled_from(
    [
        "word", "two words", "*", "**bold**", "_", "__init__", "snake_case", "`code`", "# head", "## 2", ">", "- item",
        "+", "1.", "23) x", "a) y", "---", "===", "***", "|", "|---|", "a | b", "\\", "\\*", "<b>", "<!-- page 7 -->",
        "&amp;", "&", "[x](y)", "[x]: y", "[^1]", "[^1]: z", "![i](j)", "~~~", "~~gone~~", ": def", "```", "{: a}",
        "<https://x.y>", "a < b", "\n", "\n\n", "Table 1 — T", "NOTE 1 n", "€ 5", "试验", "x\u00adz", "#", "\\\n",
    ]
)  # fmt: skip
_TEXT = st.lists(_SIGNS, min_size=1, max_size=8).map(" ".join)
_KINDS = st.sampled_from([kind for kind in BlockKind if kind is not BlockKind.TABLE])


@st.composite
def paged(draw: st.DrawFn) -> Document:
    """Draw a document as a reader lays it down: blocks of signs that Markdown could mistake, some over two pages."""
    builder = DocumentBuilder()
    page = 1
    depth = 0
    for _ in range(draw(st.integers(1, 8))):
        kind = draw(_KINDS)
        page += draw(st.sampled_from([0, 0, 1, 2]))
        text = draw(_TEXT)
        if kind is BlockKind.HEADING:
            title = " ".join(text.split())
            builder.heading(title, level=draw(st.integers(1, 8)), source=HeadingSource.STYLE, pages=(page,))
            continue
        on, breaks = [page], list[int]()
        if draw(st.booleans()) and len(text) > 2:
            page += 1
            on.append(page)
            breaks = [draw(st.integers(1, len(text) - 1))]
        marker = draw(st.sampled_from(["•", "1.", "2)", "a)", "–", ""])) if kind is BlockKind.LIST_ITEM else ""
        depth = draw(st.integers(0, 3)) if kind is BlockKind.LIST_ITEM else 0
        builder.block(kind, text, pages=on, breaks=breaks, marker=marker, depth=depth)
    for number in range(1, page + 1):
        builder.page(number)
    return builder.build(content_item(b"", "made.pdf", "application/pdf"))


@settings(max_examples=examples(80), deadline=None)
@given(document=paged())
def test_no_sign_of_the_text_is_taken_for_a_mark(document: Document) -> None:
    if not document.text:
        return
    found = again(document)
    assert outline(found) == outline(document)
    assert _bare(found) == _bare(document)
    assert found.warnings == ()


@pytest.mark.parametrize("text", ["{: a}", "word\n{: #limits}", "--- middle"])
def test_text_that_looks_like_attributes_is_kept(text: str) -> None:
    builder = DocumentBuilder()
    builder.block(BlockKind.PARAGRAPH, text, pages=[1], breaks=[])
    builder.page(1)
    document = builder.build(content_item(b"", "made.pdf", "application/pdf"))
    assert again(document).text == document.text


@pytest.mark.parametrize("title", ["1. #", "1 #", "a #", "5 C##"])
def test_a_heading_that_ends_with_marks_keeps_them(title: str) -> None:
    builder = DocumentBuilder()
    builder.heading(title, level=1, source=HeadingSource.MARKUP)
    document = builder.build(content_item(b"", "made.md", "text/markdown"))
    assert outline(again(document)) == outline(document)


def _bare(document: Document) -> str:
    """Return the text without blanks, and without bullets, which may be others."""
    return re.sub(r"[•–\s]", "", document.text)


_ALONE = re.compile(r"^\d[\d.]*$", re.MULTILINE)
"""A number alone on a line, which below "Terms" is that of an entry."""


@settings(max_examples=examples(25), deadline=None)
@given(document=documents())
def test_sections_and_words_survive_whatever_the_document(document: Document) -> None:
    assume(not _ALONE.search(document.text))
    if not document.text:
        return
    found = again(document)
    assert outline(found) == outline(document)
    assert words(found.text) == words(document.text)


@pytest.mark.requirement("D-REQ-7.4")
@settings(max_examples=examples(25), deadline=None)
@given(document=documents(), data=st.data())
@pytest.mark.slow
def test_every_passage_keeps_its_pages(document: Document, data: st.DataObject) -> None:
    blocks: list[Block] = []
    page = 1
    for block in document.blocks:
        page += data.draw(st.sampled_from([0, 0, 0, 1, 2]))
        blocks.append(replace(block, pages=(page,)))
    document = replace(document, blocks=tuple(blocks))
    if blocks:
        assert {on for on, _ in _stands(again(document))} == {on for on, _ in _stands(document)}
        assert _stands(again(document)) == _stands(document)


def _stands(document: Document) -> Counter[tuple[int, str]]:
    """Count each word on each page."""
    found: Counter[tuple[int, str]] = Counter()
    for block in document.blocks:
        found.update((block.pages[0], word) for word in words(block.span.of(document.text)).elements())
    return found


# ---- real files


@pytest.mark.requirement("D-REQ-1.2")
@pytest.mark.parametrize("bookmarks", [True, False])
def test_a_pdf_comes_back_with_its_clauses_pages_and_text(bookmarks: bool) -> None:
    document = PdfReader(sandbox=InProcessSandbox()).read(item_of(standard(bookmarks=bookmarks)))
    found = again(document)
    assert outline(found) == outline(document)
    assert len(found.sections) > 10
    assert pages(found) == pages(document)
    assert words_by_page(found) == words_by_page(document)
    assert any(len(block.pages) == 2 for block in found.blocks)
    assert found.text == document.text


def test_a_pdf_with_lists_tables_and_a_blank_page_comes_back() -> None:
    made = sheet()
    made.heading("1 Loads", 15)
    made.paragraph("The pump shall withstand:")
    for item in ("- 5 kN along the shaft;", "- 2 kN across it."):
        made.line(item)
    made.y += 20
    made.grid([["Size", "Load"], ["DN 50", "5 kN*"], ["DN 80", "<7 kN"]], [120, 120])
    made.next_page()
    made.next_page()
    made.paragraph(SENTENCE)
    document = PdfReader(sandbox=InProcessSandbox()).read(item_of(made.done()))
    found = again(document)
    assert pages(found) == pages(document)
    assert [page.number for page in found.pages] == [1, 2, 3]
    assert words(found.text) == words(document.text)
    assert BlockKind.TABLE in {block.kind for block in found.blocks}


@pytest.mark.requirement("D-REQ-1.2")
def test_a_word_document_comes_back_with_the_numbers_that_word_prints() -> None:
    document = read_docx(
        heading(1, "Scope") + p("It covers *all* pumps &lt;b&gt; of 5_000 l/s.") + heading(2, "Not covered")
        + numbered("none", 1, 4) + heading(1, "2024 budget") + table("".join(f"<w:tc>{p(c)}</w:tc>" for c in "ab"))
        + heading(3, "Too deep")
    )  # fmt: skip
    found = again(document)
    assert outline(found) == outline(document)
    assert words(found.text) == words(document.text)
    assert found.pages == ()
    assert "<!--" not in as_markdown(document)


# ---- the form itself


def test_headings_lists_tables_code_and_quotes_are_written_as_such() -> None:
    document = built(
        (BlockKind.HEADING, "Pumps", (1,)),
        (BlockKind.PARAGRAPH, "A pump:", (1,)),
        (BlockKind.LIST_ITEM, "• runs;", (1,)),
        (BlockKind.LIST_ITEM, "• hums.", (1,)),
        (BlockKind.LIST_ITEM, "1. first", (2,)),
        (BlockKind.LIST_ITEM, "a) lettered", (2,)),
        (BlockKind.TABLE, "| a | b |\n| --- | --- |\n| 1\\|2 | *3* |", (2,)),
        (BlockKind.CODE, "x = `1`\n```", (2,)),
        (BlockKind.QUOTE, "So it is.", (3,)),
        (BlockKind.FOOTNOTE, "[^1] Or not.", (3,)),
    )
    assert as_markdown(document) == (
        "<!-- page 1 -->\n\n# Pumps\n\nA pump:\n\n- runs;\n- hums.\n\n<!-- page 2 -->\n\n1. first\n\n- a) lettered\n\n"
        "| a | b |\n| --- | --- |\n| 1\\|2 | \\*3\\* |\n\n````\nx = `1`\n```\n````\n\n"
        "<!-- page 3 -->\n\n> So it is.\n\n[^1]: Or not.\n"
    )


def test_plain_prose_is_not_escaped() -> None:
    text = "Clause 5.3 (see [ISO 1]): snake_case, 3 * 4, a < b, AT&T, #5, 50 %, x > y; 1.5 m – done!"
    assert as_markdown(built((BlockKind.PARAGRAPH, text))) == f"{text}\n"


def test_a_paragraph_over_two_pages_has_the_marker_between_its_words() -> None:
    builder = DocumentBuilder()
    builder.block(BlockKind.PARAGRAPH, "one two three four", pages=(1, 2), breaks=(8,))
    document = builder.build(content_item(b"", "made.pdf", "application/pdf"))
    assert as_markdown(document) == "<!-- page 1 -->\n\none two\n<!-- page 2 -->\nthree four\n"


def test_a_word_that_two_pages_share_stays_whole() -> None:
    builder = DocumentBuilder()
    builder.block(BlockKind.PARAGRAPH, "one recorder two", pages=(1, 2), breaks=(8,))
    builder.block(BlockKind.PARAGRAPH, "indivisible", pages=(2, 3), breaks=(3,))
    found = again(builder.build(content_item(b"", "made.pdf", "application/pdf")))
    assert found.text == "one recorder two\n\nindivisible"
    assert pages(found) == [(1, 2), (2,)]
    assert [page.number for page in found.pages] == [1, 2, 3]


def test_a_table_over_two_pages_has_the_marker_between_its_rows() -> None:
    rows = "| a |\n| --- |\n| 1 |\n| 2 |"
    builder = DocumentBuilder()
    builder.block(BlockKind.TABLE, rows, pages=(4, 5), breaks=(rows.index("| 2"),))
    document = builder.build(content_item(b"", "made.pdf", "application/pdf"))
    assert as_markdown(document) == "<!-- page 4 -->\n\n| a |\n| --- |\n| 1 |\n<!-- page 5 -->\n| 2 |\n"
    assert pages(again(document)) == [(4, 5)]


def test_code_over_two_pages_is_two_blocks_of_code() -> None:
    builder = DocumentBuilder()
    builder.block(BlockKind.CODE, "one\n  two", pages=(1, 2))
    found = again(builder.build(content_item(b"", "made.pdf", "application/pdf")))
    assert [(block.span.of(found.text), block.pages) for block in found.blocks] == [
        ("one", (1,)),
        ("  two", (2,)),
    ]


def test_where_a_page_breaks_in_a_paragraph_is_spread_evenly_when_it_is_not_known() -> None:
    document = built((BlockKind.PARAGRAPH, "one two three four", (1, 2)))
    assert pages(again(document)) == [(1, 2)]


def test_a_footnote_comes_before_the_paragraph_that_runs_over_its_page() -> None:
    document = built(
        (BlockKind.PARAGRAPH, "first", (1,)),
        (BlockKind.PARAGRAPH, "runs over", (1, 2)),
        (BlockKind.FOOTNOTE, "1 note", (1,)),
    )
    found = again(document)
    assert [(block.span.of(found.text), block.pages) for block in found.blocks] == [
        ("first", (1,)), ("1 note", (1,)), ("runs over", (1, 2)),
    ]  # fmt: skip


def test_only_the_pages_that_are_asked_for_are_written() -> None:
    document = built(
        (BlockKind.PARAGRAPH, "one", (1,)),
        (BlockKind.PARAGRAPH, "two three", (2, 3)),
        (BlockKind.PARAGRAPH, "four", (4,)),
    )
    assert as_markdown(document, pages=(2, 2)) == "<!-- page 2 -->\n\ntwo three\n"
    assert as_markdown(document, pages=(3, 4)) == "two\n<!-- page 3 -->\nthree\n\n<!-- page 4 -->\n\nfour\n"
    assert as_markdown(document, pages=(5, 9)) == ""
    assert as_markdown(built((BlockKind.PARAGRAPH, "unpaged")), pages=(1, 2)) == ""


@pytest.mark.parametrize(
    ("number", "title", "level", "printed"),
    [
        (None, "Deep", 9, None),
        ("7.2", "Flat", 1, None),
        (None, "5 Wheels", 1, None),
        ("IV", "Roman", 2, None),
        ("5.3.1", "5.3.1", 2, "5.3.1"),
        ("B", "Records", 1, "Annex B (informative) Records"),
        (None, "Sets {x}", 2, None),
        (None, "C #", 3, None),
        (None, "##", 3, None),
        ("12a", "Later", 1, None),
    ],
)
def test_a_heading_comes_back_as_it_was(number: str | None, title: str, level: int, printed: str | None) -> None:
    builder = DocumentBuilder()
    builder.heading("7 Above", level=1, source=HeadingSource.STYLE, number="7", printed="7 Above")
    builder.heading(title, level=level, source=HeadingSource.STYLE, number=number, printed=printed)
    builder.block(BlockKind.PARAGRAPH, "text")
    document = builder.build(content_item(b"", "made.pdf", "application/pdf"))
    assert outline(again(document))[1] == (level, number, title)
    assert again(document).text == document.text


def test_a_list_item_that_is_only_its_number_is_not_lost_and_a_lone_bullet_is() -> None:
    document = built((BlockKind.LIST_ITEM, "1."), (BlockKind.LIST_ITEM, "•"))
    assert as_markdown(document) == "- 1\\.\n"
    assert again(document).text == "• 1."


def test_an_empty_document_is_an_empty_text() -> None:
    assert as_markdown(built()) == ""
    assert page_marker(12) == "<!-- page 12 -->"
