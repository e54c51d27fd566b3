"""The PDF reader on files made on the spot: text, structure, pages."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from knowledge_mcp.model.document import Block, BlockKind, Document, HeadingSource, Section
from knowledge_mcp.readers.pdf.reader import PdfReader
from knowledge_mcp.readers.shared.layout import is_code_name
from tests.readers.in_process import InProcessSandbox
from tests.readers.pdf_files import LEFT, SENTENCE, changed, item_of, sheet, standard
from tests.readers.shown import texts


@pytest.fixture(scope="module")
def reader() -> PdfReader:
    return PdfReader(sandbox=InProcessSandbox())


@pytest.fixture(scope="module")
def typographic() -> PdfReader:
    return PdfReader(sandbox=InProcessSandbox(), use_outline=False)


@pytest.fixture(scope="module")
def isolated() -> Iterator[PdfReader]:
    made = PdfReader()
    yield made
    made.close()


def block_with(document: Document, words: str) -> Block:
    (found,) = [block for block in document.blocks if words in block.span.of(document.text)]
    return found


def section(document: Document, number: str) -> Section:
    (found,) = [section for section in document.sections if section.number == number]
    return found


CLAUSES = [
    ("1", "Scope", 1),
    ("2", "Terms and definitions", 1),
    ("3", "Requirements", 1),
    ("3.1", "General", 2),
    ("3.2", "Storage", 2),
    ("3.2.1", "Capacity", 3),
    ("3.2.2", "Retention", 3),
    ("4", "Marking", 1),
    ("4.1", "General", 2),
    ("5", "Documents", 1),
    ("5.1", "General", 2),
    ("6", "Tests", 1),
    ("6.1", "General", 2),
    ("A", "Examples of use", 1),
    ("A.1", "Rain gauges", 2),
]


@pytest.mark.requirement("A-REQ-INGEST-002")
@pytest.mark.requirement("A-REQ-INGEST-003")
def test_clauses_are_found_by_numbering_and_typography(reader: PdfReader) -> None:
    document = reader.read(item_of(standard(bookmarks=False)))
    assert [(found.number, found.title, found.level) for found in document.sections] == CLAUSES
    assert {found.source for found in document.sections} == {HeadingSource.NUMBERING}
    assert all(0 < found.confidence < 1 for found in document.sections)


@pytest.mark.requirement("A-REQ-INGEST-002")
def test_clauses_are_found_by_the_outline(reader: PdfReader) -> None:
    document = reader.read(item_of(standard(bookmarks=True)))
    assert [(found.number, found.title, found.level) for found in document.sections] == CLAUSES
    assert {(found.source, found.confidence) for found in document.sections} == {(HeadingSource.OUTLINE, 1.0)}


def test_the_outline_can_be_left_aside(typographic: PdfReader) -> None:
    document = typographic.read(item_of(standard(bookmarks=True)))
    assert {found.source for found in document.sections} == {HeadingSource.NUMBERING}


def test_clauses_deeper_than_the_outline_are_added_below_it(reader: PdfReader) -> None:
    pages = sheet()
    for chapter in range(1, 5):
        pages.heading(f"{chapter} Chapter of {'abcdefgh'[chapter]}", 14, bookmark=0)
        for part in range(1, 4):
            pages.heading(f"{chapter}.{part} Part {'klmnop'[part]} of it", 12)
            pages.paragraph(SENTENCE, SENTENCE)
        pages.next_page()
    document = reader.read(item_of(pages.done()))
    deeper = section(document, "3.2")
    assert (deeper.source, deeper.level) == (HeadingSource.NUMBERING, 2)
    assert deeper.parent == section(document, "3").index
    assert section(document, "3").source is HeadingSource.OUTLINE


@pytest.mark.requirement("A-REQ-INGEST-003")
def test_an_informative_annex_is_marked_down_to_its_clauses(reader: PdfReader) -> None:
    document = reader.read(item_of(standard(bookmarks=False)))
    assert [found.number for found in document.sections if found.informative] == ["A", "A.1"]
    assert section(document, "A").heading.of(document.text) == "Annex A (informative) Examples of use"


def test_every_section_spans_its_heading_and_all_below_it(reader: PdfReader) -> None:
    document = reader.read(item_of(standard(bookmarks=False)))
    requirements, storage = section(document, "3"), section(document, "3.2")
    assert requirements.span.contains(storage.span)
    assert requirements.span.of(document.text).startswith("3 Requirements")
    assert requirements.span.of(document.text).endswith("no longer than a year.")
    assert block_with(document, "thirty days").section == section(document, "3.2.1").index


@pytest.mark.requirement("A-REQ-INGEST-002")
def test_running_heads_and_page_numbers_go_and_repeated_clause_titles_stay(reader: PdfReader) -> None:
    document = reader.read(item_of(standard(bookmarks=False)))
    assert "KM 100:2026" not in document.text
    assert "of 6" not in document.text
    assert document.text.count("General") == 4


@pytest.mark.requirement("A-REQ-INGEST-004")
def test_a_paragraph_continues_over_the_page_and_each_page_knows_its_part(reader: PdfReader) -> None:
    document = reader.read(item_of(standard(bookmarks=False)))
    paragraph = block_with(document, "for as long as the operator wishes")
    assert paragraph.pages == (2, 3)
    assert document.pages[1].span.of(document.text).endswith("for as long as the ")
    assert document.pages[2].span.of(document.text).startswith("operator wishes")


def test_title_author_and_dates_come_from_the_file(reader: PdfReader) -> None:
    document = reader.read(item_of(standard(bookmarks=False), "Some File.pdf"))
    assert document.title == "Sample recorders - Requirements"
    assert document.id == "some-file"
    assert dict(document.metadata)["author"] == "A. Writer"
    assert dict(document.metadata)["created"] == "2000-01-01"


def test_without_a_title_in_the_file_the_largest_print_is_the_title(reader: PdfReader) -> None:
    pages = sheet(title="Microsoft Word - final3.doc")
    pages.line("Guide to rain gauges", size=24, font="Helvetica-Bold", step=40)
    pages.paragraph(SENTENCE, SENTENCE, SENTENCE)
    assert reader.read(item_of(pages.done())).title == "Guide to rain gauges"


def test_columns_are_read_one_after_the_other(reader: PdfReader) -> None:
    pages = sheet()
    for row in range(30):
        # row by row, as many programs write: the reader has to find the columns by itself
        pages.at(60, 100 + 13 * row, f"Left line {row:02d} has about forty letters.", 10)
        pages.at(320, 100 + 13 * row, f"Right line {row:02d} has about forty letters.", 10)
    text = reader.read(item_of(pages.done())).text
    places = [text.index(f"{side} line {row:02d}") for side in ("Left", "Right") for row in range(30)]
    assert places == sorted(places)


@pytest.mark.requirement("A-REQ-INGEST-002")
def test_a_table_becomes_markdown_under_its_caption(reader: PdfReader) -> None:
    pages = sheet()
    pages.paragraph(SENTENCE)
    pages.paragraph("Table 1 - Limits of storage")
    pages.grid([["Class", "Samples", "Days"], ["A", "1000", "30"], ["B", "50|00", "365"]], [120, 120, 120])
    pages.paragraph("The classes of Table 1 are chosen by the operator.")
    document = reader.read(item_of(pages.done()))
    assert texts(document, BlockKind.TABLE) == [
        "| Class | Samples | Days |\n| --- | --- | --- |\n| A | 1000 | 30 |\n| B | 50\\|00 | 365 |"
    ]
    caption = block_with(document, "Limits of storage")
    assert (caption.kind, caption.marker) == (BlockKind.CAPTION, "Table 1")
    assert block_with(document, "chosen by the operator").kind is BlockKind.PARAGRAPH


def test_lists_keep_their_markers_and_depth(reader: PdfReader) -> None:
    pages = sheet()
    pages.paragraph("The recorder shall have:")
    pages.line("a) a store that is large enough for the samples of a month,")
    pages.line("   even when it rains;", x=LEFT_HANG)
    pages.line("b) a lid with", x=72)
    pages.line("\u2022 a lock,", x=100)
    pages.line("\u2022 a seal;", x=100)
    pages.line("c) a handle.")
    document = reader.read(item_of(pages.done()))
    listed = [block for block in document.blocks if block.kind is BlockKind.LIST_ITEM]
    assert [(block.marker, block.depth) for block in listed] == [("a)", 0), ("b)", 0), ("•", 1), ("•", 1), ("c)", 0)]
    assert texts(document, BlockKind.LIST_ITEM)[0].endswith("of a month, even when it rains;")


LEFT_HANG = 84.0


def test_notes_and_examples_are_distinguished_from_text(reader: PdfReader) -> None:
    pages = sheet()
    pages.paragraph(SENTENCE)
    pages.paragraph("NOTE 1 Samples are small.")
    pages.paragraph("EXAMPLE A rain gauge takes one sample a minute.")
    pages.paragraph("Note that a gauge may freeze.")
    document = reader.read(item_of(pages.done()))
    kinds = {block.marker: block.kind for block in document.blocks if block.marker}
    assert kinds == {"NOTE 1": BlockKind.NOTE, "EXAMPLE": BlockKind.EXAMPLE}
    assert block_with(document, "may freeze").kind is BlockKind.PARAGRAPH


def test_words_cut_at_a_line_end_are_joined_and_compounds_keep_their_hyphen(reader: PdfReader) -> None:
    pages = sheet()
    pages.paragraph(
        "The temperature of the gauge, its pre-",
        "cipitation count and the well-",
        "known date are kept; a well is not known to the rain",
    )
    text = reader.read(item_of(pages.done())).text
    assert "its precipitation count" in text
    assert "the well-known date" in text


def test_code_keeps_its_lines_and_indentation(reader: PdfReader) -> None:
    pages = sheet()
    pages.paragraph(SENTENCE)
    pages.line("if (full) {", font="Courier", x=80)
    pages.line("rotate();", font="Courier", x=104)
    pages.line("}", font="Courier", x=80)
    document = reader.read(item_of(pages.done()))
    assert texts(document, BlockKind.CODE) == ["if (full) {\n    rotate();\n}"]


@pytest.mark.parametrize("font", ["Courier", "Helvetica"])
def test_a_typewritten_document_reads_as_a_printed_one(reader: PdfReader, font: str) -> None:
    pages = sheet()
    pages.line("3 Requirements", size=13, font=f"{font}-Bold", step=20)
    for number in range(1, 21):
        pages.paragraph(f"3.{number} The recorder shall store sample {number} within a second,", font=font)
        pages.paragraph("as clause 3.1 of this document says for all of them.", font=font)
        if number == 12:
            pages.next_page()
    pages.line("+-------+-------+", font="Courier")
    pages.line("|  Type | Count |", font="Courier")
    pages.line("+-------+-------+", font="Courier")
    pages.line("4 Tests", size=13, font=f"{font}-Bold", step=20)
    pages.paragraph("Tests shall be repeated each year by the operator of the gauge.", font=font)
    document = reader.read(item_of(pages.done()))
    assert sum("shall store sample" in block.span.of(document.text) for block in document.blocks) == 20
    assert [len(each.split("\n")) for each in texts(document, BlockKind.CODE)] == [3]
    assert [section.title for section in document.sections if section.level == 1] == ["Requirements", "Tests"]


@pytest.mark.parametrize(
    ("font", "code"),
    [
        ("CourierNewPSMT", True),
        ("ABCDEF+SourceCodePro-Regular", True),
        ("DejaVuSansMono", True),
        ("LMMono10-Regular", True),
        ("CMTT10", True),
        ("NimbusMonL-Regu", True),
        ("LetterGothicStd", True),
        ("Consolas,Bold", True),
        ("LucidaSans-Typewriter", True),
        ("2bd48d+mplus1mn-regular", True),
        ("Inconsolatazi4-Regular", True),
        ("ArialUnicodeMS", False),
        ("LucidaSansUnicode", False),
        ("MonotypeCorsiva", False),
        ("EncodeSans", False),
        ("Helvetica", False),
    ],
)
def test_typewriter_faces_are_recognised_by_whole_parts_of_their_names(font: str, *, code: bool) -> None:
    assert is_code_name(font) is code


def test_a_footnote_stands_behind_the_paragraph_it_interrupts(reader: PdfReader) -> None:
    pages = sheet()
    for _ in range(12):
        pages.paragraph(SENTENCE)
    pages.line("The gauge stands in the open, as far from any")
    pages.at(72, 780, "1 See the manual.", 7)
    pages.next_page()
    pages.line("wall as the wall is high.")
    for _ in range(12):
        pages.paragraph(SENTENCE)
    document = reader.read(item_of(pages.done()))
    kinds = [block.kind for block in document.blocks]
    joined = document.blocks.index(block_with(document, "as far from any wall as the wall"))
    assert kinds[joined + 1] is BlockKind.FOOTNOTE
    assert document.blocks[joined + 1].marker == "1"


def test_contents_pages_make_no_sections(reader: PdfReader) -> None:
    titles = [f"{number} {word} of the recorder" for number, word in enumerate(
        ["Scope", "Terms", "Design", "Storage", "Marking", "Tests", "Delivery"], 1)]  # fmt: skip
    pages = sheet()
    pages.heading("Contents")
    for page, title in enumerate(titles, 2):
        pages.line(f"{title} {'.' * 60} {page}")
    pages.next_page()
    for title in titles:
        pages.heading(title)
        pages.paragraph(SENTENCE, SENTENCE)
        pages.next_page()
    document = reader.read(item_of(pages.done()))
    assert [found.label for found in document.sections] == titles
    assert {block.pages[0] for block in document.blocks if block.kind is BlockKind.HEADING} == set(range(2, 9))
    assert "contents page" in document.pages[0].note


@pytest.mark.requirement("A-REQ-INGEST-004")
def test_pages_carry_their_printed_labels(reader: PdfReader) -> None:
    def label(document: Any) -> None:
        import pikepdf

        roman = pikepdf.Dictionary(S=pikepdf.Name.r)
        arabic = pikepdf.Dictionary(S=pikepdf.Name.D, St=1)
        document.Root.PageLabels = pikepdf.Dictionary(Nums=pikepdf.Array([0, roman, 2, arabic]))

    document = reader.read(item_of(changed(standard(bookmarks=False), label)))
    assert [page.label for page in document.pages] == ["i", "ii", "1", "2", "3", "4"]
    assert [page.number for page in document.pages] == [1, 2, 3, 4, 5, 6]


def test_progress_is_reported_page_by_page_up_to_the_last(reader: PdfReader, tmp_path: Path) -> None:
    reported: list[tuple[int, int]] = []
    reader.read(item_of(standard(bookmarks=False), folder=tmp_path), lambda done, total: reported.append((done, total)))
    assert reported[0] == (0, 6)
    assert reported[-1] == (6, 6)


def test_reading_ends_when_progress_raises_and_the_reader_serves_on(isolated: PdfReader) -> None:
    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        isolated.read(item_of(standard(bookmarks=False)), stop)
    assert isolated.check(item_of(standard(bookmarks=False))).pages == 6


def test_a_child_process_reads_what_this_process_reads(reader: PdfReader, isolated: PdfReader) -> None:
    item = item_of(standard(bookmarks=True))
    assert isolated.read(item) == reader.read(item)


def test_reading_twice_gives_the_same_document(reader: PdfReader) -> None:
    data = standard(bookmarks=True)
    assert reader.read(item_of(data)) == reader.read(item_of(data))


def test_blocks_cover_all_text_but_white_space(reader: PdfReader) -> None:
    document = reader.read(item_of(standard(bookmarks=True)))
    place = 0
    for block in document.blocks:
        assert not document.text[place : block.span.start].strip()
        place = block.span.end
    assert not document.text[place:].strip()


@pytest.mark.slow
@pytest.mark.requirement("A-REQ-INGEST-001")
def test_a_thousand_pages_and_more_are_read_to_the_last(isolated: PdfReader) -> None:
    pages = sheet()
    for number in range(1, 1011):
        pages.line(f"This is the text of the page that says {number} and nothing else.")
        if number < 1010:
            pages.next_page()
    document = isolated.read(item_of(pages.done()))
    assert len(document.pages) == 1010
    assert "that says 1010 and" in document.text


def test_headings_without_numbers_are_found_by_their_print(reader: PdfReader) -> None:
    pages = sheet()
    pages.line("The keeping of rain gauges", size=22, font="Helvetica-Bold", step=40)
    for title, parts in (("Where to put them", ("In towns", "On hills")), ("How to read them", ("By hand",))):
        pages.heading(title, 16)
        pages.paragraph(SENTENCE, SENTENCE)
        for part in parts:
            pages.heading(part, 12)
            pages.paragraph(SENTENCE, SENTENCE, SENTENCE)
    document = reader.read(item_of(pages.done()))
    assert [(found.title, found.level) for found in document.sections] == [
        ("The keeping of rain gauges", 1),
        ("Where to put them", 2),
        ("In towns", 3),
        ("On hills", 3),
        ("How to read them", 2),
        ("By hand", 3),
    ]
    assert {found.source for found in document.sections} == {HeadingSource.TYPOGRAPHY}


def test_a_heading_that_opens_its_paragraph_is_cut_from_it(reader: PdfReader) -> None:
    pages = sheet()
    for number, title in (("1", "Scope"), ("1.1", "Purpose"), ("1.2", "Use (normal)"), ("2", "Design"), ("2.1", "Lid")):
        pages.paragraph(f"{number}. {title}. {SENTENCE}", SENTENCE)
    document = reader.read(item_of(pages.done()))
    assert [found.label for found in document.sections] == [
        "1 Scope",
        "1.1 Purpose",
        "1.2 Use (normal)",
        "2 Design",
        "2.1 Lid",
    ]
    assert texts(document, BlockKind.PARAGRAPH)[0] == f"{SENTENCE} {SENTENCE}"


def test_a_title_of_two_lines_and_a_number_apart_make_one_heading(reader: PdfReader) -> None:
    pages = sheet()
    for number, first, second in (
        ("1", "The choice of a place for gauges that stand", "in towns"),
        ("2", "The reading of gauges that nobody has visited", "for a month"),
    ):
        pages.at(LEFT, pages.y, number, 16, "Helvetica-Bold")
        pages.line(first, size=16, font="Helvetica-Bold", x=LEFT + 30, step=19)
        pages.line(second, size=16, font="Helvetica-Bold", x=LEFT + 30, step=30)
        pages.paragraph(SENTENCE, SENTENCE, SENTENCE)
    document = reader.read(item_of(pages.done()))
    assert [found.label for found in document.sections] == [
        "1 The choice of a place for gauges that stand in towns",
        "2 The reading of gauges that nobody has visited for a month",
    ]
