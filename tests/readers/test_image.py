"""Image files as documents: formats, pages, how they lie, and what is no image, damaged, or made to exhaust."""

from __future__ import annotations

import io
import struct
import zlib
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from knowledge_mcp.model.document import Document
from knowledge_mcp.model.errors import UnreadableDocumentError, UnreadableReason
from knowledge_mcp.model.extraction import RecognisedPage, ScanOptions
from knowledge_mcp.model.source import MEDIA_TYPES, SourceItem
from knowledge_mcp.ocr.invocation import INSTALL
from knowledge_mcp.ocr.tesseract import TesseractEngine
from knowledge_mcp.ports import OcrEngine
from knowledge_mcp.readers.images.reader import ImageReader
from knowledge_mcp.support.sandbox import Limits
from tests.ocr.engines import ScriptedEngine, page_of
from tests.ocr.pages import LETTER, drawn
from tests.readers.in_process import InProcessSandbox
from tests.readers.pdf_files import item_of

PAGE = drawn(LETTER[:2], width=1100)
MIB = 1 << 20


def encoded(page: Image.Image, kind: str = "PNG", **options: Any) -> bytes:
    buffer = io.BytesIO()
    page.save(buffer, kind, **{"dpi": (300, 300), **options})
    return buffer.getvalue()


def tiff(*pages: Image.Image, **options: Any) -> bytes:
    return encoded(pages[0], "TIFF", save_all=True, append_images=list(pages[1:]), **options)


def named(data: bytes, name: str = "scan.png") -> SourceItem:
    return item_of(data, name)


def read(data: bytes, engine: OcrEngine | None, options: ScanOptions | None = None) -> Document:
    return ImageReader(sandbox=InProcessSandbox(), ocr=engine, options=options).read(named(data))


@pytest.mark.requirement("document-store-api:FR-005")
def test_a_tiff_of_several_pages_is_read_page_by_page(real: TesseractEngine) -> None:
    reader = ImageReader(ocr=real)  # with true children
    item = named(tiff(drawn(LETTER[:3]), drawn(LETTER[3:5]), compression="tiff_lzw"), "levels of the stream.tiff")
    assert reader.check(item).pages == 2
    document = reader.read(item)
    reader.close()
    assert [page.method for page in document.pages] == ["ocr", "ocr"]
    assert [" ".join(page.span.of(document.text).split()) for page in document.pages] == [
        " ".join(LETTER[:3]),
        " ".join(LETTER[3:5]),
    ]
    assert all(isinstance(page, RecognisedPage) and page.confidence > 80 for page in document.pages)
    assert document.title == "levels of the stream"


@pytest.mark.requirement("document-store-api:FR-005")
@pytest.mark.parametrize(
    ("kind", "page", "options"),
    [
        pytest.param("PNG", PAGE, {}, id="png"),
        pytest.param("PNG", PAGE.convert("1"), {}, id="black and white"),
        pytest.param("PNG", PAGE.convert("P"), {}, id="palette"),
        pytest.param("JPEG", PAGE.convert("RGB"), {"quality": 90}, id="jpeg"),
        pytest.param("JPEG", PAGE.convert("CMYK"), {}, id="print colours"),
        pytest.param("TIFF", PAGE, {"compression": "tiff_deflate"}, id="tiff"),
        pytest.param("TIFF", PAGE.convert("1"), {"compression": "group4"}, id="fax"),
        pytest.param("TIFF", PAGE.convert("I;16"), {}, id="sixteen bits"),
        pytest.param("BMP", PAGE.convert("RGB"), {}, id="bmp"),
    ],
)
def test_every_format_reaches_the_engine_at_its_size(kind: str, page: Image.Image, options: dict[str, Any]) -> None:
    engine = ScriptedEngine([page_of(*LETTER)])
    document = read(encoded(page, kind, **options), engine)
    assert engine.seen == [page.size]
    assert document.text == " ".join(LETTER)


def test_all_extensions_of_the_specification_have_a_media_type() -> None:
    images = sorted(extension for extension, kind in MEDIA_TYPES.items() if kind.startswith("image/"))
    assert images == [".bmp", ".jpeg", ".jpg", ".png", ".tif", ".tiff"]


def test_a_photograph_taken_sideways_is_turned_as_it_says() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned a quarter clockwise
    engine = ScriptedEngine([page_of("word")])
    read(encoded(PAGE.convert("RGB"), "JPEG", exif=exif.tobytes()), engine)
    assert engine.seen == [(PAGE.height, PAGE.width)]


def test_ink_on_a_transparent_ground_is_seen_on_white(real: TesseractEngine) -> None:
    clear = Image.new("RGBA", PAGE.size, (0, 0, 0, 0))
    clear.putalpha(PAGE.point(lambda shade: 255 - shade))
    document = read(encoded(clear), real)
    assert " ".join(document.text.split()) == " ".join(LETTER[:2])


@pytest.mark.parametrize(
    ("size", "dpi", "seen"),
    [
        pytest.param((1240, 1754), 150, (2480, 3508), id="150 dots are doubled"),
        pytest.param((4960, 7016), 600, (2480, 3508), id="600 are halved"),
        pytest.param((2480, 3508), 72, (2483, 3512), id="72 would be a poster: taken for A4"),
        pytest.param((400, 200), 96, (1200, 600), id="small pictures are enlarged threefold at most"),
    ],
)
def test_pages_are_scaled_to_300_dots_per_inch(size: tuple[int, int], dpi: int, seen: tuple[int, int]) -> None:
    page = Image.new("L", size, 255)
    page.paste(0, (50, 50, 120, 90))
    engine = ScriptedEngine([page_of("word")])
    read(encoded(page, dpi=(dpi, dpi)), engine)
    assert engine.seen[0] == pytest.approx(seen, abs=12)


