"""What looks like a heading and is none, and headings that hardly look like one."""

from __future__ import annotations

from knowledge_mcp.model.document import Document
from tests.readers.pdf_files import LEFT, Sheet, read_pdf, sheet

_LONG = "The recorder shall keep every sample that it takes until an operator has read it, and"


def labels(document: Document) -> list[str]:
    return [section.label for section in document.sections]


def chapters(pages: Sheet, *, font: str = "Helvetica-Bold") -> list[str]:
    titles: list[str] = []
    for number, title in enumerate(("Field survey", "Water levels", "Pumping tests"), 1):
        for name in (f"{number} {title}", f"{number}.1 {title} of the north", f"{number}.2 {title} of the south"):
            titles.append(name)
            pages.y += 10
            pages.line(name, font=font, size=12 if font.endswith("Bold") else 10, step=20)
            pages.paragraph(f"{_LONG} {number}", f"{_LONG} then", f"no more of {name[4:].lower()}.")
    return titles


def test_labels_of_a_map_and_a_chart_are_no_headings() -> None:
    pages = sheet()
    titles = chapters(pages)
    pages.next_page()
    places = ((90, 150, "Oakfield"), (300, 180, "NORTH BASIN"), (210, 240, "Lake Tarn"), (390, 300, "Mill Creek"))
    for x, y, name in (*places, (120, 330, "EXPLANATION"), (330, 420, "KILOMETERS"), (180, 480, "Time in hours")):
        pages.at(x, y, name, 14, "Helvetica-Bold")
    assert labels(read_pdf(pages)) == titles


def test_titles_between_sentences_are_headings_whatever_is_strewn_below_on_their_page() -> None:
    pages = sheet()
    titles = ["Sources of water", "Flow of wells", "Pumped volumes"]
    for title in titles:
        pages.y += 10
        pages.line(title, font="Helvetica-Bold", step=20)
        pages.paragraph(*[f"{_LONG} {title.lower()}"] * 3, "no more.")
    for x, name in ((320, "Mill Creek"), (150, "Oakfield"), (400, "Lake Tarn"), (210, "Route 66")):
        pages.y += 30
        pages.at(x, pages.y, name, 8)
    assert labels(read_pdf(pages)) == titles


def test_titles_that_run_into_their_text_are_headings_where_they_are_lettered_and_have_a_stop() -> None:
    pages = sheet()
    titles = chapters(pages)
    pages.next_page()
    pages.heading("4 Methods of the laboratory")
    for letter, name in zip("abc", ("Purpose", "Tools", "Records"), strict=True):
        lead = f"{letter}. {name}."
        pages.at(LEFT, pages.y, lead, 10, "Helvetica-Bold")
        pages.line("The recorder keeps every sample that it takes until an operator has", x=LEFT + 75)
        pages.paragraph("read it, and reports it at the end of each day.")
    document = read_pdf(pages)
    assert labels(document)[len(titles) :] == ["4 Methods of the laboratory", "a. Purpose", "b. Tools", "c. Records"]
    assert [section.level for section in document.sections][-3:] == [2, 2, 2]


def test_lettered_items_with_a_bold_term_are_no_headings() -> None:
    pages = sheet()
    titles = chapters(pages)
    for letter, term in zip("abc", ("Pump", "Tank", "Gate"), strict=True):
        pages.at(LEFT, pages.y, f"{letter}. {term}:", 10, "Helvetica-Bold")
        pages.line("keeps every sample that it takes until an operator has read it.", x=LEFT + 75)
    assert labels(read_pdf(pages)) == titles


def test_copies_of_a_document_in_one_file_keep_their_clauses_apart() -> None:
    pages = sheet()
    titles: list[str] = []
    for font in ("Helvetica-Bold", "Helvetica-Bold", "Helvetica", "Helvetica"):
        titles += chapters(pages, font=font)
        pages.next_page()
    document = read_pdf(pages)
    assert labels(document) == titles
    assert [section.number for section in document.sections if section.level == 1] == ["1", "2", "3"] * 4


def test_what_stands_at_the_head_of_every_copy_is_no_running_line() -> None:
    pages = sheet()
    for _ in range(4):
        pages.line("1 Scope of the plan", font="Helvetica-Bold", step=20)
        pages.paragraph(*(f"{_LONG} {number}." for number in range(12)))
        pages.next_page()
    text = read_pdf(pages).text
    assert text.count("1 Scope of the plan") == 4


def depths(pages: Sheet) -> list[str]:
    """Print clauses of a third depth whose titles are of the text's size."""
    titles = [f"3.2.{number} {name}" for number, name in enumerate(("Depth", "Time", "Place", "Samples"), 1)]
    pages.next_page()
    for title in titles:
        pages.y += 10
        pages.line(title, font="Helvetica-Bold", step=20)
        pages.paragraph(*[f"{_LONG} {title[6:].lower()}"] * 3, "no more.")
    pages.next_page()
    for _ in range(6):
        pages.paragraph(*[f"{_LONG} then"] * 3, "no more of it.")
    return titles


def test_the_title_above_the_first_clause_is_no_section() -> None:
    pages = sheet()
    pages.line("Recorders for wells", font="Helvetica-Bold", size=20, step=40)
    pages.line("The hydrology group, 4 March 2024", step=40)
    titles = chapters(pages)
    assert labels(read_pdf(pages)) == titles


