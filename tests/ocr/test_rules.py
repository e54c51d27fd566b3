"""What a page's picture shows of its print: rules, strokes, shaded ground, and where a straight page has them."""

from __future__ import annotations

import pytest
from PIL import Image, ImageDraw, ImageFont

from knowledge_mcp.ocr.rules import Box, Straightening, count_crossed, fall_of, flattened, print_of, rules_of

WHITE = 255


def page(width: int = 1600, height: int = 1000) -> tuple[Image.Image, ImageDraw.ImageDraw]:
    image = Image.new("L", (width, height), WHITE)
    return image, ImageDraw.Draw(image)


def near(one: Box, other: tuple[int, ...], slack: int = 10) -> bool:
    return all(abs(mine - theirs) <= slack for mine, theirs in zip(one, other, strict=True))


def grid(pen: ImageDraw.ImageDraw, xs: tuple[int, ...], ys: tuple[int, ...], width: int = 3) -> list[tuple[int, ...]]:
    lines = [(xs[0], y, xs[-1], y) for y in ys] + [(x, ys[0], x, ys[-1]) for x in xs]
    for line in lines:
        pen.line(line, fill=0, width=width)
    return lines


@pytest.mark.parametrize("width", [2, 3, 6])
def test_rules_of_a_grid_are_found_from_end_to_end(width: int) -> None:
    image, pen = page()
    drawn = grid(pen, (200, 600, 1400), (150, 240, 330), width)
    found = rules_of(image, ())
    assert len(found) == len(drawn)
    assert all(any(near(rule, line) for rule in found) for line in drawn)


def test_a_rule_that_a_scanner_breaks_is_one() -> None:
    image, pen = page()
    pen.line((200, 400, 1400, 400), fill=0, width=3)
    for x in range(300, 1400, 200):
        pen.line((x, 395, x + 3, 395), fill=WHITE, width=20)
    assert len(rules_of(image, ())) == 1


def test_a_page_askew_has_its_rules_and_they_tell_how_it_lies() -> None:
    image, pen = page()
    grid(pen, (200, 600, 1400), (150, 240, 330))
    askew = image.rotate(-1.0, Image.Resampling.BICUBIC, expand=True, fillcolor=WHITE)  # clockwise
    rules = rules_of(askew, ())
    assert len(rules) == 6
    fall = fall_of(rules)
    assert fall == pytest.approx(1.0, abs=0.1)
    turn = Straightening(-1.0, *askew.size)
    straight = [turn.rule(rule) for rule in rules]
    assert all(abs(rule[1] - rule[3]) <= 4 or abs(rule[0] - rule[2]) <= 4 for rule in straight)
    assert fall_of([]) is None


def test_letters_and_areas_are_no_rules() -> None:
    image, pen = page()
    pen.text((200, 200), "EMBANKMENT HHH lll III", font=ImageFont.load_default(40), fill=0)
    pen.rectangle((200, 500, 1200, 700), fill=0)
    box = (200, 190, 900, 260)
    assert not [rule for rule in rules_of(image, [box]) if rule[1] < 400]
    assert not [rule for rule in rules_of(image, [box]) if 520 < rule[1] < 680]


def test_an_underline_stays_and_a_bar_within_a_word_goes() -> None:
    image, pen = page()
    pen.line((200, 300, 400, 300), fill=0, width=3)
    assert len(rules_of(image, [(195, 250, 405, 302)])) == 1
    assert rules_of(image, [(195, 280, 405, 340)]) == []


def test_print_of_bold_print_are_wider_on_pale_print_too() -> None:
    image, pen = page()
    pen.text((100, 100), "overcurrent", font=ImageFont.load_default(44), fill=0)
    pen.text((100, 300), "overcurrent", font=ImageFont.load_default(44), fill=0, stroke_width=2)
    pen.text((100, 500), "overcurrent", font=ImageFont.load_default(44), fill=130)
    boxes = [(90, top, 600, top + 70) for top in (95, 295, 495, 700)]
    (plain, top, bottom), (bold, *_), (pale, *_), (nothing, *box) = print_of(image, boxes)
    assert bold > 1.4 * plain
    assert pale == pytest.approx(plain, rel=0.1)
    assert (nothing, box) == (0, [700, 770])
    assert 95 < top < bottom < 165


def test_ink_on_a_shaded_band_is_as_high_as_its_letters() -> None:
    image, pen = page()
    pen.rectangle((100, 100, 1500, 260), fill=170)
    pen.text((120, 160), "Pressure", font=ImageFont.load_default(44), fill=0)
    ((stroke, top, bottom),) = print_of(image, [(110, 90, 400, 270)])
    assert stroke > 0
    assert 160 <= top < bottom < 215


def test_shaded_ground_is_lightened_dark_ground_inverted_and_rules_go() -> None:
    image, pen = page()
    pen.rectangle((100, 100, 1500, 200), fill=170)
    pen.text((120, 120), "Pressure", font=ImageFont.load_default(44), fill=0)
    pen.rectangle((100, 400, 1500, 560), fill=30)
    pen.text((120, 450), "Pressure", font=ImageFont.load_default(44), fill=240)
    pen.line((100, 800, 1500, 800), fill=0, width=3)
    flat = flattened(image, [(100, 800, 1500, 800)])
    for top, bottom in ((115, 190), (445, 520)):
        assert min(flat.crop((700, top, 1400, bottom)).tobytes()) > 200  # the ground
        assert min(flat.crop((120, top, 400, bottom)).tobytes()) < 120  # the letters
    assert min(flat.crop((100, 790, 1500, 810)).tobytes()) > 200


def test_a_rule_goes_through_a_word_or_stands_beside_it() -> None:
    word = (100, 100, 300, 140)
    assert count_crossed([word], [(200, 50, 200, 400)]) == 1
    assert count_crossed([word], [(310, 50, 310, 400)]) == 0
    assert count_crossed([word], [(200, 300, 200, 400)]) == 0
    assert count_crossed([word], [(50, 120, 900, 120)]) == 0


@pytest.mark.parametrize("degrees", [0.7, -0.4])
def test_a_word_of_a_page_askew_lies_where_the_turned_page_has_it(degrees: float) -> None:
    image, pen = page()
    pen.rectangle((300, 400, 700, 440), fill=0)
    turned = image.rotate(-degrees, Image.Resampling.BICUBIC, expand=True, fillcolor=WHITE)
    box = turned.point([255] * 128 + [0] * 128).getbbox()
    turn = Straightening(-degrees, *turned.size)
    back = image.rotate(0).size
    assert box is not None
    left, top, right, bottom = turn.word(box)
    across, along = (turn.size[0] - back[0]) / 2, (turn.size[1] - back[1]) / 2
    assert near(
        (left, top, right, bottom), (round(300 + across), round(400 + along), round(700 + across), round(440 + along))
    )


def test_strokes_of_a_drawing_that_meet_in_a_row_without_ink_are_looked_at() -> None:
    image, pen = page()
    for start in range(200, 800, 120):
        pen.rectangle((start, 400, start + 59, 401), fill=0)
        pen.rectangle((start + 60, 404, start + 119, 405), fill=0)
    assert all(rule[0] < rule[2] for rule in rules_of(image, ()))