def test_a_blank_page_of_a_tiff_is_blank() -> None:
    white = Image.new("L", PAGE.size, 255)
    document = read(tiff(PAGE, white), ScriptedEngine([page_of(*LETTER)]))
    assert [page.method for page in document.pages] == ["ocr", "blank"]


def test_a_survey_calls_each_page_a_picture() -> None:
    survey = ImageReader(sandbox=InProcessSandbox()).survey(named(tiff(PAGE, PAGE)))
    assert survey.is_image_file
    assert [(page.number, page.image_ratio) for page in survey.pages] == [(1, 1.0), (2, 1.0)]


# ---- what cannot be read --------------------------------------------------------------------------------------------


def refused(data: bytes, engine: OcrEngine | None = None) -> UnreadableDocumentError:
    with pytest.raises(UnreadableDocumentError) as caught:
        read(data, engine or ScriptedEngine([page_of("word")]))
    return caught.value


def bomb(width: int, height: int) -> bytes:
    """Promise more pixels than any machine holds, in a few hundred bytes."""

    def piece(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    pieces = piece(b"IHDR", header) + piece(b"IDAT", zlib.compress(b"\0" * 9999)) + piece(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + pieces


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        pytest.param(b"", UnreadableReason.EMPTY, id="no bytes"),
        pytest.param(b"%PDF-1.7 named .png", UnreadableReason.MISLABELLED, id="no image"),
        pytest.param(encoded(PAGE)[:40], UnreadableReason.CORRUPTED, id="a header cut short"),
        pytest.param(encoded(PAGE)[:3000], UnreadableReason.CORRUPTED, id="a png cut short"),
        pytest.param(encoded(PAGE.convert("RGB"), "JPEG")[:6000], UnreadableReason.CORRUPTED, id="a jpeg cut short"),
        pytest.param(b"\x89PNG\r\n\x1a\n" + b"\x13" * 500, UnreadableReason.CORRUPTED, id="nonsense"),
        pytest.param(b"II*\x00\x08\x00\x00\x00" + b"\xff" * 64, UnreadableReason.CORRUPTED, id="a tiff of nonsense"),
        pytest.param(bomb(60_000, 60_000), UnreadableReason.TOO_LARGE, id="bomb"),
    ],
)
def test_a_file_that_cannot_be_read_says_why(data: bytes, reason: UnreadableReason) -> None:
    error = refused(data)
    assert error.reason is reason
    assert "scan.png" in error.message


def test_a_picture_beyond_the_memory_limit_takes_only_its_child_with_it() -> None:
    reader = ImageReader(limits=Limits(memory=64 * MIB), ocr=ScriptedEngine([page_of("word")]))
    with pytest.raises(UnreadableDocumentError) as caught:
        reader.read(named(encoded(Image.new("L", (11_000, 11_000), 255))))
    reader.close()
    assert caught.value.reason is UnreadableReason.TOO_LARGE


def test_a_damaged_page_of_a_tiff_leaves_the_others() -> None:
    data = bytearray(tiff(PAGE, PAGE, PAGE, compression="tiff_deflate"))
    with Image.open(io.BytesIO(data)) as image:
        image.seek(1)
        offsets: Any = vars(image)["tag_v2"][273]
    data[offsets[0] : offsets[0] + 400] = b"\xff" * 400
    document = read(bytes(data), ScriptedEngine([page_of(*LETTER), page_of("end")]))
    assert [page.method for page in document.pages] == ["ocr", "none", "ocr"]
    assert "damaged" in document.pages[1].note
    assert "page 2 of 3" in document.warnings[0]


def test_without_the_program_an_image_is_refused_with_the_install_line() -> None:
    error = refused(encoded(PAGE), TesseractEngine(program="no-such-tesseract"))
    assert error.reason is UnreadableReason.EMPTY
    assert INSTALL in error.suggestion


@pytest.mark.parametrize("options", [None, ScanOptions(enabled=False)])
def test_with_recognition_switched_off_an_image_is_refused(options: ScanOptions | None) -> None:
    with pytest.raises(UnreadableDocumentError, match="switched off") as caught:
        read(encoded(PAGE), ScriptedEngine([]) if options else None, options=options)
    assert "ENABLE_OCR" in caught.value.suggestion


def test_a_file_that_vanished_is_inaccessible(tmp_path: Path) -> None:
    item = item_of(encoded(PAGE), "scan.png", tmp_path)
    (tmp_path / "scan.png").unlink()
    with pytest.raises(UnreadableDocumentError) as caught:
        ImageReader(sandbox=InProcessSandbox()).check(item)
    assert caught.value.reason is UnreadableReason.INACCESSIBLE


def test_options_and_engine_are_part_of_the_version() -> None:
    reader = ImageReader(sandbox=InProcessSandbox(), ocr=ScriptedEngine([]))
    assert reader.version != ImageReader(sandbox=InProcessSandbox()).version
    assert reader.with_options(ScanOptions(language="deu")).version != reader.version
