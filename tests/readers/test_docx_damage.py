"""Word files that cannot or must not be read: each says why, and what to do."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest

from knowledge_mcp.model.errors import UnreadableDocumentError, UnreadableReason
from knowledge_mcp.model.source import SourceItem
from knowledge_mcp.readers.docx import package
from knowledge_mcp.readers.docx.reader import DocxReader
from tests.readers.docx_files import W, content_item, docx_bytes, p, read_docx, relations, run, style, table
from tests.readers.in_process import HERE

OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
GOOD = docx_bytes(p("Some text."))


def archive(**members: bytes) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as made:
        for name, data in members.items():
            made.writestr(name.replace("__", "/").replace("_DOT_", "."), data)
    return target.getvalue()


def refusal(data: bytes, name: str = "report.docx") -> UnreadableDocumentError:
    """Read what must not be readable; check and read must agree."""
    item = content_item(data, name)
    with pytest.raises(UnreadableDocumentError) as checked:
        DocxReader(sandbox=HERE).check(item)
    with pytest.raises(UnreadableDocumentError) as read:
        DocxReader(sandbox=HERE).read(item)
    assert checked.value.reason is read.value.reason
    assert name in checked.value.message
    assert checked.value.suggestion
    return checked.value


@pytest.mark.requirement("CLARIFY-001")
def test_an_encrypted_document_asks_for_its_password_to_be_removed() -> None:
    data = OLE + b"\0" * 600 + "EncryptedPackage".encode("utf-16-le") + b"\0" * 64
    error = refusal(data)
    assert error.reason is UnreadableReason.PASSWORD_PROTECTED
    assert "password" in error.suggestion


def test_an_old_doc_under_the_new_name_is_mislabelled() -> None:
    assert refusal(OLE + b"\0" * 600).reason is UnreadableReason.MISLABELLED


@pytest.mark.requirement("CLARIFY-001")
@pytest.mark.parametrize("kept", [0.3, 0.7, 0.97])
def test_a_truncated_document_is_corrupted(kept: float) -> None:
    assert refusal(GOOD[: int(len(GOOD) * kept)]).reason is UnreadableReason.CORRUPTED


def test_a_document_that_lost_bytes_from_its_middle_is_corrupted() -> None:
    assert refusal(GOOD[:10] + GOOD[60:]).reason is UnreadableReason.CORRUPTED


@pytest.mark.requirement("CLARIFY-001")
def test_no_bytes_and_no_words_are_both_empty() -> None:
    assert refusal(b"").reason is UnreadableReason.EMPTY
    assert refusal(docx_bytes(p("") + p("  "))).reason is UnreadableReason.EMPTY


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"%PDF-1.7\n", "PDF"),
        (b"{\\rtf1 hello}", "RTF"),
        (archive(xl__workbook_DOT_xml=b"<x/>"), "Excel"),
        (archive(content_DOT_xml=b"<x/>"), "OpenDocument"),
        (archive(other_DOT_txt=b"x"), "zip"),
    ],
)
def test_another_format_under_the_name_is_mislabelled_and_named(data: bytes, what: str) -> None:
    error = refusal(data)
    assert error.reason is UnreadableReason.MISLABELLED
    assert what in error.message


def test_random_bytes_are_corrupted() -> None:
    assert refusal(bytes(range(7, 256)) * 4).reason is UnreadableReason.CORRUPTED


def test_broken_xml_is_corrupted_and_not_half_read() -> None:
    data = archive(word__document_DOT_xml=f'<w:document xmlns:w="{W}"><w:body>{p("First.")}<w:p>'.encode())
    assert refusal(data).reason is UnreadableReason.CORRUPTED


def test_broken_styles_are_corrupted_when_read() -> None:
    data = docx_bytes(p("Text."), parts={"word/styles.xml": "<w:styles"})
    with pytest.raises(UnreadableDocumentError) as caught:
        DocxReader(sandbox=HERE).read(content_item(data))
    assert caught.value.reason is UnreadableReason.CORRUPTED


def test_an_entity_bomb_is_refused_before_it_grows() -> None:
    levels = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 12))
    text = (
        f'<!DOCTYPE d [<!ENTITY e0 "ha">{levels}]><w:document xmlns:w="{W}"><w:body>{p("&e11;")}</w:body></w:document>'
    )
    assert refusal(archive(word__document_DOT_xml=text.encode())).reason is UnreadableReason.CORRUPTED


def test_an_external_entity_is_never_read(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("the secret")
    text = f'<!DOCTYPE d [<!ENTITY x SYSTEM "{secret.as_uri()}">]>'
    text += f'<w:document xmlns:w="{W}"><w:body>{p("Open text &x;")}</w:body></w:document>'
    assert "secret" not in refusal(archive(word__document_DOT_xml=text.encode())).details


@pytest.mark.requirement("A-REQ-INGEST-001")
def test_a_zip_bomb_is_too_large_and_not_unpacked() -> None:
    error = refusal(archive(word__document_DOT_xml=b" " * 60_000_000))
    assert error.reason is UnreadableReason.TOO_LARGE


@pytest.mark.slow
def test_one_paragraph_of_millions_of_elements_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(package, "MAX_ELEMENTS", 10_000)
    many = docx_bytes("".join(p("Text.") for _ in range(20_000)))
    assert DocxReader(sandbox=HERE).read(content_item(many)).text.count("Text.") == 20_000
    assert refusal(docx_bytes(p("<w:r><w:tab/></w:r>" * 20_000))).reason is UnreadableReason.TOO_LARGE


def test_a_body_of_millions_of_empty_paragraphs_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(package, "MAX_ITEMS", 1_000)
    assert DocxReader(sandbox=HERE).read(content_item(docx_bytes(p("Text.") * 999))).text.count("Text.") == 999
    error = refusal(docx_bytes(p("Text.") + "<w:p/>" * 2_000))
    assert error.reason is UnreadableReason.TOO_LARGE
    assert "paragraphs" in error.details


def test_a_file_that_vanished_is_inaccessible(tmp_path: Path) -> None:
    path = tmp_path / "gone.docx"
    item = SourceItem(str(path), path.name, "application/octet-stream", 1, "0" * 64, lambda: path.open("rb"), path)
    with pytest.raises(UnreadableDocumentError) as caught:
        DocxReader(sandbox=HERE).check(item)
    assert caught.value.reason is UnreadableReason.INACCESSIBLE


def test_a_stream_that_cannot_seek_is_read_all_the_same() -> None:
    class Once(io.BytesIO):
        def seekable(self) -> bool:
            return False

    item = content_item(GOOD)
    once = SourceItem(item.uri, item.name, item.media_type, item.size, item.sha256, lambda: Once(GOOD))
    assert DocxReader(sandbox=HERE).read(once).text == "Some text."


@pytest.mark.parametrize("number", ["²", "9" * 5_000, "99999999", "-1", "0xZZ", "1.5", ""])
def test_what_is_no_number_is_left_out(number: str) -> None:
    level = f'<w:lvl w:ilvl="{number}"><w:start w:val="{number}"/><w:lvlRestart w:val="{number}"/>'
    abstract = f'<w:abstractNum w:abstractNumId="7">{level}<w:lvlText w:val="%1"/></w:lvl></w:abstractNum>'
    override = f'<w:lvlOverride w:ilvl="{number}"><w:startOverride w:val="{number}"/></w:lvlOverride>'
    counted = f'<w:numPr><w:ilvl w:val="{number}"/><w:numId w:val="7"/></w:numPr><w:outlineLvl w:val="{number}"/>'
    symbol = f'<w:fldSimple w:instr=" SYMBOL {number} \\f Symbol "/><w:fldSimple w:instr=" SEQ Table \\r {number} "/>'
    cell = f'<w:tc><w:tcPr><w:gridSpan w:val="{number}"/></w:tcPr>{p("A cell.")}</w:tc>'
    row = f'<w:tr><w:trPr><w:gridBefore w:val="{number}"/></w:trPr>{cell}{cell}</w:tr>'
    document = read_docx(
        p("The pump shall stop.", "", counted) + p(run("At once.") + symbol) + table(row, row),
        styles=style("S", "some", counted),
        abstracts=abstract,
        numbers=f'<w:num w:numId="7"><w:abstractNumId w:val="7"/>{override}</w:num>',
    )
    for words in ("The pump shall stop.", "At once.", "A cell."):
        assert words in document.text


def test_a_table_of_few_bytes_is_not_one_of_gigabytes() -> None:
    spans = "".join(f'<w:tc><w:tcPr><w:gridSpan w:val="{n}"/></w:tcPr>{p("wide")}</w:tc>' for n in (200, 1))
    row = f"<w:tr><w:tc>{p('one')}</w:tc><w:tc>{p('other')}</w:tc></w:tr>"
    text = read_docx(table(f"<w:tr>{spans}</w:tr>", row, row)).text
    assert text.splitlines()[-1] == "| one | other | |"  # no place for columns in which nothing stands
    steps = "".join(
        f'<w:tr><w:trPr><w:gridBefore w:val="{n}"/></w:trPr><w:tc>{p("x")}</w:tc><w:tc>{p("y")}</w:tc></w:tr>'
        for n in range(199)
    )
    with pytest.raises(UnreadableDocumentError) as caught:
        read_docx(table(steps, row * 10_000))
    assert caught.value.reason is UnreadableReason.TOO_LARGE


def test_a_document_whose_text_is_in_inserted_parts_alone_names_them() -> None:
    links = relations(("r1", "aFChunk", "chapter.html"), ("r2", "aFChunk", "/word/annex.docx"))
    chunks = '<w:altChunk r:id="r1"/><w:altChunk r:id="r2"/>'
    error = refusal(docx_bytes(chunks, parts={**links, "word/chapter.html": "<p>Wind loads.</p>"}))
    assert error.reason is UnreadableReason.EMPTY
    assert "Parts in other formats (altChunk) are not read: word/chapter.html, word/annex.docx." in error.message
    assert "Word" in error.suggestion


def test_a_part_inserted_into_a_cell_beside_text_is_reported() -> None:
    cell = '<w:tbl><w:tr><w:tc><w:altChunk r:id="r1"/><w:p/></w:tc></w:tr></w:tbl>'
    links = relations(("r1", "aFChunk", "chapter.html"))
    data = docx_bytes(p("Some text.") + cell, parts={**links, "word/chapter.html": "<p>Wind loads.</p>"})
    document = DocxReader(sandbox=HERE).read(content_item(data))
    (warning,) = document.warnings
    assert warning.startswith("A part in another format (altChunk) is not read: word/chapter.html. Open")
