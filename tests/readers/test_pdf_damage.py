"""The PDF reader on files that cannot be read, or only in part: each says why."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from knowledge_mcp.model.errors import UnreadableDocumentError, UnreadableReason
from knowledge_mcp.model.source import SourceItem
from knowledge_mcp.readers.pdf.reader import PdfReader
from knowledge_mcp.support.sandbox import Limits
from tests.readers.pdf_files import SENTENCE, bomb, changed, item_of, picture_page, sheet, standard, without_pages

MIB = 1 << 20


@pytest.fixture(scope="module")
def reader() -> Iterator[PdfReader]:
    made = PdfReader()
    yield made
    made.close()


def encrypted(*, user: str, owner: str) -> bytes:
    import pikepdf

    return changed(
        standard(bookmarks=False), lambda document: None, encryption=pikepdf.Encryption(user=user, owner=owner)
    )


def refused(reader: PdfReader, item: SourceItem) -> UnreadableDocumentError:
    with pytest.raises(UnreadableDocumentError) as caught:
        reader.check(item)
    with pytest.raises(UnreadableDocumentError) as again:
        reader.read(item)
    assert again.value.reason is caught.value.reason
    return caught.value


@pytest.mark.requirement("CLARIFY-001")
@pytest.mark.parametrize(
    ("data", "reason"),
    [
        pytest.param(standard(bookmarks=False)[:2500], UnreadableReason.CORRUPTED, id="truncated"),
        pytest.param(b"%PDF-1.7\n" + b"\x93\x07 nonsense " * 500, UnreadableReason.CORRUPTED, id="nonsense"),
        pytest.param(encrypted(user="secret", owner="secret"), UnreadableReason.PASSWORD_PROTECTED, id="password"),
        pytest.param(without_pages(), UnreadableReason.EMPTY, id="no pages"),
        pytest.param(b"", UnreadableReason.EMPTY, id="no bytes"),
        pytest.param(b"PK\x03\x04 a Word document by its bytes", UnreadableReason.MISLABELLED, id="mislabelled"),
    ],
)
def test_a_file_that_cannot_be_read_says_why(reader: PdfReader, data: bytes, reason: UnreadableReason) -> None:
    error = refused(reader, item_of(data))
    assert error.reason is reason
    assert error.source == "memory:sample.pdf"
    assert "sample.pdf" in error.message
    assert error.suggestion


@pytest.mark.parametrize("name", ["plain", "report.v2", "scan.PDF", "minutes.docx"])
def test_a_pdf_is_read_by_its_media_type_whatever_its_name_ends_in(reader: PdfReader, name: str) -> None:
    assert SENTENCE in " ".join(reader.read(item_of(standard(bookmarks=False), name)).text.split())


def a_million_pages() -> bytes:
    """Make a file of three kilobytes whose folders of pages name the same folder and page again and again."""
    objects = (
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Count 1000000/Kids[%s]>>" % (b"3 0 R " * 100),
        b"<</Type/Pages/Parent 2 0 R/Count 10000/Kids[%s]>>" % (b"4 0 R " * 100),
        b"<</Type/Pages/Parent 3 0 R/Count 100/Kids[%s]>>" % (b"5 0 R " * 100),
        b"<</Type/Page/Parent 4 0 R/MediaBox[0 0 612 792]>>",
    )
    data, places = b"%PDF-1.7\n", [b"0000000000 65535 f \n"]
    for number, each in enumerate(objects, 1):
        places.append(b"%010d 00000 n \n" % len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, each)
    end = b"trailer<</Size 6/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % len(data)
    return data + b"xref\n0 6\n" + b"".join(places) + end


def test_a_small_file_of_a_million_pages_is_refused_before_they_are_read(reader: PdfReader) -> None:
    error = refused(reader, item_of(a_million_pages()))
    assert (error.reason, error.suggestion) == (UnreadableReason.TOO_LARGE, "Split the file.")
    assert "1,000,000 pages, more than 100,000" in error.message


def test_a_password_is_named_as_what_to_remove(reader: PdfReader) -> None:
    assert "password" in refused(reader, item_of(encrypted(user="u", owner="o"))).suggestion.lower()


def test_a_file_with_an_owner_password_only_is_read(reader: PdfReader) -> None:
    document = reader.read(item_of(encrypted(user="", owner="secret")))
    assert SENTENCE in document.text.replace("\n", " ")


@pytest.mark.requirement("CLARIFY-001")
def test_a_scanned_file_is_empty_and_sends_to_text_recognition(reader: PdfReader) -> None:
    assert reader.check(item_of(picture_page())).pages == 1
    with pytest.raises(UnreadableDocumentError) as caught:
        reader.read(item_of(picture_page()))
    assert caught.value.reason is UnreadableReason.EMPTY
    assert "OCR" in caught.value.suggestion


def test_a_stamp_on_every_scanned_page_is_no_text(reader: PdfReader) -> None:
    pages = sheet()
    for number in range(1, 6):
        pages.picture()
        pages.at(72, 820, f"EXHIBIT 0000{number}", 8)
        if number < 5:
            pages.next_page()
    with pytest.raises(UnreadableDocumentError) as caught:
        reader.read(item_of(pages.done()))
    assert caught.value.reason is UnreadableReason.EMPTY


def test_a_partly_scanned_file_is_read_with_a_warning_that_names_the_pages(reader: PdfReader) -> None:
    pages = sheet()
    for number in range(1, 7):
        if number in {2, 4, 5}:
            pages.picture()
        else:
            pages.paragraph(SENTENCE, f"This is number {'abcdefg'[number]}.")
        if number < 6:
            pages.next_page()
    document = reader.read(item_of(pages.done()))
    assert [page.method for page in document.pages] == [
        "text_layer",
        "none",
        "text_layer",
        "none",
        "none",
        "text_layer",
    ]
    assert "scanned" in document.pages[1].note
    assert len(document.pages[1].span) == 0
    (warning,) = document.warnings
    assert "pages 2, 4-5 of 6" in warning


def test_a_file_that_exhausts_memory_is_too_large() -> None:
    small = PdfReader(limits=Limits(memory=96 * MIB))
    with closing(small), pytest.raises(UnreadableDocumentError) as caught:
        small.read(item_of(bomb(400_000)))
    assert caught.value.reason is UnreadableReason.TOO_LARGE


def test_a_file_that_takes_for_ever_is_too_slow() -> None:
    hasty = PdfReader(limits=Limits(seconds=0.05))
    with closing(hasty), pytest.raises(UnreadableDocumentError) as caught:
        hasty.read(item_of(bomb(200_000)))
    assert caught.value.reason is UnreadableReason.TOO_SLOW


def test_a_page_of_any_size_is_laid_out_in_the_same_time() -> None:
    def enlarge(document: Any) -> None:
        for page in document.pages:
            page.UserUnit = 75_000

    pages = sheet()
    for number in range(20):
        pages.line(f"Pump {number} shall run.")
    made = PdfReader(limits=Limits(seconds=30))
    with closing(made):
        document = made.read(item_of(changed(pages.done(), enlarge)))
    assert "Pump 7 shall run." in document.text


def test_a_file_that_vanished_is_inaccessible(reader: PdfReader, tmp_path: Path) -> None:
    item = item_of(standard(bookmarks=False), folder=tmp_path)
    (tmp_path / "sample.pdf").unlink()
    assert refused(reader, item).reason is UnreadableReason.INACCESSIBLE


def test_bytes_without_a_local_file_are_read_like_a_file(reader: PdfReader, tmp_path: Path) -> None:
    data = standard(bookmarks=False)
    assert reader.read(item_of(data)).text == reader.read(item_of(data, folder=tmp_path)).text