def test_a_cover_in_large_print_has_no_sections() -> None:
    pages = sheet()
    for size, text in (
        (20, "Recorders for wells"),
        (16, "User manual"),
        (12, "For the crew"),
        (12, "Do not be afraid"),
    ):
        pages.line(text, font="Helvetica-Bold", size=size, step=60)
    pages.next_page()
    titles = [*chapters(pages), *depths(pages)]
    assert labels(read_pdf(pages)) == titles


def test_bold_words_that_begin_a_line_of_a_paragraph_are_no_heading() -> None:
    pages = sheet()
    titles = [*chapters(pages), *depths(pages)]
    for first, second in (
        ("FLUSH is the name that the recorder has for the command that writes all of it", "HELD samples go first."),
        ("EMPTY is the name that the recorder has for the command that drops all of it", "kept samples go first."),
    ):
        pages.y += 12
        pages.line(first, font="Helvetica-Bold", step=12)
        pages.line(second)
    assert labels(read_pdf(pages)) == titles


def test_items_behind_a_dash_and_lines_of_a_listing_are_no_headings_however_bold() -> None:
    pages = sheet()
    titles = [*chapters(pages), *depths(pages)]
    for text in ("- A random number, needed to read it", "flush all", "- One packet or more", "write target"):
        pages.y += 8
        pages.line(text, font="Helvetica-Bold", step=20)
    assert labels(read_pdf(pages)) == titles


def test_notices_before_the_first_clause_are_headings() -> None:
    pages = sheet()
    for notice in ("Copyright notice", "Amendment record"):
        pages.line(notice, font="Helvetica-Bold", size=10, step=20)
        pages.paragraph(*[f"{_LONG} then"] * 4, "no more of it.")
        pages.next_page()
    titles = [*chapters(pages), *depths(pages)]
    assert labels(read_pdf(pages)) == ["Copyright notice", "Amendment record", *titles]


def test_headings_of_one_size_on_the_first_page_are_no_title_together() -> None:
    pages = sheet(title="")
    for text in ("1 Scope", "2 Terms", "3 Tests"):
        pages.heading(text)
        pages.paragraph(_LONG, "no more of it.")
    assert read_pdf(pages).title == "sample"


def _underlined(pages: Sheet, words: str, start: float = LEFT, *, font: str = "Helvetica") -> None:
    from reportlab.pdfbase.pdfmetrics import stringWidth

    below = 842 - pages.y - 1.5
    pages.canvas.line(start, below, start + stringWidth(words, font, 10), below)


def test_underlined_lines_of_typewriter_print_are_headings() -> None:
    pages = sheet()
    titles = ("Background", "Tests Made", "Findings", "Action Required")
    for name in titles:
        pages.y += 10
        _underlined(pages, name, font="Courier")
        pages.line(name, font="Courier", step=20)
        pages.paragraph(f"{_LONG[:70]}", "then it keeps the next one and no more.", font="Courier")
    assert labels(read_pdf(pages)) == list(titles)


def test_underlined_words_before_a_sentence_are_its_title_also_in_a_row_of_numbered_lines() -> None:
    pages = sheet()
    expected: list[str] = []
    for chapter in (1, 2):
        pages.y += 10
        pages.line(f"{chapter}. REQUIREMENTS OF PART {chapter}", step=20)
        expected.append(f"{chapter} REQUIREMENTS OF PART {chapter}")
        for number, name in enumerate(("Materials", "Welds", "Records"), 1):
            expected.append(f"{chapter}.{number} {name}")
            _underlined(pages, name, LEFT + 16.7)
            pages.line(f"{chapter}.{number} {name}. The recorder shall keep every sample that it takes for all of")
            pages.line("20 days and more, and reports it then.", step=16)
    assert [label.rstrip(".") for label in labels(read_pdf(pages))] == expected


def test_rules_that_reach_further_than_the_words_underline_nothing() -> None:
    pages = sheet()
    titles = chapters(pages)
    for words in ("A plain line of the text", "Another plain line of it"):
        pages.canvas.line(LEFT, 842 - pages.y - 1.5, 523, 842 - pages.y - 1.5)
        pages.line(words, step=16)
    assert labels(read_pdf(pages)) == titles


def test_an_annex_has_its_title_below_its_status_and_forewords_have_owners() -> None:
    pages = sheet()
    pages.line("European foreword", font="Helvetica-Bold", size=12, step=20)
    pages.paragraph(f"{_LONG} one", f"{_LONG} then", "no more of it.")
    titles = chapters(pages)
    pages.next_page()
    for words, font in (
        ("Annex A", "Helvetica-Bold"),
        ("(informative)", "Helvetica"),
        ("Wear of ropes", "Helvetica-Bold"),
    ):
        pages.canvas.setFont(font, 12)
        pages.canvas.drawCentredString(297, 842 - pages.y, words)
        pages.y += 19
    pages.paragraph(f"{_LONG} one", f"{_LONG} then", "no more of it.")
    document = read_pdf(pages)
    assert labels(document)[:1] + labels(document)[-1:] == ["European foreword", "A Wear of ropes"]
    assert len(document.sections) == len(titles) + 2


def test_a_clause_that_begins_with_a_sentence_has_no_title_of_it() -> None:
    pages = sheet()
    for chapter, title in ((1, "Scope"), (2, "Procedure")):
        pages.y += 10
        pages.line(f"{chapter}. {title}", font="Helvetica-Bold", step=20)
        for number in (1, 2, 3):
            pages.line(
                f"{chapter}.{number} The recorder keeps every sample that it takes. The sample is then", x=LEFT + 12
            )
            pages.line("kept until an operator has read it, and is reported.", step=16)
    assert [section.title for section in read_pdf(pages).sections if section.title] == ["Scope", "Procedure"]
