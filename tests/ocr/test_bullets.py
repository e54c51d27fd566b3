"""Bullets before lines: where they may be, which shapes they have, and what becomes of the letters read there."""

from __future__ import annotations

import pytest
from PIL import Image, ImageDraw

from knowledge_mcp.model.extraction import OcrWord
from knowledge_mcp.ocr.bullets import places_of, solid_in, with_bullets
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
    (found,) = solid_in(shape(kind, box), [(60, 70, 180, 120)], HEIGHT)
    assert found == ((left, top, right + 1, bottom + 1) if is_bullet else None)


def test_two_signs_are_no_bullet() -> None:
    image = shape("disc", (100, 92, 114, 106))
    ImageDraw.Draw(image).ellipse((140, 92, 154, 106), fill=20)
    assert list(solid_in(image, [(60, 70, 180, 120)], HEIGHT)) == [None]


def test_a_bullet_may_be_a_short_first_word_or_before_the_line_as_far_as_the_words_there() -> None:
    words = [
        word("Column", (20, 100, 140, 132)),
        word("e", (200, 108, 216, 124), 1),
        word("Valves", (260, 100, 360, 132), 1),
        word("Pumps", (260, 160, 360, 192), 2),
    ]
    places = list(places_of(words))
    assert (2, (192, 100, 224, 132)) in places
    assert (1, (140, 108, 195, 124)) in places
    assert (3, (68, 160, 255, 192)) in places
    assert list(places_of([])) == []


def test_a_bullet_replaces_the_letter_that_was_read_there_on_whatever_line() -> None:
    words = [
        word("¢", (100, 108, 114, 122)),
        word("Valves", (160, 100, 260, 132), 1),
        word("are", (270, 100, 300, 132), 1),
        word("e", (100, 168, 114, 182), 2),
        word("a", (160, 160, 180, 192), 2),
    ]
    found = with_bullets(words, {1: (100, 108, 114, 122), 4: (100, 168, 114, 182)})
    assert [(each.text, each.line) for each in found] == [("•", 1), ("Valves", 1), ("are", 1), ("•", 2), ("a", 2)]
    assert found[0].box == (100, 108, 114, 122)
    assert with_bullets(words, {}) == tuple(words)
