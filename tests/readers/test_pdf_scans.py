"""Scanned pages of PDFs: which are recognised, what becomes of their text, and what is said where they cannot be."""

from __future__ import annotations

import errno
import logging
from collections.abc import Sequence

import pytest
from PIL import Image

from knowledge_mcp.model.document import Document
from knowledge_mcp.model.errors import ConfigError, InternalError, UnreadableDocumentError, UnreadableReason
from knowledge_mcp.model.extraction import RecognisedPage, ScanOptions
from knowledge_mcp.ocr.invocation import INSTALL
from knowledge_mcp.ocr.tesseract import TesseractEngine
from knowledge_mcp.ports import OcrEngine
from knowledge_mcp.readers.pdf.reader import PdfReader
from knowledge_mcp.readers.pdf.scans import is_garbled
from knowledge_mcp.support.events import EVENT_FIELDS
from tests.machine import needs
from tests.ocr.engines import ScriptedEngine, page_of
from tests.ocr.pages import LETTER, columns, drawn, scan
from tests.readers.in_process import InProcessSandbox
from tests.readers.pdf_files import item_of

LAYER = "\n".join(f"{line} It is written in the text layer." for line in LETTER)
PICTURE = drawn(LETTER[:2], width=620, size=20)


def read(data: bytes, engine: OcrEngine | None, options: ScanOptions | None = None) -> Document:
    return PdfReader(sandbox=InProcessSandbox(), ocr=engine, options=options).read(item_of(data))


def methods(document: Document) -> list[str]:
    return [page.method for page in document.pages]


# ---- which pages are recognised -------------------------------------------------------------------------------------


@pytest.mark.requirement("document-store-api:FR-005")
@pytest.mark.slow
def test_a_mixed_file_loses_no_page(real: TesseractEngine) -> None:
    upside_down = drawn(("The ferry takes six horses at a time,", "or one wagon and its team of four.")).rotate(180)
    reader = PdfReader(ocr=real)  # with true children
    document = reader.read(item_of(scan(LAYER, drawn(LETTER), LAYER.replace("bridge", "tunnel"), upside_down)))
    reader.close()
    assert methods(document) == ["text_layer", "ocr", "text_layer", "ocr"]
    texts = [" ".join(page.span.of(document.text).split()) for page in document.pages]
    assert "The bridge over the mill stream" in texts[0]
    assert texts[1] == " ".join(LETTER)
    assert "The tunnel over the mill stream" in texts[2]
    assert texts[3] == "The ferry takes six horses at a time, or one wagon and its team of four."
    second, fourth = document.pages[1], document.pages[3]
    assert isinstance(second, RecognisedPage)
    assert isinstance(fourth, RecognisedPage)
    assert second.confidence > 85
    assert fourth.rotation == 180
    assert document.warnings == ()


def test_short_columns_of_a_scan_are_read_one_after_the_other(real: TesseractEngine) -> None:
    beside = ("In the valley the hay was late that year,", "and rain fell on every second day, so that")
    document = read(scan(columns(LETTER[:2], beside)), real)
    assert " ".join(document.text.split()) == " ".join((*LETTER[:2], *beside))


def test_the_words_of_a_page_come_in_the_canonical_text_with_its_span() -> None:
    document = read(scan(LAYER, PICTURE), ScriptedEngine([page_of(*LETTER)]))
    assert document.pages[1].span.of(document.text) == " ".join(LETTER)
    assert document.pages[0].span.end <= document.pages[1].span.start


def test_a_letter_scanned_twice_loses_no_line() -> None:
    letter = page_of("Dear Sir", *LETTER, "Yours faithfully")
    document = read(scan(PICTURE, PICTURE, PICTURE), ScriptedEngine([letter, letter, letter]))
    assert document.text.count("Dear Sir") == 3
    assert document.text.count("Yours faithfully") == 3


def test_running_heads_of_a_scan_are_removed() -> None:
    pages = [page_of("Mill House Papers", *LETTER[n : n + 2], size=(1240, 1754)) for n in range(5)]
    document = read(scan(*[PICTURE] * 5), ScriptedEngine(pages))
    assert "Mill House Papers" not in document.text
    assert LETTER[3] in document.text.replace("\n", " ")


