"""Presentations, workbooks, e-books, OpenDocument texts, Outlook messages: what stands in them comes out, in place."""

from __future__ import annotations

import datetime as dt
import io
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from knowledge_mcp.model.document import BlockKind, Document, ReferenceKind
from knowledge_mcp.model.errors import ConfigError, UnreadableDocumentError
from knowledge_mcp.model.source import MEDIA_TYPES
from knowledge_mcp.readers.markdown.reader import MarkdownReader
from knowledge_mcp.readers.office.reader import OfficeReader
from tests.readers.in_process import HERE, InProcessSandbox
from tests.readers.office_files import epub, item_of, odt, presentation, workbook
from tests.readers.ole_files import message, text_property, xls

READER = OfficeReader(markdown=MarkdownReader(sandbox=HERE), sandbox=InProcessSandbox())


def read(data: bytes, name: str) -> Document:
    item = item_of(data, name)
    READER.check(item)
    document = READER.read(item)
    assert (document.source_uri, document.sha256, document.media_type) == (item.uri, item.sha256, item.media_type)
    assert all(block.lines is None or name.endswith((".xls", ".xlsx")) for block in document.blocks)
    return document


def tables(document: Document) -> list[str]:
    return [block.span.of(document.text) for block in document.blocks if block.kind is BlockKind.TABLE]


def path_of(document: Document, words: str) -> list[str]:
    """Return the titles of the sections above the block that holds some words."""
    block = next(block for block in document.blocks if words in block.span.of(document.text))
    return [section.label for section in document.ancestors(block.section)]


# ---- presentations --------------------------------------------------------------------------------------------------


def _talk(made: Any) -> None:
    made.core_properties.title = "Annual Review"
    made.core_properties.author = "A. Speaker"
    slide = made.slides.add_slide(made.slide_layouts[1])
    slide.shapes.title.text = "Goals & *plans*"
    frame = slide.placeholders[1].text_frame
    frame.text = "Ship <version> 2_0_1"
    frame.add_paragraph().text = "2. Measure # everything"
    slide.notes_slide.notes_text_frame.text = "Speak slowly."
    second = made.slides.add_slide(made.slide_layouts[6])
    grid = second.shapes.add_table(2, 2, 0, 0, 100, 100).table
    for place, text in (((0, 0), "key"), ((0, 1), "value"), ((1, 0), "a|b"), ((1, 1), "one\ntwo")):
        grid.cell(*place).text = text
    third = made.slides.add_slide(made.slide_layouts[5])
    third.shapes.title.text = "Backup"
    third.notes_slide.notes_text_frame.text = "Say nothing."
    third._element.set("show", "0")


@pytest.fixture(scope="module")
def talk() -> Document:
    return read(presentation(_talk), "talk.pptx")


@pytest.mark.requirement("D-REQ-1.1")
@pytest.mark.requirement("D-REQ-1.4")
def test_slides_become_pages_and_their_titles_sections(talk: Document) -> None:
    assert [page.number for page in talk.pages] == [1, 2, 3]
    assert [section.title for section in talk.sections if section.level == 1] == [
        "Goals & *plans*",
        "Slide 2",
    ]
    assert talk.title == "Annual Review"
    assert dict(talk.metadata)["author"] == "A. Speaker"


def test_a_slide_s_text_is_kept_to_the_letter_and_line_by_line(talk: Document) -> None:
    texts = [block.span.of(talk.text) for block in talk.blocks]
    assert "Ship <version> 2_0_1" in texts
    assert "2. Measure # everything" in texts


def test_speaker_s_notes_stand_below_their_slide(talk: Document) -> None:
    assert path_of(talk, "Speak slowly.") == ["Goals & *plans*", "Notes:"]


def test_a_bar_in_a_slide_s_table_parts_no_cell(talk: Document) -> None:
    assert tables(talk) == ["| key | value |\n| --- | --- |\n| a\\|b | one two |"]


def test_a_hidden_slide_is_left_out_with_its_notes_and_reported(talk: Document) -> None:
    assert "Slide 3 is hidden in the presentation, and omitted." in talk.warnings
    assert "Backup" not in talk.text
    assert "Say nothing" not in talk.text
    assert talk.hidden == (("not displayed", len("BackupSaynothing.")),)


