"""Office files that cannot or must not be read: each says why, in bounded time and memory."""

from __future__ import annotations

import io
import zipfile
from typing import Any

import pytest

from knowledge_mcp.model.errors import UnreadableDocumentError, UnreadableReason
from knowledge_mcp.model.source import UNKNOWN
from knowledge_mcp.readers.markdown.reader import MarkdownReader
from knowledge_mcp.readers.office.reader import OfficeReader
from knowledge_mcp.support.sandbox import Limits, Sandbox
from tests.readers.in_process import HERE, InProcessSandbox
from tests.readers.office_files import epub, item_of, odt, presentation, workbook, zipped
from tests.readers.ole_files import message, ole, text_property, xls

READER = OfficeReader(markdown=MarkdownReader(sandbox=HERE), sandbox=InProcessSandbox())


def _slides(made: Any) -> None:
    made.slides.add_slide(made.slide_layouts[0]).shapes.title.text = "Words"


def _cells(made: Any) -> None:
    made.active.append(["a", "b"])


GOOD = {
    "a.pptx": presentation(_slides),
    "a.xlsx": workbook(_cells),
    "a.epub": epub("<p>words</p>"),
    "a.odt": odt("<text:p>words</text:p>"),
    "a.msg": message(text_property("1000", "words")),
    "a.xls": xls({"One": [["a", "b"]]}),
}


def refusal(data: bytes, name: str) -> UnreadableDocumentError:
    with pytest.raises(UnreadableDocumentError) as caught:
        READER.read(item_of(data, name))
    assert name in caught.value.message
    return caught.value


@pytest.mark.parametrize("name", GOOD)
def test_the_whole_files_are_read(name: str) -> None:
    assert READER.read(item_of(GOOD[name], name)).text


@pytest.mark.requirement("D-REQ-1.3")
@pytest.mark.parametrize("name", GOOD)
def test_no_bytes_are_reported_as_empty(name: str) -> None:
    assert refusal(b"", name).reason is UnreadableReason.EMPTY
    assert refusal(b"\0" * 2000, name).reason is UnreadableReason.EMPTY


@pytest.mark.requirement("D-REQ-1.3")
@pytest.mark.parametrize("name", GOOD)
def test_a_truncated_file_is_reported_as_corrupted_by_check_and_read(name: str) -> None:
    half = GOOD[name][: len(GOOD[name]) // 2]
    assert refusal(half, name).reason is UnreadableReason.CORRUPTED
    if name != "a.xls":
        with pytest.raises(UnreadableDocumentError):
            READER.check(item_of(half, name))


@pytest.mark.parametrize("name", ["a.pptx", "a.xlsx", "a.epub", "a.odt"])
def test_a_damaged_member_is_reported_as_corrupted(name: str) -> None:
    data = bytearray(GOOD[name])
    with zipfile.ZipFile(io.BytesIO(GOOD[name])) as archive:
        largest = max(archive.infolist(), key=lambda info: info.compress_size if "theme" not in info.filename else 0)
        expected = {"a.pptx": "ppt/slides/slide1.xml", "a.xlsx": "xl/worksheets/sheet1.xml"}.get(name, largest.filename)
        info = archive.getinfo(expected)
    start = info.header_offset + 30 + len(info.filename)
    data[start : start + info.compress_size] = b"\x55" * info.compress_size
    assert refusal(bytes(data), name).reason is UnreadableReason.CORRUPTED


@pytest.mark.requirement("D-REQ-1.3")
@pytest.mark.parametrize("name", ["a.pptx", "a.xlsx", "a.xls", "a.epub", "a.odt", "a.msg"])
def test_an_encrypted_office_file_asks_for_its_password_to_be_removed(name: str) -> None:
    error = refusal(ole({"EncryptedPackage": b"x" * 5000, "EncryptionInfo": b"y" * 100}), name)
    assert error.reason is UnreadableReason.PASSWORD_PROTECTED


def test_a_locked_old_workbook_asks_for_its_password_to_be_removed() -> None:
    data = xls({"One": [["a"]]}, encrypted=True)
    assert refusal(data, "a.xls").reason is UnreadableReason.PASSWORD_PROTECTED


def test_a_locked_opendocument_text_asks_for_its_password_to_be_removed() -> None:
    manifest = {"META-INF/manifest.xml": "<manifest><encryption-data/></manifest>"}
    assert refusal(odt("", further=manifest), "a.odt").reason is UnreadableReason.PASSWORD_PROTECTED


def test_a_book_protected_against_copying_is_reported_but_obfuscated_fonts_do_no_harm() -> None:
    rights = {"META-INF/rights.xml": "<rights/>"}
    assert refusal(epub("<p>x</p>", further=rights), "a.epub").reason is UnreadableReason.ENCRYPTED
    method = '<encryption xmlns:e="u:e"><e:EncryptionMethod Algorithm="{}"/></encryption>'
    fonts = {"META-INF/encryption.xml": method.format("http://www.idpf.org/2008/embedding")}
    assert READER.read(item_of(epub("<p>x</p>", further=fonts), "a.epub")).text == "x"
    chapters = {"META-INF/encryption.xml": method.format("http://www.w3.org/2001/04/xmlenc#aes256-cbc")}
    assert refusal(epub("<p>x</p>", further=chapters), "a.epub").reason is UnreadableReason.ENCRYPTED


@pytest.mark.requirement("D-REQ-1.3")
@pytest.mark.parametrize(
    ("name", "data", "what"),
    [
        ("a.xlsx", GOOD["a.pptx"], "PowerPoint"),
        ("a.pptx", GOOD["a.xlsx"], "Excel"),
        ("a.epub", GOOD["a.odt"], "OpenDocument"),
        ("a.odt", GOOD["a.epub"], "EPUB"),
        ("a.odt", odt("", kind="spreadsheet"), "spreadsheet"),
        ("a.pptx", b"%PDF-1.7\n", "PDF"),
        ("a.xlsx", b"<html><table><tr><td>1", "web page"),
        ("a.xlsx", zipped({"x": "y"}), "zip"),
        ("a.msg", GOOD["a.xls"], "Excel"),
        ("a.msg", ole({"WordDocument": b"x" * 5000}), "Word"),
        ("a.msg", GOOD["a.pptx"], "zip"),
        ("a.xls", GOOD["a.msg"], "old binary"),
    ],
)
def test_another_format_under_the_name_is_mislabelled_and_named(name: str, data: bytes, what: str) -> None:
    error = refusal(data, name)
    assert error.reason is UnreadableReason.MISLABELLED
    assert what in error.message


@pytest.mark.parametrize(
    ("name", "member"),
    [
        ("a.pptx", "ppt/presentation.xml"),
        ("a.xlsx", "xl/workbook.xml"),
        ("a.odt", "content.xml"),
        ("a.epub", "META-INF/container.xml"),
    ],
)
def test_an_archive_made_to_explode_is_refused_before_it_is_unpacked(name: str, member: str) -> None:
    error = refusal(zipped({member: "<x/>", "bomb": b"\0" * 60_000_000}), name)
    assert error.reason is UnreadableReason.TOO_LARGE


@pytest.mark.parametrize("other", ["words", "other words"])
def test_two_different_members_of_one_name_are_not_chosen_from(other: str) -> None:
    """Programs differ in which of them they show."""
    target = io.BytesIO(odt("<text:p>words</text:p>"))
    content = zipfile.ZipFile(io.BytesIO(odt(f"<text:p>{other}</text:p>"))).read("content.xml")
    with zipfile.ZipFile(target, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("content.xml", content)
    if other == "words":
        assert READER.read(item_of(target.getvalue(), "a.odt")).text == "words"
    else:
        assert refusal(target.getvalue(), "a.odt").reason is UnreadableReason.CORRUPTED


def test_an_archive_within_an_archive_stays_shut() -> None:
    inner = zipped({"secret.txt": "inner words"})
    data = odt("<text:p>words</text:p>", further={"Object 1/inner.zip": inner.decode("latin-1")})
    assert "inner words" not in READER.read(item_of(data, "a.odt")).text


@pytest.mark.requirement("D-REQ-1.3")
@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.xlsx", workbook(lambda made: None)),
        ("a.pptx", presentation(lambda made: None)),
        ("a.pptx", presentation(lambda made: made.slides.add_slide(made.slide_layouts[6]))),
        ("a.epub", epub("<p> </p>")),
        ("a.odt", odt("")),
        ("a.msg", message(text_property("1000", " "))),
        ("a.xls", xls({"One": []})),
    ],
)
def test_a_file_without_text_is_a_failure_and_not_an_empty_document(name: str, data: bytes) -> None:
    assert refusal(data, name).reason is UnreadableReason.EMPTY


