"""What a reader of a Word document sees, and only that."""

from __future__ import annotations

import pytest

from knowledge_mcp.model.document import Block, BlockKind, Document, DocumentType, HiddenReason, ReferenceKind
from knowledge_mcp.readers.docx.reader import DocxReader
from tests.readers.docx_files import (
    W,
    bookmark,
    content_item,
    docx_bytes,
    heading,
    numbered,
    p,
    read_docx,
    relations,
    run,
    style,
    table,
)
from tests.readers.in_process import HERE
from tests.readers.shown import kinds

CORE = (
    '<cp:coreProperties xmlns:cp="c" xmlns:dc="d" xmlns:dcterms="t"><dc:title>{}</dc:title>'
    "<dc:creator>Ann Author</dc:creator><dcterms:modified>2024-05-06T07:08:09Z</dcterms:modified>"
    "<cp:revision>3</cp:revision></cp:coreProperties>"
)


def field(instruction: str, result: str) -> str:
    def mark(kind: str) -> str:
        return f'<w:r><w:fldChar w:fldCharType="{kind}"/></w:r>'

    code = f'<w:r><w:instrText xml:space="preserve"> {instruction} </w:instrText></w:r>'
    return f"{mark('begin')}{code}{mark('separate')}{run(result) if result else ''}{mark('end')}"


def only(document: Document, kind: BlockKind) -> list[Block]:
    return [block for block in document.blocks if block.kind is kind]


def test_tracked_changes_read_as_accepted() -> None:
    inserted = f"<w:ins>{run('new ')}</w:ins>"
    deleted = "<w:del><w:r><w:delText>old </w:delText></w:r></w:del>"
    moved = f"<w:moveFrom>{run('away ')}</w:moveFrom><w:moveTo>{run('here ')}</w:moveTo>"
    document = read_docx(p(run("The ") + inserted + deleted + moved + run("end.")))
    assert document.text == "The new here end."


def test_changes_that_are_not_accepted_comments_headers_and_what_is_no_text_are_reported() -> None:
    inserted = f"<w:ins>{run('100 %')}</w:ins>"
    deleted = "<w:del><w:r><w:delText>110 %</w:delText></w:r></w:del>"
    body = p(run("At most ") + inserted + deleted + deleted)
    comments = f'<w:comments xmlns:w="{W}"><w:comment w:id="0">{p("Should it be 90 %?")}</w:comment></w:comments>'
    header = f'<w:hdr xmlns:w="{W}">{p("Draft C")}</w:hdr>'
    links = relations(("r1", "header", "header1.xml"), ("r2", "oleObject", "embeddings/o1.bin"))
    parts = {"word/comments.xml": comments, "word/header1.xml": header, **links}
    document = DocxReader(sandbox=HERE).read(content_item(docx_bytes(body, parts=parts)))
    assert document.text == "At most 100 %"
    assert document.warnings == (
        "Tracked changes are not accepted yet (1 insertion, 2 deletions): the text was read as if they were.",
        "1 comment was omitted.",
        "Embedded objects in the document are not read.",
    )
    assert dict(document.metadata)["page_headers"] == "Draft C"


def test_what_is_struck_out_is_left_out_and_counted() -> None:
    struck = '<w:style w:type="character" w:styleId="Gone"><w:rPr><w:strike/></w:rPr></w:style>'
    body = p(
        run("The stack shall be ")
        + run("3 m ", "<w:strike/>")
        + run("4 m ", "<w:dstrike/>")
        + run("5 m ", '<w:rStyle w:val="Gone"/>')
        + run("6 m", '<w:rStyle w:val="Gone"/><w:strike w:val="0"/>')
        + run(" high.")
    )
    document = read_docx(body, styles=struck)
    assert document.text == "The stack shall be 6 m high."
    assert document.hidden == ((HiddenReason.STRUCK.value, 6),)


def test_a_deleted_paragraph_mark_joins_two_paragraphs() -> None:
    first = p(run("One half, "), "", "<w:rPr><w:del/></w:rPr>")
    assert read_docx(first + p("and the other.")).text == "One half, and the other."


def test_content_controls_and_text_boxes_are_read_once() -> None:
    control = f"<w:sdt><w:sdtPr/><w:sdtContent>{p('In a control.')}</w:sdtContent></w:sdt>"
    inner = f"<w:txbxContent>{p('In a box.')}</w:txbxContent>"
    drawing = f"<w:drawing><wp:inline><wps:wsp><wps:txbx>{inner}</wps:txbx></wps:wsp></wp:inline></w:drawing>"
    fallback = f"<w:pict><v:textbox>{inner}</v:textbox></w:pict>"
    box = f"<w:r><mc:AlternateContent><mc:Choice>{drawing}</mc:Choice><mc:Fallback>{fallback}</mc:Fallback>"
    document = read_docx(control + p(run("Before. ") + box + "</mc:AlternateContent></w:r>"))
    assert [text for _, text in kinds(document)] == ["In a control.", "Before.", "In a box."]