def test_headings_of_a_scan_are_headings() -> None:
    lines = ("1 Tolls", *LETTER[:3], "2 Fords", *LETTER[3:6], "3 Ferries", LETTER[6])
    document = read(scan(PICTURE), ScriptedEngine([page_of(*lines)]))
    assert [(section.number, section.title) for section in document.sections] == [
        ("1", "Tolls"),
        ("2", "Fords"),
        ("3", "Ferries"),
    ]


@pytest.mark.requirement("document-store-api:FR-005")
def test_a_text_layer_is_never_recognised() -> None:
    engine = ScriptedEngine([])
    document = read(scan(LAYER, "Short, but a page of text."), engine)
    assert methods(document) == ["text_layer", "text_layer"]
    assert engine.seen == []


def test_a_stamp_over_a_scan_does_not_hide_the_scan() -> None:
    stamped = scan((PICTURE, "RECEIVED 14 MARCH"), LAYER)
    document = read(stamped, ScriptedEngine([page_of(*LETTER)]))
    assert methods(document) == ["ocr", "text_layer"]
    text = document.pages[0].span.of(document.text)
    assert "round by the upper ford" in text
    assert "RECEIVED 14 MARCH" in text


def test_a_stamp_that_recognition_saw_too_is_not_there_twice() -> None:
    document = read(scan((PICTURE, "RECEIVED 14 MARCH")), ScriptedEngine([page_of("RECEIVED 14 MARCH", *LETTER)]))
    assert document.text.count("RECEIVED") == 1


def test_a_caption_over_a_photograph_without_words_stays_as_it_was() -> None:
    caption = "View from the north bank over the weir, with the mill and both of its wheels"
    document = read(
        scan((PICTURE, caption), LAYER), ScriptedEngine([page_of("View from the north bank over the weir")])
    )
    assert methods(document) == ["text_layer", "text_layer"]
    assert caption in document.text


def shifted(lines: Sequence[str]) -> list[str]:
    """Take the codes of a font's glyphs for characters, as some writers of PDF do."""
    shift = {letter: chr(ord(letter) - 29) for letter in "abcdefghijklmnopqrstuvwxyz"}
    return ["".join(shift.get(letter, letter) for letter in line) for line in lines]


def garbled() -> bytes:
    return scan("\n".join(shifted(LETTER * 2)))


def test_a_text_layer_that_is_not_what_is_printed_is_read_again() -> None:
    document = read(garbled(), ScriptedEngine([page_of(*LETTER)]))
    assert methods(document) == ["ocr"]
    assert document.text == " ".join(LETTER)


@pytest.mark.parametrize(
    ("text", "garbled"),
    [
        pytest.param("\ue054\ue068\ue065 \ue062\ue072\ue069\ue064\ue067\ue065" * 2, True, id="private characters"),
        pytest.param("\ufffd\ufffd\ufffd bridge \ufffd\ufffd" * 3, True, id="replacement characters"),
        pytest.param("\n".join(shifted(LETTER * 2)), True, id="shifted letters"),
        pytest.param(LAYER, False, id="prose"),
        pytest.param("\uf0b7 a bullet of a symbol font, and prose after it", False, id="bullet"),
        pytest.param("0x3F2A 0B11 FF00 9C1D " * 40, False, id="hexadecimal"),
        pytest.param("大坝水位记录册 每日早晨由看守人填写" * 10, False, id="another script"),
        pytest.param("Řeka strhla most přes mlýnský náhon a vozka jel přes brod " * 4, False, id="another language"),
        pytest.param("", False, id="nothing"),
    ],
)
def test_garbled_text_is_distinguished_from_text(text: str, garbled: bool) -> None:
    assert is_garbled(text) is garbled


def test_a_page_of_abbreviations_that_recognition_confirms_stays() -> None:
    names = "SPDT RLY GND VCC STBY CLK DRV PWR MTR LCD BTN RST TXD RXD CTS RTS DTR"
    document = read(scan("\n".join([names] * 4)), ScriptedEngine([page_of(names, names, names, "GNO")]))
    assert methods(document) == ["text_layer"]
    assert document.text.count("STBY") == 4


def test_a_garbled_page_that_recognition_cannot_read_either_stays() -> None:
    document = read(garbled(), ScriptedEngine([page_of("i l . ,", confidence=31)]))
    assert methods(document) == ["text_layer"]