def test_entities_in_an_office_file_are_not_expanded() -> None:
    content = (
        '<!DOCTYPE x [<!ENTITY secret SYSTEM "file:///etc/hostname">]><office:document-content'
        ' xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0"'
        ' xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"><office:body><office:text>'
        "<text:p>a &secret; b</text:p></office:text></office:body></office:document-content>"
    )
    data = zipped({"mimetype": "application/vnd.oasis.opendocument.text", "content.xml": content})
    assert READER.read(item_of(data, "a.odt")).text == "a &secret; b"


def test_lists_nested_without_end_are_refused() -> None:
    deep = "<text:list><text:list-item>" * 120 + "<text:p>x</text:p>" + "</text:list-item></text:list>" * 120
    error = refusal(odt(deep), "a.odt")
    assert error.reason is UnreadableReason.UNSUPPORTED


def test_a_type_that_is_none_of_these_is_unsupported() -> None:
    item = item_of(b"x", "a.bin")
    assert item.media_type == UNKNOWN
    with pytest.raises(UnreadableDocumentError) as caught:
        READER.read(item)
    assert caught.value.reason is UnreadableReason.UNSUPPORTED


def test_a_file_that_takes_too_long_is_stopped_and_the_next_one_is_read(sandbox: Sandbox) -> None:
    def fill(made: Any) -> None:
        for number in range(3000):
            made.active.append([f"word {number}", number])

    big = workbook(fill)
    short = OfficeReader(markdown=MarkdownReader(sandbox=HERE), sandbox=sandbox, limits=Limits(seconds=0.05))
    with pytest.raises(UnreadableDocumentError) as caught:
        short.read(item_of(big, "big.xlsx"))
    assert caught.value.reason is UnreadableReason.TOO_SLOW
    again = OfficeReader(markdown=MarkdownReader(sandbox=HERE), sandbox=sandbox)
    assert again.read(item_of(GOOD["a.xlsx"], "a.xlsx")).text


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(GOOD))
def test_a_confined_child_reads_every_kind_as_this_process_does(sandbox: Sandbox, name: str) -> None:
    item = item_of(GOOD[name], name)
    assert OfficeReader(markdown=MarkdownReader(sandbox=HERE), sandbox=sandbox).read(item) == READER.read(item)