def test_hidden_text_comments_and_field_codes_are_not_shown() -> None:
    hidden = run("secret", "<w:vanish/>")
    page = field("PAGE", "7")
    comment = '<w:commentRangeStart w:id="1"/>' + run("said") + '<w:r><w:commentReference w:id="1"/></w:r>'
    assert read_docx(p(run("It is ") + hidden + comment + run(" on page ") + page)).text == "It is said on page 7"


def test_raised_digits_symbols_and_equations_keep_their_meaning() -> None:
    power = run("10") + run("-3", '<w:vertAlign w:val="superscript"/>') + run(" m")
    symbol = '<w:r><w:sym w:font="Symbol" w:char="F0B3"/></w:r>' + run(" 5 ")
    fraction = "<m:f><m:num><m:r><m:t>a+b</m:t></m:r></m:num><m:den><m:r><m:t>c</m:t></m:r></m:den></m:f>"
    document = read_docx(p(power + run(" ") + symbol + f"<m:oMath>{fraction}</m:oMath>"))
    assert document.text == "10⁻³ m ≥ 5 (a+b)/c"


@pytest.mark.parametrize(
    ("words", "raised", "read"),
    [
        ("40", "a", "40ᵃ"),
        ("12.5", "b)", "12.5ᵇ⁾"),
        ("Steel", "c, d", "Steelᶜ,ᵈ"),
        ("1", "st", "1st"),
        ("M", "me", "Mme"),
        ("x", "n", "x^n"),
    ],
)
def test_raised_letters_are_marks_of_notes(words: str, raised: str, read: str) -> None:
    assert read_docx(p(run(words) + run(raised, '<w:vertAlign w:val="superscript"/>'))).text == read


_TALL, _LOW = 2_000_000, 200_000
"""Heights of a figure and of a formula in a line, in Word's units, 12,700 of which are a point."""


def _inline(height: int, says: str = "") -> str:
    extent = f'<wp:extent cx="900000" cy="{height}"/><wp:docPr id="1" name="Picture 1" descr="{says}"/>'
    return f"<w:r><w:drawing><wp:inline>{extent}</wp:inline></w:drawing></w:r>"


def test_a_formula_that_is_a_picture_leaves_a_trace_and_a_warning() -> None:
    shape = '<v:shape style="width:31pt;height:16pt"/>'
    old = f"<w:r><w:object>{shape}</w:object></w:r>"
    alone = p(run("The load is found by the formula")) + p(_inline(_LOW, "EQUATION")) + p(run("where S is the load."))
    document = read_docx(alone + p(run("N") + old + run(" is 50.")))
    assert [text for _, text in kinds(document)] == [
        "The load is found by the formula", "\ufffc", "where S is the load.", "N\ufffc is 50."
    ]  # fmt: skip
    assert [each for each in document.warnings if "2 images in lines of text not read" in each]


def test_figures_and_pictures_that_say_what_they_show_are_no_signs_of_the_text() -> None:
    floating = f'<w:r><w:drawing><wp:anchor><wp:extent cx="9" cy="{_LOW}"/></wp:anchor></w:drawing></w:r>'
    heading = p(_inline(_LOW) + run("General"), properties='<w:outlineLvl w:val="0"/>')
    document = read_docx(
        heading + p(_inline(_TALL)) + p(run("See ") + _inline(_LOW, "a + b over c")) + p(run("Aside.") + floating)
    )
    assert "\ufffc" not in document.text
    assert not [each for each in document.warnings if "not read" in each]


def test_a_sign_of_an_unknown_symbol_font_position_leaves_a_trace_and_a_warning() -> None:
    document = read_docx(p('<w:r><w:sym w:font="Wingdings" w:char="F099"/></w:r>' + run(" yes")))
    assert document.text == "▪ yes"
    assert len(document.warnings) == 1


@pytest.mark.requirement("A-REQ-INGEST-002")
def test_a_table_becomes_markdown_rows_with_merged_cells_understood() -> None:
    def cell(text: str, settings: str = "") -> str:
        return f"<w:tc><w:tcPr>{settings}</w:tcPr>{p(text)}</w:tc>"

    wide, first = '<w:gridSpan w:val="2"/>', '<w:vMerge w:val="restart"/>'
    rows = (
        f"<w:tr><w:trPr><w:tblHeader/></w:trPr>{cell('Kind')}{cell('Limits', wide)}</w:tr>",
        f"<w:tr>{cell('Wind', first)}{cell('low')}{cell('1|2')}</w:tr>",
        f"<w:tr>{cell('', '<w:vMerge/>')}{cell('high')}{cell('60')}</w:tr>",
        f"<w:tr><w:trPr><w:del/></w:trPr>{cell('gone')}{cell('gone')}{cell('gone')}</w:tr>",
    )
    document = read_docx(heading(1, "Data") + table(*rows))
    (block,) = only(document, BlockKind.TABLE)
    assert block.span.of(document.text).split("\n") == [
        "| Kind | Limits | |",
        "| --- | --- | --- |",
        "| Wind | low | 1\\|2 |",
        "| Wind | high | 60 |",
    ]