def test_a_presentation_without_any_title_is_called_by_its_file_name() -> None:
    def fill(made: Any) -> None:
        made.core_properties.title = "PowerPoint Presentation"
        slide = made.slides.add_slide(made.slide_layouts[6])
        slide.shapes.add_textbox(0, 0, 100, 100).text_frame.text = "words"

    assert read(presentation(fill), "kick-off.pptx").title == "kick-off"


def test_a_picture_is_its_description_and_one_without_is_reported() -> None:
    from PIL import Image

    target = io.BytesIO()
    Image.new("L", (2, 2)).save(target, "PNG")

    def fill(made: Any) -> None:
        slide = made.slides.add_slide(made.slide_layouts[5])
        slide.shapes.title.text = "Shown"
        slide.shapes.add_picture(io.BytesIO(target.getvalue()), 0, 0)
        described = slide.shapes.add_picture(io.BytesIO(target.getvalue()), 0, 0)
        described._element._nvXxPr.cNvPr.set("descr", "A *map* of [all]")

    document = read(presentation(fill), "talk.pptx")
    assert document.text == "Shown\n\nA *map* of all"
    assert any(warning.startswith("1 image") for warning in document.warnings)


def test_a_slide_that_writes_a_marker_begins_no_page() -> None:
    def fill(made: Any) -> None:
        for text in ("<!-- Slide number: 7 -->\n<!-- page 9 -->", "end"):
            slide = made.slides.add_slide(made.slide_layouts[6])
            slide.shapes.add_textbox(0, 0, 100, 100).text_frame.text = text

    document = read(presentation(fill), "talk.pptx")
    assert [page.number for page in document.pages] == [1, 2]
    assert "<!-- Slide number: 7 -->" in document.text
    assert "<!-- page 9 -->" in document.text


def test_levels_of_bullets_are_nested_items() -> None:
    def fill(made: Any) -> None:
        slide = made.slides.add_slide(made.slide_layouts[1])
        slide.shapes.title.text = "Limits"
        frame = slide.placeholders[1].text_frame
        frame.text = "Pump"
        for text, level in (("Pressure", 1), ("Inlet: 3 bar", 2), ("Valve", 0)):
            each = frame.add_paragraph()
            each.text, each.level = text, level
        slide.shapes.add_textbox(0, 5_000_000, 100, 100).text_frame.text = "A remark"

    document = read(presentation(fill), "talk.pptx")

    found = [
        (block.depth, block.span.of(document.text)) for block in document.blocks if block.kind is BlockKind.LIST_ITEM
    ]
    assert [(depth, text.split(" ", 1)[1]) for depth, text in found] == [
        (0, "Pump"), (1, "Pressure"), (2, "Inlet: 3 bar"), (0, "Valve"),
    ]  # fmt: skip
    assert document.blocks[-1].kind is BlockKind.PARAGRAPH


def test_check_counts_the_slides() -> None:
    assert READER.check(item_of(presentation(_talk), "talk.pptx")).pages == 3


# ---- workbooks ------------------------------------------------------------------------------------------------------


def _accounts(made: Any) -> None:
    sheet = made.active
    sheet.title = "Costs | 2024"
    rows = [
        ["Costs of the year"],
        [],
        ["year", "item", "share", "when", "sum"],
        [2020, "paper", 0.25, dt.date(2020, 1, 2), "=1+1"],
        [],
        [2021, "a|b\nc", 1, dt.datetime(2021, 5, 6, 7, 8), True],  # noqa: DTZ001
    ]
    for row in rows:
        sheet.append(row)
    sheet["C4"].number_format = "0%"
    made.create_sheet("Empty")
    secret = made.create_sheet("Secret")
    secret["B2"] = "hidden words"
    secret.sheet_state = "hidden"


@pytest.mark.requirement("D-REQ-1.4")
def test_sheets_become_sections_with_their_tables_whole() -> None:
    document = read(workbook(_accounts), "accounts.xlsx")
    assert [section.title for section in document.sections] == ["Costs | 2024"]
    assert tables(document) == [
        "| year | item | share | when | sum |\n| --- | --- | --- | --- | --- |\n"
        "| 2020 | paper | 25% | 2020-01-02 | =1+1 |\n"
        "| 2021 | a\\|b c | 1 | 2021-05-06 07:08:00 | TRUE |"
    ]
    assert path_of(document, "Costs of the year") == ["Costs | 2024"]
    assert document.title == "accounts"