@pytest.mark.requirement("document-store-api:FR-005")
def test_forced_recognition_reads_every_page() -> None:
    engine = ScriptedEngine([page_of("One page read."), page_of("Another page read.")])
    document = read(scan(LAYER, LAYER), engine, ScanOptions(force=True, language="fra+eng"))
    assert methods(document) == ["ocr", "ocr"]
    assert "Another page read." in document.text
    assert engine.languages == ["fra+eng", "fra+eng"]


def test_a_blank_page_is_blank_and_no_error() -> None:
    white = Image.new("L", (620, 800), 255)
    engine = ScriptedEngine([page_of(*LETTER)])
    document = read(scan(white, PICTURE, ""), engine)
    assert methods(document) == ["blank", "ocr", "blank"]
    assert len(engine.seen) == 1
    assert document.warnings == ()


def test_pages_are_rendered_at_the_dots_per_inch_asked_for() -> None:
    engine = ScriptedEngine([page_of("word"), page_of("word")])
    data = scan(PICTURE)
    read(data, engine)
    read(data, engine, ScanOptions(dpi=150))
    (full, _), (half, _) = engine.seen
    assert full == pytest.approx(PICTURE.width * 0.24 / 72 * 300, abs=2)
    assert half == pytest.approx(full / 2, abs=2)


def test_several_pages_are_read_at_a_time_and_put_in_order() -> None:
    engine = ScriptedEngine([page_of(f"page with word{number}") for number in range(9)], workers=3)
    document = read(scan(*[PICTURE] * 9), engine)
    assert methods(document) == ["ocr"] * 9
    assert all(f"word{number}" in document.text for number in range(9))
    starts = [page.span.start for page in document.pages]
    assert starts == sorted(starts)


def test_progress_rises_over_parsing_and_recognition() -> None:
    reported: list[tuple[int, int]] = []
    reader = PdfReader(sandbox=InProcessSandbox(), ocr=ScriptedEngine([page_of("a word")] * 2))
    reader.read(item_of(scan(LAYER, PICTURE, PICTURE)), lambda done, total: reported.append((done, total)))
    assert reported[-1] == (5, 5)
    assert (3, 3) in reported
    assert reported == sorted(reported)


def test_a_progress_that_raises_ends_the_reading() -> None:
    class StoppedError(Exception):
        pass

    def stop(done: int, total: int) -> None:
        if total > 3:
            raise StoppedError

    engine = ScriptedEngine([page_of("a word")] * 3)
    with pytest.raises(StoppedError):
        PdfReader(sandbox=InProcessSandbox(), ocr=engine).read(item_of(scan(PICTURE, PICTURE, PICTURE)), stop)
    assert len(engine.seen) < 3


# ---- what is said ---------------------------------------------------------------------------------------------------


@pytest.mark.requirement("document-store-api:NFR-001")
def test_low_confidence_is_logged_and_reported_for_its_page(caplog: pytest.LogCaptureFixture) -> None:
    engine = ScriptedEngine([page_of(*LETTER), page_of(*LETTER[:3], confidence=58)])
    with caplog.at_level(logging.WARNING):
        document = read(scan(PICTURE, PICTURE), engine)
    good, poor = document.pages
    assert isinstance(good, RecognisedPage)
    assert isinstance(poor, RecognisedPage)
    assert (good.confidence, good.doubtful) == (95.0, 0.0)
    assert (poor.confidence, poor.doubtful) == (58.0, 1.0)
    assert "58 %" in poor.note
    assert "low" in poor.note
    assert document.warnings == ("OCR is uncertain (confidence below 70 %) on page 2 of 2.",)
    (record,) = [record for record in caplog.records if record.getMessage() == "ocr_low_confidence"]
    assert getattr(record, EVENT_FIELDS)["page"] == 2
    assert record.levelno == logging.WARNING


def test_a_picture_without_words_is_reported() -> None:
    document = read(scan(PICTURE, LAYER), ScriptedEngine([page_of()]))
    assert methods(document) == ["ocr", "text_layer"]
    assert "no text was recognised" in document.pages[0].note
    assert len(document.pages[0].span) == 0
    assert document.warnings == ("No text was recognised on page 1 of 2: images, or too poor to read.",)


@pytest.mark.requirement("document-store-api:FR-005")
def test_without_the_program_each_page_says_how_to_install_it() -> None:
    document = read(scan(LAYER, PICTURE, PICTURE), TesseractEngine(program="no-such-tesseract"))
    assert methods(document) == ["text_layer", "none", "none"]
    for page in document.pages[1:]:
        assert "apt-get install tesseract-ocr" in page.note
        assert "brew install tesseract" in page.note
    (warning,) = document.warnings
    assert "pages 2-3 of 3" in warning
    assert INSTALL in warning