def test_a_table_in_a_cell_is_flattened_and_a_table_of_one_column_is_text() -> None:
    def cell(content: str) -> str:
        return f"<w:tc>{content}</w:tc>"

    inner = table(f"<w:tr>{cell(p('a'))}{cell(p('b'))}</w:tr>", f"<w:tr>{cell(p('c'))}{cell(p('d'))}</w:tr>")
    outer = table(f"<w:tr>{cell(p('Left'))}{cell(inner)}</w:tr>", f"<w:tr>{cell(p('x'))}{cell(p('y'))}</w:tr>")
    framed = table(f"<w:tr>{cell(heading(1, 'Framed') + p('Text in a frame.'))}</w:tr>")
    document = read_docx(outer + framed)
    assert "| Left | a: b; c: d |" in document.text
    assert [section.title for section in document.sections] == ["Framed"]


@pytest.mark.requirement("A-REQ-INGEST-002")
def test_captions_are_found_by_style_and_by_field_and_numbered_where_word_left_no_number() -> None:
    body = p("Table 1: Loads", "Cap") + p(run("Figure ") + field("SEQ Figure", "") + run(" A mast"))
    body += p(run("Figure ") + field("SEQ Figure", "") + run(" A hut")) + p("Table 1 shows that loads vary.")
    document = read_docx(body, styles=style("Cap", "caption"))
    assert [(block.kind, block.marker) for block in document.blocks] == [
        (BlockKind.CAPTION, "Table 1"),
        (BlockKind.CAPTION, "Figure 1"),
        (BlockKind.CAPTION, "Figure 2"),
        (BlockKind.PARAGRAPH, ""),
    ]


@pytest.mark.requirement("A-REQ-INGEST-002")
def test_fields_and_links_become_references_to_what_they_point_to() -> None:
    link = f'<w:hyperlink r:id="x1">{run("the site")}</w:hyperlink>'
    body = p(
        run("See ") + field("REF _clause \\r \\h", "1.1") + run(" and ") + field("REF _t", "Table 1") + run(", ") + link
    )
    body += heading(1, "First") + p(bookmark("_clause", run("Inner")), "H2")
    body += p(bookmark("_t", run("Table ") + field("SEQ Table", "1")) + run(" Loads"))
    data = docx_bytes(body, parts=relations(("x1", "hyperlink", "https://example.org/a")))
    document = DocxReader(sandbox=HERE).read(content_item(data))
    assert [(r.kind, r.target) for r in document.references] == [
        (ReferenceKind.CLAUSE, "1.1"),
        (ReferenceKind.TABLE, "Table 1"),
        (ReferenceKind.LINK, "https://example.org/a"),
    ]
    assert [r.span.of(document.text) for r in document.references] == ["1.1", "Table 1", "the site"]


def test_footnotes_stand_behind_the_paragraph_that_cites_them_with_the_number_that_word_prints() -> None:
    note = '<w:footnotes xmlns:w="{}"><w:footnote w:id="2">{}</w:footnote></w:footnotes>'
    cited = p(run("A claim") + '<w:r><w:footnoteReference w:id="2"/></w:r>' + run(" made."))
    from tests.readers.docx_files import W

    document = read_docx(cited + p("More."), word__footnotes=note.format(W, p("Its proof.")))
    assert kinds(document) == [
        ("paragraph", "A claim[^1] made."),
        ("footnote", "[^1] Its proof."),
        ("paragraph", "More."),
    ]


def test_a_footnote_that_is_cited_several_times_stands_once_behind_the_first_paragraph_that_cites_it() -> None:
    from tests.readers.docx_files import W

    notes = f'<w:footnotes xmlns:w="{W}"><w:footnote w:id="2">{p("Its proof.")}</w:footnote></w:footnotes>'
    cited = '<w:r><w:footnoteReference w:id="2"/></w:r>'
    document = read_docx(p(run("One") + cited + run(" two") + cited) + p(run("Three") + cited), word__footnotes=notes)
    assert kinds(document) == [
        ("paragraph", "One[^1] two[^1]"),
        ("footnote", "[^1] Its proof."),
        ("paragraph", "Three[^1]"),
    ]