def test_a_hidden_sheet_is_left_out_counted_and_reported() -> None:
    document = read(workbook(_accounts), "accounts.xlsx")
    assert "hidden words" not in document.text
    assert "The sheet Secret is hidden in the workbook, and omitted: 11 characters." in document.warnings
    assert document.hidden == (("not displayed", 11),)
    assert dict(document.metadata)["sheets"] == "Costs | 2024, Empty"


def test_a_cell_at_the_far_end_of_a_sheet_costs_no_table_of_that_size() -> None:
    def fill(made: Any) -> None:
        made.active["A1"] = "near"
        made.active["XFD40000"] = "far"

    assert read(workbook(fill), "far.xlsx").text.split() == ["Sheet", "near", "far"]


def test_two_tables_on_one_sheet_stay_two() -> None:
    def fill(made: Any) -> None:
        for row in (["a", "b"], ["x", "y"], [], ["c", "d"], ["z", "w"]):
            made.active.append(row)

    assert len(tables(read(workbook(fill), "two.xlsx"))) == 2


def test_a_long_column_is_one_table() -> None:
    def fill(made: Any) -> None:
        for number in range(50):
            made.active.append([f"entry {number}"])

    document = read(workbook(fill), "list.xlsx")
    assert len(tables(document)) == 1
    assert all(f"| entry {number} |" in document.text for number in range(50))


def test_old_workbooks_are_read_alike() -> None:
    data = xls({"Prices": [["item", "price"], ["tea", 2.5], ["milk", 3.0]], "More": [["é|", "x"]]}, hidden="More")
    document = read(data, "old.xls")
    assert tables(document) == [
        "| item | price |\n| --- | --- |\n| tea | 2.5 |\n| milk | 3 |",
    ]
    assert [section.title for section in document.sections] == ["Prices"]
    assert any("More" in warning for warning in document.warnings)
    assert document.hidden == (("not displayed", 3),)


def test_a_new_workbook_under_the_old_name_is_read() -> None:
    assert "Costs of the year" in read(workbook(_accounts), "accounts.xls").text


# ---- e-books --------------------------------------------------------------------------------------------------------


def test_an_e_book_s_chapters_come_in_order_with_their_text_whole() -> None:
    first = (
        "<h1>1 Start</h1><p>Use &lt;tag&gt; and *star*, a_b, 5 &lt; 6, [x](y) &amp;amp; 1|2.</p><pre>if a:\n    b</pre>"
    )
    second = "<h1>2 End</h1><table><tr><td>a</td><td>b</td></tr><tr><td>1|2</td><td>c</td></tr></table>"
    document = read(epub(first, second), "book.epub")
    assert document.title == "A Book"
    assert dict(document.metadata) == {"author": "A. Writer", "language": "en"}
    assert [section.number for section in document.sections] == ["1", "2"]
    assert "Use <tag> and *star*, a_b, 5 < 6, [x](y) &amp; 1|2." in document.text
    assert "if a:\n    b" in document.text
    assert "| 1\\|2 | c |" in tables(document)[0]


def test_an_e_book_is_read_as_pages_are() -> None:
    body = (
        '<p>A ratio of <math xmlns="http://www.w3.org/1998/Math/MathML"><mfrac><mn>1</mn><mn>2</mn></mfrac></math>.</p>'
        '<p style="display:none">Unseen</p><dl><dt>pump</dt><dd>A machine.</dd></dl><ol type="a"><li>first</li></ol>'
    )
    document = read(epub(body), "book.epub")
    assert document.text == "A ratio of 1/2.\n\npump: A machine.\n\na. first"
    assert dict(document.hidden) == {"not displayed": 6}


def test_a_chapter_that_is_not_in_the_book_s_file_is_reported() -> None:
    document = read(epub("<p>words</p>", missing=2), "book.epub")
    assert any(warning.startswith("2 chapters") for warning in document.warnings)


# ---- OpenDocument ---------------------------------------------------------------------------------------------------

