"""What a fetched document is called and of which kind it is, whatever a server says of it."""

from __future__ import annotations

import io
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge_mcp.model.errors import InvalidInputError
from knowledge_mcp.model.source import MEDIA_TYPES, UNKNOWN, media_type_of
from knowledge_mcp.sources.web.address import parse_address
from knowledge_mcp.sources.web.content import file_name, kind_by_content, kind_by_header, with_extension

ADDRESS = parse_address("https://example.org/files/report%20one.pdf?x=y")
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
OFFICE = "application/vnd.openxmlformats-officedocument"


@pytest.mark.parametrize(
    ("disposition", "expected"),
    [
        ("", "report one.pdf"),
        ("inline", "report one.pdf"),
        ("attachment; filename=plain.pdf", "plain.pdf"),
        ('attachment; filename="two words.pdf"', "two words.pdf"),
        ('attachment; FileName = "x\\"y;.pdf"; size=3', "x_y;.pdf"),
        ("attachment; filename=old.pdf; filename*=UTF-8''n%C3%A4w.pdf", "näw.pdf"),
        ("attachment; filename*=iso-8859-1'de'n%E4w.pdf", "näw.pdf"),
        ("attachment; filename*=UTF-8''%FF.pdf; filename=old.pdf", "old.pdf"),
        ("attachment; filename*=koi8-r''x.pdf", "report one.pdf"),
        ('attachment; filename="../../etc/passwd"', "passwd"),
        ('attachment; filename="C:\\\\Windows\\\\evil.pdf"', "evil.pdf"),
        ("attachment; filename*=UTF-8''..%2F..%2Fevil.pdf", "evil.pdf"),
        ('attachment; filename="..."', "report one.pdf"),
        ('attachment; filename=".bashrc"', "bashrc"),
        ('attachment; filename="a\u202egpj.pdf"', "agpj.pdf"),
        ('attachment; filename="a:b|c?.pdf"', "a_b_c_.pdf"),
        ('attachment; filename="' + "x" * 5000 + '.pdf"', "report one.pdf"),
        ('attachment; filename="' + "x" * 500 + '.pdf"', "x" * 120 + ".pdf"),
        ('attachment; filename=""', "report one.pdf"),
        ("attachment; nofilename=x.pdf", "report one.pdf"),
    ],
)
def test_a_file_is_called_what_the_server_says_made_safe(disposition: str, expected: str) -> None:
    assert file_name(disposition, ADDRESS) == expected


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://example.org", "example.org"),
        ("https://example.org/a/", "example.org"),
        ("https://example.org/%2e%2e", "example.org"),
        ("https://example.org/a%2Fb.pdf", "b.pdf"),
        ("https://example.org/%00%0a.pdf", "pdf"),
        ("https://example.org/%FFx.pdf", "\ufffdx.pdf"),
        ("https://[2606::1]/", "2606--1"),
    ],
)
def test_without_a_word_of_the_server_the_address_names_the_file(url: str, expected: str) -> None:
    assert file_name("", parse_address(url)) == expected


@given(st.text(max_size=200), st.text(max_size=60))
def test_a_files_name_is_always_one_safe_part_of_a_path(said: str, path: str) -> None:
    try:
        address = parse_address("https://example.org/" + path)
    except InvalidInputError:
        address = ADDRESS
    for disposition in (said, f'attachment; filename="{said}"', f"attachment; filename*=UTF-8''{said}"):
        name = file_name(disposition, address)
        assert 0 < len(name) <= 140
        assert name.isprintable()
        assert not set(name) & set('/\\<>:"|?*')
        assert name.strip(" .")
        assert not name.startswith(".")


