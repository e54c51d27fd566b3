"""Page markers in Markdown: where pages begin, what breaks over them, and what only looks like a marker."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knowledge_mcp.model.document import Document
from knowledge_mcp.model.errors import UnreadableDocumentError, UnreadableReason
from knowledge_mcp.readers.markdown.reader import MarkdownReader
from tests.machine import examples
from tests.readers.in_process import HERE
from tests.readers.test_markdown_structure import read


def placed(document: Document) -> list[tuple[str, tuple[int, ...]]]:
    return [(block.span.of(document.text), block.pages) for block in document.blocks]


def by_page(document: Document) -> dict[int, str]:
    return {page.number: page.span.of(document.text).strip() for page in document.pages}


@pytest.mark.requirement("D-REQ-7.4")
def test_a_marker_begins_a_page_and_is_no_text() -> None:
    document = read("<!-- page 1 -->\n\n# Head\n\nOne.\n\n<!-- page 2 -->\n\nTwo.\n")
    assert document.text == "Head\n\nOne.\n\nTwo."
    assert placed(document) == [("Head", (1,)), ("One.", (1,)), ("Two.", (2,))]
    assert by_page(document) == {1: "Head\n\nOne.", 2: "Two."}
    assert [page.label for page in document.pages] == ["1", "2"]
    assert document.warnings == ()


@pytest.mark.parametrize(
    "marker",
    [
        "<!-- Slide number: 3 -->",
        "<!-- SLIDE NUMBER: 3 -->",
        "<!--page 3-->",
        "  <!--   Page   3   -->  ",
        "<!-- page\t3 -->",
    ],
)
def test_markers_of_slides_and_with_other_blanks_and_letters_are_taken(marker: str) -> None:
    assert placed(read(f"{marker}\n# Slide\ntext\n")) == [("Slide", (3,)), ("text", (3,))]


@pytest.mark.parametrize(
    "line",
    [
        "<!-- page 0 -->", "<!-- page -->", "<!-- page 3a -->", "<!-- page 3 --> words", "words <!-- page 3 -->",
        "<!-- page 3 of 9 -->", "<!-- Slide 3 -->", "<!-- page 1234567 -->", "<!-- page -3 -->", "> <!-- page 3 -->",
    ],
)  # fmt: skip
def test_other_comments_are_what_they_were(line: str) -> None:
    document = read(f"before\n\n{line}\n\nafter\n")
    assert document.pages == ()
    assert document.warnings == ()
    assert "page" not in document.text


def test_text_before_the_first_marker_has_no_page() -> None:
    assert placed(read("Before.\n\n<!-- page 4 -->\n\nAfter.\n")) == [("Before.", ()), ("After.", (4,))]


def test_a_paragraph_continues_over_a_marker_between_its_lines() -> None:
    document = read("<!-- page 1 -->\n\none two\n<!-- page 2 -->\nthree four\n\nfive\n")
    assert placed(document) == [("one two three four", (1, 2)), ("five", (2,))]
    assert by_page(document) == {1: "one two", 2: "three four\n\nfive"}
    assert [block.lines for block in document.blocks] == [(3, 5), (7, 7)]


def test_a_table_continues_over_a_marker_between_its_rows() -> None:
    document = read(
        "<!-- page 1 -->\n\n| a | b |\n|---|---|\n| 1 | 2 |\n<!-- page 2 -->\n| 3 | 4 |\n"
        "<!-- page 3 -->\n| x | y |\n|---|---|\n| 5 | 6 |\n"
    )
    assert placed(document) == [
        ("| a | b |\n| --- | --- |\n| 1 | 2 |\n| 3 | 4 |", (1, 2)),
        ("| x | y |\n| --- | --- |\n| 5 | 6 |", (3,)),
    ]
    assert by_page(document)[2] == "| 3 | 4 |"


def test_list_items_and_footnotes_go_on_over_markers_within_them() -> None:
    document = read(
        "<!-- page 1 -->\n\n- one\n  <!-- page 2 -->\n  two\n  - inner\n\n<!-- page 3 -->\n\n  - next\n\n"
        "[^1]: three\n    <!-- page 4 -->\n    four\n"
    )
    assert placed(document) == [
        ("• one two", (1, 2)), ("• inner", (2,)), ("• next", (3,)), ("[^1] three four", (3, 4)),
    ]  # fmt: skip
    assert [block.depth for block in document.blocks][:3] == [0, 1, 1]


def test_a_marker_ends_a_paragraph_that_is_followed_by_something_else() -> None:
    document = read(
        "<!-- page 1 -->\n- item\n<!-- page 2 -->\ntext\n<!-- page 3 -->\n---\n\n| a |\n|---|\n<!-- page 4 -->\nend\n"
    )
    assert placed(document) == [("• item", (1,)), ("text", (2,)), ("| a |\n| --- |", (3,)), ("end", (4,))]
    assert document.sections == ()


def test_a_line_that_could_underline_a_heading_does_not_after_a_page_break() -> None:
    document = read("<!-- page 1 -->\nwords\n<!-- page 2 -->\n===\nmore\n")
    assert document.sections == ()
    assert placed(document) == [("words === more", (1, 2))]


@pytest.mark.parametrize(
    "code",
    [
        "```\n<!-- page 2 -->\n```",
        "    <!-- page 2 -->",
        "- ~~~\n  <!-- page 2 -->\n  ~~~",
        "<pre>\n<!-- page 2 -->\n</pre>",
    ],
)
def test_a_marker_in_code_is_code(code: str) -> None:
    document = read(f"<!-- page 1 -->\n\nwords\n\n{code}\n\nend\n")
    assert {pages for _, pages in placed(document)} == {(1,)}
    assert [page.number for page in document.pages] == [1]
    if not code.startswith("<pre>"):  # comments within HTML are left out as they were
        assert "<!-- page 2 -->" in document.text


def test_a_marker_in_a_longer_comment_is_part_of_it() -> None:
    assert read("<!-- begin\n<!-- page 2 -->\n\nwords\n").pages == ()


def test_a_marker_within_html_begins_a_page() -> None:
    document = read("<!-- page 1 -->\n<div>\none\n<!-- page 2 -->\n</div>\n\ntwo\n")
    assert document.blocks[-1].pages == (2,)


def test_numbers_that_do_not_rise_are_reported_and_not_followed() -> None:
    document = read(
        "<!-- page 3 -->\none\n\n<!-- page 2 -->\ntwo\n\n<!-- page 3 -->\nthree\n<!-- page 3 -->\nfour\n\n"
        "<!-- page 5 -->\n\nfive\n"
    )
    assert placed(document) == [("one", (3,)), ("two", (3,)), ("three four", (3,)), ("five", (5,))]
    assert [page.number for page in document.pages] == [3, 5]
    assert document.warnings == (
        "A marker of page 2 comes after page 3 has begun; it was ignored.",
        "A marker of page 3 comes after page 3 has begun; it was ignored.",
    )


def test_pages_without_text_are_named_too() -> None:
    document = read("<!-- page 1 -->\n<!-- page 2 -->\none\n<!-- page 3 -->\n<!-- page 4 -->\ntwo\n\n<!-- page 5 -->\n")
    assert placed(document) == [("one two", (2, 4))]
    assert by_page(document) == {1: "", 2: "one", 3: "", 4: "two", 5: ""}


def test_indented_code_over_a_page_break_is_a_block_on_each_page() -> None:
    document = read("start\n\n<!-- page 1 -->\n    one = 1\n\n<!-- page 2 -->\n    two = 2\n\nend\n")
    assert placed(document) == [("start", ()), ("one = 1", (1,)), ("two = 2", (2,)), ("end", (2,))]
    assert [block.lines for block in document.blocks] == [(1, 1), (4, 4), (7, 7), (9, 9)]
    assert by_page(document) == {1: "one = 1", 2: "two = 2\n\nend"}


def test_markers_alone_are_no_document() -> None:
    with pytest.raises(UnreadableDocumentError) as caught:
        read("<!-- page 1 -->\n\n<!-- page 2 -->\n")
    assert caught.value.reason is UnreadableReason.EMPTY


def test_lines_count_behind_frontmatter_and_markers() -> None:
    source = "---\ntitle: T\n---\n<!-- page 1 -->\nfirst\n<!-- page 2 -->\nsecond\n\n# Head\n\nlast\n"
    assert [block.lines for block in read(source).blocks] == [(5, 7), (9, 9), (11, 11)]


def test_an_annex_is_informative_though_a_page_begins_below_its_heading() -> None:
    document = read("# Annex A\n\n<!-- page 2 -->\n\nThis annex is informative.\n")
    assert document.sections[0].informative


def test_a_reference_across_a_page_break_keeps_its_place() -> None:
    document = read("<!-- page 1 -->\n\n# 5 Loads\n\nsee [clause\n<!-- page 2 -->\nfive](#5-loads) there\n")
    (reference,) = document.references
    assert reference.target == "5"
    assert reference.span.of(document.text) == "clause five"


def test_a_document_without_markers_keeps_the_reader_s_version() -> None:
    assert MarkdownReader(sandbox=HERE).version == "markdown-27"


_LINES = st.sampled_from(
    [
        "words here", "more words", "- item", "  inner", "1. one", "# Head", "```", "", "| a | b |", "|---|---|",
        "> quote", "    code", "===", "[^1]: note", "a) letter",
    ]
)  # fmt: skip


@settings(max_examples=examples(40), deadline=None)
@given(lines=st.lists(_LINES, min_size=1, max_size=14), data=st.data())
def test_markers_take_no_word_away_and_pages_never_go_back(lines: list[str], data: st.DataObject) -> None:
    places = sorted(data.draw(st.sets(st.integers(0, len(lines)), max_size=4)))
    marked = list(lines)
    for number, place in reversed(list(enumerate(places, start=1))):
        marked.insert(place, f"<!-- page {number} -->")
    source = "\n".join(["start", "", *marked, "", "end"])
    document = read(source)
    for word in ("words", "item", "inner", "one", "Head", "quote", "code", "note", "letter"):
        assert document.text.count(word) == "\n".join(lines).count(word)
    begun = [page for block in document.blocks for page in block.pages]
    assert begun == sorted(begun)
    covered = [page.span for page in document.pages if len(page.span)]
    assert all(one.end <= other.start for one, other in pairwise(covered))