_OUTLINE = "".join(
    f'<text:outline-level-style text:level="{n}" style:num-format="1" text:display-levels="{n}"/>' for n in (1, 2)
)
_BODY = """
<text:tracked-changes><text:changed-region><text:p>gone</text:p></text:changed-region></text:tracked-changes>
<text:table-of-content><text:index-body><text:p>Scope 1</text:p></text:index-body></text:table-of-content>
<text:h text:outline-level="1">Scope</text:h>
<text:h text:outline-level="2"><text:bookmark text:name="part"/>Parts</text:h>
<text:p>See<text:s/><text:a xlink:href="https://example.org/x">the page</text:a> and
<text:a xlink:href="#part">that</text:a>.<text:note><text:note-citation>1</text:note-citation><text:note-body
><text:p>A note.</text:p></text:note-body
></text:note><office:annotation><text:p>remark</text:p></office:annotation></text:p>
<text:list><text:list-item><text:p>one</text:p><text:list><text:list-item><text:p>two</text:p></text:list-item>
</text:list></text:list-item></text:list>
<table:table><table:table-row><table:table-cell><text:p>a</text:p></table:table-cell>
<table:table-cell table:number-columns-repeated="2"><text:p>b</text:p></table:table-cell></table:table-row>
<table:table-row table:number-rows-repeated="1000000"><table:table-cell/></table:table-row></table:table>
<text:p>Before<draw:frame><draw:text-box><text:p>boxed</text:p></draw:text-box></draw:frame></text:p>
"""


@pytest.fixture(scope="module")
def letter() -> Document:
    return read(odt(_BODY, outline=_OUTLINE, meta="<dc:title>The Letter</dc:title>"), "letter.odt")


def test_the_first_paragraph_in_the_style_of_titles_names_an_opendocument_text() -> None:
    style = '<style:style style:name="P1" style:family="paragraph" style:parent-style-name="Title"/>'
    body = '<text:p text:style-name="P1">The <text:s/>Pumps</text:p><text:h text:outline-level="1">Scope</text:h>'
    assert read(odt(body, styles=style), "a.odt").title == "The Pumps"
    assert read(odt(body, styles=style, meta="<dc:title>Its Name</dc:title>"), "a.odt").title == "Its Name"


def test_an_opendocument_text_has_its_numbers_lists_tables_and_notes(letter: Document) -> None:
    assert [section.label for section in letter.sections] == ["1 Scope", "1.1 Parts"]
    kinds = [(block.kind.value, block.span.of(letter.text)) for block in letter.blocks]
    assert kinds[2:] == [
        ("paragraph", "See the page and that.[^1]"),
        ("footnote", "[^1] A note."),
        ("list_item", "• one"),
        ("list_item", "• two"),
        ("table", "| a | b | b |\n| --- | --- | --- |"),
        ("paragraph", "Before"),
        ("paragraph", "boxed"),
    ]
    assert letter.title == "The Letter"


def test_links_of_an_opendocument_text_become_references(letter: Document) -> None:
    found = [(reference.text, reference.kind, reference.target) for reference in letter.references]
    assert ("the page", ReferenceKind.LINK, "https://example.org/x") in found
    assert ("that", ReferenceKind.CLAUSE, "1.1") in found


def test_comments_are_left_out_and_reported(letter: Document) -> None:
    assert "remark" not in letter.text
    assert "1 comment was omitted." in letter.warnings


def test_cells_of_an_opendocument_table_keep_links_and_what_they_reach_over() -> None:
    document = read(
        odt(
            """<table:table><table:table-header-rows><table:table-row>
<table:table-cell table:number-columns-spanned="2"><text:p>Load</text:p></table:table-cell>
<table:covered-table-cell><text:p>lost</text:p></table:covered-table-cell></table:table-row>
<table:table-row><table:table-cell><text:p>kg</text:p></table:table-cell><table:table-cell><text:p>lb</text:p>
</table:table-cell></table:table-row></table:table-header-rows>
<table:table-row><table:table-cell table:number-rows-spanned="2"><text:p>1</text:p></table:table-cell>
<table:table-cell><text:p>see <text:a xlink:href="https://example.org/x">x</text:a></text:p></table:table-cell>
</table:table-row><table:table-row><table:covered-table-cell/><table:table-cell><text:p>3</text:p></table:table-cell>
</table:table-row></table:table>"""
        ),
        "loads.odt",
    )
    assert document.text == "| Load / kg | lb |\n| --- | --- |\n| 1 | see x |\n| 1 | 3 |"
    assert [(each.text, each.target) for each in document.references] == [("x", "https://example.org/x")]
    assert sum(count for _, count in document.hidden) == len("lost")