def test_notes_examples_and_code_are_distinguished() -> None:
    body = p("NOTE 2 Mind the gap.") + p("EXAMPLE: 3 apples") + p("Note that it rains.") + p("Styled.", "N")
    body += p("if a:", "C") + p("    b()", "C") + p("Quoted.", "Q")
    styles = style("N", "Note") + style("C", "Code") + style("Q", "Quote")
    document = read_docx(body, styles=styles)
    assert kinds(document) == [
        ("note", "NOTE 2 Mind the gap."),
        ("example", "EXAMPLE: 3 apples"),
        ("paragraph", "Note that it rains."),
        ("note", "Styled."),
        ("code", "if a:\n    b()"),
        ("quote", "Quoted."),
    ]
    assert document.blocks[0].marker == "NOTE 2"


def test_a_table_of_contents_is_left_out() -> None:
    line = run("1 Scope\t") + field("PAGEREF _x", "3")
    begin = '<w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText>TOC \\o</w:instrText></w:r>'
    begin += '<w:r><w:fldChar w:fldCharType="separate"/></w:r>'
    body = p(begin + line) + p(line) + p('<w:r><w:fldChar w:fldCharType="end"/></w:r>') + p("Old entry 4", "T1")
    document = read_docx(body + heading(1, "Scope") + p("Text."), styles=style("T1", "toc 1"))
    assert document.text == "1 Scope\n\nText."


def test_properties_become_title_metadata_id_and_type() -> None:
    custom = (
        '<Properties xmlns="p" xmlns:vt="v"><property name="Document_ID"><vt:lpwstr>X 1</vt:lpwstr></property>'
        '<property name="document_type"><vt:lpwstr>Handbook</vt:lpwstr></property></Properties>'
    )
    document = read_docx(p("Text."), docProps__core=CORE.format("Good title"), docProps__custom=custom)
    metadata = dict(document.metadata)
    assert (document.title, document.id, document.document_type) == ("Good title", "x-1", DocumentType.HANDBOOK)
    assert metadata["author"] == "Ann Author"
    assert metadata["date"] == "2024-05-06"
    assert "revision" not in metadata, "Word counts there how often it saved the file; it is no edition"


@pytest.mark.parametrize("made", ["Document1", "FORM_TITLE"])
def test_a_made_up_title_property_gives_way_to_the_title_paragraph(made: str) -> None:
    title = style("Ti", "Title")
    document = read_docx(p("Real title", "Ti") + p("x"), styles=title, docProps__core=CORE.format(made))
    assert document.title == "Real title"
    assert read_docx(p("x")).title == "sample"


def test_the_title_of_the_template_is_none_of_the_document_unless_it_prints_it() -> None:
    core = CORE.format("House style report template")
    assert read_docx(p("Pumps"), docProps__core=core).title == "sample"
    assert read_docx(p("House style report template"), docProps__core=core).title == "House style report template"


@pytest.mark.parametrize("field", ["&lt;Title 1; Title 2&gt; (Release 14)", "[Subject]"])
def test_a_title_in_properties_that_were_never_filled_in_is_not_used(field: str) -> None:
    core = CORE.format("Spec ab.cde").replace("</dc:title>", f"</dc:title><dc:subject>{field}</dc:subject>", 1)
    document = read_docx(p("Text of it."), docProps__core=core)
    assert document.title == "sample"


def test_strict_documents_read_like_transitional_ones() -> None:
    strict = "http://purl.oclc.org/ooxml/wordprocessingml/main"
    body = heading(1, "Scope") + heading(2, "Inner") + numbered("Text.", 1, 2)
    data = docx_bytes(body, namespace=strict)
    document = DocxReader(sandbox=HERE).read(content_item(data))
    assert [section.number for section in document.sections] == ["1", "1.1", "1.1.1"]


def test_blocks_are_in_order_disjoint_and_cover_all_text() -> None:
    body = (
        heading(1, "A")
        + p("One.")
        + numbered("Two.", 1, 1)
        + table(f"<w:tr><w:tc>{p('a')}</w:tc><w:tc>{p('b')}</w:tc></w:tr>")
    )
    document = read_docx(body + p("Three."))
    rest = list(document.text)
    for before, after in zip(document.blocks, document.blocks[1:], strict=False):
        assert before.span.end < after.span.start
    for block in document.blocks:
        rest[block.span.start : block.span.end] = " " * len(block.span)
    assert "".join(rest).strip() == ""
    assert document.pages == ()


def test_a_requirement_s_tag_that_a_tool_has_hidden_stands_before_its_words() -> None:
    tagged = p(run("SSR1 ", "<w:vanish/>") + run("The unit shall stop."))
    other = p(run("see the old REQ-12", "<w:vanish/>") + run("It waits."))
    later = p(run("It waits for ") + run("REQ-12", "<w:vanish/>") + run("the signal."))
    document = read_docx(tagged + other + later)
    assert document.text.splitlines() == ["SSR1 The unit shall stop.", "", "It waits.", "", "It waits for the signal."]
