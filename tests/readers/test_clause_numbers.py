"""Clauses are found by the numbers that publishers give them, in every format, with and without titles."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from benchmarks.publishers import FIRST, SECOND, Unit, as_docx, as_html, as_markdown, as_pdf, as_two_columns, gold, made
from knowledge_mcp.language.openings import split_clause_number
from knowledge_mcp.model.document import BlockKind, Document
from knowledge_mcp.readers.docx.reader import DocxReader
from knowledge_mcp.readers.html.reader import HtmlReader
from knowledge_mcp.readers.markdown.reader import MarkdownReader
from knowledge_mcp.readers.pdf.reader import PdfReader
from knowledge_mcp.readers.shared.layout import letters_of
from knowledge_mcp.readers.shared.numbering import by_hundreds, counts_on, number_key, ordinal_value
from tests.readers.docx_files import content_item, p, read_docx, run
from tests.readers.in_process import HERE, InProcessSandbox
from tests.readers.pdf_files import item_of


def _read(units: Sequence[Unit], form: str) -> Document:
    if form == "docx":
        return DocxReader(sandbox=HERE).read(content_item(as_docx(units)))
    if form == "html":
        return HtmlReader(sandbox=InProcessSandbox()).read(content_item(as_html(units), "a.html", "text/html"))
    if form == "markdown":
        return MarkdownReader(sandbox=HERE).read(content_item(as_markdown(units), "a.md", "text/markdown"))
    data = as_two_columns(units) if form == "columns" else as_pdf(units)
    return PdfReader(sandbox=InProcessSandbox()).read(item_of(data))


@pytest.mark.parametrize("form", ["pdf", "columns", "docx", "html", "markdown"])
@pytest.mark.parametrize("manner", ["building", "fire", "labour", "indian"])
def test_clauses_of_several_publishers_are_sections_in_every_format(manner: str, form: str) -> None:
    units = made((FIRST | SECOND)[manner], manner)

    document = _read(units, form)

    found = [(section.number, letters_of(section.title)) for section in document.sections if section.number]
    assert found == gold(units)
    assert all(unit.text in " ".join(document.text.split()) for unit in units)


@pytest.mark.parametrize(
    ("line", "number", "title"),
    [
        ("1003.2.1 Headroom", "1003.2.1", "Headroom"),
        ("SECTION 1003 GENERAL", "1003", "GENERAL"),
        ("[F] 903.2.1 Group A", "903.2.1", "Group A"),
        ("R302.5.1 Openings", "R302.5.1", "Openings"),
        ("6.4.2* Batteries", "6.4.2", "Batteries"),
        ("National Annex NA (informative) Choices", "NA", "Choices"),
        ("UG-27(c)(1) Longitudinal stress", "UG-27(c)(1)", "Longitudinal stress"),
        ("§ 25.1309 Equipment", "25.1309", "Equipment"),
        ("1910.95(b)(1) Employees", "1910.95(b)(1)", "Employees"),
        ("52.212-4 Terms", "52.212-4", "Terms"),
        ("2024 budget", None, "2024 budget"),
        ("ANNEX TO THE REPORT", None, "ANNEX TO THE REPORT"),
    ],
)
def test_a_line_says_its_number_as_its_publisher_writes_it(line: str, number: str | None, title: str) -> None:
    parts = split_clause_number(line)
    assert (parts.number, parts.title) == (number, title)


def test_what_number_and_title_leave_out_stays_in_the_printed_heading() -> None:
    document = MarkdownReader(sandbox=HERE).read(
        content_item(b"## [F] 903.2* Group A\n\nText.", "a.md", "text/markdown")
    )
    assert document.text.startswith("[F] 903.2* Group A")
    assert document.sections[0].number == "903.2"


def test_sections_count_by_the_hundred_of_their_chapter() -> None:
    key = number_key("1003.2")
    assert key is not None
    assert by_hundreds(key, {10}) == (10, 3, 2)
    assert by_hundreds(key, {9}) == key


def test_notes_behind_the_last_clause_are_sections_beside_the_first() -> None:
    lines = (
        ("3.1 General", True),
        ("3.1.4 Rooms", True),
        ("1) A room shall have a door.", False),
        ("3.2 Access", True),
        ("A ramp shall have a handrail.", False),
        ("A-3.1.4.(1)   Doors. A gate is a door.", False),
        ("A-3.1.4.(2) and 3.2.(1)   Openings. A hatch is none.", False),
        ("A-3.2   Ramps. A slope is a ramp.", False),
    )
    body = [p(run(words, "<w:b/>" if bold else "")) for words, bold in lines]
    document = read_docx("".join(body))
    notes = [each for each in document.sections if (each.number or "").startswith("A-")]
    assert [(each.number, each.parent) for each in notes] == [
        ("A-3.1.4.(1)", None),
        ("A-3.1.4.(2)", None),
        ("A-3.2", None),
    ]
    assert notes[1].span.of(document.text).endswith("Openings. A hatch is none.")


def test_an_annex_explains_clauses_by_their_numbers() -> None:
    assert counts_on((10_000,), (10_000, 6, 4, 2), {(6, 4, 2)})
    assert not counts_on((10_000,), (10_000, 6, 4, 2), {(6, 4, 1)})


def test_a_bold_beginning_without_a_number_stays_text() -> None:
    document = read_docx(p(run("Warning. ", "<w:b/>") + run("Do not open.")) + p(run("3.2 ") + run("kg per load")))
    assert not document.sections
    assert [block.kind for block in document.blocks] == [BlockKind.PARAGRAPH, BlockKind.PARAGRAPH]


def test_a_single_number_that_continues_is_no_clause_for_itself() -> None:
    text = b"# 5 Rules\n\n5.1 The pump runs.\n\n# 6 Tests\n\nText."
    assert len(MarkdownReader(sandbox=HERE).read(content_item(text, "a.md", "text/markdown")).sections) == 2


def test_links_of_a_clause_stay_at_their_words() -> None:
    text = b"# 5 Rules\n\n**5.1 Pumps.** See [the guide](https://example.org/g).\n\n**5.2 Valves.** None."
    document = MarkdownReader(sandbox=HERE).read(content_item(text, "a.md", "text/markdown"))
    assert [section.number for section in document.sections] == ["5", "5.1", "5.2"]
    assert [each.span.of(document.text) for each in document.references if each.target.endswith("/g")] == ["the guide"]


def page(*paragraphs: str) -> Document:
    body = "".join(f"<p>{each}</p>" for each in paragraphs)
    return HtmlReader(sandbox=InProcessSandbox()).read(item_of(f"<body>{body}</body>".encode(), "act.html"))


def test_chapters_and_articles_of_acts_are_headings_with_the_title_on_the_line_below() -> None:
    document = page(
        "CHAPTER I", "GENERAL PROVISIONS", "Article 1", "Rules for hives", "This Act applies to all hives.",
        "Article 2", "Keepers", "Rules are made by the Board.", "CHAPTER II", "FEES", "Article 3", "Hives pay.",
    )  # fmt: skip
    assert [(each.level, each.number, each.title) for each in document.sections] == [
        (1, "I", "GENERAL PROVISIONS"),
        (2, "1", "Rules for hives"),
        (2, "2", "Keepers"),
        (1, "II", "FEES"),
        (2, "3", ""),
    ]


def test_articles_that_go_on_in_their_line_are_clauses_and_their_parts_are_not() -> None:
    document = page(
        "CAPÍTULO I<br>DAS COLMEIAS", "Art. 1º Esta lei trata das colmeias.", "§ 1º As colmeias vazias são livres.",
        "Art. 2º Cada colmeia tem um número.", "CAPÍTULO II<br>DAS TAXAS", "Art. 3º As taxas são anuais.",
    )  # fmt: skip
    assert [(each.level, each.number, each.title) for each in document.sections] == [
        (1, "I", "DAS COLMEIAS"),
        (2, "1", ""),
        (2, "2", ""),
        (1, "II", "DAS TAXAS"),
        (2, "3", ""),
    ]


def test_sections_below_the_articles_of_bylaws_are_their_clauses() -> None:
    sections = ("Name. The club is the Hive.", "Seat. It sits in town.", "Aim. It keeps bees.")
    lines = [f"Section {number}. {words}" for number, words in enumerate(sections, 1)]
    expected = [(1, "I", "NAME"), (2, "1", ""), (2, "2", ""), (2, "3", ""), (1, "II", "DUES"), (2, "1", "")]
    plain = page("ARTICLE I", "NAME", *lines, "ARTICLE II", "DUES", "Section 1. Sum. The dues are low.")
    assert [(each.level, each.number, each.title) for each in plain.sections] == expected
    marked = "".join(f"<p>{each}</p>" for each in lines)
    page_of = f"<h1>ARTICLE I NAME</h1>{marked}<h1>ARTICLE II DUES</h1><p>Section 1. Sum. The dues are low.</p>"
    document = HtmlReader(sandbox=InProcessSandbox()).read(item_of(page_of.encode(), "act.html"))
    assert [(each.level, each.number, each.title) for each in document.sections] == expected


def test_articles_of_acts_in_chinese_japanese_and_korean_are_clauses() -> None:
    document = page(
        "第一章　总则", "第一条　本办法适用于蜂箱。", "第二条　蜂箱应当编号，第一条的规定除外。",
        "第二章　费用", "第三条　费用按年缴纳。",
    )  # fmt: skip
    assert [(each.level, each.number, each.title) for each in document.sections] == [
        (1, "1", "总则"), (2, "1", ""), (2, "2", ""), (1, "2", "费用"), (2, "3", ""),
    ]  # fmt: skip
    document = page("第1条（目的） 巣箱を定める。", "第2条（定義） 箱をいう。", "第3条（料金） 料金は年額とする。")
    assert [(each.number, each.title) for each in document.sections] == [("1", "目的"), ("2", "定義"), ("3", "料金")]
    document = page("제1조(목적) 벌통을 정한다.", "제2조(정의) 벌통은 상자이다.", "제3조(요금) 요금은 해마다 낸다.")
    assert [(each.number, each.title) for each in document.sections] == [("1", "목적"), ("2", "정의"), ("3", "요금")]
    assert not page("第三条的规定适用。", "第四条例外。", "第五条规定如下。").sections


@pytest.mark.parametrize(
    ("numeral", "value"), [("7", 7), ("十", 10), ("十二", 12), ("二十三", 23), ("一百零五", 105), ("一〇五", 105)]
)
def test_numbers_in_chinese_characters_are_read(numeral: str, value: int) -> None:
    assert ordinal_value(numeral) == value


@pytest.mark.parametrize(
    "lines",
    [
        ["Article 7", "The keeper reads the scales."],
        ["Article 7 of the Act was repealed.", "Article 9 of the Act was not.", "Article 3 of the Act holds."],
        ["Article 9", "Old.", "Article 2", "Older.", "Article 7", "Oldest."],
    ],
)
def test_a_single_article_or_one_that_is_only_spoken_of_is_no_heading(lines: list[str]) -> None:
    assert not page(*lines).sections


def _numbers(page: str) -> list[tuple[str | None, str]]:
    item = content_item(page.encode(), "a.html", "text/html")
    document = HtmlReader(sandbox=InProcessSandbox()).read(item)
    return [(section.number, section.title) for section in document.sections]


def test_a_heading_that_is_only_a_number_below_its_clause_is_a_clause_without_a_title() -> None:
    page = "<h1>4 Pumps</h1><h2>4.2 Oil</h2><h3>4.2.1</h3><p>Oil shall be kept.</p><h3>4.2.3.</h3><p>It may rest.</p>"
    assert _numbers(page) == [("4", "Pumps"), ("4.2", "Oil"), ("4.2.1", ""), ("4.2.3", "")]


def test_a_heading_that_is_only_the_number_of_a_release_keeps_it_as_its_title() -> None:
    assert _numbers("<h1>Changes</h1><h2>1.5.1</h2><p>Pumps hum.</p>") == [(None, "Changes"), (None, "1.5.1")]


def test_numbers_in_bold_paragraphs_of_their_own_are_clauses_below_headings_without_numbers() -> None:
    def clause(number: str) -> str:
        return f"<div><span><b>{number}.\u00a0 </b></span><p>The committee meets {number} times.</p></div>"

    page = "".join(
        f"<h1>Meetings of the {'abc'[section - 1] * 3}</h1>"
        + "".join(clause(f"{section}.{part}") for part in (1, 2, "2.1"))
        for section in (1, 2)
    )
    assert [number for number, _ in _numbers(page) if number] == ["1.1", "1.2", "1.2.1", "2.1", "2.2", "2.2.1"]


def test_a_first_number_in_plain_print_is_no_clause() -> None:
    assert _numbers("<h1>Pumps</h1><p>1.1</p><p>Litres of oil.</p><p>1.2</p><p>Litres of fuel.</p>") == [
        (None, "Pumps")
    ]


_STATED = "The Council must publish the map, and it says where it can be seen."


def _report(*, restart: bool) -> str:
    """Write a report of four parts with four paragraphs each, which count on, or begin again in each part."""
    parts: list[str] = []
    for part in range(4):
        first = 1 if restart else 1 + 4 * part
        parts += [f"## Issue of the {'abcd'[part]} area", *(f"{first + at}. {_STATED}" for at in range(4))]
    return "\n\n".join(parts)


def _markdown(text: str) -> Document:
    return MarkdownReader(sandbox=HERE).read(content_item(text.encode(), "a.md", "text/markdown"))


def test_paragraphs_that_are_numbered_through_a_report_are_clauses_below_its_headings() -> None:
    document = _markdown(_report(restart=False))

    found = [(section.level, section.number) for section in document.sections]
    assert found[:6] == [(2, None), (3, "1"), (3, "2"), (3, "3"), (3, "4"), (2, None)]
    assert [number for _, number in found if number] == [str(number) for number in range(1, 17)]
    assert document.text.count(_STATED) == 16


def test_lists_that_begin_again_below_each_heading_are_no_clauses() -> None:
    assert {section.number for section in _markdown(_report(restart=True)).sections} == {None}


def test_paragraphs_with_the_numbers_that_headings_leave_out_are_clauses() -> None:
    text = "\n\n".join(
        [
            "# General",
            f"1. {_STATED}",
            f"2. {_STATED}",
            f"- a list\n\n3. {_STATED}",
            "## 4. Maps",
            f"1. {_STATED}\n2. {_STATED}",
            f"4.1. {_STATED}",
            f"5. {_STATED}",
            f"5.1. {_STATED}",
            f"5.2. {_STATED}",
            "## 6. Copies",
            _STATED,
        ]
    )

    numbers = [section.number for section in _markdown(text).sections if section.number]
    assert numbers == ["1", "2", "3", "4", "4.1", "5", "5.1", "5.2", "6"]


def test_letters_and_figures_before_the_titles_of_policies_are_their_numbers() -> None:
    titles = ("HO1: Need for homes", "Policy HO2 – Density", "Policy HO3 Gardens", "Density of HO3", "W1: Wells")
    document = _markdown("\n\n".join(f"## {title}\n\n{_STATED}" for title in titles))

    assert [section.number for section in document.sections] == ["HO1", "HO2", "HO3", None, "W1"]
    assert [section.title for section in document.sections][1:3] == ["Density", "Gardens"]
    versions = _markdown("\n\n".join(f"## V{number}: Notes\n\n{_STATED}" for number in (9, 7, 4)))
    assert {section.number for section in versions.sections} == {None}
    pins = _markdown("\n\n".join(f"## DQ{number}: DQ{number}5 VDD{number}" for number in (1, 2, 3)))
    assert {section.number for section in pins.sections} == {None}


def test_numbers_that_have_nothing_in_common_are_not_nested_without_end() -> None:
    text = "\n\n".join(f"{number}.1 Title of it" for number in range(2, 60))
    sections = _markdown(f"# Report\n\n{text}").sections
    assert len(sections) == 59
    assert max(section.level for section in sections) == 20