def test_a_file_of_scans_alone_without_the_program_is_refused_with_the_install_line() -> None:
    with pytest.raises(UnreadableDocumentError) as caught:
        read(scan(PICTURE, PICTURE), TesseractEngine(program="no-such-tesseract"))
    assert caught.value.reason is UnreadableReason.EMPTY
    assert "pages 1-2 could not be read" in caught.value.message
    assert INSTALL in caught.value.suggestion


def test_a_missing_language_is_said_for_each_page() -> None:
    needs("tesseract")
    document = read(scan(LAYER, PICTURE), TesseractEngine(), ScanOptions(language="tlh"))
    assert methods(document) == ["text_layer", "none"]
    assert "no data for the language tlh" in document.pages[1].note
    assert "apt-get install tesseract-ocr-tlh" in document.warnings[0]


def test_a_page_that_fails_leaves_the_others(caplog: pytest.LogCaptureFixture) -> None:
    engine = ScriptedEngine([page_of(*LETTER), InternalError("OCR failed (signal SIGSEGV)."), page_of("end")])
    document = read(scan(PICTURE, PICTURE, PICTURE), engine)
    assert methods(document) == ["ocr", "none", "ocr"]
    assert "SIGSEGV" in document.pages[1].note
    assert "page 2 of 3" in document.warnings[0]
    assert "ocr_failed" in [record.getMessage() for record in caplog.records]


def test_a_disk_that_is_full_is_reported_as_that_and_not_as_a_fault_of_the_file() -> None:
    full = OSError(errno.ENOSPC, "No space left on device")  # as the engine's own temporary file has it
    with pytest.raises(UnreadableDocumentError, match="could not read the file: No space left on device") as refused:
        read(scan(PICTURE, LAYER), ScriptedEngine([full]))
    assert refused.value.reason is UnreadableReason.INACCESSIBLE
    assert "TMPDIR" in refused.value.suggestion


def test_a_stamped_scan_that_cannot_be_read_is_no_page_of_text() -> None:
    engine = ScriptedEngine([])
    engine.unable = ConfigError("Nothing reads here.", suggestion="Install something.")
    document = read(scan((PICTURE, "RECEIVED 14 MARCH"), LAYER), engine)
    assert methods(document) == ["none", "text_layer"]
    assert "Install something." in document.pages[0].note


def test_a_file_of_blank_pages_says_so() -> None:
    with pytest.raises(UnreadableDocumentError) as caught:
        read(scan(Image.new("L", (620, 800), 255)), ScriptedEngine([]))
    assert caught.value.reason is UnreadableReason.EMPTY
    assert "blank" in caught.value.message


@pytest.mark.parametrize("options", [ScanOptions(enabled=False), ScanOptions(enabled=False, force=True)])
def test_recognition_that_is_switched_off_leaves_scans_unread(options: ScanOptions) -> None:
    engine = ScriptedEngine([])
    document = read(scan(LAYER, PICTURE), engine, options)
    assert methods(document) == ["text_layer", "none"]
    assert engine.seen == []


# ---- versions -------------------------------------------------------------------------------------------------------


def test_what_changes_the_text_changes_the_version() -> None:
    engine = ScriptedEngine([])
    reader = PdfReader(sandbox=InProcessSandbox(), ocr=engine)
    versions = {
        PdfReader(sandbox=InProcessSandbox()).version,
        reader.version,
        reader.with_options(ScanOptions(force=True)).version,
        reader.with_options(ScanOptions(language="deu")).version,
        reader.with_options(ScanOptions(dpi=200)).version,
    }
    assert len(versions) == 5
    assert reader.with_options(ScanOptions(enabled=False)).version == PdfReader(sandbox=InProcessSandbox()).version
    engine.unable = ConfigError("gone")
    assert reader.version == PdfReader(sandbox=InProcessSandbox()).version


def test_a_reader_with_other_options_shares_the_first_ones_children() -> None:
    reader = PdfReader()
    other = reader.with_options(ScanOptions(force=True))
    other.close()  # closes nothing
    assert other.read(item_of(scan(LAYER))).text == reader.read(item_of(scan(LAYER))).text
    reader.close()
