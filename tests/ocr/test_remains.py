"""What was left of a page's print: found in pieces, set in lines, and put back where it stands."""

from __future__ import annotations

import pytest
from PIL import Image, ImageDraw, ImageFont

from knowledge_mcp.model.extraction import OcrWord
from knowledge_mcp.ocr.readings import count_lost, doubtful_boxes, with_edges, with_missing
from knowledge_mcp.ocr.remains import LeftPiece, pieces_of, sheet_of, words_of_pieces
from knowledge_mcp.ocr.rules import Box

HEIGHT, BETWEEN = 31, 90
PLACES = ((400, 200), (900, 200), (400, 500), (900, 500))
CELLS: list[Box] = [(300, y, 1200, y) for y in (150, 400, 700)] + [(x, 150, x, 700) for x in (300, 700, 1200)]


def flat(texts: str = "3857") -> Image.Image:
    image = Image.new("L", (1400, 1000), 255)
    pen, face = ImageDraw.Draw(image), ImageFont.load_default(42)
    for place, text in zip(PLACES, texts, strict=True):
        pen.text(place, text, font=face, fill=20)
    return image


def word(text: str, box: Box, confidence: float = 95.0, line: int = 0) -> OcrWord:
    return OcrWord(text, confidence, box, line)


def test_each_digit_is_a_piece_where_it_stands() -> None:
    pieces = pieces_of(flat(), (), HEIGHT, BETWEEN)
    assert len(pieces) == len(PLACES)
    for piece, (left, top) in zip(pieces, PLACES, strict=True):
        assert left - 3 <= piece.box[0] < piece.box[2] <= left + 33
        assert top - 3 <= piece.box[1] < piece.box[3] <= top + 60


def test_letters_of_a_word_are_one_piece_and_words_are_several() -> None:
    image = Image.new("L", (1400, 300), 255)
    ImageDraw.Draw(image).text((100, 100), "not a determination", font=ImageFont.load_default(42), fill=20)
    assert 2 <= len(pieces_of(image, (), HEIGHT, BETWEEN)) <= 3


def test_specks_pictures_and_what_touches_a_rule_are_no_pieces() -> None:
    image = flat("    ")
    pen = ImageDraw.Draw(image)
    pen.rectangle((100, 100, 104, 104), fill=0)
    pen.rectangle((600, 600, 800, 800), fill=0)
    pen.rectangle((300, 500, 303, 530), fill=0)
    assert pieces_of(image, [(301, 150, 301, 700)], HEIGHT, BETWEEN) == []


def test_a_word_with_an_underline_is_a_piece_and_the_end_of_a_rule_is_none() -> None:
    image = Image.new("L", (1400, 400), 255)
    pen = ImageDraw.Draw(image)
    pen.text((100, 100), "development", font=ImageFont.load_default(42), fill=20)
    pen.rectangle((300, 270, 305, 300), fill=0)
    (piece,) = pieces_of(image, [(90, 148, 400, 148), (90, 302, 400, 302)], HEIGHT, BETWEEN)
    assert piece.box[0] == pytest.approx(100, abs=6)
    assert piece.box[3] < 200


def test_markers_of_close_lines_are_pieces_of_their_own() -> None:
    image = Image.new("L", (400, 400), 255)
    pen, face = ImageDraw.Draw(image), ImageFont.load_default(42)
    for top, marker in ((60, "g."), (114, "h."), (168, "j."), (222, "k.")):
        pen.text((100, top), marker, font=face, fill=20)
    assert len(pieces_of(image, (), HEIGHT, BETWEEN)) == 4


def test_a_doubtful_word_is_read_again_as_a_whole() -> None:
    image = Image.new("L", (400, 300), 255)
    pen, face = ImageDraw.Draw(image), ImageFont.load_default(42)
    pen.text((100, 100), "4.2.", font=face, fill=20)
    pen.text((196, 100), "1", font=face, fill=20)
    assert len(pieces_of(image, (), HEIGHT, BETWEEN)) == 2
    (piece,) = pieces_of(image, (), HEIGHT, BETWEEN, [(95, 105, 220, 145)])
    assert piece.box[0] < 110
    assert piece.box[2] > 195


def test_a_page_of_thousands_of_pieces_is_a_picture() -> None:
    image = Image.new("L", (2000, 2000), 255)
    pen = ImageDraw.Draw(image)
    for x in range(20, 1990, 40):
        for y in range(20, 1950, 50):
            pen.ellipse((x, y, x + 14, y + 28), outline=0, width=4)
    assert pieces_of(image, (), HEIGHT, BETWEEN) == []


def test_pieces_stand_in_lines_with_a_word_before_each_and_one_behind_the_last() -> None:
    image = flat()
    pieces = pieces_of(image, (), HEIGHT, BETWEEN)
    between = Image.new("L", (BETWEEN, HEIGHT), 100)
    sheet = sheet_of(image, between, pieces, HEIGHT)
    grey = sheet.tobytes().count(100) / (BETWEEN * HEIGHT)
    assert round(grey) == len(pieces) + 1 + pieces[-1].line
    for piece in pieces:
        column = sheet.crop((piece.left, 0, piece.left + piece.box[2] - piece.box[0], sheet.height))
        assert min(column.tobytes()) < 60


