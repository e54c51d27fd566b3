"""Tables, headings and order of scanned pages, by what recognition tells of words, strokes and rules."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import pytest
from PIL import Image, ImageDraw, ImageFont

from knowledge_mcp.model.document import BlockKind, Document
from knowledge_mcp.model.extraction import OcrPage, OcrWord
from knowledge_mcp.ocr import readings
from knowledge_mcp.ocr.invocation import mean_confidence, text_of
from knowledge_mcp.ocr.readings import with_missing
from knowledge_mcp.ocr.tesseract import TesseractEngine
from knowledge_mcp.readers.pdf.reader import PdfReader
from tests.ocr.engines import ScriptedEngine
from tests.ocr.pages import LETTER, drawn, scan
from tests.readers.in_process import InProcessSandbox
from tests.readers.pdf_files import item_of

SIZE = (2480, 3508)
PICTURE = drawn(LETTER[:2], width=620, size=20)
ROWS = (("Class", "Load", "Unit"), ("A", "12.5", "kN"), ("B", "17.0", "kN"), ("C", "21.5", "kN"))
LEFT = (300, 900, 1500)


def word(text: str, left: int, foot: int, line: int, stroke: float = 4.0) -> OcrWord:
    """Make a word of 10 point type whose letters stand at a place."""
    low = foot + (9 if set(text) & set("gjpqy,;()") else 0)
    return OcrWord(text, 95.0, (left, foot - 30, left + 21 * len(text), low), line, stroke=stroke)


def sentence(text: str, foot: int, line: int, left: int = 300, stroke: float = 4.0) -> list[OcrWord]:
    words: list[OcrWord] = []
    for each in text.split():
        words.append(word(each, left, foot, line, stroke))
        left = words[-1].box[2] + 14
    return words


def cells(first: int, line: int, step: int = 70, head: float = 4.0) -> list[OcrWord]:
    return [
        word(text, left, first + step * row, line + row, head if row == 0 else 4.0)
        for row, texts in enumerate(ROWS)
        for left, text in zip(LEFT, texts, strict=True)
    ]


def page(words: Sequence[OcrWord], rules: Sequence[tuple[int, int, int, int]] = ()) -> OcrPage:
    return OcrPage(tuple(words), text_of(words), mean_confidence(words), 0, 0.0, *SIZE, rules=tuple(rules))


def read(*pages: OcrPage) -> Document:
    reader = PdfReader(sandbox=InProcessSandbox(), ocr=ScriptedEngine(pages))
    return reader.read(item_of(scan(*[PICTURE] * len(pages))))


def kinds(document: Document) -> list[BlockKind]:
    return [block.kind for block in document.blocks]


def tables(document: Document) -> list[str]:
    return [block.span.of(document.text) for block in document.blocks if block.kind is BlockKind.TABLE]


def table_text(rows: Sequence[Sequence[str]] = ROWS) -> str:
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([lines[0], "| --- | --- | --- |", *lines[1:]])


def grid(first: int, step: int = 70) -> list[tuple[int, int, int, int]]:
    xs, ys = (280, 880, 1480, 1900), [first - 50 + step * row for row in range(len(ROWS) + 1)]
    return [(xs[0], y, xs[-1], y) for y in ys] + [(x, ys[0], x, ys[-1]) for x in xs]


BEFORE = sentence("The loads shall not exceed those given below.", 400, 0)
AFTER = sentence("They hold for each support of the bridge.", 1100, 20)


def test_words_between_rules_are_the_cells_of_a_table_in_its_place() -> None:
    document = read(page([*BEFORE, *cells(600, 1), *AFTER], grid(600)))
    assert kinds(document) == [BlockKind.PARAGRAPH, BlockKind.TABLE, BlockKind.PARAGRAPH]
    assert tables(document) == [table_text()]
    block = document.blocks[1]
    box = block.boxes[0]
    assert box.left * 300 / 72 < 320
    assert box.right * 300 / 72 > 1500
    assert 550 < box.top * 300 / 72 < 600


def test_without_rules_and_bold_print_nothing_is_a_table() -> None:
    assert tables(read(page([*BEFORE, *cells(600, 1), *AFTER]))) == []


def test_level_rules_alone_part_the_rows() -> None:
    rules = [rule for rule in grid(600) if rule[1] == rule[3]]
    assert tables(read(page([*BEFORE, *cells(600, 1), *AFTER], rules))) == [table_text()]


def test_a_bold_head_tells_the_columns_where_there_are_no_rules() -> None:
    assert tables(read(page([*BEFORE, *cells(600, 1, head=5.6), *AFTER]))) == [table_text()]


def test_a_table_that_lies_askew_has_the_same_rows() -> None:
    """The engine tells words and rules as on a straight page; a rule may still rise by a few pixels over its length."""
    rules = [(a, b, c, d + (7 if b == d else 0)) for a, b, c, d in grid(600)]
    assert tables(read(page([*BEFORE, *cells(600, 1), *AFTER], rules))) == [table_text()]


def test_what_rules_were_taken_for_is_in_no_cell() -> None:
    words = cells(600, 1)
    bar = dataclasses.replace(word("|", 874, 670, 2), box=(874, 640, 884, 680))
    words[3] = dataclasses.replace(words[3], text="A|", box=(300, 640, 882, 670))
    words.insert(4, bar)
    assert tables(read(page([*BEFORE, *words, *AFTER], grid(600)))) == [table_text()]


def test_a_table_over_two_pages_is_one() -> None:
    more = (("Class", "Load", "Unit"), ("D", "26.0", "kN"), ("E", "30.5", "kN"), ("F", "35.0", "kN"))
    words = [
        word(text, left, 300 + 70 * row, row)
        for row, texts in enumerate(more)
        for left, text in zip(LEFT, texts, strict=True)
    ]
    first = page([*BEFORE, *cells(3100, 1)], grid(3100))
    document = read(first, page([*words, *sentence("They hold for each support.", 900, 30)], grid(300)))
    assert tables(document) == [table_text((*ROWS, *more[1:]))]
    assert [block.pages for block in document.blocks if block.kind is BlockKind.TABLE] == [(1, 2)]


def test_bold_lines_are_headings_and_underlined_ones_too() -> None:
    prose = [
        each
        for row in range(12)
        for each in sentence("The deck is laid on steel beams that rest on piers of stone.", 500 + 60 * row, 2 + row)
    ]
    bold = sentence("Loads", 400, 0, stroke=5.8)
    plain = sentence("Loads", 400, 0)
    under = [(300, 408, 300 + 21 * 5, 408)]
    assert read(page([*bold, *prose])).sections[0].title == "Loads"
    assert read(page([*plain, *prose], under)).sections[0].title == "Loads"
    assert all(section.title != "Loads" for section in read(page([*plain, *prose])).sections)


def test_lines_that_one_reading_missed_stand_where_they_are_printed() -> None:
    lines = [sentence("The first line.", 400, 0), sentence("The third line.", 600, 1)]
    missed = sentence("The second line.", 500, 0)
    doubtful = [dataclasses.replace(each, confidence=40.0) for each in sentence("Specks.", 700, 1)]
    found = with_missing([*lines[0], *lines[1]], [*lines[0], *missed, *doubtful])
    assert text_of(found).split("\n") == ["The first line.", "The second line.", "The third line."]
    assert with_missing((), missed) == tuple(missed)
    whole = sentence("Used car dealers are named.", 800, 7)
    found = with_missing([*whole[:2], *whole[3:]], [whole[2]])
    assert text_of(found) == "Used car dealers are named."
    assert {word.line for word in found} == {7}


def test_a_doubtful_word_gives_way_to_a_sure_one_of_the_same_print() -> None:
    line = sentence("Used car dealers", 800, 7)
    doubted = dataclasses.replace(line[1], text="cor", confidence=30.0)
    assert text_of(with_missing([line[0], doubted, line[2]], [line[1]])) == "Used car dealers"
    assert text_of(with_missing([line[0], doubted, line[2]], [])) == "Used cor dealers"


def test_lines_that_one_reading_missed_stand_in_their_column_and_beside_paragraphs_not_in_them() -> None:
    left = [sentence(f"Left {row}.", 400 + 100 * row, row) for row in range(3)]
    right = [
        [
            dataclasses.replace(each, block=1, paragraph=1)
            for each in sentence(f"Right {row}.", 400 + 100 * row, line, 1300)
        ]
        for row, line in ((0, 3), (2, 4))
    ]
    missed, beside = sentence("Right 1.", 500, 0, 1300), sentence("Paid", 450, 1, 2000)
    words = [each for line in (*left, *right) for each in line]
    found = text_of(with_missing(words, [*missed, *beside]))
    assert found.split() == "Left 0. Left 1. Left 2. Right 0. Right 1. Right 2. Paid".split()


# ---- with the real program ------------------------------------------------------------------------------------------


def printed(*, shade: int = 255, degrees: float = 0.0) -> Image.Image:
    """Print a page with a paragraph, a ruled table whose head is shaded, and a line."""
    sheet = Image.new("L", (1700, 1300), 255)
    pen, face = ImageDraw.Draw(sheet), ImageFont.load_default(42)
    for row, line in enumerate(("The load on each support shall", "not exceed the following values.")):
        pen.text((150, 150 + 60 * row), line, font=face, fill=0)
    rows = (("Class", "Highest load", "Support"), ("North", "12.5 tonnes", "stone"), ("South", "17.25 tonnes", "steel"))
    pen.rectangle((150, 400, 1500, 490), fill=shade)
    for row, texts in enumerate(rows):
        for left, text in zip((170, 620, 1120), texts, strict=True):
            pen.text((left, 420 + 90 * row), text, font=face, fill=0)
    for y in range(400, 400 + 91 * len(rows), 90):
        pen.line((150, y, 1500, y), fill=0, width=3)
    for x in (150, 600, 1100, 1500):
        pen.line((x, 400, x, 400 + 90 * len(rows)), fill=0, width=3)
    pen.text((150, 850), "Other loads are agreed upon with the owner.", font=face, fill=0)
    return sheet.rotate(degrees, Image.Resampling.BICUBIC, fillcolor=255)


@pytest.mark.parametrize(("shade", "degrees"), [(255, 0.0), pytest.param(150, 0.6, marks=pytest.mark.slow)])
def test_a_ruled_table_of_a_scan_is_read_cell_by_cell(real: TesseractEngine, shade: int, degrees: float) -> None:
    reader = PdfReader(sandbox=InProcessSandbox(), ocr=real)
    document = reader.read(item_of(scan(printed(shade=shade, degrees=degrees))))
    assert tables(document) == [
        "| Class | Highest load | Support |\n| --- | --- | --- |\n"
        "| North | 12.5 tonnes | stone |\n| South | 17.25 tonnes | steel |"
    ]
    assert kinds(document) == [BlockKind.PARAGRAPH, BlockKind.TABLE, BlockKind.PARAGRAPH]


def test_a_digit_that_stands_alone_in_a_cell_is_read_or_reported(real: TesseractEngine) -> None:
    sheet = Image.new("L", (1500, 900), 255)
    pen, face = ImageDraw.Draw(sheet), ImageFont.load_default(42)
    pen.text((150, 60), "The number of anchors shall be as given below.", font=face, fill=0)
    rows = (("Wall A", "3", "8", "5"), ("Wall B", "7", "2", "9"), ("Wall C", "4", "6", "1"), ("Wall D", "2", "5", "8"))
    for row, texts in enumerate(rows):
        for column, text in enumerate(texts):
            pen.text((170 + 300 * column + (100 if column else 0), 215 + 75 * row), text, font=face, fill=0)
    for y in range(200, 200 + 75 * len(rows) + 1, 75):
        pen.line((150, y, 1350, y), fill=0, width=3)
    for x in range(150, 1351, 300):
        pen.line((x, 200, x, 200 + 75 * len(rows)), fill=0, width=3)
    document = PdfReader(sandbox=InProcessSandbox(), ocr=real).read(item_of(scan(sheet)))
    (table,) = tables(document)
    assert [line for line in table.split("\n") if "---" not in line] == ["| " + " | ".join(row) + " |" for row in rows]


@pytest.mark.slow
def test_light_print_on_a_dark_band_is_read(real: TesseractEngine) -> None:
    sheet = drawn(LETTER)
    band = Image.new("L", (sheet.width, 120), 25)
    ImageDraw.Draw(band).text((90, 35), "SAFETY INSTRUCTIONS", font=ImageFont.load_default(46), fill=245)
    both = Image.new("L", (sheet.width, sheet.height + 120), 255)
    both.paste(band, (0, 0))
    both.paste(sheet, (0, 120))
    reader = PdfReader(sandbox=InProcessSandbox(), ocr=real)
    assert "SAFETY INSTRUCTIONS" in reader.read(item_of(scan(both))).text


def test_words_of_two_readings_are_compared_with_those_about_them(monkeypatch: pytest.MonkeyPatch) -> None:
    def page(shift: int) -> list[OcrWord]:
        places = [(shift + at % 20 * 100, at // 20 * 40) for at in range(1200)]
        return [OcrWord(f"word{x}", 95.0, (x, y, x + 40, y + 30), y // 40) for x, y in places]

    compared = 0
    meet = vars(readings)["_meet"]

    def counted(one: OcrWord, other: OcrWord, slack: float) -> bool:
        nonlocal compared
        compared += 1
        return meet(one, other, slack)

    monkeypatch.setattr(readings, "_meet", counted)
    assert len(with_missing(page(0), page(50))) == 2400
    assert compared < 1200 * 60
