"""Why a scan's pages are reported as doubtful: their digits, their language, a text layer that is noise."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

import pytest

from knowledge_mcp.model.document import LAYER_UNCHECKED, Document
from knowledge_mcp.model.errors import InvalidInputError, UnreadableDocumentError
from knowledge_mcp.model.extraction import OcrPage, is_unsure
from knowledge_mcp.readers.pdf.reader import PdfReader
from knowledge_mcp.readers.scans import recognition
from knowledge_mcp.support.checkpoints import checkpoint, watch_for_stop
from tests.ocr.engines import ScriptedEngine, page_of
from tests.ocr.pages import LETTER, drawn, scan
from tests.readers.in_process import InProcessSandbox
from tests.readers.pdf_files import item_of

PICTURE = drawn(LETTER[:2], width=620, size=20)
FRENCH = (
    "La pompe ne doit pas être ouverte pendant que le moteur est en marche",
    "et les agents qui sont dans la salle avec une lampe verte sur la porte",
    "de la station ou dans les bureaux du service des eaux pour la nuit",
)


class OnlyEnglish(ScriptedEngine):
    """Have the data of one language only."""

    def ready(self, language: str = "eng") -> None:
        if language != "eng":
            raise InvalidInputError(
                "There is no data.", suggestion=f"Install it: apt-get install tesseract-ocr-{language}"
            )


def read(*answers: OcrPage, engine: type[ScriptedEngine] = ScriptedEngine) -> Document:
    used = engine(list(answers))
    return PdfReader(sandbox=InProcessSandbox(), ocr=used).read(item_of(scan(*[PICTURE] * len(answers))))


def test_doubtful_digits_are_marked_in_the_pages_coverage() -> None:
    clear = page_of("The pump holds 125 litres of oil at 38 degrees", confidence=93)
    words = tuple(replace(word, confidence=41) if word.text == "125" else word for word in clear.words)
    one, other = read(replace(clear, words=words), clear).pages
    assert one.note == "read by OCR, confidence 93 %; doubtful digits: '125'"
    assert is_unsure(one.note)
    assert not is_unsure(other.note)


def test_many_doubtful_digits_are_counted() -> None:
    page = page_of(*(f"Row {number} of the list" for number in range(20, 32)), confidence=50)
    assert read(page).pages[0].note.endswith("'26', '27' and 4 more")


@pytest.mark.parametrize(
    ("engine", "said"),
    [
        (OnlyEnglish, "tesseract-ocr-fra; then set OCR_LANGUAGE to eng+fra"),
        (ScriptedEngine, "Set OCR_LANGUAGE to eng+fra"),
    ],
)
def test_a_language_that_was_not_asked_for_is_named_with_what_to_do(engine: type[ScriptedEngine], said: str) -> None:
    warnings = read(page_of(*FRENCH, confidence=90), engine=engine).warnings
    (result,) = [each for each in warnings if "French" in each]
    assert said in result


def test_each_page_in_another_language_is_reported_though_most_of_the_document_is_not() -> None:
    english = page_of(*["The pump must not be opened while the motor is on and the men are in the hall"] * 9)
    document = read(english, page_of(*FRENCH), english)
    (result,) = document.warnings
    assert result.startswith("The recognised text of page 2 of 3 is French")
    assert [is_unsure(page.note) for page in document.pages] == [False, True, False]


def test_print_that_is_in_no_word_is_reported_for_its_page() -> None:
    page = page_of("The pump holds 125 litres of oil at 38 degrees", confidence=93)
    document = read(replace(page, unread=0.14), page)
    one, other = document.pages
    assert document.warnings[0].startswith("Some print was not read on page 1 of 2")
    assert "about 14% of its print was not read" in one.note
    assert is_unsure(one.note)
    assert not is_unsure(other.note)


def test_the_language_that_was_asked_for_is_not_reported() -> None:
    page = page_of("The pump must not be opened while the motor is on and the men are in the hall", confidence=90)
    assert read(page, engine=OnlyEnglish).warnings == ()


def test_a_text_layer_over_a_picture_is_read_again_where_its_words_are_none() -> None:
    sounds = "\n".join("bapo rite nasu moka lipe tado surimo kenapi lofa mitu barosi pelu" for _ in range(12))
    noise = "\n".join("tl1e p~mp m_st b3 0pen3d wh1l3 th~ m0t0r 1s 0n ,;l|' a,d 1t" for _ in range(12))
    words = "\n".join("The pump must be opened while the motor is on and the men are there" for _ in range(12))
    good = page_of(*["The pump must be opened while the motor is on"] * 12, confidence=92)
    for layer, method in ((noise, "ocr"), (sounds, "ocr"), (words, "text_layer")):
        data = _layered(layer)
        document = PdfReader(sandbox=InProcessSandbox(), ocr=ScriptedEngine([good])).read(item_of(data))
        assert [page.method for page in document.pages] == [method]


def test_words_below_the_picture_of_a_scan_are_said_to_be_unchecked() -> None:
    words = "\n".join("The pump must be opened while the motor is on and the men are there" for _ in range(12))
    for mode, note in ((3, LAYER_UNCHECKED), (0, "")):
        document = PdfReader(sandbox=InProcessSandbox()).read(item_of(_layered(words, mode)))
        assert [page.note for page in document.pages] == [note]
        assert ["page 1 of 1 was recognised" in warning for warning in document.warnings] == [True] * bool(note)


def _layered(text: str, mode: int = 0) -> bytes:
    import io

    from reportlab.lib.utils import ImageReader
    from reportlab.pdfgen import canvas

    buffer = io.BytesIO()
    sheet: Any = canvas.Canvas(buffer, pagesize=(595, 842), invariant=1)
    sheet.drawImage(ImageReader(PICTURE), 0, 0, 595, 842)
    for row, line in enumerate(text.splitlines()):
        sheet.drawString(60, 780 - 16 * row, line, mode=mode)
    sheet.showPage()
    sheet.save()
    return buffer.getvalue()


def test_after_long_without_a_sure_word_the_other_pages_are_left_unread_and_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(recognition, "_FRUITLESS", -1.0)
    with pytest.raises(UnreadableDocumentError, match="pages 1-3 could not be read: OCR was stopped"):
        read(*[page_of("The pump shall stop.")] * 3)


class UnwantedError(Exception):
    """Nobody waits any more."""


class Endless(ScriptedEngine):
    """Read until nobody wants it any more."""

    def read(self, png: bytes, *, language: str = "eng") -> OcrPage:
        for _ in range(2000):
            threading.Event().wait(0.01)
            checkpoint()
        return page_of("It was read to its end.")


def test_who_no_longer_wants_a_document_does_not_wait_for_the_pages_that_are_being_read() -> None:
    asked = 0

    def stop() -> None:
        nonlocal asked
        asked += 1
        if asked > 1:
            raise UnwantedError

    with pytest.raises(UnwantedError), watch_for_stop(stop, every=0.05):
        read(page_of(), engine=Endless)