# ---- Outlook --------------------------------------------------------------------------------------------------------


def test_a_message_has_its_people_its_date_and_its_text_to_the_letter() -> None:
    data = message(
        text_property("0037", "Meeting *tomorrow*"),
        text_property("0C1A", "Ann"),
        text_property("0C1F", "ann@example.org"),
        text_property("0E04", "Bob"),
        text_property("0E03", "Cyd"),
        text_property("1000", "Hello <Bob>,\r\n\r\n# see you\r\n"),
        fixed={(0x0039, 0x0040): 133_500_000_000_000_000},
        attachments=["plan.pdf"],
    )
    document = read(data, "mail.msg")
    assert document.title == "Meeting *tomorrow*"
    assert dict(document.metadata) == {
        "from": "Ann <ann@example.org>",
        "to": "Bob",
        "cc": "Cyd",
        "date": "2024-01-17T21:20:00+00:00",
        "attachments": "plan.pdf",
    }
    assert document.text.endswith("Hello <Bob>,\n\n# see you")
    assert document.warnings == ("Attachments are not read: plan.pdf.",)


def test_a_message_with_only_an_html_body_in_an_old_code_page_is_read() -> None:
    data = message(
        text_property("0037", "Grüße", encoding="cp1252"),
        ("__substg1.0_10130102", "<p>Schöne <b>Tage</b></p>".encode("cp1252")),
        fixed={(0x3FFD, 3): 1252},
    )
    assert read(data, "mail.msg").text == "Grüße\n\nSchöne Tage"


# ---- the reader -----------------------------------------------------------------------------------------------------


@pytest.fixture
def reader() -> Iterator[OfficeReader]:
    made = OfficeReader(markdown=MarkdownReader(sandbox=HERE))
    yield made
    made.close()


def test_a_child_process_reads_as_this_one(reader: OfficeReader, tmp_path: Path) -> None:
    data = workbook(_accounts)
    assert reader.read(item_of(data, "accounts.xlsx")).text == read(data, "accounts.xlsx").text


@pytest.mark.requirement("D-REQ-1.3")
@pytest.mark.parametrize("name", ["a.pptx", "a.xlsx", "a.xls", "a.msg"])
def test_without_its_libraries_the_reader_says_how_to_install_them(name: str) -> None:
    bare = OfficeReader(markdown=MarkdownReader(sandbox=HERE), installed=lambda module: False)
    for attempt in (bare.check, bare.read):
        with pytest.raises(ConfigError) as caught:
            attempt(item_of(b"x", name))
        assert 'pip install "clausewise[office]"' in caught.value.suggestion


def test_opendocument_texts_need_no_further_library() -> None:
    bare = OfficeReader(
        markdown=MarkdownReader(sandbox=HERE), sandbox=InProcessSandbox(), installed=lambda module: False
    )
    assert bare.read(item_of(odt("<text:p>words</text:p>"), "a.odt")).text == "words"


def test_the_version_names_the_markdown_reader_s_too() -> None:
    assert MarkdownReader(sandbox=HERE).version in READER.version


def test_all_that_is_read_has_an_extension() -> None:
    assert set(OfficeReader.jobs) <= set(MEDIA_TYPES.values())


# ---- mails as they are sent -----------------------------------------------------------------------------------------

MAIL = (
    b"From: =?utf-8?q?B=C3=A4r?= <b@example.org>\r\nTo: c@example.org\r\nSubject: Crane\r\n survey\r\n"
    b"Date: Mon, 6 May 2024 10:00:00 +0000\r\nMIME-Version: 1.0\r\n"
    b'Content-Type: multipart/mixed; boundary="x"\r\n\r\n--x\r\nContent-Type: text/plain; charset=latin-1\r\n'
    b"Content-Transfer-Encoding: quoted-printable\r\n\r\nThe gr=FCn crane.\r\n\r\nIs old.\r\n"
    b'--x\r\nContent-Type: application/pdf\r\nContent-Disposition: attachment; filename="plan.pdf"\r\n\r\nJVBERg==\r\n'
    b"--x--\r\n"
)