@pytest.mark.parametrize(
    ("said", "name", "expected"),
    [
        ("text/html; charset=utf-8", "x", "text/html"),
        ("TEXT/HTML", "x.pdf", "text/html"),
        ("", "x.pdf", "application/pdf"),
        ("", "x", UNKNOWN),
        ("application/octet-stream", "x.DOCX", f"{OFFICE}.wordprocessingml.document"),
        ("application/zip", "x.pptx", f"{OFFICE}.presentationml.presentation"),
        ("binary/octet-stream; x", "x.bin", UNKNOWN),
        ("text/plain", "x.md", "text/markdown"),
        ("text/plain", "x.csv", "text/csv"),
        ("text/plain", "x.html", "text/plain"),
        ("text/plain", "x.pdf", "text/plain"),
        ("text/xml", "x", "application/xml"),
        ("application/problem+json", "x", "application/json"),
        ("application/atom+xml", "x", "application/xml"),
        ("application/xhtml+xml", "x", "application/xhtml+xml"),
        ("image/jpg", "x", "image/jpeg"),
        ("application/x-pdf", "x", "application/pdf"),
        *((kind, "x", kind) for kind in sorted(set(MEDIA_TYPES.values()))),
    ],
)
def test_the_kind_is_what_the_server_says_and_else_what_the_name_says(said: str, name: str, expected: str) -> None:
    assert kind_by_header(said, name) == expected


@pytest.mark.parametrize(
    "said", ["video/mp4", "audio/ogg", "application/msword", "application/gzip", "font/woff2", "image/svg+xml", "html"]
)
def test_other_kinds_are_refused_and_named(said: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        kind_by_header(f"{said}; x=y", "x.pdf")
    assert said in caught.value.message


def test_a_kind_is_named_without_what_would_spoil_a_log() -> None:
    with pytest.raises(InvalidInputError) as caught:
        kind_by_header("x/" + "\x1b[31m" * 100, "x")
    assert caught.value.message.isprintable()
    assert len(caught.value.message) < 200


def _zip(*names: str, first: bytes = b"") -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as packed:
        if first:
            packed.writestr("mimetype", first)
        for name in names:
            packed.writestr(name, "x")
    return file.getvalue()


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"%PDF-1.4", "application/pdf"),
        (b"\x89PNG\r\n\x1a\n...", "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"II*\0", "image/tiff"),
        (b"MM\0*", "image/tiff"),
        (_zip("[Content_Types].xml", "word/document.xml"), f"{OFFICE}.wordprocessingml.document"),
        (_zip("xl/workbook.xml"), f"{OFFICE}.spreadsheetml.sheet"),
        (_zip("ppt/presentation.xml"), f"{OFFICE}.presentationml.presentation"),
        (_zip(first=b"application/epub+zip"), "application/epub+zip"),
        (_zip(first=b"application/vnd.oasis.opendocument.text"), "application/vnd.oasis.opendocument.text"),
        (_zip("setup.exe"), UNKNOWN),
        (OLE + "__substg1.0_".encode("utf-16-le"), "application/vnd.ms-outlook"),
        (OLE + "Workbook".encode("utf-16-le"), "application/vnd.ms-excel"),
        (OLE, UNKNOWN),
        (b"\xef\xbb\xbf\n<!DOCTYPE HTML>", "text/html"),
        (b" <html>", "text/html"),
        (b"<?xml version='1.0'?>", "application/xml"),
        (b"MZ\x90", UNKNOWN),
        (b"", UNKNOWN),
        (b"plain words", UNKNOWN),
    ],
)
def test_bytes_tell_their_kind_where_nothing_else_does(content: bytes, expected: str) -> None:
    assert kind_by_content(content) == expected


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"%PDF-1.4", "application/pdf"),
        (_zip("xl/workbook.xml"), f"{OFFICE}.spreadsheetml.sheet"),
        (_zip("setup.exe"), UNKNOWN),
        (b"<!doctype html>", "text/plain"),
        (b"<?xml?>", "text/plain"),
        (b"words", "text/plain"),
        (b"", "text/plain"),
    ],
)
def test_what_is_called_plain_text_is_that_unless_it_plainly_is_not(content: bytes, expected: str) -> None:
    assert kind_by_content(content, "text/plain") == expected


@pytest.mark.parametrize("kind", sorted(set(MEDIA_TYPES.values())))
def test_a_name_is_given_an_extension_that_means_its_kind(kind: str) -> None:
    assert media_type_of(with_extension("index.php", kind)) == kind
    assert with_extension(with_extension("a", kind), kind) == with_extension("a", kind)


def test_an_extension_that_means_the_same_is_kept() -> None:
    assert with_extension("a.htm", "text/html") == "a.htm"
    assert with_extension("A.JPEG", "image/jpeg") == "A.JPEG"
