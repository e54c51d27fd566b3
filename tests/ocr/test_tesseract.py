"""The engine on real pages, with the real program: what lies askew, on its side, on its head, or reads badly."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest
from PIL import Image, ImageDraw, ImageFilter

from knowledge_mcp.model.errors import InvalidInputError
from knowledge_mcp.model.extraction import OcrWord
from knowledge_mcp.ocr.tesseract import TesseractEngine, from_options
from tests.machine import needs
from tests.ocr.pages import LETTER, TITLE_BLOCK, columns, drawn, error_rate, noisy, png, sheet_of_lines, tilted

TEXT = "\n".join(LETTER)


@pytest.fixture(scope="module")
def engine() -> Iterator[TesseractEngine]:
    needs("tesseract")
    made = TesseractEngine()
    yield made
    made.close()


@pytest.mark.requirement("document-store-api:FR-005")
def test_a_clean_page_is_read_to_the_letter(engine: TesseractEngine) -> None:
    page = engine.read(png(drawn(LETTER)))
    assert error_rate(page.text, TEXT) <= 0.005
    assert page.confidence > 85
    assert page.doubtful < 0.05
    assert (page.rotation, page.skew) == (0, 0.0)
    assert len({word.line for word in page.words}) == len(LETTER)


def test_a_noisy_page_is_read_nearly_to_the_letter(engine: TesseractEngine) -> None:
    assert error_rate(engine.read(png(noisy(drawn(LETTER)))).text, TEXT) <= 0.02


@pytest.mark.slow
def test_what_a_stamp_hides_is_reported_and_rules_are_not(engine: TesseractEngine) -> None:
    page = drawn(LETTER)
    stamped = page.copy()
    pen = ImageDraw.Draw(stamped)
    for step in range(0, 300, 12):
        pen.line((500, 130 + step, 800, 190 + step), fill=0, width=5)
        pen.line((500, 190 + step, 800, 130 + step), fill=0, width=5)
    ruled = page.copy()
    ImageDraw.Draw(ruled).rectangle((10, 10, page.width - 10, page.height - 10), outline=0, width=3)
    assert engine.read(png(page)).unread == engine.read(png(ruled)).unread == 0
    assert engine.read(png(stamped)).unread > 0.02


@pytest.mark.slow
def test_a_page_of_grain_is_cleaned(engine: TesseractEngine) -> None:
    page = drawn(LETTER[:5], size=36, width=1100)
    chance = random.Random(4)
    grain = bytes(min(max(round(24 + 0.8 * shade + chance.gauss(0, 60)), 0), 255) for shade in page.tobytes())
    grainy = Image.frombytes("L", page.size, grain)
    assert error_rate(engine.read(png(grainy)).text, "\n".join(LETTER[:5])) <= 0.02


@pytest.mark.parametrize("turn", [*(pytest.param(turn, marks=pytest.mark.slow) for turn in (90, 180)), 270])
def test_a_page_that_lies_turned_is_read_upright(engine: TesseractEngine, turn: int) -> None:
    upright = drawn(LETTER[:5], size=36, width=1100)
    page = engine.read(png(upright.rotate(turn, expand=True)))  # against the clock
    assert error_rate(page.text, "\n".join(LETTER[:5])) <= 0.005
    assert page.rotation == turn
    assert (page.width, page.height) == upright.size
    first = page.words[0]
    assert first.text == "The"
    assert first.box[0] < 120
    assert first.box[1] < 120


@pytest.mark.parametrize("degrees", [pytest.param(-9.0, marks=pytest.mark.slow), 4.0])
def test_a_page_that_lies_askew_is_straightened(engine: TesseractEngine, degrees: float) -> None:
    page = engine.read(png(tilted(drawn(LETTER[:5], size=36, width=1100), degrees)))
    assert error_rate(page.text, "\n".join(LETTER[:5])) <= 0.01
    assert page.skew == pytest.approx(-degrees, abs=0.6)
    tops = [word.box[1] for word in page.words if word.line == 3]
    assert max(tops) - min(tops) < 25


def test_bullets_are_bullets_and_letters_are_none(engine: TesseractEngine) -> None:
    lines = [f"    {line}" for line in LETTER[:4]]
    page = drawn([*lines, *LETTER[4:]])
    pen = ImageDraw.Draw(page)
    for row in range(4):
        middle = 90 + round(row * 42 * 1.45) + 26
        pen.ellipse((92, middle - 7, 106, middle + 7), fill=0)
    text = engine.read(png(page)).text
    assert [line[0] for line in text.split("\n") if line].count("•") == 4
    assert error_rate(text.replace("• ", ""), TEXT) <= 0.01


def test_print_before_lines_that_is_not_read_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    words = tuple(OcrWord(text, 95.0, (120, 100, 400, 130), 0) for text in ("Walls",))
    engine = TesseractEngine()

    def picture(function: str, image: bytes, **arguments: Any) -> Any:
        printed = [(2.0, box[1], box[3]) for box in arguments["boxes"]]
        before = [((70, 100, 95, 130), False) for _ in arguments["before"]]
        return {"rules": [], "print": printed, "unread": 0.0, "before": before}

    def recognise(image: bytes, language: str, mode: str, deadline: float) -> tuple[OcrWord, ...]:
        return words if mode == "3" else ()

    def gather(function: str, image: bytes, **arguments: Any) -> list[Any]:
        return [[((70, 100, 95, 130), 150, 0)], image]

    monkeypatch.setattr(engine, "ready", str)
    monkeypatch.setattr(engine, "picture", picture)
    monkeypatch.setattr(engine, "job", gather)
    monkeypatch.setattr(engine, "recognise", recognise)
    assert engine.read(png(drawn(["Walls"]))).unread == pytest.approx(0.5)


def test_two_columns_are_read_one_after_the_other(engine: TesseractEngine) -> None:
    other = ("In the valley the hay was late that year,", "and rain fell on every second day.") * 4
    page = engine.read(png(columns((*LETTER, LETTER[0]), other)))
    assert error_rate(page.text, "\n".join((*LETTER, LETTER[0], *other))) <= 0.01
    assert len({word.block for word in page.words}) >= 2


def test_a_blank_page_has_no_words_and_is_no_error(engine: TesseractEngine) -> None:
    page = engine.read(png(Image.new("L", (1240, 800), 252)))
    assert (page.words, page.text, page.confidence) == ((), "", 0.0)


@pytest.mark.slow
def test_a_page_too_poor_to_read_has_a_low_confidence(engine: TesseractEngine) -> None:
    page = engine.read(png(noisy(drawn(LETTER[:3], size=30).filter(ImageFilter.GaussianBlur(4.6)))))
    assert page.confidence < 70
    assert not page.words or page.doubtful > 0.2


@pytest.mark.parametrize("turn", [0, 90])
def test_a_drawing_gives_its_title_block(engine: TesseractEngine, turn: int) -> None:
    page = engine.read(png(sheet_of_lines().rotate(turn, expand=True)))
    words = page.text.split()
    expected = [word for line in TITLE_BLOCK for word in line.split()]
    assert sum(word in words for word in expected) >= 0.8 * len(expected)
    assert page.rotation == turn


def test_strokes_that_read_as_letters_are_no_words(engine: TesseractEngine) -> None:
    page = Image.new("L", (1600, 1100), 255)
    pen, chance = ImageDraw.Draw(page), random.Random(3)
    for _ in range(1200):
        x, y = chance.uniform(0, 1600), chance.uniform(0, 1100)
        pen.line((x, y, x + chance.uniform(-30, 30), y + chance.uniform(-30, 30)), fill=0, width=2)
    read = engine.read(png(page))
    assert len(read.words) <= 5
    assert read.confidence < 60
    assert not read.words or read.unread > 0.5


@pytest.mark.requirement("document-store-api:FR-005")
def test_a_language_without_data_is_named_with_those_that_are_installed(engine: TesseractEngine) -> None:
    with pytest.raises(InvalidInputError) as caught:
        engine.read(png(drawn(LETTER[:1])), language="eng+tlh_Latn")
    assert "tlh_Latn" in caught.value.message
    assert "installed: " in caught.value.message
    assert "eng" in caught.value.message
    assert "apt-get install tesseract-ocr-tlh-latn" in caught.value.suggestion


@pytest.mark.parametrize("language", ["", "../etc", "eng;ls", "eng+", "-l", "--user-words=/etc/passwd"])
def test_what_is_no_language_is_refused_before_it_is_given_to_the_program(
    engine: TesseractEngine, language: str
) -> None:
    with pytest.raises(InvalidInputError, match="not a language"):
        engine.ready(language)


def test_a_page_read_before_is_not_read_again(engine: TesseractEngine) -> None:
    image = png(drawn(("Once is enough for one page.",)))
    assert engine.read(image) is engine.read(image)


class _Switch:
    def __init__(self, on: bool) -> None:
        self.enable_ocr = on


def test_the_settings_switch_recognition_on_and_off() -> None:
    assert from_options(_Switch(on=False)) is None
    made = from_options(_Switch(on=True))
    assert made is not None
    assert 1 <= made.workers <= 4


def test_strokes_of_a_word_that_was_replaced_are_no_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    rule, stroke, hidden = (0, 200, 500, 200), (10, 110, 60, 110), (60, 40, 60, 300)
    sure = [
        OcrWord(text, 97.0, (left, 100, left + 90, 130), 0)
        for text, left in (("Wall", 100), ("in", 210), ("clay", 320))
    ]
    first = (OcrWord("52", 50.0, (10, 100, 60, 130), 0), *sure)
    measured = iter([[rule], [rule, stroke, hidden]])

    def picture(function: str, image: bytes, **arguments: Any) -> Any:
        assert function == "measure"
        printed = [(2.0, box[1], box[3]) for box in arguments["boxes"]]
        before = [None] * len(arguments["before"])
        return {"rules": next(measured), "print": printed, "unread": 0.0, "before": before}

    def recognise(image: bytes, language: str, mode: str, deadline: float) -> tuple[OcrWord, ...]:
        return first if mode == "3" else (OcrWord("5.2", 95.0, (150, 48, 200, 78), 0),)

    def gather(function: str, image: bytes, **arguments: Any) -> list[Any]:
        return [[(first[0].box, 150, 0)], page]

    def accept(language: str) -> None:
        assert language == "eng"

    engine = TesseractEngine()
    page = png(drawn(["Wall"]))
    monkeypatch.setattr(engine, "ready", accept)
    monkeypatch.setattr(engine, "picture", picture)
    monkeypatch.setattr(engine, "job", gather)
    monkeypatch.setattr(engine, "recognise", recognise)
    read = engine.read(page)
    assert [word.text for word in read.words] == ["5.2", "Wall", "in", "clay"]
    assert read.rules == (rule, hidden)  # a longer rule was taken for a sign