def test_a_mail_gives_its_heads_its_text_and_the_names_of_its_attachments() -> None:
    document = read(MAIL, "survey.eml")
    assert document.title == "Crane survey"
    assert [block.span.of(document.text) for block in document.blocks] == [
        "Crane survey",
        "From: Bär <b@example.org>",
        "To: c@example.org",
        "Date: Mon, 06 May 2024 10:00:00 +0000",
        "Attachments: plan.pdf",
        "The grün crane.",
        "Is old.",
    ]
    assert document.warnings == ("Attachments are not read: plan.pdf.",)


def test_a_mail_is_read_in_the_encoding_that_its_label_is_used_for() -> None:
    head = b"From: a@example.org\nSubject: Seals\nContent-Type: text/plain; charset=iso-8859-1\n"
    assert "It’s 5 €." in read(head + b"Content-Transfer-Encoding: 8bit\n\nIt\x92s 5 \x80.\n", "a.eml").text


def test_a_mail_that_has_only_html_is_read_as_a_page() -> None:
    mail = b"Subject: x\nContent-Type: text/html\n\n<p>A <b>seal</b> leaks.</p>"
    assert "A seal leaks." in read(mail, "a.eml").text


def test_the_text_of_a_mail_continues_behind_a_picture() -> None:
    text = b"--x\r\nContent-Type: text/plain\r\n\r\nIt leaks.\r\n--x--"
    document = read(MAIL.replace(b"--x--", text), "a.eml")
    assert [block.span.of(document.text) for block in document.blocks][-2:] == ["Is old.", "It leaks."]
    assert document.warnings == ("Attachments are not read: plan.pdf.",)


def test_a_mail_whose_plain_text_only_says_that_there_is_a_page_is_read_as_that() -> None:
    mail = (
        b"Subject: x\nContent-Type: multipart/alternative; boundary=x\n\n--x\nContent-Type: text/plain\n\n"
        b"See this mail in a browser.\n--x\nContent-Type: text/html\n\n"
        b"<p>Each seal shall be replaced once a year by its owner, and records shall be kept.</p>\n--x--\n"
    )
    assert "shall be replaced" in read(mail, "a.eml").text
    assert "browser" not in read(mail, "a.eml").text
    assert "browser" in read(mail.replace(b" by its owner, and records shall be kept", b""), "a.eml").text


def test_a_mail_that_hangs_on_another_is_named_by_its_subject() -> None:
    hung = b"--x\r\nContent-Type: message/rfc822\r\n\r\nSubject: Old seals\r\n\r\nThey leak.\r\n--x--"
    assert read(MAIL.replace(b"--x--", hung), "a.eml").warnings == ("Attachments are not read: plan.pdf, Old seals.",)


@pytest.mark.parametrize("data", [b"just words without any header", b"%PDF-1.7 x", b" \n"])
def test_what_is_no_mail_is_refused(data: bytes) -> None:
    with pytest.raises(UnreadableDocumentError):
        read(data, "a.eml")


def test_a_chapter_that_a_book_lists_many_times_is_in_it_once() -> None:
    book = epub("<p>First words.</p>", "<p>Last words.</p>")
    with zipfile.ZipFile(io.BytesIO(book)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    parts["book/package.opf"] = parts["book/package.opf"].replace(
        b"<spine>", b"<spine>" + b'<itemref idref="c0"/>' * 500
    )
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    assert read(packed.getvalue(), "book.epub").text == read(book, "book.epub").text


@pytest.mark.parametrize(
    "line",
    [
        "Content-Type: text/plain; charset=utf-8" + ";" * 40_000,
        "To: " + '"' * 40_000,
        "Subject: " + "=?utf-8?q?a?= " * 20_000,
    ],
)
def test_the_time_for_a_header_of_a_mail_does_not_grow_with_the_square_of_its_length(line: str) -> None:
    started = time.process_time()
    mail = f"From: a@example.org\nSubject: Seals\n{line}\n\nA seal leaks.\n".encode()
    assert "A seal leaks." in read(mail, "a.eml").text
    assert time.process_time() - started < 8  # without a limit minutes, or gigabytes
