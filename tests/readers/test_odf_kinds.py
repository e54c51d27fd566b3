"""OpenDocument presentations, and flat files, which are one XML tree."""

from __future__ import annotations

import io
import zipfile

import pytest
from lxml import etree

from knowledge_mcp.model.document import Document
from knowledge_mcp.model.errors import UnreadableDocumentError, UnreadableReason
from knowledge_mcp.readers.markdown.reader import MarkdownReader
from knowledge_mcp.readers.office.reader import OfficeReader
from knowledge_mcp.readers.shared.containers import MAX_MEMBER_BYTES
from tests.readers.in_process import HERE
from tests.readers.ods_files import spreadsheet
from tests.readers.office_files import item_of, odt

READER = OfficeReader(sandbox=HERE, markdown=MarkdownReader(sandbox=HERE))
_OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
_SHOWN = 'xmlns:presentation="urn:oasis:names:tc:opendocument:xmlns:presentation:1.0"'
_LETTER = (
    '<text:h text:outline-level="1">Loads</text:h><text:p>The crane shall lift 2 t.</text:p>'
    '<draw:frame><draw:object xlink:href="./Chart"/><draw:image xlink:href="x.png"/></draw:frame>'
)
_OUTLINE = '<text:outline-level-style text:level="1" style:num-format="1"/>'
_SHEET = (
    '<table:table table:name="Loads"><table:table-row><table:table-cell><text:p>Crane</text:p></table:table-cell>'
    "<table:table-cell><text:p>Load</text:p></table:table-cell></table:table-row><table:table-row><table:table-cell>"
    "<text:p>K1</text:p></table:table-cell><table:table-cell><text:p>2 t</text:p></table:table-cell></table:table-row>"
    "</table:table>"
)


def read(data: bytes, name: str) -> Document:
    return READER.read(item_of(data, name))


def refusal(data: bytes, name: str) -> UnreadableDocumentError:
    with pytest.raises(UnreadableDocumentError) as caught:
        read(data, name)
    return caught.value


def flat(package: bytes) -> bytes:
    """Write a package as one tree, as programs save it."""
    archive = zipfile.ZipFile(io.BytesIO(package))
    parts = [etree.fromstring(archive.read(f"{name}.xml")) for name in ("meta", "styles", "content")]
    root = etree.Element(f"{_OFFICE}document", nsmap=parts[-1].nsmap)
    root.set(f"{_OFFICE}mimetype", archive.read("mimetype").decode())
    for part in parts:
        root.extend(list(part))
    return etree.tostring(root, xml_declaration=True, encoding="UTF-8")


def deck(*slides: str, styles: str = "") -> bytes:
    pages = "".join(slide if slide.startswith("<draw:page") else f"<draw:page>{slide}</draw:page>" for slide in slides)
    data = odt(pages, kind="presentation", styles=styles)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        content = archive.read("content.xml").decode()
    return odt(
        "", kind="presentation", further={"content.xml": content.replace("xmlns:draw", f"{_SHOWN} xmlns:draw", 1)}
    )


def frame(kind: str, text: str) -> str:
    return f'<draw:frame presentation:class="{kind}"><draw:text-box>{text}</draw:text-box></draw:frame>'


def test_a_flat_text_is_read_like_the_same_package() -> None:
    package = odt(_LETTER, outline=_OUTLINE, meta="<dc:title>Cranes</dc:title>")
    expected, found = read(package, "cranes.odt"), read(flat(package), "cranes.fodt")
    assert (found.text, found.title, found.metadata) == (expected.text, "Cranes", expected.metadata)
    assert found.sections == expected.sections
    assert found.sections[0].number == "1"
    assert found.warnings == expected.warnings


def test_a_flat_spreadsheet_is_read_like_the_same_package() -> None:
    package = spreadsheet(_SHEET)
    assert read(flat(package), "loads.fods").text == read(package, "loads.ods").text