def test_what_is_read_on_the_sheet_stands_on_the_page() -> None:
    pieces = pieces_of(flat(), (), HEIGHT, BETWEEN)
    foot = round(2.6 * HEIGHT)
    read = [
        word(text, (piece.left, (piece.line + 1) * foot - HEIGHT, piece.left + 20, (piece.line + 1) * foot))
        for text, piece in zip(("3", "8", ".", "7"), pieces, strict=True)
    ]
    read.append(word("Wall", (pieces[0].left - 110, foot - HEIGHT, pieces[0].left - 20, foot)))
    found = words_of_pieces(read, pieces, HEIGHT)
    assert [each.text for each in found] == ["3", "8", "7"]
    for each, piece in zip(found, [pieces[0], pieces[1], pieces[3]], strict=True):
        left, top, _, bottom = piece.box
        assert each.box == (left, top, left + 20, bottom)


@pytest.mark.parametrize(("rules", "kept"), [(CELLS, ["8"]), ([], [])])
def test_a_sign_alone_is_a_word_in_a_cell_only(rules: list[Box], kept: list[str]) -> None:
    label = word("Class", (320, 200, 420, 231))
    found = with_missing(
        [label], [word("8", (900, 210, 920, 240), line=1), word("i", (900, 500, 910, 530), 70.0, 2)], rules
    )
    assert [each.text for each in found] == ["Class", *kept]


def test_what_is_in_cells_and_was_not_read_is_counted() -> None:
    pieces = [
        LeftPiece((900, 210, 920, 240), 0, 0),
        LeftPiece((400, 510, 420, 540), 0, 0),
        LeftPiece((40, 20, 60, 50), 0, 0),
    ]
    assert count_lost(pieces, [word("8", (900, 210, 920, 240))], CELLS) == 1
    assert count_lost(pieces, [], []) == 0


def test_words_that_are_not_sure_are_not_painted_over_in_cells() -> None:
    words = [word("Class", (400, 200, 500, 240)), word("oO", (900, 200, 940, 240), 70.0)]
    assert with_edges(words, CELLS) == [(390, 190, 510, 250)]
    assert with_edges(words) == [(390, 190, 510, 250), (890, 190, 950, 250)]


def test_a_bullet_is_no_word_and_a_letter_within_a_line_is() -> None:
    line = [word("determination", (300, 100, 600, 131)), word("by", (680, 100, 720, 131))]
    found = with_missing(line, [word("e", (250, 105, 270, 128), line=1), word("a", (630, 105, 650, 131), line=1)])
    assert [each.text for each in found] == ["determination", "a", "by"]


def test_a_number_joins_its_line_across_a_tabulator_and_other_words_do_not() -> None:
    line = [word("Software", (183, 120, 360, 153)), word("methods", (395, 120, 600, 153))]
    number, letter = word("5.7", (20, 123, 80, 153), line=1), word("It", (20, 123, 60, 153), line=1)
    assert [each.text for each in with_missing(line, [number])] == ["5.7", "Software", "methods"]
    assert [each.text for each in with_missing(line, [letter])] == ["Software", "methods"]


def test_words_join_a_line_one_after_the_other() -> None:
    line = [word("The", (900, 100, 960, 131)), word("developer", (980, 100, 1160, 131))]
    others = [
        word(text, (left, 100, left + 130, 131), line=1) for text, left in (("5.7", 300), ("Unit", 550), ("test", 720))
    ]
    assert [each.text for each in with_missing(line, others)] == ["5.7", "Unit", "test", "The", "developer"]


def test_a_column_of_markers_that_was_read_as_a_word_is_read_again_line_by_line() -> None:
    text = [
        word(name, (200, top, 400, top + 33), line=at)
        for at, (name, top) in enumerate((("Plans", 100), ("Tests", 154)))
    ]
    column = word("33°75", (104, 95, 140, 190), 28.0, line=2)
    assert with_edges([*text, column]) == with_edges(text)
    assert doubtful_boxes([*text, column]) == []
    markers = [word("a.", (108, 100, 138, 133), line=3), word("b.", (108, 154, 138, 187), line=4)]
    found = with_missing([*text, column], markers)
    assert [each.text for each in found] == ["a.", "Plans", "b.", "Tests"]


def test_a_doubtful_number_is_read_again_at_the_beginning_of_a_line_only() -> None:
    heading = [word("52", (20, 100, 60, 133), 56.0), word("Methods", (180, 100, 360, 133))]
    within = [word("Methods", (20, 100, 160, 133)), word("52", (180, 100, 220, 133), 56.0)]
    assert doubtful_boxes(heading) == [heading[0].box]
    assert doubtful_boxes(within) == []
    assert [each.text for each in with_missing(heading, [word("5.2", (20, 100, 62, 133))])] == ["5.2", "Methods"]


def test_a_full_stop_that_begins_a_line_is_what_was_read_of_a_marker() -> None:
    line = [word(".", (140, 125, 146, 133)), word("Transition", (180, 100, 360, 133))]
    found = with_missing(line, [word("m.", (107, 100, 147, 133), line=1)])
    assert [each.text for each in found] == ["m.", "Transition"]


@pytest.mark.parametrize(
    ("doubtful", "again", "kept"),
    [
        ("Resource", "Resour", "Resource"),
        ("Resource", "Resource.", "Resource."),
        ("12.", "12", "12."),
        ("8|", "8", "8"),
        ("1Z.", "12", "12"),
    ],
)
def test_a_part_of_a_word_does_not_replace_it(doubtful: str, again: str, kept: str) -> None:
    line = [word(doubtful, (100, 100, 240, 133), 50.0), word("pool", (260, 100, 330, 133))]
    assert [each.text for each in with_missing(line, [word(again, (100, 100, 240, 133))])] == [kept, "pool"]
