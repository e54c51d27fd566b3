"""Bullets before lines: where they may be, which shapes they have, and what becomes of the letters read there."""

from __future__ import annotations

import pytest
from PIL import Image, ImageDraw

from knowledge_mcp.model.extraction import OcrWord
from knowledge_mcp.ocr.bullets import LineStart, StartPrint, places_of, print_in, unread_boxes, with_bullets
from knowledge_mcp.ocr.rules import Box

HEIGHT = 32


def word(text: str, box: Box, line: int = 0) -> OcrWord:
    return OcrWord(text, 95.0, box, line)


def shape(kind: str, box: Box) -> Image.Image:
    image = Image.new("L", (400, 200), 245)
    pen = ImageDraw.Draw(image)
    draw = {"disc": pen.ellipse, "square": pen.rectangle}
    if kind in draw:
        draw[kind](box, fill=20)
    elif kind == "ring":
        pen.ellipse(box, outline=20, width=3)
    return image


@pytest.mark.parametrize(
    ("kind", "box", "is_bullet"),
    [
        ("disc", (100, 92, 114, 106), True),
        ("square", (100, 90, 120, 110), True),
        ("ring", (100, 92, 114, 106), False),
        ("square", (100, 100, 104, 104), False),  # a full stop
        ("square", (100, 98, 130, 102), False),  # a dash
        ("square", (100, 80, 103, 112), False),  # a stroke
        ("nothing", (0, 0, 0, 0), False),
    ],
)
def test_a_solid_sign_as_high_as_wide_is_a_bullet(kind: str, box: Box, is_bullet: bool) -> None:
    left, top, right, bottom = box
    (found,) = print_in(shape(kind, box), [(60, 70, 180, 120)], HEIGHT)
    if kind == "nothing":
        assert found is None
    else:
        assert found == ((left, top, right + 1, bottom + 1), is_bullet)


def test_two_signs_are_no_bullet() -> None:
    image = shape("disc", (100, 92, 114, 106))
    ImageDraw.Draw(image).ellipse((140, 92, 154, 106), fill=20)
    assert list(print_in(image, [(60, 70, 180, 120)], HEIGHT)) == [((100, 92, 155, 107), False)]


def test_a_bullet_may_be_a_short_first_word_or_before_the_line_as_far_as_the_words_there() -> None:
    words = [
        word("Column", (20, 100, 140, 132)),
        word("e", (200, 108, 216, 124), 1),
        word("Valves", (260, 100, 360, 132), 1),
        word("Pumps", (260, 160, 360, 192), 2),
    ]
    assert list(places_of(words)) == [
        LineStart(0, (0, 100, 15, 132), is_free=True),
        LineStart(2, (192, 100, 224, 132), is_free=False),
        LineStart(1, (148, 108, 195, 124), is_free=True),
        LineStart(3, (68, 160, 255, 192), is_free=True),
    ]
    assert list(places_of([])) == []


def test_a_short_word_before_a_line_may_be_its_bullet() -> None:
    words = [word("¢", (200, 108, 216, 124)), word("Valves", (260, 100, 360, 132), 1)]
    assert LineStart(1, (194, 102, 222, 130), is_free=False) in list(places_of(words))


def test_print_before_a_line_is_unread_unless_it_is_a_bullet_a_word_or_a_speck() -> None:
    free, taken = LineStart(0, (60, 100, 95, 132), is_free=True), LineStart(0, (60, 100, 95, 132), is_free=False)
    number, speck = (62, 102, 80, 130), (62, 102, 66, 106)
    assert unread_boxes([StartPrint(free, number, is_bullet=False)]) == [number]
    others = [
        StartPrint(free, number, is_bullet=True),
        StartPrint(taken, number, is_bullet=False),
        StartPrint(free, speck, is_bullet=False),
    ]
    assert unread_boxes(others) == []


def test_a_bullet_replaces_the_letter_that_was_read_there_on_whatever_line() -> None:
    words = [
        word("¢", (100, 108, 114, 122)),
        word("Valves", (160, 100, 260, 132), 1),
        word("are", (270, 100, 300, 132), 1),
        word("e", (100, 168, 114, 182), 2),
        word("a", (160, 160, 180, 192), 2),
    ]
    boxes = {1: (100, 108, 114, 122), 4: (100, 168, 114, 182)}
    starts = [StartPrint(LineStart(at, box, is_free=False), box, is_bullet=True) for at, box in boxes.items()]
    found = with_bullets(words, starts)
    assert [(each.text, each.line) for each in found] == [("•", 1), ("Valves", 1), ("are", 1), ("•", 2), ("a", 2)]
    assert found[0].box == (100, 108, 114, 122)
    assert with_bullets(words, [StartPrint(each.place, each.box, is_bullet=False) for each in starts]) == tuple(words)