def test_pictures_and_documents_within_a_flat_file_are_no_text_of_it() -> None:
    inner = (
        "<draw:frame><draw:object><office:document><office:body><office:text><text:p>inner</text:p></office:text>"
        "</office:body></office:document></draw:object></draw:frame>"
        "<draw:frame><draw:image><office:binary-data>aW5uZXI=</office:binary-data></draw:image></draw:frame>"
    )
    cell = f"<table:table><table:table-row><table:table-cell><text:p>words{inner}</text:p></table:table-cell>"
    document = read(flat(odt(f"{cell}</table:table-row></table:table>")), "a.fodt")
    assert "inner" not in document.text
    assert "aW5" not in document.text
    assert "Embedded objects, such as charts, are not read." in document.warnings


def test_what_is_no_flat_file_of_its_kind_is_refused() -> None:
    assert refusal(flat(spreadsheet(_SHEET)), "a.fodt").reason is UnreadableReason.MISLABELLED
    assert refusal(b'<?xml version="1.0"?><note>words</note>', "a.fodt").reason is UnreadableReason.MISLABELLED
    assert refusal(flat(odt(_LETTER))[:-40], "a.fodt").reason is UnreadableReason.CORRUPTED


def test_a_flat_file_that_is_too_large_is_refused_before_it_is_parsed() -> None:
    words = b"<?xml version='1.0'?><office:document>" + b" " * 64_000_000
    assert refusal(words, "a.fodt").reason is UnreadableReason.TOO_LARGE
    assert len(words) < MAX_MEMBER_BYTES


def test_entities_of_a_flat_file_are_not_expanded() -> None:
    data = flat(odt("<text:p>a &amp;b; c</text:p>")).replace(b"&amp;b;", b"&b;")
    bomb = data.replace(b"?>", b'?><!DOCTYPE x [<!ENTITY b "secret">]>', 1)
    assert "secret" not in read(bomb, "a.fodt").text


def test_slides_of_opendocument_become_pages_with_their_title_first() -> None:
    first = frame("outline", "<text:list><text:list-item><text:p>Lift slowly.</text:p></text:list-item></text:list>")
    notes = f"<presentation:notes>{frame('notes', '<text:p>Say why.</text:p>')}</presentation:notes>"
    document = read(
        deck(
            first + frame("title", "<text:p>Rules</text:p>") + frame("footer", "<text:p>Page foot</text:p>") + notes,
            "<draw:custom-shape><text:p>Only a shape</text:p></draw:custom-shape>",
            "",
        ),
        "rules.odp",
    )
    titles = ["Rules", "Notes:", "Slide 2"]
    assert [section.title for section in document.sections] == titles
    assert document.text.split("\n\n") == ["Rules", "• Lift slowly.", "Notes:", "Say why.", "Slide 2", "Only a shape"]
    assert [page.number for page in document.pages] == [1, 2, 3]
    assert [block.pages for block in document.blocks] == [(1,)] * 4 + [(2,)] * 2
    assert document.title == "Rules"


def test_a_hidden_slide_of_opendocument_is_left_out_and_reported() -> None:
    style = (
        '<style:style style:name="away" style:family="drawing-page">'
        '<style:drawing-page-properties presentation:visibility="hidden"/></style:style>'
    )
    slide = f'<draw:page draw:style-name="away">{frame("outline", "<text:p>secret</text:p>")}</draw:page>'
    document = read(deck(frame("title", "<text:p>Shown</text:p>"), slide, styles=style), "a.odp")
    assert document.text == "Shown"
    assert document.warnings[0] == "Slide 2 is hidden in the presentation, and omitted."
    assert dict(document.hidden) == {"not displayed": 6}


def test_tables_and_descriptions_of_pictures_on_slides_are_read() -> None:
    picture = "<draw:frame><draw:image/><svg:desc>A crane in use</svg:desc></draw:frame>"
    table = f"<draw:frame>{_SHEET}</draw:frame>"
    document = read(deck(frame("title", "<text:p>Loads</text:p>") + picture + table), "a.odp")
    assert "A crane in use" in document.text
    assert "| K1 | 2 t |" in document.text
