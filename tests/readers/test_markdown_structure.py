"""Markdown to sections, blocks, lines and references."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knowledge_mcp.model.document import BlockKind, Document, DocumentType, ReferenceKind
from knowledge_mcp.model.errors import UnreadableDocumentError, UnreadableReason
from knowledge_mcp.readers.markdown.reader import MarkdownReader
from tests.machine import examples
from tests.readers.docx_files import content_item
from tests.readers.in_process import HERE
from tests.readers.shown import kinds, outline


def read(text: str | bytes, name: str = "guide.md") -> Document:
    data = text.encode() if isinstance(text, str) else text
    item = content_item(data, name, "text/markdown")
    MarkdownReader(sandbox=HERE).check(item)
    return MarkdownReader(sandbox=HERE).read(item)


@pytest.mark.requirement("A-REQ-INGEST-002")
def test_headings_of_both_styles_open_sections_and_their_numbers_are_taken() -> None:
    document = read(
        "Title\n=====\n\n## 1 Scope\n\nText.\n\n2 Terms\n--------\n\n### 2.1 Word ###\n\n"
        "## Annex A (informative) Hints\n"
    )
    assert outline(document) == [
        (1, None, "Title"), (2, "1", "Scope"), (2, "2", "Terms"), (3, "2.1", "Word"), (2, "A", "Hints"),
    ]  # fmt: skip
    assert document.title == "Title"
    assert document.sections[4].informative
    assert "Annex A (informative) Hints" in document.text


@pytest.mark.requirement("A-REQ-INGEST-003", "CLARIFY-004")
def test_numbered_headings_nest_deeper_than_six() -> None:
    numbers = ["5", "5.3", "5.3.1", "5.3.1.2", "5.3.1.2.4", "5.3.1.2.4.1", "5.3.1.2.4.1.3", "5.3.1.2.4.1.3.2"]
    marks = ["#" * min(depth, 6) for depth in range(1, 9)]
    document = read("\n\n".join(f"{m} {n} Title" for m, n in zip(marks, numbers, strict=True)))
    assert [section.level for section in document.sections] == list(range(1, 9))
    assert [section.number for section in document.sections] == numbers
    assert [section.parent for section in document.sections] == [None, *range(7)]
    assert outline(read("###### 1.2.3.4.5.6.7 Alone"))[0][0] == 7


def test_a_number_tells_the_level_where_the_marks_are_too_few() -> None:
    document = read("## 5 A\n\n### 5.1 B\n\n### 5.1.1 C\n\n### 5.2 D\n")
    assert [section.level for section in document.sections] == [2, 3, 4, 3]


def test_what_looks_like_a_heading_in_a_fence_is_code() -> None:
    document = read("# One\n\n```sh\n# not a heading\n  indented\n```\n\n    # nor this\n\n~~~\n# nor that\n~~~\n")
    assert [section.title for section in document.sections] == ["One"]
    assert [text for kind, text in kinds(document) if kind == "code"] == [
        "# not a heading\n  indented", "# nor this", "# nor that",
    ]  # fmt: skip


def test_every_block_knows_its_source_lines_behind_the_frontmatter_too() -> None:
    source = "---\ntitle: T\n---\n\n# Head\n\npara one\npara two\n\n- item\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"
    document = read(source)
    lines = source.split("\n")
    assert [block.lines for block in document.blocks] == [(5, 5), (7, 8), (10, 10), (12, 14)]
    assert lines[6] == "para one"


@pytest.mark.requirement("A-REQ-INGEST-004")
def test_frontmatter_gives_id_title_type_and_flat_metadata() -> None:
    document = read(
        "\ufeff---\ndocument_id: STD-1\ntitle: The Title\ndocument_type: Standard\nedition: 2\ndate: 2024-01-31\n"
        "author:\n  - A. One\n  - B. Two\nowner: {name: C, team: D}\n---\n# Other\n"
    )
    assert (document.id, document.title, document.document_type) == ("STD-1", "The Title", DocumentType.STANDARD)
    metadata = dict(document.metadata)
    assert metadata["date"] == "2024-01-31"
    assert metadata["edition"] == "2"
    assert metadata["author"] == "A. One, B. Two"
    assert metadata["owner.name"] == "C"
    assert document.warnings == ()


def test_frontmatter_may_be_toml() -> None:
    document = read('+++\ntitle = "Pumps"\nstatus = "draft"\ndate = 2024-01-31\n[owner]\nname = "C"\n+++\n# Other\n')
    assert document.title == "Pumps"
    assert dict(document.metadata) == {"title": "Pumps", "status": "draft", "date": "2024-01-31", "owner.name": "C"}
    assert document.text.strip() == "Other"
    broken = read("+++\ntitle = \n+++\n\nText.\n")
    assert "kept as text" in broken.warnings[0]
    assert "title =" in broken.text


def test_an_unknown_document_type_is_named_in_a_warning() -> None:
    document = read("---\ndocument_type: novel\n---\nText.\n")
    assert document.document_type is None
    assert "novel" in document.warnings[0]


@pytest.mark.parametrize(
    "front",
    [
        "a: [1, 2",
        "a: !!python/object/apply:os.getcwd []",
        "- a list",
        "\n".join(["a0: &a0 [x]", *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12))]),
        "a: " + "x" * 200_000,
    ],
    ids=["syntax", "tag", "list", "aliases", "size"],
)
def test_bad_frontmatter_is_kept_as_text_with_a_warning(front: str) -> None:
    document = read(f"---\n{front}\n---\n\n# Head\n\nText.\n")
    assert len(document.warnings) == 1
    assert "kept as text" in document.warnings[0]
    assert "Text." in document.text
    assert front.rsplit(maxsplit=1)[-1][-9:] in document.text


def test_an_unclosed_frontmatter_is_kept_as_text_with_a_warning() -> None:
    document = read("---\ntitle: T\n\nText.\n")
    assert "not closed" in document.warnings[0]
    assert "title: T" in document.text


def test_lists_have_markers_and_depth() -> None:
    document = read("1. one\n   - inner\n\n     more\n2. two\n\n3) three\n")
    items = [(b.marker, b.depth, b.span.of(document.text)) for b in document.blocks]
    assert items == [
        ("1.", 0, "1. one"), ("•", 1, "• inner"), ("", 1, "more"), ("2.", 0, "2. two"), ("3)", 0, "3) three"),
    ]  # fmt: skip


def test_lettered_lines_keep_their_lines() -> None:
    assert read("The supplier shall:\na) plan;\nb) do\nit.").text == "The supplier shall:\na) plan;\nb) do it."


def test_emphasis_goes_and_words_stay() -> None:
    document = read("It *shall* **not** `fail`, ~~ever~~ &amp; a\\*b. ![pic](x.png) H<sub>2</sub>O<br>next\n")
    assert document.text == "It shall not fail, & a*b. pic H₂O\nnext"


@pytest.mark.requirement("A-REQ-INGEST-002")
def test_links_become_references_and_those_within_the_document_name_the_clause() -> None:
    document = read(
        "# 1 First {#one}\n\nSee [the second](#2-second-part), [it](#one), [web](https://example.org), "
        "<https://e.org>, "
        "[gone](#nowhere) and [x](#anx).\n\n## 2 Second part\n\n<a name='anx'></a>\n\n# Annex B Tests\n"
    )
    assert [(r.kind, r.target) for r in document.references] == [
        (ReferenceKind.CLAUSE, "2"),
        (ReferenceKind.CLAUSE, "1"),
        (ReferenceKind.LINK, "https://example.org"),
        (ReferenceKind.LINK, "https://e.org"),
        (ReferenceKind.LINK, "#nowhere"),
        (ReferenceKind.ANNEX, "Annex B"),
    ]
    assert [r.span.of(document.text) for r in document.references][:3] == ["the second", "it", "web"]
    assert document.sections[0].title == "First"


def test_a_label_alone_over_a_table_is_its_caption() -> None:
    document = read("As said.\n\nTable 2\n\n| a | b |\n|--|--|\n| 1 | 2 |\n\nTable 2 shows b.\n")
    assert [kind for kind, _ in kinds(document)] == ["paragraph", "caption", "table", "paragraph"]
    assert document.blocks[1].marker == "Table 2"


@pytest.mark.requirement("A-REQ-INGEST-002")
def test_tables_captions_and_pictures() -> None:
    document = read("Table 2: Loads\n\n| `a\\|b` | [c](d) |\n|:--|--:|\n| 1 | |\n\n![Figure 3: A mast](m.png)\n")
    assert kinds(document) == [
        ("caption", "Table 2: Loads"),
        ("table", "| a\\|b | c |\n| --- | --- |\n| 1 | |"),
        ("caption", "Figure 3: A mast"),
    ]
    assert document.blocks[2].marker == "Figure 3"
    (link,) = document.references
    assert link.span.of(document.text) == "c"


def test_quotes_alerts_notes_and_footnotes_are_distinguished() -> None:
    document = read(
        "> said so\n\n> [!WARNING]\n> Hot [stove](s).\n\nNOTE 1: mind it\n\nEXAMPLE 2 like so\n\n"
        "Claim[^p].\n\n[^p]: Proof.\n"
        "\n[^q]: Cited nowhere.\n"
    )
    assert kinds(document) == [
        ("quote", "said so"),
        ("note", "WARNING Hot stove."),
        ("note", "NOTE 1: mind it"),
        ("example", "EXAMPLE 2 like so"),
        ("paragraph", "Claim[^p]."),
        ("footnote", "[^p] Proof."),
        ("footnote", "[^q] Cited nowhere."),
    ]
    assert document.references[0].span.of(document.text) == "stove"


def test_a_quotation_that_is_all_a_section_says_is_its_text() -> None:
    document = read(
        "# Rules\n\n> A motto.\n\n## R-1\n\n> Pumps MUST stop.\n>\n> Note: all.\n\n---\n\n## R-2\n\nSaid:\n\n> Stop!"
    )
    assert [kind for kind, _ in kinds(document)] == [
        *("heading", "quote", "heading", "paragraph", "note", "heading", "paragraph", "quote")
    ]


def test_a_definition_list_becomes_terms_with_their_definitions() -> None:
    assert read("gust\n: highest wind\n\nflag:\n: a code\n").text == "gust: highest wind\n\nflag: a code"


def test_a_term_and_its_definition_stand_on_the_lines_and_pages_of_both() -> None:
    document = read("<!-- page 1 -->\ngust\n: highest wind\n\n<!-- page 2 -->\nflag\n: a code\n  of colours\n")
    assert [(block.span.of(document.text), block.lines, block.pages) for block in document.blocks] == [
        ("gust: highest wind", (2, 3), (1,)),
        ("flag: a code of colours", (6, 8), (2,)),
    ]
    lone = read("gust\n: ```\n  x = 1\n  ```\n\nflag\n: a code\n\nLast.\n")
    assert [(block.span.of(lone.text), block.lines) for block in lone.blocks] == [
        ("gust", (1, 1)),
        ("x = 1", (2, 4)),
        ("flag: a code", (6, 7)),
        ("Last.", (9, 9)),
    ]


def test_a_section_that_calls_itself_informative_is() -> None:
    document = read("# 1 A\n\n_This section is informative._\n\n## 1.1 B\n\n# 2 C\n\nThis clause is normative.\n")
    assert [section.informative for section in document.sections] == [True, True, False]


def test_html_is_stripped_to_its_words_headings_and_tables() -> None:
    document = read(
        "<h2>2 Made by hand</h2>\n<!-- secret -->\n<p>Some <b>bold</b> &lt;words&gt;.</p>\n<script>bad()</script>\n\n"
        "<table><tr><th>k</th><th>v</th></tr><tr><td>a</td><td>1</td></tr></table>\n\n<ul><li>item</li></ul>\n"
    )
    assert outline(document) == [(2, "2", "Made by hand")]
    assert kinds(document)[1:] == [
        ("paragraph", "Some bold <words>."),
        ("table", "| k | v |\n| --- | --- |\n| a | 1 |"),
        ("list_item", "• item"),
    ]


def test_mdx_imports_are_code_and_components_vanish_but_not_their_words() -> None:
    document = read("import X from 'y'\n\n<Note>\n\nInside.\n\n</Note>\n", "page.mdx")
    assert kinds(document) == [("code", "import X from 'y'"), ("paragraph", "Inside.")]


@pytest.mark.parametrize(
    "data",
    [
        "# Größe\n".encode("utf-8-sig"),
        "# Größe\n".encode("utf-16"),
        "# Größe\n".encode("utf-32"),
        "# Größe\r\n".encode(),
    ],
    ids=["utf-8 with mark", "utf-16", "utf-32", "utf-8 with CRLF"],
)
def test_unicode_encodings_are_understood(data: bytes) -> None:
    document = read(data)
    assert document.text == "Größe"
    assert document.warnings == ()


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("Größe “groß” 5 €, and plain words around it to make it plausible", "cp1252"),
        ("Насос должен останавливаться при давлении выше трёх бар, а клапан закрываться.", "cp1251"),
    ],
)
def test_an_encoding_is_guessed_with_a_warning(text: str, encoding: str) -> None:
    document = read(text.encode(encoding))
    assert document.text == text
    assert encoding in document.warnings[0]


def test_binary_data_is_refused_and_a_stray_control_character_is_not() -> None:
    with pytest.raises(UnreadableDocumentError) as caught:
        read(b"\x00\x01\xff\xfe\x80" * 40)
    assert caught.value.reason is UnreadableReason.CORRUPTED
    assert "UTF-8" in caught.value.suggestion
    assert read(b"A pump\x00stops. " + b"It starts again. " * 20).text.startswith("A pump\ufffdstops.")


@pytest.mark.requirement("CLARIFY-001")
@pytest.mark.parametrize("data", [b"", b"\xef\xbb\xbf \n", b"---\ntitle: T\n---\n", b"---\ntitle: T\n---\n\n \n"])
def test_a_file_without_text_is_empty(data: bytes) -> None:
    with pytest.raises(UnreadableDocumentError) as caught:
        read(data)
    assert caught.value.reason is UnreadableReason.EMPTY


def test_a_pdf_under_the_name_is_mislabelled() -> None:
    with pytest.raises(UnreadableDocumentError) as caught:
        read(b"%PDF-1.7 ...")
    assert caught.value.reason is UnreadableReason.MISLABELLED


def test_nesting_beyond_measure_is_refused_and_not_cut() -> None:
    for deep in (">" * 5000 + " deep\n\nShallow.\n", "- " * 3000 + "deep\n\nShallow.\n"):
        with pytest.raises(UnreadableDocumentError) as caught:
            read(deep)
        assert caught.value.reason is UnreadableReason.UNSUPPORTED
    assert read("- " * 20 + "deep\n\nShallow.\n").text.endswith("Shallow.")


PIECES = [
    *["# Head", "###### x", "- item", "  1) nested", "> quote", "```", "[l](#x) *e*", "[^1]: note", "text[^1]", "<b>"],
    *[
        "<table><tr><td>x",
        "a) letter",
        ": def",
        "NOTE 1 n",
        "---",
        "",
        "   ",
        "![alt](u)",
        "&nbsp;",
        "\u00ad",
        "e\u0301",
    ],
    *["[a]: <b>", "{#id}", "\t", "| a | b |", "|---|---|"],
]
MARKDOWN = st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=30)), min_size=1, max_size=25).map("\n".join)


@given(MARKDOWN)
@settings(max_examples=examples(150), deadline=None)
def test_whatever_is_written_blocks_cover_the_text_in_order_and_references_stand_where_they_say(source: str) -> None:
    item = content_item(source.encode("utf-8", "replace"), "any.md")
    try:
        document = MarkdownReader(sandbox=HERE).read(item)
    except UnreadableDocumentError as error:
        refused = {UnreadableReason.EMPTY, UnreadableReason.MISLABELLED}  # and data, for which NUL speaks
        assert error.reason in refused or ("\0" in source and error.reason is UnreadableReason.CORRUPTED)  # noqa: PT017 - all are fine here
        return
    rest = list(document.text)
    place = 0
    for block in document.blocks:
        assert place <= block.span.start < block.span.end
        place = block.span.end
        rest[block.span.start : block.span.end] = ""
        rest[block.span.start : block.span.start] = [" "] * len(block.span)
    assert "".join(rest).strip() == ""
    for reference in document.references:
        assert " ".join(reference.span.of(document.text).split()) == reference.text
    assert [b for b in document.blocks if b.kind is BlockKind.HEADING and b.section is None] == []


def test_an_id_longer_than_any_tool_can_carry_is_cut() -> None:
    assert read(f"---\ndocument_id: {'x' * 5000}\n---\n# T\n\nText.\n").id == "x" * 200


def test_brackets_without_end_are_refused_before_they_take_hours() -> None:
    with pytest.raises(UnreadableDocumentError, match="brackets in one paragraph") as caught:
        read("# Links\n\n" + "![" * 60_000)
    assert caught.value.reason is UnreadableReason.UNSUPPORTED


def test_comments_that_nothing_closes_end_nothing() -> None:
    started = time.process_time()
    document = read("# Title\n\nText.\n\n<div>shown</div> <!-- once --> also " + "<!--" * 60_000)
    assert "shown also" in " ".join(document.text.split())
    assert "<!--" not in document.text
    assert time.process_time() - started < 5


def test_marks_that_close_a_heading_before_its_attributes_are_not_in_its_title() -> None:
    document = read("# Code\n\n## Scope ## {#scope}\n\nText.\n\n## C# {#c}\n\nText.\n")
    assert [title for _, _, title in outline(document)] == ["Code", "Scope", "C#"]


def test_cells_that_a_page_does_not_show_are_counted() -> None:
    document = read("| A | B |\n|---|---|\n| 1 | 2 | 3 | |\n| 4 | 5 \\| 6 |\n\n> | A |\n> |---|\n> | 1 |\n")
    assert document.warnings == ("1 cell of a table was omitted, as on a web page: the header has no column for them.",)
    assert read("| A | B |\n|---|---|\n| 1 | 2 |\n\n1 | 2 | 3\n").warnings == ()


def test_a_list_that_only_repeats_the_headings_is_left_out_and_others_stay() -> None:
    names = ["Hives", "Legs", "Bees", "Fees"]
    clauses = "".join(f"## {at}. {name}\n\nText of {name}.\n\n" for at, name in enumerate(names, 1))
    links = [f"- [{at}. {name}](#{at}-{name.lower()})\n" for at, name in enumerate(names, 1)]
    nested = f"{links[0]}  {links[1]}{links[2]}{links[3]}"
    assert read(f"{nested}\n{clauses}").text == read(clauses).text
    more = "".join(f"## Part {letter}\n\nMore.\n\n" for letter in "ABCDE")
    below_title = read(f"## Contents\n\n{nested}\n{clauses}{more}").text
    assert below_title == f"Contents\n\n{read(clauses + more).text}"
    assert "• 1. Hives" in read(f"## Normative\n\n{nested}\n{clauses}{more}").text
    assert "• 3. Bees" in read(f"{''.join(links[:3])}\n{clauses}").text
    said = "".join(f"{link.rstrip()} say what every keeper of hives must do.\n" for link in links)
    assert "• 1. Hives say what" in read(f"{said}\n{clauses}").text
    elsewhere = nested.replace("(#", "(other.md#")
    assert "• 1. Hives" in read(f"{elsewhere}\n{clauses}").text
